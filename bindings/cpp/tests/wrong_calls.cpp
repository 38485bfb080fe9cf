// Random calls of every function of apf.h, most of them with something wrong: NULL, stale, foreign, used twice, another
// engine's, sizes and numbers that are none. Nothing crashes, each answer is the one that a model of the tickets expects,
// and a call that is refused leaves every number of both engines as it was.
//
//     wrong_calls [CALLS] [SEED]
//
// What the header calls undefined is left out: freed pointers, and buffers shorter than they are said to be.

#include "check.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <vector>

namespace {

class random_numbers {
public:
    explicit random_numbers(std::uint64_t seed) : state_(seed) {}

    std::uint64_t next() {  // splitmix64
        std::uint64_t mixed = (state_ += 0x9e3779b97f4a7c15);
        mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
        mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
        return mixed ^ (mixed >> 31);
    }
    std::size_t below(std::size_t limit) { return static_cast<std::size_t>(next() % limit); }
    bool one_in(std::size_t many) { return below(many) == 0; }

    template <class T, std::size_t N>
    T of(const T (&choices)[N]) {
        return choices[below(N)];
    }

private:
    std::uint64_t state_;
};

// Everything that a refused call must leave alone.
struct totals {
    std::vector<std::uint64_t> numbers;

    explicit totals(const apf_engine* engine) {
        apf_stats* raw = nullptr;
        CHECK(apf_stats_new(engine, &raw) == APF_OK);
        const apf::stats stats(raw);
        for (std::size_t index = 0; index < stats.levels(); ++index) {
            const apf_level_stats level = stats.level(index).value();
            numbers.insert(numbers.end(),
                           {level.requests_waiting, level.seats_waiting, level.requests_executing, level.seats_in_use,
                            level.dispatched, level.rejected_queue_full, level.rejected_concurrency_limit,
                            level.timed_out, level.cancelled, level.nominal_limit, level.current_limit});
        }
        for (std::size_t index = 0; index < stats.schemas(); ++index) {
            const apf_schema_stats schema = stats.schema(index).value();
            numbers.insert(numbers.end(), {schema.arrived, schema.dispatched, schema.cancelled, schema.timed_out,
                                           static_cast<std::uint64_t>(schema.requests_executing),
                                           static_cast<std::uint64_t>(schema.requests_waiting)});
        }
    }
};

enum class phase { running, released, waiting };

struct live {
    apf_ticket ticket;
    phase at;
};

void count_completion(void* context, const apf_completion* completion);

// An engine with its queues and what the model knows of its tickets.
struct side {
    apf_engine* engine = nullptr;
    apf_completions* queue = nullptr;
    apf_completions* called = nullptr;
    std::uint32_t level = 0;
    std::uint64_t now = 0;
    std::vector<live> tickets;
    std::vector<apf_ticket> handed;  // granted by a callback that ran within a call
    std::vector<apf_ticket> refused; // timed out, told by such a callback

    side() {
        const std::string text = only_level(3);
        apf_configuration objects = apf_configuration_init();
        objects.text = apf::text(text);
        objects.builtin = APF_BUILTIN_MANDATORY;
        apf_engine_options options = apf_engine_options_init();
        options.configuration = &objects;
        options.seats = 8;
        options.clock = APF_CLOCK_MANUAL;
        options.queue_wait_limit_ns = 2000000000;
        CHECK(apf_engine_new(&options, &engine, nullptr) == APF_OK);
        CHECK(apf_completions_new(engine, &queue) == APF_OK);
        CHECK(apf_completions_new_callback(engine, &count_completion, this, &called) == APF_OK);
        CHECK(apf_level_find(engine, apf_str_of("only"), &level) == APF_OK);
    }

