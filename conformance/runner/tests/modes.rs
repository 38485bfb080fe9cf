//! Where the default mode differs from the exact one, as far as a trace can show it. That the exact
//! mode gives the reference's lines for the same traces is what `vectors.rs` checks.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;

use apf_conformance::driver::Driver;
use apf_conformance::read;
use apf_conformance::trace::{Event, EventKind, Trace};
use apf_core::{Level, Mode};

fn quirk(name: &str) -> Trace {
    let file =
        Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("vectors").join(name).with_extension("trace");
    let mut traces = read::read_file(&file).unwrap();
    assert_eq!(traces.len(), 1);
    traces.remove(0)
}

/// Runs a trace in a mode and hands each event's number (from 1), words and level to `see`.
fn run(trace: &Trace, mode: Mode, mut see: impl FnMut(usize, &str, &Level)) {
    let mut driver = Driver::new(mode, trace.level, trace.start).unwrap();
    for (number, event) in (1..).zip(&trace.events) {
        driver.apply(event).unwrap();
        see(number, driver.decisions().trim(), driver.level());
    }
}

fn words(trace: &Trace, mode: Mode) -> Vec<String> {
    let mut all = Vec::new();
    run(trace, mode, |_, words, _| all.push(words.to_owned()));
    all
}

/// One value of the level after each event.
fn values<T>(trace: &Trace, mode: Mode, of: impl Fn(&Level) -> T) -> Vec<T> {
    let mut all = Vec::new();
    run(trace, mode, |_, _, level| all.push(of(level)));
    all
}

#[test]
fn row_1_a_cancelled_wide_head_lets_the_next_one_start_in_the_default_mode_only() {
    let trace = quirk("quirk-1-cancelled-wide-head");
    let start = ["run:1@0", "wait:2@0", "wait:3@0"];
    assert_eq!(words(&trace, Mode::Exact)[..3], start);
    assert_eq!(words(&trace, Mode::Exact)[3..], ["cancel:2", "", "run:3@0 wait:4@0", "run:4@0"]);
    assert_eq!(words(&trace, Mode::Default)[..3], start);
    assert_eq!(words(&trace, Mode::Default)[3..], ["cancel:2 run:3@0", "", "wait:4@0", "run:4@0"]);
}

#[test]
fn row_2_clipped_seats_leave_the_seats_waiting_in_the_default_mode_only() {
    let trace = quirk("quirk-2-clipped-seats");
    assert_eq!(values(&trace, Mode::Exact, Level::seats_waiting), [0, 5, 3, 3, 3, 3]);
    assert_eq!(values(&trace, Mode::Default, Level::seats_waiting), [0, 5, 0, 0, 0, 0]);
    for mode in [Mode::Exact, Mode::Default] {
        assert_eq!(values(&trace, mode, Level::seats_in_use), [1, 1, 2, 2, 2, 0]);
    }
}

#[test]
fn row_3_a_queue_with_lingering_seats_stays_in_the_default_mode_only_and_goes_once_in_both() {
    let mut trace = quirk("quirk-3-lingering-queue");
    // The reference would remove another queue at the second release; our exact mode refuses.
    trace.events.push(Event { at: 25_000_000, kind: EventKind::Touch });
    let count = |level: &Level| level.queues().count();
    assert_eq!(values(&trace, Mode::Exact, count)[4..], [3, 2, 2]);
    assert_eq!(values(&trace, Mode::Default, count)[4..], [3, 3, 2]);
    let removed = |level: &Level| (level.counters().queues_removed, level.counters().removals_refused);
    assert_eq!(values(&trace, Mode::Exact, removed)[5..], [(1, 0), (1, 1)]);
    assert_eq!(values(&trace, Mode::Default, removed)[5..], [(0, 0), (1, 0)]);
}

#[test]
fn row_5_a_rejecting_level_without_seats_runs_nothing_in_the_default_mode_only() {
    let trace = quirk("quirk-5-reject-at-limit-0");
    assert_eq!(words(&trace, Mode::Exact), ["run:1", "reject-concurrency-limit:2", "", "run:3"]);
    assert_eq!(
        words(&trace, Mode::Default),
        ["reject-concurrency-limit:1", "reject-concurrency-limit:2", "skip:1", "reject-concurrency-limit:3"]
    );
}

#[test]
fn row_6_a_clock_that_steps_back_moves_the_meter_in_the_exact_mode_only() {
    let trace = quirk("quirk-6-clock-steps-back");
    let meter = |level: &Level| level.progress().raw();
    let wound_back = 0u64.wrapping_sub(100_000) - u64::MAX / 2;
    assert_eq!(values(&trace, Mode::Exact, meter)[..4], [0, 200_000, 100_000, wound_back]);
    let failed = |level: &Level| level.counters().failed_epoch_advances;
    assert_eq!(values(&trace, Mode::Exact, failed), [0, 0, 0, 1, 1]);
    // The last event is at 14 ms, 2 ms after the latest time seen.
    assert_eq!(values(&trace, Mode::Default, meter), [0, 200_000, 200_000, 200_000, 400_000]);
    assert_eq!(values(&trace, Mode::Default, failed), [0; 5]);
}

#[test]
fn row_7_final_seats_are_clipped_without_a_queue_in_the_default_mode_only() {
    let trace = quirk("quirk-7-queueless-final-seats");
    assert_eq!(values(&trace, Mode::Exact, Level::seats_in_use)[..3], [5, 5, 5]);
    assert_eq!(values(&trace, Mode::Default, Level::seats_in_use)[..3], [2, 2, 2]);
    let release = |level: &Level| level.next_release();
    assert_eq!(values(&trace, Mode::Exact, release)[1], Some(4_000_000)); // 2 ms after the end at 2 ms
    assert_eq!(values(&trace, Mode::Default, release)[1], Some(7_000_000)); // the same work on 2 seats: 5 ms
}
