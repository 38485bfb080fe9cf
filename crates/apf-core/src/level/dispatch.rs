//! Waiting requests start, in the discipline's order, for as long as they fit.

use super::requests::{NONE, RequestId};
use super::{Cause, Level, RequestState};
use crate::discipline::Discipline;

/// A request that starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grant {
    /// The request.
    pub id: RequestId,
    /// The host's number for it.
    pub token: u64,
    /// When it arrived.
    pub arrival: u64,
    /// When it starts: the time of the event that made room.
    pub start: u64,
    /// The index of the queue it leaves; `None` where it needed none.
    pub queue: Option<u32>,
    /// Its final seats, clipped to the level's limit.
    pub final_seats: u64,
    /// Its additional latency in nanoseconds, stretched when the final seats were clipped.
    pub additional_latency: u64,
}

/// The host's answer to a grant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// The request runs and will be finished.
    Taken,
    /// Its caller has left meanwhile, for this cause: nothing is charged, and the next one is tried.
    Gone(Cause),
}

/// Where grants go. Called in the middle of an event: it must not block and cannot reach the level.
pub trait Sink {
    /// A request is about to start; also called for one that starts at its own arrival.
    fn grant(&mut self, grant: Grant) -> Answer;
}

/// A sink for hosts whose requests never leave: every grant is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TakeAll;

impl Sink for TakeAll {
    fn grant(&mut self, _: Grant) -> Answer {
        Answer::Taken
    }
}

impl<S: Sink + ?Sized> Sink for &mut S {
    fn grant(&mut self, grant: Grant) -> Answer {
        (**self).grant(grant)
    }
}

impl<D: Discipline> Level<D> {
    /// Starts what may start. A head that does not fit stops everything: seats gather for it.
    pub(super) fn dispatch(&mut self, now: u64, sink: &mut impl Sink) {
        while self.requests_waiting > 0 && self.seats_in_use < self.concurrency_limit {
            let Some(place) = self.discipline.pick() else { return };
            let arena_index = self.queues.at_place(place);
            let Some(queue) = self.queues.get_mut(arena_index) else { return };
            let (index, start) = (queue.first, D::next_dispatch_r(&queue.tag));
            let Some(request) = self.requests.at(index) else { return };
            let id = RequestId::new(index, request.generation);
            let seats = request.work().max_seats();
            if !self.accommodates(seats) {
                self.discipline.blocked(self.queues.first_place(), self.queues.places());
                self.counters.no_accommodation = self.counters.no_accommodation.wrapping_add(1);
                return;
            }
            if let Some(utilization) = &mut self.utilization {
                utilization.dispatches(self.discipline.progress(), start);
            }
            if let Some(queue) = self.queues.get_mut(arena_index) {
                queue.unlink(&mut self.requests, index);
                if !queue.is_active() {
                    self.active_queues = self.active_queues.wrapping_sub(1);
                }
            }
            self.requests_waiting = self.requests_waiting.wrapping_sub(1);
            self.seats_requested = self.seats_requested.wrapping_sub(seats);
            self.start(now, id, sink);
            self.settle(arena_index);
        }
    }

    /// Starts a request that is in no list any more. `false` when its grant was not taken: then it is gone.
    pub(super) fn start(&mut self, now: u64, id: RequestId, sink: &mut impl Sink) -> bool {
        let exact = self.mode.is_exact();
        let exempt = self.is_exempt();
        let Some(request) = self.requests.at_mut(id.index()) else { return false };
        let arena_index = request.queue;
        let queued = arena_index != NONE;
        let mut work = request.work();
        let counted_as_waiting = work.max_seats();
        if work.final_seats > self.concurrency_limit && if exact { queued } else { !exempt } {
            work.trim_to(self.concurrency_limit);
            request.set_work(work);
            self.counters.final_seats_trimmed = self.counters.final_seats_trimmed.wrapping_add(1);
        }
        let seats = work.max_seats();
        request.start = now;
        let (token, arrival, total_work) = (request.token, request.arrival, request.total_work);

        let mut queue_index = None;
        if queued {
            let place = self.queues.get(arena_index).map_or(NONE, |queue| queue.place);
            queue_index = Some(self.queues.rank(place));
            self.discipline.served(place);
            // The reference takes out the clipped width, and so leaves the rest in for ever.
            let counted = if exact { seats } else { counted_as_waiting };
            self.seats_waiting = self.seats_waiting.wrapping_sub(counted);
        }
        let grant = Grant {
            id,
            token,
            arrival,
            start: now,
            queue: queue_index,
            final_seats: work.final_seats,
            additional_latency: work.additional_latency,
        };
        if let Answer::Gone(cause) = sink.grant(grant) {
            self.requests.remove(id.index());
            if !exact {
                self.count_departure(cause); // the reference counts it under no reason
            }
            if queued {
                self.note_demand(now);
            }
            return false;
        }
        if let Some(request) = self.requests.at_mut(id.index()) {
            request.state = Some(RequestState::Executing);
        }
        self.requests_executing = self.requests_executing.wrapping_add(1);
        self.seats_in_use = self.seats_in_use.wrapping_add(seats);
        self.counters.dispatched = self.counters.dispatched.wrapping_add(1);
        if let Some(queue) = self.queues.get_mut(arena_index) {
            if !queue.is_active() {
                self.active_queues = self.active_queues.wrapping_add(1);
            }
            queue.executing = queue.executing.wrapping_add(1);
            queue.seats_in_use = queue.seats_in_use.wrapping_add(seats);
            self.seats_requested = self.seats_requested.wrapping_add(seats);
            self.discipline.charge(&mut queue.tag, total_work);
        }
        self.note_demand(now);
        true
    }
}
