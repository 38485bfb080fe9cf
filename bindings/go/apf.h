/* apf.h: Kubernetes API Priority and Fairness as an embeddable engine.
 *
 * This file is made from crates/apf-ffi by cbindgen: do not edit.
 *
 * Conventions
 * ===========
 *
 * Answers. A function that can fail returns an apf_status: APF_OK (0) or an error, numbered from 1 up and never
 * renumbered. On an error it has changed nothing, and writes to its outputs only what its comment says. There is no
 * "last error" kept aside. apf_status_name() and apf_status_text() are the words for a number. That a request is refused is
 * no error, but an outcome.
 *
 * Parameters. First the object, then inputs, then outputs, written on success alone. A pointer must not be NULL unless
 * its comment allows it: NULL is answered by APF_ERROR_NULL_ARGUMENT. Enumerations are passed as int32_t, and numbers
 * that are none are answered by APF_ERROR_INVALID_ARGUMENT. Texts are apf_str: pointer and length, UTF-8, no terminating
 * zero; what is passed in is read during the call and not kept.
 *
 * Structures with a `size` as their first field may grow at their end in later versions: set it to the sizeof of your
 * header, best by the apf_..._init() functions at the end of this file, which set all defaults. A size that no version
 * has is answered by APF_ERROR_INVALID_ARGUMENT. The other structures never change.
 *
 * Ownership. What apf_X_new() makes is freed by apf_X_free(), once; NULL may be freed. Names in outcomes live as long as
 * the engine; texts in problems and statistics as long as these. Nothing else is handed over in either direction.
 *
 * Checked and unchecked. Tickets are checked: zero, made up, used up and foreign ones are an error and change nothing.
 * Pointers cannot be: undefined is a pointer that is neither NULL nor points to what it should, in particular to something that
 * has been freed, or that is freed by another thread during the call; and a buffer that is shorter than it is said to be.
 *
 * Threads. Every function may be called from any number of threads at once with the same engine and the same queue,
 * except to free them. Whether a function can block is in its comment. A signal handler may call none of them, and a thread
 * that is in one must not be cancelled (pthread_cancel). Signals, the
 * signal mask, the locale, the environment and errno are left alone. An engine whose clock runs by itself has one thread
 * of its own, with the name `apf-timers`, which ends with it. It has the signal mask of the thread that makes the engine:
 * signals that are to be taken by signalfd or sigwait are blocked before that.
 *
 * Callbacks run without any lock held: they may call every function of the engine (see apf_completion_callback).
 *
 * fork. A forked child has the memory of an engine but not its threads, and perhaps a level in the middle of an event. Use no
 * engine of the parent there: make a new one. Functions that would wait answer APF_ERROR_FORKED in the child;
 * those that free do the same and free nothing. fork followed by exec needs no care; file descriptors are closed by exec.
 *
 * Defects. If the library panics inside, the call ends with APF_ERROR_PANIC, having had all, part or nothing of its effect,
 * and a message is on standard error. The engine can be used on. Running out of memory for a request is an
 * error; in rare places it ends the process, as it does in most libraries.
 *
 * Global state. A counter of engines made, a counter of threads, and for each thread its place in the statistics and up to
 * 32 free places for requests of each of up to four engines. No more.
 */


#ifndef APF_H
#define APF_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if !defined(__cplusplus) && defined(__STDC_VERSION__) && __STDC_VERSION__ < 201112L
#error "apf.h needs C11 or C++17"
#endif


// Major part of the version of this header.
#define APF_VERSION_MAJOR 0

// Minor part of the version of this header.
#define APF_VERSION_MINOR 1

// Patch part of the version of this header.
#define APF_VERSION_PATCH 0

// The binary interface that this header describes: the library's must be the same.
#define APF_ABI_VERSION 1

// Buckets of a histogram of durations: the last one is beyond the last bound.
#define APF_DURATION_BUCKETS 14

// For a wait without a limit of its own.
#define APF_NO_LIMIT UINT64_MAX

