//! Things that went wrong for real people with priority and fairness, as tests named after what they
//! protect. Ids of Kubernetes issues and pull requests are in the comments.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use apf_core::{
    Adjusted, ArriveError, Arrived, Borrower, Cancelled, Cause, DemandStats, LevelLimits, LevelShares,
    MAX_SEATS, Mode, Outcome, Queuing, Reason, WorkEstimate, adjust, level_limits,
};
use common::{Bench, MS, SECOND, both, padded, queues, rejected};

/// Kubernetes issue 134196.
#[test]
fn a_level_without_seats_is_a_jail_whether_it_rejects_or_queues() {
    let mut reject = Bench::new(Mode::Default, Queuing::Reject, 0);
    for name in 0..100 {
        assert_eq!(rejected(reject.seats(name * SECOND, name, 0, 1)), Some(Reason::ConcurrencyLimit));
    }
    let mut queue = Bench::new(Mode::Default, queues(64, 8, 50), 0);
    for name in 0..100 {
        let now = name * 20 * SECOND;
        assert!(matches!(queue.seats(now, name, 0, 1), Arrived::Waiting(_)));
        let cancelled = queue.cancel(now + 15 * SECOND, name, Cause::TimeOut);
        assert_eq!(cancelled, Cancelled::Removed(Reason::TimeOut));
    }
    assert_eq!((reject.level.counters().dispatched, queue.level.counters().dispatched), (0, 0));
    assert_eq!(queue.level.counters().timed_out, 100);
}

