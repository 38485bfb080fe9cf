//! The three debug dumps of kube-apiserver, byte for byte in its layout, of levels that the caller has.

use apf_core::{Level, RequestState, RequestView};
use jiff::{SignedDuration, Timestamp};

use crate::{duration, tabstops};

/// A level as the dumps see it.
#[derive(Debug, Clone, Copy)]
pub struct DumpLevel<'a> {
    /// Its name.
    pub name: &'a str,
    /// Whether it only waits to become idle.
    pub quiescing: bool,
    /// Its state machine.
    pub level: &'a Level,
}

/// What the host knows of a request and its level does not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Described {
    /// Its schema.
    pub schema: String,
    /// Its flow distinguisher.
    pub distinguisher: String,
    /// User name.
    pub user: String,
    /// Verb.
    pub verb: String,
    /// URL path without query.
    pub path: String,
    /// Namespace.
    pub namespace: String,
    /// Name of the object.
    pub name: String,
    /// `group/version`, or `version` for the core group.
    pub api_version: String,
    /// Resource.
    pub resource: String,
    /// Subresource.
    pub subresource: String,
}

/// `dump_priority_levels`: one row a level, sorted by name.
pub fn priority_levels<'a>(levels: impl IntoIterator<Item = DumpLevel<'a>>) -> String {
    let header = [
        "PriorityLevelName",
        "ActiveQueues",
        "IsIdle",
        "IsQuiescing",
        "WaitingRequests",
        "ExecutingRequests",
        "DispatchedRequests",
        "RejectedRequests",
        "TimedoutRequests",
        "CancelledRequests",
    ];
    let mut rows = vec![header.map(str::to_owned)];
    for DumpLevel { name, quiescing, level } in sorted(levels) {
        let counters = level.counters();
        rows.push([
            name.to_owned(),
            level.queues().filter(|queue| queue.waiting > 0).count().to_string(),
            level.is_idle().to_string(),
            quiescing.to_string(),
            level.requests_waiting().to_string(),
            level.requests_executing().to_string(),
            counters.dispatched.to_string(),
            counters.rejected(level.mode()).to_string(),
            counters.timed_out.to_string(),
            counters.cancelled.to_string(),
        ]);
    }
    tabstops::rows(&rows)
}

/// `dump_queues`: one row a queue, levels sorted by name.
pub fn queues<'a>(levels: impl IntoIterator<Item = DumpLevel<'a>>) -> String {
    let header = [
        "PriorityLevelName",
        "Index",
        "PendingRequests",
        "ExecutingRequests",
        "SeatsInUse",
        "NextDispatchR",
        "InitialSeatsSum",
        "MaxSeatsSum",
        "TotalWorkSum",
    ];
    let mut rows = vec![header.map(str::to_owned)];
    for DumpLevel { name, level, .. } in sorted(levels) {
        rows.extend(level.queues().map(|queue| {
            [
                name.to_owned(),
                queue.index.to_string(),
                queue.waiting.to_string(),
                queue.executing.to_string(),
                queue.seats_in_use.to_string(),
                queue.next_dispatch_r.to_string(),
                queue.initial_seats_sum.to_string(),
                queue.max_seats_sum.to_string(),
                queue.total_work_sum.to_string(),
            ]
        }));
    }
    tabstops::rows(&rows)
}

/// The columns every request has; the fifth word is spelled like that in every version.
const REQUEST_HEADER: [&str; 10] = [
    "PriorityLevelName",
    "FlowSchemaName",
    "QueueIndex",
    "RequestIndexInQueue",
    "FlowDistingsher",
    "ArriveTime",
    "InitialSeats",
    "FinalSeats",
    "AdditionalLatency",
    "StartTime",
];

/// The columns that `includeRequestDetails` adds.
const DETAIL_HEADER: [&str; 8] =
    ["UserName", "Verb", "APIPath", "Namespace", "Name", "APIVersion", "Resource", "SubResource"];

/// `dump_requests`: one row a request that waits or executes. `origin` is the wall-clock time of time 0; `describe` gives what the
/// host knows of the request with a token in the level with a name.
pub fn requests<'a>(
    levels: impl IntoIterator<Item = DumpLevel<'a>>,
    origin: Timestamp,
    details: bool,
    describe: &dyn Fn(&str, u64) -> Described,
) -> String {
    let rows: Vec<([String; 10], Described)> = sorted(levels)
        .into_iter()
        .flat_map(|DumpLevel { name, level, .. }| {
            level_requests(level).map(move |(index, request)| {
                let described = describe(name, request.token);
                let row = [
                    name.to_owned(),
                    described.schema.clone(),
                    request.queue.map_or("-1".to_owned(), |queue| queue.to_string()),
                    index.map_or("-1".to_owned(), |index| index.to_string()),
                    described.distinguisher.clone(),
                    wall_clock(origin, Some(request.arrival)),
                    request.work.initial_seats.to_string(),
                    request.work.final_seats.to_string(),
                    duration::text(i64::try_from(request.work.additional_latency).unwrap_or(i64::MAX)),
                    wall_clock(origin, request.start),
                ];
                (row, described)
            })
        })
        .collect();
    if !details {
        let header = std::iter::once(REQUEST_HEADER.map(str::to_owned));
        return tabstops::rows(&header.chain(rows.into_iter().map(|(row, _)| row)).collect::<Vec<_>>());
    }
    let detailed = rows.into_iter().map(|(row, of)| {
        joined(
            row,
            [of.user, of.verb, of.path, of.namespace, of.name, of.api_version, of.resource, of.subresource],
        )
    });
    let header = joined(REQUEST_HEADER.map(str::to_owned), DETAIL_HEADER.map(str::to_owned));
    tabstops::rows(&std::iter::once(header).chain(detailed).collect::<Vec<_>>())
}

fn joined(row: [String; 10], details: [String; 8]) -> [String; 18] {
    let mut cells = row.into_iter().chain(details);
    std::array::from_fn(|_| cells.next().unwrap_or_default())
}

/// The requests of a level in the order of the dump, each with its place in its queue if it waits: per queue the waiting ones,
/// then its executing ones; at the end those that needed no queue.
fn level_requests(level: &Level) -> impl Iterator<Item = (Option<usize>, RequestView)> {
    let mut executing: Vec<RequestView> =
        level.requests().filter(|request| request.state == RequestState::Executing).collect();
    executing.sort_by_key(|request| {
        (request.queue.is_none(), request.queue, request.start, request.arrival, request.token)
    });
    let mut ordered = Vec::new();
    let mut executing = executing.into_iter().peekable();
    for queue in level.queues() {
        ordered.extend(level.waiting(queue.index).enumerate().map(|(index, request)| (Some(index), request)));
        while let Some(request) = executing.next_if(|request| request.queue == Some(queue.index)) {
            ordered.push((None, request));
        }
    }
    ordered.extend(executing.map(|request| (None, request)));
    ordered.into_iter()
}

/// RFC 3339 in UTC without trailing zeros; Go's zero time where there is none.
fn wall_clock(origin: Timestamp, since: Option<u64>) -> String {
    let Some(since) = since else { return "0001-01-01T00:00:00Z".to_owned() };
    let since = SignedDuration::from_nanos(i64::try_from(since).unwrap_or(i64::MAX));
    origin.checked_add(since).unwrap_or(Timestamp::MAX).to_string()
}

fn sorted<'a>(levels: impl IntoIterator<Item = DumpLevel<'a>>) -> Vec<DumpLevel<'a>> {
    let mut levels: Vec<DumpLevel<'a>> = levels.into_iter().collect();
    levels.sort_by_key(|level| level.name);
    levels
}
