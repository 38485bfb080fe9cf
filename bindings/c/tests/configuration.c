/* Engines from a text, a folder and the built-in objects; what is wrong comes back in parts; changes while running. */

#include "test.h"

#include <sys/stat.h>
#include <unistd.h>

static const char *const good =
    "apiVersion: flowcontrol.apiserver.k8s.io/v1\n"
    "kind: PriorityLevelConfiguration\n"
    "metadata: {name: batch}\n"
    "spec:\n"
    "  type: Limited\n"
    "  limited: {nominalConcurrencyShares: 5, limitResponse: {type: Reject}}\n";

static const char *const json =
    "{\"apiVersion\": \"flowcontrol.apiserver.k8s.io/v1\", \"kind\": \"PriorityLevelConfiguration\","
    " \"metadata\": {\"name\": \"batch\"}, \"spec\": {\"type\": \"Limited\", \"limited\":"
    " {\"nominalConcurrencyShares\": 5, \"limitResponse\": {\"type\": \"Reject\"}}}}";

static const char *const bad =
    "apiVersion: flowcontrol.apiserver.k8s.io/v1\n"
    "kind: PriorityLevelConfiguration\n"
    "metadata: {name: tight}\n"
    "spec:\n"
    "  type: Limited\n"
    "  limited: {lendablePercent: 101, limitResponse: {type: Reject}}\n";

static int has_level(const apf_engine *engine, const char *name) {
    uint32_t level = 0;
    int32_t status = apf_level_find(engine, apf_str_of(name), &level);
    CHECK(status == APF_OK || status == APF_ERROR_LEVEL);
    return status == APF_OK;
}

static apf_engine *from(apf_configuration *configuration) {
    apf_engine_options options = apf_engine_options_init();
    options.configuration = configuration;
    apf_engine *engine = NULL;
    OK(apf_engine_new(&options, &engine, NULL));
    return engine;
}

static void sources(void) {
    apf_engine *engine = NULL;
    OK(apf_engine_new(NULL, &engine, NULL));
    CHECK(has_level(engine, "workload-low"));
    CHECK(!has_level(engine, "batch"));
    OK(apf_engine_free(engine));

    apf_configuration configuration = apf_configuration_init();
    configuration.text = apf_str_of(json);
    engine = from(&configuration);
    CHECK(has_level(engine, "workload-low") && has_level(engine, "batch"));
    OK(apf_engine_free(engine));

    configuration.text = apf_str_of(good);
    configuration.builtin = APF_BUILTIN_MANDATORY;
    engine = from(&configuration);
    CHECK(!has_level(engine, "workload-low") && has_level(engine, "batch") && has_level(engine, "catch-all"));
    OK(apf_engine_free(engine));

    char folder[] = "/tmp/apf-c-test-XXXXXX";
    CHECK(mkdtemp(folder) != NULL);
    char path[64];
    snprintf(path, sizeof path, "%s/batch.yaml", folder);
    FILE *file = fopen(path, "w");
    CHECK(file != NULL && fputs(good, file) >= 0 && fclose(file) == 0);
    configuration = apf_configuration_init();
    configuration.path = apf_str_of(folder);
    engine = from(&configuration);
    CHECK(has_level(engine, "batch"));
    OK(apf_engine_free(engine));
    CHECK(unlink(path) == 0);

    /* A folder without manifests is a mistake. */
    apf_engine_options options = apf_engine_options_init();
    options.configuration = &configuration;
    apf_problems *problems = NULL;
    CHECK_STATUS(apf_engine_new(&options, &engine, &problems), APF_ERROR_CONFIGURATION);
    apf_problem problem = apf_problem_init();
    OK(apf_problems_get(problems, 0, &problem));
    CHECK(text_is(problem.rule, "Unreadable") && text_is(problem.file, folder));
    OK(apf_problems_free(problems));
    CHECK(rmdir(folder) == 0);
}

static void problems_in_parts(void) {
    apf_configuration configuration = apf_configuration_init();
    configuration.text = apf_str_of(bad);
    configuration.text_name = apf_str_of("level.yaml");
    apf_engine_options options = apf_engine_options_init();
    options.configuration = &configuration;
    apf_engine *engine = NULL;
    apf_problems *problems = NULL;
    CHECK_STATUS(apf_engine_new(&options, &engine, &problems), APF_ERROR_CONFIGURATION);
    CHECK(engine == NULL);
    size_t count = 0;
    OK(apf_problems_count(problems, &count));
    CHECK_EQ(count, 1);
    apf_problem problem = apf_problem_init();
    OK(apf_problems_get(problems, 0, &problem));
    CHECK_EQ(problem.severity, APF_SEVERITY_ERROR);
    CHECK_EQ(problem.line, 6);
    CHECK_EQ(problem.column, 13);
    CHECK(text_is(problem.file, "level.yaml"));
    CHECK(text_is(problem.kind, "PriorityLevelConfiguration"));
    CHECK(text_is(problem.name, "tight"));
    CHECK(text_is(problem.field, "spec.limited.lendablePercent"));
    CHECK(text_is(problem.rule, "Invalid value"));
    CHECK(text_is(problem.value, "101"));
    CHECK(text_is(problem.detail, "must be between 0 and 100, inclusive"));
    CHECK(problem.text.len > 60);
    CHECK_STATUS(apf_problems_get(problems, 1, &problem), APF_ERROR_INVALID_ARGUMENT);
    problem.size = 3;
    CHECK_STATUS(apf_problems_get(problems, 0, &problem), APF_ERROR_INVALID_ARGUMENT);
    problem.size = sizeof problem + 8;
    CHECK_STATUS(apf_problems_get(problems, 0, &problem), APF_ERROR_INVALID_ARGUMENT);
    OK(apf_problems_free(problems));

    /* Unknown fields: an error, or a warning that the engine is made with. */
    char unknown[512];
    snprintf(unknown, sizeof unknown, "%s  colour: blue\n", good);
    configuration.text = apf_str_of(unknown);
    CHECK_STATUS(apf_engine_new(&options, &engine, NULL), APF_ERROR_CONFIGURATION);
    configuration.strictness = APF_STRICTNESS_LENIENT;
    OK(apf_engine_new(&options, &engine, &problems));
    problem = apf_problem_init();
    OK(apf_problems_get(problems, 0, &problem));
    CHECK_EQ(problem.severity, APF_SEVERITY_WARNING);
    CHECK(text_is(problem.field, "spec.colour"));
    OK(apf_problems_free(problems));
    OK(apf_engine_free(engine));

    /* What takes no part is said, too. */
    const char *dangling =
        "apiVersion: flowcontrol.apiserver.k8s.io/v1\n"
        "kind: FlowSchema\n"
        "metadata: {name: lost}\n"
        "spec: {matchingPrecedence: 7, priorityLevelConfiguration: {name: nowhere}}\n";
    configuration = apf_configuration_init();
    configuration.text = apf_str_of(dangling);
    OK(apf_engine_new(&options, &engine, &problems));
    OK(apf_problems_get(problems, 0, &problem));
    CHECK_EQ(problem.severity, APF_SEVERITY_WARNING);
    CHECK(text_is(problem.kind, "FlowSchema") && text_is(problem.name, "lost"));
    OK(apf_problems_free(problems));
    OK(apf_engine_free(engine));
}

