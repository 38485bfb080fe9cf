//! Every point in which the default differs from the exact mode, tested both ways. The numbers are the
//! rows of `docs/differences.md`.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use apf_core::{
    Arrived, Borrower, Cancelled, Cause, DemandStats, FlowHash, LevelLimits, Mode, Outcome, Queuing, Reason,
    WorkEstimate, adjust,
};
use common::{Bench, MS, SECOND, both, padded, queues, rejected};

/// A wide head blocks a narrow request; the head is cancelled.
fn cancel_a_wide_head(mode: Mode) -> Bench {
    let mut bench = Bench::new(mode, queues(8, 1, 10), 4);
    bench.seats(0, 1, 0, 2);
    bench.seats(0, 2, 1, 4); // does not fit beside the first
    bench.seats(0, 3, 1, 1); // would fit, but is behind it
    assert!(!bench.granted(3));
    bench.cancel(MS, 2, Cause::Caller);
    bench
}

#[test]
fn row_1_a_cancelled_wide_head_lets_the_next_one_start() {
    assert!(!cancel_a_wide_head(Mode::Exact).granted(3));
    let mut exact = cancel_a_wide_head(Mode::Exact);
    exact.seats(2 * MS, 4, 3, 1); // any later arrival, finish or release makes up for it
    assert_eq!(exact.granted_at(3), Some(2 * MS));
    assert_eq!(cancel_a_wide_head(Mode::Default).granted_at(3), Some(MS));
}

#[test]
fn row_2_clipped_seats_do_not_stay_in_the_demand_for_ever() {
    for (mode, phantom) in [(Mode::Exact, 6), (Mode::Default, 0)] {
        let mut bench = Bench::new(mode, queues(8, 1, 10), 4);
        bench.arrive(0, 1, 0, padded(1, 10, MS));
        assert_eq!(bench.level.seats_waiting(), phantom, "{mode:?}");
        bench.finish(0, 1);
        bench.tick(SECOND);
        assert_eq!((bench.level.seats_in_use(), bench.level.seats_waiting()), (0, phantom), "{mode:?}");
    }
}

/// Queue 2 of three is left with two requests, one of them lingering; see the worked case L2.
fn shrink_with_a_lingering_request(mode: Mode) -> Bench {
    let mut bench = Bench::new(mode, queues(3, 1, 10), 4);
    bench.arrive(0, 1, 2, padded(1, 1, 100 * MS));
    bench.seats(0, 2, 2, 1);
    bench.seats(0, 3, 0, 2);
    bench.seats(0, 4, 0, 1);
    bench.seats(0, 5, 0, 1);
    bench.reconfigure(0, queues(1, 1, 10), 4);
    bench.finish(0, 1);
    bench.finish(50 * MS, 2);
    bench
}

#[test]
fn row_3_an_excess_queue_goes_once_and_not_before_its_seats_are_back() {
    let exact = shrink_with_a_lingering_request(Mode::Exact);
    assert_eq!(exact.level.queues().count(), 2, "gone at 50 ms, with a seat in use");
    let mut exact = exact;
    exact.tick(100 * MS);
    assert_eq!(exact.level.counters().removals_refused, 1, "the reference removes another queue here");
    assert_eq!(exact.level.queues().count(), 2);

    let mut default = shrink_with_a_lingering_request(Mode::Default);
    assert_eq!(default.shape()[2], (0, 0, 1), "listed while its seat lingers");
    default.tick(100 * MS);
    assert_eq!(default.level.queues().count(), 2);
    assert_eq!(default.level.counters().removals_refused, 0);
}

#[test]
fn row_4_seats_that_exempt_requests_use_are_not_given_out_twice() {
    let limited = |nominal| Borrower {
        exempt: false,
        limits: LevelLimits { nominal, min: 0, max: 1000, initial: nominal },
        stats: DemandStats { smoothed: 100.0, high_watermark: 10, ..DemandStats::default() },
        current: nominal,
    };
    let exempt = Borrower {
        exempt: true,
        limits: LevelLimits { nominal: 0, min: 0, max: 1000, initial: 0 },
        stats: DemandStats { high_watermark: 60, ..DemandStats::default() },
        current: 0,
    };
    for (mode, each) in [(Mode::Exact, 100), (Mode::Default, 70)] {
        let mut out = [Default::default(); 3];
        let outcome = adjust(mode, &[exempt, limited(100), limited(100)], &mut out);
        assert!(matches!(outcome, Outcome::Fair { .. }));
        assert_eq!(out.map(|a| a.current), [60, each, each], "{mode:?}");
    }
}

