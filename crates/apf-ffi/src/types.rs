//! The structures of the C interface. Those with a `size` grow at their end; the others never change.

#![allow(non_camel_case_types, reason = "names of the C interface")]

use std::ffi::c_char;

/// Text: `len` bytes of UTF-8 from `data`, without a terminating zero. `data` may be NULL when `len` is 0.
///
/// Texts that are passed in are read during the call and not kept. For texts that are handed out, the function or
/// structure says for how long they live.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct apf_str {
    /// The first byte.
    pub data: *const c_char,
    /// The number of bytes.
    pub len: usize,
}

/// A request in the system: from its admission or its place in a queue until it is over.
///
/// A plain value: copy it, store it, send it to another thread. Every use is checked, so a ticket that is zero, used
/// up, made up or another engine's is an error code and changes nothing. All zeros is never a ticket.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct apf_ticket {
    /// Opaque; equal for the same request and for no other of the process.
    pub bits: [u64; 2],
}

/// What became of a request.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum apf_outcome_kind {
    /// Nothing yet: no function gives it.
    APF_OUTCOME_NONE = 0,
    /// It runs: serve it, then call apf_finish with its ticket.
    APF_OUTCOME_ADMITTED = 1,
    /// It waits: its completion will come, unless apf_cancel comes first.
    APF_OUTCOME_QUEUED = 2,
    /// It is refused and holds nothing: answer 429 with Retry-After. The ticket is zero.
    APF_OUTCOME_REJECTED = 3,
}

/// What became of a request. This structure never changes.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct apf_outcome {
    /// What became of it: an apf_outcome_kind.
    pub kind: i32,
    /// Why it was rejected: an apf_reason.
    pub reason: i32,
    /// For a rejected one: how long to stay away, the value of the header Retry-After, seconds, 1..=32.
    pub retry_after_seconds: u32,
    /// Always 0.
    pub reserved: u32,
    /// What to finish or to cancel it by; zero when it was rejected.
    pub ticket: apf_ticket,
    /// For an admitted one: the seats that it holds, the larger of its initial and final ones.
    pub seats: u64,
    /// Its priority level. Lives as long as the engine. Empty in a queued outcome: it comes with the completion.
    pub level: apf_str,
    /// Its FlowSchema. Lives as long as the engine. Empty in a queued outcome.
    pub flow_schema: apf_str,
}

/// The decision on a queued request. This structure never changes.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct apf_completion {
    /// What was passed when it was submitted.
    pub user_data: u64,
    /// How long it waited, nanoseconds.
    pub waited_ns: u64,
    /// APF_OK. Otherwise an apf_status: the request ended without a decision, holds nothing and is over.
    pub status: i32,
    /// Always 0.
    pub reserved: i32,
    /// Admitted or rejected. Its ticket is the one the request was queued under; of a rejected one it is over already.
    pub outcome: apf_outcome,
}

/// A request, described by what it asks for: exactly one of `resource`, `path` and `url` is set, the others are empty.
/// Fill it by apf_request_init() first.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct apf_request {
    /// sizeof(apf_request).
    pub size: usize,
    /// User name, after authentication and impersonation.
    pub user: apf_str,
    /// The user's groups: `group_count` of them. May be NULL when that is 0.
    pub groups: *const apf_str,
    /// How many groups.
    pub group_count: usize,
    /// For a resource the verb of the API (`list`, `deletecollection`); for a path the HTTP method in lower case; for a
    /// url the HTTP method as sent (`GET`).
    pub verb: apf_str,
    /// The path and query of a Kubernetes API URL as sent, such as `/api/v1/namespaces/dev/pods?watch=1`: verb, resource,
    /// namespace and name are taken from it. This form allocates memory during the call.
    pub url: apf_str,
    /// The path of a URL that is no resource, decoded, without query: `/healthz`.
    pub path: apf_str,
    /// The resource, plural and lower case: `pods`.
    pub resource: apf_str,
    /// The subresource: `status`. May be empty.
    pub subresource: apf_str,
    /// The API group of the resource: empty for the core group.
    pub api_group: apf_str,
    /// The version of the API group; plays no part in classification, only in dumps.
    pub api_version: apf_str,
    /// The namespace of the object: empty for cluster-scoped resources and lists across namespaces.
    pub object_namespace: apf_str,
    /// The name of the object; plays no part in classification, only in dumps.
    pub object_name: apf_str,
    /// Seats while it executes, 1..=4194303. apf_request_init() sets 1.
    pub initial_seats: u64,
    /// Seats after it has finished, 0..=4194303, held for `additional_latency_ns`.
    pub final_seats: u64,
    /// How long the final seats are held after the end, nanoseconds, below 2^63.
    pub additional_latency_ns: u64,
    /// How long it may wait at most, nanoseconds; the limit of its level applies besides. apf_request_init() sets
    /// APF_NO_LIMIT.
    pub wait_limit_ns: u64,
}

