//! A waiting request leaves without having run.

use super::requests::RequestId;
use super::{Level, Reason, RequestState, Sink, StaleRequest};
use crate::discipline::Discipline;

/// Why a waiting request leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// The wait limit or the caller's own deadline has passed.
    TimeOut,
    /// The caller is gone or gave up.
    Caller,
}

/// How a cancellation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cancelled {
    /// It was waiting and is gone, refused for this reason.
    Removed(Reason),
    /// It had been granted already: it executes and must be finished.
    Executing,
}

impl<D: Discipline> Level<D> {
    /// Takes a waiting request out of its queue. Its handle ends here unless it turns out to execute.
    ///
    /// In [`Mode::Exact`](crate::Mode::Exact) every cancellation counts as `time-out`, and nothing is dispatched until the next event.
    ///
    /// # Errors
    ///
    /// [`StaleRequest`] when it neither waits nor executes; nothing has changed.
    pub fn cancel(
        &mut self,
        now: u64,
        id: RequestId,
        cause: Cause,
        sink: &mut impl Sink,
    ) -> Result<Cancelled, StaleRequest> {
        match self.requests.find(id).and_then(|request| request.state) {
            Some(RequestState::Waiting) => {}
            Some(RequestState::Executing) => return Ok(Cancelled::Executing),
            _ => return Err(StaleRequest),
        }
        let now = self.advance_to(now, sink);
        // A delayed release on the way may have started it, or its sink may have let it go.
        match self.requests.find(id).and_then(|request| request.state) {
            Some(RequestState::Waiting) => {}
            Some(_) => return Ok(Cancelled::Executing),
            None => return Err(StaleRequest),
        }
        let Some(request) = self.requests.at(id.index()) else { return Err(StaleRequest) };
        let (arena_index, seats) = (request.queue, request.work().max_seats());
        if let Some(queue) = self.queues.get_mut(arena_index) {
            queue.unlink(&mut self.requests, id.index());
            if !queue.is_active() {
                self.active_queues = self.active_queues.wrapping_sub(1);
            }
        }
        self.requests.remove(id.index());
        self.requests_waiting = self.requests_waiting.wrapping_sub(1);
        self.seats_waiting = self.seats_waiting.wrapping_sub(seats);
        self.seats_requested = self.seats_requested.wrapping_sub(seats);
        self.note_demand(now);
        self.settle(arena_index);
        if self.mode.is_exact() {
            self.count_departure(Cause::Caller);
            return Ok(Cancelled::Removed(Reason::TimeOut));
        }
        let reason = self.count_departure(cause);
        self.dispatch(now, sink);
        Ok(Cancelled::Removed(reason))
    }
}
