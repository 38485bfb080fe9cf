//! Latencies of single operations, with their tail.

use hdrhistogram::Histogram;

use crate::report::Report;
use crate::rounds::median;

/// Nanoseconds from 1 to a minute, to one percent.
#[derive(Debug, Clone)]
pub struct Latency(Histogram<u64>);

impl Default for Latency {
    fn default() -> Self {
        Self(Histogram::new_with_bounds(1, 60_000_000_000, 2).expect("valid bounds"))
    }
}

/// The parts of a distribution that are reported.
pub const PERCENTILES: [(&str, f64); 5] =
    [("p50", 50.0), ("p99", 99.0), ("p99.9", 99.9), ("p99.99", 99.99), ("max", 100.0)];

impl Latency {
    /// Takes one operation down.
    #[inline]
    pub fn record(&mut self, nanoseconds: u64) {
        self.0.saturating_record(nanoseconds);
    }

    /// Adds another thread's.
    pub fn add(&mut self, other: &Self) {
        // The same bounds: nothing can be lost.
        let _ = self.0.add(&other.0);
    }

    /// How many operations there were.
    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// Nanoseconds that so many percent stay below.
    pub fn percentile(&self, percent: f64) -> f64 {
        self.0.value_at_percentile(percent) as f64
    }
}

/// The same measurement in several runs.
#[derive(Debug, Clone, Default)]
pub struct Runs(pub Vec<Latency>);

impl Runs {
    /// One percentile in every run.
    pub fn each(&self, percent: f64) -> Vec<f64> {
        self.0.iter().map(|run| run.percentile(percent)).collect()
    }

    /// Prints the median over the runs of every percentile; `peer` is compared with, run by run.
    pub fn report(&self, report: &mut Report, name: &str, peer: Option<(&str, &Self)>) {
        for (part, percent) in PERCENTILES {
            let (name, values) = (format!("{name}/{part}"), self.each(percent));
            match peer {
                Some((peer, runs)) => {
                    let ratios: Vec<f64> = values
                        .iter()
                        .zip(runs.each(percent))
                        .map(|(this, other)| this / other.max(1.0))
                        .collect();
                    report.compared(&name, median(&values), "ns", &format!("{peer}/{part}"), median(&ratios));
                }
                None => report.figure(&name, median(&values), "ns"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_is_kept_to_a_percent() {
        let mut latency = Latency::default();
        (0..9_999).for_each(|_| latency.record(50));
        latency.record(7_000_000);
        assert_eq!(latency.count(), 10_000);
        assert_eq!(latency.percentile(99.9), 50.0);
        assert!((latency.percentile(100.0) / 7_000_000.0 - 1.0).abs() < 0.01);
    }
}