// What a function answers: APF_OK, or why it did nothing. Numbers are never changed or reused.
enum apf_status
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // Done.
    APF_OK = 0,
    // A pointer that must not be NULL is NULL.
    APF_ERROR_NULL_ARGUMENT = 1,
    // An argument is out of its range: a size that no version of the structure has, a number that is no value of its
    // enumeration, a length that no memory has.
    APF_ERROR_INVALID_ARGUMENT = 2,
    // A string is not UTF-8.
    APF_ERROR_UTF8 = 3,
    // The caller's buffer is too small; the size it needs has been written.
    APF_ERROR_BUFFER_TOO_SMALL = 4,
    // The request is no request: it has neither or more than one of resource, path and url, or its url is not that of
    // an HTTP request.
    APF_ERROR_REQUEST = 5,
    // Its seats or its latency are out of range: initial seats 0, a width above 4194303, a latency above 2^63 - 1 ns.
    APF_ERROR_ESTIMATE = 6,
    // There is no priority level of this name or number.
    APF_ERROR_LEVEL = 7,
    // The ticket is all zeros.
    APF_ERROR_NULL_TICKET = 20,
    // The ticket is another engine's.
    APF_ERROR_FOREIGN_TICKET = 21,
    // The request of this ticket is over (finished, cancelled, refused), or there was never such a ticket.
    APF_ERROR_STALE_TICKET = 22,
    // The request still waits, or its completion has not been taken: it cannot be finished, only cancelled.
    APF_ERROR_NOT_ADMITTED = 23,
    // The request runs: it cannot be cancelled, only finished.
    APF_ERROR_ALREADY_ADMITTED = 24,
    // The seats of this request have been given back early.
    APF_ERROR_ALREADY_RELEASED = 25,
    // Another thread is at work with this ticket or queue right now.
    APF_ERROR_BUSY = 26,
    // The configuration is refused; the problems say why.
    APF_ERROR_CONFIGURATION = 40,
    // The number of seats of the server is not in 1..=2147483647.
    APF_ERROR_SEATS = 41,
    // The engine's clock runs by itself: the host cannot set it.
    APF_ERROR_CLOCK = 42,
    // The queue belongs to another engine, or its engine is gone.
    APF_ERROR_FOREIGN_QUEUE = 43,
    // The queue hands its completions to a callback: it cannot be polled or watched.
    APF_ERROR_CALLBACK_QUEUE = 44,
    // No memory for another request.
    APF_ERROR_OUT_OF_MEMORY = 60,
    // This process is a fork of the one that made the engine: make another one here.
    APF_ERROR_FORKED = 61,
    // The operating system refused a thread or a file descriptor.
    APF_ERROR_SYSTEM = 62,
    // A defect in the library. The call may have had part of its effect; the engine can be used on.
    APF_ERROR_PANIC = 63,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum apf_status apf_status;
#else
typedef int32_t apf_status;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// Why a request was refused: the label `reason` of kube-apiserver's metric `rejected_requests_total`.
enum apf_reason
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // It was not.
    APF_REASON_NONE = 0,
    // No seat is free and its queue is full.
    APF_REASON_QUEUE_FULL = 1,
    // Its level does not queue (or the call did not) and has too few free seats.
    APF_REASON_CONCURRENCY_LIMIT = 2,
    // It waited for as long as it may.
    APF_REASON_TIME_OUT = 3,
    // Its caller gave up. Seen in statistics alone, for there is nobody to tell.
    APF_REASON_CANCELLED = 4,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum apf_reason apf_reason;
#else
typedef int32_t apf_reason;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// What became of a request.
enum apf_outcome_kind
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // Nothing yet: no function gives it.
    APF_OUTCOME_NONE = 0,
    // It runs: serve it, then call apf_finish with its ticket.
    APF_OUTCOME_ADMITTED = 1,
    // It waits: its completion will come, unless apf_cancel comes first.
    APF_OUTCOME_QUEUED = 2,
    // It is refused and holds nothing: answer 429 with Retry-After. The ticket is zero.
    APF_OUTCOME_REJECTED = 3,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum apf_outcome_kind apf_outcome_kind;
#else
typedef int32_t apf_outcome_kind;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// What unknown fields and fields written twice are in a configuration.
enum apf_strictness
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // Errors, as `kubectl apply` treats them.
    APF_STRICTNESS_STRICT = 0,
    // Warnings: an unknown field is dropped, of a field written twice the last counts.
    APF_STRICTNESS_LENIENT = 1,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum apf_strictness apf_strictness;
#else
typedef int32_t apf_strictness;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// Which built-in objects a configuration is completed with.
enum apf_builtin
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // The mandatory and the suggested ones of kube-apiserver; own objects of the same kind and name replace them.
    APF_BUILTIN_ALL = 0,
    // The mandatory ones that are missing.
    APF_BUILTIN_MANDATORY = 1,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum apf_builtin apf_builtin;
#else
typedef int32_t apf_builtin;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// Whose decisions the engine reproduces.
enum apf_mode
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // The documented behaviour.
    APF_MODE_DEFAULT = 0,
    // kube-apiserver's to the letter, quirks included.
    APF_MODE_EXACT = 1,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum apf_mode apf_mode;
#else
typedef int32_t apf_mode;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// How flows are hashed.
enum apf_hash
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // The mode's: XXH3 by default, SHA-256 in exact mode.
    APF_HASH_OF_MODE = 0,
    // XXH3-64.
    APF_HASH_XXH3 = 1,
    // SHA-256: puts a flow into the same queues as kube-apiserver.
    APF_HASH_SHA256 = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum apf_hash apf_hash;
#else
typedef int32_t apf_hash;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// What time it is for an engine.
enum apf_clock
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // The time stamp counter where the processor has an invariant one, else the operating system's monotonic clock.
    // A thread of the engine's own serves its timers.
    APF_CLOCK_FASTEST = 0,
    // The operating system's monotonic clock, and a thread as above.
    APF_CLOCK_MONOTONIC = 1,
    // The host's: time stands still until apf_engine_set_time(), and that call serves the timers. There is no thread.
    APF_CLOCK_MANUAL = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum apf_clock apf_clock;
#else
typedef int32_t apf_clock;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// How much a problem matters.
enum apf_severity
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // The object is used.
    APF_SEVERITY_WARNING = 1,
    // The object, and with it the configuration, is refused.
    APF_SEVERITY_ERROR = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum apf_severity apf_severity;
