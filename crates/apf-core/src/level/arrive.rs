//! A request arrives: it is dealt a hand, joins the queue with the least waiting work, and starts if it may.

use core::fmt;

use super::requests::{NONE, Request, RequestId};
use super::{Answer, Cause, Grant, Level, Queuing, RequestState, Sink};
use crate::discipline::{Discipline, Head};
use crate::{Dealer, MAX_SEATS, SeatSeconds, WorkEstimate};

/// A request at the door.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// Its flow: requests of one flow get the same hand of queues.
    pub flow_hash: u64,
    /// What it is expected to cost.
    pub work: WorkEstimate,
    /// The host's own number, handed back with its grant and in views.
    pub token: u64,
}

/// What became of an arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrived {
    /// It was granted and holds its seats.
    Executing(RequestId),
    /// It waits in a queue; its grant will go to the sink of a later event.
    Waiting(RequestId),
    /// It is refused and holds nothing.
    Rejected(Reason),
    /// Its own grant was not taken; it holds nothing.
    Gone,
}

/// Why a request was refused: the label `reason` of `rejected_requests_total`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reason {
    /// Its queue was full and no seat was free.
    QueueFull,
    /// The level does not queue and had too few seats.
    ConcurrencyLimit,
    /// It waited for as long as it may.
    TimeOut,
    /// Its caller is gone.
    Cancelled,
}

impl Reason {
    /// The label's value.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::QueueFull => "queue-full",
            Self::ConcurrencyLimit => "concurrency-limit",
            Self::TimeOut => "time-out",
            Self::Cancelled => "cancelled",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// An arrival that was not even considered. Nothing has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArriveError {
    /// `initial_seats` is 0.
    NoSeats,
    /// A width is above [`MAX_SEATS`].
    TooManySeats,
    /// `additional_latency` is above `i64::MAX` nanoseconds.
    LatencyTooLong,
    /// There is no memory for another request.
    OutOfMemory,
}

impl fmt::Display for ArriveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSeats => f.write_str("initial seats: a request needs at least 1 seat"),
            Self::TooManySeats => write!(f, "seats: a request may have at most {MAX_SEATS}"),
            Self::LatencyTooLong => f.write_str("additional latency: at most 2^63 - 1 nanoseconds"),
            Self::OutOfMemory => f.write_str("no memory for another request"),
        }
    }
}

impl core::error::Error for ArriveError {}

impl<D: Discipline> Level<D> {
    /// A request arrives at `now`.
    ///
    /// # Errors
    ///
    /// An estimate out of range, or no memory: nothing has changed. A refusal is not an error but
    /// [`Arrived::Rejected`].
    pub fn arrive(
        &mut self,
        now: u64,
        arrival: Arrival,
        sink: &mut impl Sink,
    ) -> Result<Arrived, ArriveError> {
        if let Some(arrived) = self.start_at_once::<true>(now, arrival, |grant| sink.grant(grant)) {
            return Ok(arrived);
        }
        let WorkEstimate { initial_seats, final_seats, additional_latency } = arrival.work;
        if initial_seats == 0 {
            return Err(ArriveError::NoSeats);
        }
        if initial_seats > MAX_SEATS || final_seats > MAX_SEATS {
            return Err(ArriveError::TooManySeats);
        }
        if additional_latency > i64::MAX as u64 {
            return Err(ArriveError::LatencyTooLong);
        }
        if !self.reserve(additional_latency > 0) {
            return Err(ArriveError::OutOfMemory);
        }
        let now = self.advance_to(now, sink);
        match self.choose_queue(arrival.flow_hash) {
            Some(arena_index) => self.arrive_at_queues(now, arrival, arena_index, sink),
            None => self.arrive_without_queues(now, arrival, sink),
        }
    }

    /// [`Level::arrive`] for the most frequent case: nothing waits, nothing is due, the request fits as it is, and its caller
    /// is there to take the grant. `None` in any other case; then nothing has changed.
    #[inline(always)]
    pub fn arrive_quietly(&mut self, now: u64, arrival: Arrival) -> Option<RequestId> {
        match self.start_at_once::<false>(now, arrival, |_| Answer::Taken)? {
            Arrived::Executing(id) => Some(id),
            _ => None, // the grant is taken
        }
    }

