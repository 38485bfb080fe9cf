//! The dispatcher that services embed.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use apf::clock::Clock;
use apf::config::Objects;
use apf::{BuildError, FlowHash, Mode};
use apf_exposition::Table;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::admission::Admission;
use crate::permit::Permit;
use crate::request::{Asked, Given, Request, seconds};
use crate::stats::Stats;
use crate::{admission, blocking, config, errors};

/// Admits requests by the rules of API Priority and Fairness.
#[pyclass(frozen, module = "apf_core", weakref)]
pub(crate) struct Dispatcher {
    inner: apf::Dispatcher,
    clock_runs: bool,
    uids: Mutex<Uids>,
}

/// The UIDs of the objects in force, by name, for kube-apiserver's headers.
#[derive(Debug, Default)]
struct Uids {
    levels: HashMap<String, String>,
    schemas: HashMap<String, String>,
}

impl Uids {
    fn of(objects: &Objects) -> Self {
        let named = |meta: &apf::config::objects::ObjectMeta| (meta.name.clone(), meta.uid.clone());
        Self {
            levels: objects.priority_levels.iter().map(|level| named(&level.metadata)).collect(),
            schemas: objects.flow_schemas.iter().map(|schema| named(&schema.metadata)).collect(),
        }
    }
}

/// A clock that stands still until it is told otherwise.
#[pyclass(frozen, module = "apf_core")]
pub(crate) struct ManualClock(apf::clock::ManualClock);

#[pymethods]
impl ManualClock {
    #[new]
    fn new() -> Self {
        Self(apf::clock::ManualClock::default())
    }

    /// The time it shows, seconds.
    fn now(&self) -> f64 {
        self.0.now() as f64 / 1e9
    }

    /// Moves it on to `now`, seconds; it does not go back.
    fn set(&self, now: f64) -> PyResult<()> {
        let now = seconds("now", now)?;
        self.0.set(now.as_nanos() as u64);
        Ok(())
    }
}

pub(crate) fn mode(text: &str) -> PyResult<Mode> {
    match text {
        "default" => Ok(Mode::Default),
        "exact" => Ok(Mode::Exact),
        other => Err(PyValueError::new_err(format!("mode: {other:?} is neither 'default' nor 'exact'"))),
    }
}

fn flow_hash(text: &str) -> PyResult<FlowHash> {
    match text {
        "sha256" => Ok(FlowHash::Sha256),
        "xxh3" => Ok(FlowHash::Xxh3),
        other => Err(PyValueError::new_err(format!("flow_hash: {other:?} is neither 'sha256' nor 'xxh3'"))),
    }
}

impl Dispatcher {
    /// `try_admit` of a prebuilt request.
    #[inline]
    pub(crate) fn admit_prebuilt(&self, py: Python<'_>, request: &Request) -> PyResult<Permit> {
        let admitted = self.inner.try_admit_owned(request.as_kept());
        admitted.map(Permit::new).map_err(|error| errors::admission(py, error))
    }

    /// `try_admit` of attributes; see `quick` for the method itself.
    pub(crate) fn admit_described(&self, py: Python<'_>, asked: &Asked) -> PyResult<Permit> {
        let admitted = self.inner.try_admit_owned(asked.request(None));
        admitted.map(Permit::new).map_err(|error| errors::admission(py, error))
    }
}

