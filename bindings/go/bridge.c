//go:build cgo

#define _GNU_SOURCE

// An archive that is missing is said here, in words, and not by the linker. The files are made by `cargo xtask go-archive`;
// they change when the archive does, so that it is linked anew.
#ifndef APF_GO_DYNAMIC
#if defined(__linux__) && defined(__x86_64__)
#if __has_include("archive_linux_amd64.h")
#include "archive_linux_amd64.h"
#else
#define APF_GO_ARCHIVE_MISSING
#endif
#elif defined(__linux__) && defined(__aarch64__)
#if __has_include("archive_linux_arm64.h")
#include "archive_linux_arm64.h"
#else
#define APF_GO_ARCHIVE_MISSING
#endif
#else
#error "apf: no static library for this system; build with -tags apf_dynamic and a libapf that pkg-config knows"
#endif
#endif

#ifdef APF_GO_ARCHIVE_MISSING
#error "apf: the static library is missing; run `cargo xtask go-archive` in the repository, or build with -tags apf_dynamic"
#else

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/eventfd.h>
#endif

#include "bridge.h"

struct apf_go {
    apf_engine *engine;
    apf_completions *queue;
    // What is written to; on Linux an eventfd, which is also what is read from.
    int bell;

    pthread_mutex_t lock;
    // From `first` up to `end`: decisions that no caller was there for.
    apf_go_decision *decisions;
    size_t first, end, capacity;
};

// Decisions kept without giving the memory back when all are taken.
#define KEPT 4096

// The call that this thread is in, if it takes the decisions that it brings about.
static __thread struct {
    apf_go *go;
    apf_go_batch *batch;
} caller;

static inline void fill(apf_go_decision *decision, const apf_outcome *outcome, apf_status status, uint64_t waited_ns) {
    decision->status = status;
    decision->kind = outcome->kind;
    decision->reason = outcome->reason;
    decision->retry_after_seconds = outcome->retry_after_seconds;
    decision->ticket[0] = outcome->ticket.bits[0];
    decision->ticket[1] = outcome->ticket.bits[1];
    decision->seats = outcome->seats;
    decision->waited_ns = waited_ns;
    decision->level = (uint64_t)(uintptr_t)outcome->level.data;
    decision->flow_schema = (uint64_t)(uintptr_t)outcome->flow_schema.data;
    decision->level_length = (uint32_t)outcome->level.len;
    decision->flow_schema_length = (uint32_t)outcome->flow_schema.len;
}

// Makes the descriptor readable.
static void ring_bell(apf_go *go) {
    int saved = errno;
    uint64_t one = 1;
    // Full means that it is readable already.
    ssize_t written = write(go->bell, &one, sizeof one);
    (void)written;
    errno = saved;
}

// A decision that a granted request depends on cannot be dropped, and there is nobody to tell.
static void out_of_memory(void) {
    fputs("apf: out of memory\n", stderr);
    abort();
}

static void grow(apf_go *go) {
    if (go->first > 0) {
        memmove(go->decisions, go->decisions + go->first, (go->end - go->first) * sizeof *go->decisions);
        go->end -= go->first;
        go->first = 0;
    }
    if (go->end * 2 >= go->capacity) {
        size_t capacity = go->capacity ? go->capacity * 2 : 64;
        apf_go_decision *decisions = realloc(go->decisions, capacity * sizeof *decisions);
        if (decisions == NULL) {
            out_of_memory();
        }
        go->decisions = decisions;
        go->capacity = capacity;
    }
}

static void decided(void *context, const apf_completion *completion) {
    apf_go *go = context;
    if (caller.go == go) {
        apf_go_batch *batch = caller.batch;
        if (batch->count < APF_GO_BATCH) {
            fill(&batch->decisions[batch->count++], &completion->outcome, completion->status, completion->waited_ns);
            return;
        }
        batch->more = 1;
    }
    pthread_mutex_lock(&go->lock);
    if (go->end == go->capacity) {
        grow(go);
    }
    bool ring = go->first == go->end;
    fill(&go->decisions[go->end++], &completion->outcome, completion->status, completion->waited_ns);
    pthread_mutex_unlock(&go->lock);
    // One write for all that is not taken yet: the watcher is told of edges, and takes until there is nothing.
    if (ring) {
        ring_bell(go);
    }
}

