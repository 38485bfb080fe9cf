//! The queueing discipline: whose turn it is. One small interface, so that a level can be given another.
//!
//! A discipline owns the progress meter, one tag a queue and one tag a waiting request, and the choice
//! of the next queue. Seats, lists, limits and decisions belong to the level.

mod fair_queuing;
mod min_tree;

pub use fair_queuing::FairQueuing;

use crate::SeatSeconds;

/// What a level tells its discipline about the time that has just passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Demand {
    /// Seats that the queues use and want: in use (also in additional latency) plus waiting.
    pub seats_requested: u64,
    /// Queues with a request waiting or executing.
    pub active_queues: u64,
    /// The level's concurrency limit.
    pub concurrency_limit: u64,
}

/// The oldest waiting request of a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head<T> {
    /// The tag it was given when it arrived.
    pub tag: T,
    /// Its total work.
    pub work: SeatSeconds,
}

/// Decides which queue is served next.
///
/// Queues are named by *place*: places keep the order of the queue indices, but a removed queue
/// leaves its place empty until [`Discipline::arrange`]. No call may take longer than the logarithm of
/// the number of places, except `arrange`.
pub trait Discipline: Default {
    /// Kept with each queue.
    type QueueTag: Copy + Default + core::fmt::Debug;
    /// Kept with each waiting request.
    type RequestTag: Copy + Default + core::fmt::Debug;

    /// Lets `elapsed` nanoseconds (negative when the clock stepped back) pass in the given state.
    /// Returns `true` when every tag must be wound back with the three `wind_back` calls.
    fn advance(&mut self, elapsed: i64, demand: Demand) -> bool;
    /// Winds the meter back by the constant that the tags are wound back by.
    fn wind_back(&mut self);
    /// Winds a queue's tag back, `active` or not; `false` when that underflowed.
    fn wind_back_queue(&self, queue: &mut Self::QueueTag, active: bool) -> bool;
    /// Winds a waiting request's tag back; `false` when that underflowed.
    fn wind_back_request(&self, request: &mut Self::RequestTag) -> bool;

    /// The tag of a request that arrives now.
    fn request_tag(&self) -> Self::RequestTag;
    /// A queue with nothing waiting or executing receives a request.
    fn activate(&self, queue: &mut Self::QueueTag);
    /// The queue is charged for a request that starts.
    fn charge(&self, queue: &mut Self::QueueTag, work: SeatSeconds);
    /// The queue gets `work` back (or pays it, as two's complement) when the service time is known.
    fn refund(&self, queue: &mut Self::QueueTag, work: SeatSeconds);
    /// Applies the rules for a queue whose head is `head` now, or whose tag went down.
    fn bound(&self, queue: &mut Self::QueueTag, head: Head<Self::RequestTag>);

    /// Publishes the head of the queue at `place` for [`Discipline::pick`]; `None` when it is empty.
    fn publish(&mut self, place: u32, queue: &Self::QueueTag, head: Option<Head<Self::RequestTag>>);
    /// The place of the queue that is served next; `None` when nothing is published.
    fn pick(&self) -> Option<u32>;
    /// The queue at `place` was served.
    fn served(&mut self, place: u32);
    /// The picked head could not be served. `first` is the lowest place that holds a queue, `places` their number.
    fn blocked(&mut self, first: u32, places: u32);

    /// Makes room for `places` places without changing anything else; `false` when memory is short.
    fn reserve(&mut self, places: u32) -> bool;
    /// Starts over with `places` places and nothing published, within what was reserved. `rank` maps
    /// the old place of a queue to the number of queues before it, which is its new place.
    fn arrange(&mut self, places: u32, rank: impl Fn(u32) -> u32);

    /// The reading of the progress meter R.
    fn progress(&self) -> SeatSeconds;
    /// When the queue's next request starts in the virtual world.
    fn next_dispatch_r(queue: &Self::QueueTag) -> SeatSeconds;
    /// The place after the one served last: the search for the next queue starts there.
    fn search_start(&self) -> u32;
}
