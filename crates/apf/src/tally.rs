//! Starts and ends of a batch, added up before they are counted where every thread sees them.

use crate::counters::{duration_bucket, seat_bucket};
use crate::engine::{Admitted, Engine, Flow};

/// Requests in a row that are counted in the same places.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    started: Sum<(Flow, usize)>,
    ended: Sum<(Flow, usize, bool)>,
}

/// How often something was observed in one place, and what the observations make together.
#[derive(Debug)]
struct Sum<P> {
    place: Option<P>,
    times: u64,
    value: u64,
    seats: u64,
}

impl<P> Default for Sum<P> {
    fn default() -> Self {
        Self { place: None, times: 0, value: 0, seats: 0 }
    }
}

impl<P: Copy + PartialEq> Sum<P> {
    /// Adds an observation; those of another place are handed back to be counted.
    #[inline]
    fn add(&mut self, place: P, value: u64, seats: u64) -> Option<Self> {
        let others = (self.place != Some(place)).then(|| std::mem::take(self));
        self.place = Some(place);
        self.times += 1;
        self.value = self.value.wrapping_add(value);
        self.seats = self.seats.wrapping_add(seats);
        others
    }
}

fn count_started(engine: &Engine, sum: Sum<(Flow, usize)>) {
    if let Some((flow, bucket)) = sum.place {
        engine.count(flow, |counters| counters.admitted_many(bucket, sum.times, sum.value, sum.seats));
    }
}

fn count_ended(engine: &Engine, sum: Sum<(Flow, usize, bool)>) {
    if let Some((flow, bucket, watch)) = sum.place {
        engine.count(flow, |counters| counters.finished_many(bucket, watch, sum.times, sum.value, sum.seats));
    }
}

impl Tally {
    /// A request began to execute at once, on `seats` after it wanted `wanted`.
    #[inline]
    pub(crate) fn admitted(&mut self, engine: &Engine, flow: Flow, wanted: u64, seats: u64) {
        if let Some(others) = self.started.add((flow, seat_bucket(wanted)), wanted, seats) {
            count_started(engine, others);
        }
    }

    /// An executing request ended.
    #[inline]
    pub(crate) fn finished(&mut self, engine: &Engine, now: u64, admitted: &Admitted) {
        let Admitted { flow, seats, start, watch, .. } = *admitted;
        let executed = now.saturating_sub(start);
        if let Some(others) = self.ended.add((flow, duration_bucket(executed), watch), executed, seats) {
            count_ended(engine, others);
        }
    }

    /// Counts what is left.
    pub(crate) fn settle(&mut self, engine: &Engine) {
        count_started(engine, std::mem::take(&mut self.started));
        count_ended(engine, std::mem::take(&mut self.ended));
    }
}