/// A request that the host has classified by itself. Fill it by apf_classified_request_init() first.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct apf_classified_request {
    /// sizeof(apf_classified_request).
    pub size: usize,
    /// Its flow: requests of one flow share queues. Any number that is well mixed, such as apf_flow_hash() gives.
    pub flow_hash: u64,
    /// Its priority level, as apf_level_find() gives it.
    pub level: u32,
    /// Always 0.
    pub reserved: u32,
    /// Seats while it executes, 1..=4194303. The init function sets 1.
    pub initial_seats: u64,
    /// Seats after it has finished, 0..=4194303, held for `additional_latency_ns`.
    pub final_seats: u64,
    /// How long the final seats are held after the end, nanoseconds, below 2^63.
    pub additional_latency_ns: u64,
    /// How long it may wait at most, nanoseconds; the limit of its level applies besides. The init function sets
    /// APF_NO_LIMIT.
    pub wait_limit_ns: u64,
}

/// What unknown fields and fields written twice are in a configuration.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum apf_strictness {
    /// Errors, as `kubectl apply` treats them.
    APF_STRICTNESS_STRICT = 0,
    /// Warnings: an unknown field is dropped, of a field written twice the last counts.
    APF_STRICTNESS_LENIENT = 1,
}

/// Which built-in objects a configuration is completed with.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum apf_builtin {
    /// The mandatory and the suggested ones of kube-apiserver; own objects of the same kind and name replace them.
    APF_BUILTIN_ALL = 0,
    /// The mandatory ones that are missing.
    APF_BUILTIN_MANDATORY = 1,
}

/// FlowSchemas and PriorityLevelConfigurations: built-in ones, and own ones from a text, a file or a folder.
/// Fill it by apf_configuration_init() first: all zeros but the size is the built-in objects alone.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct apf_configuration {
    /// sizeof(apf_configuration).
    pub size: usize,
    /// A manifest, YAML (also of several documents) or JSON. May be empty.
    pub text: apf_str,
    /// What problems call the text; `configuration` when empty.
    pub text_name: apf_str,
    /// A file or a folder of manifests. May be empty, and may come besides the text.
    pub path: apf_str,
    /// An apf_strictness.
    pub strictness: i32,
    /// An apf_builtin.
    pub builtin: i32,
}

/// Whose decisions the engine reproduces.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum apf_mode {
    /// The documented behaviour.
    APF_MODE_DEFAULT = 0,
    /// kube-apiserver's to the letter, quirks included.
    APF_MODE_EXACT = 1,
}

/// How flows are hashed.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum apf_hash {
    /// The mode's: XXH3 by default, SHA-256 in exact mode.
    APF_HASH_OF_MODE = 0,
    /// XXH3-64.
    APF_HASH_XXH3 = 1,
    /// SHA-256: puts a flow into the same queues as kube-apiserver.
    APF_HASH_SHA256 = 2,
}

/// What time it is for an engine.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum apf_clock {
    /// The time stamp counter where the processor has an invariant one, else the operating system's monotonic clock.
    /// A thread of the engine's own serves its timers.
    APF_CLOCK_FASTEST = 0,
    /// The operating system's monotonic clock, and a thread as above.
    APF_CLOCK_MONOTONIC = 1,
    /// The host's: time stands still until apf_engine_set_time(), and that call serves the timers. There is no thread.
    APF_CLOCK_MANUAL = 2,
}

