//! What happens to the requests of one FlowSchema at one level, counted where threads do not meet.

use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use apf_core::Reason;

/// Upper bounds of the duration histograms, seconds: the reference's; `+Inf` follows.
pub const DURATION_BOUNDS: [f64; 13] =
    [0.0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 15.0, 30.0];
const BOUNDS_NS: [u64; 13] = [
    0,
    5_000_000,
    20_000_000,
    50_000_000,
    100_000_000,
    200_000_000,
    500_000_000,
    1_000_000_000,
    2_000_000_000,
    5_000_000_000,
    10_000_000_000,
    15_000_000_000,
    30_000_000_000,
];

/// Upper bounds of the histogram of estimated seats: the reference's; `+Inf` follows.
pub const SEAT_BOUNDS: [f64; 8] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 100.0];
const BOUNDS_SEATS: [u64; 8] = [1, 2, 4, 8, 16, 32, 64, 100];

/// Upper bounds of the histogram of queue lengths: the reference's; `+Inf` follows.
pub const LENGTH_BOUNDS: [f64; 8] = [0.0, 10.0, 25.0, 50.0, 100.0, 250.0, 500.0, 1000.0];
const BOUNDS_LENGTH: [u64; 8] = [0, 10, 25, 50, 100, 250, 500, 1000];

/// Threads are spread over this many places.
const SHARDS: usize = 8;

/// Counts of one schema at one level, in shards. Every count is relaxed: sums are exact once nothing moves.
///
/// A request that starts at once and ends costs seven additions: what follows from others is not counted.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    shards: [Shard; SHARDS],
    lingering: Lingering,
}

/// Alone on its cache lines.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Shard {
    /// Seats of the requests that arrived.
    estimated: AtomicHistogram<{ BOUNDS_SEATS.len() + 1 }>,
    started_seats: AtomicU64,
    ended_seats: AtomicU64,
    rejected: [AtomicU64; 4],
    waiting: AtomicI64,
    waiting_seats: AtomicI64,
    /// Waits that ended in execution: one for each request that started.
    waited: AtomicDurations,
    /// Requests that did not start at once.
    queued: AtomicU64,
    /// Lengths of the queues that they joined.
    lengths: AtomicHistogram<{ BOUNDS_LENGTH.len() + 1 }>,
    /// Waits of requests that were refused at once: all 0.
    refused: AtomicU64,
    /// Waits that somebody gave up.
    left: AtomicDurations,
    /// Executions of watches.
    watches: AtomicDurations,
    /// Executions of other requests.
    regular: AtomicDurations,
}

impl Shard {
    /// A request is in a queue that held so many when it joined; 0 if it is in none, or counted already.
    fn joined(&self, queue_length: u32) {
        if queue_length > 0 {
            self.lengths.observe(&BOUNDS_LENGTH, u64::from(queue_length));
        }
    }
}

fn bucket(bounds: &[u64], value: u64) -> usize {
    bounds.iter().position(|bound| value <= *bound).unwrap_or(bounds.len())
}

/// Where a number of estimated seats is counted.
pub(crate) fn seat_bucket(seats: u64) -> usize {
    bucket(&BOUNDS_SEATS, seats)
}

/// Where a duration is counted.
pub(crate) fn duration_bucket(ns: u64) -> usize {
    bucket(&BOUNDS_NS, ns)
}

type AtomicDurations = AtomicHistogram<{ BOUNDS_NS.len() + 1 }>;

#[derive(Debug)]
struct AtomicHistogram<const BUCKETS: usize> {
    counts: [AtomicU64; BUCKETS],
    sum: AtomicU64,
}

impl<const BUCKETS: usize> Default for AtomicHistogram<BUCKETS> {
    fn default() -> Self {
        Self { counts: [const { AtomicU64::new(0) }; BUCKETS], sum: AtomicU64::new(0) }
    }
}

impl<const BUCKETS: usize> AtomicHistogram<BUCKETS> {
    fn observe(&self, bounds: &[u64], value: u64) {
        self.observe_many(bucket(bounds, value), 1, value);
    }

    /// `times` observations of one bucket, which make `sum`.
    fn observe_many(&self, bucket: usize, times: u64, sum: u64) {
        if let Some(count) = self.counts.get(bucket) {
            count.fetch_add(times, Ordering::Relaxed);
        }
        self.sum.fetch_add(sum, Ordering::Relaxed);
    }
}

