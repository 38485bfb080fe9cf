//! Everything at once, at random, for as long as asked: 8 threads, 64 levels, a new configuration every 50 ms,
//! panics, abandoned futures, short deadlines, lingering seats. At every quiet point the books must balance.
//!
//! `cargo run --release -p apf --example stress -- --seconds 600 --seed 1`

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a check that fails by panicking and prints what it saw"
)]

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use apf::{AdmitError, Dispatcher, OwnedPermit, Reason, Request, RequestAttributes, WorkEstimate};
use apf_config::Objects;
use apf_config::objects::{
    FlowSchema, FlowSchemaSpec, LimitResponse, Limited, ObjectMeta, PriorityLevelConfiguration,
    PriorityLevelSpec, QueuingConfiguration, ResourceRule, Rule, Subject,
};

const THREADS: usize = 8;
const LEVELS: usize = 64;
/// Levels of even number neither lend nor borrow: their limit is always this.
const FIXED_SEATS: u64 = 4;
const SEATS: i64 = (LEVELS as i64) * FIXED_SEATS as i64 + 5;
/// A wait with this limit that times out is a lost wake-up: nobody holds a seat for more than a few milliseconds.
const PATIENCE: Duration = Duration::from_secs(20);

struct Random(u64);

impl Random {
    fn next(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }
}

/// A level, under a name that changes when it is replaced, and the schema that leads to it.
fn level(number: usize, name: &str, random: &mut Random) -> (PriorityLevelConfiguration, FlowSchema) {
    let fixed = number.is_multiple_of(2);
    let queues = [1, 2, 8, 64][random.next(4) as usize];
    let queuing = QueuingConfiguration {
        queues,
        hand_size: queues.min(1 + random.next(8) as i32),
        queue_length_limit: 1 + random.next(20) as i32,
    };
    let rejects = number % 8 == 5;
    let limited = Limited {
        nominal_concurrency_shares: Some(FIXED_SEATS as i32),
        lendable_percent: Some(if fixed { 0 } else { 50 }),
        borrowing_limit_percent: if fixed { Some(0) } else { None },
        limit_response: LimitResponse {
            kind: if rejects { "Reject" } else { "Queue" }.to_owned(),
            queuing: (!rejects).then_some(queuing),
        },
    };
    let metadata = ObjectMeta { name: name.to_owned(), ..ObjectMeta::default() };
    let priority_level = PriorityLevelConfiguration {
        metadata: metadata.clone(),
        spec: PriorityLevelSpec { kind: "Limited".to_owned(), limited: Some(limited), exempt: None },
        ..PriorityLevelConfiguration::default()
    };
    let any = || vec!["*".to_owned()];
    let schema = FlowSchema {
        metadata,
        spec: FlowSchemaSpec {
            priority_level: name.to_owned(),
            matching_precedence: 100,
            distinguisher_method: Some(apf_config::objects::DistinguisherMethod::ByUser),
            rules: vec![Rule {
                subjects: vec![Subject {
                    kind: "Group".to_owned(),
                    group: Some(format!("group-{number}")),
                    ..Subject::default()
                }],
                resource_rules: vec![ResourceRule {
                    verbs: any(),
                    api_groups: any(),
                    resources: any(),
                    cluster_scope: true,
                    namespaces: any(),
                }],
                non_resource_rules: Vec::new(),
            }],
        },
        ..FlowSchema::default()
    };
    (priority_level, schema)
}

fn configuration(random: &mut Random) -> Objects {
    let mut objects = Objects::default();
    for number in 0..LEVELS {
        // A level of odd number may be replaced by another of the same shares.
        let name = if number % 2 == 1 {
            format!("level-{number}-{}", random.next(2))
        } else {
            format!("level-{number}")
        };
        let (priority_level, schema) = level(number, &name, random);
        objects.priority_levels.push(priority_level);
        objects.flow_schemas.push(schema);
    }
    objects
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// What the threads saw, to be compared with what the dispatcher counted.
#[derive(Default)]
struct Seen {
    arrived: AtomicU64,
    executed: AtomicU64,
    refused: AtomicU64,
    dropped: AtomicU64,
    panicked: AtomicU64,
    /// Seats held at the levels of a fixed limit.
    held: Vec<AtomicU64>,
}

struct Job<'a> {
    dispatcher: &'a Dispatcher,
    seen: &'a Seen,
    random: Random,
    waker: Waker,
}

