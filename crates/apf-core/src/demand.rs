//! Seat demand over time: what borrowing decides from (KEP-1040, "Dispatching: borrowing").

use crate::rounding::{round_half_away, to_seats};

/// Share of the old smoothed value that survives an adjustment.
const KEEP: f64 = 0.977;
/// Share of the new envelope; the literal, not `1.0 - KEEP`, which is another `f64`.
const TAKE: f64 = 0.023;

/// Integrates a level's seat demand: seats in use plus seats waiting.
#[derive(Debug, Clone)]
pub(crate) struct SeatDemand {
    last: u64,
    value: f64,
    high: f64,
    seconds: f64,
    integral: f64,
    integral_of_square: f64,
}

impl SeatDemand {
    pub(crate) const fn new(now: u64) -> Self {
        Self { last: now, value: 0.0, high: 0.0, seconds: 0.0, integral: 0.0, integral_of_square: 0.0 }
    }

    #[inline(always)]
    fn integrate_to(&mut self, now: u64) {
        let elapsed = now.wrapping_sub(self.last) as i64;
        if elapsed == 0 {
            return;
        }
        self.last = now;
        // Whole seconds and the rest apart, as the reference converts a duration.
        let seconds = match elapsed {
            0..1_000_000_000 => elapsed as f64 / 1e9, // no whole ones: adding 0 changes nothing
            _ => (elapsed / 1_000_000_000) as f64 + (elapsed % 1_000_000_000) as f64 / 1e9,
        };
        self.seconds += seconds;
        self.integral += self.value * seconds;
        self.integral_of_square += self.value * self.value * seconds;
    }

    #[inline(always)]
    pub(crate) fn set(&mut self, now: u64, demand: u64) {
        self.integrate_to(now);
        let value = demand as i64 as f64; // far below 2^63, and signed numbers convert in one step
        if value == self.value {
            return;
        }
        self.value = value;
        if self.value > self.high {
            self.high = self.value;
        }
    }

    /// Ends the period and starts the next one at the current demand.
    pub(crate) fn close(&mut self, now: u64) -> DemandPeriod {
        self.integrate_to(now);
        let average = self.integral / self.seconds;
        let variance = self.integral_of_square / self.seconds - average * average;
        let period = DemandPeriod {
            duration: self.seconds,
            average,
            deviation: if variance >= 0.0 { libm::sqrt(variance) } else { f64::NAN },
            high_watermark: self.high,
        };
        *self = Self { last: self.last, value: self.value, high: self.value, ..Self::new(now) };
        period
    }
}

/// Seat demand of one level between two adjustments.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DemandPeriod {
    /// Length of the period in seconds. Where it is not above 0 there is no average or deviation.
    pub duration: f64,
    /// Time-weighted mean, seats.
    pub average: f64,
    /// Time-weighted population standard deviation, seats; NaN where rounding made the variance negative.
    pub deviation: f64,
    /// Largest demand; the value at the start of the period counts.
    pub high_watermark: f64,
}

/// A level's demand as the adjustments see it. Starts at zero.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct DemandStats {
    /// Time-weighted mean of the last period that had a length, seats.
    pub average: f64,
    /// Standard deviation of that period, seats.
    pub deviation: f64,
    /// Envelope (mean plus deviation) that rises at once and decays slowly, seats.
    pub smoothed: f64,
    /// Largest demand of the last period, rounded to seats.
    pub high_watermark: u32,
}

impl DemandStats {
    /// Takes in the period that has just ended. The result is finite whatever the period holds.
    pub fn update(&mut self, period: &DemandPeriod) {
        self.high_watermark = to_seats(round_half_away(period.high_watermark));
        if period.duration.is_nan() || period.duration <= 0.0 {
            return;
        }
        let finite = |x: f64| if x.is_finite() { x } else { 0.0 };
        self.average = finite(period.average);
        self.deviation = finite(period.deviation);
        let envelope = self.average + self.deviation;
        self.smoothed = envelope.max(KEEP * self.smoothed + TAKE * envelope);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_integral_weighs_by_time_and_the_first_value_counts() {
        let mut demand = SeatDemand::new(0);
        demand.set(0, 9);
        demand.close(0);
        demand.set(2_500_000_000, 1);
        demand.set(7_500_000_000, 1);
        let period = demand.close(10_000_000_000);
        assert_eq!(period.duration, 10.0);
        assert_eq!(period.average, 3.0);
        assert!((period.deviation - 12f64.sqrt()).abs() < 1e-12);
        assert_eq!(period.high_watermark, 9.0);
        assert_eq!(demand.close(20_000_000_000).high_watermark, 1.0);
    }

    /// Kubernetes issue 120032: one NaN must not stay in the smoothed value for good.
    #[test]
    fn statistics_stay_finite_over_a_period_without_length() {
        let mut demand = SeatDemand::new(5);
        let mut stats = DemandStats::default();
        stats.update(&demand.close(5));
        assert_eq!(stats, DemandStats::default());
        demand.set(5, 7);
        stats.update(&demand.close(5));
        assert_eq!((stats.average, stats.smoothed, stats.high_watermark), (0.0, 0.0, 7));
        stats.update(&demand.close(10_000_000_005));
        assert_eq!((stats.average, stats.deviation, stats.smoothed), (7.0, 0.0, 7.0));
        let bad =
            DemandPeriod { duration: 1.0, average: f64::NAN, deviation: f64::NAN, high_watermark: f64::NAN };
        stats.update(&bad);
        assert!(stats.smoothed.is_finite() && stats.average.is_finite() && stats.high_watermark == 0);
    }

    #[test]
    fn the_smoothed_value_rises_at_once_and_decays_by_the_constant() {
        let mut stats = DemandStats::default();
        let constant = |x| DemandPeriod { duration: 10.0, average: x, deviation: 0.0, high_watermark: x };
        stats.update(&constant(100.0));
        assert_eq!(stats.smoothed, 100.0);
        stats.update(&constant(0.0));
        assert_eq!(stats.smoothed, 97.7);
    }
}
