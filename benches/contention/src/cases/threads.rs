//! Threads that share a level with seats for all of them: how long each start and each finish takes.

use std::collections::BTreeSet;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use apf::clock::Clock;
use apf::gate::Gate;
use apf::locked::{Locked, Shell};
use apf_benches::Hashes;

use crate::latency::{Latency, Runs};
use crate::peers::admission::{Admission, ParkingLot};
use crate::peers::{level, request};
use crate::placement;
use crate::report::Report;
use crate::rounds::{Effort, median};

/// When the next operation comes.
#[derive(Debug, Clone, Copy)]
pub enum Pace {
    /// So many nanoseconds after the last one has ended. Latency counts from the call.
    Think(u64),
    /// Every so many nanoseconds, whether the last one has ended or not. Latency counts from the time it was meant for.
    Every(u64),
}

/// Threads at their places.
#[derive(Debug, Clone)]
pub struct Load {
    /// The processor of each.
    pub places: Vec<u32>,
    /// How they work.
    pub pace: Pace,
    /// For how long.
    pub run: Duration,
}

impl Load {
    fn shares_processors(&self) -> bool {
        let places: BTreeSet<u32> = self.places.iter().copied().collect();
        places.len() < self.places.len()
    }
}

/// What became of a run.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    /// Every start.
    pub starts: Latency,
    /// Every finish.
    pub finishes: Latency,
    /// Requests a second, of all threads together.
    pub rate: f64,
}

/// One run.
///
/// # Panics
///
/// When a thread cannot be pinned, or the core has not let through what the threads have finished.
pub fn run<A: Admission>(load: &Load, clock: &Clock) -> Outcome {
    let threads = load.places.len();
    let admission = A::around(level(64, threads as u32 + 1));
    let (barrier, stop) = (Barrier::new(threads + 1), AtomicBool::new(false));
    let (outcomes, elapsed) = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|thread| {
                let (admission, barrier, stop, clock) = (&admission, &barrier, &stop, clock.clone());
                scope.spawn(move || {
                    assert!(placement::pin(load.places[thread]), "the thread is pinned");
                    barrier.wait();
                    work(admission, &clock, load, thread, stop)
                })
            })
            .collect();
        barrier.wait();
        let began = Instant::now();
        std::thread::sleep(load.run);
        stop.store(true, Ordering::Relaxed);
        let outcomes: Vec<Outcome> =
            workers.into_iter().map(|worker| worker.join().expect("a worker does not panic")).collect();
        (outcomes, began.elapsed())
    });
    let mut sum = Outcome::default();
    for outcome in &outcomes {
        sum.starts.add(&outcome.starts);
        sum.finishes.add(&outcome.finishes);
    }
    assert_eq!(admission.dispatched(), sum.finishes.count(), "every request ran");
    sum.rate = sum.finishes.count() as f64 / elapsed.as_secs_f64();
    sum
}

/// When operations are meant to begin.
struct Schedule<'a> {
    clock: &'a Clock,
    pace: Pace,
    /// Others need the processor to keep their schedules. (Who thinks keeps it: it would be interrupted nowhere else.)
    yields: bool,
    next: u64,
}

impl Schedule<'_> {
    /// Waits for the next operation; answers the time it counts from and the time it is.
    #[inline]
    fn wait(&mut self) -> (u64, u64) {
        let mut now = self.clock.now();
        while now < self.next {
            if self.yields {
                std::thread::yield_now();
            } else {
                std::hint::spin_loop();
            }
            now = self.clock.now();
        }
        match self.pace {
            Pace::Think(_) => (now, now),
            Pace::Every(_) => (self.next, now),
        }
    }

    /// The operation has ended.
    #[inline]
    fn ended(&mut self, now: u64) {
        self.next = match self.pace {
            Pace::Think(0) => 0,
            Pace::Think(think) => now + think,
            Pace::Every(period) => self.next + period,
        };
    }
}

fn work<A: Admission>(
    admission: &A,
    clock: &Clock,
    load: &Load,
    thread: usize,
    stop: &AtomicBool,
) -> Outcome {
    let mut outcome = Outcome::default();
    let mut flows = Hashes::beginning_at((thread as u64) << 32);
    let next = match load.pace {
        Pace::Think(_) => 0,
        // The threads do not begin at the same moment.
        Pace::Every(period) => clock.now() + period * (thread as u64 + 1) / load.places.len() as u64,
    };
    let yields = load.shares_processors() && matches!(load.pace, Pace::Every(_));
    let mut schedule = Schedule { clock, pace: load.pace, yields, next };
    while !stop.load(Ordering::Relaxed) {
        let asked = request(flows.draw());
        let (meant, now) = schedule.wait();
        let (handle, runs) = admission.start(now, asked);
        assert!(runs, "there are seats for all");
        let ended = clock.now();
        outcome.starts.record(ended.saturating_sub(meant));
        schedule.ended(ended);
        let (meant, now) = schedule.wait();
        admission.finish(now, handle);
        let ended = clock.now();
        outcome.finishes.record(ended.saturating_sub(meant));
        schedule.ended(ended);
    }
    outcome
}

