//! What is kept of each request agrees with what the report says of all.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::path::Path;

use apf_config::request_info::RequestInfo;
use apf_core::{Mode, WorkEstimate};
use apf_sim::configuration::{BuiltIn, Configuration};
use apf_sim::recording::{Fate, NEVER, Recording};
use apf_sim::report::{Report, Traffic};
use apf_sim::scenario::{RunOptions, Scenario};
use apf_sim::trace::{Arrival, Kind, Options};
use apf_sim::{audit, replay, trace};

const MIXED: &str = "
seats: 12
duration: 30s
wait_limit: 1s
clients:
- name: wide
  user: alice
  groups: [system:authenticated]
  request: {verb: list, resource: pods, namespace: dev}
  closed: {threads: 6, think: 5ms, backoff: 20ms}
  exec: {exponential: 50ms}
  seats: 2
  final_seats: 3
  additional_latency: 7ms
- name: leaver
  user: bob
  groups: [system:authenticated]
  request: {verb: get, resource: pods, namespace: dev}
  open: {rate: 60}
  exec: {exponential: 90ms}
  cancel_after: {uniform: [1ms, 200ms]}
- name: stranger
  user: nobody
  request: {verb: get, resource: pods}
  open: {rate: 40, arrivals: bursts, burst: 10}
  exec: 30ms
";

fn server(text: &str) -> (Report, Recording) {
    let Scenario::Server(scenario) = Scenario::parse(text, "mixed", Path::new("")).unwrap() else {
        panic!("it is a server's")
    };
    let recorded = scenario.run_recorded(&RunOptions::default(), &mut |_| {}).unwrap();
    let plain = scenario.run(&RunOptions::default(), &mut (), &mut |_| {}).unwrap();
    assert_eq!(recorded.0, plain, "to keep requests changes nothing");
    recorded
}

fn agrees(traffic: &Traffic, recording: &Recording, of: impl Fn(usize) -> bool) {
    let those: Vec<usize> = (0..recording.len()).filter(|request| of(*request)).collect();
    let with = |fate: Fate| those.iter().filter(|at| recording.fate[**at] == fate as u8).count() as u64;
    assert_eq!(those.len() as u64, traffic.requests);
    assert_eq!(with(Fate::QueueFull), traffic.rejected_queue_full);
    assert_eq!(with(Fate::ConcurrencyLimit), traffic.rejected_concurrency_limit);
    assert_eq!(with(Fate::TimeOut), traffic.rejected_time_out);
    assert_eq!(with(Fate::Cancelled), traffic.rejected_cancelled);
    let longest = those.iter().map(|at| match (recording.start[*at], recording.end[*at]) {
        (NEVER, NEVER) => 0,
        (NEVER, end) => end - recording.arrival[*at],
        (start, _) => start - recording.arrival[*at],
    });
    assert_eq!(longest.max().unwrap_or(0) as f64 / 1e9, traffic.wait_max_s);
}

#[test]
fn the_columns_of_a_scenario_add_up_to_its_report() {
    let (report, recording) = server(MIXED);
    assert!(report.clients.iter().all(|client| client.traffic.requests > 100), "{report:?}");
    for (index, row) in report.clients.iter().enumerate() {
        assert_eq!(recording.clients[index], row.client);
        agrees(&row.traffic, &recording, |at| recording.client[at] == index as u32);
    }
    for row in &report.levels {
        let level = recording.levels.iter().position(|name| *name == row.level).unwrap() as u32;
        agrees(&row.traffic, &recording, |at| recording.level[at] == level);
        // Seats over time, from the columns alone.
        let (mut held, end) = (0, 30_000_000_000);
        for at in (0..recording.len()).filter(|at| recording.level[*at] == level) {
            if recording.start[at] != NEVER {
                let until = if recording.end[at] == NEVER { end } else { recording.end[at] };
                held += i128::from(recording.seats[at]) * i128::from(until - recording.start[at]);
            }
        }
        assert!((held as f64 / end as f64 - row.traffic.seats_avg).abs() < 1e-6, "{row:?}");
    }
    let rejected: u64 = report.levels.iter().map(|row| row.traffic.rejected()).sum();
    assert!(rejected > 100, "{report:?}");
}