    /// Makes room for a request; for its delayed release too, so that its end needs no memory.
    #[inline(never)]
    fn reserve(&mut self, will_linger: bool) -> bool {
        self.requests.reserve()
            && (!will_linger || self.releases.reserve(self.requests.with_latency().saturating_add(1)))
    }

    fn arrive_without_queues(
        &mut self,
        now: u64,
        arrival: Arrival,
        sink: &mut impl Sink,
    ) -> Result<Arrived, ArriveError> {
        if !self.accommodates(arrival.work.max_seats()) {
            self.counters.rejected_concurrency_limit =
                self.counters.rejected_concurrency_limit.wrapping_add(1);
            return Ok(Arrived::Rejected(Reason::ConcurrencyLimit));
        }
        let id = self.admit(now, &arrival, NONE)?;
        Ok(if self.start(now, id, sink) { Arrived::Executing(id) } else { Arrived::Gone })
    }

    fn arrive_at_queues(
        &mut self,
        now: u64,
        arrival: Arrival,
        arena_index: u32,
        sink: &mut impl Sink,
    ) -> Result<Arrived, ArriveError> {
        let Some(queue) = self.queues.get_mut(arena_index) else { return Err(ArriveError::OutOfMemory) };
        if self.seats_in_use >= self.concurrency_limit && queue.waiting >= self.queue_length_limit {
            self.settle(arena_index);
            self.counters.rejected_queue_full = self.counters.rejected_queue_full.wrapping_add(1);
            return Ok(Arrived::Rejected(Reason::QueueFull));
        }
        if !queue.is_active() {
            self.discipline.activate(&mut queue.tag);
        }

        let seats = arrival.work.max_seats();
        let id = self.admit(now, &arrival, arena_index)?;
        if let Some(queue) = self.queues.get_mut(arena_index) {
            if !queue.is_active() {
                self.active_queues = self.active_queues.wrapping_add(1);
            }
            queue.append(&mut self.requests, id.index());
        }
        self.requests_waiting = self.requests_waiting.wrapping_add(1);
        self.seats_waiting = self.seats_waiting.wrapping_add(seats);
        self.seats_requested = self.seats_requested.wrapping_add(seats);
        self.note_demand(now);
        self.settle(arena_index);
        self.dispatch(now, sink);
        Ok(match self.requests.find(id).and_then(|request| request.state) {
            Some(RequestState::Waiting) => Arrived::Waiting(id),
            Some(_) => Arrived::Executing(id),
            None => Arrived::Gone,
        })
    }

    /// A request that is alone in the level's queues and may start as it is: it would be its queue's head and be picked
    /// whatever the tags say, so no list or tree needs to know, and nothing is read back. `None`, with nothing changed,
    /// where that is not so. Without `ASK` its caller takes the grant unasked.
    #[inline(always)]
    fn start_at_once<const ASK: bool>(
        &mut self,
        now: u64,
        arrival: Arrival,
        ask: impl FnOnce(Grant) -> Answer,
    ) -> Option<Arrived> {
        let Arrival { flow_hash, work, token } = arrival;
        let seats = work.max_seats();
        if self.requests_waiting > 0
            || self.dealer.is_none()
            || work.initial_seats == 0
            || seats > MAX_SEATS
            || work.additional_latency > i64::MAX as u64
            || self.seats_in_use.wrapping_add(seats) > self.concurrency_limit
            || now < self.now
            || self.has_due(now)
        {
            return None;
        }
        let will_linger = work.additional_latency > 0;
        if (will_linger || !self.requests.has_free_slot()) && !self.reserve(will_linger) {
            return None;
        }
        let card = self.dealer.as_ref()?.deal_one(flow_hash, self.hand_start);
        self.rotate_hand();
        self.advance_meter(now);

        let total_work = work.total_work();
        let tag = self.discipline.request_tag();
        let arena_index = self.queues.at_index(card);
        let queue_index =
            if ASK { Some(self.queues.rank(self.queues.get(arena_index)?.place)) } else { None };
        let queue = self.queues.get_mut(arena_index)?;
        let id = self.requests.insert_started(now, token, work, tag, total_work, arena_index)?;
        // Until it is granted it waits: the demand is the same before and after.
        self.demand.set(now, self.seats_in_use.wrapping_add(self.seats_waiting).wrapping_add(seats));
        let was_active = queue.is_active();
        // Kept aside and written once: what is written twice in a row is waited for when it is read in between.
        let mut queue_tag = queue.tag;
        if !was_active {
            self.discipline.activate(&mut queue_tag);
        }
        self.discipline.bound(&mut queue_tag, Head { tag, work: total_work });
        self.discipline.served(queue.place);
        if let Some(utilization) = &mut self.utilization {
            utilization.dispatches(self.discipline.progress(), D::next_dispatch_r(&queue_tag));
        }
        if ASK {
            let grant = Grant {
                id,
                token,
                arrival: now,
                start: now,
                queue: queue_index,
                final_seats: work.final_seats,
                additional_latency: work.additional_latency,
            };
            if let Answer::Gone(cause) = ask(grant) {
                queue.tag = queue_tag;
                return Some(self.gone_at_once(now, id, cause));
            }
        }
        self.discipline.charge(&mut queue_tag, total_work);
        queue.tag = queue_tag;
        queue.executing = queue.executing.wrapping_add(1);
        queue.seats_in_use = queue.seats_in_use.wrapping_add(seats);
        self.requests_executing = self.requests_executing.wrapping_add(1);
        self.seats_in_use = self.seats_in_use.wrapping_add(seats);
        self.seats_requested = self.seats_requested.wrapping_add(seats);
        self.counters.dispatched = self.counters.dispatched.wrapping_add(1);
        self.active_queues = self.active_queues.wrapping_add(u64::from(!was_active));
        Some(Arrived::Executing(id))
    }