/// Several runs of each shell in turns.
#[derive(Debug, Default)]
pub struct Compared {
    /// By [`SHELLS`].
    pub shells: [ShellRuns; 3],
}

/// The runs of one shell.
#[derive(Debug, Default)]
pub struct ShellRuns {
    starts: Runs,
    finishes: Runs,
    rates: Vec<f64>,
}

/// The gate and what it is compared with.
pub const SHELLS: [&str; 3] =
    [<Gate as Admission>::NAME, <Locked<ParkingLot<Shell>> as Admission>::NAME, <Locked as Admission>::NAME];

/// Runs every shell so many times.
pub fn compare(load: &Load, runs: u32, clock: &Clock) -> Compared {
    let run_one: [fn(&Load, &Clock) -> Outcome; 3] =
        [run::<Gate>, run::<Locked<ParkingLot<Shell>>>, run::<Locked>];
    let mut compared = Compared::default();
    for number in 0..runs as usize {
        for place in 0..SHELLS.len() {
            let shell = (place + number) % SHELLS.len();
            let Outcome { starts, finishes, rate } = run_one[shell](load, clock);
            let kept = &mut compared.shells[shell];
            kept.starts.0.push(starts);
            kept.finishes.0.push(finishes);
            kept.rates.push(rate);
        }
    }
    compared
}

impl Compared {
    /// Prints rates and percentiles of every shell under `name`; the gate's are compared with the locks'.
    pub fn report(&self, report: &mut Report, name: &str) {
        let [gate, parking_lot, _] = &self.shells;
        for (shell, runs) in SHELLS.iter().zip(&self.shells) {
            let rate = median(&runs.rates);
            let own = format!("{name}/{shell}");
            let peer = format!("{name}/{}", SHELLS[1]);
            if std::ptr::eq(runs, gate) {
                let ratios: Vec<f64> =
                    runs.rates.iter().zip(&parking_lot.rates).map(|(a, b)| a / b).collect();
                report.compared(
                    &format!("{own}/rate"),
                    rate,
                    "requests/s",
                    &format!("{peer}/rate"),
                    median(&ratios),
                );
            } else {
                report.figure(&format!("{own}/rate"), rate, "requests/s");
            }
            for (kind, latencies, others) in [
                ("start", &runs.starts, &parking_lot.starts),
                ("finish", &runs.finishes, &parking_lot.finishes),
            ] {
                let peer = format!("{peer}/{kind}");
                let compared = std::ptr::eq(runs, gate).then_some((peer.as_str(), others));
                latencies.report(report, &format!("{own}/{kind}"), compared);
            }
        }
    }

    /// In how many runs the gate's p99.99 of finish was at most a tenth of `parking_lot`'s, with both by run.
    fn tenths(&self) -> (usize, Vec<(f64, f64)>) {
        let [gate, parking_lot, _] = &self.shells;
        let pairs: Vec<_> =
            gate.finishes.each(99.99).into_iter().zip(parking_lot.finishes.each(99.99)).collect();
        (pairs.iter().filter(|(gate, lock)| *gate <= lock / 10.0).count(), pairs)
    }
}

/// Cost of an operation that a schedule leaves room for, nanoseconds.
const ROOM: u64 = 200;

/// Two threads on two processors, and eight threads on them.
pub fn case(report: &mut Report, effort: Effort, clock: &Clock) {
    let Some(pair) = placement::cpu(0).zip(placement::cpu(1)).filter(|(a, b)| a != b) else {
        return report.note("threads: one processor only, nothing measured");
    };
    let pair = [pair.0, pair.1];
    let load = |threads: usize, pace| Load {
        places: pair.iter().copied().cycle().take(threads).collect(),
        pace,
        run: effort.run,
    };
    for think in [0, 200, 1_000, 5_000] {
        let pace = if think == 0 { Pace::Think(0) } else { Pace::Every(think + ROOM) };
        let compared = compare(&load(2, pace), effort.runs, clock);
        compared.report(report, &format!("threads/2-think-{think}ns"));
    }
    for think in [0, 200] {
        let name = format!("threads/8-think-{think}ns");
        let compared = compare(&load(8, Pace::Think(think)), effort.runs, clock);
        compared.report(report, &name);
        let (met, pairs) = compared.tenths();
        let shown: Vec<String> = pairs.iter().map(|(gate, lock)| format!("{gate:.0}/{lock:.0}")).collect();
        report.aim(
            met * 5 >= pairs.len() * 4,
            &format!(
                "8 threads on 2 processors, think time {think} ns: p99.99 of finish at most a tenth of parking_lot's in \
                 4 of 5 runs; measured in {met} of {} (gate/parking_lot, ns: {})",
                pairs.len(),
                shown.join(", ")
            ),
        );
    }
    // Four threads take turns on a processor: an operation every 4 x (think + room) each is what it can serve.
    let pace = Pace::Every(4 * (200 + ROOM));
    compare(&load(8, pace), effort.runs, clock).report(report, "threads/8-scheduled-1600ns");
}
