//! How full a level is over time: ratios weighted by nanoseconds, as in the reference's timing-ratio histograms
//! (`priority_level_request_utilization`, `priority_level_seat_utilization`, `demand_seats`).
//!
//! Between two events nothing changes, so one look at each event, before it takes effect, accounts for all of the time.

use crate::SeatSeconds;
use crate::level::Queuing;

/// Upper bounds of the request utilizations; `+Inf` follows.
pub const REQUEST_BOUNDS: [f64; 10] = [0.0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.25, 0.5, 0.75, 1.0];
/// Upper bounds of the seat utilization.
pub const SEAT_BOUNDS: [f64; 13] = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0];
/// Upper bounds of the seat demand.
pub const DEMAND_BOUNDS: [f64; 12] = [0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.7, 2.0, 2.8, 4.0, 6.0];

/// For how long a ratio was in each bucket.
#[derive(Debug, Clone, PartialEq)]
pub struct RatioHistogram<const BOUNDS: usize> {
    denominator: u64,
    /// The largest numerator of each bucket, for this denominator.
    largest: [u64; BOUNDS],
    nanoseconds: [u64; BOUNDS],
    /// Nanoseconds in all buckets, that of `+Inf` too.
    total: u64,
    /// The integral of the ratio up to the last change of the denominator, and of the numerator since then.
    sum: f64,
    area: u128,
}

impl<const BOUNDS: usize> RatioHistogram<BOUNDS> {
    const fn new() -> Self {
        Self { denominator: 1, largest: [0; BOUNDS], nanoseconds: [0; BOUNDS], total: 0, sum: 0.0, area: 0 }
    }

    /// Nanoseconds in each bucket, not cumulative; those beyond the last bound are the rest of [`RatioHistogram::total`].
    pub const fn nanoseconds(&self) -> &[u64; BOUNDS] {
        &self.nanoseconds
    }

    /// Nanoseconds in all.
    pub const fn total(&self) -> u64 {
        self.total
    }

    /// The integral of the ratio over time, nanoseconds.
    pub fn sum(&self) -> f64 {
        self.sum + self.area as f64 / self.denominator as f64
    }

    fn divide_by(&mut self, denominator: u64, bounds: &[f64; BOUNDS]) {
        self.sum = self.sum();
        self.area = 0;
        self.denominator = denominator.max(1);
        for (largest, bound) in self.largest.iter_mut().zip(bounds) {
            // By the very division that decides where a ratio belongs.
            let fits = |numerator: u64| numerator as f64 / self.denominator as f64 <= *bound;
            let mut numerator = (*bound * self.denominator as f64) as u64;
            while !fits(numerator) {
                numerator = numerator.saturating_sub(1);
            }
            while fits(numerator.saturating_add(1)) {
                numerator = numerator.saturating_add(1);
            }
            *largest = numerator;
        }
    }

    fn pass(&mut self, nanoseconds: u64, numerator: u64) {
        let bucket = self.largest.iter().position(|largest| numerator <= *largest);
        if let Some(bucket) = bucket.and_then(|bucket| self.nanoseconds.get_mut(bucket)) {
            *bucket = bucket.wrapping_add(nanoseconds);
        }
        self.total = self.total.wrapping_add(nanoseconds);
        self.area = self.area.wrapping_add(u128::from(nanoseconds).wrapping_mul(u128::from(numerator)));
    }
}

/// What a level holds at a moment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Holding {
    pub(crate) waiting: u64,
    pub(crate) executing: u64,
    pub(crate) seats_in_use: u64,
    pub(crate) seats_waiting: u64,
}

/// A level's utilization since it was first measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Utilization {
    last: u64,
    /// What stands for a limit of 0.
    spare: u64,
    /// Requests waiting, over what the queues take.
    pub waiting: RatioHistogram<{ REQUEST_BOUNDS.len() }>,
    /// Requests executing, over the current limit.
    pub executing: RatioHistogram<{ REQUEST_BOUNDS.len() }>,
    /// Seats in use, also of requests that linger, over the current limit.
    pub seats: RatioHistogram<{ SEAT_BOUNDS.len() }>,
    /// Seats in use and waiting, over the current limit.
    pub demand: RatioHistogram<{ DEMAND_BOUNDS.len() }>,
    /// The virtual world when a queue was last dispatched from; `None` before the first time.
    pub choice: Option<Choice>,
}

