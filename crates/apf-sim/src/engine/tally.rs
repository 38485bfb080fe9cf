//! Counts one set of requests while they pass: those of a level, of a schema, or of a client.

use apf_core::Reason;
use hdrhistogram::Histogram;

use crate::report::Traffic;

/// Waits are kept in microseconds: three digits of them are exact.
const NS_PER_UNIT: u64 = 1_000;
const DIGITS: u8 = 3;
const SECOND: f64 = 1e9;

/// Running counts of a set of requests.
#[derive(Debug, Clone)]
pub(super) struct Tally {
    requests: u64,
    admitted_at_once: u64,
    queued: u64,
    /// Queue full, concurrency limit, time-out, cancelled.
    rejected: [u64; 4],
    under_way: u64,
    /// Waits above 0; those of 0 are counted apart. Absent until there is one.
    waits: Option<Box<Histogram<u64>>>,
    no_waits: u64,
    longest_wait: u64,
    seats: SeatMeter,
}

/// Seats in use, integrated over time.
#[derive(Debug, Clone, Copy, Default)]
struct SeatMeter {
    in_use: u64,
    since: u64,
    seat_ns: u128,
    max: u64,
}

impl SeatMeter {
    fn to(&mut self, now: u64) {
        let elapsed = now.saturating_sub(self.since);
        self.seat_ns += u128::from(self.in_use) * u128::from(elapsed);
        self.since = now;
    }
}

impl Tally {
    pub(super) fn new() -> Self {
        Tally {
            requests: 0,
            admitted_at_once: 0,
            queued: 0,
            rejected: [0; 4],
            under_way: 0,
            waits: None,
            no_waits: 0,
            longest_wait: 0,
            seats: SeatMeter::default(),
        }
    }

    pub(super) fn arrived(&mut self) {
        self.requests += 1;
        self.under_way += 1;
    }

    /// It starts after waiting for `wait`, 0 when it did not wait.
    pub(super) fn started(&mut self, now: u64, wait: u64, seats: u64) {
        self.waited(wait);
        self.seats.to(now);
        self.seats.in_use += seats;
        self.seats.max = self.seats.max.max(self.seats.in_use);
    }

    pub(super) fn admitted_at_once(&mut self) {
        self.admitted_at_once += 1;
    }

    pub(super) fn queued(&mut self) {
        self.queued += 1;
    }

    pub(super) fn rejected(&mut self, reason: Reason) {
        self.under_way -= 1;
        let [queue_full, concurrency_limit, time_out, cancelled] = &mut self.rejected;
        *match reason {
            Reason::QueueFull => queue_full,
            Reason::ConcurrencyLimit => concurrency_limit,
            Reason::TimeOut => time_out,
            Reason::Cancelled => cancelled,
        } += 1;
    }

    /// It waited for `wait`, and then started or was refused.
    pub(super) fn waited(&mut self, wait: u64) {
        if wait == 0 {
            self.no_waits += 1;
            return;
        }
        self.longest_wait = self.longest_wait.max(wait);
        if self.waits.is_none() {
            self.waits = Histogram::new(DIGITS).ok().map(Box::new);
        }
        if let Some(waits) = &mut self.waits {
            // Grows by itself; only a wait of centuries could fail.
            let _ = waits.record(wait.div_ceil(NS_PER_UNIT));
        }
    }

    pub(super) fn finished(&mut self) {
        self.under_way -= 1;
    }

    pub(super) fn released(&mut self, now: u64, seats: u64) {
        self.seats.to(now);
        self.seats.in_use = self.seats.in_use.saturating_sub(seats);
    }

    /// The counts, averaged over `0..now`.
    pub(super) fn traffic(mut self, now: u64) -> Traffic {
        self.seats.to(now);
        let mut waits = self.waits.take();
        if let Some(waits) = &mut waits {
            let _ = waits.record_n(0, self.no_waits);
        }
        let longest = self.longest_wait as f64 / SECOND;
        let quantile = |q: f64| match &waits {
            None => 0.0,
            // The histogram answers with the upper end of a bucket, which may lie above the longest wait.
            Some(waits) => (waits.value_at_quantile(q) as f64 * NS_PER_UNIT as f64 / SECOND).min(longest),
        };
        let [queue_full, concurrency_limit, time_out, cancelled] = self.rejected;
        Traffic {
            requests: self.requests,
            admitted_at_once: self.admitted_at_once,
            queued: self.queued,
            wait_p50_s: quantile(0.5),
            wait_p90_s: quantile(0.9),
            wait_p99_s: quantile(0.99),
            wait_max_s: longest,
            rejected_queue_full: queue_full,
            rejected_concurrency_limit: concurrency_limit,
            rejected_time_out: time_out,
            rejected_cancelled: cancelled,
            unfinished: self.under_way,
            seats_avg: if now == 0 { 0.0 } else { self.seats.seat_ns as f64 / now as f64 },
            seats_max: self.seats.max,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Tally;

    const MS: u64 = 1_000_000;

    #[test]
    fn percentiles_count_those_that_did_not_wait() {
        let mut tally = Tally::new();
        for _ in 0..90 {
            tally.arrived();
            tally.started(0, 0, 1);
        }
        for wait in 1..=10 {
            tally.arrived();
            tally.started(0, wait * MS, 1);
        }
        let traffic = tally.traffic(MS);
        assert_eq!((traffic.wait_p50_s, traffic.wait_p90_s, traffic.wait_max_s), (0.0, 0.0, 0.01));
        assert!((traffic.wait_p99_s - 0.009).abs() < 1e-5, "{}", traffic.wait_p99_s);
    }

    #[test]
    fn seats_are_averaged_over_time() {
        let mut tally = Tally::new();
        tally.started(0, 0, 4);
        tally.started(5 * MS, 0, 2);
        tally.released(10 * MS, 4);
        let traffic = tally.traffic(20 * MS);
        assert_eq!(traffic.seats_avg, (4.0 * 5.0 + 6.0 * 5.0 + 2.0 * 10.0) / 20.0);
        assert_eq!(traffic.seats_max, 6);
    }
}
