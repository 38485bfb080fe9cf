//! What can be seen of a level from outside: numbers for metrics and debug dumps.

use super::requests::{NONE, Request, RequestId};
use super::{Level, Queuing, RequestState};
use crate::discipline::Discipline;
use crate::{Mode, SeatSeconds, Utilization, WorkEstimate};

/// Counts since the level was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Requests that started.
    pub dispatched: u64,
    /// Requests refused because their queue was full.
    pub rejected_queue_full: u64,
    /// Requests refused because the level does not queue.
    pub rejected_concurrency_limit: u64,
    /// Requests that waited for as long as they might. Never moves in [`Mode::Exact`].
    pub timed_out: u64,
    /// Requests whose caller left while they waited; in [`Mode::Exact`] also those that timed out.
    pub cancelled: u64,
    /// Times that the next request in turn did not fit.
    pub no_accommodation: u64,
    /// Requests whose final seats were clipped to the limit.
    pub final_seats_trimmed: u64,
    /// Queues that went after the number of queues was lowered.
    pub queues_removed: u64,
    /// Times that the reference would have removed a queue a second time.
    pub removals_refused: u64,
    /// Times that the progress meter was wound back.
    pub epoch_advances: u64,
    /// Of those, times that a reading underflowed.
    pub failed_epoch_advances: u64,
}

impl Counters {
    /// Requests refused, as the dumps count them: in [`Mode::Exact`] the cancelled ones are among them,
    /// in [`Mode::Default`] every request that never ran is counted once, here or as timed out or cancelled.
    pub const fn rejected(&self, mode: Mode) -> u64 {
        let at_the_door = self.rejected_queue_full.wrapping_add(self.rejected_concurrency_limit);
        if mode.is_exact() { at_the_door.wrapping_add(self.cancelled) } else { at_the_door }
    }
}

/// One queue: a row of the dump `dump_queues`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueView {
    /// Its index.
    pub index: u32,
    /// Requests waiting.
    pub waiting: u64,
    /// Requests executing.
    pub executing: u64,
    /// Seats in use, also by lingering requests.
    pub seats_in_use: u64,
    /// When its next request starts in the virtual world.
    pub next_dispatch_r: SeatSeconds,
    /// Sum of the initial seats of the waiting requests.
    pub initial_seats_sum: u64,
    /// Sum of the widths of the waiting requests.
    pub max_seats_sum: u64,
    /// Sum of the total work of the waiting requests.
    pub total_work_sum: SeatSeconds,
}

/// One request: a row of the dump `dump_requests`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestView {
    /// Its handle; stale for a lingering request.
    pub id: RequestId,
    /// The host's number for it.
    pub token: u64,
    /// The index of its queue; `None` where it needed none or its queue has gone.
    pub queue: Option<u32>,
    /// Where it is in its life.
    pub state: RequestState,
    /// When it arrived.
    pub arrival: u64,
    /// When it started, while it executes.
    pub start: Option<u64>,
    /// When its seats come back, if it lingers.
    pub release_at: Option<u64>,
    /// Its estimate, clipped once it has started.
    pub work: WorkEstimate,
}

impl<D: Discipline> Level<D> {
    /// The mode it was made with.
    pub const fn mode(&self) -> Mode {
        self.mode
    }

    /// Its configuration.
    pub const fn queuing(&self) -> Queuing {
        self.queuing
    }

    /// Its current concurrency limit, seats.
    pub const fn concurrency_limit(&self) -> u64 {
        self.concurrency_limit
    }

    /// Requests waiting.
    pub const fn requests_waiting(&self) -> u64 {
        self.requests_waiting
    }

    /// Seats that the waiting requests want. In [`Mode::Exact`] clipped widths stay in for ever.
    pub const fn seats_waiting(&self) -> u64 {
        self.seats_waiting
    }

    /// Requests executing.
    pub const fn requests_executing(&self) -> u64 {
        self.requests_executing
    }

    /// Seats in use, also by lingering requests.
    pub const fn seats_in_use(&self) -> u64 {
        self.seats_in_use
    }

    /// Whether nothing waits and nothing executes. Seats may still linger.
    pub const fn is_idle(&self) -> bool {
        self.requests_waiting == 0 && self.requests_executing == 0
    }

    /// The time of the latest event.
    pub const fn now(&self) -> u64 {
        self.now
    }

    /// The progress meter R.
    pub fn progress(&self) -> SeatSeconds {
        self.discipline.progress()
    }

    /// How full it has been up to the latest event, if that is measured.
    pub const fn utilization(&self) -> Option<&Utilization> {
        self.utilization.as_ref()
    }

    /// The number of requests in the queue of one that waits, itself included.
    pub fn queue_length(&self, id: RequestId) -> Option<u32> {
        let request =
            self.requests.find(id).filter(|request| request.state == Some(RequestState::Waiting))?;
        Some(self.queues.get(request.queue)?.waiting)
    }

    /// The index of the queue served last; -1 after the removal of the first queue can be seen in it.
    pub fn robin_index(&self) -> i64 {
        i64::from(self.queues.rank(self.discipline.search_start())) - 1
    }

    /// Arrivals that were dealt a hand, ever.
    pub const fn enqueues(&self) -> u64 {
        self.enqueues
    }

    /// What has been counted.
    pub const fn counters(&self) -> Counters {
        self.counters
    }

    /// Every queue in index order.
    pub fn queues(&self) -> impl Iterator<Item = QueueView> {
        (0u32..).zip(self.queues.iter()).map(|(index, (_, queue))| QueueView {
            index,
            waiting: u64::from(queue.waiting),
            executing: u64::from(queue.executing),
            seats_in_use: queue.seats_in_use,
            next_dispatch_r: D::next_dispatch_r(&queue.tag),
            initial_seats_sum: queue.initial_seats,
            max_seats_sum: queue.max_seats,
            total_work_sum: queue.total_work,
        })
    }

    /// The waiting requests of a queue, oldest first.
    pub fn waiting(&self, queue_index: u32) -> impl Iterator<Item = RequestView> {
        let first = if queue_index < self.queues.len() {
            self.queues.get(self.queues.at_index(queue_index)).map_or(NONE, |queue| queue.first)
        } else {
            NONE
        };
        let mut next = first;
        core::iter::from_fn(move || {
            let request = self.requests.at(next)?;
            let id = RequestId::new(next, request.generation);
            next = request.next;
            self.view(id, request)
        })
    }

    /// The executing requests, in no particular order.
    pub fn executing(&self) -> impl Iterator<Item = RequestView> {
        self.requests().filter(|request| request.state == RequestState::Executing)
    }

    /// Every request that holds or wants seats, in no particular order.
    pub fn requests(&self) -> impl Iterator<Item = RequestView> {
        self.requests.iter().filter_map(|(id, request)| self.view(id, request))
    }

    /// One request, unless the handle is stale.
    pub fn request(&self, id: RequestId) -> Option<RequestView> {
        self.view(id, self.requests.find(id)?)
    }

    fn view(&self, id: RequestId, request: &Request<D::RequestTag>) -> Option<RequestView> {
        let state = request.state?;
        let place = self.queues.get(request.queue).map(|queue| queue.place).filter(|place| *place != NONE);
        Some(RequestView {
            id,
            token: request.token,
            queue: place.map(|place| self.queues.rank(place)),
            state,
            arrival: request.arrival,
            start: (state == RequestState::Executing).then_some(request.start),
            release_at: (state == RequestState::Lingering).then_some(request.start),
            work: request.work(),
        })
    }
}