/// A histogram: of durations over [`DURATION_BOUNDS`], of seats over [`SEAT_BOUNDS`].
#[derive(Debug, Clone, PartialEq)]
pub struct Histogram<const BUCKETS: usize = { DURATION_BOUNDS.len() + 1 }> {
    /// Observations in each bucket, not cumulative; the last is beyond the last bound.
    pub counts: [u64; BUCKETS],
    /// Sum of the observations: seconds, or seats.
    pub sum: f64,
}

impl<const BUCKETS: usize> Default for Histogram<BUCKETS> {
    fn default() -> Self {
        Self { counts: [0; BUCKETS], sum: 0.0 }
    }
}

impl<const BUCKETS: usize> Histogram<BUCKETS> {
    /// Number of observations.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// `unit` is how many of the shard's units make one of the sum.
    fn read(shards: &[Shard], of: impl Fn(&Shard) -> &AtomicHistogram<BUCKETS>, unit: f64) -> Self {
        let mut counts = [0; BUCKETS];
        let mut sum = 0_u64;
        for shard in shards.iter().map(of) {
            for (count, more) in counts.iter_mut().zip(&shard.counts) {
                *count += more.load(Ordering::Relaxed);
            }
            sum = sum.wrapping_add(shard.sum.load(Ordering::Relaxed));
        }
        Self { counts, sum: sum as f64 / unit }
    }

    fn add(&mut self, other: &Self) {
        for (count, more) in self.counts.iter_mut().zip(other.counts) {
            *count += more;
        }
        self.sum += other.sum;
    }
}

/// Seats that are held after the end of their requests, until their time comes.
#[derive(Debug, Default)]
struct Lingering(Mutex<BinaryHeap<Reverse<(u64, u64)>>>);

impl Lingering {
    fn drop_due(heap: &mut BinaryHeap<Reverse<(u64, u64)>>, now: u64) {
        while heap.peek().is_some_and(|Reverse((due, _))| *due <= now) {
            heap.pop();
        }
    }

    fn keep(&self, now: u64, until: u64, seats: u64) {
        let mut heap = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Self::drop_due(&mut heap, now);
        // Without memory the gauge is a little low for a while; the level itself is not concerned.
        if heap.try_reserve(1).is_ok() {
            heap.push(Reverse((until, seats)));
        }
    }

    fn seats(&self, now: u64) -> u64 {
        let mut heap = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Self::drop_due(&mut heap, now);
        heap.iter().map(|Reverse((_, seats))| seats).sum()
    }
}

/// Counts of one FlowSchema at one level, read as values. The names of the metrics are in brackets.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SchemaStats {
    /// The FlowSchema.
    pub schema: String,
    /// The level its requests went to.
    pub level: String,
    /// Whether that level has no limit: its requests do not wait, and the reference counts no waits of theirs.
    pub exempt: bool,
    /// Whether that level has queues.
    pub queues: bool,
    /// Requests that were classified to it and given to the level.
    pub arrived: u64,
    /// Requests that began to execute (`dispatched_requests_total`).
    pub dispatched: u64,
    /// Requests refused, by `queue-full`, `concurrency-limit`, `time-out`, `cancelled` (`rejected_requests_total`).
    pub rejected: [u64; 4],
    /// Requests waiting (`current_inqueue_requests`).
    pub waiting: i64,
    /// Their seats (`current_inqueue_seats`).
    pub waiting_seats: i64,
    /// Requests executing (`current_executing_requests`).
    pub executing: i64,
    /// Their seats, without those that linger.
    pub executing_seats: i64,
    /// Seats of ended requests that linger (`current_executing_seats` is both).
    pub lingering_seats: u64,
    /// Seats of the requests that arrived, the larger of initial and final ones (`work_estimated_seats`).
    pub estimated: Histogram<{ SEAT_BOUNDS.len() + 1 }>,
    /// Lengths of the queues that requests joined, themselves included (`request_queue_length_after_enqueue`).
    pub queue_lengths: Histogram<{ LENGTH_BOUNDS.len() + 1 }>,
    /// Waits that ended in execution (`request_wait_duration_seconds{execute="true"}`); in the exact mode also waits that were
    /// given up, as in the reference.
    pub waited: Histogram,
    /// Waits that did not (`execute="false"`).
    pub waited_in_vain: Histogram,
    /// Executions, but for watches (`request_execution_seconds{type="regular"}`).
    pub executed: Histogram,
    /// Executions of watches: until they were initialised, if the host says when (`type="watch"`).
    pub watched: Histogram,
}

