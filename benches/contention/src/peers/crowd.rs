//! A level whose seats are all taken and where many wait, as logical requests that a few threads drive.

use std::sync::Arc;
use std::task::{Wake, Waker};

use apf::clock::Clock;
use apf_benches::Hashes;
use crossbeam_queue::ArrayQueue;

use super::admission::Admission;
use super::{SEATS, level, request};
use crate::latency::Latency;
use crate::rounds::Peer;

/// Says which logical request may go on.
struct Ready {
    slot: u32,
    list: Arc<ArrayQueue<u32>>,
}

impl Ready {
    fn push(&self) {
        self.list.push(self.slot).expect("a slot is on the list at most once");
    }
}

impl Wake for Ready {
    fn wake(self: Arc<Self>) {
        self.push();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.push();
    }
}

/// Logical requests of one thread, each of which arrives again as soon as it has been served.
pub struct Crowd<A: Admission> {
    admission: Arc<A>,
    clock: Clock,
    hashes: Hashes,
    slots: Vec<(Option<A::Handle>, Waker)>,
    ready: Arc<ArrayQueue<u32>>,
    finished: u64,
    /// Starts that had to wait.
    waited: u64,
    /// How long each start and each finish took.
    pub starts: Latency,
    /// As `starts`.
    pub finishes: Latency,
}

impl<A: Admission> Crowd<A> {
    /// So many logical requests of the `thread`th thread, all of them arrived.
    pub fn new(admission: Arc<A>, clock: Clock, requests: u32, thread: u64) -> Self {
        let ready = Arc::new(ArrayQueue::new(requests.max(1) as usize));
        let slots = (0..requests)
            .map(|slot| (None, Waker::from(Arc::new(Ready { slot, list: Arc::clone(&ready) }))))
            .collect();
        let mut crowd = Self {
            admission,
            clock,
            hashes: Hashes::beginning_at(thread << 32),
            slots,
            ready,
            finished: 0,
            waited: 0,
            starts: Latency::default(),
            finishes: Latency::default(),
        };
        for slot in 0..requests {
            crowd.start(slot);
        }
        crowd
    }

    /// Lets the request of a slot arrive; says when it began and ended.
    fn start(&mut self, slot: u32) -> (u64, u64) {
        let asked = request(self.hashes.draw());
        let began = self.clock.now();
        let (mut handle, mut runs) = self.admission.start(began, asked);
        let (kept, waker) = &mut self.slots[slot as usize];
        if !runs {
            self.waited += 1;
            runs = self.admission.poll(&mut handle, waker);
        }
        *kept = Some(handle);
        if runs {
            self.ready.push(slot).expect("a slot is on the list at most once");
        }
        (began, self.clock.now())
    }

    fn finish(&mut self, slot: u32) -> (u64, u64) {
        let handle = self.slots[slot as usize].0.take().expect("it runs");
        let began = self.clock.now();
        self.admission.finish(began, handle);
        self.finished += 1;
        (began, self.clock.now())
    }

    /// One request that runs is finished and arrives again; `false` when none of this thread's runs.
    pub fn turn(&mut self) -> bool {
        let Some(slot) = self.ready.pop() else { return false };
        self.finish(slot);
        self.start(slot);
        true
    }

    /// As [`Crowd::turn`], taking down how long both took.
    pub fn timed_turn(&mut self) -> bool {
        let Some(slot) = self.ready.pop() else { return false };
        let (began, ended) = self.finish(slot);
        self.finishes.record(ended.saturating_sub(began));
        let (began, ended) = self.start(slot);
        self.starts.record(ended.saturating_sub(began));
        true
    }

    /// Serves what is left without anything new arriving.
    pub fn drain(&mut self) {
        let mut left = self.slots.iter().filter(|(handle, _)| handle.is_some()).count();
        while left > 0 {
            match self.ready.pop() {
                Some(slot) => {
                    self.finish(slot);
                    left -= 1;
                }
                None => std::thread::yield_now(),
            }
        }
    }

    /// Requests served.
    pub const fn finished(&self) -> u64 {
        self.finished
    }

    /// Requests that had to wait when they arrived.
    pub const fn waited(&self) -> u64 {
        self.waited
    }
}

/// One thread's crowd by itself.
pub struct OneCrowd<A: Admission> {
    crowd: Crowd<A>,
    waiting: u32,
}

impl<A: Admission> OneCrowd<A> {
    /// A level of so many queues where so many requests wait all the time.
    pub fn new(queues: u32, waiting: u32, clock: Clock) -> Self {
        let admission = Arc::new(A::around(level(queues, SEATS)));
        Self { crowd: Crowd::new(admission, clock, SEATS + waiting, 0), waiting }
    }
}

impl<A: Admission> Peer for OneCrowd<A> {
    fn serve(&mut self, requests: u64) {
        for _ in 0..requests {
            assert!(self.crowd.turn(), "somebody runs");
        }
        assert_eq!(self.crowd.admission.waiting(), u64::from(self.waiting), "the others wait");
    }

    fn served(&self) -> u64 {
        self.crowd.admission.dispatched() - u64::from(SEATS)
    }
}
