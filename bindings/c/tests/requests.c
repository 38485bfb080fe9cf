/* The forms of a request, wrong ones, and batches. */

#include "test.h"

/* 0, 2^63, -1 cast, and just above what is allowed. */
static void wrong_seats(void) {
    apf_engine *engine = engine_with(4, 50, apf_engine_options_init());
    apf_completions *queue = NULL;
    OK(apf_completions_new(engine, &queue));
    uint32_t level = 0;
    OK(apf_level_find(engine, apf_str_of("only"), &level));
    const uint64_t wrong[] = {0, UINT64_C(1) << 63, (uint64_t)-1, 4194304};
    apf_outcome outcome;
    memset(&outcome, 0x5a, sizeof outcome);
    apf_outcome before = outcome;
    for (size_t at = 0; at < sizeof wrong / sizeof *wrong; at++) {
        apf_request request = request_by("alice");
        request.initial_seats = wrong[at];
        CHECK_STATUS(apf_submit(engine, &request, queue, 0, &outcome), APF_ERROR_ESTIMATE);
        CHECK_STATUS(apf_submit(engine, &request, NULL, 0, &outcome), APF_ERROR_ESTIMATE);
        CHECK_STATUS(apf_admit(engine, &request, 0, &outcome), APF_ERROR_ESTIMATE);
        size_t done = 99;
        CHECK_STATUS(apf_submit_batch(engine, &request, 1, queue, NULL, &outcome, &done), APF_ERROR_ESTIMATE);
        CHECK_EQ(done, 0);
        apf_classified_request classified = apf_classified_request_init(level, 7);
        classified.initial_seats = wrong[at];
        CHECK_STATUS(apf_submit_classified(engine, &classified, queue, 0, &outcome), APF_ERROR_ESTIMATE);
        if (at > 0) {
            request.initial_seats = 1;
            request.final_seats = wrong[at];
            CHECK_STATUS(apf_submit(engine, &request, queue, 0, &outcome), APF_ERROR_ESTIMATE);
        }
    }
    apf_request request = request_by("alice");
    request.additional_latency_ns = UINT64_C(1) << 63;
    CHECK_STATUS(apf_submit(engine, &request, queue, 0, &outcome), APF_ERROR_ESTIMATE);
    CHECK(memcmp(&outcome, &before, sizeof outcome) == 0);
    apf_level_stats stats = level_stats(engine);
    CHECK_EQ(stats.seats_in_use + stats.requests_waiting + stats.dispatched, 0);

    /* The widest that is allowed runs alone. */
    request = request_by("alice");
    request.initial_seats = 4194303;
    outcome = submit(engine, &request, queue, 0);
    CHECK_EQ(outcome.kind, APF_OUTCOME_ADMITTED);
    CHECK_EQ(outcome.seats, 4194303);
    OK(apf_finish(engine, outcome.ticket));
    OK(apf_completions_free(queue));
    OK(apf_engine_free(engine));
}

