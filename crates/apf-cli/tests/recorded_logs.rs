//! Published logs, manifests and scenarios, through the program.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

mod common;

use common::{Ran, apf_line, shared};

/// Column of a row of the traffic CSV.
fn figure(csv: &str, row: &str, column: &str) -> u64 {
    let mut lines = csv.lines();
    let at = lines.next().unwrap().split(',').position(|name| name == column).unwrap();
    let line = lines.find(|line| line.starts_with(row)).unwrap_or_else(|| panic!("no row {row} in {csv}"));
    line.split(',').nth(at).unwrap().parse().unwrap()
}

/// Sum of a column over all levels.
fn over_levels(csv: &str, column: &str) -> u64 {
    let names =
        csv.lines().filter_map(|line| line.strip_prefix("level,")).map(|row| row.split(',').next().unwrap());
    names.map(|name| figure(csv, &format!("level,{name},"), column)).sum()
}

fn replayed(line: &str) -> Ran {
    let ran = apf_line(line);
    assert_eq!(ran.code, 0, "{line}: {ran:?}");
    ran
}

const ARRIVALS: &str = "crates/apf-sim/tests/data/perfspec-arrivals-a.jsonl.gz";

#[test]
fn a_server_of_usual_size_queues_little_and_a_small_one_much() {
    for exact in ["", "--exact"] {
        let usual = replayed(&format!("replay {ARRIVALS} --seats 600 -o csv {exact}")).stdout;
        assert_eq!(over_levels(&usual, "requests"), 9757);
        assert_eq!(over_levels(&usual, "rejected"), 0);
        let small = replayed(&format!("replay {ARRIVALS} --seats 20 -o csv {exact}")).stdout;
        assert_eq!(over_levels(&small, "rejected"), 0);
        assert!(over_levels(&small, "queued") > 500, "{small}");
        assert!(over_levels(&small, "queued") > over_levels(&usual, "queued"));
    }
}

#[test]
fn short_queues_refuse_what_does_not_fit() {
    let short = "docs/examples/short-queues.yaml";
    for exact in ["", "--exact"] {
        let csv = replayed(&format!("replay {ARRIVALS} --seats 20 -f {short} -o csv {exact}")).stdout;
        assert!(over_levels(&csv, "rejected_queue_full") >= 100, "{csv}");
    }
    let both = replayed(&format!("replay {ARRIVALS} --seats 20 --against {short} -o csv"));
    assert_eq!(figure(&both.stdout, "level,workload-high,", "rejected_before"), 0);
    assert!(figure(&both.stdout, "level,workload-high,", "rejected_after") > 100);
}

#[test]
fn every_recorded_log_replays() {
    let committed =
        ["audit2rbac-demo-a.jsonl", "falco-k8saudit-events-a.jsonl", "perfspec-arrivals-a.jsonl.gz"]
            .map(|name| format!("crates/apf-sim/tests/data/{name}"));
    let beside = ["mixed-real-events-a.jsonl", "wrapped-events-a.jsonl", "perfspec-arrivals-a.jsonl"];
    let beside = beside.into_iter().filter_map(|name| shared(&format!("data/audit/{name}")));
    let logs: Vec<String> = committed.into_iter().chain(beside).collect();
    for log in &logs {
        replayed(&format!("replay {log} --seats 600"));
    }
    replayed(&format!("replay {} --seats 600", logs.join(" ")));
}

#[test]
fn the_fairness_scenarios_hold() {
    let ran = apf_line("simulate crates/apf-sim/tests/data/fairness.yaml --check");
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stdout.ends_with("rows hold, exact mode\n"), "{}", ran.stdout);
    if let Some(file) = shared("data/scenarios/fairness.yaml") {
        assert_eq!(apf_line(&format!("simulate {file} --check")).code, 0);
    }
}

/// Errors of the published manifests; a file is accepted when it has none.
#[test]
fn published_manifests_get_the_verdict_of_a_server() {
    let refused = [
        "deckhouse-lib-first-version-v1beta1.yaml",
        "k8s-api-roundtrip-v1.yaml",
        "k8s-api-roundtrip-v1beta3.yaml",
    ];
    let folder = "crates/apf-config/tests/manifests";
    let mut seen = 0;
    for entry in std::fs::read_dir(common::root().join(folder)).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if name.ends_with(".yaml") {
            seen += 1;
            let code = i32::from(refused.contains(&name.as_str()));
            let ran = apf_line(&format!("check {folder}/{name}"));
            assert_eq!(ran.code, code, "{name}: {}", ran.stdout);
        }
    }
    assert!(seen > 10, "{seen}");
}
