/* apf.hpp: the C interface of apf.h as C++17 values.
 *
 * The types own what the functions of apf.h hand out and give it back when they go; they decide nothing themselves.
 * What a call means, how long it takes and which errors it has is said in apf.h, beside the function of the same name.
 *
 * Life times. An engine outlives its queues, permits, waiting requests, and every name that an outcome shows. Each of
 * them is moved, not copied. A moved-from one is empty: its calls answer APF_ERROR_NULL_ARGUMENT.
 *
 * Threads. An engine and a queue may be used by any number of threads at once. A permit, a waiting request and a
 * request are values: one thread at a time.
 *
 * Exceptions. Calls answer by result<T>. Only result::value() throws, and what allocates: std::bad_alloc, before
 * anything has been taken from the engine. Without exceptions value() ends the process where it would throw.
 */

#ifndef APF_HPP
#define APF_HPP

#include <apf.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#if APF_ABI_VERSION != 1
#error "this apf.hpp belongs to an apf.h with APF_ABI_VERSION 1"
#endif

namespace apf {
inline namespace v1 {

/* The text of an apf_str, which keeps belonging to whom it did. */
inline std::string_view view(apf_str text) noexcept {
    return text.len == 0 ? std::string_view() : std::string_view(text.data, text.len);
}

/* A text for a call. */
inline apf_str text(std::string_view from) noexcept { return apf_str_new(from.data(), from.size()); }

/* Whether the library that is linked has the binary interface of this header. */
inline bool compatible() noexcept { return apf_abi_version() == APF_ABI_VERSION; }

/* Why a call did nothing. */
class failure {
public:
    constexpr explicit failure(apf_status status) noexcept : status_(status) {}

    constexpr apf_status status() const noexcept { return status_; }

    /* Its name in the table of errors: `stale-ticket`. */
    std::string_view name() const noexcept { return view(apf_status_name(status_)); }

    /* A sentence for people. */
    std::string_view what() const noexcept { return view(apf_status_text(status_)); }

    friend constexpr bool operator==(failure left, failure right) noexcept { return left.status_ == right.status_; }
    friend constexpr bool operator!=(failure left, failure right) noexcept { return left.status_ != right.status_; }

private:
    apf_status status_;
};

/* What result::value() throws when there is none. */
class bad_result : public std::runtime_error {
public:
    explicit bad_result(failure why) : std::runtime_error(std::string(why.what())), why_(why) {}

    failure error() const noexcept { return why_; }

private:
    failure why_;
};

namespace detail {

[[noreturn]] inline void no_value(failure why) {
#if defined(__cpp_exceptions)
    throw bad_result(why);
#else
    (void)why;
    std::abort();
#endif
}

struct deleter {
    /* A callback in the engine's own thread is waited for: the only way to be refused. */
    void operator()(apf_engine* engine) const noexcept {
        while (apf_engine_free(engine) == APF_ERROR_BUSY) {
            std::this_thread::yield();
        }
    }
    void operator()(apf_completions* queue) const noexcept {
        while (apf_completions_free(queue) == APF_ERROR_BUSY) {
            std::this_thread::yield();
        }
    }
    void operator()(apf_problems* problems) const noexcept { apf_problems_free(problems); }
    void operator()(apf_stats* stats) const noexcept { apf_stats_free(stats); }
};

template <class T>
using owned = std::unique_ptr<T, deleter>;

inline std::uint64_t nanoseconds(std::chrono::nanoseconds time) noexcept {
    return time.count() < 0 ? 0 : static_cast<std::uint64_t>(time.count());
}

}  // namespace detail

/* A value, or why there is none: as std::expected<T, failure>, of which it has the members that are needed here. */
template <class T>
class [[nodiscard]] result {
public:
    result(T value) noexcept(std::is_nothrow_move_constructible_v<T>) : either_(std::move(value)) {}
    result(failure why) noexcept : either_(why) {}

    bool has_value() const noexcept { return either_.index() == 0; }
    explicit operator bool() const noexcept { return has_value(); }

    /* The value; throws bad_result when there is none. */
    T& value() & { return here(), *std::get_if<0>(&either_); }
    const T& value() const& { return here(), *std::get_if<0>(&either_); }
    T&& value() && { return here(), std::move(*std::get_if<0>(&either_)); }

    /* The value. There must be one. */
    T& operator*() & noexcept { return *std::get_if<0>(&either_); }
    const T& operator*() const& noexcept { return *std::get_if<0>(&either_); }
    T&& operator*() && noexcept { return std::move(*std::get_if<0>(&either_)); }
    T* operator->() noexcept { return std::get_if<0>(&either_); }
    const T* operator->() const noexcept { return std::get_if<0>(&either_); }

    /* Why there is none. There must be none. */
    failure error() const noexcept { return *std::get_if<1>(&either_); }

private:
    void here() const {
        if (!has_value()) {
            detail::no_value(error());
        }
    }

    std::variant<T, failure> either_;
};

/* That a call succeeded, or why it did not. */
template <>
class [[nodiscard]] result<void> {
public:
    result() noexcept : why_(APF_OK) {}
    result(failure why) noexcept : why_(why) {}
    explicit result(apf_status status) noexcept : why_(status) {}

    bool has_value() const noexcept { return why_.status() == APF_OK; }
    explicit operator bool() const noexcept { return has_value(); }

    /* Throws bad_result when it did not succeed. */
    void value() const {
        if (!has_value()) {
            detail::no_value(why_);
        }
    }

    failure error() const noexcept { return why_; }

private:
    failure why_;
};

/* What was found wrong with a configuration. */
class problems {
public:
    problems() noexcept = default;
    explicit problems(apf_problems* found) noexcept : found_(found) {}

    std::size_t size() const noexcept {
        std::size_t count = 0;
        if (found_) {
            apf_problems_count(found_.get(), &count);
        }
        return count;
    }

    bool empty() const noexcept { return size() == 0; }

    /* One of them, all empty when there is none of that number. Its texts belong to this object. */
    apf_problem operator[](std::size_t index) const noexcept {
        apf_problem problem = apf_problem_init();
        apf_problems_get(found_.get(), index, &problem);
        return problem;
    }

private:
    detail::owned<apf_problems> found_;
};

/* A request. The texts are not copied: they must live until the call that it is passed to returns. */
class request {
public:
    request() noexcept : raw_(apf_request_init()) {}

    static request resource(std::string_view verb, std::string_view resource) noexcept {
        request made;
        made.raw_.verb = text(verb);
        made.raw_.resource = text(resource);
        return made;
    }
    static request path(std::string_view verb, std::string_view path) noexcept {
        request made;
        made.raw_.verb = text(verb);
        made.raw_.path = text(path);
        return made;
    }
    static request url(std::string_view method, std::string_view url) noexcept {
        request made;
        made.raw_.verb = text(method);
        made.raw_.url = text(url);
        return made;
    }

    /* Who asks. The list of groups is copied, which allocates; their texts are not. */
    request& by(std::string_view user, std::initializer_list<std::string_view> groups = {}) & {
        return by(user, groups.begin(), groups.end());
    }
    request&& by(std::string_view user, std::initializer_list<std::string_view> groups = {}) && {
        return std::move(by(user, groups.begin(), groups.end()));
    }
    template <class Iterator>
    request& by(std::string_view user, Iterator first, Iterator last) {
        groups_.clear();
        for (; first != last; ++first) {
            groups_.push_back(text(*first));
        }
        raw_.user = text(user);
        return *this;
    }

    request& in_namespace(std::string_view name) & noexcept { return raw_.object_namespace = text(name), *this; }
    request&& in_namespace(std::string_view name) && noexcept { return std::move(in_namespace(name)); }
    request& in_group(std::string_view group) & noexcept { return raw_.api_group = text(group), *this; }
    request&& in_group(std::string_view group) && noexcept { return std::move(in_group(group)); }

    /* Seats while it executes, and seats that are held for a while after its end. */
    request& with_seats(std::uint64_t initial, std::uint64_t final = 0,
                        std::chrono::nanoseconds latency = std::chrono::nanoseconds(0)) & noexcept {
        raw_.initial_seats = initial;
        raw_.final_seats = final;
        raw_.additional_latency_ns = detail::nanoseconds(latency);
        return *this;
    }
    request&& with_seats(std::uint64_t initial, std::uint64_t final = 0,
                         std::chrono::nanoseconds latency = std::chrono::nanoseconds(0)) && noexcept {
        return std::move(with_seats(initial, final, latency));
    }
    request& with_wait_limit(std::chrono::nanoseconds limit) & noexcept {
        return raw_.wait_limit_ns = detail::nanoseconds(limit), *this;
    }
    request&& with_wait_limit(std::chrono::nanoseconds limit) && noexcept { return std::move(with_wait_limit(limit)); }

    /* For the fields that have no function here. */
    apf_request& fields() noexcept { return raw_; }

    /* As the C interface has it, for as long as this object is there and is not changed. */
    apf_request raw() const noexcept {
        apf_request raw = raw_;
        if (!groups_.empty()) {
            raw.groups = groups_.data();
            raw.group_count = groups_.size();
        }
        return raw;
    }

private:
    apf_request raw_;
    std::vector<apf_str> groups_;
};

/* A request that runs. When it goes, the request ends and its seats come back. */
class [[nodiscard]] permit {
public:
    permit() noexcept = default;
    /* Takes over an admitted outcome of the C interface. */
    permit(const apf_engine* engine, const apf_outcome& admitted) noexcept : engine_(engine), outcome_(admitted) {}
    permit(permit&& from) noexcept : engine_(std::exchange(from.engine_, nullptr)), outcome_(from.outcome_) {}
    permit& operator=(permit&& from) noexcept {
        permit moved(std::move(from));
        std::swap(engine_, moved.engine_);
        std::swap(outcome_, moved.outcome_);
        return *this;
    }
    ~permit() {
        if (engine_ != nullptr) {
            apf_finish(engine_, outcome_.ticket);
        }
    }

    explicit operator bool() const noexcept { return engine_ != nullptr; }
    std::string_view level() const noexcept { return view(outcome_.level); }
    std::string_view flow_schema() const noexcept { return view(outcome_.flow_schema); }
    std::uint64_t seats() const noexcept { return outcome_.seats; }
    apf_ticket ticket() const noexcept { return outcome_.ticket; }

    /* Ends the request now. */
    result<void> finish() noexcept {
        return result<void>(apf_finish(std::exchange(engine_, nullptr), outcome_.ticket));
    }
    /* Gives its seats back although it goes on. */
    result<void> finish_early() noexcept { return result<void>(apf_finish_early(engine_, outcome_.ticket)); }

    /* Leaves the request to whoever finishes its ticket. */
    apf_ticket release() noexcept { return engine_ = nullptr, outcome_.ticket; }

private:
    const apf_engine* engine_ = nullptr;
    apf_outcome outcome_{};
};

/* A request in a queue. When it goes, the request is cancelled, unless its completion has been taken: then the permit
 * in that completion has it, and this object has no effect any more. */
class [[nodiscard]] waiting {
public:
    waiting() noexcept = default;
    /* Takes over a queued outcome of the C interface. */
    waiting(const apf_engine* engine, apf_ticket ticket) noexcept : engine_(engine), ticket_(ticket) {}
    waiting(waiting&& from) noexcept : engine_(std::exchange(from.engine_, nullptr)), ticket_(from.ticket_) {}
    waiting& operator=(waiting&& from) noexcept {
        waiting moved(std::move(from));
        std::swap(engine_, moved.engine_);
        std::swap(ticket_, moved.ticket_);
        return *this;
    }
    ~waiting() {
        if (engine_ != nullptr) {
            apf_cancel(engine_, ticket_);
        }
    }

    explicit operator bool() const noexcept { return engine_ != nullptr; }
    apf_ticket ticket() const noexcept { return ticket_; }

    /* Gives its place up now. */
    result<void> cancel() noexcept { return result<void>(apf_cancel(std::exchange(engine_, nullptr), ticket_)); }

    /* Leaves it to its completion. */
    apf_ticket release() noexcept { return engine_ = nullptr, ticket_; }

private:
    const apf_engine* engine_ = nullptr;
    apf_ticket ticket_{};
};

/* That a request is refused: answer 429 with Retry-After. */
struct rejection {
    apf_reason reason;
    std::chrono::seconds retry_after;
    std::string_view level;
    std::string_view flow_schema;

    std::string_view reason_name() const noexcept { return view(apf_reason_name(reason)); }
};

/* What became of a request that was submitted. */
using outcome = std::variant<permit, waiting, rejection>;

/* What became of a request that was waited for. */
using decision = std::variant<permit, rejection>;

namespace detail {

inline rejection rejected(const apf_outcome& raw) noexcept {
    return rejection{static_cast<apf_reason>(raw.reason), std::chrono::seconds(raw.retry_after_seconds),
                     view(raw.level), view(raw.flow_schema)};
}

inline outcome submitted(const apf_engine* engine, const apf_outcome& raw) noexcept {
    switch (raw.kind) {
        case APF_OUTCOME_ADMITTED:
            return permit(engine, raw);
        case APF_OUTCOME_QUEUED:
            return waiting(engine, raw.ticket);
        default:
            return rejected(raw);
    }
}

}  // namespace detail

/* The decision on a request that was queued: a permit, a rejection, or why the request ended without either. */
struct completion {
    std::uint64_t user_data;
    std::chrono::nanoseconds waited;
    std::variant<permit, rejection, failure> decision;

    completion(const apf_engine* engine, const apf_completion& raw) noexcept
        : user_data(raw.user_data),
          waited(static_cast<std::chrono::nanoseconds::rep>(raw.waited_ns)),
          decision(failure(static_cast<apf_status>(raw.status))) {
        if (raw.status != APF_OK) {
            return;
        }
        if (raw.outcome.kind == APF_OUTCOME_ADMITTED) {
            decision.emplace<permit>(engine, raw.outcome);
        } else {
            decision = detail::rejected(raw.outcome);
        }
    }
};

/* The numbers of an engine at one moment. The names in them belong to this object. */
class stats {
public:
    explicit stats(apf_stats* raw) noexcept : raw_(raw) {}

    std::size_t levels() const noexcept { return counts().first; }
    std::size_t schemas() const noexcept { return counts().second; }

    result<apf_level_stats> level(std::size_t index) const noexcept {
        apf_level_stats numbers = apf_level_stats_init();
        const apf_status status = apf_stats_level(raw_.get(), index, &numbers);
        return status == APF_OK ? result<apf_level_stats>(numbers) : failure(status);
    }
    result<apf_schema_stats> schema(std::size_t index) const noexcept {
        apf_schema_stats numbers = apf_schema_stats_init();
        const apf_status status = apf_stats_schema(raw_.get(), index, &numbers);
        return status == APF_OK ? result<apf_schema_stats>(numbers) : failure(status);
    }

private:
    std::pair<std::size_t, std::size_t> counts() const noexcept {
        std::pair<std::size_t, std::size_t> counts(0, 0);
        apf_stats_counts(raw_.get(), &counts.first, &counts.second);
        return counts;
    }

    detail::owned<apf_stats> raw_;
};

/* An engine. It must not go while one of its callbacks is running in the same thread. */
class engine {
public:
    /* A new engine. `found`: where the problems with its configuration go, also when the call fails. */
    static result<engine> make(const apf_engine_options& options = apf_engine_options_init(),
                               problems* found = nullptr) noexcept {
        apf_engine* made = nullptr;
        apf_problems* wrong = nullptr;
        const apf_status status = apf_engine_new(&options, &made, &wrong);
        hand_out(wrong, found);
        return status == APF_OK ? result<engine>(engine(made)) : failure(status);
    }

    /* Replaces the configuration while requests are in flight. */
    result<void> reconfigure(const apf_configuration& configuration, problems* found = nullptr) const noexcept {
        apf_problems* wrong = nullptr;
        const apf_status status = apf_engine_reconfigure(get(), &configuration, &wrong);
        hand_out(wrong, found);
        return result<void>(status);
    }

    /* Waits for the decision; blocks. Without `limit` for as long as the level allows. */
    result<decision> admit(const request& asked,
                           std::optional<std::chrono::nanoseconds> limit = std::nullopt) const noexcept {
        const apf_request raw = asked.raw();
        const std::uint64_t timeout = limit ? detail::nanoseconds(*limit) : APF_NO_LIMIT;
        apf_outcome became{};
        const apf_status status = apf_admit(get(), &raw, timeout, &became);
        if (status != APF_OK) {
            return failure(status);
        }
        if (became.kind == APF_OUTCOME_ADMITTED) {
            return decision(permit(get(), became));
        }
        return decision(detail::rejected(became));
    }

    /* Does not block. Without a queue the request never waits: it is rejected instead. */
    result<outcome> submit(const request& asked) const noexcept {
        const apf_request raw = asked.raw();
        return submit_to(raw, nullptr, 0);
    }
    /* `queue`: a completions or a callback_completions of this engine. */
    template <class Queue>
    result<outcome> submit(const request& asked, const Queue& queue, std::uint64_t user_data = 0) const noexcept {
        const apf_request raw = asked.raw();
        return submit_to(raw, queue.get(), user_data);
    }

    /* The same for a request that the host has classified. */
    result<outcome> submit(const apf_classified_request& asked) const noexcept {
        return submit_to(asked, nullptr, 0);
    }
    template <class Queue>
    result<outcome> submit(const apf_classified_request& asked, const Queue& queue,
                           std::uint64_t user_data = 0) const noexcept {
        return submit_to(asked, queue.get(), user_data);
    }

    /* The number of a level, for classified requests. */
    result<std::uint32_t> find_level(std::string_view name) const noexcept {
        std::uint32_t level = 0;
        const apf_status status = apf_level_find(get(), text(name), &level);
        return status == APF_OK ? result<std::uint32_t>(level) : failure(status);
    }
    /* The hash of a flow, for classified requests. */
    result<std::uint64_t> flow_hash(std::string_view flow_schema, std::string_view distinguisher) const noexcept {
        std::uint64_t hash = 0;
        const apf_status status = apf_flow_hash(get(), text(flow_schema), text(distinguisher), &hash);
        return status == APF_OK ? result<std::uint64_t>(hash) : failure(status);
    }

    result<std::chrono::nanoseconds> now() const noexcept { return time_of(apf_engine_now); }
    result<std::chrono::nanoseconds> next_timer() const noexcept { return time_of(apf_engine_next_timer); }
    /* Moves a manual clock on, and does what is due on the way. */
    result<void> set_time(std::chrono::nanoseconds now) const noexcept {
        return result<void>(apf_engine_set_time(get(), detail::nanoseconds(now)));
    }

    result<apf::stats> stats() const noexcept {
        apf_stats* raw = nullptr;
        const apf_status status = apf_stats_new(get(), &raw);
        return status == APF_OK ? result<apf::stats>(apf::stats(raw)) : failure(status);
    }
    /* Metrics in the text format of Prometheus. */
    result<std::string> prometheus() const {
        return text_of([this](char* buffer, std::size_t capacity, std::size_t* size) noexcept {
            return apf_prometheus(get(), buffer, capacity, size);
        });
    }
    /* One of the debug dumps. */
    result<std::string> dump(apf_table table) const {
        return text_of([this, table](char* buffer, std::size_t capacity, std::size_t* size) noexcept {
            return apf_dump(get(), table, buffer, capacity, size);
        });
    }

    /* For calls of apf.h: its batches, and tickets that were released. */
    const apf_engine* get() const noexcept { return raw_.get(); }

private:
    explicit engine(apf_engine* raw) noexcept : raw_(raw) {}

    static void hand_out(apf_problems* wrong, problems* found) noexcept {
        problems all(wrong);
        if (found != nullptr) {
            *found = std::move(all);
        }
    }

    result<outcome> submit_to(const apf_request& raw, apf_completions* queue, std::uint64_t user_data) const noexcept {
        apf_outcome became{};
        const apf_status status = apf_submit(get(), &raw, queue, user_data, &became);
        return status == APF_OK ? result<outcome>(detail::submitted(get(), became)) : failure(status);
    }
    result<outcome> submit_to(const apf_classified_request& raw, apf_completions* queue,
                              std::uint64_t user_data) const noexcept {
        apf_outcome became{};
        const apf_status status = apf_submit_classified(get(), &raw, queue, user_data, &became);
        return status == APF_OK ? result<outcome>(detail::submitted(get(), became)) : failure(status);
    }

    template <class F>
    result<std::chrono::nanoseconds> time_of(F read) const noexcept {
        std::uint64_t time = 0;
        const apf_status status = read(get(), &time);
        if (status != APF_OK) {
            return failure(status);
        }
        return std::chrono::nanoseconds(static_cast<std::chrono::nanoseconds::rep>(time));
    }

    /* Asks for the size until the text fits: it may grow between two calls. */
    template <class F>
    static result<std::string> text_of(F read) {
        std::string buffer;
        for (;;) {
            std::size_t size = 0;
            const apf_status status = read(buffer.data(), buffer.size(), &size);
            if (status == APF_OK) {
                buffer.resize(size);
                return buffer;
            }
            if (status != APF_ERROR_BUFFER_TOO_SMALL) {
                return failure(status);
            }
            buffer.resize(size + size / 8);
        }
    }

    detail::owned<apf_engine> raw_;
};

/* Where the decisions on queued requests arrive. */
class completions {
public:
    /* How many completions one call takes at most. */
    static constexpr std::size_t batch = 64;

    static result<completions> make(const engine& of) noexcept {
        apf_completions* made = nullptr;
        const apf_status status = apf_completions_new(of.get(), &made);
        return status == APF_OK ? result<completions>(completions(of.get(), made)) : failure(status);
    }

    /* Replaces the contents of `into` by what has come, at most `batch`; answers how many. Does not wait. */
    result<std::size_t> poll(std::vector<completion>& into) const {
        return take(into, [this](apf_completion* raw, std::size_t* count) noexcept {
            return apf_completions_poll(get(), raw, batch, count);
        });
    }
    /* As poll(), but waits while there is none; 0 when the time is up or wake() was called. Without `limit` for good. */
    result<std::size_t> wait(std::vector<completion>& into,
                             std::optional<std::chrono::nanoseconds> limit = std::nullopt) const {
        const std::uint64_t timeout = limit ? detail::nanoseconds(*limit) : APF_NO_LIMIT;
        return take(into, [this, timeout](apf_completion* raw, std::size_t* count) noexcept {
            return apf_completions_wait(get(), timeout, raw, batch, count);
        });
    }
    /* Has one thread that waits come back. */
    result<void> wake() const noexcept { return result<void>(apf_completions_wake(get())); }
    /* The descriptor to watch. It belongs to the queue. */
    result<int> fd() const noexcept {
        int descriptor = -1;
        const apf_status status = apf_completions_fd(get(), &descriptor);
        return status == APF_OK ? result<int>(descriptor) : failure(status);
    }

    apf_completions* get() const noexcept { return raw_.get(); }

private:
    completions(const apf_engine* engine, apf_completions* raw) noexcept : engine_(engine), raw_(raw) {}

    template <class F>
    result<std::size_t> take(std::vector<completion>& into, F read) const {
        into.clear();
        into.reserve(batch); /* before anything is taken: from there on nothing throws */
        std::array<apf_completion, batch> raw;
        std::size_t count = 0;
        const apf_status status = read(raw.data(), &count);
        if (status != APF_OK) {
            return failure(status);
        }
        for (std::size_t index = 0; index < count; ++index) {
            into.emplace_back(engine_, raw[index]);
        }
        return count;
    }

    const apf_engine* engine_;
    detail::owned<apf_completions> raw_;
};

/* Hands the decisions on queued requests to `F`, called with a completion that it may move from. What is said of
 * apf_completion_callback holds: any thread, one call at a time, no lock held. An exception that leaves `F` ends the process. */
template <class F>
class callback_completions {
public:
    static result<callback_completions> make(const engine& of, F call) {
        auto context = std::make_unique<state>(state{of.get(), std::move(call)});
        apf_completions* made = nullptr;
        const apf_status status = apf_completions_new_callback(of.get(), &run, context.get(), &made);
        if (status != APF_OK) {
            return failure(status);
        }
        return callback_completions(std::move(context), made);
    }

    apf_completions* get() const noexcept { return raw_.get(); }

private:
    struct state {
        const apf_engine* engine;
        F call;
    };

    callback_completions(std::unique_ptr<state> context, apf_completions* raw) noexcept
        : context_(std::move(context)), raw_(raw) {}

    static void run(void* context, const apf_completion* raw) noexcept {
        state& own = *static_cast<state*>(context);
        own.call(completion(own.engine, *raw));
    }

    std::unique_ptr<state> context_; /* outlives the queue */
    detail::owned<apf_completions> raw_;
};

}  // namespace v1
}  // namespace apf

#endif /* APF_HPP */
