// What crosses between Go and C: flat structures without pointers into Go memory, so that nothing has to be pinned.

#ifndef APF_GO_BRIDGE_H
#define APF_GO_BRIDGE_H

#include <stdint.h>

#include "apf.h"

#if APF_ABI_VERSION != 1
#error "apf: this Go package was written for ABI version 1 of apf.h"
#endif

// Decisions that one call hands to its caller; more of them go through the descriptor.
#define APF_GO_BATCH 3

// An engine with the queue of its completions.
typedef struct apf_go apf_go;

// The texts of a request follow it in one block: the ten of `lengths`, then each group with its length before it.
typedef struct apf_go_request {
    uint64_t initial_seats;
    uint64_t final_seats;
    uint64_t additional_latency_ns;
    uint64_t wait_limit_ns;
    uint32_t lengths[10];
    uint32_t group_count;
    // 0 to be refused rather than to wait.
    uint32_t may_wait;
} apf_go_request;

// An apf_outcome, or the apf_completion that brought it. Names are addresses in the engine's memory.
typedef struct apf_go_decision {
    int32_t status;
    int32_t kind;
    int32_t reason;
    uint32_t retry_after_seconds;
    uint64_t ticket[2];
    uint64_t seats;
    uint64_t waited_ns;
    uint64_t level;
    uint64_t flow_schema;
    uint32_t level_length;
    uint32_t flow_schema_length;
} apf_go_decision;

// Decisions on requests that wait which a call has brought about.
typedef struct apf_go_batch {
    uint32_t count;
    // 1 when there are more, which apf_go_take() gives.
    uint32_t more;
    apf_go_decision decisions[APF_GO_BATCH];
} apf_go_batch;

typedef struct apf_go_options {
    int64_t seats;
    uint64_t queue_wait_limit_ns;
    int32_t mode;
    int32_t hash;
    int32_t clock;
    int32_t keep_details;
} apf_go_options;

// Makes an engine, its queue and a descriptor that is readable when apf_go_take() has something. The descriptor is the
// caller's to close, after apf_go_free().
apf_status apf_go_new(const apf_go_options *options, apf_str text, apf_str text_name, apf_str path, int32_t strictness,
                      int32_t builtin, apf_go **made, int *descriptor, apf_problems **problems);

// APF_ERROR_BUSY: a thread is handing over a decision just now; try again.
apf_status apf_go_free(apf_go *go);

apf_engine *apf_go_engine(apf_go *go);

apf_status apf_go_reconfigure(apf_go *go, apf_str text, apf_str text_name, apf_str path, int32_t strictness,
                              int32_t builtin, apf_problems **problems);

void apf_go_submit(apf_go *go, const apf_go_request *request, apf_go_decision *decision);

void apf_go_submit_classified(apf_go *go, uint32_t level, uint64_t flow_hash, const apf_go_request *request,
                              apf_go_decision *decision);

apf_status apf_go_finish(apf_go *go, uint64_t ticket0, uint64_t ticket1, apf_go_batch *batch);

apf_status apf_go_finish_early(apf_go *go, uint64_t ticket0, uint64_t ticket1, apf_go_batch *batch);

apf_status apf_go_cancel(apf_go *go, uint64_t ticket0, uint64_t ticket1, apf_go_batch *batch);

// Takes up to `capacity` decisions that no caller has been handed, in their order.
uint32_t apf_go_take(apf_go *go, apf_go_decision *decisions, uint32_t capacity);

#endif