#else
typedef int32_t apf_severity;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// Which of the debug dumps.
enum apf_table
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // A row a priority level, by name (`dump_priority_levels`).
    APF_TABLE_PRIORITY_LEVELS = 1,
    // A row a queue, by level (`dump_queues`).
    APF_TABLE_QUEUES = 2,
    // A row a request that waits or executes, by level (`dump_requests`).
    APF_TABLE_REQUESTS = 3,
    // The same with user, verb, path, namespace and so on (`includeRequestDetails`).
    APF_TABLE_REQUESTS_WITH_DETAILS = 4,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum apf_table apf_table;
#else
typedef int32_t apf_table;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// A queue of completions: where the decisions on queued requests arrive. Every function may use it from several
// threads at once, except that nobody may use it while or after it is freed.
typedef struct apf_completions apf_completions;

// An engine: admits requests by the rules of API Priority and Fairness. Every function may use it from any number of
// threads at once, except that nobody may use it while or after it is freed.
typedef struct apf_engine apf_engine;

// What was found wrong with a configuration, in the order of the texts. It does not change, so any number of threads
// may read it.
typedef struct apf_problems apf_problems;

// The numbers of an engine at one moment. They do not change, so any number of threads may read them.
typedef struct apf_stats apf_stats;

// Text: `len` bytes of UTF-8 from `data`, without a terminating zero. `data` may be NULL when `len` is 0.
//
// Texts that are passed in are read during the call and not kept. For texts that are handed out, the function or
// structure says for how long they live.
typedef struct apf_str {
    // The first byte.
    const char *data;
    // The number of bytes.
    size_t len;
} apf_str;

// FlowSchemas and PriorityLevelConfigurations: built-in ones, and own ones from a text, a file or a folder.
// Fill it by apf_configuration_init() first: all zeros but the size is the built-in objects alone.
typedef struct apf_configuration {
    // sizeof(apf_configuration).
    size_t size;
    // A manifest, YAML (also of several documents) or JSON. May be empty.
    struct apf_str text;
    // What problems call the text; `configuration` when empty.
    struct apf_str text_name;
    // A file or a folder of manifests. May be empty, and may come besides the text.
    struct apf_str path;
    // An apf_strictness.
    int32_t strictness;
    // An apf_builtin.
    int32_t builtin;
} apf_configuration;

// Settings of an engine. Fill it by apf_engine_options_init() first.
typedef struct apf_engine_options {
    // sizeof(apf_engine_options).
    size_t size;
    // Seats of the server, 1..=2147483647: how many requests of one seat it serves at a time. The init function sets 600.
    int64_t seats;
    // The configuration; NULL for the built-in objects.
    const struct apf_configuration *configuration;
    // How long a request may wait in a queue, nanoseconds. The init function sets 15 seconds.
    uint64_t queue_wait_limit_ns;
    // An apf_mode.
    int32_t mode;
    // An apf_hash.
    int32_t hash;
    // An apf_clock.
    int32_t clock;
    // 1 to keep of each request what dumps of requests show, at the price of a lock and several allocations a
    // request; else 0.
    int32_t keep_details;
} apf_engine_options;

// A request, described by what it asks for: exactly one of `resource`, `path` and `url` is set, the others are empty.
// Fill it by apf_request_init() first.
typedef struct apf_request {
    // sizeof(apf_request).
    size_t size;
    // User name, after authentication and impersonation.
    struct apf_str user;
    // The user's groups: `group_count` of them. May be NULL when that is 0.
    const struct apf_str *groups;
    // How many groups.
    size_t group_count;
    // For a resource the verb of the API (`list`, `deletecollection`); for a path the HTTP method in lower case; for a
    // url the HTTP method as sent (`GET`).
    struct apf_str verb;
    // The path and query of a Kubernetes API URL as sent, such as `/api/v1/namespaces/dev/pods?watch=1`: verb, resource,
    // namespace and name are taken from it. This form allocates memory during the call.
    struct apf_str url;
    // The path of a URL that is no resource, decoded, without query: `/healthz`.
    struct apf_str path;
    // The resource, plural and lower case: `pods`.
    struct apf_str resource;
    // The subresource: `status`. May be empty.
    struct apf_str subresource;
    // The API group of the resource: empty for the core group.
    struct apf_str api_group;
    // The version of the API group; plays no part in classification, only in dumps.
    struct apf_str api_version;
    // The namespace of the object: empty for cluster-scoped resources and lists across namespaces.
    struct apf_str object_namespace;
    // The name of the object; plays no part in classification, only in dumps.
    struct apf_str object_name;
    // Seats while it executes, 1..=4194303. apf_request_init() sets 1.
    uint64_t initial_seats;
    // Seats after it has finished, 0..=4194303, held for `additional_latency_ns`.
    uint64_t final_seats;
    // How long the final seats are held after the end, nanoseconds, below 2^63.
    uint64_t additional_latency_ns;
    // How long it may wait at most, nanoseconds; the limit of its level applies besides. apf_request_init() sets
    // APF_NO_LIMIT.
    uint64_t wait_limit_ns;
} apf_request;

