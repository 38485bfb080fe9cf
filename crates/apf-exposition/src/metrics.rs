//! The metrics of a dispatcher, by the names of kube-apiserver.

use apf::stats::{
    Choice, DEMAND_BOUNDS, DURATION_BOUNDS, Histogram, LENGTH_BOUNDS, LevelStats, REQUEST_BOUNDS,
    RatioHistogram, SEAT_BOUNDS, SEAT_UTILIZATION_BOUNDS, SchemaStats, SeatSeconds, Stats, Utilization,
};
use apf::{Dispatcher, Reason};

use crate::text::{Family, Kind, Label, Value};

/// The content type of [`prometheus`].
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The metrics of a dispatcher in the Prometheus text format 0.0.4.
///
/// Metrics are sorted by name, series by the values of their labels. A series of a FlowSchema appears with its first request, as in
/// kube-apiserver. Labels hold names of the configuration only: what users send makes no series.
///
/// # Blocking
///
/// As [`Dispatcher::stats`]: waits for its turn at each level; admission does not wait for it.
pub fn prometheus(dispatcher: &Dispatcher) -> String {
    prometheus_of(&dispatcher.stats())
}

/// As [`prometheus`], of numbers that were read before.
pub fn prometheus_of(stats: &Stats) -> String {
    let mut text = String::new();
    Writer { stats, text: &mut text }.all();
    text
}

const LEVEL: &str = "priority_level";
const SCHEMA: &str = "flow_schema";

struct Writer<'a> {
    stats: &'a Stats,
    text: &'a mut String,
}

