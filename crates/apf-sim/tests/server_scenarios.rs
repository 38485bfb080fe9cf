//! Whole-server scenarios: the cases that need clients, deadlines and changes over time.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::path::Path;

use apf_core::Mode;
use apf_sim::report::{Report, Traffic};
use apf_sim::scenario::{RunOptions, Scenario, ScenarioReport};

fn run_with(text: &str, options: RunOptions) -> Report {
    let scenario = Scenario::parse(text, "f.yaml", Path::new("")).unwrap_or_else(|error| panic!("{error}"));
    match scenario.run(&options, &mut |_| {}).unwrap() {
        ScenarioReport::Server(report) => *report,
        ScenarioReport::Fairness(_) => panic!("not a whole-server scenario"),
    }
}

fn run(text: &str) -> Report {
    run_with(text, RunOptions::default())
}

fn client<'a>(report: &'a Report, name: &str) -> &'a Traffic {
    &report.clients.iter().find(|row| row.client == name).unwrap().traffic
}

/// A level of its own for user `own`, and a level `other` for everybody else.
fn server(shares: u32, response: &str, rest: &str) -> String {
    format!(
        "
seats: 100
built_in: mandatory
objects: |
  apiVersion: flowcontrol.apiserver.k8s.io/v1
  kind: PriorityLevelConfiguration
  metadata: {{name: own}}
  spec:
    type: Limited
    limited:
      nominalConcurrencyShares: {shares}
      lendablePercent: 0
      borrowingLimitPercent: 0
      limitResponse: {response}
  ---
  apiVersion: flowcontrol.apiserver.k8s.io/v1
  kind: PriorityLevelConfiguration
  metadata: {{name: other}}
  spec:
    type: Limited
    limited: {{nominalConcurrencyShares: 94, limitResponse: {{type: Reject}}}}
  ---
  apiVersion: flowcontrol.apiserver.k8s.io/v1
  kind: FlowSchema
  metadata: {{name: own}}
  spec:
    priorityLevelConfiguration: {{name: own}}
    matchingPrecedence: 10
    rules:
    - subjects: [{{kind: User, user: {{name: own}}}}]
      resourceRules: [{{verbs: ['*'], apiGroups: ['*'], resources: ['*'], namespaces: ['*'], clusterScope: true}}]
  ---
  apiVersion: flowcontrol.apiserver.k8s.io/v1
  kind: FlowSchema
  metadata: {{name: other}}
  spec:
    priorityLevelConfiguration: {{name: other}}
    matchingPrecedence: 20
    rules:
    - subjects: [{{kind: User, user: {{name: '*'}}}}]
      resourceRules: [{{verbs: ['*'], apiGroups: ['*'], resources: ['*'], namespaces: ['*'], clusterScope: true}}]
{rest}
"
    )
}

const QUEUE_OF_2: &str = "{type: Queue, queuing: {queues: 1, handSize: 1, queueLengthLimit: 2}}";

fn one_call(name: &str, user: &str, start: &str, exec: &str, more: &str) -> String {
    format!(
        "- {{name: {name}, user: {user}, request: {{path: /api/v1/pods}}, closed: {{threads: 1, calls: 1}}, start: {start}, exec: {exec}{more}}}\n"
    )
}

/// Kubernetes issue 134196: a level with zero shares is documented as a jail.
#[test]
fn a_level_without_seats_runs_nothing_and_leaves_the_others_alone() {
    let rest = "
duration: 2000s
clients:
- {name: jailed, user: own, request: {path: /api/v1/pods}, closed: {threads: 1, calls: 100, backoff: 1ms}, exec: 1ms}
- {name: free, user: alice, request: {path: /api/v1/pods}, closed: {threads: 1, calls: 100}, exec: 1ms}
";
    let reject = run(&server(0, "{type: Reject}", rest));
    let jailed = client(&reject, "jailed");
    assert_eq!((jailed.requests, jailed.rejected_concurrency_limit, jailed.admitted_at_once), (100, 100, 0));
    assert_eq!(client(&reject, "free").admitted_at_once, 100);

    let queue = run(&server(0, QUEUE_OF_2, rest));
    let jailed = client(&queue, "jailed");
    assert_eq!((jailed.requests, jailed.rejected_time_out, jailed.seats_max), (100, 100, 0));
    assert_eq!((jailed.wait_p50_s, jailed.wait_max_s), (15.0, 15.0));
    assert_eq!(client(&queue, "free").admitted_at_once, 100);

    // The reference lets them through one at a time.
    let exact = RunOptions { mode: Some(Mode::Exact), ..RunOptions::default() };
    let reference = run_with(&server(0, "{type: Reject}", rest), exact);
    assert_eq!(client(&reference, "jailed").admitted_at_once, 100);
}

