//! How the current limits move: what levels borrow and lend over time.

use apf_core::DemandStats;

use crate::report::{AdjustedLevel, Adjustment, LevelRow, Traffic};
use crate::server::{Server, ServerLevel};

const SECOND: f64 = 1e9;

/// Follows the limits of every level.
#[derive(Debug, Clone)]
pub(super) struct Limits {
    /// By level key.
    meters: Vec<Meter>,
    adjustments: Vec<Adjustment>,
}

/// Borrowed and lent seats of one level, integrated over time.
#[derive(Debug, Clone, Copy)]
struct Meter {
    since: u64,
    borrowed: u32,
    lent: u32,
    borrowed_ns: u128,
    lent_ns: u128,
    current_min: u32,
    current_max: u32,
}

impl Meter {
    fn to(&mut self, now: u64) {
        let elapsed = u128::from(now.saturating_sub(self.since));
        self.borrowed_ns += u128::from(self.borrowed) * elapsed;
        self.lent_ns += u128::from(self.lent) * elapsed;
        self.since = now;
    }
}

/// What the next adjustment depends on, besides the demand to come.
pub(super) fn state(server: &Server) -> Vec<(u32, DemandStats)> {
    server.levels().map(|level| (level.current(), level.demand())).collect()
}

impl Limits {
    pub(super) fn new(server: &Server) -> Limits {
        let mut limits = Limits { meters: Vec::new(), adjustments: Vec::new() };
        limits.note(server, 0, "start");
        limits
    }

    /// Notes the limits after an adjustment.
    pub(super) fn note(&mut self, server: &Server, now: u64, cause: &'static str) {
        for meter in &mut self.meters {
            meter.to(now);
            // A level that has gone neither borrows nor lends; the others are set below.
            (meter.borrowed, meter.lent) = (0, 0);
        }
        for &key in server.keys() {
            let level = server.level(key);
            let current = level.current();
            while self.meters.len() <= key.0 as usize {
                self.meters.push(Meter {
                    since: now,
                    borrowed: 0,
                    lent: 0,
                    borrowed_ns: 0,
                    lent_ns: 0,
                    current_min: u32::MAX,
                    current_max: 0,
                });
            }
            let meter = &mut self.meters[key.0 as usize];
            (meter.borrowed, meter.lent) = borrowed_and_lent(level);
            meter.current_min = meter.current_min.min(current);
            meter.current_max = meter.current_max.max(current);
        }
        let moved = |last: &Adjustment| {
            let before = last.levels.iter().map(|level| (level.nominal, level.current, level.quiescing));
            let now = server.levels();
            !before.eq(now.map(|level| (level.limits().nominal, level.current(), level.is_quiescing())))
        };
        if cause != "period" || self.adjustments.last().is_none_or(moved) {
            let levels = server.levels().map(adjusted).collect();
            self.adjustments.push(Adjustment { at_s: now as f64 / SECOND, cause, levels });
        }
    }

    /// The rows of the levels that ever were, each with its traffic, and the adjustments.
    pub(super) fn rows(
        mut self,
        server: &Server,
        end: u64,
        traffic: impl Iterator<Item = Traffic>,
    ) -> (Vec<LevelRow>, Vec<Adjustment>) {
        let average = |sum: u128| if end == 0 { 0.0 } else { sum as f64 / end as f64 };
        let rows =
            self.meters.iter_mut().zip(server.all_levels()).zip(traffic).map(|((meter, level), traffic)| {
                meter.to(end);
                let limits = level.limits();
                LevelRow {
                    level: level.name().to_owned(),
                    traffic,
                    nominal: limits.nominal,
                    min: limits.min,
                    max: limits.max,
                    current_min: meter.current_min,
                    current_max: meter.current_max,
                    borrowed_avg: average(meter.borrowed_ns),
                    lent_avg: average(meter.lent_ns),
                }
            });
        (rows.collect(), self.adjustments)
    }
}

fn borrowed_and_lent(level: &ServerLevel) -> (u32, u32) {
    let (nominal, current) = (level.limits().nominal, level.current());
    (current.saturating_sub(nominal), nominal.saturating_sub(current))
}

fn adjusted(level: &ServerLevel) -> AdjustedLevel {
    let (borrowed, lent) = borrowed_and_lent(level);
    let demand = level.demand();
    AdjustedLevel {
        level: level.name().to_owned(),
        nominal: level.limits().nominal,
        current: level.current(),
        borrowed,
        lent,
        seats_in_use: level.level().seats_in_use(),
        demand_avg: demand.average,
        demand_max: demand.high_watermark,
        quiescing: level.is_quiescing(),
    }
}
