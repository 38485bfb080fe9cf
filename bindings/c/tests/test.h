/* What the C tests share: checks that say where they failed, and an engine in one line. */

#ifndef APF_TEST_H
#define APF_TEST_H

#include "apf.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define FAIL(...) \
    (fprintf(stderr, "%s:%d: ", __FILE__, __LINE__), fprintf(stderr, __VA_ARGS__), fputc('\n', stderr), exit(1))

#define CHECK(condition) \
    do { \
        if (!(condition)) FAIL("does not hold: %s", #condition); \
    } while (0)

#define CHECK_EQ(got, expected) \
    do { \
        long long got_ = (long long)(got), expected_ = (long long)(expected); \
        if (got_ != expected_) FAIL("%s is %lld, not %lld", #got, got_, expected_); \
    } while (0)

#define CHECK_STATUS(call, expected) \
    do { \
        int32_t status_ = (int32_t)(call); \
        if (status_ != (int32_t)(expected)) { \
            apf_str name_ = apf_status_name(status_); \
            FAIL("%s answers %d (%.*s), not %s", #call, (int)status_, (int)name_.len, name_.data, #expected); \
        } \
    } while (0)

#define OK(call) CHECK_STATUS(call, APF_OK)

static inline int text_is(apf_str text, const char *expected) {
    return text.len == strlen(expected) && memcmp(text.data, expected, text.len) == 0;
}

/* The only level that these tests look at: `limit` seats, no lending, one queue a flow or none at all. */
static inline apf_engine *engine_with(int limit, int queue_length, apf_engine_options options) {
    char text[1024];
    char filled[128] = "{type: Reject}";
    if (queue_length > 0)
        snprintf(filled, sizeof filled, "{type: Queue, queuing: {queues: 16, handSize: 1, queueLengthLimit: %d}}",
                 queue_length);
    /* catch-all has 5 shares: 5 * limit + limit * 5 = the server's seats, so that this level has `limit` of them. */
    snprintf(text, sizeof text,
             "apiVersion: flowcontrol.apiserver.k8s.io/v1\n"
             "kind: PriorityLevelConfiguration\n"
             "metadata: {name: only}\n"
             "spec:\n"
             "  type: Limited\n"
             "  limited: {nominalConcurrencyShares: 5, lendablePercent: 0, borrowingLimitPercent: 0, limitResponse: %s}\n"
             "---\n"
             "apiVersion: flowcontrol.apiserver.k8s.io/v1\n"
             "kind: FlowSchema\n"
             "metadata: {name: all}\n"
             "spec:\n"
             "  priorityLevelConfiguration: {name: only}\n"
             "  matchingPrecedence: 2\n"
             "  distinguisherMethod: {type: ByUser}\n"
             "  rules:\n"
             "  - subjects: [{kind: Group, group: {name: '*'}}]\n"
             "    resourceRules: [{verbs: ['*'], apiGroups: ['*'], resources: ['*'], clusterScope: true, namespaces: ['*']}]\n"
             "    nonResourceRules: [{verbs: ['*'], nonResourceURLs: ['*']}]\n",
             filled);
    apf_configuration configuration = apf_configuration_init();
    configuration.text = apf_str_of(text);
    configuration.builtin = APF_BUILTIN_MANDATORY;
    options.configuration = &configuration;
    options.seats = 2 * (int64_t)limit;
    apf_engine *engine = NULL;
    apf_problems *problems = NULL;
    int32_t status = apf_engine_new(&options, &engine, &problems);
    if (status != APF_OK) {
        size_t count = 0;
        if (problems != NULL) apf_problems_count(problems, &count);
        for (size_t at = 0; at < count; at++) {
            apf_problem problem = apf_problem_init();
            OK(apf_problems_get(problems, at, &problem));
            fprintf(stderr, "%.*s\n", (int)problem.text.len, problem.text.data);
        }
        FAIL("no engine: %d", (int)status);
    }
    apf_problems_free(problems);
    return engine;
}

/* A list of pods by this user. */
static inline apf_request request_by(const char *user) {
    apf_request request = apf_request_init();
    request.user = apf_str_of(user);
    request.verb = apf_str_of("list");
    request.resource = apf_str_of("pods");
    request.object_namespace = apf_str_of("dev");
    static const apf_str groups[1] = {{"system:authenticated", sizeof "system:authenticated" - 1}};
    request.groups = groups;
    request.group_count = 1;
    return request;
}

/* The numbers of the level `only`. */
static inline apf_level_stats level_stats(const apf_engine *engine) {
    apf_stats *stats = NULL;
    OK(apf_stats_new(engine, &stats));
    size_t levels = 0;
    OK(apf_stats_counts(stats, &levels, NULL));
    for (size_t at = 0; at < levels; at++) {
        apf_level_stats level = apf_level_stats_init();
        OK(apf_stats_level(stats, at, &level));
        if (text_is(level.name, "only")) {
            OK(apf_stats_free(stats));
            level.name = apf_str_of("only");
            return level;
        }
    }
    FAIL("there is no level `only`");
}

/* Submits and says what became of it. */
static inline apf_outcome submit(const apf_engine *engine, const apf_request *request, apf_completions *queue,
                                 uint64_t user_data) {
    apf_outcome outcome;
    OK(apf_submit(engine, request, queue, user_data, &outcome));
    return outcome;
}

#endif
