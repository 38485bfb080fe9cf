//! What a run of generated traces has exercised, and how much of each is the least that counts as a test.

use std::fmt;
use std::ops::AddAssign;

/// How often each thing happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Exercised {
    /// Events applied to both sides.
    pub events: u64,
    /// Requests that had to wait.
    pub queued: u64,
    /// Requests refused with the reason `queue-full`.
    pub queue_full: u64,
    /// Requests refused with the reason `concurrency-limit`.
    pub concurrency_limit: u64,
    /// Waiting requests refused with the reason `time-out`.
    pub time_out: u64,
    /// Waiting requests that the level counted as cancelled (in the exact mode the same ones).
    pub cancelled: u64,
    /// Requests whose final seats were clipped to the limit.
    pub trimmed: u64,
    /// Dispatches that stopped because the head was too wide.
    pub no_accommodation: u64,
    /// Queues removed after a shrink.
    pub queues_removed: u64,
    /// Events after which the robin index had become -1.
    pub robin_at_minus_one: u64,
    /// Events in which a walk without a dispatch turned the robin index from -1 into the last one.
    pub robin_turned: u64,
    /// Epochs advanced.
    pub epochs: u64,
    /// Epoch advances with an idle queue, which is reset.
    pub idle_epochs: u64,
    /// Epoch advances during which a reading underflowed.
    pub failed_epochs: u64,
    /// Events before which the clock stepped back.
    pub backward_steps: u64,
    /// Events at the same time as the one before.
    pub zero_steps: u64,
    /// Reports of the seat demand.
    pub demands: u64,
    /// Events that named a request in the wrong state.
    pub skipped: u64,
    /// Traces that ended where a queue would have been removed a second time.
    pub ended_early: u64,
}

/// A count, what it is called, and how many of it a million events must bring.
struct Row {
    name: &'static str,
    count: u64,
    per_million: u64,
}

impl Exercised {
    fn rows(&self) -> [Row; 18] {
        let row = |name, count, per_million| Row { name, count, per_million };
        [
            row("queued", self.queued, 100_000),
            row("rejected: queue-full", self.queue_full, 10_000),
            row("rejected: concurrency-limit", self.concurrency_limit, 5_000),
            row("rejected: time-out", self.time_out, 10_000),
            row("cancelled", self.cancelled, 10_000),
            row("final seats trimmed", self.trimmed, 1_000),
            row("wide head blocked", self.no_accommodation, 20_000),
            row("queues removed", self.queues_removed, 1_000),
            row("robin index at -1", self.robin_at_minus_one, 40),
            row("robin index turned from -1", self.robin_turned, 10),
            row("epochs advanced", self.epochs, 20),
            row("epochs advanced with idle queue", self.idle_epochs, 20),
            row("epochs advanced with underflow", self.failed_epochs, 10),
            row("clock steps back", self.backward_steps, 1_000),
            row("zero-length steps", self.zero_steps, 50_000),
            row("seat demand reports", self.demands, 2_000),
            row("events skipped", self.skipped, 1_000),
            row("traces ended early", self.ended_early, 20),
        ]
    }

    /// The least count for `events` events out of a rate.
    fn minimum(per_million: u64, events: u64) -> u64 {
        per_million.saturating_mul(events) / 1_000_000
    }

    /// The names of the counts that fall short.
    pub fn missed(&self) -> Vec<&'static str> {
        self.rows()
            .iter()
            .filter(|row| row.count < Self::minimum(row.per_million, self.events))
            .map(|row| row.name)
            .collect()
    }
}

impl AddAssign for Exercised {
    fn add_assign(&mut self, other: Self) {
        self.events += other.events;
        self.queued += other.queued;
        self.queue_full += other.queue_full;
        self.concurrency_limit += other.concurrency_limit;
        self.time_out += other.time_out;
        self.cancelled += other.cancelled;
        self.trimmed += other.trimmed;
        self.no_accommodation += other.no_accommodation;
        self.queues_removed += other.queues_removed;
        self.robin_at_minus_one += other.robin_at_minus_one;
        self.robin_turned += other.robin_turned;
        self.epochs += other.epochs;
        self.idle_epochs += other.idle_epochs;
        self.failed_epochs += other.failed_epochs;
        self.backward_steps += other.backward_steps;
        self.zero_steps += other.zero_steps;
        self.demands += other.demands;
        self.skipped += other.skipped;
        self.ended_early += other.ended_early;
    }
}

impl fmt::Display for Exercised {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<32} {:>9} {:>9}", "exercised", "count", "minimum")?;
        for row in self.rows() {
            let minimum = Self::minimum(row.per_million, self.events);
            let note = if row.count < minimum { "  MISSED" } else { "" };
            writeln!(f, "{:<32} {:>9} {minimum:>9}{note}", row.name, row.count)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_below_its_minimum_is_named() {
        let plenty = 1_000_000;
        let mut run = Exercised {
            events: 1_000_000,
            queued: plenty,
            queue_full: plenty,
            concurrency_limit: plenty,
            time_out: plenty,
            cancelled: plenty,
            trimmed: plenty,
            no_accommodation: plenty,
            queues_removed: plenty,
            robin_at_minus_one: plenty,
            robin_turned: plenty,
            epochs: plenty,
            idle_epochs: plenty,
            failed_epochs: plenty,
            backward_steps: plenty,
            zero_steps: plenty,
            demands: plenty,
            skipped: plenty,
            ended_early: plenty,
        };
        assert!(run.missed().is_empty());
        run.robin_at_minus_one = 0;
        assert_eq!(run.missed(), ["robin index at -1"]);
        assert!(run.to_string().contains("MISSED"));
    }
}
