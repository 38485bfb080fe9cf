//! A gate under a model checker, with the books that every model keeps.
//!
//! The scenarios are written once: `rt` is loom's runtime or shuttle's. Without either the crate is empty.

#![cfg(any(loom, shuttle))]

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Wake, Waker};

use apf::gate::{Decision, Gate, Held, NoTimers, Request, Started, Ticket, Withdrawn};
use apf_core::{Cause, Level, Mode, Queuing, WorkEstimate};

/// The runtime of the model checker.
pub mod rt {
    #[cfg(loom)]
    pub use loom::{sync::atomic::AtomicBool, thread};
    #[cfg(shuttle)]
    pub use shuttle::{sync::atomic::AtomicBool, thread};
}

use rt::thread;

/// A level that queues in two queues.
pub const QUEUES: Queuing = Queuing::Queue { queues: 2, hand_size: 1, queue_length_limit: 4 };

/// One gate, and what the threads of a model hold of it.
///
/// The counts are plain atomics that the checker does not see: it runs one thread at a time, so they tell
/// what is held at every moment without adding to the interleavings.
#[derive(Debug)]
pub struct Bench {
    /// The gate.
    pub gate: Gate,
    /// The most seats that may be held at a time.
    limit: AtomicU64,
    held: AtomicU64,
    running: AtomicU64,
}