    /// The caller of a request that starts at once has left.
    #[cold]
    fn gone_at_once(&mut self, now: u64, id: RequestId, cause: Cause) -> Arrived {
        self.requests.remove(id.index());
        if !self.mode.is_exact() {
            self.count_departure(cause); // as in `start`
        }
        self.note_demand(now);
        Arrived::Gone
    }

    /// The arena index of the queue that a flow's next request joins: of its hand, from a rotating
    /// start, the first with the least waiting work. `None` where there are no queues.
    fn choose_queue(&mut self, flow_hash: u64) -> Option<u32> {
        let start = self.hand_start;
        let dealer = self.dealer.as_ref()?;
        if self.requests_waiting == 0 {
            let card = dealer.deal_one(flow_hash, start);
            self.rotate_hand();
            return Some(self.queues.at_index(card));
        }
        let hand = dealer.deal(flow_hash);
        self.rotate_hand();
        let (before, from) = hand.split_at_checked(start as usize).unwrap_or((&[], &hand));
        let mut chosen = NONE;
        let mut least = SeatSeconds::MAX;
        for card in from.iter().chain(before) {
            let arena_index = self.queues.at_index(*card);
            let Some(queue) = self.queues.get(arena_index) else { continue };
            if queue.total_work < least {
                least = queue.total_work;
                chosen = arena_index;
            }
        }
        Some(chosen)
    }

    /// The next arrival looks at its hand from one card further on.
    #[inline(always)]
    fn rotate_hand(&mut self) {
        self.enqueues = self.enqueues.wrapping_add(1);
        let next = self.hand_start.wrapping_add(1);
        let hand_size = self.dealer.as_ref().map_or(1, Dealer::hand_size);
        self.hand_start = if next >= hand_size { 0 } else { next };
    }

    fn admit(&mut self, now: u64, arrival: &Arrival, queue: u32) -> Result<RequestId, ArriveError> {
        let tag = self.discipline.request_tag();
        let request = Request::arriving(now, arrival.token, arrival.work, tag, queue);
        self.requests.insert(request).ok_or(ArriveError::OutOfMemory)
    }

    /// Counts a request that left without having run, for the reason its caller gave.
    pub(super) fn count_departure(&mut self, cause: Cause) -> Reason {
        let (counter, reason) = match cause {
            Cause::TimeOut => (&mut self.counters.timed_out, Reason::TimeOut),
            Cause::Caller => (&mut self.counters.cancelled, Reason::Cancelled),
        };
        *counter = counter.wrapping_add(1);
        reason
    }

    pub(super) const fn is_exempt(&self) -> bool {
        matches!(self.queuing, Queuing::Exempt)
    }
}
