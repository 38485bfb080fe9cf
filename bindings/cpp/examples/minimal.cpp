// Asks the engine before a request is served: the example of docs/cpp.md.

#include <apf.hpp>

#include <iostream>

int main() {
    // The built-in objects of kube-apiserver on 600 seats; `options.configuration` for your own.
    apf_engine_options options = apf_engine_options_init();
    options.seats = 600;
    auto engine = apf::engine::make(options).value();

    // Who asks for what decides the FlowSchema, the priority level and the flow.
    const auto request = apf::request::resource("list", "pods")
                             .in_namespace("dev")
                             .by("alice", {"system:authenticated"});

    auto decided = engine.admit(request);
    if (!decided) {
        std::cout << "500: " << decided.error().what() << '\n';
    } else if (auto* permit = std::get_if<apf::permit>(&*decided)) {
        std::cout << permit->level() << " by " << permit->flow_schema() << '\n';
        // ... serve the request; when the permit goes the seat comes back ...
    } else if (auto* rejected = std::get_if<apf::rejection>(&*decided)) {
        std::cout << "429, Retry-After: " << rejected->retry_after.count() << '\n';
    }
}
