//! Every seat taken and 200 requests waiting, driven by one and by two threads.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

use apf::clock::Clock;
use apf::gate::Gate;
use apf::locked::{Locked, Shell};

use crate::latency::{Latency, Runs};
use crate::peers::admission::{Admission, ParkingLot};
use crate::peers::crowd::{Crowd, OneCrowd};
use crate::peers::{SEATS, level};
use crate::placement;
use crate::report::Report;
use crate::rounds::{Effort, Lanes, median};

/// Requests that wait all the time.
const WAITING: u32 = 200;

struct Outcome {
    starts: Latency,
    finishes: Latency,
    /// Nanoseconds an operation, the two threads together.
    each: f64,
}

/// Two pinned threads, each with half of the requests.
fn two_threads<A: Admission>(run: Duration, clock: &Clock, places: [u32; 2]) -> Outcome {
    let admission = Arc::new(A::around(level(64, SEATS)));
    let (barrier, stop) = (Barrier::new(3), AtomicBool::new(false));
    let mut elapsed = Duration::ZERO;
    let crowds: Vec<(Latency, Latency, u64, u64)> = std::thread::scope(|scope| {
        let workers: Vec<_> = places
            .iter()
            .zip(0..)
            .map(|(&place, thread)| {
                let (admission, clock, barrier, stop) =
                    (Arc::clone(&admission), clock.clone(), &barrier, &stop);
                scope.spawn(move || {
                    assert!(placement::pin(place), "the thread is pinned");
                    let mut crowd = Crowd::new(admission, clock, (SEATS + WAITING) / 2, thread);
                    barrier.wait();
                    while !stop.load(Ordering::Relaxed) {
                        if !crowd.timed_turn() {
                            std::hint::spin_loop();
                        }
                    }
                    crowd.drain();
                    (
                        std::mem::take(&mut crowd.starts),
                        std::mem::take(&mut crowd.finishes),
                        crowd.finished(),
                        crowd.waited(),
                    )
                })
            })
            .collect();
        barrier.wait();
        let began = Instant::now();
        std::thread::sleep(run);
        stop.store(true, Ordering::Relaxed);
        elapsed = began.elapsed();
        workers.into_iter().map(|worker| worker.join().expect("a worker does not panic")).collect()
    });
    let (mut starts, mut finishes) = (Latency::default(), Latency::default());
    let (mut finished, mut waited) = (0, 0);
    for (own_starts, own_finishes, own_finished, own_waited) in &crowds {
        starts.add(own_starts);
        finishes.add(own_finishes);
        finished += own_finished;
        waited += own_waited;
    }
    assert_eq!(admission.dispatched(), finished, "every request ran");
    assert!(waited * 100 >= finished * 95, "nearly every request waited: {waited} of {finished}");
    let each = elapsed.as_secs_f64() * 1e9 / (starts.count() + finishes.count()) as f64;
    Outcome { starts, finishes, each }
}

/// One thread in rounds, then two threads in runs.
pub fn case(report: &mut Report, effort: Effort, clock: &Clock) {
    let mut lanes = Lanes::default();
    for queues in [64, 128] {
        let name = |shell: &str| format!("saturated/{shell}/{queues}");
        lanes.add(name("gate"), OneCrowd::<Gate>::new(queues, WAITING, clock.clone()));
        lanes.add(name("std-mutex"), OneCrowd::<Locked>::new(queues, WAITING, clock.clone()));
        lanes.add(
            name("parking_lot"),
            OneCrowd::<Locked<ParkingLot<Shell>>>::new(queues, WAITING, clock.clone()),
        );
    }
    lanes.measure(effort);
    lanes.report(report, "saturated/gate/64");

    let Some(pair) = placement::cpu(0).zip(placement::cpu(1)).filter(|(a, b)| a != b) else {
        return report.note("saturated: one processor only, nothing measured with two threads");
    };
    type TwoThreads = fn(Duration, &Clock, [u32; 2]) -> Outcome;
    let shells: [(&str, TwoThreads); 3] = [
        (<Gate as Admission>::NAME, two_threads::<Gate>),
        (<Locked<ParkingLot<Shell>> as Admission>::NAME, two_threads::<Locked<ParkingLot<Shell>>>),
        (<Locked as Admission>::NAME, two_threads::<Locked>),
    ];
    let mut starts = [const { Runs(Vec::new()) }; 3];
    let mut finishes = [const { Runs(Vec::new()) }; 3];
    let mut each = [const { Vec::new() }; 3];
    for number in 0..effort.runs as usize {
        for place in 0..shells.len() {
            let shell = (place + number) % shells.len();
            let outcome = shells[shell].1(effort.run, clock, [pair.0, pair.1]);
            starts[shell].0.push(outcome.starts);
            finishes[shell].0.push(outcome.finishes);
            each[shell].push(outcome.each);
        }
    }
    for (shell, (name, _)) in shells.iter().enumerate() {
        report.figure(&format!("saturated-2-threads/{name}/operation"), median(&each[shell]), "ns");
        starts[shell].report(report, &format!("saturated-2-threads/{name}/start"), None);
        finishes[shell].report(report, &format!("saturated-2-threads/{name}/finish"), None);
    }
    for (kind, runs) in [("start", &starts), ("finish", &finishes)] {
        let [gate, parking_lot, std] = runs.each_ref().map(|runs| median(&runs.each(99.0)));
        for (lock, latency) in [("parking_lot", parking_lot), ("std", std)] {
            report.aim(
                gate <= latency,
                &format!(
                    "saturated, 2 threads: p99 of {kind} not worse than {lock}'s mutex; measured {gate:.0} and {latency:.0} ns"
                ),
            );
        }
    }
}