// A request in the system: from its admission or its place in a queue until it is over.
//
// A plain value: copy it, store it, send it to another thread. Every use is checked, so a ticket that is zero, used
// up, made up or another engine's is an error code and changes nothing. All zeros is never a ticket.
typedef struct apf_ticket {
    // Opaque; equal for the same request and for no other of the process.
    uint64_t bits[2];
} apf_ticket;

// What became of a request. This structure never changes.
typedef struct apf_outcome {
    // What became of it: an apf_outcome_kind.
    int32_t kind;
    // Why it was rejected: an apf_reason.
    int32_t reason;
    // For a rejected one: how long to stay away, the value of the header Retry-After, seconds, 1..=32.
    uint32_t retry_after_seconds;
    // Always 0.
    uint32_t reserved;
    // What to finish or to cancel it by; zero when it was rejected.
    struct apf_ticket ticket;
    // For an admitted one: the seats that it holds, the larger of its initial and final ones.
    uint64_t seats;
    // Its priority level. Lives as long as the engine. Empty in a queued outcome: it comes with the completion.
    struct apf_str level;
    // Its FlowSchema. Lives as long as the engine. Empty in a queued outcome.
    struct apf_str flow_schema;
} apf_outcome;

// A request that the host has classified by itself. Fill it by apf_classified_request_init() first.
typedef struct apf_classified_request {
    // sizeof(apf_classified_request).
    size_t size;
    // Its flow: requests of one flow share queues. Any number that is well mixed, such as apf_flow_hash() gives.
    uint64_t flow_hash;
    // Its priority level, as apf_level_find() gives it.
    uint32_t level;
    // Always 0.
    uint32_t reserved;
    // Seats while it executes, 1..=4194303. The init function sets 1.
    uint64_t initial_seats;
    // Seats after it has finished, 0..=4194303, held for `additional_latency_ns`.
    uint64_t final_seats;
    // How long the final seats are held after the end, nanoseconds, below 2^63.
    uint64_t additional_latency_ns;
    // How long it may wait at most, nanoseconds; the limit of its level applies besides. The init function sets
    // APF_NO_LIMIT.
    uint64_t wait_limit_ns;
} apf_classified_request;

// The decision on a queued request. This structure never changes.
typedef struct apf_completion {
    // What was passed when it was submitted.
    uint64_t user_data;
    // How long it waited, nanoseconds.
    uint64_t waited_ns;
    // APF_OK. Otherwise an apf_status: the request ended without a decision, holds nothing and is over.
    int32_t status;
    // Always 0.
    int32_t reserved;
    // Admitted or rejected. Its ticket is the one the request was queued under; of a rejected one it is over already.
    struct apf_outcome outcome;
} apf_completion;

// What a host is called with when a queued request has been decided: its own `context`, and the completion, which
// lives as long as the call.
//
// No lock of the engine is held: it may call every function of the engine, except to free this queue or the engine. It
// runs in whichever thread has caused the decision, in the middle of its call (of apf_finish, say) or in the engine's
// timer thread. Calls for one queue do not overlap and do not nest. It must not unwind (C++ exceptions, longjmp).
typedef void (*apf_completion_callback)(void *context, const struct apf_completion *completion);

// Something that is wrong with a configuration. The texts live until apf_problems_free().
typedef struct apf_problem {
    // sizeof(apf_problem), set by the caller before the call.
    size_t size;
    // An apf_severity.
    int32_t severity;
    // Line from 1; 0 when it has none.
    uint32_t line;
    // Column in characters from 1; 0 when it has none.
    uint32_t column;
    // Always 0.
    uint32_t reserved;
    // The file, or the name of the text. May be empty.
    struct apf_str file;
    // `kind` of the object as written; empty when not known.
    struct apf_str kind;
    // `metadata.name` of the object; empty when not known.
    struct apf_str name;
    // Path of the field, such as `spec.rules[0].subjects`; empty when the whole object or file is meant.
    struct apf_str field;
    // The rule: `Required value`, `Invalid value`, `Unknown field`, `Syntax error`, ... as Kubernetes titles them.
    struct apf_str rule;
    // The offending value, where the rule shows one.
    struct apf_str value;
    // What the rule asks for. May be empty.
    struct apf_str detail;
    // All of it in one line, for people.
    struct apf_str text;
} apf_problem;

// The numbers of one priority level. In brackets the metrics of kube-apiserver. `name` lives until apf_stats_free().
typedef struct apf_level_stats {
    // sizeof(apf_level_stats), set by the caller before the call.
    size_t size;
    // Its name.
    struct apf_str name;
    // Its share of the server, seats (nominal_limit_seats).
    uint32_t nominal_limit;
    // What it keeps when it lends all it may, seats (lower_limit_seats).
    uint32_t lower_limit;
    // What it has when it borrows all it may, seats (upper_limit_seats).
    uint32_t upper_limit;
    // What it has now, seats (current_limit_seats).
    uint32_t current_limit;
    // What it would have by its demand, seats (target_seats).
    double target;
    // Largest demand of the last 10 s period, seats (demand_seats_high_watermark).
    double demand_high;
    // Mean demand of the last period, seats (demand_seats_average).
    double demand_average;
    // Its standard deviation, seats (demand_seats_stdev).
    double demand_deviation;
    // The envelope that limits follow, seats (demand_seats_smoothed).
    double demand_smoothed;
    // Requests waiting.
    uint64_t requests_waiting;
    // Seats they want.
    uint64_t seats_waiting;
    // Requests executing.
    uint64_t requests_executing;
    // Seats in use, also by requests that linger.
    uint64_t seats_in_use;
    // Seats in use over the current limit; over a tenth of the server where that is 0. Never NaN.
    double seat_utilization;
    // Progress of the level's virtual clock, seat-seconds (current_r).
    double progress;
    // Requests that started.
    uint64_t dispatched;
    // Requests refused because their queue was full.
    uint64_t rejected_queue_full;
    // Requests refused because the level does not queue.
    uint64_t rejected_concurrency_limit;
    // Requests that waited for as long as they might. Never moves in exact mode.
    uint64_t timed_out;
    // Requests whose caller left while they waited; in exact mode also those that timed out.
    uint64_t cancelled;
    // Times that the next request in turn did not fit (request_dispatch_no_accommodation_total).
    uint64_t no_accommodation;
    // What a refused caller is told, seconds.
    uint32_t retry_after_seconds;
    // 1 when it has been removed and is running empty, else 0.
    uint32_t quiescing;
} apf_level_stats;

