//! Admission while another thread changes a large configuration again and again.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use apf::Dispatcher;
use apf::clock::Clock;
use apf_config::{Objects, bootstrap};

use crate::latency::{Latency, Runs};
use crate::peers::dispatcher::{list, schemas, user};
use crate::placement;
use crate::report::Report;
use crate::rounds::{Effort, median};

const SCHEMAS: u32 = 1_000;
/// Between two changes.
const EVERY: Duration = Duration::from_millis(50);
/// Between two requests, nanoseconds.
const REQUEST_EVERY: u64 = 2_000;

struct Outcome {
    /// From the time a request was meant to arrive until it was admitted.
    admitted: Latency,
    /// How long the call took.
    called: Latency,
    changes: u64,
}

/// Admits on a schedule; with `changing`, another thread reconfigures meanwhile.
fn run(run: Duration, clock: &Clock, variants: &[Objects; 2], changing: bool) -> Outcome {
    let dispatcher =
        Dispatcher::builder().seats(6000).objects(variants[0].clone()).clock(clock.clone()).build();
    let dispatcher = dispatcher.expect("a valid configuration");
    let (stop, changes) = (AtomicBool::new(false), AtomicU64::new(0));
    let users: Vec<String> = [0, SCHEMAS / 2, SCHEMAS - 1, SCHEMAS].map(user).to_vec();
    let (mut admitted, mut called) = (Latency::default(), Latency::default());
    std::thread::scope(|scope| {
        let changer = scope.spawn(|| {
            placement::cpu(1).map(placement::pin);
            for variant in [1, 0].into_iter().cycle() {
                std::thread::park_timeout(EVERY);
                if stop.load(Ordering::Relaxed) {
                    return;
                }
                if changing {
                    dispatcher.reconfigure(variants[variant].clone()).expect("a valid configuration");
                    changes.fetch_add(1, Ordering::Relaxed);
                }
            }
        });
        placement::cpu(0).map(placement::pin);
        let (mut next, end) = (clock.now(), clock.now() + run.as_nanos() as u64);
        let mut turn = 0;
        while next < end {
            turn = (turn + 1) % users.len();
            let attributes = list(&users[turn]);
            let mut now = clock.now();
            while now < next {
                std::hint::spin_loop();
                now = clock.now();
            }
            let permit = dispatcher.try_admit(attributes).expect("a seat is free");
            let ended = clock.now();
            admitted.record(ended.saturating_sub(next));
            called.record(ended.saturating_sub(now));
            drop(permit);
            next += REQUEST_EVERY;
        }
        stop.store(true, Ordering::Relaxed);
        changer.thread().unpark();
    });
    let served: u64 = dispatcher.stats().schemas.iter().map(|schema| schema.dispatched).sum();
    assert_eq!(served, admitted.count(), "every request was counted once, whatever the configuration was");
    Outcome { admitted, called, changes: changes.into_inner() }
}

/// With changes and without, in turns.
pub fn case(report: &mut Report, effort: Effort, clock: &Clock) {
    let variant = |level| bootstrap::with_own(&schemas(SCHEMAS, level));
    let variants = [variant("catch-all"), variant("workload-low")];
    let length = effort.run.max(4 * EVERY);
    let mut quiet = [Runs::default(), Runs::default()];
    let mut changing = [Runs::default(), Runs::default()];
    let mut changes = Vec::new();
    for _ in 0..effort.runs {
        let outcome = run(length, clock, &variants, false);
        quiet[0].0.push(outcome.admitted);
        quiet[1].0.push(outcome.called);
        let outcome = run(length, clock, &variants, true);
        changing[0].0.push(outcome.admitted);
        changing[1].0.push(outcome.called);
        changes.push(outcome.changes as f64);
    }
    let per_second = median(&changes) / length.as_secs_f64();
    report.figure("reconfiguration/changes/1000", per_second, "changes/s");
    for (place, what) in ["from-intended", "call"].into_iter().enumerate() {
        let base = format!("reconfiguration/quiet-{what}");
        quiet[place].report(report, &base, None);
        let name = format!("reconfiguration/changing-{what}");
        changing[place].report(report, &name, Some((&base, &quiet[place])));
    }
}
