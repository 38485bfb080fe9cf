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
/// Nanoseconds between two events.
const STEP: u64 = 1_000;

fn queuing(queues: u32, queue_length_limit: u32) -> Queuing {
    Queuing::Queue { queues, hand_size: HAND, queue_length_limit }
}

/// A level with a clock and a stream of flows.
struct Driven {
    level: Level,
    hashes: Hashes,
    now: u64,
}

impl Driven {
    fn new(queues: u32, seats: u32, queue_length_limit: u32) -> Self {
        let level = Level::new(Mode::Default, queuing(queues, queue_length_limit), seats, 0);
        Self { level: level.expect("a valid configuration"), hashes: Hashes::default(), now: 0 }
    }

    fn tick(&mut self) -> u64 {
        self.now += STEP;
        self.now
    }

    fn arrive(&mut self, sink: &mut impl Sink) -> Arrived {
        let arrival = Arrival { flow_hash: self.hashes.draw(), work: WorkEstimate::seats(1), token: 0 };
        let now = self.tick();
        self.level.arrive(now, arrival, sink).expect("a valid estimate")
    }
}

/// One request at a time, in a level where nothing waits.
pub struct Idle(Driven);

impl Idle {
    /// An idle level of this many queues.
    pub fn new(queues: u32) -> Self {
        let mut idle = Self(Driven::new(queues, SEATS, 1 << 20));
        idle.cycle();
        idle
    }

    /// A request arrives, executes and finishes.
    pub fn cycle(&mut self) {
        let Arrived::Executing(id) = self.0.arrive(&mut TakeAll) else { panic!("an idle level admits") };
        let now = self.0.tick();
        self.0.level.finish(now, id, &mut TakeAll).expect("it executes");
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
        let driven = Driven::new(queues, SEATS, 1 << 20);
        let mut saturated = Self { driven, running: Running(VecDeque::with_capacity(2 * SEATS as usize)) };
        for _ in 0..SEATS + BACKLOG * queues {
            saturated.driven.arrive(&mut saturated.running);
        }
        // Until the backlog has the shape that it keeps.
        for _ in 0..BACKLOG * queues {
            saturated.cycle();
        }
        saturated
    }

    /// The request that has run longest finishes, which starts another one; a new one arrives and waits.
    pub fn cycle(&mut self) {
        let id = self.running.0.pop_front().expect("all seats are taken");
        let now = self.driven.tick();
        self.driven.level.finish(now, id, &mut self.running).expect("it executes");
        let Arrived::Waiting(_) = self.driven.arrive(&mut self.running) else {
            panic!("a saturated level queues")
        };
    }

    /// Requests waiting.
    pub fn waiting(&self) -> u64 {
        self.driven.level.requests_waiting()
    }
}

/// A level without a free seat and with full queues.
pub struct Full(Driven);

impl Full {
    /// A full level of this many queues.
    pub fn new(queues: u32) -> Self {
        let mut full = Self(Driven::new(queues, SEATS, 1));
        // A flow draws a hand of five: many more requests than places fill every queue.
        for _ in 0..SEATS + 64 * queues {
            full.0.arrive(&mut TakeAll);
        }
        assert_eq!(full.0.level.requests_waiting(), u64::from(queues), "every queue is full");
        full
    }

    /// A request arrives and is rejected.
    pub fn cycle(&mut self) {
        let Arrived::Rejected(_) = self.0.arrive(&mut TakeAll) else { panic!("a full level rejects") };
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
        let Arrived::Waiting(id) = driven.arrive(running) else { panic!("a saturated level queues") };
        let now = driven.tick();
        driven.level.cancel(now, id, Cause::TimeOut, running).expect("it waits");
    }
}
