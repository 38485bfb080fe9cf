// What the C++ tests share: checks that say where they failed, and an engine with one level to look at.

#ifndef APF_CHECK_HPP
#define APF_CHECK_HPP

#include <apf.hpp>

#include <cstdio>
#include <cstdlib>
#include <string>

#define CHECK(condition)                                                                         \
    do {                                                                                         \
        if (!(condition)) {                                                                      \
            std::fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition); \
            std::exit(1);                                                                        \
        }                                                                                        \
    } while (0)

// A level `only` of `limit` seats, a queue of `length` for each flow or none at all, which everything goes to.
inline std::string only_level(int length) {
    const std::string response =
        length == 0 ? "{type: Reject}"
                    : "{type: Queue, queuing: {queues: 16, handSize: 1, queueLengthLimit: " + std::to_string(length) + "}}";
    return R"(
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: PriorityLevelConfiguration
metadata: {name: only}
spec:
  type: Limited
  limited: {nominalConcurrencyShares: 5, lendablePercent: 0, borrowingLimitPercent: 0, limitResponse: )" +
           response + R"(}
---
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: FlowSchema
metadata: {name: all}
spec:
  priorityLevelConfiguration: {name: only}
  matchingPrecedence: 2
  distinguisherMethod: {type: ByUser}
  rules:
  - subjects: [{kind: Group, group: {name: "*"}}]
    resourceRules: [{verbs: ["*"], apiGroups: ["*"], resources: ["*"], clusterScope: true, namespaces: ["*"]}]
    nonResourceRules: [{verbs: ["*"], nonResourceURLs: ["*"]}]
)";
}

// The level catch-all has as many shares, so each of the two has `limit` seats.
inline apf::engine engine_with(int limit, int length, apf_clock clock = APF_CLOCK_MONOTONIC) {
    const std::string text = only_level(length);
    apf_configuration objects = apf_configuration_init();
    objects.text = apf::text(text);
    objects.builtin = APF_BUILTIN_MANDATORY;
    apf_engine_options options = apf_engine_options_init();
    options.configuration = &objects;
    options.seats = 2 * limit;
    options.clock = clock;
    apf::problems found;
    auto made = apf::engine::make(options, &found);
    for (std::size_t index = 0; index < found.size(); ++index) {
        std::fprintf(stderr, "%s\n", std::string(apf::view(found[index].text)).c_str());
    }
    CHECK(made);
    return std::move(*made);
}

inline apf_level_stats level_stats(const apf::engine& engine, std::string_view name) {
    const auto stats = engine.stats().value();
    for (std::size_t index = 0; index < stats.levels(); ++index) {
        apf_level_stats level = stats.level(index).value();
        if (apf::view(level.name) == name) {
            level.name = apf::text(name);  // the statistics go, the caller's text stays
            return level;
        }
    }
    CHECK(!"there is such a level");
    return apf_level_stats_init();
}

#endif