/// Kubernetes issues 119799 and 100634.
#[test]
fn each_waiter_leaves_at_its_own_deadline_and_its_place_is_free_at_once() {
    for mode in [Mode::Default, Mode::Exact] {
        let clients = format!(
            "duration: 60s\nclients:\n{}{}{}{}{}",
            one_call("busy", "own", "0s", "100s", ""),
            one_call("w1", "own", "1ms", "1s", ""),
            one_call("w2", "own", "1ms", "1s", ", deadline: 1s"),
            one_call("early", "own", "900ms", "1s", ""),
            one_call("w3", "own", "1101ms", "1s", ""),
        );
        let options = RunOptions { mode: Some(mode), ..RunOptions::default() };
        let report = run_with(&server(1, QUEUE_OF_2, &clients), options);
        for (name, wait) in [("w1", 15.0), ("w2", 1.0), ("w3", 15.0)] {
            let waiter = client(&report, name);
            assert_eq!((waiter.queued, waiter.rejected_time_out, waiter.wait_max_s), (1, 1, wait), "{name}");
        }
        assert_eq!(client(&report, "early").rejected_queue_full, 1, "before the place was free");
        assert_eq!(client(&report, "busy").unfinished, 1);
    }
}

#[test]
fn a_lone_waiter_times_out_without_help_from_other_traffic() {
    let clients = format!(
        "duration: 100s\nwait_limit: 20s\nclients:\n{}{}",
        one_call("busy", "own", "0s", "60s", ""),
        one_call("waiter", "own", "1s", "1s", "")
    );
    let report = run(&server(1, QUEUE_OF_2, &clients));
    let waiter = client(&report, "waiter");
    assert_eq!((waiter.rejected_time_out, waiter.wait_max_s), (1, 20.0));
}

#[test]
fn a_caller_that_leaves_is_told_apart_from_a_time_out_except_in_exact_mode() {
    let clients = format!(
        "duration: 100s\nclients:\n{}{}",
        one_call("busy", "own", "0s", "60s", ""),
        one_call("waiter", "own", "1s", "1s", ", cancel_after: 2s")
    );
    for (mode, expected) in [(Mode::Default, (0, 1)), (Mode::Exact, (1, 0))] {
        let options = RunOptions { mode: Some(mode), ..RunOptions::default() };
        let report = run_with(&server(1, QUEUE_OF_2, &clients), options);
        let waiter = client(&report, "waiter");
        assert_eq!((waiter.rejected_time_out, waiter.rejected_cancelled), expected);
        assert_eq!(waiter.wait_max_s, 2.0);
    }
}

#[test]
fn seats_held_after_the_end_count_and_are_handed_on_when_they_come_back() {
    let clients = format!(
        "duration: 10s\nclients:\n{}{}",
        one_call("first", "own", "0s", "1s", ", final_seats: 1, additional_latency: 2s"),
        one_call("second", "own", "500ms", "1s", "")
    );
    let report = run(&server(1, QUEUE_OF_2, &clients));
    let second = client(&report, "second");
    assert_eq!((second.queued, second.wait_max_s), (1, 2.5));
    let own = report.levels.iter().find(|row| row.level == "own").unwrap();
    assert_eq!((own.traffic.seats_max, own.traffic.seats_avg), (1, 0.4));
}

