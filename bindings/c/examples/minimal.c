// Asks the engine before a request is served.

#include <apf.h>

#include <stdio.h>

int main(void) {
    // The built-in objects of kube-apiserver on 600 seats; `options.configuration` for your own.
    apf_engine_options options = apf_engine_options_init();
    options.seats = 600;
    apf_engine *engine = NULL;
    apf_status status = apf_engine_new(&options, &engine, NULL);
    if (status != APF_OK) {
        const apf_str why = apf_status_text(status);
        fprintf(stderr, "no engine: %.*s\n", (int)why.len, why.data);
        return 1;
    }

    // Who asks for what decides the FlowSchema, the priority level and the flow.
    const apf_str groups[] = {apf_str_of("system:authenticated")};
    apf_request request = apf_request_init();
    request.user = apf_str_of("alice");
    request.groups = groups;
    request.group_count = 1;
    request.verb = apf_str_of("list");
    request.resource = apf_str_of("pods");
    request.object_namespace = apf_str_of("dev");

    apf_outcome outcome;
    status = apf_admit(engine, &request, APF_NO_LIMIT, &outcome);
    if (status != APF_OK) {
        const apf_str why = apf_status_text(status);
        printf("500: %.*s\n", (int)why.len, why.data);
    } else if (outcome.kind == APF_OUTCOME_ADMITTED) {
        printf("%.*s by %.*s\n", (int)outcome.level.len, outcome.level.data, (int)outcome.flow_schema.len,
               outcome.flow_schema.data);
        // ... serve the request ...
        apf_finish(engine, outcome.ticket);
    } else {
        printf("429, Retry-After: %u\n", outcome.retry_after_seconds);
    }
    apf_engine_free(engine);
    return status == APF_OK ? 0 : 1;
}