static void seats_and_settings(void) {
    const int64_t wrong[] = {0, -1, INT64_MIN, INT64_MAX, 2147483648};
    for (size_t at = 0; at < sizeof wrong / sizeof *wrong; at++) {
        apf_engine_options options = apf_engine_options_init();
        options.seats = wrong[at];
        apf_engine *engine = NULL;
        apf_problems *problems = NULL;
        CHECK_STATUS(apf_engine_new(&options, &engine, &problems), APF_ERROR_SEATS);
        apf_problem problem = apf_problem_init();
        OK(apf_problems_get(problems, 0, &problem));
        CHECK(text_is(problem.field, "seats"));
        OK(apf_problems_free(problems));
    }
    apf_engine *engine = NULL;
    apf_engine_options options = apf_engine_options_init();
    options.mode = 7;
    CHECK_STATUS(apf_engine_new(&options, &engine, NULL), APF_ERROR_INVALID_ARGUMENT);
    options = apf_engine_options_init();
    options.clock = -1;
    CHECK_STATUS(apf_engine_new(&options, &engine, NULL), APF_ERROR_INVALID_ARGUMENT);
    options = apf_engine_options_init();
    options.size = 0;
    CHECK_STATUS(apf_engine_new(&options, &engine, NULL), APF_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(apf_engine_new(NULL, NULL, NULL), APF_ERROR_NULL_ARGUMENT);
    apf_configuration configuration = apf_configuration_init();
    configuration.text = apf_str_new("\xff\xfe", 2);
    options = apf_engine_options_init();
    options.configuration = &configuration;
    CHECK_STATUS(apf_engine_new(&options, &engine, NULL), APF_ERROR_UTF8);
    configuration.text = apf_str_new(NULL, 5);
    CHECK_STATUS(apf_engine_new(&options, &engine, NULL), APF_ERROR_NULL_ARGUMENT);
    CHECK(engine == NULL);
    OK(apf_engine_free(NULL));
    OK(apf_problems_free(NULL));
    OK(apf_stats_free(NULL));
    OK(apf_completions_free(NULL));
}

static void changes_while_running(void) {
    apf_engine *engine = NULL;
    OK(apf_engine_new(NULL, &engine, NULL));
    apf_request request = request_by("alice");
    apf_outcome running = submit(engine, &request, NULL, 0);
    CHECK_EQ(running.kind, APF_OUTCOME_ADMITTED);
    CHECK(text_is(running.level, "global-default"));

    apf_configuration configuration = apf_configuration_init();
    configuration.text = apf_str_of(good);
    configuration.builtin = APF_BUILTIN_MANDATORY;
    OK(apf_engine_reconfigure(engine, &configuration, NULL));
    CHECK(has_level(engine, "batch") && !has_level(engine, "workload-low"));
    /* The name is still there, and the request still runs. */
    CHECK(text_is(running.level, "global-default"));
    apf_outcome next = submit(engine, &request, NULL, 0);
    CHECK(text_is(next.level, "catch-all"));
    OK(apf_finish(engine, running.ticket));
    OK(apf_finish(engine, next.ticket));

    configuration.text = apf_str_of(bad);
    apf_problems *problems = NULL;
    CHECK_STATUS(apf_engine_reconfigure(engine, &configuration, &problems), APF_ERROR_CONFIGURATION);
    CHECK(problems != NULL);
    OK(apf_problems_free(problems));
    CHECK(has_level(engine, "batch"));
    OK(apf_engine_reconfigure(engine, NULL, &problems));
    CHECK(problems == NULL);
    CHECK(has_level(engine, "workload-low"));
    CHECK_STATUS(apf_engine_reconfigure(NULL, NULL, NULL), APF_ERROR_NULL_ARGUMENT);
    OK(apf_engine_free(engine));
}

int main(void) {
    sources();
    problems_in_parts();
    seats_and_settings();
    changes_while_running();
    return 0;
}
