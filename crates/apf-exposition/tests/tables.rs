//! The debug dumps have the layout of kube-apiserver's, checked against published ones.

#![allow(clippy::unwrap_used, reason = "tests")]

use apf_core::{Arrival, Level, Mode, Queuing, TakeAll, WorkEstimate};
use apf_exposition::tables::{self as dump, Described, DumpLevel};

fn header(text: &str) -> Vec<String> {
    text.lines().next().unwrap().split(',').map(|cell| cell.trim().to_owned()).collect()
}

fn level() -> Level {
    let queuing = Queuing::Queue { queues: 2, hand_size: 1, queue_length_limit: 10 };
    Level::new(Mode::Exact, queuing, 3, 0).unwrap()
}

fn arrive(level: &mut Level, now: u64, seats: u64, final_seats: u64, latency: u64, token: u64) {
    let work = WorkEstimate { initial_seats: seats, final_seats, additional_latency: latency };
    level.arrive(now, Arrival { flow_hash: 1, work, token }, &mut TakeAll).unwrap();
}

/// One request of three seats executes, two wait: (1, 0, 0) and (1, 3, 5 ms).
fn busy() -> Level {
    let mut level = level();
    arrive(&mut level, 0, 3, 0, 0, 0);
    arrive(&mut level, 40, 1, 0, 0, 1);
    arrive(&mut level, 1_000_000_000, 1, 3, 5_000_000, 2);
    level
}

fn described(_: &str, token: u64) -> Described {
    let name = ["first", "second", "third"][token as usize];
    Described {
        schema: "service-accounts".into(),
        distinguisher: "system:serviceaccount:default:loadtest".into(),
        user: "system:serviceaccount:default:loadtest".into(),
        verb: "list".into(),
        path: "/api/v1/namespaces/kube-stress/configmaps".into(),
        namespace: "kube-stress".into(),
        name: name.into(),
        api_version: "v1".into(),
        resource: "configmaps".into(),
        subresource: String::new(),
    }
}

fn one<'a>(level: &'a Level, name: &'a str) -> [DumpLevel<'a>; 1] {
    [DumpLevel { name, quiescing: false, level }]
}

#[test]
fn headers_are_those_of_published_dumps() {
    let level = level();
    let origin = jiff::Timestamp::UNIX_EPOCH;
    for (ours, published) in [
        (dump::priority_levels(one(&level, "a")), include_str!("data/dump_priority_levels-2023.csv")),
        (dump::queues(one(&level, "a")), include_str!("data/dump_queues-2023.csv")),
        (
            dump::requests(one(&level, "a"), origin, false, &described),
            include_str!("data/dump_requests-2023.csv"),
        ),
        (
            dump::requests(one(&level, "a"), origin, true, &described),
            include_str!("data/dump_requests-details-2023.csv"),
        ),
    ] {
        assert_eq!(header(&ours), header(published));
    }
}

#[test]
fn an_idle_level_has_no_row_for_a_request_that_is_not_there() {
    let level = level();
    let dump = dump::requests(one(&level, "a"), jiff::Timestamp::UNIX_EPOCH, false, &described);
    assert_eq!(dump.lines().count(), 1, "{dump}");
}

#[test]
fn levels_are_sorted_and_aligned() {
    let (a, b) = (level(), busy());
    let levels = [
        DumpLevel { name: "workload-high", quiescing: true, level: &b },
        DumpLevel { name: "exempt", quiescing: false, level: &a },
    ];
    assert_eq!(
        dump::priority_levels(levels),
        "\
PriorityLevelName, ActiveQueues, IsIdle, IsQuiescing, WaitingRequests, ExecutingRequests, DispatchedRequests, RejectedRequests, TimedoutRequests, CancelledRequests
exempt,            0,            true,   false,       0,               0,                 0,                  0,                0,                0
workload-high,     1,            false,  true,        2,               1,                 1,                  0,                0,                0
"
    );
}

#[test]
fn queues_show_what_waits_in_seats_and_work() {
    let level = busy();
    // In queue 1: 0.003 + 0.003 + 3 x 0.005 seat-seconds wait, and 3 x 0.003 are charged for what executes.
    assert_eq!(
        dump::queues(one(&level, "workload-low")),
        "\
PriorityLevelName, Index,  PendingRequests, ExecutingRequests, SeatsInUse, NextDispatchR, InitialSeatsSum, MaxSeatsSum, TotalWorkSum
workload-low,      0,      0,               0,                 0,          0.00000000ss,  0,               0,           0.00000000ss
workload-low,      1,      2,               1,                 3,          0.00900000ss,  2,               4,           0.02100000ss
"
    );
}

#[test]
fn requests_show_wall_clock_times_without_trailing_zeros() {
    let level = busy();
    let origin: jiff::Timestamp = "2023-07-15T04:51:25.5Z".parse().unwrap();
    assert_eq!(
        dump::requests(one(&level, "workload-low"), origin, false, &described),
        "\
PriorityLevelName, FlowSchemaName,   QueueIndex, RequestIndexInQueue, FlowDistingsher,                        ArriveTime,                    InitialSeats, FinalSeats, AdditionalLatency, StartTime
workload-low,      service-accounts, 1,          0,                   system:serviceaccount:default:loadtest, 2023-07-15T04:51:25.50000004Z, 1,            0,          0s,                0001-01-01T00:00:00Z
workload-low,      service-accounts, 1,          1,                   system:serviceaccount:default:loadtest, 2023-07-15T04:51:26.5Z,        1,            3,          5ms,               0001-01-01T00:00:00Z
workload-low,      service-accounts, 1,          -1,                  system:serviceaccount:default:loadtest, 2023-07-15T04:51:25.5Z,        3,            0,          0s,                2023-07-15T04:51:25.5Z
"
    );
    let details = dump::requests(one(&level, "workload-low"), origin, true, &described);
    assert!(details.lines().nth(1).unwrap().ends_with(
        "system:serviceaccount:default:loadtest, list,   /api/v1/namespaces/kube-stress/configmaps, kube-stress, second, v1,         configmaps, "
    ), "{details}");
}
