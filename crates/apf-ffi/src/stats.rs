//! An engine's numbers at one moment, as the host gets them.

#![allow(non_camel_case_types, reason = "names of the C interface")]

use apf::Reason;
use apf::stats::{DURATION_BOUNDS, Histogram, LevelStats, SchemaStats, Stats};

use crate::pointers::lend;
use crate::types::apf_str;

/// The numbers of an engine at one moment. They do not change, so any number of threads may read them.
#[derive(Debug)]
pub struct apf_stats(pub(crate) Stats);

/// Buckets of a histogram of durations: the last one is beyond the last bound.
pub const APF_DURATION_BUCKETS: usize = 14;

const _: () = assert!(APF_DURATION_BUCKETS == DURATION_BOUNDS.len() + 1);

/// A histogram of durations. Its bounds are 0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15 and 30 seconds, as
/// kube-apiserver's. This structure never changes.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct apf_histogram {
    /// Observations in each bucket, not cumulative.
    pub counts: [u64; APF_DURATION_BUCKETS],
    /// Sum of the observations, seconds.
    pub sum_seconds: f64,
}

/// The numbers of one priority level. In brackets the metrics of kube-apiserver. `name` lives until apf_stats_free().
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct apf_level_stats {
    /// sizeof(apf_level_stats), set by the caller before the call.
    pub size: usize,
    /// Its name.
    pub name: apf_str,
    /// Its share of the server, seats (nominal_limit_seats).
    pub nominal_limit: u32,
    /// What it keeps when it lends all it may, seats (lower_limit_seats).
    pub lower_limit: u32,
    /// What it has when it borrows all it may, seats (upper_limit_seats).
    pub upper_limit: u32,
    /// What it has now, seats (current_limit_seats).
    pub current_limit: u32,
    /// What it would have by its demand, seats (target_seats).
    pub target: f64,
    /// Largest demand of the last 10 s period, seats (demand_seats_high_watermark).
    pub demand_high: f64,
    /// Mean demand of the last period, seats (demand_seats_average).
    pub demand_average: f64,
    /// Its standard deviation, seats (demand_seats_stdev).
    pub demand_deviation: f64,
    /// The envelope that limits follow, seats (demand_seats_smoothed).
    pub demand_smoothed: f64,
    /// Requests waiting.
    pub requests_waiting: u64,
    /// Seats they want.
    pub seats_waiting: u64,
    /// Requests executing.
    pub requests_executing: u64,
    /// Seats in use, also by requests that linger.
    pub seats_in_use: u64,
    /// Seats in use over the current limit; over a tenth of the server where that is 0. Never NaN.
    pub seat_utilization: f64,
    /// Progress of the level's virtual clock, seat-seconds (current_r).
    pub progress: f64,
    /// Requests that started.
    pub dispatched: u64,
    /// Requests refused because their queue was full.
    pub rejected_queue_full: u64,
    /// Requests refused because the level does not queue.
    pub rejected_concurrency_limit: u64,
    /// Requests that waited for as long as they might. Never moves in exact mode.
    pub timed_out: u64,
    /// Requests whose caller left while they waited; in exact mode also those that timed out.
    pub cancelled: u64,
    /// Times that the next request in turn did not fit (request_dispatch_no_accommodation_total).
    pub no_accommodation: u64,
    /// What a refused caller is told, seconds.
    pub retry_after_seconds: u32,
    /// 1 when it has been removed and is running empty, else 0.
    pub quiescing: u32,
}

/// The numbers of one FlowSchema at one level. In brackets the metrics of kube-apiserver. The names live until
/// apf_stats_free().
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct apf_schema_stats {
    /// sizeof(apf_schema_stats), set by the caller before the call.
    pub size: usize,
    /// The FlowSchema.
    pub name: apf_str,
    /// The level its requests went to.
    pub level: apf_str,
    /// Requests that were given to the level.
    pub arrived: u64,
    /// Requests that began to execute (dispatched_requests_total).
    pub dispatched: u64,
    /// Requests refused with the reason `queue-full` (rejected_requests_total).
    pub rejected_queue_full: u64,
    /// Requests refused with the reason `concurrency-limit`.
    pub rejected_concurrency_limit: u64,
    /// Requests refused with the reason `time-out`.
    pub timed_out: u64,
    /// Requests that were cancelled.
    pub cancelled: u64,
    /// Requests waiting (current_inqueue_requests).
    pub requests_waiting: i64,
    /// Their seats (current_inqueue_seats).
    pub seats_waiting: i64,
    /// Requests executing (current_executing_requests).
    pub requests_executing: i64,
    /// Their seats, without those that linger.
    pub seats_executing: i64,
    /// Seats of ended requests that linger.
    pub seats_lingering: u64,
    /// Waits that ended in execution (request_wait_duration_seconds with execute="true").
    pub waited: apf_histogram,
    /// Waits that did not (execute="false").
    pub waited_in_vain: apf_histogram,
    /// Executions, but for watches (request_execution_seconds with type="regular").
    pub executed: apf_histogram,
    /// Executions of watches: until apf_finish_early(), if the host calls that (type="watch").
    pub watched: apf_histogram,
}

impl From<&Histogram> for apf_histogram {
    fn from(histogram: &Histogram) -> Self {
        Self { counts: histogram.counts, sum_seconds: histogram.sum }
    }
}

impl From<&LevelStats> for apf_level_stats {
    fn from(stats: &LevelStats) -> Self {
        Self {
            size: size_of::<Self>(),
            name: lend(&stats.level),
            nominal_limit: stats.limits.nominal,
            lower_limit: stats.limits.min,
            upper_limit: stats.limits.max,
            current_limit: stats.current_limit,
            target: stats.target,
            demand_high: stats.demand.high_watermark.into(),
            demand_average: stats.demand.average,
            demand_deviation: stats.demand.deviation,
            demand_smoothed: stats.demand.smoothed,
            requests_waiting: stats.requests_waiting,
            seats_waiting: stats.seats_waiting,
            requests_executing: stats.requests_executing,
            seats_in_use: stats.seats_in_use,
            seat_utilization: stats.seat_utilization,
            progress: stats.progress.as_f64(),
            dispatched: stats.counters.dispatched,
            rejected_queue_full: stats.counters.rejected_queue_full,
            rejected_concurrency_limit: stats.counters.rejected_concurrency_limit,
            timed_out: stats.counters.timed_out,
            cancelled: stats.counters.cancelled,
            no_accommodation: stats.counters.no_accommodation,
            retry_after_seconds: stats.retry_after as u32,
            quiescing: stats.quiescing.into(),
        }
    }
}

impl From<&SchemaStats> for apf_schema_stats {
    fn from(stats: &SchemaStats) -> Self {
        Self {
            size: size_of::<Self>(),
            name: lend(&stats.schema),
            level: lend(&stats.level),
            arrived: stats.arrived,
            dispatched: stats.dispatched,
            rejected_queue_full: stats.rejected_for(Reason::QueueFull),
            rejected_concurrency_limit: stats.rejected_for(Reason::ConcurrencyLimit),
            timed_out: stats.rejected_for(Reason::TimeOut),
            cancelled: stats.rejected_for(Reason::Cancelled),
            requests_waiting: stats.waiting,
            seats_waiting: stats.waiting_seats,
            requests_executing: stats.executing,
            seats_executing: stats.executing_seats,
            seats_lingering: stats.lingering_seats,
            waited: (&stats.waited).into(),
            waited_in_vain: (&stats.waited_in_vain).into(),
            executed: (&stats.executed).into(),
            watched: (&stats.watched).into(),
        }
    }
}