    std::vector<live>::iterator find(apf_ticket ticket) {
        return std::find_if(tickets.begin(), tickets.end(), [&](const live& one) {
            return one.ticket.bits[0] == ticket.bits[0] && one.ticket.bits[1] == ticket.bits[1];
        });
    }
};

void count_completion(void* context, const apf_completion* completion) {
    side& own = *static_cast<side*>(context);
    (completion->outcome.kind == APF_OUTCOME_ADMITTED ? own.handed : own.refused).push_back(completion->outcome.ticket);
}

class driver {
public:
    explicit driver(std::uint64_t seed) : random_(seed) {
        for (side& one : sides_) {
            before_.emplace_back(one.engine);
        }
        invalid_ = "\xc3\x28";
    }

    void run(std::uint64_t calls) {
        for (calls_ = 0; calls_ < calls; ++calls_) {
            acted_ = &sides_[random_.below(2)];
            step();
        }
        for (side& one : sides_) {
            end(one);
        }
    }

    void report() const {
        std::printf("wrong_calls: %llu calls, %llu of them refused:", static_cast<unsigned long long>(calls_),
                    static_cast<unsigned long long>(refused_));
        for (const auto& [status, count] : answers_) {
            std::printf(" %s %llu", status == APF_OK ? "ok" : std::string(apf::failure(status).name()).c_str(),
                        static_cast<unsigned long long>(count));
        }
        std::puts("");
    }

private:
    // Notes an answer; one that is an error must not have changed anything.
    void answered(apf_status status, bool may_change = false) {
        ++answers_[status];
        if (status != APF_OK) {
            ++refused_;
        }
        for (side& one : sides_) {
            learn(one);
        }
        for (std::size_t index = 0; index < sides_.size(); ++index) {
            totals now(sides_[index].engine);
            if (status != APF_OK && !may_change) {
                CHECK(now.numbers == before_[index].numbers);
            }
            before_[index] = std::move(now);
        }
    }

    // What callbacks have told.
    void learn(side& own) {
        for (const apf_ticket ticket : own.handed) {
            const auto found = own.find(ticket);
            CHECK(found != own.tickets.end() && found->at == phase::waiting);
            found->at = phase::running;
        }
        for (const apf_ticket ticket : own.refused) {
            const auto found = own.find(ticket);
            CHECK(found != own.tickets.end());
            own.tickets.erase(found);
            stale(ticket);
        }
        own.handed.clear();
        own.refused.clear();
    }

    void stale(apf_ticket ticket) {
        if (stale_.size() < 256) {
            stale_.push_back(ticket);
        } else {
            stale_[random_.below(stale_.size())] = ticket;
        }
    }

    const apf_engine* engine() { return random_.one_in(12) ? nullptr : acted_->engine; }

    // A ticket and the side that it is of: none when it is no ticket.
    apf_ticket any_ticket() {
        apf_ticket ticket{};
        const side& from = sides_[random_.below(2)];
        switch (random_.below(8)) {
            case 0:
                return ticket;
            case 1:
                return apf_ticket{{random_.next(), random_.next()}};
            case 2:
                if (!stale_.empty()) {
                    return stale_[random_.below(stale_.size())];
                }
                return ticket;
            case 3:
                if (!from.tickets.empty()) {
                    ticket = from.tickets[random_.below(from.tickets.size())].ticket;
                    ticket.bits[random_.below(2)] ^= std::uint64_t{1} << random_.below(64);
                }
                return ticket;
            default:
                if (!from.tickets.empty()) {
                    ticket = from.tickets[random_.below(from.tickets.size())].ticket;
                }
                return ticket;
        }
    }

    apf_str any_text(const char* usual) {
        switch (random_.below(40)) {
            case 0:
                return apf_str_new(nullptr, 5);
            case 1:
                return apf_str_new(usual, SIZE_MAX - random_.below(3));
            case 2:
                return apf_str_of(invalid_);
            case 3:
                return apf_str_of(nullptr);
            default:
                return apf_str_of(usual);
        }
    }

    std::size_t any_size(std::size_t right) {
        const std::size_t wrong[] = {0, 1, 7, right - 1, right + 1, right + 8, right * 2, SIZE_MAX, SIZE_MAX / 2};
        return random_.one_in(10) ? random_.of(wrong) : right;
    }

