/* Completions: one for one release, in order, by polling, waiting and watching; and what freeing does. */

#include "test.h"

#include <poll.h>
#include <pthread.h>
#include <time.h>

enum { MANY = 10000 };

static int readable(int fd) {
    struct pollfd watched = {.fd = fd, .events = POLLIN, .revents = 0};
    int ready = poll(&watched, 1, 0);
    CHECK(ready >= 0);
    return ready == 1 && (watched.revents & POLLIN) != 0;
}

/* 10,000 requests wait, one seat comes back: exactly one completion. */
static void one_release_one_completion(void) {
    apf_engine_options options = apf_engine_options_init();
    options.queue_wait_limit_ns = UINT64_C(3600000000000);
    apf_engine *engine = engine_with(1, MANY, options);
    apf_completions *queue = NULL;
    OK(apf_completions_new(engine, &queue));
    int fd = -1;
    OK(apf_completions_fd(queue, &fd));
    apf_request request = request_by("alice");
    apf_outcome running = submit(engine, &request, queue, 0);
    static apf_ticket tickets[MANY];
    for (uint64_t at = 0; at < MANY; at++) {
        apf_outcome waiting = submit(engine, &request, queue, at + 1);
        CHECK_EQ(waiting.kind, APF_OUTCOME_QUEUED);
        tickets[at] = waiting.ticket;
    }
    apf_completion completions[64];
    size_t count = 9;
    OK(apf_completions_poll(queue, completions, 64, &count));
    CHECK_EQ(count, 0);
    CHECK(!readable(fd));

    OK(apf_finish(engine, running.ticket));
    CHECK(readable(fd));
    OK(apf_completions_poll(queue, completions, 64, &count));
    CHECK_EQ(count, 1);
    CHECK_EQ(completions[0].user_data, 1);
    CHECK_EQ(completions[0].outcome.kind, APF_OUTCOME_ADMITTED);
    CHECK_EQ(completions[0].outcome.ticket.bits[0], tickets[0].bits[0]);
    CHECK(text_is(completions[0].outcome.level, "only"));
    CHECK(!readable(fd));
    OK(apf_completions_poll(queue, completions, 64, &count));
    CHECK_EQ(count, 0);
    apf_level_stats stats = level_stats(engine);
    CHECK_EQ(stats.requests_waiting, MANY - 1);
    CHECK_EQ(stats.dispatched, 2);

    /* Half of them give up, one in two; the others come in their order. */
    for (size_t at = 1; at < MANY; at += 2) OK(apf_cancel(engine, tickets[at]));
    apf_ticket now = completions[0].outcome.ticket;
    for (uint64_t at = 2; at < MANY; at += 2) {
        OK(apf_finish(engine, now));
        OK(apf_completions_poll(queue, completions, 64, &count));
        CHECK_EQ(count, 1);
        CHECK_EQ(completions[0].user_data, at + 1);
        now = completions[0].outcome.ticket;
    }
    OK(apf_finish(engine, now));
    OK(apf_completions_poll(queue, completions, 64, &count));
    CHECK_EQ(count, 0);
    stats = level_stats(engine);
    CHECK_EQ(stats.requests_waiting + stats.seats_in_use, 0);
    CHECK_EQ(stats.cancelled, MANY / 2);
    OK(apf_completions_free(queue));
    OK(apf_engine_free(engine));
}

