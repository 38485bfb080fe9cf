//! Requests through one level: when nothing waits, and when every seat is taken and every queue has a backlog.

use crate::{HAND, Hashes};
use apf_core::{
    Answer, Arrival, Arrived, Cause, Grant, Level, Mode, Queuing, RequestId, Sink, TakeAll, WorkEstimate,
};
use std::collections::VecDeque;

/// Seats of every level measured.
pub const SEATS: u32 = 16;
/// Requests that wait per queue, on average, while the level is saturated.
pub const BACKLOG: u32 = 2;
/// Nanoseconds between two events, where no clock is read.
const STEP: u64 = 1_000;
/// A queue length that is never reached.
const UNBOUNDED: u32 = 1 << 20;

/// Work whose cycle consists of two events, so that a host can do something of its own around each of them.
pub trait TwoEvents {
    /// The first event, at this time.
    fn first(&mut self, now: u64);
    /// The second event, at this time.
    fn second(&mut self, now: u64);
}

/// A level and a stream of flows.
struct Driven {
    level: Level,
    hashes: Hashes,
    now: u64,
}

impl Driven {
    fn new(queues: u32, queue_length_limit: u32) -> Self {
        let queuing = Queuing::Queue { queues, hand_size: HAND, queue_length_limit };
        let level = Level::new(Mode::Default, queuing, SEATS, 0).expect("a valid configuration");
        Self { level, hashes: Hashes::default(), now: 0 }
    }

    fn tick(&mut self) -> u64 {
        self.now += STEP;
        self.now
    }

    fn arrive(&mut self, now: u64, sink: &mut impl Sink) -> Arrived {
        let arrival = Arrival { flow_hash: self.hashes.draw(), work: WorkEstimate::seats(1), token: 0 };
        self.level.arrive(now, arrival, sink).expect("a valid estimate")
    }
}

/// One request at a time, in a level where nothing waits.
pub struct Idle {
    driven: Driven,
    executing: Option<RequestId>,
}

impl Idle {
    /// An idle level of this many queues.
    pub fn new(queues: u32) -> Self {
        let mut idle = Self { driven: Driven::new(queues, UNBOUNDED), executing: None };
        idle.cycle();
        idle
    }

    /// A request arrives, executes and finishes.
    pub fn cycle(&mut self) {
        let now = self.driven.tick();
        self.first(now);
        let now = self.driven.tick();
        self.second(now);
    }
}

impl TwoEvents for Idle {
    /// A request arrives and executes.
    fn first(&mut self, now: u64) {
        let Arrived::Executing(id) = self.driven.arrive(now, &mut TakeAll) else {
            panic!("an idle level admits")
        };
        self.executing = Some(id);
    }

    /// It finishes.
    fn second(&mut self, now: u64) {
        let id = self.executing.expect("a request executes");
        self.driven.level.finish(now, id, &mut TakeAll).expect("it executes");
    }
}

/// The executing requests, oldest first.
struct Running(VecDeque<RequestId>);

impl Sink for Running {
    fn grant(&mut self, grant: Grant) -> Answer {
        self.0.push_back(grant.id);
        Answer::Taken
    }
}

/// A level whose seats are all taken and whose queues all have a backlog.
pub struct Saturated {
    driven: Driven,
    running: Running,
}

impl Saturated {
    /// A saturated level of this many queues.
    pub fn new(queues: u32) -> Self {
        let running = Running(VecDeque::with_capacity(2 * SEATS as usize));
        let mut saturated = Self { driven: Driven::new(queues, UNBOUNDED), running };
        for _ in 0..SEATS + BACKLOG * queues {
            let now = saturated.driven.tick();
            saturated.driven.arrive(now, &mut saturated.running);
        }
        // Until the backlog has the shape that it keeps.
        for _ in 0..BACKLOG * queues {
            saturated.cycle();
        }
        saturated
    }

    /// The request that has run longest finishes, which starts another one; a new one arrives and waits.
    pub fn cycle(&mut self) {
        let now = self.driven.tick();
        self.first(now);
        let now = self.driven.tick();
        self.second(now);
    }

    /// Requests waiting.
    pub fn waiting(&self) -> u64 {
        self.driven.level.requests_waiting()
    }
}

impl TwoEvents for Saturated {
    /// The request that has run longest finishes, which starts another one.
    fn first(&mut self, now: u64) {
        let id = self.running.0.pop_front().expect("all seats are taken");
        self.driven.level.finish(now, id, &mut self.running).expect("it executes");
    }

    /// A new one arrives and waits.
    fn second(&mut self, now: u64) {
        let Arrived::Waiting(_) = self.driven.arrive(now, &mut self.running) else {
            panic!("a saturated level queues")
        };
    }
}

/// A level without a free seat and with full queues.
pub struct Full(Driven);

impl Full {
    /// A full level of this many queues.
    pub fn new(queues: u32) -> Self {
        let mut full = Self(Driven::new(queues, 1));
        // A flow draws a hand of five: many more requests than places fill every queue.
        for _ in 0..SEATS + 64 * queues {
            let now = full.0.tick();
            full.0.arrive(now, &mut TakeAll);
        }
        assert_eq!(full.0.level.requests_waiting(), u64::from(queues), "every queue is full");
        full
    }

    /// A request arrives and is rejected.
    pub fn cycle(&mut self) {
        let now = self.0.tick();
        let Arrived::Rejected(_) = self.0.arrive(now, &mut TakeAll) else { panic!("a full level rejects") };
    }
}

/// A level in which every request gives up while it waits.
pub struct Impatient(Saturated);

impl Impatient {
    /// A saturated level of this many queues.
    pub fn new(queues: u32) -> Self {
        let mut impatient = Self(Saturated::new(queues));
        impatient.cycle();
        impatient
    }

    /// A request arrives, waits and is cancelled.
    pub fn cycle(&mut self) {
        let Saturated { driven, running } = &mut self.0;
        let now = driven.tick();
        let Arrived::Waiting(id) = driven.arrive(now, running) else { panic!("a saturated level queues") };
        let now = driven.tick();
        driven.level.cancel(now, id, Cause::TimeOut, running).expect("it waits");
    }
}