impl<'a> Writer<'a> {
    /// By name.
    fn all(&mut self) {
        self.by_schema(
            "apiserver_flowcontrol_current_executing_requests",
            "[BETA] Number of requests in initial (for a WATCH) or any (for a non-WATCH) execution stage in the API Priority and Fairness subsystem",
            Kind::Gauge,
            |schema| (schema.dispatched > 0).then_some(schema.executing as f64),
        );
        self.by_schema(
            "apiserver_flowcontrol_current_executing_seats",
            "[BETA] Concurrency (number of seats) occupied by the currently executing (initial stage for a WATCH, any stage otherwise) requests in the API Priority and Fairness subsystem",
            Kind::Gauge,
            |schema| (schema.dispatched > 0).then_some(schema.executing_seats as f64 + schema.lingering_seats as f64),
        );
        self.by_schema(
            "apiserver_flowcontrol_current_inqueue_requests",
            "[BETA] Number of requests currently pending in queues of the API Priority and Fairness subsystem",
            Kind::Gauge,
            |schema| was_queued(schema).then_some(schema.waiting as f64),
        );
        self.by_schema(
            "apiserver_flowcontrol_current_inqueue_seats",
            "[ALPHA] Number of seats currently pending in queues of the API Priority and Fairness subsystem",
            Kind::Gauge,
            |schema| was_queued(schema).then_some(schema.waiting_seats as f64),
        );
        self.by_level(
            "apiserver_flowcontrol_current_limit_seats",
            "[ALPHA] current derived number of execution seats available to each priority level",
            |level| f64::from(level.current_limit),
        );
        self.by_level("apiserver_flowcontrol_current_r", "[ALPHA] R(time of last change)", |level| {
            level.progress.as_f64()
        });
        self.ratios(
            "apiserver_flowcontrol_demand_seats",
            "EXPERIMENTAL: [ALPHA] Observations, at the end of every nanosecond, of (the number of seats each priority level could use) / (nominal number of seats for that level)",
            &DEMAND_BOUNDS,
            |level, utilization| [([(LEVEL, level)], &utilization.demand)],
        );
        self.by_level(
            "apiserver_flowcontrol_demand_seats_average",
            "[ALPHA] Time-weighted average, over last adjustment period, of demand_seats",
            |level| level.demand.average,
        );
        self.by_level(
            "apiserver_flowcontrol_demand_seats_high_watermark",
            "[ALPHA] High watermark, over last adjustment period, of demand_seats",
            |level| f64::from(level.demand.high_watermark),
        );
        self.by_level(
            "apiserver_flowcontrol_demand_seats_smoothed",
            "[ALPHA] Smoothed seat demands",
            |level| level.demand.smoothed,
        );
        self.by_level(
            "apiserver_flowcontrol_demand_seats_stdev",
            "[ALPHA] Time-weighted standard deviation, over last adjustment period, of demand_seats",
            |level| level.demand.deviation,
        );
        self.choices("apiserver_flowcontrol_dispatch_r", "[ALPHA] R(time of last dispatch)", |choice| {
            choice.progress
        });
        self.by_schema(
            "apiserver_flowcontrol_dispatched_requests_total",
            "[BETA] Number of requests executed by API Priority and Fairness subsystem",
            Kind::Counter,
            |schema| (schema.dispatched > 0).then_some(schema.dispatched as f64),
        );
        self.epoch_advances();
        self.choices(
            "apiserver_flowcontrol_latest_s",
            "[ALPHA] S(most recently dispatched request)",
            |choice| choice.start,
        );
        self.by_level(
            "apiserver_flowcontrol_lower_limit_seats",
            "[ALPHA] Configured lower bound on number of execution seats available to each priority level",
            |level| f64::from(level.limits.min),
        );
        self.bounds(
            "apiserver_flowcontrol_next_discounted_s_bounds",
            "[ALPHA] min and max, over queues, of S(oldest waiting request in queue) - estimated work in progress",
            |level| level.next_discounted_s_bounds,
        );
        self.bounds(
            "apiserver_flowcontrol_next_s_bounds",
            "[ALPHA] min and max, over queues, of S(oldest waiting request in queue)",
            |level| level.next_s_bounds,
        );
        self.by_level(
            "apiserver_flowcontrol_nominal_limit_seats",
            "[BETA] Nominal number of execution seats configured for each priority level",
            |level| f64::from(level.limits.nominal),
        );
        self.ratios(
            "apiserver_flowcontrol_priority_level_request_utilization",
            "EXPERIMENTAL: [ALPHA] Observations, at the end of every nanosecond, of number of requests (as a fraction of the relevant limit) waiting or in any stage of execution (but only initial stage for WATCHes)",
            &REQUEST_BOUNDS,
            |level, utilization| {
                [
                    ([("phase", "executing"), (LEVEL, level)], &utilization.executing),
                    ([("phase", "waiting"), (LEVEL, level)], &utilization.waiting),
                ]
            },
        );
        self.ratios(
            "apiserver_flowcontrol_priority_level_seat_utilization",
            "EXPERIMENTAL: [ALPHA] Observations, at the end of every nanosecond, of utilization of seats for any stage of execution (but only initial stage for WATCHes)",
            &SEAT_UTILIZATION_BOUNDS,
            |level, utilization| [([("phase", "executing"), (LEVEL, level)], &utilization.seats)],
        );
        self.rejected();
        self.no_accommodation();
        self.executions();
        self.queue_lengths();
        self.waits();
        Family {
            name: "apiserver_flowcontrol_seat_fair_frac",
            help: "[ALPHA] Fair fraction of server's concurrency to allocate to each priority level that can use it",
            kind: Kind::Gauge,
            series: vec![([], Value::Number(self.stats.seat_fair_fraction))],
        }
        .write(self.text);
        self.by_level("apiserver_flowcontrol_target_seats", "[ALPHA] Seat allocation targets", |level| {
            level.target
        });
        self.by_level(
            "apiserver_flowcontrol_upper_limit_seats",
            "[ALPHA] Configured upper bound on number of execution seats available to each priority level",
            |level| f64::from(level.limits.max),
        );
        self.estimates();
    }

    fn by_level(&mut self, name: &'static str, help: &'static str, value: impl Fn(&LevelStats) -> f64) {
        let series = self.stats.levels.iter();
        let series = series.map(|level| ([(LEVEL, level.level.as_str())], Value::Number(value(level))));
        Family { name, help, kind: Kind::Gauge, series: series.collect() }.write(self.text);
    }