uint32_t apf_go_take(apf_go *go, apf_go_decision *decisions, uint32_t capacity) {
    pthread_mutex_lock(&go->lock);
    size_t count = go->end - go->first;
    if (count > capacity) {
        count = capacity;
    }
    if (count > 0) {
        memcpy(decisions, go->decisions + go->first, count * sizeof *decisions);
        go->first += count;
    }
    if (go->first == go->end) {
        go->first = go->end = 0;
        if (go->capacity > KEPT) {
            free(go->decisions);
            go->decisions = NULL;
            go->capacity = 0;
        }
    }
    pthread_mutex_unlock(&go->lock);
    return (uint32_t)count;
}

static apf_configuration configuration(apf_str text, apf_str text_name, apf_str path, int32_t strictness,
                                       int32_t builtin) {
    apf_configuration made = apf_configuration_init();
    made.text = text;
    made.text_name = text_name;
    made.path = path;
    made.strictness = strictness;
    made.builtin = builtin;
    return made;
}

static int bell_new(int *descriptor) {
#ifdef __linux__
    *descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return *descriptor;
#else
    int ends[2];
    if (pipe(ends) != 0) {
        return -1;
    }
    for (int i = 0; i < 2; i++) {
        fcntl(ends[i], F_SETFD, FD_CLOEXEC);
        fcntl(ends[i], F_SETFL, O_NONBLOCK);
    }
    *descriptor = ends[0];
    return ends[1];
#endif
}

apf_status apf_go_new(const apf_go_options *options, apf_str text, apf_str text_name, apf_str path, int32_t strictness,
                      int32_t builtin, apf_go **made, int *descriptor, apf_problems **problems) {
    apf_configuration objects = configuration(text, text_name, path, strictness, builtin);
    apf_engine_options engine_options = apf_engine_options_init();
    engine_options.seats = options->seats;
    engine_options.configuration = &objects;
    engine_options.queue_wait_limit_ns = options->queue_wait_limit_ns;
    engine_options.mode = options->mode;
    engine_options.hash = options->hash;
    engine_options.clock = options->clock;
    engine_options.keep_details = options->keep_details;

    apf_go *go = calloc(1, sizeof *go);
    if (go == NULL) {
        return APF_ERROR_OUT_OF_MEMORY;
    }
    apf_status status = apf_engine_new(&engine_options, &go->engine, problems);
    if (status != APF_OK) {
        free(go);
        return status;
    }
    go->bell = bell_new(descriptor);
    status = go->bell < 0 ? APF_ERROR_SYSTEM : apf_completions_new_callback(go->engine, decided, go, &go->queue);
    if (status != APF_OK) {
        if (go->bell >= 0) {
            close(go->bell);
        }
        apf_engine_free(go->engine);
        free(go);
        return status;
    }
    pthread_mutex_init(&go->lock, NULL);
    *made = go;
    return APF_OK;
}

apf_status apf_go_free(apf_go *go) {
    if (go->queue != NULL) {
        apf_status status = apf_completions_free(go->queue);
        if (status != APF_OK) {
            return status;
        }
        go->queue = NULL;
    }
    apf_status status = apf_engine_free(go->engine);
    if (status != APF_OK) {
        return status;
    }
#ifndef __linux__
    close(go->bell);
#endif
    pthread_mutex_destroy(&go->lock);
    free(go->decisions);
    free(go);
    return APF_OK;
}

apf_engine *apf_go_engine(apf_go *go) { return go->engine; }

apf_status apf_go_reconfigure(apf_go *go, apf_str text, apf_str text_name, apf_str path, int32_t strictness,
                              int32_t builtin, apf_problems **problems) {
    apf_configuration objects = configuration(text, text_name, path, strictness, builtin);
    return apf_engine_reconfigure(go->engine, &objects, problems);
}

// Takes the next text off a block.
static inline apf_str cut(const char **bytes, uint32_t length) {
    apf_str text = apf_str_new(*bytes, length);
    *bytes += length;
    return text;
}