#[test]
fn a_level_that_is_deleted_drains_and_its_clients_go_elsewhere() {
    let text = server(
        1,
        "{type: Queue, queuing: {queues: 1, handSize: 1, queueLengthLimit: 9}}",
        "
duration: 20s
clients:
- {name: own, user: own, request: {verb: list, resource: pods}, open: {rate: 2, arrivals: uniform}, exec: 1s, stop: 10s}
changes:
- {at: 5200ms, delete: [PriorityLevelConfiguration/own]}
",
    );
    let report = run(&text);
    let own = client(&report, "own");
    assert_eq!((own.requests, own.rejected(), own.unfinished), (19, 0, 0), "{own:?}");
    let level = |name: &str| &report.levels.iter().find(|row| row.level == name).unwrap().traffic;
    assert_eq!((level("own").requests, level("other").requests), (10, 9));
    assert_eq!(level("own").seats_max, 1);
    let causes: Vec<&str> = report.adjustments.iter().map(|adjustment| adjustment.cause).collect();
    assert_eq!(
        causes.iter().filter(|cause| **cause == "configuration").count(),
        2,
        "deleted, and later gone"
    );
    assert!(
        report.adjustments.iter().any(|adjustment| adjustment.levels.iter().any(|level| level.quiescing))
    );
}

#[test]
fn days_without_a_request_are_skipped_but_no_adjustment_is_late() {
    let admin = "user: admin, groups: [system:masters], request: {path: /api/v1/pods}, exec: 1s";
    let report = run(&format!(
        "
seats: 600
duration: 144h
clients:
- {{name: first, {admin}, closed: {{threads: 1, calls: 1}}}}
- {{name: later, {admin}, closed: {{threads: 50, calls: 1}}, start: 432005s}}
"
    ));
    let exempt: Vec<(f64, u32)> = report
        .adjustments
        .iter()
        .map(|adjustment| {
            (adjustment.at_s, adjustment.levels.iter().find(|level| level.level == "exempt").unwrap().current)
        })
        .collect();
    assert_eq!(exempt, [(0.0, 0), (10.0, 1), (20.0, 0), (432_010.0, 50), (432_020.0, 0)]);
    assert!(report.levels.iter().all(|level| level.borrowed_avg.is_finite()));
}

const MIXED: &str = "
seats: 40
seed: 5
duration: 120s
clients:
- name: closed
  user: system:serviceaccount:a:closed
  groups: [system:serviceaccounts]
  request: {path: /api/v1/namespaces/a/pods}
  closed: {threads: 30, think: {exponential: 20ms}}
  exec: {lognormal: {median: 40ms, sigma: 0.8}}
- name: open
  user: alice
  groups: [system:authenticated]
  request: {method: POST, path: /api/v1/namespaces/b/configmaps}
  open: {rate: 50}
  exec: {uniform: [5ms, 50ms]}
  seats: 2
  final_seats: 3
  additional_latency: 5ms
  cancel_after: {exponential: 2s}
- name: bursts
  user: system:node:n1
  groups: [system:nodes]
  request: {verb: get, resource: secrets, namespace: b, name: s}
  open: {rate: 20, arrivals: bursts, burst: 40}
  exec: {exponential: 100ms}
  deadline: 3s
changes:
- {at: 40s, seats: 20}
- {at: 80s, seats: 200}
";

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_seed_others() {
    let json = |seed| {
        let options = RunOptions { seed, ..RunOptions::default() };
        serde_json::to_string(&run_with(MIXED, options)).unwrap()
    };
    assert_eq!(json(None), json(Some(5)));
    assert_ne!(json(None), json(Some(6)));
}

#[test]
fn every_request_of_a_mixed_load_is_accounted_for() {
    for mode in [Mode::Default, Mode::Exact] {
        let report = run_with(MIXED, RunOptions { mode: Some(mode), ..RunOptions::default() });
        let total = |rows: Vec<&Traffic>| {
            rows.iter().fold([0; 5], |sum, row| {
                let at_arrival = row.rejected_queue_full + row.rejected_concurrency_limit;
                assert_eq!(row.requests, row.admitted_at_once + row.queued + at_arrival, "{row:?}");
                let numbers =
                    [row.requests, row.admitted_at_once, row.queued, row.rejected(), row.unfinished];
                std::array::from_fn(|i| sum[i] + numbers[i])
            })
        };
        let clients = total(report.clients.iter().map(|row| &row.traffic).collect());
        assert_eq!(clients, total(report.levels.iter().map(|row| &row.traffic).collect()));
        assert_eq!(clients, total(report.schemas.iter().map(|row| &row.traffic).collect()));
        let [requests, _, queued, rejected, _] = clients;
        assert!(requests > 10_000 && queued > 1_000 && rejected > 100, "{clients:?}");
        let global = report.levels.iter().find(|row| row.level == "global-default").unwrap();
        assert!(global.traffic.seats_max > 0 && global.current_max > global.current_min);
    }
}

