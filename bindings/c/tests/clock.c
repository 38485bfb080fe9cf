/* A host that drives time: nothing happens by itself, and everything at its time. */

#include "test.h"

#define MS UINT64_C(1000000)

int main(void) {
    apf_engine_options options = apf_engine_options_init();
    options.clock = APF_CLOCK_MANUAL;
    options.queue_wait_limit_ns = 5000 * MS;
    apf_engine *engine = engine_with(2, 50, options);
    apf_completions *queue = NULL;
    OK(apf_completions_new(engine, &queue));
    uint64_t now = 9, due = 0;
    OK(apf_engine_now(engine, &now));
    CHECK_EQ(now, 0);
    OK(apf_engine_next_timer(engine, &due));
    CHECK_EQ(due, 10000 * MS); /* the first adjustment of limits */

    /* Seats that linger come back at their time, and a wait ends at its limit: both within one step of the clock. */
    apf_request request = request_by("alice");
    request.final_seats = 2;
    request.additional_latency_ns = 300 * MS;
    apf_outcome lingers = submit(engine, &request, queue, 1);
    request = request_by("alice");
    OK(apf_engine_set_time(engine, 100 * MS));
    OK(apf_finish(engine, lingers.ticket));
    CHECK_EQ(submit(engine, &request, queue, 2).kind, APF_OUTCOME_QUEUED);
    CHECK_EQ(submit(engine, &request, queue, 3).kind, APF_OUTCOME_QUEUED);
    CHECK_EQ(submit(engine, &request, queue, 4).kind, APF_OUTCOME_QUEUED);
    OK(apf_engine_next_timer(engine, &due));
    CHECK_EQ(due, 400 * MS);
    apf_completion completions[8];
    size_t count = 9;
    OK(apf_engine_set_time(engine, 399 * MS));
    OK(apf_completions_poll(queue, completions, 8, &count));
    CHECK_EQ(count, 0);
    OK(apf_engine_set_time(engine, 20000 * MS));
    OK(apf_completions_poll(queue, completions, 8, &count));
    CHECK_EQ(count, 3);
    for (size_t at = 0; at < 2; at++) {
        CHECK_EQ(completions[at].outcome.kind, APF_OUTCOME_ADMITTED);
        CHECK_EQ(completions[at].waited_ns, 300 * MS);
    }
    CHECK_EQ(completions[2].outcome.reason, APF_REASON_TIME_OUT);
    CHECK_EQ(completions[2].waited_ns, 5000 * MS);
    for (size_t at = 0; at < 2; at++) OK(apf_finish(engine, completions[at].outcome.ticket));

    /* Time does not go back. */
    OK(apf_engine_set_time(engine, 5));
    OK(apf_engine_now(engine, &now));
    CHECK_EQ(now, 20000 * MS);
    OK(apf_engine_next_timer(engine, &due));
    CHECK_EQ(due, 30000 * MS);

    /* A month at a time, and an end of time. */
    const uint64_t month = UINT64_C(30) * 86400 * 1000 * MS;
    CHECK_STATUS(apf_engine_set_time(engine, UINT64_MAX), APF_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(apf_engine_set_time(engine, UINT64_C(1) << 63), APF_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(apf_engine_set_time(engine, now + month + 1), APF_ERROR_INVALID_ARGUMENT);
    OK(apf_engine_now(engine, &due));
    CHECK_EQ(due, now);
    OK(apf_engine_set_time(engine, now + month / 30));
    OK(apf_engine_next_timer(engine, &due));
    CHECK_EQ(due, now + month / 30 + 10000 * MS);
    OK(apf_completions_free(queue));
    OK(apf_engine_free(engine));

    /* Other clocks run by themselves. */
    for (int32_t clock = APF_CLOCK_FASTEST; clock <= APF_CLOCK_MONOTONIC; clock++) {
        options = apf_engine_options_init();
        options.clock = clock;
        engine = engine_with(2, 50, options);
        CHECK_STATUS(apf_engine_set_time(engine, 5), APF_ERROR_CLOCK);
        OK(apf_engine_now(engine, &now));
        uint64_t later = now;
        while (later == now) OK(apf_engine_now(engine, &later));
        CHECK(later > now);
        OK(apf_engine_free(engine));
    }
    return 0;
}