#[test]
fn row_5_a_reject_level_without_seats_is_a_jail() {
    for (mode, first) in [(Mode::Exact, None), (Mode::Default, Some(Reason::ConcurrencyLimit))] {
        let mut bench = Bench::new(mode, Queuing::Reject, 0);
        assert_eq!(rejected(bench.seats(0, 1, 0, 1)), first, "{mode:?}");
        assert_eq!(rejected(bench.seats(0, 2, 0, 1)), Some(Reason::ConcurrencyLimit));
    }
}

#[test]
fn row_6_time_that_steps_back_takes_nothing_back() {
    let run = |mode| {
        let mut bench = Bench::new(mode, queues(8, 1, 10), 4);
        bench.seats(0, 1, 0, 1);
        bench.tick(SECOND);
        let before = bench.level.progress();
        bench.tick(SECOND - 46_000);
        (before, bench.level.progress(), bench)
    };
    let (before, after, _) = run(Mode::Exact);
    assert_eq!(before.raw() - after.raw(), 4600, "R falls by the seat-seconds of the step");
    let (before, after, mut bench) = run(Mode::Default);
    assert_eq!(before, after);
    bench.tick(2 * SECOND);
    assert_eq!(bench.level.progress().raw(), 200_000_000);

    // Below zero it wraps, and looks like a meter about to overflow.
    let mut exact = Bench::new(Mode::Exact, queues(8, 1, 10), 4);
    exact.tick(SECOND);
    exact.seats(SECOND, 1, 0, 1);
    exact.tick(SECOND - 10);
    let counters = exact.level.counters();
    assert_eq!((counters.epoch_advances, counters.failed_epoch_advances), (1, 1));
}

#[test]
fn row_7_final_seats_are_clipped_on_both_paths_and_never_on_exempt_levels() {
    for (mode, queuing, seats) in [
        (Mode::Exact, queues(8, 1, 10), 4),
        (Mode::Default, queues(8, 1, 10), 4),
        (Mode::Exact, Queuing::Reject, 10),
        (Mode::Default, Queuing::Reject, 4),
        (Mode::Exact, Queuing::Exempt, 10),
        (Mode::Default, Queuing::Exempt, 10),
    ] {
        let mut bench = Bench::new(mode, queuing, 4);
        bench.arrive(0, 1, 0, padded(1, 10, 10 * MS));
        bench.finish(MS, 1);
        assert_eq!(bench.level.seats_in_use(), seats, "{mode:?} {queuing:?}");
        let stretched = if seats == 4 { 25 * MS } else { 10 * MS };
        assert_eq!(bench.level.next_release(), Some(MS + stretched), "the same work on fewer seats");
    }
    // The clip comes after the test: a request that is too wide for a Reject level is refused when it is busy.
    let mut bench = Bench::new(Mode::Default, Queuing::Reject, 4);
    bench.seats(0, 1, 0, 1);
    assert_eq!(rejected(bench.arrive(0, 2, 0, padded(1, 10, MS))), Some(Reason::ConcurrencyLimit));
    // A level that was limited keeps draining its queues once it is exempt.
    for (mode, seats) in [(Mode::Exact, 4), (Mode::Default, 10)] {
        let mut bench = Bench::new(mode, queues(8, 1, 10), 4);
        bench.seats(0, 1, 0, 4);
        bench.arrive(0, 2, 1, padded(1, 10, MS));
        bench.reconfigure(0, Queuing::Exempt, 4);
        bench.finish(0, 1);
        assert_eq!(bench.level.seats_in_use(), seats, "{mode:?}");
    }
}

