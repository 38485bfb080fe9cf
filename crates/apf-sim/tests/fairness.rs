//! The reference's fairness scenarios hold in exact mode.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::path::Path;

use apf_sim::scenario::{FairnessReport, RunOptions, Scenario};

fn check(text: &str) -> FairnessReport {
    let scenario = Scenario::parse(text, "test.yaml", Path::new("")).unwrap();
    scenario.check(&RunOptions::default(), &mut |_| {}).unwrap()
}

#[test]
fn every_row_of_every_fairness_scenario_holds() {
    let report = check(include_str!("data/fairness.yaml"));
    let failing: Vec<_> = report.rows.iter().filter(|row| !row.holds).collect();
    assert!(failing.is_empty(), "{failing:#?}");
    assert_eq!(
        report.rows.len(),
        37,
        "12 scenarios of which one has two evaluations, and a table of 24 rows"
    );
}

const ONE: &str = "\
- name: one
  level: {queues: 1, hand_size: 1, queue_length_limit: 5, concurrency_limit: 1}
  eval: 10s
  clients: [{hash: 1, threads: 1, calls: 10, exec: 1s}]
  expect: [{fair: true, margin: 0}]
  all_requests: true
";

fn error(from: &str, to: &str) -> String {
    let text = ONE.replacen(from, to, 1);
    assert_ne!(text, ONE);
    let outcome = Scenario::parse(&text, "f.yaml", Path::new(""))
        .and_then(|scenario| scenario.check(&RunOptions::default(), &mut |_| {}));
    outcome.unwrap_err().to_string()
}

#[test]
fn a_scenario_that_breaks_a_rule_of_the_format_is_refused_with_place_and_field() {
    assert!(check(ONE).holds());
    for (from, to, message) in [
        ("queues: 1", "queues: -3", "f.yaml:2:10: scenario \"one\": level.queues must be -1"),
        ("queues: 1", "queues: x", "f.yaml:2:19: [0].level.queues: must be a whole number"),
        ("hand_size: 1,", "", "f.yaml:2:10: scenario \"one\": level.hand_size is missing"),
        ("hand_size: 1", "hand_size: 7", "scenario \"one\": handSize must not exceed queues"),
        (
            "concurrency_limit: 1",
            "concurrency_limit: -1",
            "f.yaml:2:78: [0].level.concurrency_limit: must be",
        ),
        ("eval: 10s", "eval: 0s", "f.yaml:3:9: scenario \"one\": eval must be longer than 0"),
        ("exec: 1s", "exec: 1", "the unit is missing"),
        ("exec: 1s", "exec: 0s", "f.yaml:4:13: scenario \"one\": exec must be longer than 0"),
        ("exec: 1s", "exec: 1s, think: -1s", "think must not be so negative"),
        ("exec: 1s", "exec: 1s, initial_seats: 0", "initial_seats must be at least 1"),
        ("calls: 10", "calls: -1", "f.yaml:4:42: [0].clients[0].calls: must be a whole number, 0 or more"),
        ("calls: 10", "cals: 10", "unknown field `cals`"),
        ("margin: 0", "margin: -1", "f.yaml:5:12: scenario \"one\": expect.margin must be between 0 and 1"),
        ("margin: 0", "margin: 0, averages: [1, 2]", "expect.averages must have 1 entries"),
        ("exec: 1s", "exec: 1s, split: true", "split needs at least 2 threads and 2 calls"),
        ("threads: 1, calls: 10", "threads: 2, split: true, calls: 10", "expect has 1 entries, must have 2"),
        ("threads: 1", "threads: 4000000000", "threads must be 1 to 1000000"),
        ("name: one", "title: one", "unknown field `title`"),
        ("  eval: 10s\n", "", "missing field `eval`"),
    ] {
        let error = error(from, to);
        assert!(error.contains(message), "{from} -> {to}: {error}");
    }
}

#[test]
fn a_row_that_misses_its_expectation_does_not_hold() {
    for (from, to, why) in [
        ("threads: 1", "threads: 3", None),
        ("calls: 10", "calls: 5", Some("0.5 away from its fair value, must be within 0")),
        ("fair: true", "fair: false", Some("all must be outside 0")),
        ("threads: 1", "threads: 9", Some("calls were rejected, none may be")),
        ("all_requests: true", "epoch_advances: 1", Some("wound back 0 times, must be 1")),
        ("all_requests: true", "reject_reason: queue-full", Some("no call was rejected")),
        ("all_requests: true", "not_fair_at: [0.5]", Some("all must be outside 0.5")),
    ] {
        let report = check(&ONE.replacen(from, to, 1));
        let row = &report.rows[0];
        assert_eq!(row.holds, why.is_none(), "{to}: {row:?}");
        assert!(why.is_none_or(|why| row.failures.iter().any(|failure| failure.contains(why))), "{row:?}");
    }
}

#[test]
fn at_equal_times_the_next_call_comes_before_the_end_of_the_execution() {
    // On a level that refuses what does not fit, the second call finds the first still executing.
    let report = check(&ONE.replace("queues: 1,", "queues: 0,").replace("all_requests: true", ""));
    assert_eq!((report.rows[0].calls, report.rows[0].rejected), (2, 1));
}

#[test]
fn the_default_mode_is_as_fair_as_the_reference() {
    let scenario = Scenario::parse(include_str!("data/fairness.yaml"), "", Path::new("")).unwrap();
    let options = RunOptions { mode: Some(apf_core::Mode::Default), ..RunOptions::default() };
    let report = scenario.check(&options, &mut |_| {}).unwrap();
    let failing: Vec<_> = report.rows.iter().filter(|row| !row.holds).collect();
    assert!(failing.is_empty(), "{failing:#?}");
}
