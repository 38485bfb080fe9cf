// 100 handlers that throw, return early or are thrown away with their thread leave no seat behind: the one after them
// runs at once (kubernetes/kubernetes 97206).

#include "check.hpp"

#include <stdexcept>
#include <thread>

namespace {

apf::permit begin(const apf::engine& engine) {
    auto decided = engine.admit(apf::request::path("get", "/work").by("alice"), std::chrono::seconds(30));
    return std::get<apf::permit>(std::move(decided).value());
}

void handle(const apf::engine& engine, int number) {
    const apf::permit permit = begin(engine);
    if (number % 3 == 0) {
        throw std::runtime_error("a handler that fails");
    }
    if (number % 3 == 1) {
        return;
    }
    std::this_thread::yield();
}

}  // namespace

int main() {
    const apf::engine engine = engine_with(2, 50);
    int failed = 0;
    for (int number = 0; number < 100; ++number) {
        std::thread([&] {
            try {
                handle(engine, number);
            } catch (const std::runtime_error&) {
                ++failed;
            }
        }).join();
    }
    CHECK(failed == 34);
    CHECK(level_stats(engine, "only").seats_in_use == 0 && level_stats(engine, "only").dispatched == 100);
    const apf::permit one = begin(engine), two = begin(engine);
    CHECK(level_stats(engine, "only").seats_in_use == 2);
    // Without a queue it is admitted or refused, and never waits.
    CHECK(std::holds_alternative<apf::rejection>(engine.submit(apf::request::path("get", "/work")).value()));
    std::puts("handlers: passed");
}
