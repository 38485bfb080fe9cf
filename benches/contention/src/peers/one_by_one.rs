//! One request at a time through a level in which nothing waits.

use apf::clock::Clock;
use apf_benches::Hashes;

use super::admission::Admission;
use super::{SEATS, level, request};
use crate::rounds::Peer;

/// Reads the clock, starts a request, reads the clock, finishes it.
pub struct OneByOne<A> {
    admission: A,
    clock: Clock,
    hashes: Hashes,
}

impl<A: Admission> OneByOne<A> {
    /// A level of so many queues.
    pub fn new(queues: u32, clock: Clock) -> Self {
        Self { admission: A::around(level(queues, SEATS)), clock, hashes: Hashes::default() }
    }
}

impl<A: Admission> Peer for OneByOne<A> {
    fn serve(&mut self, requests: u64) {
        for _ in 0..requests {
            let request = request(self.hashes.draw());
            let (handle, runs) = self.admission.start(self.clock.now(), request);
            assert!(runs, "nothing else is in the level");
            self.admission.finish(self.clock.now(), handle);
        }
    }

    fn served(&self) -> u64 {
        self.admission.dispatched()
    }
}

/// The bare core: what the shells add to is this.
pub struct Bare {
    level: apf_core::Level,
    clock: Clock,
    hashes: Hashes,
}

impl Bare {
    /// A level of so many queues.
    pub fn new(queues: u32, clock: Clock) -> Self {
        Self { level: level(queues, SEATS), clock, hashes: Hashes::default() }
    }
}

impl Peer for Bare {
    fn serve(&mut self, requests: u64) {
        for _ in 0..requests {
            let arrival = apf_core::Arrival {
                flow_hash: self.hashes.draw(),
                work: apf_core::WorkEstimate::seats(1),
                token: 0,
            };
            let now = self.clock.now();
            let Ok(apf_core::Arrived::Executing(id)) =
                self.level.arrive(now, arrival, &mut apf_core::TakeAll)
            else {
                panic!("nothing else is in the level")
            };
            let now = self.clock.now();
            self.level.finish(now, id, &mut apf_core::TakeAll).expect("it runs");
        }
    }

    fn served(&self) -> u64 {
        self.level.counters().dispatched
    }
}

/// The bare core behind a standard mutex, which nobody could wait at: the least that a lock costs.
pub struct BareMutex {
    level: std::sync::Mutex<apf_core::Level>,
    clock: Clock,
    hashes: Hashes,
}

impl BareMutex {
    /// A level of so many queues.
    pub fn new(queues: u32, clock: Clock) -> Self {
        Self { level: std::sync::Mutex::new(level(queues, SEATS)), clock, hashes: Hashes::default() }
    }
}

impl Peer for BareMutex {
    fn serve(&mut self, requests: u64) {
        let lock = || self.level.lock().expect("nobody panics");
        for _ in 0..requests {
            let arrival = apf_core::Arrival {
                flow_hash: self.hashes.draw(),
                work: apf_core::WorkEstimate::seats(1),
                token: 0,
            };
            let now = self.clock.now();
            let Ok(apf_core::Arrived::Executing(id)) = lock().arrive(now, arrival, &mut apf_core::TakeAll)
            else {
                panic!("nothing else is in the level")
            };
            let now = self.clock.now();
            lock().finish(now, id, &mut apf_core::TakeAll).expect("it runs");
        }
    }

    fn served(&self) -> u64 {
        self.level.lock().expect("nobody panics").counters().dispatched
    }
}

/// Only what surrounds the requests of [`OneByOne`]: two readings of the clock and a flow.
pub struct Nothing {
    clock: Clock,
    hashes: Hashes,
    served: u64,
}

impl Nothing {
    /// With that clock.
    pub fn new(clock: Clock) -> Self {
        Self { clock, hashes: Hashes::default(), served: 0 }
    }
}

impl Peer for Nothing {
    fn serve(&mut self, requests: u64) {
        for _ in 0..requests {
            std::hint::black_box(self.hashes.draw());
            std::hint::black_box(self.clock.now());
            std::hint::black_box(self.clock.now());
            self.served += 1;
        }
    }

    fn served(&self) -> u64 {
        self.served
    }
}