#[test]
fn row_8_every_request_that_never_ran_has_one_reason_and_one_counter() {
    let run = |mode| {
        let mut bench = Bench::new(mode, queues(1, 1, 3), 1);
        bench.seats(0, 1, 0, 1);
        for name in 2..=4 {
            bench.seats(0, name, 0, 1);
        }
        assert_eq!(rejected(bench.seats(0, 5, 0, 1)), Some(Reason::QueueFull));
        let by_deadline = bench.cancel(MS, 2, Cause::TimeOut);
        let by_caller = bench.cancel(MS, 3, Cause::Caller);
        bench.sink.gone.insert(4); // its caller leaves while it is being dispatched
        bench.finish(2 * MS, 1);
        let counters = bench.level.counters();
        assert_eq!(counters.dispatched, 1);
        let totals = (counters.rejected(mode), counters.timed_out, counters.cancelled);
        (by_deadline, by_caller, totals)
    };
    let exact = (Cancelled::Removed(Reason::TimeOut), Cancelled::Removed(Reason::TimeOut), (3, 0, 2));
    assert_eq!(run(Mode::Exact), exact, "the fifth of five is counted nowhere");
    let default = (Cancelled::Removed(Reason::TimeOut), Cancelled::Removed(Reason::Cancelled), (1, 1, 2));
    assert_eq!(run(Mode::Default), default);
}

#[test]
fn row_9_the_exempt_level_reports_its_own_target() {
    let stats = DemandStats { smoothed: 170.0, high_watermark: 7, ..DemandStats::default() };
    let exempt = Borrower {
        exempt: true,
        limits: LevelLimits::default(),
        stats: DemandStats { high_watermark: 7, ..DemandStats::default() },
        current: 0,
    };
    let limits = LevelLimits { nominal: 170, min: 170, max: 500, initial: 170 };
    let limited = Borrower { exempt: false, limits, stats, current: 170 };
    for (mode, target) in [(Mode::Exact, 170.0), (Mode::Default, 7.0)] {
        let mut out = [Default::default(); 2];
        adjust(mode, &[exempt, limited], &mut out);
        assert_eq!((out[0].current, out[0].target), (7, target), "{mode:?}");
    }
}

#[test]
fn row_10_the_exact_mode_hashes_flows_as_kube_apiserver_does() {
    assert_eq!(Mode::Exact.flow_hash(), FlowHash::Sha256);
    assert_eq!(Mode::Default.flow_hash(), FlowHash::Xxh3);
    let identity = ("global-default", "alice");
    assert_eq!(Mode::Exact.flow_hash().hash(identity.0, identity.1), 17_644_606_172_554_983_095);
    assert_ne!(Mode::Default.flow_hash().hash(identity.0, identity.1), 17_644_606_172_554_983_095);
}

/// The quirks that are kept in both modes.
#[test]
fn a_queue_grows_past_its_limit_while_seats_are_free_behind_a_wide_head() {
    for mode in both() {
        let mut bench = Bench::new(mode, queues(1, 1, 3), 4);
        bench.seats(0, 1, 0, 2);
        bench.seats(0, 2, 0, 4);
        for name in 3..20 {
            assert!(matches!(bench.seats(0, name, 0, 1), Arrived::Waiting(_)), "{mode:?}");
        }
        bench.audit();
    }
}

#[test]
fn lingering_seats_do_not_keep_a_request_that_is_too_wide_from_starting() {
    for mode in both() {
        let mut bench = Bench::new(mode, queues(8, 1, 10), 4);
        bench.arrive(0, 1, 0, padded(1, 1, SECOND));
        bench.seats(0, 2, 1, 9);
        bench.finish(MS, 1);
        assert_eq!(bench.granted_at(2), Some(MS), "{mode:?}");
        assert_eq!(bench.level.seats_in_use(), 10);
    }
}

#[test]
fn at_limit_zero_nothing_that_waits_is_ever_dispatched() {
    for mode in both() {
        let mut bench = Bench::new(mode, queues(8, 1, 10), 0);
        assert!(matches!(bench.arrive(0, 1, 0, WorkEstimate::seats(1)), Arrived::Waiting(_)));
        bench.tick(1000 * SECOND);
        assert!(!bench.granted(1), "{mode:?}");
    }
}