impl Job<'_> {
    fn hold(&mut self, number: usize, seats: u64) {
        let held = &self.seen.held[number];
        if number.is_multiple_of(2) {
            let now = held.fetch_add(seats, Ordering::Relaxed) + seats;
            assert!(now <= FIXED_SEATS, "level {number}: {now} seats of {FIXED_SEATS}");
        }
        match self.random.next(16) {
            0 => thread::sleep(Duration::from_micros(self.random.next(300))),
            1..=4 => thread::yield_now(),
            _ => {}
        }
        if number.is_multiple_of(2) {
            held.fetch_sub(seats, Ordering::Relaxed);
        }
        self.seen.executed.fetch_add(1, Ordering::Relaxed);
    }

    fn refused(&self, error: &AdmitError, patient: bool) {
        let rejected = error.rejected().unwrap_or_else(|| panic!("{error}"));
        assert!(!(patient && rejected.reason == Reason::TimeOut), "a lost wake-up: {rejected}");
        self.seen.refused.fetch_add(1, Ordering::Relaxed);
    }

    fn one(&mut self) {
        let number = self.random.next(LEVELS as u64) as usize;
        let group = format!("group-{number}");
        let user = format!("user-{}", self.random.next(10));
        let groups = [group.as_str()];
        let attributes = RequestAttributes::resource("get", "pods").by(&user, &groups[..]);
        let fixed = number.is_multiple_of(2);
        let seats = 1 + self.random.next(if fixed { FIXED_SEATS } else { 12 });
        let lingers = self.random.next(4) == 0;
        let work = WorkEstimate {
            initial_seats: seats,
            final_seats: if lingers { 1 + self.random.next(if fixed { FIXED_SEATS } else { 12 }) } else { 0 },
            additional_latency: if lingers { self.random.next(3_000_000) } else { 0 },
        };
        let patient = self.random.next(2) == 0;
        let limit = if patient { PATIENCE } else { Duration::from_micros(self.random.next(2000)) };
        let request = Request::from(attributes).with_work(work).with_wait_limit(limit);
        self.seen.arrived.fetch_add(1, Ordering::Relaxed);
        let dispatcher = self.dispatcher;
        match self.random.next(8) {
            0 | 1 => match dispatcher.try_admit(request) {
                Ok(_permit) => self.hold(number, work.max_seats()),
                Err(error) => self.refused(&error, false),
            },
            2 => match dispatcher.admit_blocking(request) {
                Ok(mut permit) => {
                    self.hold(number, work.max_seats());
                    permit.release_early();
                    thread::yield_now();
                }
                Err(error) => self.refused(&error, patient),
            },
            3 => {
                // Dropped at some point of its life.
                let mut context = Context::from_waker(&self.waker);
                let mut future = Box::pin(dispatcher.admit(request));
                for _ in 0..self.random.next(3) {
                    match future.as_mut().poll(&mut context) {
                        Poll::Ready(Ok(_permit)) => return self.hold(number, work.max_seats()),
                        Poll::Ready(Err(error)) => return self.refused(&error, patient),
                        Poll::Pending => thread::yield_now(),
                    }
                }
                self.seen.dropped.fetch_add(1, Ordering::Relaxed);
            }
            4 => match dispatcher.admit_blocking_owned(request) {
                Ok(permit) => {
                    self.hold(number, work.max_seats());
                    elsewhere(permit);
                }
                Err(error) => self.refused(&error, patient),
            },
            5 => {
                let outcome = catch_unwind(AssertUnwindSafe(|| match dispatcher.admit_blocking(request) {
                    Ok(_permit) => resume_unwind(Box::new("handler")),
                    Err(error) => self.refused(&error, patient),
                }));
                if outcome.is_err() {
                    self.seen.panicked.fetch_add(1, Ordering::Relaxed);
                }
            }
            _ => {
                let waker = self.waker.clone();
                let mut context = Context::from_waker(&waker);
                let mut future = pin!(dispatcher.admit(request));
                let outcome = loop {
                    match future.as_mut().poll(&mut context) {
                        Poll::Ready(outcome) => break outcome,
                        Poll::Pending => thread::park(),
                    }
                };
                match outcome {
                    Ok(_permit) => self.hold(number, work.max_seats()),
                    Err(error) => self.refused(&error, patient),
                }
            }
        }
    }
}

/// Ends a permit on another thread.
fn elsewhere(permit: OwnedPermit) {
    std::thread_local! {
        static OTHER: std::sync::mpsc::Sender<(OwnedPermit, Arc<Barrier>)> = {
            let (send, receive) = std::sync::mpsc::channel::<(OwnedPermit, Arc<Barrier>)>();
            thread::spawn(move || for (permit, done) in receive {
                drop(permit);
                done.wait();
            });
            send
        };
    }
    let done = Arc::new(Barrier::new(2));
    OTHER.with(|other| other.send((permit, done.clone())).unwrap());
    done.wait();
}