// A histogram of durations. Its bounds are 0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15 and 30 seconds, as
// kube-apiserver's. This structure never changes.
typedef struct apf_histogram {
    // Observations in each bucket, not cumulative.
    uint64_t counts[APF_DURATION_BUCKETS];
    // Sum of the observations, seconds.
    double sum_seconds;
} apf_histogram;

// The numbers of one FlowSchema at one level. In brackets the metrics of kube-apiserver. The names live until
// apf_stats_free().
typedef struct apf_schema_stats {
    // sizeof(apf_schema_stats), set by the caller before the call.
    size_t size;
    // The FlowSchema.
    struct apf_str name;
    // The level its requests went to.
    struct apf_str level;
    // Requests that were given to the level.
    uint64_t arrived;
    // Requests that began to execute (dispatched_requests_total).
    uint64_t dispatched;
    // Requests refused with the reason `queue-full` (rejected_requests_total).
    uint64_t rejected_queue_full;
    // Requests refused with the reason `concurrency-limit`.
    uint64_t rejected_concurrency_limit;
    // Requests refused with the reason `time-out`.
    uint64_t timed_out;
    // Requests that were cancelled.
    uint64_t cancelled;
    // Requests waiting (current_inqueue_requests).
    int64_t requests_waiting;
    // Their seats (current_inqueue_seats).
    int64_t seats_waiting;
    // Requests executing (current_executing_requests).
    int64_t requests_executing;
    // Their seats, without those that linger.
    int64_t seats_executing;
    // Seats of ended requests that linger.
    uint64_t seats_lingering;
    // Waits that ended in execution (request_wait_duration_seconds with execute="true").
    struct apf_histogram waited;
    // Waits that did not (execute="false").
    struct apf_histogram waited_in_vain;
    // Executions, but for watches (request_execution_seconds with type="regular").
    struct apf_histogram executed;
    // Executions of watches: until apf_finish_early(), if the host calls that (type="watch").
    struct apf_histogram watched;
} apf_schema_stats;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// The binary interface of the library that is linked: a program compares it with APF_ABI_VERSION of its header.
// It is also the number in the name `libapf.so.1`. Never fails.
uint32_t apf_abi_version(void);

// The version of the library that is linked, such as `0.1.0`. The text is constant. Never fails.
struct apf_str apf_version(void);

// The name of an apf_status in the table of errors (docs/errors.md), the same in every language, such as `stale-ticket`;
// `unknown` for other numbers. The text is constant. Never fails.
struct apf_str apf_status_name(int32_t status);

// A sentence on an apf_status, for people. The text is constant. Never fails.
struct apf_str apf_status_text(int32_t status);

// The name of an apf_reason, as the label `reason` of kube-apiserver's metrics has it: `queue-full`,
// `concurrency-limit`, `time-out`, `cancelled`; empty for other numbers. The text is constant. Never fails.
struct apf_str apf_reason_name(int32_t reason);

#if defined(APF_PANIC_INJECTION)
// Only in libraries built for tests: the next call of the function of this name panics inside. The text is read
// during the call. Answers 0, or 1 when the name is not UTF-8.
//
// # Safety
//
// The text is valid.
int32_t apf_test_panic_at(struct apf_str function);
#endif

// Makes an engine.
//
// `options`: NULL for the defaults: 600 seats, the built-in objects of kube-apiserver, a clock that runs by itself.
// `engine`: where the new engine goes; free it by apf_engine_free().
// `problems`: NULL, or where the problems found go, also when the call fails: warnings, and what was refused. NULL is
// written when there are none. Free them by apf_problems_free().
//
// APF_ERROR_CONFIGURATION: an object is refused; every problem names file, line, object, field and rule.
// APF_ERROR_SEATS: the seats are not in 1..=2147483647. APF_ERROR_SYSTEM: there is no thread for timers.
//
// Blocks: reads files if told so, and compares two clocks for 10 ms unless the options name another one.
apf_status apf_engine_new(const struct apf_engine_options *options,
                          struct apf_engine **engine,
                          struct apf_problems **problems);