const REASONS: [Reason; 4] =
    [Reason::QueueFull, Reason::ConcurrencyLimit, Reason::TimeOut, Reason::Cancelled];

/// Where a reason is counted.
fn position(reason: Reason) -> usize {
    REASONS.iter().position(|r| *r == reason).unwrap_or(0)
}

impl SchemaStats {
    /// Requests refused for one reason.
    pub fn rejected_for(&self, reason: Reason) -> u64 {
        REASONS.iter().zip(self.rejected).find(|(r, _)| **r == reason).map_or(0, |(_, count)| count)
    }

    /// Takes in what an earlier level of the same name has counted.
    pub(crate) fn add(&mut self, other: &Self) {
        self.arrived += other.arrived;
        self.dispatched += other.dispatched;
        for (count, more) in self.rejected.iter_mut().zip(other.rejected) {
            *count += more;
        }
        self.waiting += other.waiting;
        self.waiting_seats += other.waiting_seats;
        self.executing += other.executing;
        self.executing_seats += other.executing_seats;
        self.lingering_seats += other.lingering_seats;
        self.estimated.add(&other.estimated);
        self.queue_lengths.add(&other.queue_lengths);
        self.waited.add(&other.waited);
        self.waited_in_vain.add(&other.waited_in_vain);
        self.executed.add(&other.executed);
        self.watched.add(&other.watched);
    }
}

impl Counters {
    fn shard(&self) -> &Shard {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        std::thread_local! {
            static PLACE: Cell<usize> = const { Cell::new(usize::MAX) };
        }
        // A thread that is being torn down has no place left: it uses the first.
        let place = PLACE
            .try_with(|place| {
                if place.get() == usize::MAX {
                    place.set(NEXT.fetch_add(1, Ordering::Relaxed) % SHARDS);
                }
                place.get()
            })
            .unwrap_or(0);
        &self.shards[place]
    }

    /// A request arrived, wanting `wanted` seats, and began to execute at once on `seats`.
    pub(crate) fn admitted(&self, wanted: u64, seats: u64) {
        self.admitted_many(seat_bucket(wanted), 1, wanted, seats);
    }

    /// As many requests arrived, wanting `wanted` seats together, and began to execute at once on `seats`.
    pub(crate) fn admitted_many(&self, seat_bucket: usize, times: u64, wanted: u64, seats: u64) {
        let shard = self.shard();
        shard.estimated.observe_many(seat_bucket, times, wanted);
        shard.waited.counts[0].fetch_add(times, Ordering::Relaxed);
        shard.started_seats.fetch_add(seats, Ordering::Relaxed);
    }

    /// A request arrived and was refused at once.
    pub(crate) fn refused(&self, wanted: u64, reason: Reason) {
        let shard = self.shard();
        shard.estimated.observe(&BOUNDS_SEATS, wanted);
        shard.refused.fetch_add(1, Ordering::Relaxed);
        Self::reject(shard, reason);
    }

    fn reject(shard: &Shard, reason: Reason) {
        shard.rejected[position(reason)].fetch_add(1, Ordering::Relaxed);
    }

    /// A request arrived and waits.
    pub(crate) fn queued(&self, wanted: u64, queue_length: u32) {
        let shard = self.shard();
        shard.queued.fetch_add(1, Ordering::Relaxed);
        shard.joined(queue_length);
        shard.estimated.observe(&BOUNDS_SEATS, wanted);
        shard.waiting.fetch_add(1, Ordering::Relaxed);
        shard.waiting_seats.fetch_add(wanted as i64, Ordering::Relaxed);
    }

    /// A waiting request began to execute, on `seats` seats after it wanted `wanted`.
    pub(crate) fn dispatched(&self, wanted: u64, seats: u64, waited: u64, queue_length: u32) {
        let shard = self.shard();
        shard.joined(queue_length);
        shard.waiting.fetch_sub(1, Ordering::Relaxed);
        shard.waiting_seats.fetch_sub(wanted as i64, Ordering::Relaxed);
        shard.waited.observe(&BOUNDS_NS, waited);
        shard.started_seats.fetch_add(seats, Ordering::Relaxed);
    }

