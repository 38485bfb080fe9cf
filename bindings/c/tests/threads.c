/* Many threads, everything at random, tickets that change hands: each request ends once, and the books balance. */

#include "test.h"

#include <pthread.h>
#include <stdatomic.h>

enum { THREADS = 6, ROUNDS = 20000, SHELF = 64 };

static apf_engine *engine;
static apf_completions *queue;
static uint32_t level;
/* Tickets that any thread may take: two words each, guarded by a flag. */
static struct {
    atomic_int busy;
    apf_ticket ticket;
    int running;
} shelf[SHELF];
static atomic_ullong submitted, rejected, completed_admitted, completed_rejected, finished, cancelled, admitted_at_once,
    queued, stale;

static uint64_t next(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Puts a ticket on the shelf; takes what was there. */
static int exchange(size_t place, apf_ticket *ticket, int *running) {
    int expected = 0;
    while (!atomic_compare_exchange_weak(&shelf[place].busy, &expected, 1)) expected = 0;
    apf_ticket there = shelf[place].ticket;
    int was_running = shelf[place].running;
    shelf[place].ticket = *ticket;
    shelf[place].running = *running;
    atomic_store(&shelf[place].busy, 0);
    *ticket = there;
    *running = was_running;
    return there.bits[1] != 0;
}

static void end(apf_ticket ticket, int running, uint64_t random) {
    int32_t status;
    if (running) {
        if (random % 4 == 0) {
            status = apf_finish_early(engine, ticket);
            CHECK(status == APF_OK);
        }
        OK(apf_finish(engine, ticket));
        atomic_fetch_add(&finished, 1);
        CHECK_STATUS(apf_finish(engine, ticket), APF_ERROR_STALE_TICKET);
        return;
    }
    /* It waits, has been decided, or another thread has taken its completion and ended it. */
    status = apf_cancel(engine, ticket);
    if (status == APF_OK)
        atomic_fetch_add(&cancelled, 1);
    else {
        CHECK(status == APF_ERROR_STALE_TICKET || status == APF_ERROR_ALREADY_ADMITTED);
        atomic_fetch_add(&stale, 1);
    }
}

static void take_completions(uint64_t random) {
    apf_completion completions[8];
    size_t count = 0;
    OK(apf_completions_poll(queue, completions, 1 + random % 8, &count));
    for (size_t at = 0; at < count; at++) {
        CHECK_EQ(completions[at].status, APF_OK);
        if (completions[at].outcome.kind == APF_OUTCOME_ADMITTED) {
            atomic_fetch_add(&completed_admitted, 1);
            apf_ticket ticket = completions[at].outcome.ticket;
            int running = 1;
            if (exchange((random >> 8) % SHELF, &ticket, &running)) end(ticket, running, random);
        } else {
            CHECK_EQ(completions[at].outcome.kind, APF_OUTCOME_REJECTED);
            atomic_fetch_add(&completed_rejected, 1);
        }
    }
}

static void note(apf_outcome outcome, uint64_t random) {
    atomic_fetch_add(&submitted, 1);
    if (outcome.kind == APF_OUTCOME_REJECTED) {
        atomic_fetch_add(&rejected, 1);
        return;
    }
    int running = outcome.kind == APF_OUTCOME_ADMITTED;
    atomic_fetch_add(running ? &admitted_at_once : &queued, 1);
    apf_ticket ticket = outcome.ticket;
    if (exchange(random % SHELF, &ticket, &running)) end(ticket, running, random);
}

static void *work(void *argument) {
    uint64_t state = 88172645463325252u + 977u * (uint64_t)(uintptr_t)argument;
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t random = next(&state);
        const char *users[] = {"alice", "bob", "carol"};
        switch (random % 8) {
        case 0:
        case 1:
        case 2: {
            apf_request request = request_by(users[(random >> 20) % 3]);
            request.initial_seats = 1 + (random >> 30) % 2;
            if (random % 16 == 0) request.wait_limit_ns = 1000;
            if (random % 5 == 0) request.additional_latency_ns = 1000, request.final_seats = 1;
            note(submit(engine, &request, (random >> 40) % 8 == 0 ? NULL : queue, random), random >> 33);
            break;
        }
        case 3: {
            apf_classified_request request = apf_classified_request_init(level, random);
            apf_outcome outcome;
            OK(apf_submit_classified(engine, &request, queue, random, &outcome));
            note(outcome, random >> 33);
            break;
        }
        case 4: {
            apf_request requests[4];
            for (size_t at = 0; at < 4; at++) requests[at] = request_by(users[(random >> (10 + at)) % 3]);
            apf_outcome outcomes[4];
            size_t done = 0;
            OK(apf_submit_batch(engine, requests, 4, queue, NULL, outcomes, &done));
            for (size_t at = 0; at < 4; at++) note(outcomes[at], random >> (at * 7));
            break;
        }
        case 5:
        case 6: take_completions(random >> 3); break;
        default: {
            apf_ticket ticket = {{0, 0}};
            int running = 0;
            if (exchange((random >> 9) % SHELF, &ticket, &running)) end(ticket, running, random >> 3);
            ticket.bits[0] = random;
            ticket.bits[1] = next(&state);
            CHECK(apf_finish(engine, ticket) != APF_OK);
            if (round % 512 == 0) level_stats(engine);
        }
        }
    }
    return NULL;
}