    std::uint64_t any_seats() {
        const std::uint64_t wrong[] = {0, std::uint64_t{1} << 63, static_cast<std::uint64_t>(-1), 4194304, 1u << 31};
        return random_.one_in(10) ? random_.of(wrong) : 1 + random_.below(3);
    }

    apf_request any_request() {
        static const apf_str groups[] = {apf_str_of("a"), apf_str_of("b"), apf_str_of("c"),
                                         apf_str_of("d"), apf_str_of("e"), {nullptr, 3}};
        static const char* const users[] = {"alice", "bob", "carol", "d\xc3\xa4ve"};
        apf_request request = apf_request_init();
        request.size = any_size(sizeof request);
        request.user = any_text(random_.of(users));
        request.verb = any_text("get");
        switch (random_.below(6)) {
            case 0:
                break;
            case 1:
                request.url = any_text("/api/v1/namespaces/dev/pods?watch=1");
                break;
            case 2:
                request.url = any_text("no path at all");
                break;
            case 3:
                request.resource = any_text("pods");
                request.object_namespace = any_text("dev");
                break;
            default:
                request.path = any_text("/work");
        }
        if (random_.one_in(20)) {
            request.path = any_text("/second");
        }
        if (random_.one_in(3)) {
            const std::size_t counts[] = {1, 2, 4, 5, 6, SIZE_MAX, SIZE_MAX / 16};
            request.groups = random_.one_in(10) ? nullptr : groups;
            request.group_count = random_.one_in(4) ? random_.of(counts) : 3;
        }
        request.initial_seats = any_seats();
        if (random_.one_in(10)) {
            request.final_seats = any_seats();
            request.additional_latency_ns = random_.one_in(4) ? random_.next() | (std::uint64_t{1} << 63) : 1000000;
        }
        request.wait_limit_ns = random_.one_in(4) ? random_.next() >> random_.below(64) : APF_NO_LIMIT;
        return request;
    }

    apf_classified_request any_classified() {
        const std::uint32_t levels[] = {0, 99, UINT32_MAX, acted_->level};
        apf_classified_request request =
            apf_classified_request_init(random_.one_in(6) ? random_.of(levels) : acted_->level, random_.next());
        request.size = any_size(sizeof request);
        request.initial_seats = any_seats();
        return request;
    }

    apf_completions* any_queue() {
        switch (random_.below(8)) {
            case 0:
                return nullptr;
            case 1:
                return (acted_ == &sides_[0] ? sides_[1] : sides_[0]).queue;
            case 2:
            case 3:
                return acted_->called;
            default:
                return acted_->queue;
        }
    }

    void submitted(const apf_outcome& outcome) {
        if (outcome.kind != APF_OUTCOME_REJECTED) {
            // No ticket is given out twice.
            CHECK(acted_->find(outcome.ticket) == acted_->tickets.end());
            CHECK(std::none_of(stale_.begin(), stale_.end(), [&](const apf_ticket& old) {
                return old.bits[0] == outcome.ticket.bits[0] && old.bits[1] == outcome.ticket.bits[1];
            }));
        }
        switch (outcome.kind) {
            case APF_OUTCOME_ADMITTED:
                acted_->tickets.push_back({outcome.ticket, phase::running});
                break;
            case APF_OUTCOME_QUEUED:
                acted_->tickets.push_back({outcome.ticket, phase::waiting});
                break;
            default:
                CHECK(outcome.kind == APF_OUTCOME_REJECTED && outcome.retry_after_seconds >= 1);
                CHECK(outcome.ticket.bits[0] == 0 && outcome.ticket.bits[1] == 0);
        }
    }