/// Wakes a thread of the model.
struct Unpark(thread::Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// A waker for the current thread of the model.
pub fn waker() -> Waker {
    Waker::from(Arc::new(Unpark(thread::current())))
}

/// A request of so many seats; flows differ by their seats.
pub fn seats(seats: u64) -> Request {
    Request { flow_hash: seats, work: WorkEstimate::seats(seats) }
}

/// A request that keeps `last` seats for `latency` after its end.
pub fn lingering(first: u64, last: u64, latency: u64) -> Request {
    let work = WorkEstimate { initial_seats: first, final_seats: last, additional_latency: latency };
    Request { flow_hash: 0, work }
}

impl Bench {
    /// A gate of that kind and limit, at time 0, with its first nodes made.
    pub fn new(queuing: Queuing, limit: u32) -> Arc<Self> {
        let bench = Self::cold(queuing, limit);
        bench.gate.tick(0);
        bench
    }

    /// The same without any node yet, for models that explore how they are made.
    pub fn cold(queuing: Queuing, limit: u32) -> Arc<Self> {
        let level = Level::new(Mode::Default, queuing, limit, 0).expect("a valid level");
        let gate = Gate::new(level, Arc::new(NoTimers));
        let limit = if queuing == Queuing::Exempt { u64::MAX } else { u64::from(limit) };
        Arc::new(Self {
            gate,
            limit: AtomicU64::new(limit),
            held: AtomicU64::new(0),
            running: AtomicU64::new(0),
        })
    }

    /// The limit may be this high from now on.
    pub fn allow(&self, limit: u64) {
        self.limit.store(limit, Ordering::Relaxed);
    }

    /// Starts a request and waits for its decision; `None` when it is refused or the level is retired.
    pub fn start(&self, now: u64, request: Request) -> Option<Ticket> {
        match self.gate.start(now, request) {
            Started::Running(ticket) => Some(self.granted(ticket)),
            Started::Pending(ticket) => self.wait(ticket),
            Started::Refused(_) | Started::Retired => None,
            Started::Invalid(error) => panic!("{error:?}"),
        }
    }

    /// Waits for a decision; a model that loses the wake-up ends in a deadlock.
    pub fn wait(&self, mut ticket: Ticket) -> Option<Ticket> {
        let waker = waker();
        loop {
            match self.gate.poll(&mut ticket, &waker) {
                Some(Decision::Granted) => return Some(self.granted(ticket)),
                Some(Decision::Refused(_)) => {
                    self.gate.forget(ticket);
                    return None;
                }
                None => thread::park(),
            }
        }
    }

    /// Notes a grant.
    pub fn granted(&self, ticket: Ticket) -> Ticket {
        let seats = self.gate.request(&ticket).expect("it runs").work.max_seats();
        let held = self.held.fetch_add(seats, Ordering::Relaxed) + seats;
        let running = self.running.fetch_add(1, Ordering::Relaxed) + 1;
        let limit = self.limit.load(Ordering::Relaxed);
        assert!(held <= limit || running == 1, "{held} seats are held by {running} requests of {limit}");
        ticket
    }

    /// Finishes a request.
    pub fn finish(&self, now: u64, ticket: Ticket) {
        let seats = self.gate.request(&ticket).expect("it runs").work.max_seats();
        self.held.fetch_sub(seats, Ordering::Relaxed);
        self.running.fetch_sub(1, Ordering::Relaxed);
        self.gate.finish(now, ticket);
    }

    /// Starts, waits and finishes.
    pub fn serve(&self, now: u64, request: Request) {
        if let Some(ticket) = self.start(now, request) {
            self.finish(now, ticket);
        }
    }

    /// Starts and gives up waiting; whether it ran.
    pub fn start_or_cancel(&self, now: u64, request: Request) -> bool {
        match self.gate.start(now, request) {
            Started::Running(ticket) => {
                self.granted_and_finished(now, ticket);
                true
            }
            Started::Pending(ticket) => self.cancel(now, ticket),
            Started::Refused(_) | Started::Retired => false,
            Started::Invalid(error) => panic!("{error:?}"),
        }
    }

    /// Gives up a pending request; whether it ran nevertheless.
    pub fn cancel(&self, now: u64, ticket: Ticket) -> bool {
        match self.gate.cancel(now, ticket, Cause::Caller) {
            Withdrawn::Running(ticket) => {
                self.granted_and_finished(now, ticket);
                true
            }
            Withdrawn::Gone | Withdrawn::Refused(_) => false,
        }
    }

    fn granted_and_finished(&self, now: u64, ticket: Ticket) {
        let ticket = self.granted(ticket);
        self.finish(now, ticket);
    }

    /// Carries out a control operation and waits for it; `false` when the level is retired.
    pub fn control(&self, now: u64, operation: impl FnOnce(&mut Held<'_>) + Send + 'static) -> bool {
        let Ok(mut ticket) = self.gate.control(now, operation) else { return false };
        let waker = waker();
        while self.gate.poll(&mut ticket, &waker).is_none() {
            thread::park();
        }
        self.gate.forget(ticket);
        true
    }

    /// At the end, with all threads joined: nothing waits, runs, is held or kept, and all `limit` seats are there.
    pub fn settled(&self, limit: u64) {
        let now = 1_000_000_000;
        assert_eq!(self.held.load(Ordering::Relaxed), 0);
        assert_eq!(self.gate.nodes_in_use(), 0, "nodes are lost");
        let books = Arc::new(AtomicU64::new(u64::MAX));
        let notes = Arc::clone(&books);
        let ticket = self.gate.control(now, move |held| {
            let level = held.level();
            let sum = level.requests_waiting() + level.requests_executing() + level.seats_in_use();
            notes.store(sum, Ordering::Relaxed);
        });
        if let Ok(ticket) = ticket {
            assert_eq!(self.gate.decision(&ticket), Some(Decision::Granted), "the role is not free");
            self.gate.forget(ticket);
            assert_eq!(books.load(Ordering::Relaxed), 0, "something is left in the core");
        }
        match self.gate.start(now, seats(limit)) {
            Started::Running(ticket) => self.gate.finish(now, ticket),
            Started::Retired => assert!(self.gate.is_retired()),
            other => panic!("not all {limit} seats are back: {other:?}"),
        }
        assert_eq!(self.gate.nodes_in_use(), 0, "nodes are lost");
    }
}

/// A thread of the model.
///
/// Not the checkers' own handles: loom's cannot be joined by a thread that a late wake-up unparks.
pub struct Joined<T> {
    ended: Arc<Ended<T>>,
}

struct Ended<T> {
    value: Mutex<Option<T>>,
    there: rt::AtomicBool,
}

/// Runs a body in a thread of the model.
pub fn spawn<T: Send + 'static>(
    bench: &Arc<Bench>,
    body: impl FnOnce(&Bench) -> T + Send + 'static,
) -> Joined<T> {
    let bench = Arc::clone(bench);
    let ended = Arc::new(Ended { value: Mutex::new(None), there: rt::AtomicBool::new(false) });
    let (end, parent) = (Arc::clone(&ended), thread::current());
    thread::spawn(move || {
        let value = body(&bench);
        drop(bench);
        *end.value.lock().expect("nobody panics") = Some(value);
        end.there.store(true, Ordering::Release);
        parent.unpark();
    });
    Joined { ended }
}

/// Waits for a thread of the model.
pub fn join<T>(thread: Joined<T>) -> T {
    while !thread.ended.there.load(Ordering::Acquire) {
        thread::park();
    }
    thread.ended.value.lock().expect("nobody panics").take().expect("joined once")
}

/// Explores every interleaving of a model, within the bound on preemptions: `LOOM_MAX_PREEMPTIONS`, or 2.
#[cfg(loom)]
pub fn explore(name: &str, model: impl Fn() + Sync + Send + 'static) {
    explore_within(2, name, model);
}

/// As [`explore`], for a model that is about something which takes so many preemptions at least.
#[cfg(loom)]
pub fn explore_within(least: usize, name: &str, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    let bound = builder.preemption_bound.unwrap_or(least).max(least);
    builder.preemption_bound = Some(bound);
    builder.max_branches = builder.max_branches.max(10_000);
    let executions = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&executions);
    let begun = std::time::Instant::now();
    builder.check(move || {
        count.fetch_add(1, Ordering::Relaxed);
        model();
    });
    println!(
        "{name}: {} executions at bound {bound} in {:.1} s",
        executions.load(Ordering::Relaxed),
        begun.elapsed().as_secs_f64()
    );
}