    /// Seats go on counting as waiting.
    pub(crate) fn clipped(&self, seats: u64) {
        self.shard().waiting_seats.fetch_add(seats as i64, Ordering::Relaxed);
    }

    /// A waiting request left.
    pub(crate) fn left(&self, wanted: u64, reason: Reason, waited: u64, queue_length: u32) {
        let shard = self.shard();
        shard.joined(queue_length);
        shard.waiting.fetch_sub(1, Ordering::Relaxed);
        shard.waiting_seats.fetch_sub(wanted as i64, Ordering::Relaxed);
        shard.left.observe(&BOUNDS_NS, waited);
        Self::reject(shard, reason);
    }

    /// An executing request ended, `executed` nanoseconds after its start.
    pub(crate) fn finished(&self, seats: u64, executed: u64, watch: bool) {
        self.finished_many(duration_bucket(executed), watch, 1, executed, seats);
    }

    /// As many executing requests ended, `executed` nanoseconds after their starts together.
    pub(crate) fn finished_many(
        &self,
        duration_bucket: usize,
        watch: bool,
        times: u64,
        executed: u64,
        seats: u64,
    ) {
        let shard = self.shard();
        let executions = if watch { &shard.watches } else { &shard.regular };
        executions.observe_many(duration_bucket, times, executed);
        shard.ended_seats.fetch_add(seats, Ordering::Relaxed);
    }

    /// Its seats come back only at `until`.
    pub(crate) fn lingers(&self, now: u64, until: u64, seats: u64) {
        self.lingering.keep(now, until, seats);
    }

    /// What has been counted, at `now`.
    pub(crate) fn read(&self, exact: bool, now: u64) -> SchemaStats {
        const NS: f64 = 1e9;
        let shards = &self.shards;
        let sum = |of: fn(&Shard) -> &AtomicU64| {
            shards.iter().fold(0_u64, |sum, shard| sum.wrapping_add(of(shard).load(Ordering::Relaxed)))
        };
        let net = |of: fn(&Shard) -> &AtomicI64| -> i64 {
            shards.iter().map(|shard| of(shard).load(Ordering::Relaxed)).sum::<i64>().max(0)
        };
        // Ends before starts: what ends meanwhile is then taken to be still under way, not never begun.
        let executed = Histogram::read(shards, |shard| &shard.regular, NS);
        let watched = Histogram::read(shards, |shard| &shard.watches, NS);
        let ended_seats = sum(|shard| &shard.ended_seats);
        let mut waited = Histogram::read(shards, |shard| &shard.waited, NS);
        let started_seats = sum(|shard| &shard.started_seats);
        let mut waited_in_vain = Histogram::default();
        waited_in_vain.counts[0] = sum(|shard| &shard.refused);
        let dispatched = waited.count();
        let left = Histogram::read(shards, |shard| &shard.left, NS);
        if exact { &mut waited } else { &mut waited_in_vain }.add(&left);
        let estimated = Histogram::read(shards, |shard| &shard.estimated, 1.0);
        let rejected: [u64; 4] = std::array::from_fn(|reason| {
            shards.iter().map(|shard| shard.rejected[reason].load(Ordering::Relaxed)).sum()
        });
        let mut queue_lengths = Histogram::read(shards, |shard| &shard.lengths, 1.0);
        // The others found their queues empty.
        let waiting = net(|shard| &shard.waiting);
        let ended_waiting = sum(|shard| &shard.queued).saturating_sub(waiting as u64);
        let at_once = (dispatched + left.count()).saturating_sub(ended_waiting);
        queue_lengths.counts[bucket(&BOUNDS_LENGTH, 1)] += at_once;
        queue_lengths.sum += at_once as f64;
        SchemaStats {
            arrived: estimated.count(),
            dispatched,
            rejected,
            waiting,
            waiting_seats: net(|shard| &shard.waiting_seats),
            executing: dispatched.saturating_sub(executed.count() + watched.count()) as i64,
            executing_seats: started_seats.saturating_sub(ended_seats) as i64,
            lingering_seats: self.lingering.seats(now),
            estimated,
            queue_lengths,
            waited,
            waited_in_vain,
            executed,
            watched,
            ..SchemaStats::default()
        }
    }
}