/// Kubernetes issue 140884: the queue of a lingering request was removed twice, or another one with it.
#[test]
fn an_excess_queue_goes_once_whenever_the_number_of_queues_is_lowered() {
    // The shrink comes before, between, or after the two finishes.
    for (mode, shrink_at) in both().into_iter().flat_map(|mode| [(mode, 0), (mode, 1), (mode, 2)]) {
        let mut bench = Bench::new(mode, queues(3, 1, 10), 4);
        bench.arrive(0, 1, 2, padded(1, 1, 100 * MS));
        bench.seats(0, 2, 2, 1);
        bench.seats(0, 3, 0, 2);
        for name in 4..8 {
            bench.seats(0, name, 0, 1);
        }
        let shrink = |bench: &mut Bench, now| bench.reconfigure(now, queues(1, 1, 10), 4);
        if shrink_at == 0 {
            shrink(&mut bench, 0);
        }
        bench.finish(0, 1);
        if shrink_at == 1 {
            shrink(&mut bench, 0);
        }
        bench.finish(50 * MS, 2);
        if shrink_at == 2 {
            shrink(&mut bench, 50 * MS);
        }
        if mode == Mode::Default {
            assert_eq!(*bench.shape().last().unwrap(), (0, 0, 1), "listed until its seat is back");
        }
        bench.tick(100 * MS);
        let counters = bench.level.counters();
        assert_eq!(counters.queues_removed, 1, "{mode:?} {shrink_at}");
        bench.audit();
        // Queue 0 keeps its order.
        bench.finish(101 * MS, 3);
        for name in 4..8 {
            assert!(bench.granted(name));
            bench.finish(102 * MS, name);
        }
        let order: Vec<u64> = bench.sink.grants.iter().map(|(name, _)| *name).collect();
        assert_eq!(order, [1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(bench.level.seats_in_use(), 0);
    }
}

/// Kubernetes pull request 104345.
#[test]
fn a_delayed_release_lets_a_waiter_start_with_no_other_event() {
    for mode in both() {
        let mut bench = Bench::new(mode, queues(64, 8, 50), 1);
        bench.arrive(0, 1, 7, padded(1, 1, 5 * MS));
        bench.seats(0, 2, 9, 1);
        bench.finish(0, 1);
        assert_eq!(bench.level.next_release(), Some(5 * MS));
        bench.tick(60 * MS); // the timer comes late; the request starts when its seat came back
        assert_eq!(bench.granted_at(2), Some(5 * MS), "{mode:?}");
    }
}

/// Kubernetes pull request 100634: callers that had given up kept their places.
#[test]
fn a_waiter_that_leaves_frees_its_place_at_once() {
    for mode in both() {
        let mut bench = Bench::new(mode, queues(1, 1, 2), 1);
        bench.seats(0, 1, 0, 1);
        bench.seats(0, 2, 0, 1);
        bench.seats(0, 3, 0, 1);
        assert_eq!(rejected(bench.seats(500 * MS, 4, 0, 1)), Some(Reason::QueueFull));
        bench.cancel(SECOND, 2, Cause::TimeOut);
        assert!(matches!(bench.seats(1100 * MS, 4, 0, 1), Arrived::Waiting(_)), "{mode:?}");
        bench.audit();
    }
}

/// A glitch of the clock (k3s issue 8133): the meter "overflowed" by almost 2^64 units.
#[test]
fn a_clock_that_goes_back_changes_neither_the_meter_nor_the_order() {
    let run = |glitch: u64| {
        let mut bench = Bench::new(Mode::Default, queues(8, 1, 50), 1);
        bench.seats(0, 0, 0, 1);
        bench.seats(0, 1, 1, 1);
        bench.seats(0, 2, 2, 1);
        let mut now = 0;
        let mut last = bench.level.progress();
        for round in 0..1000u64 {
            now += SECOND;
            bench.tick(now);
            bench.tick(now - glitch);
            assert!(bench.level.progress() >= last);
            last = bench.level.progress();
            bench.finish(now - glitch, round);
            bench.seats(now, round + 3, round % 8, 1);
            for queue in bench.level.queues().filter(|queue| queue.waiting > 0) {
                let oldest = bench.level.waiting(queue.index).next().unwrap();
                assert!(oldest.arrival <= now);
            }
        }
        assert_eq!(bench.level.counters().epoch_advances, 0);
        bench.audit();
        bench.sink.grants.iter().map(|(name, _)| *name).collect::<Vec<_>>()
    };
    assert_eq!(run(46_000), run(0));
}

/// Kubernetes pull request 102848 and its neighbours: wider than the level.
#[test]
fn a_request_wider_than_the_level_runs_alone_and_is_not_overtaken_for_ever() {
    for mode in both() {
        let mut bench = Bench::new(mode, queues(8, 1, 50), 4);
        bench.seats(0, 1, 0, 1);
        bench.seats(0, 2, 1, 10);
        let mut started = false;
        for name in 3..40u64 {
            bench.seats(name * MS, name, 2, 1);
        }
        bench.finish(50 * MS, 1);
        for step in 0..40u64 {
            if bench.granted(2) && !started {
                started = true;
                let alone = bench.level.requests_executing() == 1;
                assert!(alone, "{mode:?}: it starts when nothing else executes");
                assert_eq!(bench.level.seats_in_use(), 10);
            }
            let running: Vec<u64> = bench.level.executing().map(|r| r.token).collect();
            for name in running {
                bench.finish((51 + step) * MS, name);
            }
        }
        assert!(started && bench.level.is_idle(), "{mode:?}");

        let mut reject = Bench::new(mode, Queuing::Reject, 4);
        reject.seats(0, 1, 0, 1);
        assert_eq!(rejected(reject.seats(0, 2, 0, 10)), Some(Reason::ConcurrencyLimit));
        reject.finish(MS, 1);
        assert!(matches!(reject.seats(MS, 3, 0, 10), Arrived::Executing(_)), "an idle level takes it");
    }
}

#[test]
fn a_lowered_limit_takes_nothing_away_and_dispatches_nothing_until_below() {
    for mode in both() {
        let mut bench = Bench::new(mode, queues(8, 1, 50), 10);
        for name in 0..15 {
            bench.seats(0, name, name, 1);
        }
        bench.reconfigure(0, queues(8, 1, 50), 4);
        assert_eq!(bench.level.seats_in_use(), 10);
        for name in 0..6 {
            bench.finish(MS, name);
            assert!(!bench.granted(10), "{mode:?}: {} in use", bench.level.seats_in_use());
        }
        bench.finish(MS, 6);
        assert!(bench.granted(10) && bench.level.seats_in_use() == 4);
        bench.reconfigure(2 * MS, queues(8, 1, 50), 6);
        assert_eq!(bench.level.seats_in_use(), 6, "a raised limit is used at once");
        bench.audit();
    }
}

#[test]
fn queues_of_a_level_that_stops_queueing_drain() {
    for mode in both() {
        let mut bench = Bench::new(mode, queues(4, 1, 50), 1);
        for name in 0..6 {
            bench.seats(0, name, name, 1);
        }
        bench.reconfigure(0, Queuing::Reject, 1);
        assert_eq!(rejected(bench.seats(0, 9, 0, 1)), Some(Reason::ConcurrencyLimit));
        for _ in 0..6 {
            let running: Vec<u64> = bench.level.executing().map(|r| r.token).collect();
            let [only] = running[..] else { panic!("{mode:?} {running:?}") };
            bench.finish(MS, only);
        }
        assert!(bench.level.is_idle());
        assert_eq!(bench.level.queues().count(), 0, "{mode:?}: each goes with its last request");
        bench.reconfigure(2 * MS, queues(4, 1, 50), 1);
        assert_eq!(bench.level.queues().count(), 4);
        assert!(matches!(bench.seats(2 * MS, 10, 0, 1), Arrived::Executing(_)));
        bench.audit();
    }
}

/// Go issue 37852: only releases woke the next one.
#[test]
fn a_cancelled_front_waiter_lets_the_next_start_at_once() {
    let mut bench = Bench::new(Mode::Default, queues(1, 1, 50), 4);
    bench.seats(0, 1, 0, 2);
    bench.seats(0, 2, 0, 4);
    bench.seats(0, 3, 0, 1);
    bench.cancel(MS, 2, Cause::Caller);
    assert_eq!(bench.granted_at(3), Some(MS));
}

/// A grant that is not taken goes on to the next request and charges nothing.
#[test]
fn a_request_that_left_while_it_was_dispatched_holds_nothing() {
    for mode in both() {
        let mut bench = Bench::new(mode, queues(1, 1, 50), 1);
        bench.seats(0, 1, 0, 1);
        bench.seats(0, 2, 0, 1);
        bench.seats(0, 3, 0, 1);
        bench.sink.gone.insert(2);
        let tag = |bench: &Bench| bench.level.queues().next().unwrap().next_dispatch_r.raw();
        bench.finish(3 * MS, 1);
        assert_eq!(bench.granted_at(3), Some(3 * MS), "{mode:?}");
        assert_eq!(bench.level.seats_in_use(), 1);
        assert_eq!(tag(&bench), 2 * 300_000, "two requests were charged, each its guess");
        bench.sink.gone.insert(4);
        bench.finish(6 * MS, 3);
        assert_eq!(bench.seats(7 * MS, 4, 0, 1), Arrived::Gone, "its own grant");
        assert!(bench.level.is_idle() && bench.level.seats_in_use() == 0);
        assert_eq!(bench.level.requests().count(), 0);
    }
}

#[test]
fn a_handle_that_is_used_twice_changes_nothing() {
    for mode in both() {
        let mut bench = Bench::new(mode, queues(1, 1, 50), 1);
        bench.arrive(0, 1, 0, padded(1, 1, 10 * MS));
        bench.seats(0, 2, 0, 1);
        let (first, second) = (bench.ids[&1], bench.ids[&2]);
        let refused = |bench: &mut Bench, finish: bool, id| {
            let before = format!("{:?}", bench.level);
            let stale = if finish {
                bench.level.finish(9 * MS, id, &mut bench.sink).is_err()
            } else {
                bench.level.cancel(9 * MS, id, Cause::Caller, &mut bench.sink).is_err()
            };
            assert!(stale && before == format!("{:?}", bench.level), "{mode:?}");
        };
        refused(&mut bench, true, second); // waits, does not execute
        bench.finish(MS, 1);
        refused(&mut bench, true, first); // lingers: its handle has ended
        refused(&mut bench, false, first);
        bench.tick(20 * MS);
        refused(&mut bench, true, first);
        assert_eq!(bench.cancel(20 * MS, 2, Cause::Caller), Cancelled::Executing);
        bench.finish(21 * MS, 2);
        refused(&mut bench, true, apf_core::RequestId::from_bits(u64::MAX));
        assert_eq!(apf_core::RequestId::from_bits(second.to_bits()), second);
    }
}

/// grafana/loki pull request 20477.
#[test]
fn a_refused_request_leaves_no_trace() {
    let mut bench = Bench::new(Mode::Default, queues(4, 2, 1), 1);
    bench.seats(0, 1, 0, 1);
    bench.seats(0, 2, 0, 1);
    bench.seats(0, 3, 0, 1);
    let (shape, demand) = (bench.shape(), bench.level.seats_waiting());
    assert_eq!(rejected(bench.seats(0, 4, 0, 1)), Some(Reason::QueueFull));
    assert_eq!((bench.shape(), bench.level.seats_waiting()), (shape, demand));
    assert_eq!(bench.level.requests().count(), 3);
    for work in [
        WorkEstimate::seats(0),
        WorkEstimate::seats(MAX_SEATS + 1),
        padded(1, u64::MAX, 0),
        padded(1, 1, u64::MAX),
    ] {
        let before = format!("{:?}", bench.level);
        let arrival = apf_core::Arrival { flow_hash: 0, work, token: 9 };
        let error = bench.level.arrive(SECOND, arrival, &mut bench.sink).unwrap_err();
        assert_ne!(error, ArriveError::OutOfMemory);
        assert_eq!(before, format!("{:?}", bench.level), "{error}");
    }
}

/// Netflix/concurrency-limits pull request 78: limit + 1 was admitted.
#[test]
fn limits_hold_at_the_boundary() {
    for mode in both() {
        for limit in [1u32, 2, 10] {
            let mut bench = Bench::new(mode, Queuing::Reject, limit);
            for name in 0..u64::from(limit) {
                assert!(matches!(bench.seats(0, name, 0, 1), Arrived::Executing(_)));
            }
            assert_eq!(rejected(bench.seats(0, 99, 0, 1)), Some(Reason::ConcurrencyLimit));
            bench.finish(0, 0);
            assert_eq!(
                rejected(bench.seats(0, 98, 0, 2)),
                Some(Reason::ConcurrencyLimit).filter(|_| limit > 1)
            );
        }
        let mut bench = Bench::new(mode, queues(1, 1, 3), 1);
        for name in 0..4 {
            assert_eq!(rejected(bench.seats(0, name, 0, 1)), None, "one runs, three wait");
        }
        assert_eq!(rejected(bench.seats(0, 4, 0, 1)), Some(Reason::QueueFull));
    }
}

/// Kubernetes issue 94145: the first event after a long idle time looped once per missed period.
#[test]
fn the_first_event_after_thirty_idle_days_does_no_catching_up() {
    let mut bench = Bench::new(Mode::Default, queues(64, 8, 50), 10);
    bench.seats(0, 1, 0, 1);
    bench.finish(MS, 1);
    let month = 30 * 24 * 3600 * SECOND;
    bench.seats(month, 2, 0, 1);
    assert_eq!(bench.level.progress().raw(), 100_000, "nothing was active meanwhile: 1 ms of one seat");
}

/// Waiting requests and seats are two numbers (Kubernetes pull request 119385).
#[test]
fn requests_and_seats_in_queue_are_counted_apart() {
    let mut bench = Bench::new(Mode::Default, queues(8, 1, 50), 10);
    bench.seats(0, 1, 0, 10);
    bench.seats(0, 2, 1, 10);
    bench.seats(0, 3, 2, 1);
    bench.seats(0, 4, 3, 1);
    assert_eq!((bench.level.requests_waiting(), bench.level.seats_waiting()), (3, 12));
}

// ---- borrowing ----

const LEVELS: [&str; 8] = [
    "exempt",
    "leader-election",
    "node-high",
    "system",
    "workload-high",
    "workload-low",
    "global-default",
    "catch-all",
];
const SHARES: [(u32, u32); 8] = [(0, 0), (10, 0), (40, 25), (30, 33), (40, 50), (100, 90), (20, 50), (5, 0)];

fn defaults() -> Vec<Borrower> {
    let levels = SHARES.map(|(shares, lendable_percent)| LevelShares {
        exempt: shares == 0,
        shares,
        lendable_percent,
        borrowing_limit_percent: None,
    });
    let mut limits = [LevelLimits::default(); 8];
    level_limits(600, &levels, &mut limits).unwrap();
    let of = |(limits, level): (LevelLimits, LevelShares)| Borrower {
        exempt: level.exempt,
        limits,
        stats: DemandStats::default(),
        current: limits.initial,
    };
    limits.into_iter().zip(levels).map(of).collect()
}

fn demand(high_watermark: u32, smoothed: f64) -> DemandStats {
    DemandStats { high_watermark, smoothed, ..DemandStats::default() }
}

fn limited_currents(mode: Mode, borrowers: &[Borrower]) -> (Vec<u32>, Outcome) {
    let mut out = vec![Adjusted::default(); borrowers.len()];
    let outcome = adjust(mode, borrowers, &mut out);
    (out.iter().zip(borrowers).filter(|(_, b)| !b.exempt).map(|(a, _)| a.current).collect(), outcome)
}

fn level(name: &str) -> usize {
    LEVELS.iter().position(|level| *level == name).unwrap()
}

#[test]
fn default_levels_have_the_published_nominal_and_lower_limits() {
    let limits: Vec<LevelLimits> = defaults().into_iter().skip(1).map(|b| b.limits).collect();
    let nominal: Vec<u32> = limits.iter().map(|l| l.nominal).collect();
    assert_eq!(nominal, [25, 98, 74, 98, 245, 49, 13]);
    let lendable: Vec<u32> = limits.iter().map(|l| l.nominal - l.min).collect();
    assert_eq!(lendable, [0, 25, 24, 49, 221, 25, 0]);
    let min: Vec<u32> = limits.iter().map(|l| l.min).collect();
    assert_eq!((min.iter().sum::<u32>(), min), (258, vec![25, 73, 50, 49, 24, 24, 13]));
}

#[test]
fn idle_levels_share_the_server_by_their_lower_limits() {
    for mode in both() {
        let (currents, outcome) = limited_currents(mode, &defaults());
        assert_eq!(currents, [58, 170, 117, 114, 56, 56, 30], "{mode:?}");
        assert!(outcome.fair_fraction().is_finite() && outcome.fair_fraction() > 0.0);
    }
}

/// Kubernetes issue 124125: exempt requests did not push others back.
#[test]
fn exempt_demand_comes_first_and_the_rest_is_shared() {
    let with_exempt = |seats| {
        let mut levels = defaults();
        levels[0].stats = demand(seats, f64::from(seats));
        levels
    };
    let (currents, _) = limited_currents(Mode::Default, &with_exempt(100));
    assert_eq!(currents, [49, 142, 97, 95, 47, 47, 25]);
    assert_eq!(currents.iter().sum::<u32>(), 502);
    let (exact, _) = limited_currents(Mode::Exact, &with_exempt(100));
    assert_eq!(exact, [58, 170, 117, 114, 56, 56, 30], "the reference gives these seats out twice");

    for mode in both() {
        let (currents, outcome) = limited_currents(mode, &with_exempt(400));
        assert_eq!((outcome, currents), (Outcome::MinimumsOnly, vec![25, 73, 50, 49, 24, 24, 13]));
        let mut levels = with_exempt(300);
        levels[level("workload-low")].stats = demand(245, 245.0);
        levels[level("workload-high")].stats = demand(98, 98.0);
        let (currents, outcome) = limited_currents(mode, &levels);
        assert_eq!((outcome, currents), (Outcome::Squeezed, vec![25, 73, 50, 57, 60, 24, 13]));
    }
}

#[test]
fn a_flood_borrows_what_the_others_may_lend() {
    for mode in both() {
        let mut levels = defaults();
        levels[level("workload-low")].stats = demand(500, 400.0);
        let (currents, _) = limited_currents(mode, &levels);
        assert_eq!(currents, [25, 73, 50, 49, 368, 24, 13], "{mode:?}");
    }
}

/// Kubernetes issue 111482: a way to forbid borrowing.
#[test]
fn a_borrowing_limit_caps_what_a_level_gets() {
    for mode in both() {
        for (percent, expected) in [(0, [50, 71, 29]), (20, [60, 64, 26])] {
            let mut levels = vec![];
            for (limit, high) in [(Some(percent), 500), (None, 60), (None, 0)] {
                let shares = LevelShares {
                    exempt: false,
                    shares: 50,
                    lendable_percent: 50,
                    borrowing_limit_percent: limit,
                };
                let mut limits = [LevelLimits::default(); 3];
                level_limits(150, &[shares; 3], &mut limits).unwrap();
                levels.push(Borrower {
                    exempt: false,
                    limits: limits[0],
                    stats: demand(high, f64::from(high)),
                    current: 50,
                });
            }
            let (currents, _) = limited_currents(mode, &levels);
            assert_eq!(currents, expected, "{mode:?} {percent} %");
        }
    }
}

/// Kubernetes issue 120032: one bad figure ended borrowing until a restart.
#[test]
fn an_impossible_allocation_keeps_the_limits_and_is_reported() {
    for mode in both() {
        let mut levels = defaults();
        for borrower in levels.iter_mut().filter(|b| !b.exempt) {
            borrower.limits.max = borrower.limits.min + 1; // no way to hand out all seats
            borrower.current = 7;
        }
        let (currents, outcome) = limited_currents(mode, &levels);
        assert_eq!((outcome, currents), (Outcome::Impossible, vec![7; 7]), "{mode:?}");
        assert_eq!(outcome.fair_fraction(), 0.0);
    }
}

/// Adjusting twice at one instant, then after 10 idle seconds, then after 10 seconds of constant demand.
#[test]
fn a_period_without_length_leaves_the_limits_finite() {
    for mode in both() {
        let mut bench = Bench::new(mode, queues(64, 6, 50), 74);
        let mut levels = defaults();
        let mut adjust_at = |bench: &mut Bench, now| {
            let period = bench.level.close_demand_period(now, &mut bench.sink);
            let stats = &mut levels[level("system")].stats;
            stats.update(&period);
            assert!(stats.average.is_finite() && stats.deviation.is_finite() && stats.smoothed.is_finite());
            (*stats, limited_currents(mode, &levels).0)
        };
        adjust_at(&mut bench, SECOND);
        adjust_at(&mut bench, SECOND);
        let (_, idle) = adjust_at(&mut bench, 11 * SECOND);
        assert_eq!(idle, [58, 170, 117, 114, 56, 56, 30]);
        for name in 0..40 {
            bench.seats(11 * SECOND, name, name, 1);
        }
        adjust_at(&mut bench, 11 * SECOND);
        let (stats, _) = adjust_at(&mut bench, 21 * SECOND);
        assert_eq!((stats.average, stats.deviation, stats.high_watermark), (40.0, 0.0, 40));
    }
}
