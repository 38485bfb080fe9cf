//! One priority level: a state machine over time-stamped events.
//!
//! | state of a request | event | next |
//! | --- | --- | --- |
//! | – | arrive, fits and nothing waits before it | executing |
//! | – | arrive, does not fit | waiting, or rejected (`queue-full`, `concurrency-limit`) |
//! | waiting | any event that frees seats | executing, if its sink takes the grant |
//! | waiting | cancel | rejected (`time-out`, `cancelled`) |
//! | executing | finish | gone, or lingering when it has additional latency |
//! | lingering | its due time | gone |
//!
//! Each event takes O(1) while nothing waits, O(log queues) for each request it starts otherwise, and
//! O(log lingering) for each delayed release; reconfiguration takes O(queues), and winding the
//! progress meter back (once in years) O(queues + waiting).
//!
//! # Time
//!
//! Every event first lets the releases that are due take place, each at its own due time, and then
//! advances the progress meter. In [`Mode::Default`] a time before the latest one counts as the latest.

mod arrive;
mod cancel;
mod dispatch;
mod finish;
mod linger;
mod queues;
mod reconfigure;
mod requests;
mod view;

use core::fmt;

pub use arrive::{Arrival, ArriveError, Arrived, Reason};
pub use cancel::{Cancelled, Cause};
pub use dispatch::{Answer, Grant, Sink, TakeAll};
pub use finish::Finished;
pub use reconfigure::{LevelError, Queuing};
pub use requests::{RequestId, RequestState};
pub use view::{Counters, QueueView, RequestView};

use crate::demand::SeatDemand;
use crate::discipline::{Demand, Discipline, FairQueuing};
use crate::utilization::{Holding, Utilization};
use crate::{Dealer, DemandPeriod, Mode};
use linger::Releases;
use queues::Queues;
use requests::Requests;

/// A priority level. See the [module documentation](self).
#[derive(Debug, Clone)]
pub struct Level<D: Discipline = FairQueuing> {
    mode: Mode,
    queuing: Queuing,
    /// Present exactly when `queuing` has queues.
    dealer: Option<Dealer>,
    /// Kept when the level stops queueing, for the requests that still wait.
    queue_length_limit: u32,
    /// Kept likewise.
    hand_size: u32,
    concurrency_limit: u64,

    discipline: D,
    queues: Queues<D::QueueTag>,
    requests: Requests<D::RequestTag>,
    releases: Releases,

    /// The time of the latest event.
    now: u64,
    requests_waiting: u64,
    seats_waiting: u64,
    requests_executing: u64,
    seats_in_use: u64,
    /// Seats in use and waiting in the queues alone, and how many queues are active: the discipline's clock rate.
    seats_requested: u64,
    active_queues: u64,
    /// Arrivals that were dealt a hand, ever.
    enqueues: u64,
    /// `enqueues` modulo the hand size.
    hand_start: u32,
    demand: SeatDemand,
    counters: Counters,
    /// Present where the host has asked for it.
    utilization: Option<Utilization>,
}

/// A handle of a request that has ended, or never was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StaleRequest;

impl fmt::Display for StaleRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the request has ended or is not in the state that the call needs")
    }
}

impl core::error::Error for StaleRequest {}

impl<D: Discipline> Level<D> {
    /// Lets releases that are due take place and advances to `now`. Nothing waits longer than until
    /// this has been called with its due time: hosts arm a timer for [`Level::next_release`].
    pub fn tick(&mut self, now: u64, sink: &mut impl Sink) {
        self.advance_to(now, sink);
    }

    /// When the earliest delayed release is due.
    pub fn next_release(&self) -> Option<u64> {
        self.releases.next_due()
    }

    /// Ends the current period of seat demand and begins the next: the input of [`crate::adjust`].
    pub fn close_demand_period(&mut self, now: u64, sink: &mut impl Sink) -> DemandPeriod {
        let now = self.release_due(now, sink);
        self.demand.close(now)
    }

    /// Releases what is due by `now`, then advances to it; returns the time that counts.
    #[inline]
    fn advance_to(&mut self, now: u64, sink: &mut impl Sink) -> u64 {
        let now = self.release_due(now, sink);
        self.advance_meter(now);
        now
    }

    #[inline(always)]
    fn advance_meter(&mut self, now: u64) {
        let elapsed = now.wrapping_sub(self.now) as i64;
        if elapsed == 0 {
            return;
        }
        self.now = now;
        if self.utilization.is_some() {
            self.measure(now);
        }
        let demand = Demand {
            seats_requested: self.seats_requested,
            active_queues: self.active_queues,
            concurrency_limit: self.concurrency_limit,
        };
        if self.discipline.advance(elapsed, demand) {
            self.wind_back();
        }
    }

    /// Keeps the progress meter and everything read from it from overflowing.
    #[cold]
    fn wind_back(&mut self) {
        self.discipline.wind_back();
        let mut success = true;
        for index in 0..self.queues.len() {
            let arena_index = self.queues.at_index(index);
            let Some(queue) = self.queues.get_mut(arena_index) else { continue };
            let active = queue.is_active();
            success &= self.discipline.wind_back_queue(&mut queue.tag, active);
            let mut waiting = queue.first;
            while let Some(request) = self.requests.at_mut(waiting) {
                success &= self.discipline.wind_back_request(&mut request.tag);
                waiting = request.next;
            }
            self.discipline.publish(queue.place, &queue.tag, queue.head(&self.requests));
        }
        self.counters.epoch_advances = self.counters.epoch_advances.wrapping_add(1);
        if !success {
            self.counters.failed_epoch_advances = self.counters.failed_epoch_advances.wrapping_add(1);
        }
    }

    #[inline(always)]
    fn note_demand(&mut self, now: u64) {
        self.demand.set(now, self.seats_in_use.wrapping_add(self.seats_waiting));
    }

    /// The level has been as it is up to `now`. Out of the way of levels that are not measured.
    #[inline(never)]
    fn measure(&mut self, now: u64) {
        let Some(utilization) = &mut self.utilization else { return };
        let holding = Holding {
            waiting: self.requests_waiting,
            executing: self.requests_executing,
            seats_in_use: self.seats_in_use,
            seats_waiting: self.seats_waiting,
        };
        utilization.pass(now, holding);
    }

    /// Applies the discipline's bound to a queue with something waiting, and publishes its head.
    fn settle(&mut self, arena_index: u32) {
        let Some(queue) = self.queues.get_mut(arena_index) else { return };
        let head = queue.head(&self.requests);
        if let Some(head) = head {
            self.discipline.bound(&mut queue.tag, head);
        }
        self.discipline.publish(queue.place, &queue.tag, head);
    }

    /// Whether a request of this width may start now.
    #[inline]
    fn accommodates(&self, seats: u64) -> bool {
        match self.queuing {
            Queuing::Exempt => true,
            // The default mode's jail: a level without seats runs nothing, ever.
            _ if self.concurrency_limit == 0 && !self.mode.is_exact() => false,
            // Too wide to ever fit: it runs alone.
            _ if seats > self.concurrency_limit => self.requests_executing == 0,
            _ => self.seats_in_use.saturating_add(seats) <= self.concurrency_limit,
        }
    }
}
