//! A request has been served; its seats come back at once, or after its additional latency.

use super::requests::{NONE, RequestId};
use super::{Level, RequestState, Sink, StaleRequest};
use crate::discipline::Discipline;
use crate::work::GUESSED_SERVICE_TIME;
use crate::{Mode, SeatSeconds};

/// What is left of a finished request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Finished {
    /// When its seats come back, if they are still held for the additional latency.
    pub release_at: Option<u64>,
}

impl<D: Discipline> Level<D> {
    /// An executing request has been served. Its handle ends here.
    ///
    /// # Errors
    ///
    /// [`StaleRequest`] when it is not executing; nothing has changed.
    pub fn finish(
        &mut self,
        now: u64,
        id: RequestId,
        sink: &mut impl Sink,
    ) -> Result<Finished, StaleRequest> {
        if self.finish_quietly(now, id) {
            return Ok(Finished { release_at: None });
        }
        if !self.is_executing(id) {
            return Err(StaleRequest);
        }
        let now = self.advance_to(now, sink);
        let Some(request) = self.requests.at(id.index()) else { return Err(StaleRequest) };
        let (arena_index, start, work) = (request.queue, request.start, request.work());
        if self.leave_queue(arena_index, work.initial_seats, now.wrapping_sub(start) as i64) > 0 {
            self.settle(arena_index);
        }
        let release_at = (work.additional_latency > 0).then(|| now.saturating_add(work.additional_latency));
        match release_at {
            Some(due) => self.linger(id.index(), due),
            None => self.release(now, id.index(), arena_index, work.max_seats()),
        }
        self.dispatch(now, sink);
        Ok(Finished { release_at })
    }

    /// [`Level::finish`] for the most frequent case: nothing waits, nothing is due, and the seats come back at once, so that
    /// nobody is granted anything. `false` in any other case; then nothing has changed.
    #[inline(always)]
    pub fn finish_quietly(&mut self, now: u64, id: RequestId) -> bool {
        if self.requests_waiting > 0 || now < self.now || self.has_due(now) {
            return false;
        }
        let Some(request) = self.requests.find(id) else { return false };
        if request.state != Some(RequestState::Executing) || request.work().additional_latency > 0 {
            return false;
        }
        let (arena_index, start, work) = (request.queue, request.start, request.work());
        let seats = work.max_seats();
        self.advance_meter(now);
        self.requests_executing = self.requests_executing.wrapping_sub(1);
        self.give_back(now, id.index(), seats);

        let Some(queue) = self.queues.get_mut(arena_index) else { return true };
        queue.executing = queue.executing.wrapping_sub(1);
        queue.seats_in_use = queue.seats_in_use.wrapping_sub(seats);
        self.active_queues = self.active_queues.wrapping_sub(u64::from(!queue.is_active()));
        let unused = unused_work(work.initial_seats, now.wrapping_sub(start) as i64);
        self.discipline.refund(&mut queue.tag, unused);
        let removed = queue.place == NONE;
        self.account(arena_index, seats, removed);
        true
    }

    fn is_executing(&self, id: RequestId) -> bool {
        self.requests.find(id).is_some_and(|request| request.state == Some(RequestState::Executing))
    }

    /// A request of a queue has been served for so many nanoseconds. Returns how many wait there.
    fn leave_queue(&mut self, arena_index: u32, initial_seats: u64, served: i64) -> u32 {
        self.requests_executing = self.requests_executing.wrapping_sub(1);
        let Some(queue) = self.queues.get_mut(arena_index) else { return 0 };
        queue.executing = queue.executing.wrapping_sub(1);
        if !queue.is_active() {
            self.active_queues = self.active_queues.wrapping_sub(1);
        }
        self.discipline.refund(&mut queue.tag, unused_work(initial_seats, served));
        queue.waiting
    }

