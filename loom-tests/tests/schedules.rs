//! Random schedules of five to eight threads on a gate: all operations at once, and the books at the end.

#![cfg(shuttle)]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use apf::gate::Started;
use apf_core::Queuing;
use apf_loom::{Bench, QUEUES, join, lingering, seats, spawn};
use shuttle::rand::Rng;
use shuttle::scheduler::{PctScheduler, RandomScheduler};
use shuttle::{Config, Runner};

const LIMIT: u32 = 3;

/// What a thread does, as the schedule's own randomness has it.
fn act(bench: &Bench, thread: u64) {
    let mut random = shuttle::rand::thread_rng();
    for round in 0..3 {
        let now = 10 * round + thread;
        match random.gen_range(0..8) {
            0 => bench.gate.tick(now),
            1 => _ = bench.start_or_cancel(now, seats(random.gen_range(1..=3))),
            2 => bench.serve(now, lingering(1, random.gen_range(0..=4), random.gen_range(0..2))),
            3 => {
                let limit = random.gen_range(1..=LIMIT);
                bench.control(now, move |held| {
                    held.set_limit(limit).expect("a limit that any level may have")
                });
            }
            4 => {
                if let Ok(ticket) = bench.gate.control(now, |held| _ = held.close_demand_period()) {
                    bench.gate.forget(ticket);
                }
            }
            5 => {
                if let Started::Running(ticket) = bench.gate.try_start(now, seats(random.gen_range(1..=4))) {
                    let ticket = bench.granted(ticket);
                    bench.finish(now, ticket);
                }
            }
            _ => bench.serve(now, seats(random.gen_range(1..=4))),
        }
    }
}

fn scenario(queuing: Queuing, remove: bool) {
    let threads = shuttle::rand::thread_rng().gen_range(5..=8);
    let bench = Bench::new(queuing, LIMIT);
    let at_work = Arc::new(AtomicU64::new(threads));
    let workers: Vec<_> = (0..threads)
        .map(|thread| {
            let at_work = Arc::clone(&at_work);
            spawn(&bench, move |bench| {
                act(bench, thread);
                at_work.fetch_sub(1, Ordering::Relaxed);
            })
        })
        .collect();
    // What lingers ends by a tick: somebody has to bring it while others wait for its seats.
    let clock = spawn(&bench, move |bench: &Bench| {
        let mut now = 1_000;
        while at_work.load(Ordering::Relaxed) > 0 {
            bench.gate.tick(now);
            now += 100;
            apf_loom::rt::thread::yield_now();
        }
    });
    if remove {
        bench.control(5, |held| held.quiesce());
    }
    for worker in workers {
        join(worker);
    }
    join(clock);
    bench.gate.tick(100_000_000);
    if remove {
        assert!(bench.gate.is_retired());
    } else {
        bench.control(100_000_000, |held| held.set_limit(LIMIT).expect("a limit that any level may have"));
    }
    bench.settled(u64::from(LIMIT));
}

/// How many schedules: `APF_SCHEDULES`, or few enough for CI.
fn schedules() -> usize {
    std::env::var("APF_SCHEDULES").ok().and_then(|text| text.parse().ok()).unwrap_or(2_000)
}

fn config() -> Config {
    let mut config = Config::new();
    config.stack_size = 0x2_0000;
    config
}

fn run(queuing: Queuing, remove: bool) {
    let scenario = move || scenario(queuing, remove);
    Runner::new(RandomScheduler::new(schedules()), config()).run(scenario);
    Runner::new(PctScheduler::new(4, schedules()), config()).run(scenario);
}

#[test]
fn many_threads_queue() {
    run(QUEUES, false);
}

#[test]
fn many_threads_are_refused() {
    run(Queuing::Reject, false);
}

#[test]
fn many_threads_meet_a_removal() {
    run(QUEUES, true);
}

/// The runner does find what is wrong: a limit of one seat less than is given out.
#[test]
#[should_panic(expected = "seats are held")]
fn the_books_are_kept() {
    let scenario = || {
        let bench = Bench::new(QUEUES, LIMIT);
        bench.allow(1);
        let workers: Vec<_> =
            (0..5).map(|_| spawn(&bench, |bench: &Bench| bench.serve(1, seats(1)))).collect();
        workers.into_iter().for_each(|worker| join(worker));
        drop(Arc::clone(&bench));
    };
    Runner::new(RandomScheduler::new(200), config()).run(scenario);
}
