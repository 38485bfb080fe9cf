//! The dispatcher's numbers, as values. Prometheus and the like are adapters.

pub use apf_core::utilization::{
    Choice, DEMAND_BOUNDS, REQUEST_BOUNDS, SEAT_BOUNDS as SEAT_UTILIZATION_BOUNDS,
};
pub use apf_core::{Counters, DemandStats, LevelLimits, RatioHistogram, SeatSeconds, Utilization};
use apf_core::{Level, Mode, Queuing};

pub use crate::counters::{DURATION_BOUNDS, Histogram, LENGTH_BOUNDS, SEAT_BOUNDS, SchemaStats};
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
    /// Least and greatest virtual start of the next request, over the queues that hold one; seat-seconds (`next_s_bounds`).
    pub next_s_bounds: Option<[f64; 2]>,
    /// The same, less 3 ms of work for each seat in use by requests of the queue (`next_discounted_s_bounds`).
    pub next_discounted_s_bounds: Option<[f64; 2]>,
    /// What the level's core has counted.
    pub counters: Counters,
    /// How full it has been (`priority_level_request_utilization`, `priority_level_seat_utilization`, `demand_seats`), and
    /// the virtual world when a queue was last chosen (`dispatch_r`, `latest_s`).
    pub utilization: Option<Utilization>,
    /// What a refused caller is told, seconds.
    pub retry_after: u64,
    /// Whether it has been removed and is running empty.
    pub quiescing: bool,
}

/// What is read of a level in its turn among the events.
#[derive(Debug)]
pub(crate) struct Seen {
    requests_waiting: u64,
    seats_waiting: u64,
    requests_executing: u64,
    seats_in_use: u64,
    progress: SeatSeconds,
    next_s_bounds: Option<[f64; 2]>,
    next_discounted_s_bounds: Option<[f64; 2]>,
    counters: Counters,
    utilization: Option<Utilization>,
}

/// Service time that a request in progress is taken to need, nanoseconds (KEP-1040).
const GUESSED_SERVICE_TIME: i64 = 3_000_000;
/// Units of [`SeatSeconds`] in a seat-second.
const UNITS: f64 = 1e8;

impl Seen {
    pub(crate) fn of(level: &Level) -> Self {
        let bounds = |discount: &dyn Fn(u64) -> SeatSeconds| {
            if level.requests_waiting() == 0 {
                return None;
            }
            let occupied = level.queues().filter(|queue| queue.waiting > 0);
            let starts = occupied.map(|queue| {
                let start = i128::from(queue.next_dispatch_r.raw());
                (start - i128::from(discount(queue.seats_in_use).raw())) as f64 / UNITS
            });
            starts.fold(None, |bounds: Option<[f64; 2]>, start| {
                let [min, max] = bounds.unwrap_or([start; 2]);
                Some([min.min(start), max.max(start)])
            })
        };
        Self {
            requests_waiting: level.requests_waiting(),
            seats_waiting: level.seats_waiting(),
            requests_executing: level.requests_executing(),
            seats_in_use: level.seats_in_use(),
            progress: level.progress(),
            next_s_bounds: bounds(&|_| SeatSeconds::ZERO),
            next_discounted_s_bounds: bounds(&|seats| SeatSeconds::work(seats as f64, GUESSED_SERVICE_TIME)),
            counters: level.counters(),
            utilization: level.utilization().cloned(),
        }
    }
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
            let Some(seen) = slot.look(now) else { continue }; // it has been retired
            let denominator = f64::from(if state.current > 0 { state.current } else { engine.spare_seats() });
            levels.push(LevelStats {
                level,
                limits: state.limits,
                current_limit: state.current,
                target: state.target,
                demand: state.stats,
                requests_waiting: seen.requests_waiting,
                seats_waiting: seen.seats_waiting,
                requests_executing: seen.requests_executing,
                seats_in_use: seen.seats_in_use,
                seat_utilization: seen.seats_in_use as f64 / denominator,
                progress: seen.progress,
                next_s_bounds: seen.next_s_bounds,
                next_discounted_s_bounds: seen.next_discounted_s_bounds,
                counters: seen.counters,
                utilization: seen.utilization.clone(),
                retry_after: slot.retry_after.seconds(),
                quiescing: state.quiescing,
            });
        }
        let schemas = Self::schemas(engine, now);
        let seat_fair_fraction =
            f64::from_bits(engine.fair_fraction.load(std::sync::atomic::Ordering::Relaxed));
        Self { levels, schemas, seat_fair_fraction }
    }

    /// Those of one name are one: a level that went and came back goes on counting, as the reference's metrics do.
    fn schemas(engine: &Engine, now: u64) -> Vec<SchemaStats> {
        let snapshot = engine.snapshot.load();
        let plan = &snapshot.plan;
        let queuing =
            |level: &str| plan.levels().get(plan.level_index(level)?).map(|planned| planned.queuing);
        let mut read: Vec<SchemaStats> = engine
            .schemas
            .iter()
            .map(|slot| {
                let level = engine.levels.get(slot.level).map_or("", |level| &level.name);
                let queuing = queuing(level);
                let mut stats = SchemaStats {
                    schema: slot.name.as_ref().to_owned(),
                    level: level.to_owned(),
                    exempt: queuing == Some(Queuing::Exempt),
                    queues: matches!(queuing, Some(Queuing::Queue { .. })),
                    ..slot.counters.read(engine.mode == Mode::Exact, now)
                };
                if !stats.queues {
                    stats.queue_lengths = Histogram::default(); // it has counted who started at once
                }
                stats
            })
            .collect();
        read.sort_by(|a, b| (&a.level, &a.schema).cmp(&(&b.level, &b.schema)));
        let mut schemas: Vec<SchemaStats> = Vec::with_capacity(read.len());
        for stats in read {
            match schemas.last_mut().filter(|last| last.level == stats.level && last.schema == stats.schema) {
                Some(last) => last.add(&stats),
                None => schemas.push(stats),
            }
        }
        schemas
    }

    /// The numbers of one level.
    pub fn level(&self, name: &str) -> Option<&LevelStats> {
        self.levels.iter().find(|level| level.level == name)
    }
}