static void forms(void) {
    apf_engine *engine = NULL;
    OK(apf_engine_new(NULL, &engine, NULL));
    apf_outcome outcome;
    apf_str groups[300];
    for (size_t at = 0; at < 300; at++) groups[at] = apf_str_of("some-team");
    groups[299] = apf_str_of("system:masters");

    /* Many groups, of which the last one decides: with few, on the stack, and more. */
    const size_t counts[] = {1, 4, 5, 128, 129, 300};
    for (size_t at = 0; at < sizeof counts / sizeof *counts; at++) {
        apf_request request = request_by("root");
        request.groups = groups + (300 - counts[at]);
        request.group_count = counts[at];
        outcome = submit(engine, &request, NULL, 0);
        CHECK(text_is(outcome.level, "exempt") && text_is(outcome.flow_schema, "exempt"));
        OK(apf_finish(engine, outcome.ticket));
    }
    apf_request request = request_by("nobody");
    request.groups = NULL;
    request.group_count = 0;
    outcome = submit(engine, &request, NULL, 0);
    CHECK(text_is(outcome.level, "catch-all"));
    OK(apf_finish(engine, outcome.ticket));

    /* A path. */
    request = apf_request_init();
    request.verb = apf_str_of("get");
    request.path = apf_str_of("/healthz");
    request.user = apf_str_of("system:anonymous");
    groups[0] = apf_str_of("system:unauthenticated");
    request.groups = groups;
    request.group_count = 1;
    outcome = submit(engine, &request, NULL, 0);
    CHECK(text_is(outcome.flow_schema, "probes"));
    OK(apf_finish(engine, outcome.ticket));

    /* A URL. */
    request = request_by("system:node:a");
    request.resource = apf_str_of("");
    request.verb = apf_str_of("PUT");
    request.url = apf_str_of("/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/a");
    groups[0] = apf_str_of("system:nodes");
    request.groups = groups;
    outcome = submit(engine, &request, NULL, 0);
    CHECK(text_is(outcome.flow_schema, "system-node-high"));
    OK(apf_finish(engine, outcome.ticket));
    request.url = apf_str_of("no-slash");
    CHECK_STATUS(apf_submit(engine, &request, NULL, 0, &outcome), APF_ERROR_REQUEST);

    /* None, and two. */
    request.url = apf_str_of("");
    CHECK_STATUS(apf_submit(engine, &request, NULL, 0, &outcome), APF_ERROR_REQUEST);
    request.resource = apf_str_of("pods");
    request.path = apf_str_of("/healthz");
    CHECK_STATUS(apf_submit(engine, &request, NULL, 0, &outcome), APF_ERROR_REQUEST);
    request.path = apf_str_of("");
    request.url = apf_str_of("/api/v1/pods");
    CHECK_STATUS(apf_submit(engine, &request, NULL, 0, &outcome), APF_ERROR_REQUEST);

    /* Texts: UTF-8 is welcome, anything else is not, at any length; NULL only without length. */
    request = request_by("zo\xc3\xab");
    outcome = submit(engine, &request, NULL, 0);
    OK(apf_finish(engine, outcome.ticket));
    const char *broken[] = {"\xff", "abc\xc3", "abcdefg\x80", "abcdefgh\xfe" "ijklmnop", "abcdefghijklmnopqrstu\xed\xa0\x80"};
    for (size_t at = 0; at < sizeof broken / sizeof *broken; at++) {
        request = request_by(broken[at]);
        CHECK_STATUS(apf_submit(engine, &request, NULL, 0, &outcome), APF_ERROR_UTF8);
        request = request_by("alice");
        request.object_name = apf_str_of(broken[at]);
        CHECK_STATUS(apf_submit(engine, &request, NULL, 0, &outcome), APF_ERROR_UTF8);
    }
    request = request_by("alice");
    request.user = apf_str_new(NULL, 1);
    CHECK_STATUS(apf_submit(engine, &request, NULL, 0, &outcome), APF_ERROR_NULL_ARGUMENT);
    request.user = apf_str_new("alice", SIZE_MAX);
    CHECK_STATUS(apf_submit(engine, &request, NULL, 0, &outcome), APF_ERROR_INVALID_ARGUMENT);
    request = request_by("alice");
    request.groups = NULL;
    CHECK_STATUS(apf_submit(engine, &request, NULL, 0, &outcome), APF_ERROR_NULL_ARGUMENT);
    request = request_by("alice");
    request.group_count = SIZE_MAX / 2;
    CHECK_STATUS(apf_submit(engine, &request, NULL, 0, &outcome), APF_ERROR_INVALID_ARGUMENT);
    request = request_by("alice");
    request.size--;
    CHECK_STATUS(apf_submit(engine, &request, NULL, 0, &outcome), APF_ERROR_INVALID_ARGUMENT);
    request = request_by("alice");
    CHECK_STATUS(apf_submit(NULL, &request, NULL, 0, &outcome), APF_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(apf_submit(engine, NULL, NULL, 0, &outcome), APF_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(apf_submit(engine, &request, NULL, 0, NULL), APF_ERROR_NULL_ARGUMENT);
    OK(apf_engine_free(engine));
}

static void by_the_host(void) {
    apf_engine *engine = engine_with(2, 0, apf_engine_options_init());
    uint32_t level = 0;
    CHECK_STATUS(apf_level_find(engine, apf_str_of("none"), &level), APF_ERROR_LEVEL);
    OK(apf_level_find(engine, apf_str_of("only"), &level));
    uint64_t hash = 0, other = 0;
    OK(apf_flow_hash(engine, apf_str_of("all"), apf_str_of("alice"), &hash));
    OK(apf_flow_hash(engine, apf_str_of("all"), apf_str_of("bob"), &other));
    CHECK(hash != other && hash != 0);
    apf_classified_request request = apf_classified_request_init(level, hash);
    apf_outcome outcome;
    OK(apf_submit_classified(engine, &request, NULL, 0, &outcome));
    CHECK_EQ(outcome.kind, APF_OUTCOME_ADMITTED);
    CHECK(text_is(outcome.level, "only") && text_is(outcome.flow_schema, "(host)"));
    OK(apf_finish(engine, outcome.ticket));
    request.level = 12345;
    CHECK_STATUS(apf_submit_classified(engine, &request, NULL, 0, &outcome), APF_ERROR_LEVEL);
    OK(apf_engine_reconfigure(engine, NULL, NULL));
    request.level = level;
    CHECK_STATUS(apf_submit_classified(engine, &request, NULL, 0, &outcome), APF_ERROR_LEVEL);
    CHECK_STATUS(apf_level_find(engine, apf_str_of("only"), &level), APF_ERROR_LEVEL);
    OK(apf_engine_free(engine));
}

static void batches(void) {
    apf_engine *engine = engine_with(3, 50, apf_engine_options_init());
    apf_completions *queue = NULL;
    OK(apf_completions_new(engine, &queue));
    apf_request requests[6];
    for (size_t at = 0; at < 6; at++) requests[at] = request_by(at % 3 == 0 ? "alice" : "bob");
    requests[1].initial_seats = 2;
    uint64_t user_data[6] = {10, 11, 12, 13, 14, 15};
    apf_outcome outcomes[6];
    size_t done = 0;
    OK(apf_submit_batch(engine, requests, 6, queue, user_data, outcomes, &done));
    CHECK_EQ(done, 6);
    CHECK_EQ(outcomes[0].kind, APF_OUTCOME_ADMITTED);
    CHECK_EQ(outcomes[1].seats, 2);
    for (size_t at = 2; at < 6; at++) CHECK_EQ(outcomes[at].kind, APF_OUTCOME_QUEUED);

    /* It stops where it must, and says how far it got. */
    apf_ticket tickets[3] = {outcomes[0].ticket, outcomes[2].ticket, outcomes[1].ticket};
    CHECK_STATUS(apf_finish_batch(engine, tickets, 3, &done), APF_ERROR_NOT_ADMITTED);
    CHECK_EQ(done, 1);
    OK(apf_finish_batch(engine, &tickets[2], 1, &done));
    apf_completion completions[6];
    size_t count = 0;
    OK(apf_completions_poll(queue, completions, 6, &count));
    CHECK_EQ(count, 3);
    for (size_t at = 0; at < count; at++) {
        CHECK(completions[at].user_data >= 12 && completions[at].user_data <= 15);
        tickets[at] = completions[at].outcome.ticket;
    }
    OK(apf_finish_batch(engine, tickets, 3, &done));
    CHECK_EQ(done, 3);
    OK(apf_completions_poll(queue, completions, 6, &count));
    CHECK_EQ(count, 1);
    OK(apf_finish(engine, completions[0].outcome.ticket));

    requests[2].size = 1;
    CHECK_STATUS(apf_submit_batch(engine, requests, 6, NULL, NULL, outcomes, &done), APF_ERROR_INVALID_ARGUMENT);
    CHECK_EQ(done, 2);
    for (size_t at = 0; at < done; at++) OK(apf_finish(engine, outcomes[at].ticket));
    OK(apf_submit_batch(engine, NULL, 0, NULL, NULL, NULL, &done));
    CHECK_EQ(done, 0);
    CHECK_STATUS(apf_submit_batch(engine, NULL, 1, NULL, NULL, outcomes, &done), APF_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(apf_submit_batch(engine, requests, 1, NULL, NULL, NULL, &done), APF_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(apf_submit_batch(engine, requests, 1, NULL, NULL, outcomes, NULL), APF_ERROR_NULL_ARGUMENT);

    uint32_t level = 0;
    OK(apf_level_find(engine, apf_str_of("only"), &level));
    apf_classified_request classified[3];
    for (size_t at = 0; at < 3; at++) classified[at] = apf_classified_request_init(level, at);
    classified[2].level = 999;
    CHECK_STATUS(apf_submit_classified_batch(engine, classified, 3, NULL, NULL, outcomes, &done), APF_ERROR_LEVEL);
    CHECK_EQ(done, 2);
    for (size_t at = 0; at < 2; at++) tickets[at] = outcomes[at].ticket;
    OK(apf_finish_batch(engine, tickets, 2, &done));
    CHECK_EQ(level_stats(engine).seats_in_use, 0);
    OK(apf_completions_free(queue));
    OK(apf_engine_free(engine));
}

static void blocking(void) {
    apf_engine *engine = engine_with(1, 50, apf_engine_options_init());
    apf_request request = request_by("alice");
    apf_outcome first, second;
    OK(apf_admit(engine, &request, APF_NO_LIMIT, &first));
    CHECK_EQ(first.kind, APF_OUTCOME_ADMITTED);
    OK(apf_admit(engine, &request, 2000000, &second));
    CHECK_EQ(second.kind, APF_OUTCOME_REJECTED);
    CHECK_EQ(second.reason, APF_REASON_TIME_OUT);
    CHECK(second.retry_after_seconds >= 1 && second.retry_after_seconds <= 32);
    CHECK_EQ(second.ticket.bits[0] | second.ticket.bits[1], 0);
    request.wait_limit_ns = 0;
    OK(apf_admit(engine, &request, APF_NO_LIMIT, &second));
    CHECK_EQ(second.reason, APF_REASON_TIME_OUT);
    OK(apf_finish(engine, first.ticket));
    OK(apf_admit(engine, &request, 0, &first));
    OK(apf_finish(engine, first.ticket));
    OK(apf_engine_free(engine));
}

int main(void) {
    wrong_seats();
    forms();
    by_the_host();
    batches();
    blocking();
    return 0;
}
