//! The dispatcher's numbers as plain Python values.

use apf::stats::DURATION_BOUNDS;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

/// A histogram of durations.
#[pyclass(frozen, get_all, module = "apf_core")]
pub(crate) struct Histogram {
    /// Upper bounds of the buckets but the last, seconds.
    bounds: Py<PyTuple>,
    /// Observations in each bucket, not cumulative; the last is beyond the last bound.
    counts: Py<PyTuple>,
    /// Sum of the observations, seconds.
    sum: f64,
    /// Number of observations.
    count: u64,
}

impl Histogram {
    fn new(py: Python<'_>, of: &apf::stats::Histogram) -> PyResult<Py<Self>> {
        let bounds = PyTuple::new(py, DURATION_BOUNDS)?.unbind();
        let counts = PyTuple::new(py, of.counts)?.unbind();
        Py::new(py, Self { bounds, counts, sum: of.sum, count: of.count() })
    }
}

/// One priority level.
#[pyclass(frozen, get_all, module = "apf_core")]
pub(crate) struct LevelStats {
    level: String,
    nominal: u32,
    min: u32,
    max: u32,
    current_limit: u32,
    target: f64,
    demand_high_watermark: u32,
    demand_average: f64,
    demand_stdev: f64,
    demand_smoothed: f64,
    requests_waiting: u64,
    seats_waiting: u64,
    requests_executing: u64,
    seats_in_use: u64,
    seat_utilization: f64,
    progress: f64,
    retry_after: u64,
    quiescing: bool,
}

/// One FlowSchema at one level.
#[pyclass(frozen, get_all, module = "apf_core")]
pub(crate) struct SchemaStats {
    schema: String,
    level: String,
    arrived: u64,
    dispatched: u64,
    rejected: Py<PyDict>,
    requests_waiting: i64,
    seats_waiting: i64,
    requests_executing: i64,
    seats_executing: i64,
    waited: Py<Histogram>,
    waited_in_vain: Py<Histogram>,
    executed: Py<Histogram>,
}

/// A dispatcher's numbers.
#[pyclass(frozen, get_all, module = "apf_core")]
pub(crate) struct Stats {
    /// By name.
    levels: Py<PyDict>,
    /// By level and schema.
    schemas: Py<PyList>,
    /// `seat_fair_frac`.
    seat_fair_fraction: f64,
}

impl Stats {
    pub(crate) fn new(py: Python<'_>, stats: apf::stats::Stats) -> PyResult<Self> {
        let levels = PyDict::new(py);
        for of in stats.levels {
            let name = of.level.clone();
            levels.set_item(name, LevelStats::new(of))?;
        }
        let schemas = PyList::empty(py);
        for of in stats.schemas {
            schemas.append(SchemaStats::new(py, of)?)?;
        }
        let (levels, schemas) = (levels.unbind(), schemas.unbind());
        Ok(Self { levels, schemas, seat_fair_fraction: stats.seat_fair_fraction })
    }
}

impl LevelStats {
    fn new(of: apf::stats::LevelStats) -> Self {
        Self {
            level: of.level,
            nominal: of.limits.nominal,
            min: of.limits.min,
            max: of.limits.max,
            current_limit: of.current_limit,
            target: of.target,
            demand_high_watermark: of.demand.high_watermark,
            demand_average: of.demand.average,
            demand_stdev: of.demand.deviation,
            demand_smoothed: of.demand.smoothed,
            requests_waiting: of.requests_waiting,
            seats_waiting: of.seats_waiting,
            requests_executing: of.requests_executing,
            seats_in_use: of.seats_in_use,
            seat_utilization: of.seat_utilization,
            progress: of.progress.raw() as f64 / 1e8,
            retry_after: of.retry_after,
            quiescing: of.quiescing,
        }
    }
}

impl SchemaStats {
    fn new(py: Python<'_>, of: apf::stats::SchemaStats) -> PyResult<Self> {
        let rejected = PyDict::new(py);
        for (reason, count) in
            ["queue-full", "concurrency-limit", "time-out", "cancelled"].into_iter().zip(of.rejected)
        {
            rejected.set_item(reason, count)?;
        }
        Ok(Self {
            schema: of.schema,
            level: of.level,
            arrived: of.arrived,
            dispatched: of.dispatched,
            rejected: rejected.unbind(),
            requests_waiting: of.waiting,
            seats_waiting: of.waiting_seats,
            requests_executing: of.executing,
            seats_executing: of.executing_seats,
            waited: Histogram::new(py, &of.waited)?,
            waited_in_vain: Histogram::new(py, &of.waited_in_vain)?,
            executed: Histogram::new(py, &of.executed)?,
        })
    }
}

#[pymethods]
impl Stats {
    fn __repr__(&self, py: Python<'_>) -> String {
        format!("<Stats of {} levels>", self.levels.bind(py).len())
    }
}
