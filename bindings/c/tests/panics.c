/* Public report H10: a panic behind an entry point is an error code, and the next call works.
 *
 * Needs a library built with the feature `panic-injection`. */

#include "test.h"

#ifndef APF_PANIC_INJECTION
#error "compile with -DAPF_PANIC_INJECTION"
#endif

static apf_engine *engine;
static apf_completions *queue;
static apf_problems *problems;
static apf_stats *stats;
static int points;

static void ignore(void *context, const apf_completion *completion) {
    (void)context;
    (void)completion;
}

/* The call panics, then the same call is itself again, and the engine has lost nothing. */
#define POINT(function, arguments, afterwards) \
    do { \
        CHECK_EQ(apf_test_panic_at(apf_str_of(#function)), 0); \
        CHECK_STATUS(function arguments, APF_ERROR_PANIC); \
        CHECK_STATUS(function arguments, afterwards); \
        points++; \
    } while (0)

int main(void) {
    apf_engine *other = NULL;
    POINT(apf_engine_new, (NULL, &other, NULL), APF_OK);
    engine = engine_with(2, 50, apf_engine_options_init());
    apf_request request = request_by("alice");
    apf_outcome outcome;
    apf_completion completion;
    size_t count = 0, size = 0;
    int fd = -1;
    uint64_t number = 0;
    uint32_t level = 0;
    double fraction = 0;

    POINT(apf_completions_new, (engine, &queue), APF_OK);
    POINT(apf_submit, (engine, &request, queue, 1, &outcome), APF_OK);
    apf_ticket first = outcome.ticket;
    POINT(apf_finish_early, (engine, first), APF_OK);
    POINT(apf_finish, (engine, first), APF_OK);
    POINT(apf_level_find, (engine, apf_str_of("only"), &level), APF_OK);
    apf_classified_request classified = apf_classified_request_init(level, 5);
    POINT(apf_submit_classified, (engine, &classified, queue, 1, &outcome), APF_OK);
    OK(apf_finish(engine, outcome.ticket));
    POINT(apf_submit_batch, (engine, &request, 1, queue, NULL, &outcome, &count), APF_OK);
    first = outcome.ticket;
    POINT(apf_submit_classified_batch, (engine, &classified, 1, queue, NULL, &outcome, &count), APF_OK);
    apf_ticket second = outcome.ticket;
    apf_outcome waits = submit(engine, &request, queue, 2);
    POINT(apf_admit, (engine, &request, 0, &outcome), APF_OK);
    CHECK_EQ(outcome.reason, APF_REASON_TIME_OUT);
    POINT(apf_cancel, (engine, waits.ticket), APF_OK);
    waits = submit(engine, &request, queue, 3);
    POINT(apf_finish_batch, (engine, &first, 1, &count), APF_OK);
    CHECK_EQ(count, 1);
    POINT(apf_completions_fd, (queue, &fd), APF_OK);
    CHECK_EQ(apf_test_panic_at(apf_str_of("apf_completions_poll")), 0);
    CHECK_STATUS(apf_completions_poll(queue, &completion, 1, &count), APF_ERROR_PANIC);
    OK(apf_completions_poll(queue, &completion, 1, &count));
    CHECK_EQ(count, 1); /* the completion was not lost */
    points++;
    OK(apf_finish(engine, completion.outcome.ticket));
    OK(apf_finish(engine, second));
    POINT(apf_completions_wait, (queue, 0, &completion, 1, &count), APF_OK);
    POINT(apf_completions_wake, (queue), APF_OK);
    POINT(apf_engine_now, (engine, &number), APF_OK);
    POINT(apf_engine_next_timer, (engine, &number), APF_OK);
    POINT(apf_engine_set_time, (engine, 0), APF_ERROR_CLOCK);
    POINT(apf_flow_hash, (engine, apf_str_of("a"), apf_str_of("b"), &number), APF_OK);
    POINT(apf_stats_new, (engine, &stats), APF_OK);
    POINT(apf_stats_counts, (stats, &count, NULL), APF_OK);
    apf_level_stats one_level = apf_level_stats_init();
    POINT(apf_stats_level, (stats, 0, &one_level), APF_OK);
    apf_schema_stats one_schema = apf_schema_stats_init();
    POINT(apf_stats_schema, (stats, 0, &one_schema), APF_OK);
    POINT(apf_stats_fair_fraction, (stats, &fraction), APF_OK);
    POINT(apf_stats_free, (stats), APF_OK);
    POINT(apf_prometheus, (engine, NULL, 0, &size), APF_ERROR_BUFFER_TOO_SMALL);
    POINT(apf_dump, (engine, APF_TABLE_QUEUES, NULL, 0, &size), APF_ERROR_BUFFER_TOO_SMALL);
    apf_completions *called = NULL;
    POINT(apf_completions_new_callback, (engine, ignore, NULL, &called), APF_OK);
    OK(apf_completions_free(called));

    apf_level_stats books = level_stats(engine);
    CHECK_EQ(books.seats_in_use, 0);
    CHECK_EQ(books.requests_waiting, 0);

    apf_configuration configuration = apf_configuration_init();
    configuration.text = apf_str_of("kind: Nonsense");
    POINT(apf_engine_reconfigure, (engine, &configuration, &problems), APF_ERROR_CONFIGURATION);
    POINT(apf_problems_count, (problems, &count), APF_OK);
    apf_problem problem = apf_problem_init();
    POINT(apf_problems_get, (problems, 0, &problem), APF_OK);
    POINT(apf_problems_free, (problems), APF_OK);
    POINT(apf_completions_free, (queue), APF_OK);
    POINT(apf_engine_free, (engine), APF_OK);
    OK(apf_engine_free(other));
    printf("%d entry points\n", points);
    return 0;
}