    void submit() {
        const apf_request request = any_request();
        const apf_classified_request classified = any_classified();
        apf_outcome outcome{};
        apf_outcome* place = random_.one_in(20) ? nullptr : &outcome;
        const bool null = random_.one_in(20);
        const apf_engine* on = engine();
        apf_completions* queue = any_queue();
        const apf_status status =
            random_.one_in(2)
                ? apf_submit(on, null ? nullptr : &request, queue, random_.next(), place)
                : apf_submit_classified(on, null ? nullptr : &classified, queue, random_.next(), place);
        if (on == nullptr || place == nullptr) {
            CHECK(status == APF_ERROR_NULL_ARGUMENT);
        }
        if (status == APF_OK) {
            submitted(outcome);
        } else {
            CHECK(outcome.kind == APF_OUTCOME_NONE);
        }
        answered(status);
    }

    void submit_batch() {
        std::array<apf_request, 5> requests;
        std::array<apf_classified_request, 5> classified;
        std::array<apf_outcome, 5> outcomes{};
        std::array<std::uint64_t, 5> user_data{};
        std::generate(requests.begin(), requests.end(), [this] { return any_request(); });
        std::generate(classified.begin(), classified.end(), [this] { return any_classified(); });
        std::size_t done = 77;
        std::size_t* place = random_.one_in(10) ? nullptr : &done;
        const std::uint64_t* data = random_.one_in(2) ? nullptr : user_data.data();
        apf_outcome* into = random_.one_in(10) ? nullptr : outcomes.data();
        const std::size_t count = random_.one_in(10) ? SIZE_MAX / (1 + random_.below(4)) : random_.below(6);
        const apf_engine* on = engine();
        apf_completions* queue = any_queue();
        const apf_status status =
            random_.one_in(2) ? apf_submit_batch(on, requests.data(), count, queue, data, into, place)
                              : apf_submit_classified_batch(on, classified.data(), count, queue, data, into, place);
        CHECK(place == nullptr ? status == APF_ERROR_NULL_ARGUMENT : done <= 5);
        CHECK(status != APF_OK || done == count);
        if (place != nullptr) {
            for (std::size_t index = 0; index < done; ++index) {
                submitted(outcomes[index]);
            }
        }
        answered(status, place != nullptr && done > 0);
    }

    // What finish, finish_early and cancel are to answer for this ticket, in their order.
    std::array<apf_status, 3> expected(side& on, apf_ticket ticket) {
        const auto found = on.find(ticket);
        if (found != on.tickets.end()) {
            switch (found->at) {
                case phase::running:
                    return {APF_OK, APF_OK, APF_ERROR_ALREADY_ADMITTED};
                case phase::released:
                    return {APF_OK, APF_ERROR_ALREADY_RELEASED, APF_ERROR_ALREADY_ADMITTED};
                case phase::waiting:
                    return {APF_ERROR_NOT_ADMITTED, APF_ERROR_NOT_ADMITTED, APF_OK};
            }
        }
        apf_status one = APF_ERROR_STALE_TICKET;
        if (ticket.bits[0] == 0 && ticket.bits[1] == 0) {
            one = APF_ERROR_NULL_TICKET;
        } else if (on.find(ticket) == on.tickets.end() && of_another(on, ticket)) {
            one = APF_ERROR_FOREIGN_TICKET;
        }
        return {one, one, one};
    }

    // Tickets have their engine's number in the upper half of the first word.
    bool of_another(side& on, apf_ticket ticket) {
        return ticket.bits[0] >> 32 != number_of(on);
    }
    std::uint64_t number_of(side& on) {
        std::uint64_t& number = numbers_[&on == &sides_[0] ? 0 : 1];
        if (number == 0) {
            apf_outcome outcome{};
            const apf_classified_request request = apf_classified_request_init(on.level, 1);
            if (!on.tickets.empty()) {
                number = on.tickets.front().ticket.bits[0] >> 32;
            } else if (apf_submit_classified(on.engine, &request, nullptr, 0, &outcome) == APF_OK &&
                       outcome.kind == APF_OUTCOME_ADMITTED) {
                number = outcome.ticket.bits[0] >> 32;
                CHECK(apf_finish(on.engine, outcome.ticket) == APF_OK);
                before_[&on == &sides_[0] ? 0 : 1] = totals(on.engine);
            }
        }
        return number;
    }