    fn choices(&mut self, name: &'static str, help: &'static str, value: impl Fn(&Choice) -> SeatSeconds) {
        let series = self.stats.levels.iter().filter_map(|level| {
            let choice = level.utilization.as_ref()?.choice.as_ref()?;
            Some(([(LEVEL, level.level.as_str())], Value::Number(value(choice).as_f64())))
        });
        Family { name, help, kind: Kind::Gauge, series: series.collect() }.write(self.text);
    }

    /// Ratios weighted by nanoseconds.
    fn ratios<const SERIES: usize, const LABELS: usize, const BOUNDS: usize>(
        &mut self,
        name: &'static str,
        help: &'static str,
        bounds: &[f64; BOUNDS],
        of: impl Fn(&'a str, &'a Utilization) -> [([Label<'a>; LABELS], &'a RatioHistogram<BOUNDS>); SERIES],
    ) {
        let measured =
            self.stats.levels.iter().filter_map(|level| Some(of(&level.level, level.utilization.as_ref()?)));
        let ratios: Vec<_> =
            measured.flatten().map(|(labels, ratio)| (labels, ratio, all_buckets(ratio))).collect();
        let series = ratios
            .iter()
            .map(|(labels, ratio, counts)| (*labels, Value::Buckets { bounds, counts, sum: ratio.sum() }));
        Family { name, help, kind: Kind::Histogram, series: series.collect() }.write(self.text);
    }

    fn by_schema(
        &mut self,
        name: &'static str,
        help: &'static str,
        kind: Kind,
        value: impl Fn(&SchemaStats) -> Option<f64>,
    ) {
        let series = self.stats.schemas.iter();
        let series = series.filter_map(|schema| Some((of(schema), Value::Number(value(schema)?))));
        Family { name, help, kind, series: series.collect() }.write(self.text);
    }

    fn bounds(
        &mut self,
        name: &'static str,
        help: &'static str,
        value: impl Fn(&LevelStats) -> Option<[f64; 2]>,
    ) {
        let series = self.stats.levels.iter().filter_map(|level| {
            let [min, max] = value(level)?;
            let series =
                |bound, value| ([(LEVEL, level.level.as_str()), ("bound", bound)], Value::Number(value));
            Some([series("min", min), series("max", max)])
        });
        Family { name, help, kind: Kind::Gauge, series: series.flatten().collect() }.write(self.text);
    }

    fn epoch_advances(&mut self) {
        let series = self.stats.levels.iter().flat_map(|level| {
            let failed = level.counters.failed_epoch_advances;
            let succeeded = level.counters.epoch_advances.saturating_sub(failed);
            let series = |success, count: u64| {
                ([(LEVEL, level.level.as_str()), ("success", success)], Value::Number(count as f64))
            };
            [(succeeded, "true"), (failed, "false")]
                .into_iter()
                .filter(|(count, _)| *count > 0)
                .map(move |(count, success)| series(success, count))
        });
        Family {
            name: "apiserver_flowcontrol_epoch_advance_total",
            help: "[ALPHA] Number of times the queueset's progress meter jumped backward",
            kind: Kind::Counter,
            series: series.collect(),
        }
        .write(self.text);
    }

    fn rejected(&mut self) {
        let reasons = [Reason::QueueFull, Reason::ConcurrencyLimit, Reason::TimeOut, Reason::Cancelled];
        let series = self.stats.schemas.iter().flat_map(|schema| {
            reasons.into_iter().filter_map(move |reason| {
                let count = schema.rejected_for(reason);
                let [level, name] = of(schema);
                (count > 0).then(|| ([level, name, ("reason", reason.as_str())], Value::Number(count as f64)))
            })
        });
        Family {
            name: "apiserver_flowcontrol_rejected_requests_total",
            help: "[BETA] Number of requests rejected by API Priority and Fairness subsystem",
            kind: Kind::Counter,
            series: series.collect(),
        }
        .write(self.text);
    }

    /// The level knows whose turn it was by a number; the schema is left empty, which sums by level do not notice.
    fn no_accommodation(&mut self) {
        let series = self.stats.levels.iter().filter(|level| level.counters.no_accommodation > 0);
        let series = series.map(|level| {
            let count = level.counters.no_accommodation as f64;
            ([(LEVEL, level.level.as_str()), (SCHEMA, "")], Value::Number(count))
        });
        Family {
            name: "apiserver_flowcontrol_request_dispatch_no_accommodation_total",
            help: "[ALPHA] Number of times a dispatch attempt resulted in a non accommodation due to lack of available seats",
            kind: Kind::Counter,
            series: series.collect(),
        }
        .write(self.text);
    }

    fn executions(&mut self) {
        let series = self.stats.schemas.iter().flat_map(|schema| {
            let [level, name] = of(schema);
            [("regular", &schema.executed), ("watch", &schema.watched)]
                .into_iter()
                .filter(|(_, executions)| executions.count() > 0)
                .map(move |(kind, executions)| ([level, name, ("type", kind)], durations(executions)))
        });
        Family {
            name: "apiserver_flowcontrol_request_execution_seconds",
            help: "[ALPHA] Duration of initial stage (for a WATCH) or any (for a non-WATCH) stage of request execution in the API Priority and Fairness subsystem",
            kind: Kind::Histogram,
            series: series.collect(),
        }
        .write(self.text);
    }

    fn queue_lengths(&mut self) {
        let joined = self.stats.schemas.iter().filter(|schema| schema.queue_lengths.count() > 0);
        let series = joined.map(|schema| {
            let Histogram { counts, sum } = &schema.queue_lengths;
            (of(schema), Value::Buckets { bounds: &LENGTH_BOUNDS, counts, sum: *sum })
        });
        Family {
            name: "apiserver_flowcontrol_request_queue_length_after_enqueue",
            help: "[ALPHA] Length of queue in the API Priority and Fairness subsystem, as seen by each request after it is enqueued",
            kind: Kind::Histogram,
            series: series.collect(),
        }
        .write(self.text);
    }

    fn estimates(&mut self) {
        let series = self.stats.schemas.iter().filter(|schema| schema.arrived > 0).map(|schema| {
            let Histogram { counts, sum } = &schema.estimated;
            (of(schema), Value::Buckets { bounds: &SEAT_BOUNDS, counts, sum: *sum })
        });
        Family {
            name: "apiserver_flowcontrol_work_estimated_seats",
            help: "[ALPHA] Number of estimated seats (maximum of initial and final seats) associated with requests in API Priority and Fairness",
            kind: Kind::Histogram,
            series: series.collect(),
        }
        .write(self.text);
    }

    fn waits(&mut self) {
        let limited = self.stats.schemas.iter().filter(|schema| !schema.exempt);
        let series = limited.flat_map(|schema| {
            let [level, name] = of(schema);
            [("true", &schema.waited), ("false", &schema.waited_in_vain)]
                .into_iter()
                .filter(|(_, waits)| waits.count() > 0)
                .map(move |(execute, waits)| ([level, name, ("execute", execute)], durations(waits)))
        });
        Family {
            name: "apiserver_flowcontrol_request_wait_duration_seconds",
            help: "[BETA] Length of time a request spent waiting in its queue",
            kind: Kind::Histogram,
            series: series.collect(),
        }
        .write(self.text);
    }
}

/// The buckets of a ratio, that beyond the last bound too.
fn all_buckets<const BOUNDS: usize>(ratio: &RatioHistogram<BOUNDS>) -> Vec<u64> {
    let within: u64 = ratio.nanoseconds().iter().sum();
    ratio.nanoseconds().iter().copied().chain([ratio.total() - within]).collect()
}

/// Whether the reference has had a request of it in a queue: there also those pass through one that start at once.
fn was_queued(schema: &SchemaStats) -> bool {
    let enqueued =
        if schema.queues { schema.dispatched } else { schema.waited.count() - schema.waited.counts[0] };
    enqueued > 0
        || schema.waiting > 0
        || schema.rejected_for(Reason::TimeOut) + schema.rejected_for(Reason::Cancelled) > 0
}

fn of(schema: &SchemaStats) -> [Label<'_>; 2] {
    [(LEVEL, &schema.level), (SCHEMA, &schema.schema)]
}

fn durations(histogram: &Histogram) -> Value<'_> {
    Value::Buckets { bounds: &DURATION_BOUNDS, counts: &histogram.counts, sum: histogram.sum }
}