fn error(from: &str, to: &str) -> String {
    let text = MIXED.replacen(from, to, 1);
    assert_ne!(text, MIXED, "{from}");
    Scenario::parse(&text, "f.yaml", Path::new("")).unwrap_err().to_string()
}

#[test]
fn a_scenario_that_breaks_a_rule_of_the_format_is_refused_with_place_and_field() {
    for (from, to, message) in [
        ("seats: 40", "seats: 0", "f.yaml:2:8: seats: the server's total number of seats must be from 1"),
        ("seats: 40", "seats: -1", "must be from 1 to 2147483647, not -1"),
        ("seats: 40\n", "", "missing field `seats`"),
        ("seats: 40", "seat: 40", "f.yaml:2:1: seat: unknown field `seat`"),
        ("duration: 120s", "duration: 0s", "f.yaml:4:11: duration must be longer than 0"),
        (
            "duration: 120s",
            "duration: 120",
            "f.yaml:4:11: duration: \"120\" is not a duration: the unit is missing",
        ),
        ("seed: 5", "seed: -5", "f.yaml:3:7: seed: must be a whole number, 0 or more"),
        ("seed: 5", "mode: other", "unknown variant `other`"),
        ("threads: 30", "threads: 0", "closed: threads must be 1 to 1000000, calls at least 1"),
        ("threads: 30", "threads: 4000000000", "closed: threads must be 1 to 1000000"),
        ("burst: 40", "burst: 4000000000", "open.burst, 1 to 1000000, is needed"),
        ("think: {exponential: 20ms}", "backoff: 0s", "closed.backoff must be longer than 0"),
        ("rate: 50", "rate: -50", "open.rate must be above 0"),
        ("rate: 50", "rate: 50, burst: 3", "open.burst, 1 to 1000000, is needed with arrivals: bursts"),
        ("name: open", "name: closed", "client \"closed\": there is another of this name"),
        ("seats: 2\n", "seats: 0\n", "client \"open\": seats must be 1 to"),
        ("final_seats: 3", "final_seats: -3", "clients[1].final_seats: must be a whole number, 0 or more"),
        ("additional_latency: 5ms", "additional_latency: -5ms", "additional_latency must not be negative"),
        ("{uniform: [5ms, 50ms]}", "0s", "exec must be longer than 0"),
        ("{uniform: [5ms, 50ms]}", "{uniform: [5ms]}", "exec"),
        ("method: POST, ", "verb: list, ", "request: either path (and method), or verb and resource"),
        ("path: /api/v1/namespaces/a/pods", "path: api", "must begin with \"/\""),
        ("  open: {rate: 50}\n", "", "exactly one of closed and open is needed"),
        ("at: 80s", "at: 8s", "changes must be in the order of their times"),
        ("at: 40s, seats: 20", "at: 40s, seats: 0", "f.yaml:30:3: seats: the server's total"),
        ("at: 40s, seats: 20", "at: 40s, delete: [FlowSchema/x]", "delete: \"FlowSchema/x\" is not there"),
        ("at: 40s, seats: 20", "at: 40s, delete: [Pod/x]", "must be FlowSchema/NAME or Priority"),
        ("seed: 5", "manifests: [missing.yaml]", "missing.yaml"),
    ] {
        let error = error(from, to);
        assert!(error.contains(message), "{from} -> {to}: {error}");
    }
}

#[test]
fn inline_objects_are_refused_at_their_line_of_the_scenario() {
    let text = server(1, "{type: Queue}", "duration: 1s\nclients: []\n");
    let error = Scenario::parse(&text, "f.yaml", Path::new("")).unwrap_err().to_string();
    let line = text.lines().position(|line| line.contains("limitResponse: {type: Queue}")).unwrap() + 1;
    assert!(error.starts_with(&format!("f.yaml:{line}:")), "{error}");
    assert!(error.contains("spec.limited.limitResponse.queuing"), "{error}");
}

#[test]
fn a_whole_server_scenario_has_nothing_to_check() {
    let scenario = Scenario::parse(MIXED, "f.yaml", Path::new("")).unwrap();
    let error = scenario.check(&RunOptions::default(), &mut |_| {}).unwrap_err().to_string();
    assert!(error.contains("no expectations to check"), "{error}");
}
