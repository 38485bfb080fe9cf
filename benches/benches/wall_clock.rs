//! Time per request. The `host` groups add what a host adds: a mutex around the level and a reading of the clock
//! for each event, as the reference has them.

use apf_benches::QUEUES;
use apf_benches::classification::Classification;
use apf_benches::dispatch::{Idle, Saturated, TwoEvents};
use apf_benches::limits::{Hands, Server};
use criterion::{BenchmarkId, Criterion};
use std::hint::black_box;
use std::sync::{Mutex, OnceLock};
use std::time::Instant;

fn per_queues<W>(criterion: &mut Criterion, name: &str, new: fn(u32) -> W, cycle: fn(&mut W)) {
    let mut group = criterion.benchmark_group(name);
    for queues in QUEUES {
        let mut work = new(queues);
        group
            .bench_function(BenchmarkId::from_parameter(queues), |bencher| bencher.iter(|| cycle(&mut work)));
    }
    group.finish();
}

/// The same cycle as its host runs it: each event under the lock, and with the time on the clock.
fn in_a_host<W: TwoEvents>(criterion: &mut Criterion, name: &str, new: fn(u32) -> W) {
    let mut group = criterion.benchmark_group(name);
    for queues in QUEUES {
        let work = Mutex::new(new(queues));
        let event = |run: fn(&mut W, u64)| {
            let mut work = work.lock().expect("no panic under the lock");
            run(&mut work, now());
        };
        group.bench_function(BenchmarkId::from_parameter(queues), |bencher| {
            bencher.iter(|| {
                event(W::first);
                event(W::second);
            });
        });
    }
    group.finish();
}

/// Nanoseconds since long before the process began, so that the time never steps back behind the set-up's.
fn now() -> u64 {
    static ORIGIN: OnceLock<Instant> = OnceLock::new();
    const AFTER_ANY_SET_UP: u64 = 1 << 40;
    let elapsed = ORIGIN.get_or_init(Instant::now).elapsed();
    AFTER_ANY_SET_UP + u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX / 2)
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    per_queues(&mut criterion, "idle", Idle::new, Idle::cycle);
    per_queues(&mut criterion, "saturated", Saturated::new, Saturated::cycle);
    in_a_host(&mut criterion, "host-idle", Idle::new);
    in_a_host(&mut criterion, "host-saturated", Saturated::new);
    per_queues(&mut criterion, "deal", Hands::new, |work| {
        black_box(work.cycle());
    });
    let mut group = criterion.benchmark_group("classify");
    for schemas in [10, 100, 1000] {
        let mut work = Classification::new(schemas);
        group.bench_function(BenchmarkId::from_parameter(schemas), |bencher| bencher.iter(|| work.cycle()));
    }
    group.finish();
    let mut group = criterion.benchmark_group("adjust");
    for levels in [8, 100] {
        let mut work = Server::new(levels);
        group.bench_function(BenchmarkId::from_parameter(levels), |bencher| bencher.iter(|| work.cycle()));
    }
    group.finish();
    criterion.final_summary();
}