    void end_one() {
        const apf_ticket ticket = any_ticket();
        const std::size_t what = random_.below(3);
        const apf_engine* on = engine();
        const apf_status expect =
            on == nullptr ? APF_ERROR_NULL_ARGUMENT : expected(*acted_, ticket)[what];
        const apf_status status = what == 0   ? apf_finish(on, ticket)
                                  : what == 1 ? apf_finish_early(on, ticket)
                                              : apf_cancel(on, ticket);
        if (status != expect) {
            std::fprintf(stderr, "call %llu, function %zu: %s, not %s\n", static_cast<unsigned long long>(calls_), what,
                         std::string(apf::failure(status).name()).c_str(),
                         std::string(apf::failure(expect).name()).c_str());
        }
        CHECK(status == expect);
        if (status == APF_OK) {
            ended(*acted_, ticket, what == 1);
        }
        answered(status);
    }

    void ended(side& on, apf_ticket ticket, bool early) {
        const auto found = on.find(ticket);
        CHECK(found != on.tickets.end());
        if (early) {
            found->at = phase::released;
        } else {
            on.tickets.erase(found);
            stale(ticket);
        }
    }

    void finish_batch() {
        std::array<apf_ticket, 4> tickets;
        std::generate(tickets.begin(), tickets.end(), [this] { return any_ticket(); });
        std::size_t done = 77;
        std::size_t* place = random_.one_in(10) ? nullptr : &done;
        const std::size_t count = random_.one_in(10) ? SIZE_MAX / (1 + random_.below(4)) : random_.below(5);
        const apf_engine* on = engine();
        const apf_status status = apf_finish_batch(on, random_.one_in(10) ? nullptr : tickets.data(), count, place);
        CHECK(place == nullptr ? status == APF_ERROR_NULL_ARGUMENT : done <= 4);
        CHECK(status != APF_OK || done == count);
        if (place != nullptr) {
            for (std::size_t index = 0; index < done; ++index) {
                learn(*acted_);
                ended(*acted_, tickets[index], false);
            }
        }
        answered(status, place != nullptr && done > 0);
    }

    void take(bool wait) {
        std::array<apf_completion, 4> completions{};
        apf_completion* into = random_.one_in(10) ? nullptr : completions.data();
        std::size_t count = 77;
        std::size_t* place = random_.one_in(10) ? nullptr : &count;
        const std::size_t capacity = random_.one_in(10) ? SIZE_MAX : random_.below(5);
        apf_completions* queue = random_.one_in(8) ? nullptr : random_.one_in(8) ? acted_->called : acted_->queue;
        const apf_status status = wait ? apf_completions_wait(queue, 0, into, capacity, place)
                                       : apf_completions_poll(queue, into, capacity, place);
        if (status == APF_OK) {
            CHECK(count <= capacity && count <= completions.size());
            for (std::size_t index = 0; index < count; ++index) {
                const apf_completion& one = completions[index];
                const auto found = acted_->find(one.outcome.ticket);
                CHECK(one.status == APF_OK && found != acted_->tickets.end() && found->at == phase::waiting);
                if (one.outcome.kind == APF_OUTCOME_ADMITTED) {
                    found->at = phase::running;
                } else {
                    CHECK(one.outcome.reason == APF_REASON_TIME_OUT);
                    ended(*acted_, one.outcome.ticket, false);
                }
            }
        }
        answered(status);
    }

    void set_time() {
        const std::uint64_t times[] = {0, acted_->now, acted_->now + 1000000, acted_->now + 3000000000};
        const std::uint64_t to = random_.of(times);
        const apf_engine* on = engine();
        const apf_status status = apf_engine_set_time(on, to);
        CHECK(status == (on == nullptr ? APF_ERROR_NULL_ARGUMENT : APF_OK));
        if (status == APF_OK) {
            acted_->now = std::max(acted_->now, to);
            std::uint64_t now = 0, due = 0;
            CHECK(apf_engine_now(on, &now) == APF_OK && now == acted_->now);
            CHECK(apf_engine_next_timer(on, &due) == APF_OK && due > 0);
        }
        answered(status);
    }

