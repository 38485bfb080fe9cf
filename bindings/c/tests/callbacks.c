/* Callbacks: no lock is held, so they may call the engine again (public report H9), and they do not nest. */

#include "test.h"

#include <pthread.h>
#include <time.h>

struct host {
    apf_engine *engine;
    apf_completions *queue;
    int depth, deepest, calls;
    uint64_t last;
    int everything; /* call every function from within */
};

static void call_everything(struct host *host) {
    apf_engine *engine = host->engine;
    apf_request request = request_by("bob");
    apf_outcome outcome;
    OK(apf_submit(engine, &request, host->queue, 1000, &outcome)); /* classify, and queue or start */
    if (outcome.kind == APF_OUTCOME_QUEUED)
        OK(apf_cancel(engine, outcome.ticket));
    else
        OK(apf_finish(engine, outcome.ticket));
    OK(apf_submit(engine, &request, NULL, 0, &outcome));
    if (outcome.kind == APF_OUTCOME_ADMITTED) OK(apf_finish(engine, outcome.ticket));
    size_t size = 0;
    CHECK_STATUS(apf_dump(engine, APF_TABLE_QUEUES, NULL, 0, &size), APF_ERROR_BUFFER_TOO_SMALL);
    CHECK_STATUS(apf_prometheus(engine, NULL, 0, &size), APF_ERROR_BUFFER_TOO_SMALL);
    apf_level_stats stats = level_stats(engine);
    CHECK(stats.requests_executing >= 1);
    uint64_t time = 0;
    OK(apf_engine_now(engine, &time));
    OK(apf_engine_next_timer(engine, &time));
    /* What would free the ground under the callback is refused. */
    CHECK_STATUS(apf_engine_set_time(engine, 1), APF_ERROR_CLOCK);
    apf_configuration configuration = apf_configuration_init();
    configuration.builtin = APF_BUILTIN_MANDATORY;
    OK(apf_engine_reconfigure(engine, &configuration, NULL));
    apf_completions *more = NULL;
    OK(apf_completions_new(engine, &more));
    OK(apf_completions_free(more));
}

static void completed(void *context, const apf_completion *completion) {
    struct host *host = context;
    host->depth++;
    if (host->depth > host->deepest) host->deepest = host->depth;
    host->calls++;
    CHECK_EQ(completion->status, APF_OK);
    CHECK_EQ(completion->outcome.kind, APF_OUTCOME_ADMITTED);
    CHECK(completion->user_data > host->last);
    host->last = completion->user_data;
    if (host->everything) call_everything(host);
    /* The next one is granted by this, and is called about after this call has returned. */
    OK(apf_finish(host->engine, completion->outcome.ticket));
    host->depth--;
}

/* A whole queue goes through its callback, each call finishing its request: no depth, in order. */
static void a_long_queue(void) {
    enum { MANY = 10000 };
    struct host host = {.engine = engine_with(1, MANY, apf_engine_options_init())};
    OK(apf_completions_new_callback(host.engine, completed, &host, &host.queue));
    apf_completion completion;
    size_t count;
    int fd;
    CHECK_STATUS(apf_completions_poll(host.queue, &completion, 1, &count), APF_ERROR_CALLBACK_QUEUE);
    CHECK_STATUS(apf_completions_wait(host.queue, 0, &completion, 1, &count), APF_ERROR_CALLBACK_QUEUE);
    CHECK_STATUS(apf_completions_fd(host.queue, &fd), APF_ERROR_CALLBACK_QUEUE);
    CHECK_STATUS(apf_completions_wake(host.queue), APF_ERROR_CALLBACK_QUEUE);
    CHECK_STATUS(apf_completions_new_callback(host.engine, NULL, &host, &host.queue), APF_ERROR_NULL_ARGUMENT);
    apf_request request = request_by("alice");
    apf_outcome running = submit(host.engine, &request, host.queue, 0);
    for (uint64_t at = 1; at <= MANY; at++)
        CHECK_EQ(submit(host.engine, &request, host.queue, at).kind, APF_OUTCOME_QUEUED);
    OK(apf_finish(host.engine, running.ticket));
    CHECK_EQ(host.calls, MANY);
    CHECK_EQ(host.deepest, 1);
    CHECK_EQ(level_stats(host.engine).seats_in_use, 0);
    OK(apf_completions_free(host.queue));
    OK(apf_engine_free(host.engine));
}

