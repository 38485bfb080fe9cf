//! Fair queuing for server requests: the reference's discipline (KEP-1040, "Fair Queuing for Server Requests").
//!
//! Virtual time is the progress meter R, the seat-seconds that each active queue has been allotted. A
//! queue's tag is the reading at which its next request starts in the virtual world; the queue whose
//! head would finish first there is served first. A tag never lies before the arrival of the head
//! (anti-windup), so a queue cannot save up for later.

use super::min_tree::{EMPTY, MinTree};
use super::{Demand, Discipline, Head};
use crate::SeatSeconds;

/// How far the meter is wound back to keep it from overflowing.
const WIND_BACK: u64 = u64::MAX / 2;
/// The reading at which that happens.
const WIND_BACK_AT: u64 = WIND_BACK + WIND_BACK / 2;

/// The state of the discipline in one level.
#[derive(Debug, Clone)]
pub struct FairQueuing {
    progress: SeatSeconds,
    /// The place after the one served last. The reference keeps the index of that one, which can be -1:
    /// here 0.
    search_start: u32,
    /// Virtual finish of every head.
    finishes: MinTree,
}

impl Default for FairQueuing {
    /// The reference starts as if the queue of index 0 had been served last.
    fn default() -> Self {
        Self { progress: SeatSeconds::ZERO, search_start: 1, finishes: MinTree::default() }
    }
}

fn wind_back(reading: &mut SeatSeconds) -> bool {
    let before = *reading;
    *reading = before.minus(SeatSeconds::from_raw(WIND_BACK));
    *reading <= before
}

impl Discipline for FairQueuing {
    type QueueTag = SeatSeconds;
    type RequestTag = SeatSeconds;

    #[inline(always)]
    fn advance(&mut self, elapsed: i64, demand: Demand) -> bool {
        if demand.active_queues == 0 {
            return false;
        }
        let seats = demand.seats_requested.min(demand.concurrency_limit);
        let before = self.progress;
        self.progress = before.plus(match demand.active_queues {
            1 => SeatSeconds::work_of_whole(seats, elapsed),
            active => SeatSeconds::work(seats as f64 / active as f64, elapsed),
        });
        // A meter that fell (the clock stepped back) is no overflow; one that fell below 0 looks like one.
        self.progress >= before && self.progress.raw() >= WIND_BACK_AT
    }

    fn wind_back(&mut self) {
        wind_back(&mut self.progress);
    }

    fn wind_back_queue(&self, queue: &mut SeatSeconds, active: bool) -> bool {
        if active {
            return wind_back(queue);
        }
        *queue = SeatSeconds::ZERO; // overwritten when the queue becomes active
        true
    }

    fn wind_back_request(&self, request: &mut SeatSeconds) -> bool {
        wind_back(request)
    }

    fn request_tag(&self) -> SeatSeconds {
        self.progress
    }

    fn activate(&self, queue: &mut SeatSeconds) {
        *queue = self.progress;
    }

    fn charge(&self, queue: &mut SeatSeconds, work: SeatSeconds) {
        *queue = queue.plus(work);
    }

    fn refund(&self, queue: &mut SeatSeconds, work: SeatSeconds) {
        *queue = queue.minus(work);
    }

    fn bound(&self, queue: &mut SeatSeconds, head: Head<SeatSeconds>) {
        if *queue < head.tag {
            *queue = head.tag;
        }
    }

    fn publish(&mut self, place: u32, queue: &SeatSeconds, head: Option<Head<SeatSeconds>>) {
        self.finishes.set(place, head.map_or(EMPTY, |head| queue.plus(head.work).raw()));
    }

    fn pick(&self) -> Option<u32> {
        self.finishes.first_smallest(self.search_start)
    }

    fn served(&mut self, place: u32) {
        self.search_start = place.saturating_add(1);
    }

    fn blocked(&mut self, first: u32, places: u32) {
        // A full walk ends where it began, except that it turns the index -1 into the last one.
        if self.search_start <= first {
            self.search_start = places;
        }
    }

    fn reserve(&mut self, places: u32) -> bool {
        self.finishes.reserve(places)
    }

    fn arrange(&mut self, places: u32, rank: impl Fn(u32) -> u32) {
        self.search_start = rank(self.search_start);
        self.finishes.clear(places);
    }

    fn progress(&self) -> SeatSeconds {
        self.progress
    }

    fn next_dispatch_r(queue: &SeatSeconds) -> SeatSeconds {
        *queue
    }

    fn search_start(&self) -> u32 {
        self.search_start
    }
}