/// The virtual world at the moment when a queue is dispatched from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choice {
    /// The progress meter R (`dispatch_r`).
    pub progress: SeatSeconds,
    /// When the queue's next request starts (`latest_s`).
    pub start: SeatSeconds,
}

impl Utilization {
    pub(crate) const fn new(now: u64, spare: u64) -> Self {
        Self {
            last: now,
            spare,
            waiting: RatioHistogram::new(),
            executing: RatioHistogram::new(),
            seats: RatioHistogram::new(),
            demand: RatioHistogram::new(),
            choice: None,
        }
    }

    /// The level has been configured.
    pub(crate) fn divide_by(&mut self, queuing: Queuing, concurrency_limit: u64) {
        let places = match queuing {
            Queuing::Queue { queues, queue_length_limit, .. } => {
                u64::from(queue_length_limit.max(1)).wrapping_mul(u64::from(queues.max(1)))
            }
            Queuing::Exempt | Queuing::Reject => 1,
        };
        let seats = if concurrency_limit > 0 { concurrency_limit } else { self.spare };
        self.waiting.divide_by(places, &REQUEST_BOUNDS);
        self.executing.divide_by(seats, &REQUEST_BOUNDS);
        self.seats.divide_by(seats, &SEAT_BOUNDS);
        self.demand.divide_by(seats, &DEMAND_BOUNDS);
    }

    /// A queue is dispatched from.
    #[inline]
    pub(crate) const fn dispatches(&mut self, progress: SeatSeconds, start: SeatSeconds) {
        self.choice = Some(Choice { progress, start });
    }

    /// Time has passed up to `now` with the level as it is. A clock that steps back adds nothing.
    pub(crate) fn pass(&mut self, now: u64, holding: Holding) {
        let Some(nanoseconds) = now.checked_sub(self.last) else { return };
        self.last = now;
        self.waiting.pass(nanoseconds, holding.waiting);
        self.executing.pass(nanoseconds, holding.executing);
        self.seats.pass(nanoseconds, holding.seats_in_use);
        self.demand.pass(nanoseconds, holding.seats_in_use.wrapping_add(holding.seats_waiting));
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;

    /// The vector of the specification: 0/10 for 2 s, 5/10 for 3 s, 10/10 for 1 s, 10/8 for 1 s.
    #[test]
    fn time_is_weighed_by_ratio_and_a_new_denominator_counts_from_then_on() {
        const SECOND: u64 = 1_000_000_000;
        let mut histogram = RatioHistogram::<13>::new();
        histogram.divide_by(10, &SEAT_BOUNDS);
        histogram.pass(2 * SECOND, 0);
        histogram.pass(3 * SECOND, 5);
        histogram.pass(SECOND, 10);
        histogram.divide_by(8, &SEAT_BOUNDS);
        histogram.pass(SECOND, 10);
        let mut cumulative = 0;
        for (bound, nanoseconds) in SEAT_BOUNDS.iter().zip(histogram.nanoseconds()) {
            cumulative += nanoseconds;
            let expected = match *bound {
                ..0.5 => 2,
                ..1.0 => 5,
                _ => 6,
            };
            assert_eq!(cumulative, expected * SECOND, "{bound}");
        }
        assert_eq!(histogram.total(), 7 * SECOND);
        assert_eq!(histogram.sum(), 3.75e9);
    }

    #[test]
    fn a_numerator_is_in_the_bucket_that_the_division_says() {
        for denominator in 1..300_u64 {
            let mut histogram = RatioHistogram::<13>::new();
            histogram.divide_by(denominator, &SEAT_BOUNDS);
            for numerator in 0..=denominator + 2 {
                let ratio = numerator as f64 / denominator as f64;
                let by_division = SEAT_BOUNDS.iter().position(|bound| ratio <= *bound);
                let by_numerator = histogram.largest.iter().position(|largest| numerator <= *largest);
                assert_eq!(by_numerator, by_division, "{numerator}/{denominator}");
            }
        }
    }
}