/// Settings of an engine. Fill it by apf_engine_options_init() first.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct apf_engine_options {
    /// sizeof(apf_engine_options).
    pub size: usize,
    /// Seats of the server, 1..=2147483647: how many requests of one seat it serves at a time. The init function sets 600.
    pub seats: i64,
    /// The configuration; NULL for the built-in objects.
    pub configuration: *const apf_configuration,
    /// How long a request may wait in a queue, nanoseconds. The init function sets 15 seconds.
    pub queue_wait_limit_ns: u64,
    /// An apf_mode.
    pub mode: i32,
    /// An apf_hash.
    pub hash: i32,
    /// An apf_clock.
    pub clock: i32,
    /// 1 to keep of each request what dumps of requests show, at the price of a lock and several allocations a
    /// request; else 0.
    pub keep_details: i32,
}

/// How much a problem matters.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum apf_severity {
    /// The object is used.
    APF_SEVERITY_WARNING = 1,
    /// The object, and with it the configuration, is refused.
    APF_SEVERITY_ERROR = 2,
}

/// Something that is wrong with a configuration. The texts live until apf_problems_free().
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct apf_problem {
    /// sizeof(apf_problem), set by the caller before the call.
    pub size: usize,
    /// An apf_severity.
    pub severity: i32,
    /// Line from 1; 0 when it has none.
    pub line: u32,
    /// Column in characters from 1; 0 when it has none.
    pub column: u32,
    /// Always 0.
    pub reserved: u32,
    /// The file, or the name of the text. May be empty.
    pub file: apf_str,
    /// `kind` of the object as written; empty when not known.
    pub kind: apf_str,
    /// `metadata.name` of the object; empty when not known.
    pub name: apf_str,
    /// Path of the field, such as `spec.rules[0].subjects`; empty when the whole object or file is meant.
    pub field: apf_str,
    /// The rule: `Required value`, `Invalid value`, `Unknown field`, `Syntax error`, ... as Kubernetes titles them.
    pub rule: apf_str,
    /// The offending value, where the rule shows one.
    pub value: apf_str,
    /// What the rule asks for. May be empty.
    pub detail: apf_str,
    /// All of it in one line, for people.
    pub text: apf_str,
}

/// Which of the debug dumps.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum apf_table {
    /// A row a priority level, by name (`dump_priority_levels`).
    APF_TABLE_PRIORITY_LEVELS = 1,
    /// A row a queue, by level (`dump_queues`).
    APF_TABLE_QUEUES = 2,
    /// A row a request that waits or executes, by level (`dump_requests`).
    APF_TABLE_REQUESTS = 3,
    /// The same with user, verb, path, namespace and so on (`includeRequestDetails`).
    APF_TABLE_REQUESTS_WITH_DETAILS = 4,
}

/// For a wait without a limit of its own.
pub const APF_NO_LIMIT: u64 = u64::MAX;

impl apf_str {
    pub(crate) const EMPTY: Self = Self { data: c"".as_ptr(), len: 0 };
}

impl apf_configuration {
    pub(crate) const EMPTY: Self = Self {
        size: size_of::<Self>(),
        text: apf_str::EMPTY,
        text_name: apf_str::EMPTY,
        path: apf_str::EMPTY,
        strictness: 0,
        builtin: 0,
    };
}

impl apf_engine_options {
    pub(crate) const DEFAULT: Self = Self {
        size: size_of::<Self>(),
        seats: 600,
        configuration: std::ptr::null(),
        queue_wait_limit_ns: 15_000_000_000,
        mode: 0,
        hash: 0,
        clock: 0,
        keep_details: 0,
    };
}

impl apf_classified_request {
    pub(crate) const DEFAULT: Self = Self {
        size: size_of::<Self>(),
        flow_hash: 0,
        level: 0,
        reserved: 0,
        initial_seats: 1,
        final_seats: 0,
        additional_latency_ns: 0,
        wait_limit_ns: APF_NO_LIMIT,
    };
}