    /// Keeps a finished request's seats until `due`.
    fn linger(&mut self, index: u32, due: u64) {
        if let Some(request) = self.requests.at_mut(index) {
            request.state = Some(RequestState::Lingering);
            request.generation = request.generation.wrapping_add(1);
            request.start = due;
        }
        self.releases.push(due, index);
    }

    /// The time that counts: in the default mode it does not go back.
    #[inline(always)]
    pub(super) fn no_earlier(&self, now: u64) -> u64 {
        if self.mode == Mode::Default { now.max(self.now) } else { now }
    }

    /// Whether a delayed release is due by `now`.
    #[inline(always)]
    pub(super) fn has_due(&self, now: u64) -> bool {
        self.releases.next_due().is_some_and(|due| due <= now)
    }

    /// Releases what is due by `now`, each at its own time and followed by what it lets start. Returns
    /// the time that counts as now.
    #[inline]
    pub(super) fn release_due(&mut self, now: u64, sink: &mut impl Sink) -> u64 {
        let now = self.no_earlier(now);
        if self.has_due(now) {
            self.release_all_due(now, sink);
        }
        now
    }

    #[cold]
    fn release_all_due(&mut self, now: u64, sink: &mut impl Sink) {
        while let Some((due, index)) = self.releases.pop_due(now) {
            self.advance_meter(due);
            if let Some(request) = self.requests.at(index) {
                let (arena_index, seats) = (request.queue, request.work().max_seats());
                self.release(due, index, arena_index, seats);
            }
            self.dispatch(due, sink);
        }
    }

    /// A request gives its seats back, and its slot; its queue's too.
    fn release(&mut self, now: u64, index: u32, arena_index: u32, seats: u64) {
        self.give_back(now, index, seats);
        let Some(queue) = self.queues.get_mut(arena_index) else { return };
        queue.seats_in_use = queue.seats_in_use.wrapping_sub(seats);
        let removed = queue.place == NONE;
        self.account(arena_index, seats, removed);
    }

    /// The level gets seats and a slot back.
    #[inline(always)]
    fn give_back(&mut self, now: u64, index: u32, seats: u64) {
        self.requests.remove(index);
        self.seats_in_use = self.seats_in_use.wrapping_sub(seats);
        self.note_demand(now);
    }

    /// A queue has got seats back.
    #[inline(always)]
    fn account(&mut self, arena_index: u32, seats: u64, removed: bool) {
        if !removed {
            self.seats_requested = self.seats_requested.wrapping_sub(seats);
        }
        let excess = i64::from(self.queues.len()) > self.queuing.desired_queues();
        if removed || excess {
            self.shed(arena_index, removed, excess);
        }
    }

    /// A request of a queue that has been removed, or of one too many, has gone.
    #[cold]
    fn shed(&mut self, arena_index: u32, removed: bool, excess: bool) {
        let Some(queue) = self.queues.get(arena_index) else { return };
        let held = queue.seats_in_use > 0;
        let empty = !queue.is_active() && (self.mode.is_exact() || !held);
        let mut gone = removed;
        if removed {
            // The reference removes some other queue here, or crashes (kubernetes issue 140884).
            if excess {
                self.counters.removals_refused = self.counters.removals_refused.wrapping_add(1);
            }
        } else if empty {
            // Seats that still linger there leave the queues' account with their queue.
            let left = queue.seats_in_use;
            self.seats_requested = self.seats_requested.wrapping_sub(left);
            self.queues.remove(arena_index);
            self.counters.queues_removed = self.counters.queues_removed.wrapping_add(1);
            gone = true;
        }
        if gone && !held {
            self.queues.forget(arena_index);
        }
    }
}

/// The work that a request was charged for and has not done; below zero, as two's complement, if it took longer.
#[inline(always)]
fn unused_work(initial_seats: u64, served: i64) -> SeatSeconds {
    SeatSeconds::work_of_whole(initial_seats, GUESSED_SERVICE_TIME.wrapping_sub(served))
}
