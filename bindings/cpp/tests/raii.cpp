// The types of apf.hpp give back what they own, once, and hand on what the C interface answers.

#include "check.hpp"

#include <poll.h>

#include <algorithm>
#include <thread>
#include <type_traits>
#include <vector>

namespace {

using namespace std::chrono_literals;

static_assert(!std::is_copy_constructible_v<apf::permit> && std::is_nothrow_move_constructible_v<apf::permit>);
static_assert(!std::is_copy_constructible_v<apf::waiting> && std::is_nothrow_move_constructible_v<apf::waiting>);
static_assert(!std::is_copy_constructible_v<apf::engine> && std::is_nothrow_move_constructible_v<apf::engine>);
static_assert(!std::is_copy_constructible_v<apf::completions> && !std::is_copy_constructible_v<apf::stats>);
static_assert(std::is_nothrow_move_constructible_v<apf::completion>);

apf::request ask(std::string_view user) { return apf::request::path("get", "/work").by(user); }

apf::permit admitted(const apf::engine& engine, std::string_view user) {
    auto outcome = engine.submit(ask(user)).value();
    CHECK(std::holds_alternative<apf::permit>(outcome));
    return std::get<apf::permit>(std::move(outcome));
}

std::uint64_t in_use(const apf::engine& engine) { return level_stats(engine, "only").seats_in_use; }

void permits() {
    const apf::engine engine = engine_with(2, 0);
    {
        apf::permit one = admitted(engine, "a");
        CHECK(one && one.level() == "only" && one.flow_schema() == "all" && one.seats() == 1);
        apf::permit two = admitted(engine, "b");
        CHECK(in_use(engine) == 2);
        auto third = engine.submit(ask("c")).value();
        const auto& refused = std::get<apf::rejection>(third);
        CHECK(refused.reason == APF_REASON_CONCURRENCY_LIMIT && refused.reason_name() == "concurrency-limit");
        CHECK(refused.retry_after >= 1s && refused.level == "only");

        apf::permit moved = std::move(one);
        CHECK(!one && moved && in_use(engine) == 2);
        CHECK(one.finish().error().status() == APF_ERROR_NULL_ARGUMENT);
        two = std::move(moved);  // ends what `two` held
        CHECK(in_use(engine) == 1);
        CHECK(two.finish_early());
        CHECK(in_use(engine) == 0 && two.finish_early().error().status() == APF_ERROR_ALREADY_RELEASED);
        CHECK(two.finish() && !two);
        CHECK(two.finish().error().status() == APF_ERROR_NULL_ARGUMENT);
    }
    const apf_ticket ticket = admitted(engine, "a").release();
    CHECK(in_use(engine) == 1);
    CHECK(apf_finish(engine.get(), ticket) == APF_OK && in_use(engine) == 0);
    CHECK(apf_finish(engine.get(), ticket) == APF_ERROR_STALE_TICKET);
}

void waiting_requests() {
    const apf::engine engine = engine_with(1, 10);
    const auto queue = apf::completions::make(engine).value();
    std::vector<apf::completion> done;
    apf::permit holder = admitted(engine, "a");

    auto first = std::get<apf::waiting>(engine.submit(ask("b"), queue, 7).value());
    {
        const auto second = std::get<apf::waiting>(engine.submit(ask("b"), queue, 8).value());
        CHECK(level_stats(engine, "only").requests_waiting == 2);
    }
    CHECK(level_stats(engine, "only").requests_waiting == 1);  // the second has been cancelled
    auto third = std::get<apf::waiting>(engine.submit(ask("b"), queue, 9).value());
    CHECK(third.cancel() && !third);
    CHECK(queue.poll(done).value() == 0 && queue.wait(done, 1ms).value() == 0);

    CHECK(holder.finish());
    pollfd watched{queue.fd().value(), POLLIN, 0};
    CHECK(::poll(&watched, 1, 5000) == 1);
    CHECK(queue.wait(done, 5s).value() == 1 && done.front().user_data == 7 && done.front().waited > 0ns);
    CHECK(first.cancel().error().status() == APF_ERROR_ALREADY_ADMITTED);  // too late: the permit has it
    CHECK(in_use(engine) == 1);
    apf::permit granted = std::get<apf::permit>(std::move(done.front().decision));
    CHECK(granted.level() == "only");
    done.clear();
    CHECK(in_use(engine) == 1);  // the permit has been moved out
    {
        // A completion that is thrown away ends its request.
        auto last = std::get<apf::waiting>(engine.submit(ask("b"), queue, 10).value());
        (void)last.release();
        CHECK(granted.finish() && queue.poll(done).value() == 1);
        done.clear();
    }
    CHECK(in_use(engine) == 0);

    std::thread waker([&] { CHECK(queue.wake()); });
    CHECK(queue.wait(done).value() == 0);
    waker.join();
}

void time_outs_on_a_manual_clock() {
    const apf::engine engine = engine_with(1, 10, APF_CLOCK_MANUAL);
    const auto queue = apf::completions::make(engine).value();
    const apf::permit holder = admitted(engine, "a");
    const auto waiting = std::get<apf::waiting>(engine.submit(ask("b").with_wait_limit(3s), queue).value());
    CHECK(engine.next_timer().value() <= 3s);
    std::vector<apf::completion> done;
    CHECK(engine.set_time(3s - 1ns) && queue.poll(done).value() == 0);
    CHECK(engine.set_time(4s) && engine.now().value() == 4s && queue.poll(done).value() == 1);
    CHECK(std::get<apf::rejection>(done.front().decision).reason == APF_REASON_TIME_OUT);
    CHECK(done.front().waited >= 3s);
    CHECK(engine_with(1, 1).set_time(1s).error().status() == APF_ERROR_CLOCK);
}

void callbacks() {
    const apf::engine engine = engine_with(1, 1000);
    std::vector<apf::permit> granted;
    auto push = [&granted](apf::completion&& done) {
        granted.push_back(std::get<apf::permit>(std::move(done.decision)));
    };
    auto queue = apf::callback_completions<decltype(push)>::make(engine, push).value();
    auto moved = std::move(queue);
    granted.push_back(admitted(engine, "a"));
    for (int count = 0; count < 100; ++count) {
        std::get<apf::waiting>(engine.submit(ask("b"), moved).value()).release();
    }
    for (std::size_t next = 0; next < granted.size(); ++next) {
        apf::permit permit = std::move(granted[next]);
        CHECK(permit.finish());
    }
    CHECK(granted.size() == 101 && in_use(engine) == 0);
}

// From within a callback the engine is classified with, dumped, counted and reconfigured, and requests are ended.
void callbacks_call_again() {
    const apf::engine engine = engine_with(1, 10);
    const std::string text = only_level(20);
    int calls = 0;
    auto again = [&](apf::completion&& done) {
        ++calls;
        apf_configuration objects = apf_configuration_init();
        objects.text = apf::text(text);
        objects.builtin = APF_BUILTIN_MANDATORY;
        CHECK(engine.reconfigure(objects));
        CHECK(engine.dump(APF_TABLE_REQUESTS) && engine.prometheus() && engine.stats());
        CHECK(engine.submit(ask("c")) && engine.find_level("only"));
        CHECK(std::get<apf::permit>(done.decision).finish());
    };
    const auto queue = apf::callback_completions<decltype(again)>::make(engine, again).value();
    apf::permit holder = admitted(engine, "a");
    for (int count = 0; count < 5; ++count) {
        std::get<apf::waiting>(engine.submit(ask("b"), queue).value()).release();
    }
    CHECK(holder.finish());
    CHECK(calls == 5 && in_use(engine) == 0);
}

void requests() {
    const apf::engine engine = engine_with(10, 0);
    const std::vector<std::string> groups{"system:authenticated", "staff", "a", "b", "c", "d"};
    apf::request many = apf::request::resource("list", "pods").in_namespace("dev").in_group("apps").with_seats(3, 2, 1ms);
    many.by("alice", groups.begin(), groups.end());
    const apf::request copy = many;
    many.by("bob");
    CHECK(copy.raw().group_count == groups.size() && many.raw().group_count == 0);
    {
        const auto outcome = engine.submit(copy).value();
        CHECK(std::get<apf::permit>(outcome).seats() == 3);
    }
    CHECK(std::holds_alternative<apf::permit>(engine.admit(apf::request::url("GET", "/api/v1/pods?limit=1")).value()));
    CHECK(engine.admit(apf::request()).error().status() == APF_ERROR_REQUEST);
    CHECK(engine.admit(ask("\xff")).error().status() == APF_ERROR_UTF8);
    for (const std::uint64_t seats : {std::uint64_t{0}, std::uint64_t{1} << 63, static_cast<std::uint64_t>(-1)}) {
        CHECK(engine.submit(ask("a").with_seats(seats)).error().status() == APF_ERROR_ESTIMATE);
        apf_classified_request classified = apf_classified_request_init(engine.find_level("only").value(), 1);
        classified.initial_seats = seats;
        CHECK(engine.submit(classified).error().status() == APF_ERROR_ESTIMATE);
    }
    const auto hash = engine.flow_hash("all", "alice").value();
    const auto level = engine.find_level("only").value();
    CHECK(std::holds_alternative<apf::permit>(engine.submit(apf_classified_request_init(level, hash)).value()));
    CHECK(engine.submit(apf_classified_request_init(level + 1000, hash)).error().status() == APF_ERROR_LEVEL);
    CHECK(engine.find_level("none").error().name() == "level");
    CHECK(in_use(engine) <= 3);  // those of the first linger for a millisecond
}

void configurations() {
    apf_configuration wrong = apf_configuration_init();
    wrong.text = apf::text("apiVersion: flowcontrol.apiserver.k8s.io/v1\nkind: FlowSchema\nmetadata: {name: x}\nspec: {no: 1}\n");
    wrong.text_name = apf::text("wrong.yaml");
    apf_engine_options options = apf_engine_options_init();
    options.configuration = &wrong;
    apf::problems found;
    CHECK(apf::engine::make(options, &found).error().status() == APF_ERROR_CONFIGURATION);
    CHECK(!found.empty() && apf::view(found[0].file) == "wrong.yaml" && apf::view(found[0].name) == "x");
    CHECK(found[found.size()].text.len == 0);
    options.configuration = nullptr;
    for (const std::int64_t seats : {std::int64_t{0}, std::int64_t{-1}, INT64_MAX, INT64_MIN}) {
        options.seats = seats;
        CHECK(apf::engine::make(options).error().status() == APF_ERROR_SEATS);
    }
    const apf::engine engine = engine_with(1, 1);
    const apf::permit held = admitted(engine, "a");
    CHECK(engine.reconfigure(wrong, &found).error().status() == APF_ERROR_CONFIGURATION && !found.empty());
    CHECK(in_use(engine) == 1);
    CHECK(engine.reconfigure(apf_configuration_init(), &found) && found.empty());
}

void texts() {
    const apf::engine engine = engine_with(1, 1);
    const apf::permit held = admitted(engine, "a");
    CHECK(engine.prometheus().value().find("apiserver_flowcontrol_current_executing_requests") != std::string::npos);
    for (const apf_table table : {APF_TABLE_PRIORITY_LEVELS, APF_TABLE_QUEUES, APF_TABLE_REQUESTS}) {
        CHECK(engine.dump(table).value().find("only") != std::string::npos);
    }
    CHECK(engine.dump(static_cast<apf_table>(99)).error().status() == APF_ERROR_INVALID_ARGUMENT);
    CHECK(apf::compatible());
    CHECK(apf::failure(APF_ERROR_STALE_TICKET).name() == "stale-ticket");
    CHECK(engine.stats().value().schema(1000).error().status() == APF_ERROR_INVALID_ARGUMENT);
}

void results() {
    bool thrown = false;
    try {
        (void)apf::result<int>(apf::failure(APF_ERROR_BUSY)).value();
    } catch (const apf::bad_result& error) {
        thrown = error.error().status() == APF_ERROR_BUSY && std::string_view(error.what()) == error.error().what();
    }
    CHECK(thrown);
    apf::result<int> three(3);
    CHECK(three && *three == 3 && three.value() == 3);
}

}  // namespace

int main() {
    permits();
    waiting_requests();
    time_outs_on_a_manual_clock();
    callbacks();
    callbacks_call_again();
    requests();
    configurations();
    texts();
    results();
    std::puts("raii: passed");
}
