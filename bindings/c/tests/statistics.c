/* Numbers as structures, dumps and metrics as text in the caller's buffer. */

#include "test.h"

static char *dump(const apf_engine *engine, int32_t table, size_t *size) {
    CHECK_STATUS(apf_dump(engine, table, NULL, 0, size), APF_ERROR_BUFFER_TOO_SMALL);
    char *text = malloc(*size + 1);
    CHECK(text != NULL);
    memset(text, 'x', *size + 1);
    CHECK_STATUS(apf_dump(engine, table, text, *size - 1, size), APF_ERROR_BUFFER_TOO_SMALL);
    CHECK(text[0] == 'x'); /* nothing is written when it does not fit */
    OK(apf_dump(engine, table, text, *size, size));
    CHECK(text[*size] == 'x'); /* no zero where there is no room for it */
    OK(apf_dump(engine, table, text, *size + 1, size));
    CHECK(text[*size] == 0);
    return text;
}

/* The times of day in a dump of requests may be a digit longer the next time: a host asks for more than the size. */
static char *dump_of_requests(const apf_engine *engine, int32_t table) {
    size_t size = 0;
    CHECK_STATUS(apf_dump(engine, table, NULL, 0, &size), APF_ERROR_BUFFER_TOO_SMALL);
    size_t capacity = size + 256;
    char *text = malloc(capacity);
    CHECK(text != NULL);
    OK(apf_dump(engine, table, text, capacity, &size));
    CHECK(text[size] == 0);
    return text;
}

int main(void) {
    apf_engine_options options = apf_engine_options_init();
    options.keep_details = 1;
    options.clock = APF_CLOCK_MANUAL; /* two dumps of one moment have one size */
    apf_engine *engine = engine_with(2, 50, options);
    apf_completions *queue = NULL;
    OK(apf_completions_new(engine, &queue));
    apf_request request = request_by("alice");
    apf_outcome first = submit(engine, &request, queue, 0), second = submit(engine, &request, queue, 0);
    request = request_by("bob");
    request.initial_seats = 2;
    submit(engine, &request, queue, 0);
    CHECK_EQ(submit(engine, &request, NULL, 0).reason, APF_REASON_CONCURRENCY_LIMIT);

    apf_level_stats level = level_stats(engine);
    CHECK_EQ(level.nominal_limit, 2);
    CHECK_EQ(level.current_limit, 2);
    CHECK_EQ(level.requests_executing, 2);
    CHECK_EQ(level.requests_waiting, 1);
    CHECK_EQ(level.seats_waiting, 2);
    CHECK_EQ(level.seats_in_use, 2);
    CHECK(level.seat_utilization == 1.0);

    OK(apf_engine_set_time(engine, 1000000));
    OK(apf_finish(engine, first.ticket));
    apf_stats *stats = NULL;
    OK(apf_stats_new(engine, &stats));
    size_t levels = 0, schemas = 0;
    OK(apf_stats_counts(stats, &levels, &schemas));
    CHECK_EQ(levels, 3);
    int seen = 0;
    for (size_t at = 0; at < schemas; at++) {
        apf_schema_stats schema = apf_schema_stats_init();
        OK(apf_stats_schema(stats, at, &schema));
        if (!text_is(schema.name, "all")) continue;
        seen++;
        CHECK(text_is(schema.level, "only"));
        CHECK_EQ(schema.arrived, 4);
        CHECK_EQ(schema.dispatched, 2);
        CHECK_EQ(schema.rejected_concurrency_limit, 1);
        CHECK_EQ(schema.requests_waiting, 1);
        CHECK_EQ(schema.requests_executing, 1);
        uint64_t executed = 0;
        for (size_t bucket = 0; bucket < APF_DURATION_BUCKETS; bucket++) executed += schema.executed.counts[bucket];
        CHECK_EQ(executed, 1);
        CHECK(schema.executed.sum_seconds > 0);
    }
    CHECK_EQ(seen, 1);
    double fraction = -1;
    OK(apf_stats_fair_fraction(stats, &fraction));
    CHECK(fraction >= 0);
    apf_level_stats place = apf_level_stats_init();
    CHECK_STATUS(apf_stats_level(stats, levels, &place), APF_ERROR_INVALID_ARGUMENT);
    place.size = 7;
    CHECK_STATUS(apf_stats_level(stats, 0, &place), APF_ERROR_INVALID_ARGUMENT);
    OK(apf_stats_free(stats));

    size_t size = 0;
    char *text = dump(engine, APF_TABLE_PRIORITY_LEVELS, &size);
    CHECK(strstr(text, "PriorityLevelName") == text && strstr(text, "\nonly,") != NULL);
    free(text);
    text = dump(engine, APF_TABLE_QUEUES, &size);
    CHECK(strstr(text, "only") != NULL);
    free(text);
    text = dump_of_requests(engine, APF_TABLE_REQUESTS);
    CHECK(strstr(text, "all") != NULL && strstr(text, "UserName") == NULL);
    free(text);
    text = dump_of_requests(engine, APF_TABLE_REQUESTS_WITH_DETAILS);
    CHECK(strstr(text, "bob") != NULL && strstr(text, "UserName") != NULL && strstr(text, "pods") != NULL);
    free(text);
    CHECK_STATUS(apf_dump(engine, 0, NULL, 0, &size), APF_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(apf_dump(engine, APF_TABLE_QUEUES, NULL, 1000000, &size), APF_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(apf_dump(engine, APF_TABLE_QUEUES, NULL, 0, NULL), APF_ERROR_NULL_ARGUMENT);

    CHECK_STATUS(apf_prometheus(engine, NULL, 0, &size), APF_ERROR_BUFFER_TOO_SMALL);
    size_t capacity = size + 4096;
    text = malloc(capacity);
    CHECK(text != NULL);
    OK(apf_prometheus(engine, text, capacity, &size));
    CHECK(strstr(text, "apiserver_flowcontrol_current_limit_seats{priority_level=\"only\"} 2\n") != NULL);
    free(text);

    OK(apf_finish(engine, second.ticket));
    OK(apf_completions_free(queue));
    OK(apf_engine_free(engine));
    return 0;
}
