//! The dispatcher's numbers, as values. Prometheus and the like are adapters.

pub use apf_core::{Counters, DemandStats, LevelLimits, SeatSeconds};

pub use crate::counters::{DURATION_BOUNDS, Histogram, SchemaStats};
use crate::engine::Engine;

/// One priority level. The names of the metrics are in brackets.
#[derive(Debug, Clone, PartialEq)]
pub struct LevelStats {
    /// Its name.
    pub level: String,
    /// `nominal_limit_seats`, `lower_limit_seats`, `upper_limit_seats`.
    pub limits: LevelLimits,
    /// `current_limit_seats`.
    pub current_limit: u32,
    /// `target_seats`.
    pub target: f64,
    /// `demand_seats_high_watermark`, `_average`, `_stdev`, `_smoothed`.
    pub demand: DemandStats,
    /// Requests waiting.
    pub requests_waiting: u64,
    /// Seats they want.
    pub seats_waiting: u64,
    /// Requests executing.
    pub requests_executing: u64,
    /// Seats in use, also by requests that linger.
    pub seats_in_use: u64,
    /// Seats in use over the current limit; over a tenth of the server, at least 1, where that is 0. Never NaN.
    pub seat_utilization: f64,
    /// `current_r`.
    pub progress: SeatSeconds,
    /// What the level's core has counted.
    pub counters: Counters,
    /// What a refused caller is told, seconds.
    pub retry_after: u64,
    /// Whether it has been removed and is running empty.
    pub quiescing: bool,
}

/// A dispatcher's numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Stats {
    /// By name.
    pub levels: Vec<LevelStats>,
    /// By level and schema; also those of earlier configurations, for counts do not go away.
    pub schemas: Vec<SchemaStats>,
    /// `seat_fair_frac`.
    pub seat_fair_fraction: f64,
}

impl Stats {
    pub(crate) fn read(engine: &Engine) -> Self {
        let states: Vec<_> = {
            let configuration = engine.configuration();
            configuration.levels.iter().map(|(name, state)| (name.clone(), *state)).collect()
        };
        let now = engine.clock.now();
        let mut levels = Vec::with_capacity(states.len());
        for (level, state) in states {
            let Some(slot) = engine.levels.get(state.slot) else { continue };
            let seen = slot.control(now, |held| {
                held.tick();
                let level = held.level();
                (
                    level.requests_waiting(),
                    level.seats_waiting(),
                    level.requests_executing(),
                    level.seats_in_use(),
                    level.progress(),
                    level.counters(),
                )
            });
            let Some((requests_waiting, seats_waiting, requests_executing, seats_in_use, progress, counters)) =
                seen
            else {
                continue; // it has been retired
            };
            let tenth = (f64::from(engine.server_limit) / 10.0).round().max(1.0);
            let denominator = if state.current > 0 { f64::from(state.current) } else { tenth };
            levels.push(LevelStats {
                level,
                limits: state.limits,
                current_limit: state.current,
                target: state.target,
                demand: state.stats,
                requests_waiting,
                seats_waiting,
                requests_executing,
                seats_in_use,
                seat_utilization: seats_in_use as f64 / denominator,
                progress,
                counters,
                retry_after: slot.retry_after.seconds(),
                quiescing: state.quiescing,
            });
        }
        let mut schemas: Vec<SchemaStats> = engine
            .schemas
            .iter()
            .map(|slot| {
                slot.counters.read(&slot.name, engine.levels.get(slot.level).map_or("", |level| &level.name))
            })
            .collect();
        schemas.sort_by(|a, b| (&a.level, &a.schema).cmp(&(&b.level, &b.schema)));
        let seat_fair_fraction =
            f64::from_bits(engine.fair_fraction.load(std::sync::atomic::Ordering::Relaxed));
        Self { levels, schemas, seat_fair_fraction }
    }

    /// The numbers of one level.
    pub fn level(&self, name: &str) -> Option<&LevelStats> {
        self.levels.iter().find(|level| level.level == name)
    }
}