static void every_function_from_within(void) {
    struct host host = {.engine = engine_with(1, 50, apf_engine_options_init()), .everything = 1};
    OK(apf_completions_new_callback(host.engine, completed, &host, &host.queue));
    apf_request request = request_by("alice");
    apf_outcome running = submit(host.engine, &request, host.queue, 0);
    for (uint64_t at = 1; at <= 3; at++) submit(host.engine, &request, host.queue, at);
    OK(apf_finish(host.engine, running.ticket));
    CHECK_EQ(host.calls, 3);
    OK(apf_completions_free(host.queue));
    OK(apf_engine_free(host.engine));
}

struct freeing {
    apf_engine *engine;
    apf_completions *queue;
    int calls;
};

static void free_from_within(void *context, const apf_completion *completion) {
    struct freeing *host = context;
    host->calls++;
    OK(apf_finish(host->engine, completion->outcome.ticket));
    CHECK_STATUS(apf_completions_free(host->queue), APF_ERROR_BUSY);
}

/* To free the queue from within is refused, and is the last call. */
static void a_queue_that_is_freed_from_within(void) {
    struct freeing host = {.engine = engine_with(1, 50, apf_engine_options_init())};
    OK(apf_completions_new_callback(host.engine, free_from_within, &host, &host.queue));
    apf_request request = request_by("alice");
    apf_outcome running = submit(host.engine, &request, host.queue, 0);
    for (uint64_t at = 1; at <= 3; at++) submit(host.engine, &request, host.queue, at);
    OK(apf_finish(host.engine, running.ticket));
    CHECK_EQ(host.calls, 1);
    OK(apf_completions_free(host.queue));
    CHECK_EQ(level_stats(host.engine).seats_in_use, 0);
    CHECK_EQ(level_stats(host.engine).requests_waiting, 0);
    OK(apf_engine_free(host.engine));
}

static void free_engine_from_within(void *context, const apf_completion *completion) {
    struct freeing *host = context;
    host->calls++;
    (void)completion;
    CHECK_STATUS(apf_engine_free(host->engine), APF_ERROR_BUSY);
}

static void an_engine_that_is_freed_from_within(void) {
    struct freeing host = {.engine = engine_with(1, 50, apf_engine_options_init())};
    OK(apf_completions_new_callback(host.engine, free_engine_from_within, &host, &host.queue));
    apf_request request = request_by("alice");
    apf_outcome running = submit(host.engine, &request, host.queue, 0);
    for (uint64_t at = 1; at <= 3; at++) submit(host.engine, &request, host.queue, at);
    OK(apf_finish(host.engine, running.ticket));
    CHECK_EQ(host.calls, 1);
    OK(apf_engine_free(host.engine));
    OK(apf_completions_free(host.queue));
}

struct timed_out {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int calls;
    pthread_t thread;
};

static void note_time_out(void *context, const apf_completion *completion) {
    struct timed_out *noted = context;
    CHECK_EQ(completion->outcome.kind, APF_OUTCOME_REJECTED);
    CHECK_EQ(completion->outcome.reason, APF_REASON_TIME_OUT);
    pthread_mutex_lock(&noted->lock);
    noted->calls++;
    noted->thread = pthread_self();
    pthread_cond_signal(&noted->changed);
    pthread_mutex_unlock(&noted->lock);
}

/* Nobody calls the engine: time-outs come from its own thread, on time. */
static void time_outs_without_any_call(void) {
    struct timed_out noted = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    apf_engine *engine = engine_with(1, 50, apf_engine_options_init());
    apf_completions *queue = NULL;
    OK(apf_completions_new_callback(engine, note_time_out, &noted, &queue));
    apf_request request = request_by("alice");
    apf_outcome running = submit(engine, &request, queue, 0);
    request.wait_limit_ns = 300000000; /* long enough for none to be over before it waits */
    for (uint64_t at = 1; at <= 10; at++) CHECK_EQ(submit(engine, &request, queue, at).kind, APF_OUTCOME_QUEUED);
    pthread_mutex_lock(&noted.lock);
    while (noted.calls < 10) pthread_cond_wait(&noted.changed, &noted.lock);
    CHECK(!pthread_equal(noted.thread, pthread_self()));
    pthread_mutex_unlock(&noted.lock);
    CHECK_EQ(level_stats(engine).requests_waiting, 0);
    OK(apf_finish(engine, running.ticket));
    int32_t freed;
    while ((freed = apf_completions_free(queue)) == APF_ERROR_BUSY) {
        struct timespec pause = {0, 1000000};
        nanosleep(&pause, NULL);
    }
    CHECK_EQ(freed, APF_OK);
    OK(apf_engine_free(engine));
}

int main(void) {
    a_long_queue();
    every_function_from_within();
    a_queue_that_is_freed_from_within();
    an_engine_that_is_freed_from_within();
    time_outs_without_any_call();
    return 0;
}