int main(void) {
    engine = engine_with(24, 20, apf_engine_options_init());
    OK(apf_completions_new(engine, &queue));
    OK(apf_level_find(engine, apf_str_of("only"), &level));
    pthread_t threads[THREADS];
    for (uintptr_t at = 0; at < THREADS; at++) CHECK(pthread_create(&threads[at], NULL, work, (void *)at) == 0);
    for (int at = 0; at < THREADS; at++) CHECK(pthread_join(threads[at], NULL) == 0);
    /* What is left: completions nobody took, tickets on the shelf. */
    for (int more = 1; more;) {
        for (size_t place = 0; place < SHELF; place++) {
            apf_ticket ticket = {{0, 0}};
            int running = 0;
            if (exchange(place, &ticket, &running)) end(ticket, running, 1);
        }
        unsigned long long before = completed_admitted + completed_rejected;
        apf_completion completions[8];
        size_t count = 0;
        OK(apf_completions_poll(queue, completions, 8, &count));
        for (size_t at = 0; at < count; at++) {
            if (completions[at].outcome.kind == APF_OUTCOME_ADMITTED) {
                OK(apf_finish(engine, completions[at].outcome.ticket));
                completed_admitted++;
                finished++;
            } else {
                completed_rejected++;
            }
        }
        more = completed_admitted + completed_rejected != before;
    }
    /* Requests whose tickets fell off the shelf unfinished do not exist: every one was ended by somebody. */
    CHECK_EQ(admitted_at_once + completed_admitted, finished);
    CHECK_EQ(queued, completed_admitted + completed_rejected + cancelled);
    CHECK_EQ(submitted, rejected + admitted_at_once + queued);
    uint64_t deadline = 0;
    apf_level_stats stats;
    do { /* seats that linger for a microsecond */
        stats = level_stats(engine);
    } while (stats.seats_in_use != 0 && ++deadline < 1000000);
    CHECK_EQ(stats.seats_in_use, 0);
    CHECK_EQ(stats.requests_waiting, 0);
    printf("%llu submitted: %llu rejected, %llu admitted at once, %llu queued: %llu granted, %llu refused, %llu cancelled; "
           "%llu cancelled too late\n",
           (unsigned long long)submitted, (unsigned long long)rejected, (unsigned long long)admitted_at_once,
           (unsigned long long)queued, (unsigned long long)completed_admitted, (unsigned long long)completed_rejected,
           (unsigned long long)cancelled, (unsigned long long)stale);
    OK(apf_completions_free(queue));
    OK(apf_engine_free(engine));
    return 0;
}