// Frees an engine. NULL is allowed. Requests that wait are cancelled, those that run are finished, and their tickets
// and all names in outcomes are void. Its queues give no more completions; they are still to be freed, before or after.
//
// No other call may use the engine or one of its queues meanwhile or later. A callback that runs in the engine's own
// timer thread is no such call: then the answer is APF_ERROR_BUSY, no more callbacks begin, and the engine is to be
// freed again later. That is also the answer within a callback.
//
// APF_ERROR_FORKED: in a fork of the process that made it; nothing is freed. Does not block.
apf_status apf_engine_free(struct apf_engine *engine);

// Replaces the whole configuration while requests are in flight: running ones keep their seats and waiting ones their
// places; a level that is gone takes no new requests and goes when it is empty. NULL for the built-in objects. The number
// of seats, the mode and the wait limits stay.
//
// `problems`: as in apf_engine_new(). APF_ERROR_CONFIGURATION: an object is refused and nothing has changed.
//
// Blocks: reads files if told so, and waits for its turn at each level. Admission does not wait for it.
apf_status apf_engine_reconfigure(const struct apf_engine *engine,
                                  const struct apf_configuration *configuration,
                                  struct apf_problems **problems);

// The engine's time: nanoseconds since an origin of its own. Does not block.
apf_status apf_engine_now(const struct apf_engine *engine, uint64_t *now_ns);

// Moves the time of an engine with APF_CLOCK_MANUAL on, and does what becomes due on the way, each at its time:
// delayed releases, time-outs of waiting requests, the adjustment of limits every 10 seconds. Time does not go back: an
// earlier time than the engine's changes nothing, but what is due is done.
//
// APF_ERROR_CLOCK: the engine's clock runs by itself. APF_ERROR_INVALID_ARGUMENT: the time is 2^63 or more, or more
// than 30 days ahead: go there in several steps.
//
// Blocks: waits for its turn at each level. Callbacks run within it. To be called by one thread at a time; others may
// use the engine meanwhile.
apf_status apf_engine_set_time(const struct apf_engine *engine,
                               uint64_t now_ns);

// When something is due next, nanoseconds since the engine's origin: apf_engine_set_time() to that time does it. There
// is always something: the next adjustment of the limits, if nothing else. Blocks for no longer than another
// thread needs to note a timer.
apf_status apf_engine_next_timer(const struct apf_engine *engine,
                                 uint64_t *due_ns);

// The number of a priority level, for apf_submit_classified(). It stays the level's until the level is removed from the
// configuration; one that comes back has another. APF_ERROR_LEVEL: there is none of this name.
//
// Blocks for as long as a change of the configuration takes.
apf_status apf_level_find(const struct apf_engine *engine,
                          struct apf_str name,
                          uint32_t *level);

// The hash of a flow, as the engine computes it from the name of a FlowSchema and a flow distinguisher (a user or a
// namespace; may be empty). Does not block.
apf_status apf_flow_hash(const struct apf_engine *engine,
                         struct apf_str flow_schema,
                         struct apf_str distinguisher,
                         uint64_t *hash);

// Submits a request: it is admitted, queued or rejected at once.
//
// `queue`: where its completion goes if it is queued; NULL never to queue it: it is then rejected with the reason
// `concurrency-limit` where it would have had to wait. `user_data`: handed back with the completion.
// `outcome`: what became of it. An admitted request is to be finished by apf_finish(); a queued one completes
// through `queue`, perhaps before this call returns and in another thread, unless apf_cancel() ends it before.
//
// APF_ERROR_REQUEST, APF_ERROR_UTF8, APF_ERROR_ESTIMATE: the request is none. APF_ERROR_FOREIGN_QUEUE: the queue is
// another engine's. APF_ERROR_FORKED: it would have to wait in a forked child. Refusals are no errors: they are outcomes.
//
// Does not block: to start when seats are free never waits for another thread; to be queued takes one short lock,
// for its time-out. Takes no memory once the engine has seen as many requests at a time.
apf_status apf_submit(const struct apf_engine *engine,
                      const struct apf_request *request,
                      struct apf_completions *queue,
                      uint64_t user_data,
                      struct apf_outcome *outcome);

// As apf_submit(), for a host with a classification of its own: level, flow and seats.
//
// APF_ERROR_LEVEL: there is no level of this number, or it has been removed: find it again. In the statistics such
// requests belong to a FlowSchema called `(host)`.
apf_status apf_submit_classified(const struct apf_engine *engine,
                                 const struct apf_classified_request *request,
                                 struct apf_completions *queue,
                                 uint64_t user_data,
                                 struct apf_outcome *outcome);

// Submits `count` requests in their order, as as many calls of apf_submit() would, but with one look at the
// configuration and one at the clock.
//
// `user_data`: `count` of them, or NULL for zeros. `outcomes`: places for `count` of them. `done`: how many were
// submitted; written in any case. At the first request that cannot be submitted it stops, and answers with that error;
// the requests before it are in the system, and their outcomes are written.
apf_status apf_submit_batch(const struct apf_engine *engine,
                            const struct apf_request *requests,
                            size_t count,
                            struct apf_completions *queue,
                            const uint64_t *user_data,
                            struct apf_outcome *outcomes,
                            size_t *done);