/* Fewer places than completions: the rest stays, and the descriptor stays readable. */
static void small_places(void) {
    apf_engine *engine = engine_with(5, 50, apf_engine_options_init());
    apf_completions *queue = NULL;
    OK(apf_completions_new(engine, &queue));
    apf_request request = request_by("alice");
    request.initial_seats = 5;
    apf_outcome running = submit(engine, &request, queue, 0);
    request.initial_seats = 1;
    for (uint64_t at = 0; at < 5; at++) CHECK_EQ(submit(engine, &request, queue, at).kind, APF_OUTCOME_QUEUED);
    OK(apf_finish(engine, running.ticket));
    int fd = -1;
    OK(apf_completions_fd(queue, &fd)); /* only now: what came before is not lost */
    apf_completion completions[2];
    size_t count = 0, left = 5;
    for (uint64_t expected = 0; left > 0;) {
        CHECK(readable(fd));
        OK(apf_completions_poll(queue, completions, 2, &count));
        CHECK_EQ(count, left < 2 ? left : 2);
        for (size_t at = 0; at < count; at++) {
            CHECK_EQ(completions[at].user_data, expected++);
            OK(apf_finish(engine, completions[at].outcome.ticket));
        }
        left -= count;
    }
    CHECK(!readable(fd));
    OK(apf_completions_poll(queue, NULL, 0, &count));
    CHECK_EQ(count, 0);
    CHECK_STATUS(apf_completions_poll(queue, NULL, 1, &count), APF_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(apf_completions_poll(queue, completions, 1, NULL), APF_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(apf_completions_poll(NULL, completions, 1, &count), APF_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(apf_completions_wait(queue, 0, completions, 0, &count), APF_ERROR_INVALID_ARGUMENT);
    OK(apf_completions_free(queue));
    OK(apf_engine_free(engine));
}

static uint64_t monotonic_ns(void) {
    struct timespec now;
    CHECK(clock_gettime(CLOCK_MONOTONIC, &now) == 0);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

struct late {
    apf_engine *engine;
    apf_completions *queue;
    apf_ticket ticket;
};

static void *finish_late(void *argument) {
    struct late *late = argument;
    struct timespec pause = {0, 20000000};
    nanosleep(&pause, NULL);
    OK(apf_finish(late->engine, late->ticket));
    return NULL;
}

static void *wake_late(void *argument) {
    struct late *late = argument;
    struct timespec pause = {0, 20000000};
    nanosleep(&pause, NULL);
    OK(apf_completions_wake(late->queue));
    return NULL;
}

static void waiting(void) {
    apf_engine *engine = engine_with(1, 50, apf_engine_options_init());
    apf_completions *queue = NULL;
    OK(apf_completions_new(engine, &queue));
    apf_completion completion;
    size_t count = 9;
    uint64_t begun = monotonic_ns();
    OK(apf_completions_wait(queue, 20000000, &completion, 1, &count));
    CHECK_EQ(count, 0);
    CHECK(monotonic_ns() - begun >= 20000000);
    OK(apf_completions_wait(queue, 0, &completion, 1, &count));
    CHECK_EQ(count, 0);

    apf_request request = request_by("alice");
    struct late late = {engine, queue, submit(engine, &request, queue, 0).ticket};
    CHECK_EQ(submit(engine, &request, queue, 42).kind, APF_OUTCOME_QUEUED);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, finish_late, &late) == 0);
    OK(apf_completions_wait(queue, APF_NO_LIMIT, &completion, 1, &count));
    CHECK_EQ(count, 1);
    CHECK_EQ(completion.user_data, 42);
    CHECK(completion.waited_ns >= 19000000);
    CHECK(pthread_join(thread, NULL) == 0);
    OK(apf_finish(engine, completion.outcome.ticket));

    /* A wait that another thread ends, and one that was ended before it began. */
    CHECK(pthread_create(&thread, NULL, wake_late, &late) == 0);
    OK(apf_completions_wait(queue, APF_NO_LIMIT, &completion, 1, &count));
    CHECK_EQ(count, 0);
    CHECK(pthread_join(thread, NULL) == 0);
    OK(apf_completions_wake(queue));
    OK(apf_completions_wait(queue, APF_NO_LIMIT, &completion, 1, &count));
    CHECK_EQ(count, 0);
    OK(apf_completions_free(queue));
    OK(apf_engine_free(engine));
}

/* To free a queue cancels what waits there, and gives back what was granted but not taken; others go on. */
static void freed_queues(void) {
    apf_engine *engine = engine_with(2, 50, apf_engine_options_init());
    apf_completions *queue = NULL, *other = NULL;
    OK(apf_completions_new(engine, &queue));
    OK(apf_completions_new(engine, &other));
    apf_request request = request_by("alice");
    apf_outcome first = submit(engine, &request, queue, 0);
    apf_outcome second = submit(engine, &request, queue, 0);
    apf_outcome granted = submit(engine, &request, queue, 1);
    apf_outcome waits = submit(engine, &request, queue, 2);
    CHECK_EQ(submit(engine, &request, other, 3).kind, APF_OUTCOME_QUEUED);
    CHECK_EQ(submit(engine, &request, other, 4).kind, APF_OUTCOME_QUEUED);
    OK(apf_finish(engine, first.ticket));
    OK(apf_completions_free(queue));
    CHECK_STATUS(apf_finish(engine, granted.ticket), APF_ERROR_STALE_TICKET);
    CHECK_STATUS(apf_cancel(engine, waits.ticket), APF_ERROR_STALE_TICKET);
    apf_completion completions[4];
    size_t count = 0;
    OK(apf_completions_poll(other, completions, 4, &count));
    CHECK_EQ(count, 1);
    CHECK_EQ(completions[0].user_data, 3);
    OK(apf_finish(engine, second.ticket));
    OK(apf_finish(engine, completions[0].outcome.ticket));
    OK(apf_completions_poll(other, completions, 4, &count));
    CHECK_EQ(count, 1);
    CHECK_EQ(completions[0].user_data, 4);
    OK(apf_finish(engine, completions[0].outcome.ticket));
    apf_level_stats stats = level_stats(engine);
    CHECK_EQ(stats.seats_in_use + stats.requests_waiting, 0);

    /* Nothing is granted meanwhile: it is the freeing that ends the wait. */
    OK(apf_completions_new(engine, &queue));
    request.initial_seats = 2;
    first = submit(engine, &request, queue, 9);
    submit(engine, &request, queue, 10);
    CHECK_EQ(level_stats(engine).requests_waiting, 1);
    OK(apf_completions_free(queue));
    CHECK_EQ(level_stats(engine).requests_waiting, 0);
    OK(apf_finish(engine, first.ticket));
    request.initial_seats = 1;

    /* An engine that goes while requests wait and run, and a queue that goes after it. */
    first = submit(engine, &request, other, 5);
    second = submit(engine, &request, other, 6);
    submit(engine, &request, other, 7);
    submit(engine, &request, other, 8);
    OK(apf_finish(engine, first.ticket));
    OK(apf_engine_free(engine));
    CHECK_STATUS(apf_completions_poll(other, completions, 4, &count), APF_ERROR_FOREIGN_QUEUE);
    CHECK_STATUS(apf_completions_wait(other, APF_NO_LIMIT, completions, 4, &count), APF_ERROR_FOREIGN_QUEUE);
    OK(apf_completions_free(other));
}

int main(void) {
    one_release_one_completion();
    small_places();
    waiting();
    freed_queues();
    return 0;
}
