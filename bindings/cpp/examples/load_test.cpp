// A load test in one process: a noisy flow with many workers beside two quiet ones, each worker asking, waiting, working
// and asking again. Prints how long each flow waited: with fair queues the quiet ones hardly do.
//
//     load_test [SECONDS] [SEATS] [NOISY WORKERS]

#include <apf.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

namespace {

using clock_type = std::chrono::steady_clock;

constexpr char configuration[] = R"(
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: PriorityLevelConfiguration
metadata: {name: load}
spec:
  type: Limited
  limited:
    nominalConcurrencyShares: 1000
    limitResponse: {type: Queue, queuing: {queues: 64, handSize: 4, queueLengthLimit: 50}}
---
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: FlowSchema
metadata: {name: load}
spec:
  priorityLevelConfiguration: {name: load}
  matchingPrecedence: 500
  distinguisherMethod: {type: ByUser}
  rules:
  - subjects: [{kind: Group, group: {name: "system:authenticated"}}]
    nonResourceRules: [{verbs: ["*"], nonResourceURLs: ["*"]}]
)";

struct flow {
    std::string user;
    int workers;
    std::vector<double> waits; // milliseconds, of admitted requests
    std::size_t rejected;
};

struct worker {
    std::vector<double> waits;
    std::size_t rejected = 0;
    apf_status failed = APF_OK;
};

void work(const apf::engine& engine, const std::string& user, const std::atomic<bool>& stop, worker& own) {
    const auto request = apf::request::path("get", "/work").by(user, {"system:authenticated"});
    while (!stop.load(std::memory_order_relaxed)) {
        const auto asked = clock_type::now();
        auto decided = engine.admit(request);
        if (!decided) {
            own.failed = decided.error().status();
            return;
        }
        if (auto* permit = std::get_if<apf::permit>(&*decided)) {
            own.waits.push_back(std::chrono::duration<double, std::milli>(clock_type::now() - asked).count());
            std::this_thread::sleep_for(std::chrono::milliseconds(2)); // the work
            (void)permit->finish();
        } else {
            ++own.rejected;
            std::this_thread::sleep_for(std::chrono::milliseconds(10)); // a patient client: Retry-After is in seconds
        }
    }
}

double at(const std::vector<double>& sorted, double part) {
    if (sorted.empty()) {
        return 0;
    }
    return sorted[static_cast<std::size_t>(part * static_cast<double>(sorted.size() - 1))];
}

} // namespace

int main(int count, char** arguments) {
    const double seconds = count > 1 ? std::atof(arguments[1]) : 2;
    const int seats = count > 2 ? std::atoi(arguments[2]) : 4;
    const int noisy = count > 3 ? std::atoi(arguments[3]) : 40;

    apf_configuration objects = apf_configuration_init();
    objects.text = apf::text(configuration);
    apf_engine_options options = apf_engine_options_init();
    options.configuration = &objects;
    options.seats = seats;
    apf::problems found;
    auto made = apf::engine::make(options, &found);
    for (std::size_t index = 0; index < found.size(); ++index) {
        std::fprintf(stderr, "%s\n", std::string(apf::view(found[index].text)).c_str());
    }
    if (!made) {
        std::fprintf(stderr, "no engine: %s\n", std::string(made.error().what()).c_str());
        return 1;
    }
    const apf::engine engine = std::move(*made);

    std::vector<flow> flows{{"noisy", noisy, {}, 0}, {"quiet-1", 1, {}, 0}, {"quiet-2", 1, {}, 0}};
    std::vector<std::vector<worker>> workers;
    for (const flow& of : flows) {
        workers.emplace_back(static_cast<std::size_t>(of.workers));
    }
    std::atomic<bool> stop{false};
    std::vector<std::thread> threads;
    for (std::size_t index = 0; index < flows.size(); ++index) {
        for (worker& own : workers[index]) {
            threads.emplace_back(work, std::cref(engine), std::cref(flows[index].user), std::cref(stop), std::ref(own));
        }
    }
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    stop.store(true, std::memory_order_relaxed);
    for (std::thread& thread : threads) {
        thread.join();
    }

    std::printf("%-10s %8s %9s %9s %9s %9s %9s\n", "flow", "workers", "admitted", "rejected", "p50 ms", "p99 ms",
                "max ms");
    for (std::size_t index = 0; index < flows.size(); ++index) {
        flow& of = flows[index];
        for (const worker& own : workers[index]) {
            if (own.failed != APF_OK) {
                std::fprintf(stderr, "%s: %s\n", of.user.c_str(),
                             std::string(apf::failure(own.failed).what()).c_str());
                return 1;
            }
            of.waits.insert(of.waits.end(), own.waits.begin(), own.waits.end());
            of.rejected += own.rejected;
        }
        std::sort(of.waits.begin(), of.waits.end());
        std::printf("%-10s %8d %9zu %9zu %9.3f %9.3f %9.3f\n", of.user.c_str(), of.workers, of.waits.size(),
                    of.rejected, at(of.waits, 0.5), at(of.waits, 0.99), of.waits.empty() ? 0.0 : of.waits.back());
    }
    return 0;
}