    void configure() {
        static const char* const broken[] = {"kind: FlowSchema\napiVersion: flowcontrol.apiserver.k8s.io/v1\nmetadata: {name: x}\n", "{", "a: [\n", "\x01", "- - - -"};
        static const std::string good = only_level(3);
        apf_configuration objects = apf_configuration_init();
        objects.size = any_size(sizeof objects);
        const bool right = random_.one_in(2);
        objects.text = right ? any_text(good.c_str()) : any_text(random_.of(broken));
        objects.builtin = random_.one_in(10) ? static_cast<std::int32_t>(random_.next()) : APF_BUILTIN_MANDATORY;
        objects.strictness = random_.one_in(10) ? static_cast<std::int32_t>(random_.next()) : APF_STRICTNESS_STRICT;
        if (right && objects.text.len == 0) {
            objects.text = apf_str_of(good.c_str());  // without the level the model would know nothing
        }
        if (random_.one_in(10)) {
            objects.path = apf_str_of("/no/such/folder");
        }
        apf_problems* problems = nullptr;
        apf_problems** place = random_.one_in(4) ? nullptr : &problems;
        apf_status status;
        if (random_.one_in(3)) {
            apf_engine_options options = apf_engine_options_init();
            options.size = any_size(sizeof options);
            options.configuration = &objects;
            const std::int64_t seats[] = {0, -1, INT64_MAX, INT64_MIN, std::int64_t{1} << 31, 10};
            options.seats = random_.of(seats);
            options.clock = random_.one_in(10) ? static_cast<std::int32_t>(random_.next()) : APF_CLOCK_MANUAL;
            options.mode = random_.one_in(10) ? static_cast<std::int32_t>(random_.next()) : APF_MODE_EXACT;
            options.hash = random_.one_in(10) ? static_cast<std::int32_t>(random_.next()) : APF_HASH_SHA256;
            apf_engine* made = nullptr;
            status = apf_engine_new(&options, random_.one_in(10) ? nullptr : &made, place);
            CHECK((status == APF_OK) == (made != nullptr));
            CHECK(apf_engine_free(made) == APF_OK);
        } else {
            const apf_engine* on = right ? engine() : nullptr;
            if (!right && random_.one_in(2) && objects.text.len != 0) {
                on = acted_->engine;
                objects.strictness = APF_STRICTNESS_STRICT;
            }
            status = apf_engine_reconfigure(on, &objects, place);
            if (status == APF_OK) {
                CHECK(apf_level_find(acted_->engine, apf_str_of("only"), &acted_->level) == APF_OK);
            }
        }
        read_problems(problems);
        answered(status);
    }

    void read_problems(apf_problems* problems) {
        std::size_t count = 0;
        const apf_status counted = apf_problems_count(problems, &count);
        CHECK(counted == (problems == nullptr ? APF_ERROR_NULL_ARGUMENT : APF_OK));
        for (std::size_t index = 0; index < count; ++index) {
            apf_problem problem = apf_problem_init();
            CHECK(apf_problems_get(problems, index, &problem) == APF_OK && problem.text.len > 0);
        }
        apf_problem problem = apf_problem_init();
        problem.size = any_size(sizeof problem);
        CHECK(apf_problems_get(problems, count + random_.below(3), &problem) != APF_OK);
        CHECK(apf_problems_get(problems, 0, nullptr) != APF_OK);
        CHECK(apf_problems_count(problems, nullptr) != APF_OK);
        CHECK(apf_problems_free(problems) == APF_OK);
    }