// As apf_submit_batch(), for requests that the host has classified.
apf_status apf_submit_classified_batch(const struct apf_engine *engine,
                                       const struct apf_classified_request *requests,
                                       size_t count,
                                       struct apf_completions *queue,
                                       const uint64_t *user_data,
                                       struct apf_outcome *outcomes,
                                       size_t *done);

// Admits a request, blocking the thread while it waits in its queue: for at most `timeout_ns` nanoseconds
// (APF_NO_LIMIT: for as long as its level and the request itself allow). The outcome is admitted or rejected.
//
// Errors as in apf_submit(). Blocks. With a manual clock time-outs are in its time, and another thread must move it.
apf_status apf_admit(const struct apf_engine *engine,
                     const struct apf_request *request,
                     uint64_t timeout_ns,
                     struct apf_outcome *outcome);

// Ends a request that waits, or whose completion has not been taken: it holds nothing any more, no completion of it
// will be taken, and its ticket is void.
//
// APF_ERROR_ALREADY_ADMITTED: it runs; finish it. APF_ERROR_STALE_TICKET: it is over. Does not block.
apf_status apf_cancel(const struct apf_engine *engine,
                      struct apf_ticket ticket);

// Ends a request that runs: its seats come back, now or after its additional latency, and its ticket is void.
//
// APF_ERROR_NOT_ADMITTED: it waits, or its completion has not been taken. APF_ERROR_STALE_TICKET: it is over.
// Does not block. Callbacks for requests that are granted by it run within it.
apf_status apf_finish(const struct apf_engine *engine,
                      struct apf_ticket ticket);

// Gives the seats of a running request back although it goes on: for watches, whose cost ends with their
// initialisation. Its ticket stays, and is to be finished when it ends.
//
// APF_ERROR_ALREADY_RELEASED: it has given them back. Otherwise as apf_finish().
apf_status apf_finish_early(const struct apf_engine *engine,
                            struct apf_ticket ticket);

// Ends `count` running requests in their order, as as many calls of apf_finish() would, but with one look at the clock.
//
// `done`: how many were ended; written in any case. At the first ticket that cannot be finished it stops, and answers
// with that error.
apf_status apf_finish_batch(const struct apf_engine *engine,
                            const struct apf_ticket *tickets,
                            size_t count,
                            size_t *done);

// Makes a queue for the completions of requests of this engine, to be polled, waited for or watched. An engine may have
// any number of them, such as one for each event loop. Free it by apf_completions_free(). Does not block.
apf_status apf_completions_new(const struct apf_engine *engine,
                               struct apf_completions **queue);

// Makes a queue that hands its completions to a callback: see apf_completion_callback. `context` is passed on and may be
// NULL; it must live until the queue or the engine has been freed. Does not block.
apf_status apf_completions_new_callback(const struct apf_engine *engine,
                                        apf_completion_callback callback,
                                        void *context,
                                        struct apf_completions **queue);

// Frees a queue. NULL is allowed. Requests that wait for a completion here are cancelled, and what was granted but not
// taken is given back. Its file descriptor is closed. No other call may use the queue meanwhile or later.
//
// APF_ERROR_BUSY: its callback is running; no more calls begin, and the queue is to be freed again later. That is
// also the answer within the callback. Does not block.
apf_status apf_completions_free(struct apf_completions *queue);

// Takes completions, in the order of the decisions: at most `capacity` of them into `completions`, and their number
// into `count`, which may be 0. From now on an admitted request is to be finished, not cancelled.
//
// Does not wait for a completion. Threads that take from one queue at the same time wait for each other.
apf_status apf_completions_poll(struct apf_completions *queue,
                                struct apf_completion *completions,
                                size_t capacity,
                                size_t *count);

// As apf_completions_poll(), but while there is none it waits: for at most `timeout_ns` nanoseconds of real time, for
// good if that is APF_NO_LIMIT. `count` is 0 when the time is up, or apf_completions_wake() was called.
//
// Blocks. APF_ERROR_SYSTEM: no file descriptor is to be had. Several threads may wait at one queue.
apf_status apf_completions_wait(struct apf_completions *queue,
                                uint64_t timeout_ns,
                                struct apf_completion *completions,
                                size_t capacity,
                                size_t *count);

// Has one thread that waits at the queue, now or next, come back without completions: to end its loop. Does not block.
apf_status apf_completions_wake(struct apf_completions *queue);

// The file descriptor of a queue, for poll, epoll and the like: readable while there are completions, now and then also
// when there are none (a poll of the queue then finds none and quietens it). It belongs to the queue: do not read,
// write or close it. An eventfd on Linux, the end of a pipe elsewhere; not inherited through exec.
//
// Does not block. APF_ERROR_SYSTEM: none is to be had.
apf_status apf_completions_fd(struct apf_completions *queue,
                              int *fd);

// How many problems there are. Does not block.
apf_status apf_problems_count(const struct apf_problems *problems, size_t *count);

// One problem, numbered from 0. The caller sets `problem->size` before the call; the texts in it belong to `problems`.
// APF_ERROR_INVALID_ARGUMENT when there is none of that number. Does not block.
apf_status apf_problems_get(const struct apf_problems *problems,
                            size_t index,
                            struct apf_problem *problem);

// Frees problems. NULL is allowed. Does not block.
apf_status apf_problems_free(struct apf_problems *problems);