#define FEW_GROUPS 16

void apf_go_submit(apf_go *go, const apf_go_request *head, apf_go_decision *decision) {
    const char *bytes = (const char *)head + sizeof *head;
    apf_request request;
    request.size = sizeof request;
    request.user = cut(&bytes, head->lengths[0]);
    request.verb = cut(&bytes, head->lengths[1]);
    request.url = cut(&bytes, head->lengths[2]);
    request.path = cut(&bytes, head->lengths[3]);
    request.resource = cut(&bytes, head->lengths[4]);
    request.subresource = cut(&bytes, head->lengths[5]);
    request.api_group = cut(&bytes, head->lengths[6]);
    request.api_version = cut(&bytes, head->lengths[7]);
    request.object_namespace = cut(&bytes, head->lengths[8]);
    request.object_name = cut(&bytes, head->lengths[9]);
    request.initial_seats = head->initial_seats;
    request.final_seats = head->final_seats;
    request.additional_latency_ns = head->additional_latency_ns;
    request.wait_limit_ns = head->wait_limit_ns;

    apf_str few[FEW_GROUPS];
    apf_str *groups = few;
    uint32_t count = head->group_count;
    if (count > FEW_GROUPS) {
        groups = malloc(count * sizeof *groups);
        if (groups == NULL) {
            decision->status = APF_ERROR_OUT_OF_MEMORY;
            return;
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t length;
        memcpy(&length, bytes, sizeof length);
        bytes += sizeof length;
        groups[i] = cut(&bytes, length);
    }
    request.groups = groups;
    request.group_count = count;

    apf_outcome outcome;
    apf_status status = apf_submit(go->engine, &request, head->may_wait ? go->queue : NULL, 0, &outcome);
    if (groups != few) {
        free(groups);
    }
    if (status != APF_OK) {
        decision->status = status;
        return;
    }
    fill(decision, &outcome, APF_OK, 0);
}

void apf_go_submit_classified(apf_go *go, uint32_t level, uint64_t flow_hash, const apf_go_request *head,
                              apf_go_decision *decision) {
    apf_classified_request request;
    request.size = sizeof request;
    request.flow_hash = flow_hash;
    request.level = level;
    request.reserved = 0;
    request.initial_seats = head->initial_seats;
    request.final_seats = head->final_seats;
    request.additional_latency_ns = head->additional_latency_ns;
    request.wait_limit_ns = head->wait_limit_ns;
    apf_outcome outcome;
    apf_status status =
        apf_submit_classified(go->engine, &request, head->may_wait ? go->queue : NULL, 0, &outcome);
    if (status != APF_OK) {
        decision->status = status;
        return;
    }
    fill(decision, &outcome, APF_OK, 0);
}

// Runs `call` while this thread takes the decisions that the call brings about.
#define COLLECTING(go_, batch_, call)                                                                                  \
    do {                                                                                                               \
        (batch_)->count = 0;                                                                                           \
        (batch_)->more = 0;                                                                                            \
        caller.go = (go_);                                                                                             \
        caller.batch = (batch_);                                                                                       \
        apf_status status_ = (call);                                                                                   \
        caller.go = NULL;                                                                                              \
        return status_;                                                                                                \
    } while (0)

static inline apf_ticket ticket_of(uint64_t ticket0, uint64_t ticket1) {
    apf_ticket ticket = {{ticket0, ticket1}};
    return ticket;
}

apf_status apf_go_finish(apf_go *go, uint64_t ticket0, uint64_t ticket1, apf_go_batch *batch) {
    COLLECTING(go, batch, apf_finish(go->engine, ticket_of(ticket0, ticket1)));
}

apf_status apf_go_finish_early(apf_go *go, uint64_t ticket0, uint64_t ticket1, apf_go_batch *batch) {
    COLLECTING(go, batch, apf_finish_early(go->engine, ticket_of(ticket0, ticket1)));
}

apf_status apf_go_cancel(apf_go *go, uint64_t ticket0, uint64_t ticket1, apf_go_batch *batch) {
    COLLECTING(go, batch, apf_cancel(go->engine, ticket_of(ticket0, ticket1)));
}

#endif
