//! What happens to the requests of one FlowSchema at one level, counted where threads do not meet.

use std::cell::Cell;
use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering};

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

/// Threads are spread over this many places.
const SHARDS: usize = 8;

/// Counts of one schema at one level, in shards. Every count is relaxed: sums are exact once nothing moves.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    shards: [Shard; SHARDS],
}

/// Alone on its cache lines.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Shard {
    arrived: AtomicU64,
    dispatched: AtomicU64,
    rejected: [AtomicU64; 4],
    waiting: AtomicI64,
    waiting_seats: AtomicI64,
    executing: AtomicI64,
    executing_seats: AtomicI64,
    waited: AtomicHistogram,
    waited_in_vain: AtomicHistogram,
    executed: AtomicHistogram,
}

#[derive(Debug, Default)]
struct AtomicHistogram {
    counts: [AtomicU64; BOUNDS_NS.len() + 1],
    sum: AtomicU64,
}

impl AtomicHistogram {
    fn observe(&self, ns: u64) {
        let bucket = BOUNDS_NS.iter().position(|bound| ns <= *bound).unwrap_or(BOUNDS_NS.len());
        self.counts[bucket].fetch_add(1, Ordering::Relaxed);
        self.sum.fetch_add(ns, Ordering::Relaxed);
    }
}

/// A histogram of durations over [`DURATION_BOUNDS`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Histogram {
    /// Observations in each bucket, not cumulative; the last is beyond the last bound.
    pub counts: [u64; DURATION_BOUNDS.len() + 1],
    /// Sum of the observations, seconds.
    pub sum: f64,
}

impl Histogram {
    /// Number of observations.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    fn add(&mut self, shard: &AtomicHistogram) {
        for (count, more) in self.counts.iter_mut().zip(&shard.counts) {
            *count += more.load(Ordering::Relaxed);
        }
        self.sum += shard.sum.load(Ordering::Relaxed) as f64 / 1e9;
    }
}

/// Counts of one FlowSchema at one level, read as values. The names of the metrics are in brackets.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SchemaStats {
    /// The FlowSchema.
    pub schema: String,
    /// The level its requests went to.
    pub level: String,
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
    /// Their seats, without those that linger (`current_executing_seats`, which counts these too).
    pub executing_seats: i64,
    /// Waits that ended in execution (`request_wait_duration_seconds{execute="true"}`).
    pub waited: Histogram,
    /// Waits that did not (`execute="false"`).
    pub waited_in_vain: Histogram,
    /// Executions (`request_execution_seconds`).
    pub executed: Histogram,
}

const REASONS: [Reason; 4] =
    [Reason::QueueFull, Reason::ConcurrencyLimit, Reason::TimeOut, Reason::Cancelled];

impl SchemaStats {
    /// Requests refused for one reason.
    pub fn rejected_for(&self, reason: Reason) -> u64 {
        REASONS.iter().zip(self.rejected).find(|(r, _)| **r == reason).map_or(0, |(_, count)| count)
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

    /// A request arrived and began to execute at once.
    pub(crate) fn admitted(&self, seats: i64) {
        let shard = self.shard();
        shard.arrived.fetch_add(1, Ordering::Relaxed);
        shard.waited.counts[0].fetch_add(1, Ordering::Relaxed);
        Self::begin(shard, seats);
    }

    fn begin(shard: &Shard, seats: i64) {
        shard.dispatched.fetch_add(1, Ordering::Relaxed);
        shard.executing.fetch_add(1, Ordering::Relaxed);
        shard.executing_seats.fetch_add(seats, Ordering::Relaxed);
    }

    /// A request arrived and was refused at once.
    pub(crate) fn refused(&self, reason: Reason) {
        let shard = self.shard();
        shard.arrived.fetch_add(1, Ordering::Relaxed);
        shard.waited_in_vain.counts[0].fetch_add(1, Ordering::Relaxed);
        Self::reject(shard, reason);
    }

    fn reject(shard: &Shard, reason: Reason) {
        let of = REASONS.iter().position(|r| *r == reason).unwrap_or(0);
        shard.rejected[of].fetch_add(1, Ordering::Relaxed);
    }

    /// A request arrived and waits.
    pub(crate) fn queued(&self, seats: i64) {
        let shard = self.shard();
        shard.arrived.fetch_add(1, Ordering::Relaxed);
        shard.waiting.fetch_add(1, Ordering::Relaxed);
        shard.waiting_seats.fetch_add(seats, Ordering::Relaxed);
    }

    /// A waiting request began to execute, on `seats` seats after it wanted `wanted`.
    pub(crate) fn dispatched(&self, wanted: i64, seats: i64, waited: u64) {
        let shard = self.shard();
        shard.waiting.fetch_sub(1, Ordering::Relaxed);
        shard.waiting_seats.fetch_sub(wanted, Ordering::Relaxed);
        shard.waited.observe(waited);
        Self::begin(shard, seats);
    }

    /// A waiting request left.
    pub(crate) fn left(&self, wanted: i64, reason: Reason, waited: u64) {
        let shard = self.shard();
        shard.waiting.fetch_sub(1, Ordering::Relaxed);
        shard.waiting_seats.fetch_sub(wanted, Ordering::Relaxed);
        shard.waited_in_vain.observe(waited);
        Self::reject(shard, reason);
    }

    /// An executing request ended.
    pub(crate) fn finished(&self, seats: i64, executed: u64) {
        let shard = self.shard();
        shard.executing.fetch_sub(1, Ordering::Relaxed);
        shard.executing_seats.fetch_sub(seats, Ordering::Relaxed);
        shard.executed.observe(executed);
    }

    pub(crate) fn read(&self, schema: &str, level: &str) -> SchemaStats {
        let mut stats =
            SchemaStats { schema: schema.to_owned(), level: level.to_owned(), ..SchemaStats::default() };
        for shard in &self.shards {
            stats.arrived += shard.arrived.load(Ordering::Relaxed);
            stats.dispatched += shard.dispatched.load(Ordering::Relaxed);
            for (count, more) in stats.rejected.iter_mut().zip(&shard.rejected) {
                *count += more.load(Ordering::Relaxed);
            }
            stats.waiting += shard.waiting.load(Ordering::Relaxed);
            stats.waiting_seats += shard.waiting_seats.load(Ordering::Relaxed);
            stats.executing += shard.executing.load(Ordering::Relaxed);
            stats.executing_seats += shard.executing_seats.load(Ordering::Relaxed);
            stats.waited.add(&shard.waited);
            stats.waited_in_vain.add(&shard.waited_in_vain);
            stats.executed.add(&shard.executed);
        }
        stats
    }
}