fn main() {
    let mut seconds = 60;
    let mut seed = 1;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let value = arguments.next().and_then(|value| value.parse().ok());
        match (argument.as_str(), value) {
            ("--seconds", Some(value)) => seconds = value,
            ("--seed", Some(value)) => seed = value,
            _ => {
                println!("usage: stress [--seconds N] [--seed N]");
                std::process::exit(2);
            }
        }
    }

    let mut random = Random(seed);
    let dispatcher = Dispatcher::builder().seats(SEATS).objects(configuration(&mut random)).build().unwrap();
    let held = (0..LEVELS).map(|_| AtomicU64::new(0)).collect();
    let seen = Seen { held, ..Seen::default() };
    let paused = AtomicBool::new(false);
    let stopped = AtomicBool::new(false);
    let (quiet, go) = (Barrier::new(THREADS + 1), Barrier::new(THREADS + 1));
    let begun = Instant::now();
    let (mut quiet_points, mut reconfigurations) = (0, 0u64);
    thread::scope(|scope| {
        for number in 0..THREADS as u64 {
            let (dispatcher, seen, paused, stopped, quiet, go) =
                (&dispatcher, &seen, &paused, &stopped, &quiet, &go);
            scope.spawn(move || {
                let waker = Waker::from(Arc::new(Unpark(thread::current())));
                let mut job = Job { dispatcher, seen, random: Random(seed * 1000 + number), waker };
                loop {
                    if paused.load(Ordering::Acquire) {
                        quiet.wait();
                        go.wait();
                        if stopped.load(Ordering::Acquire) {
                            return;
                        }
                    }
                    job.one();
                }
            });
        }
        loop {
            for _ in 0..20 {
                thread::sleep(Duration::from_millis(50));
                dispatcher.reconfigure(configuration(&mut random)).unwrap();
                reconfigurations += 1;
            }
            let last = begun.elapsed() >= Duration::from_secs(seconds);
            paused.store(true, Ordering::Release);
            quiet.wait();
            thread::sleep(Duration::from_millis(30)); // the longest additional latency is 3 ms, 36 ms stretched on one seat
            check(&dispatcher, &seen);
            quiet_points += 1;
            paused.store(false, Ordering::Release);
            stopped.store(last, Ordering::Release);
            go.wait();
            if last {
                break;
            }
        }
    });
    let load = |count: &AtomicU64| count.load(Ordering::Relaxed);
    println!(
        "seed {seed}: {} s, {quiet_points} quiet points, {reconfigurations} reconfigurations, {} arrived, {} executed, \
         {} refused, {} dropped, {} panicked; books balance, 0 seats and 0 nodes leaked, 0 lost wake-ups",
        begun.elapsed().as_secs(),
        load(&seen.arrived),
        load(&seen.executed),
        load(&seen.refused),
        load(&seen.dropped),
        load(&seen.panicked),
    );
}

/// Nothing is under way: everything must have come back, and every arrival must have one outcome.
fn check(dispatcher: &Dispatcher, seen: &Seen) {
    let patience = Instant::now();
    let stats = loop {
        let stats = dispatcher.stats();
        if stats.levels.iter().all(|level| level.seats_in_use == 0)
            || patience.elapsed() > Duration::from_secs(5)
        {
            break stats;
        }
        // Lingering seats of a level that nobody waits for come back with its next event: the statistics are one.
        thread::sleep(Duration::from_millis(5));
    };
    for level in &stats.levels {
        assert_eq!(
            (level.seats_in_use, level.requests_waiting, level.requests_executing, level.seats_waiting),
            (0, 0, 0, 0),
            "{level:?}"
        );
    }
    let (mut arrived, mut dispatched, mut rejected) = (0, 0, 0);
    for schema in &stats.schemas {
        assert_eq!(
            (schema.waiting, schema.waiting_seats, schema.executing, schema.executing_seats),
            (0, 0, 0, 0)
        );
        let refused: u64 = schema.rejected.iter().sum();
        assert_eq!(schema.arrived, schema.dispatched + refused, "{schema:?}");
        arrived += schema.arrived;
        dispatched += schema.dispatched;
        rejected += refused;
    }
    let load = |count: &AtomicU64| count.load(Ordering::Relaxed);
    assert_eq!(arrived, load(&seen.arrived));
    // A future that was dropped counts with the rejected ones, unless it had its permit by then.
    assert_eq!(dispatched + rejected, arrived);
    let ended = load(&seen.executed) + load(&seen.refused) + load(&seen.dropped) + load(&seen.panicked);
    assert_eq!(ended, arrived);
    assert!(dispatched >= load(&seen.executed) + load(&seen.panicked));
    assert_eq!(dispatcher.nodes_in_use(), 0, "nodes leaked");
}