// Reads every number of an engine. Free them by apf_stats_free().
//
// Blocks: waits for its turn at each level.
apf_status apf_stats_new(const struct apf_engine *engine, struct apf_stats **stats);

// Frees numbers. NULL is allowed. Does not block.
apf_status apf_stats_free(struct apf_stats *stats);

// How many priority levels and how many pairs of FlowSchema and level there are numbers of; also pairs of earlier
// configurations, for counts do not go away. Either place may be NULL. Does not block.
apf_status apf_stats_counts(const struct apf_stats *stats,
                            size_t *levels,
                            size_t *schemas);

// The numbers of one level, numbered from 0 by name. The caller sets `level->size` before the call.
// APF_ERROR_INVALID_ARGUMENT when there is none of that number. Does not block.
apf_status apf_stats_level(const struct apf_stats *stats,
                           size_t index,
                           struct apf_level_stats *level);

// The numbers of one FlowSchema at one level, numbered from 0 by level and schema. The caller sets `schema->size`
// before the call. APF_ERROR_INVALID_ARGUMENT when there is none of that number. Does not block.
apf_status apf_stats_schema(const struct apf_stats *stats,
                            size_t index,
                            struct apf_schema_stats *schema);

// The proportion of its target that every level has (seat_fair_frac). Does not block.
apf_status apf_stats_fair_fraction(const struct apf_stats *stats, double *fraction);

// The metrics of kube-apiserver's priority and fairness in the text format of Prometheus
// (`text/plain; version=0.0.4; charset=utf-8`).
//
// `buffer`: where the text goes, `capacity` bytes; NULL with capacity 0 to ask for the size. `size`: the bytes of the
// text, without a terminating zero, which is written too where there is room for it; written in any case.
// APF_ERROR_BUFFER_TOO_SMALL: the text has more bytes than `capacity`, and nothing of it is written. It may have grown by the next
// call: ask for more than `size`.
//
// Blocks: waits for its turn at each level. Takes memory for the text during the call.
apf_status apf_prometheus(const struct apf_engine *engine,
                          char *buffer,
                          size_t capacity,
                          size_t *size);

// One of the debug dumps that kube-apiserver serves under `/debug/api_priority_and_fairness/`.
//
// `table`: an apf_table. `buffer`, `capacity`, `size`: as in apf_prometheus(). What a dump of requests says of a request
// beyond its level's own account is there only with `keep_details` in the engine's options.
//
// Blocks: waits for its turn at each level, and copies it: not for busy monitoring.
apf_status apf_dump(const struct apf_engine *engine,
                    int32_t table,
                    char *buffer,
                    size_t capacity,
                    size_t *size);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* APF_H */

#ifndef APF_H_VALUES
#define APF_H_VALUES

/* Values to start from. They are functions of this file alone, the library does not have them. */

/* A text of `length` bytes. Copies nothing. */
static inline apf_str apf_str_new(const char *data, size_t length) {
    apf_str text;
    text.data = data;
    text.len = length;
    return text;
}

/* The text of a C string, which may be NULL. Copies nothing. */
static inline apf_str apf_str_of(const char *string) {
    return apf_str_new(string, string != NULL ? strlen(string) : 0);
}

/* A request of one seat without attributes. */
static inline apf_request apf_request_init(void) {
    apf_request request;
    memset(&request, 0, sizeof request);
    request.size = sizeof request;
    request.initial_seats = 1;
    request.wait_limit_ns = APF_NO_LIMIT;
    return request;
}

/* A classified request of one seat. */
static inline apf_classified_request apf_classified_request_init(uint32_t level, uint64_t flow_hash) {
    apf_classified_request request;
    memset(&request, 0, sizeof request);
    request.size = sizeof request;
    request.level = level;
    request.flow_hash = flow_hash;
    request.initial_seats = 1;
    request.wait_limit_ns = APF_NO_LIMIT;
    return request;
}

/* The built-in objects. */
static inline apf_configuration apf_configuration_init(void) {
    apf_configuration configuration;
    memset(&configuration, 0, sizeof configuration);
    configuration.size = sizeof configuration;
    return configuration;
}

/* 600 seats, the built-in objects, 15 seconds of waiting, a clock that runs by itself. */
static inline apf_engine_options apf_engine_options_init(void) {
    apf_engine_options options;
    memset(&options, 0, sizeof options);
    options.size = sizeof options;
    options.seats = 600;
    options.queue_wait_limit_ns = 15000000000u;
    return options;
}

/* A place for apf_problems_get(). */
static inline apf_problem apf_problem_init(void) {
    apf_problem problem;
    memset(&problem, 0, sizeof problem);
    problem.size = sizeof problem;
    return problem;
}

/* A place for apf_stats_level(). */
static inline apf_level_stats apf_level_stats_init(void) {
    apf_level_stats stats;
    memset(&stats, 0, sizeof stats);
    stats.size = sizeof stats;
    return stats;
}

/* A place for apf_stats_schema(). */
static inline apf_schema_stats apf_schema_stats_init(void) {
    apf_schema_stats stats;
    memset(&stats, 0, sizeof stats);
    stats.size = sizeof stats;
    return stats;
}

#endif /* APF_H_VALUES */