#[pymethods]
impl Dispatcher {
    #[new]
    #[pyo3(signature = (
        config = None, seats = 600, *, built_in = "suggested", mode = "default", flow_hash = None,
        queue_wait_limit = 15.0, queue_wait_limits = None, keep_details = false, clock = None,
    ))]
    #[allow(clippy::too_many_arguments, reason = "keyword arguments of a constructor")]
    fn new(
        py: Python<'_>,
        config: Option<&Bound<'_, PyAny>>,
        seats: i64,
        built_in: &str,
        mode: &str,
        flow_hash: Option<&str>,
        queue_wait_limit: f64,
        queue_wait_limits: Option<HashMap<String, f64>>,
        keep_details: bool,
        clock: Option<&Bound<'_, ManualClock>>,
    ) -> PyResult<Self> {
        errors::prepare(py)?;
        admission::prepare(py)?;
        let objects = config::objects(config, config::built_in(built_in)?)?;
        let uids = Mutex::new(Uids::of(&objects));
        let mut builder = apf::Dispatcher::builder()
            .objects(objects)
            .seats(seats)
            .mode(self::mode(mode)?)
            .queue_wait_limit(seconds("queue_wait_limit", queue_wait_limit)?);
        if let Some(hash) = flow_hash {
            builder = builder.flow_hash(self::flow_hash(hash)?);
        }
        for (level, limit) in queue_wait_limits.unwrap_or_default() {
            builder = builder.queue_wait_limit_of(&level, seconds("queue_wait_limits", limit)?);
        }
        if keep_details {
            builder = builder.keep_details();
        }
        if let Some(clock) = clock {
            builder = builder.clock(Clock::Manual(clock.get().0.clone()));
        }
        let inner = py.detach(|| builder.build()).map_err(|error| match error {
            BuildError::Plan(error) => config::plan_error(py, &error),
            BuildError::Thread(error) => PyOSError::new_err(error.to_string()),
        })?;
        let clock_runs = clock.is_none();
        Ok(Self { inner, clock_runs, uids })
    }

    /// Admits a request, blocking the thread while it waits.
    #[pyo3(signature = (request = None, /, *, timeout = None, **attributes))]
    fn admit_blocking(
        &self,
        py: Python<'_>,
        request: Option<&Bound<'_, Request>>,
        timeout: Option<f64>,
        attributes: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Permit> {
        let given = Given::new(request, attributes)?;
        let timeout: Option<Duration> = timeout.map(|limit| seconds("timeout", limit)).transpose()?;
        let admit = self.inner.admit_owned(given.request_within(timeout));
        blocking::wait(py, admit, self.clock_runs).map(Permit::new)
    }

    /// Admits a request in an event loop: it takes its place now, and awaiting it gives its permit.
    #[pyo3(signature = (request = None, /, *, timeout = None, **attributes))]
    fn admit(
        &self,
        request: Option<&Bound<'_, Request>>,
        timeout: Option<f64>,
        attributes: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Admission> {
        let given = Given::new(request, attributes)?;
        let timeout: Option<Duration> = timeout.map(|limit| seconds("timeout", limit)).transpose()?;
        Ok(Admission::new(self.inner.admit_owned(given.request_within(timeout))))
    }

    /// Replaces the whole configuration while requests are in flight.
    #[pyo3(signature = (config = None, *, built_in = "suggested"))]
    fn reconfigure(&self, py: Python<'_>, config: Option<&Bound<'_, PyAny>>, built_in: &str) -> PyResult<()> {
        let objects = config::objects(config, config::built_in(built_in)?)?;
        let uids = Uids::of(&objects);
        let changed = py.detach(|| {
            let changed = self.inner.reconfigure(objects);
            if changed.is_ok() {
                *self.uids.lock().unwrap_or_else(PoisonError::into_inner) = uids;
            }
            changed
        });
        changed.map_err(|error| config::plan_error(py, &error))
    }

    /// What of the configuration takes no part, one sentence an object.
    fn left_out(&self, py: Python<'_>) -> Vec<String> {
        py.detach(|| self.inner.left_out())
    }

    /// Every number, as plain values.
    fn stats(&self, py: Python<'_>) -> PyResult<Stats> {
        let stats = py.detach(|| self.inner.stats());
        Stats::new(py, stats)
    }

    /// The metrics of kube-apiserver in Prometheus' text format.
    fn prometheus(&self, py: Python<'_>) -> String {
        py.detach(|| apf_exposition::prometheus(&self.inner))
    }

    /// A debug dump, as kube-apiserver prints it: `priority_levels`, `queues` or `requests`.
    #[pyo3(signature = (table, *, details = false))]
    fn dump(&self, py: Python<'_>, table: &str, details: bool) -> PyResult<String> {
        let table = match table {
            "priority_levels" => Table::PriorityLevels,
            "queues" => Table::Queues,
            "requests" => Table::Requests { details },
            other => {
                return Err(PyValueError::new_err(format!(
                    "table: {other:?} is none of 'priority_levels', 'queues' and 'requests'"
                )));
            }
        };
        Ok(py.detach(|| apf_exposition::dump(&self.inner, table)))
    }

    /// The UID of the level of this name; empty for one without an object or UID.
    fn level_uid(&self, name: &str) -> String {
        let uids = self.uids.lock().unwrap_or_else(PoisonError::into_inner);
        uids.levels.get(name).cloned().unwrap_or_default()
    }

    /// The UID of the FlowSchema of this name; empty for one without an object or UID.
    fn schema_uid(&self, name: &str) -> String {
        let uids = self.uids.lock().unwrap_or_else(PoisonError::into_inner);
        uids.schemas.get(name).cloned().unwrap_or_default()
    }

    /// Does what is due by the clock's time: for manual clocks.
    fn run_timers(&self, py: Python<'_>) {
        py.detach(|| self.inner.run_timers());
    }

    /// When something is due next, seconds since the clock's origin: for manual clocks.
    fn next_timer(&self) -> Option<f64> {
        self.inner.next_timer().map(|at| at as f64 / 1e9)
    }

    /// Requests that have not given their place back yet: for leak checks.
    #[getter]
    fn _nodes_in_use(&self) -> usize {
        self.inner.nodes_in_use()
    }
}