#[test]
fn the_columns_of_a_replay_add_up_to_its_report() {
    let log = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/perfspec-arrivals-a.jsonl.gz");
    let log = audit::read(&[audit::Input::File(log, "log".into())], &mut |_| {}).unwrap();
    let configuration = Configuration::built_in(BuiltIn::Suggested);
    let options = replay::Options::new(20, Mode::Default);
    let (report, recording) = replay::run_recorded(&log, &configuration, &options, &mut |_| {}).unwrap();
    assert_eq!(report, replay::run(&log, &configuration, &options, &mut |_| {}).unwrap());
    assert_eq!(recording.len() as u64, report.replayed.requests);
    for row in &report.report.schemas {
        let schema = recording.schemas.iter().position(|name| *name == row.schema).unwrap() as u32;
        agrees(&row.traffic, &recording, |at| recording.schema[at] == schema);
    }
    for row in &report.report.clients {
        let client = recording.clients.iter().position(|name| *name == row.client).unwrap() as u32;
        agrees(&row.traffic, &recording, |at| recording.client[at] == client);
    }
}

fn kind(seats: u64, wait_limit: Option<u64>) -> Kind {
    Kind {
        client: "alice".into(),
        user: "alice".into(),
        groups: vec!["system:authenticated".into()],
        request: RequestInfo::new("GET", "/api/v1/namespaces/dev/pods").unwrap(),
        work: WorkEstimate::seats(seats),
        wait_limit,
    }
}

#[test]
fn requests_with_their_times_go_through_a_server_in_the_order_of_these() {
    const S: u64 = 1_000_000_000;
    let kinds = [kind(1, None), kind(1, Some(2 * S))];
    let at = |at, execution, cancel_after, kind| Arrival { at, execution, cancel_after, kind };
    let arrivals = [
        at(3 * S, 9 * S, None, 0),
        at(0, 5 * S, None, 0),        // the only seat until 5 s
        at(S, S, None, 1),            // gives up at 3 s: its own limit
        at(2 * S, S, Some(S / 2), 0), // its caller leaves at 2.5 s
    ];
    let objects = "
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: PriorityLevelConfiguration
metadata: {name: global-default}
spec:
  type: Limited
  limited:
    nominalConcurrencyShares: 1
    lendablePercent: 0
    borrowingLimitPercent: 0
    limitResponse: {type: Queue, queuing: {queues: 1, handSize: 1, queueLengthLimit: 9}}
";
    let own = apf_config::load_str("o", objects, apf_config::Strictness::Strict);
    assert!(!own.has_errors(), "{:?}", own.diagnostics);
    let configuration = Configuration::from_objects(BuiltIn::Suggested, &own.objects);
    let options = Options::new(1, Mode::Default);
    let (report, recording) = trace::run(&kinds, &arrivals, &configuration, &options, &mut |_| {}).unwrap();
    let s = |times: &[i64]| times.iter().map(|at| *at as f64 / 1e9).collect::<Vec<_>>();
    assert_eq!(s(&recording.arrival), [3.0, 0.0, 1.0, 2.0], "in the order given");
    assert_eq!(s(&recording.end), [14.0, 5.0, 3.0, 2.5]);
    assert_eq!(recording.start[0], 5_000_000_000);
    assert_eq!(
        recording.fate,
        [Fate::Served, Fate::Served, Fate::TimeOut, Fate::Cancelled].map(|fate| fate as u8)
    );
    assert_eq!((report.duration_s, report.clients[0].traffic.requests), (14.0, 3));

    let lost = [at(0, 1, None, 2)];
    let error = trace::run(&kinds, &lost, &configuration, &options, &mut |_| {}).unwrap_err();
    assert!(error.to_string().contains("kind 2 of 2"), "{error}");
}
