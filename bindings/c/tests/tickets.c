/* Tickets that are zero, used up, made up or another engine's: an error, and nothing changes. */

#include "test.h"

static void check_all(const apf_engine *engine, apf_ticket ticket, int32_t expected) {
    CHECK_STATUS(apf_finish(engine, ticket), expected);
    CHECK_STATUS(apf_finish_early(engine, ticket), expected);
    CHECK_STATUS(apf_cancel(engine, ticket), expected);
    size_t done = 9;
    CHECK_STATUS(apf_finish_batch(engine, &ticket, 1, &done), expected);
    CHECK_EQ(done, 0);
}

int main(void) {
    apf_engine *engine = engine_with(2, 50, apf_engine_options_init());
    apf_engine *other = engine_with(2, 50, apf_engine_options_init());
    apf_completions *queue = NULL, *foreign_queue = NULL;
    OK(apf_completions_new(engine, &queue));
    OK(apf_completions_new(other, &foreign_queue));
    apf_request request = request_by("alice");
    apf_outcome running = submit(engine, &request, queue, 1);
    apf_outcome wide = submit(engine, &request, queue, 2);
    apf_outcome waiting = submit(engine, &request, queue, 3);
    CHECK_EQ(waiting.kind, APF_OUTCOME_QUEUED);

    apf_ticket none = {{0, 0}};
    check_all(engine, none, APF_ERROR_NULL_TICKET);
    check_all(other, running.ticket, APF_ERROR_FOREIGN_TICKET);
    check_all(other, waiting.ticket, APF_ERROR_FOREIGN_TICKET);
    CHECK_STATUS(apf_finish(NULL, running.ticket), APF_ERROR_NULL_ARGUMENT);
    apf_outcome outcome;
    CHECK_STATUS(apf_submit(engine, &request, foreign_queue, 0, &outcome), APF_ERROR_FOREIGN_QUEUE);

    /* Made up: another generation, another slot, one far beyond what there is. */
    for (uint64_t step = 1; step < (UINT64_C(1) << 63); step *= 2) {
        apf_ticket ticket = running.ticket;
        ticket.bits[1] += step;
        check_all(engine, ticket, APF_ERROR_STALE_TICKET);
    }
    apf_ticket made_up = running.ticket;
    made_up.bits[1] = 0;
    check_all(engine, made_up, APF_ERROR_STALE_TICKET);
    for (uint64_t slot = 40; slot < 0xffffffff; slot = slot * 3 + 1) {
        made_up = running.ticket;
        made_up.bits[0] = (made_up.bits[0] & ~UINT64_C(0xffffffff)) | slot;
        check_all(engine, made_up, APF_ERROR_STALE_TICKET);
    }

    /* The wrong end. */
    CHECK_STATUS(apf_cancel(engine, running.ticket), APF_ERROR_ALREADY_ADMITTED);
    CHECK_STATUS(apf_finish(engine, waiting.ticket), APF_ERROR_NOT_ADMITTED);
    CHECK_STATUS(apf_finish_early(engine, waiting.ticket), APF_ERROR_NOT_ADMITTED);
    apf_level_stats stats = level_stats(engine);
    CHECK_EQ(stats.requests_executing, 2);
    CHECK_EQ(stats.requests_waiting, 1);

    /* Early, and then the end, once. */
    OK(apf_finish_early(engine, running.ticket));
    CHECK_STATUS(apf_finish_early(engine, running.ticket), APF_ERROR_ALREADY_RELEASED);
    CHECK_STATUS(apf_cancel(engine, running.ticket), APF_ERROR_ALREADY_ADMITTED);
    CHECK_EQ(level_stats(engine).requests_waiting, 0);
    /* That has granted the one that waited; until its completion is taken it can be cancelled, not finished. */
    CHECK_STATUS(apf_finish(engine, waiting.ticket), APF_ERROR_NOT_ADMITTED);
    OK(apf_finish(engine, running.ticket));
    check_all(engine, running.ticket, APF_ERROR_STALE_TICKET);
    OK(apf_cancel(engine, waiting.ticket));
    check_all(engine, waiting.ticket, APF_ERROR_STALE_TICKET);
    apf_completion completion;
    size_t count = 9;
    OK(apf_completions_poll(queue, &completion, 1, &count));
    CHECK_EQ(count, 0);
    stats = level_stats(engine);
    CHECK_EQ(stats.seats_in_use, 1);
    CHECK_EQ(stats.requests_waiting, 0);

    /* The slot is used again: the old ticket stays void. */
    for (int round = 0; round < 1000; round++) {
        apf_outcome next = submit(engine, &request, queue, 4);
        CHECK_EQ(next.kind, APF_OUTCOME_ADMITTED);
        CHECK(next.ticket.bits[0] != running.ticket.bits[0] || next.ticket.bits[1] != running.ticket.bits[1]);
        check_all(engine, running.ticket, APF_ERROR_STALE_TICKET);
        OK(apf_finish(engine, next.ticket));
    }

    /* A wait that is cancelled, and one that times out while nobody looks. */
    apf_outcome second = submit(engine, &request, queue, 5);
    waiting = submit(engine, &request, queue, 6);
    OK(apf_cancel(engine, waiting.ticket));
    CHECK_STATUS(apf_cancel(engine, waiting.ticket), APF_ERROR_STALE_TICKET);
    request.wait_limit_ns = 100000000; /* long enough not to be over before it waits */
    waiting = submit(engine, &request, queue, 7);
    CHECK_EQ(waiting.kind, APF_OUTCOME_QUEUED);
    OK(apf_completions_wait(queue, APF_NO_LIMIT, &completion, 1, &count));
    CHECK_EQ(count, 1);
    CHECK_EQ(completion.user_data, 7);
    CHECK_EQ(completion.status, APF_OK);
    CHECK_EQ(completion.outcome.kind, APF_OUTCOME_REJECTED);
    CHECK_EQ(completion.outcome.reason, APF_REASON_TIME_OUT);
    CHECK(completion.waited_ns >= 100000000);
    CHECK(text_is(completion.outcome.level, "only") && text_is(completion.outcome.flow_schema, "all"));
    CHECK_EQ(completion.outcome.ticket.bits[1], waiting.ticket.bits[1]);
    check_all(engine, waiting.ticket, APF_ERROR_STALE_TICKET);
    OK(apf_finish(engine, second.ticket));
    OK(apf_finish(engine, wide.ticket));
    stats = level_stats(engine);
    CHECK_EQ(stats.seats_in_use, 0);
    CHECK_EQ(stats.timed_out, 1);

    OK(apf_completions_free(foreign_queue));
    OK(apf_engine_free(other));
    OK(apf_engine_free(engine));
    CHECK_STATUS(apf_completions_poll(queue, &completion, 1, &count), APF_ERROR_FOREIGN_QUEUE);
    OK(apf_completions_free(queue));
    return 0;
}