    void read_numbers() {
        apf_stats* stats = nullptr;
        const apf_engine* on = engine();
        const apf_status status = apf_stats_new(on, random_.one_in(10) ? nullptr : &stats);
        CHECK((status == APF_OK) == (stats != nullptr));
        std::size_t levels = 0, schemas = 0;
        CHECK((apf_stats_counts(stats, &levels, random_.one_in(2) ? nullptr : &schemas) == APF_OK) == (stats != nullptr));
        apf_level_stats level = apf_level_stats_init();
        apf_schema_stats schema = apf_schema_stats_init();
        level.size = any_size(sizeof level);
        schema.size = any_size(sizeof schema);
        const std::size_t index = random_.one_in(2) ? random_.below(4) : SIZE_MAX - random_.below(2);
        const apf_status read = apf_stats_level(stats, index, random_.one_in(10) ? nullptr : &level);
        CHECK(read != APF_OK || (level.size == sizeof level && index < levels));
        const apf_status other = apf_stats_schema(stats, index, random_.one_in(10) ? nullptr : &schema);
        CHECK(other != APF_OK || schema.size == sizeof schema);
        double fraction = 0;
        CHECK((apf_stats_fair_fraction(stats, &fraction) == APF_OK) == (stats != nullptr));
        CHECK(apf_stats_fair_fraction(stats, nullptr) == APF_ERROR_NULL_ARGUMENT);
        CHECK(apf_stats_free(stats) == APF_OK);
        answered(status);
    }

    void read_texts() {
        std::array<char, 256> buffer;
        buffer.fill('x');
        std::size_t size = 0;
        char* into = random_.one_in(4) ? nullptr : buffer.data();
        const std::size_t capacity = into == nullptr && random_.one_in(2) ? 0 : random_.below(buffer.size() + 1);
        std::size_t* place = random_.one_in(10) ? nullptr : &size;
        const std::int32_t table = random_.one_in(3) ? static_cast<std::int32_t>(random_.next())
                                                     : static_cast<std::int32_t>(random_.below(6));
        const apf_engine* on = engine();
        const apf_status status = random_.one_in(4) ? apf_prometheus(on, into, capacity, place)
                                                    : apf_dump(on, table, into, capacity, place);
        CHECK(status != APF_OK || (place != nullptr && size <= capacity));
        if (status != APF_OK) {
            CHECK(std::all_of(buffer.begin(), buffer.end(), [](char one) { return one == 'x'; }));
        }
        answered(status);
    }

    void look_up() {
        std::uint32_t level = 7;
        std::uint64_t number = 7;
        int descriptor = -1;
        apf_status status = APF_OK;
        const apf_engine* on = engine();
        switch (random_.below(8)) {
            case 0:
                status = apf_level_find(on, any_text(random_.one_in(2) ? "only" : "none"), random_.one_in(4) ? nullptr : &level);
                CHECK((status == APF_OK) == (level != 7) || level == acted_->level);
                break;
            case 1:
                status = apf_flow_hash(on, any_text("all"), any_text("alice"), random_.one_in(4) ? nullptr : &number);
                break;
            case 2:
                status = apf_engine_now(on, random_.one_in(2) ? nullptr : &number);
                break;
            case 3:
                status = apf_engine_next_timer(on, random_.one_in(2) ? nullptr : &number);
                break;
            case 4: {
                apf_completions* queue = random_.one_in(3) ? nullptr : random_.one_in(2) ? acted_->called : acted_->queue;
                status = apf_completions_fd(queue, random_.one_in(3) ? nullptr : &descriptor);
                CHECK((status == APF_OK) == (descriptor >= 0));
                break;
            }
            case 5:
                status = apf_completions_wake(random_.one_in(2) ? nullptr : acted_->called);
                CHECK(status != APF_OK);
                break;
            case 6: {
                apf_completions* made = nullptr;
                status = random_.one_in(2)
                             ? apf_completions_new(on, random_.one_in(3) ? nullptr : &made)
                             : apf_completions_new_callback(on, random_.one_in(3) ? nullptr : &count_completion, nullptr,
                                                            random_.one_in(3) ? nullptr : &made);
                CHECK((status == APF_OK) == (made != nullptr));
                CHECK(apf_completions_free(made) == APF_OK);
                break;
            }
            default: {
                const auto any = static_cast<std::int32_t>(random_.next());
                CHECK(apf_status_name(any).len > 0 && apf_status_text(any).len > 0);
                CHECK(apf_reason_name(any).len == 0 || (any >= 0 && any <= 4));
                CHECK(apf_engine_free(nullptr) == APF_OK && apf_completions_free(nullptr) == APF_OK);
                CHECK(apf_stats_free(nullptr) == APF_OK && apf_problems_free(nullptr) == APF_OK);
            }
        }
        answered(status);
    }

    // Never one that would have to wait: with a manual clock that would be for good.
    void admit() {
        apf_request request = any_request();
        request.wait_limit_ns = 0;
        apf_outcome outcome{};
        const apf_engine* on = engine();
        const apf_status status = apf_admit(on, random_.one_in(10) ? nullptr : &request, 0,
                                            random_.one_in(10) ? nullptr : &outcome);
        if (status == APF_OK) {
            submitted(outcome);
        }
        answered(status);
    }

    void step() {
        switch (random_.below(64)) {
            case 0:
                configure();
                break;
            case 1:
            case 2:
                set_time();
                break;
            case 3:
            case 4:
                read_numbers();
                break;
            case 5:
            case 6:
                read_texts();
                break;
            case 7:
            case 8:
            case 9:
                look_up();
                break;
            case 10:
            case 11:
                take(random_.one_in(4));
                break;
            case 12:
            case 13:
                submit_batch();
                break;
            case 14:
            case 15:
                finish_batch();
                break;
            case 16:
                admit();
                break;
            default:
                random_.one_in(3) ? submit() : end_one();
        }
    }

    // Ends everything that is left; then nothing is held, and every request is accounted for.
    void end(side& own) {
        CHECK(apf_completions_free(own.queue) == APF_OK);
        CHECK(apf_completions_free(own.called) == APF_OK);
        learn(own);  // seats that one queue gave back went to requests of the other
        for (const live& one : own.tickets) {
            const apf_status status = apf_finish(own.engine, one.ticket);
            CHECK(one.at == phase::waiting ? status == APF_ERROR_STALE_TICKET : status == APF_OK);
        }
        CHECK(apf_engine_set_time(own.engine, own.now + 100000000000) == APF_OK);
        apf_stats* raw = nullptr;
        CHECK(apf_stats_new(own.engine, &raw) == APF_OK);
        const apf::stats stats(raw);
        for (std::size_t index = 0; index < stats.levels(); ++index) {
            const apf_level_stats level = stats.level(index).value();
            CHECK(level.requests_executing == 0 && level.requests_waiting == 0 && level.seats_in_use == 0);
        }
        for (std::size_t index = 0; index < stats.schemas(); ++index) {
            const apf_schema_stats schema = stats.schema(index).value();
            CHECK(schema.arrived == schema.dispatched + schema.rejected_queue_full + schema.rejected_concurrency_limit +
                                        schema.timed_out + schema.cancelled);
        }
        CHECK(apf_engine_free(own.engine) == APF_OK);
    }

    random_numbers random_;
    std::array<side, 2> sides_;
    std::vector<totals> before_;
    std::vector<apf_ticket> stale_;
    std::map<apf_status, std::uint64_t> answers_;
    std::array<std::uint64_t, 2> numbers_{};
    side* acted_ = nullptr;
    const char* invalid_ = nullptr;
    std::uint64_t calls_ = 0, refused_ = 0;
};

}  // namespace

int main(int count, char** arguments) {
    const std::uint64_t calls = count > 1 ? std::strtoull(arguments[1], nullptr, 10) : 20000;
    const std::uint64_t seed = count > 2 ? std::strtoull(arguments[2], nullptr, 10) : 1;
    driver one(seed);
    one.run(calls);
    one.report();
}
