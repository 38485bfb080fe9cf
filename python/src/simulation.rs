//! Scenarios, replays and lists of requests on simulated time.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use apf_core::Mode;
use apf_sim::audit::{self, Input};
use apf_sim::configuration::{BuiltIn, Configuration};
use apf_sim::recording::{Fate, NEVER, Recording};
use apf_sim::replay::{DurationModel, Options as ReplayOptions};
use apf_sim::scenario::{RunOptions, ScenarioReport};
use apf_sim::trace::{self, Arrival, Kind};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyDict, PyList, PyMemoryView, PyString, PyTuple};
use serde::Serialize;

use crate::request::{Asked, Request, seconds};
use crate::{config, dispatcher, errors};

/// The class of what a run gave; it is written in Python.
static RUN: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// What a run gave: its report, as `apf simulate -o json` and `apf replay -o json` print it, and the columns of its requests.
fn run<'py>(
    py: Python<'py>,
    report: &impl Serialize,
    recording: Option<Recording>,
) -> PyResult<Bound<'py, PyAny>> {
    let mut text =
        serde_json::to_string_pretty(report).map_err(|error| PyValueError::new_err(error.to_string()))?;
    text.push('\n');
    let columns = recording.map(|recording| columns(py, recording)).transpose()?;
    RUN.import(py, "apf_core._run", "Run")?.call1((text, columns))
}

/// The columns as views of bytes that NumPy takes without copying them.
fn columns<'py>(py: Python<'py>, recording: Recording) -> PyResult<Bound<'py, PyDict>> {
    let columns = PyDict::new(py);
    let rows = recording.arrival.iter().zip(&recording.start).zip(&recording.end);
    let waits: Vec<i64> = rows
        .map(|((arrival, start), end)| match (*start, *end) {
            (NEVER, NEVER) => NEVER,
            (NEVER, end) => end - arrival,
            (start, _) => start - arrival,
        })
        .collect();
    let Recording { arrival, start, end, seats, level, schema, client, fate, levels, schemas, clients } =
        recording;
    for (name, times) in [("arrival_ns", arrival), ("start_ns", start), ("end_ns", end), ("wait_ns", waits)] {
        columns.set_item(name, view(py, "q", 8, &times, |time| time.to_ne_bytes())?)?;
    }
    for (name, numbers) in [("seats", seats), ("level", level), ("schema", schema), ("client", client)] {
        columns.set_item(name, view(py, "I", 4, &numbers, |number| number.to_ne_bytes())?)?;
    }
    columns.set_item("fate", view(py, "B", 1, &fate, |number| [*number])?)?;
    for (name, names) in [("levels", levels), ("schemas", schemas), ("clients", clients)] {
        columns.set_item(name, PyTuple::new(py, names)?)?;
    }
    columns.set_item("fates", PyTuple::new(py, Fate::ALL.map(Fate::name))?)?;
    Ok(columns)
}

fn view<'py, T, const WIDTH: usize>(
    py: Python<'py>,
    format: &str,
    width: usize,
    values: &[T],
    bytes_of: impl Fn(&T) -> [u8; WIDTH],
) -> PyResult<Bound<'py, PyAny>> {
    let bytes = PyBytes::new_with(py, values.len() * width, |bytes| {
        for (place, value) in bytes.chunks_exact_mut(width).zip(values) {
            place.copy_from_slice(&bytes_of(value));
        }
        Ok(())
    })?;
    PyMemoryView::from(&bytes)?.call_method1(intern!(py, "cast"), (format,))
}

/// A scenario, as `apf simulate` takes it.
#[pyclass(frozen, module = "apf_core")]
pub(crate) struct Scenario(apf_sim::scenario::Scenario);

#[pymethods]
impl Scenario {
    /// From YAML or JSON text, or from a dict with the same fields.
    #[new]
    #[pyo3(signature = (scenario, *, folder = None))]
    fn new(py: Python<'_>, scenario: &Bound<'_, PyAny>, folder: Option<PathBuf>) -> PyResult<Self> {
        let text = if let Ok(text) = scenario.cast::<PyString>() {
            text.to_cow()?.into_owned()
        } else if scenario.cast::<PyDict>().is_ok() || scenario.cast::<PyList>().is_ok() {
            py.import("json")?.call_method1(intern!(py, "dumps"), (scenario,))?.extract()?
        } else {
            return Err(PyTypeError::new_err("a scenario is a text, a dict, or a list of dicts"));
        };
        let folder = folder.unwrap_or_default();
        py.detach(|| apf_sim::scenario::Scenario::parse(&text, "scenario", &folder))
            .map(Self)
            .map_err(|error| errors::simulation(py, &error))
    }

    /// From a file.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        py.detach(|| apf_sim::scenario::Scenario::load(&path))
            .map(Self)
            .map_err(|error| errors::simulation(py, &error))
    }

    /// Runs a scenario of a whole server.
    #[pyo3(signature = (*, seed = None, mode = None, requests = false))]
    fn run<'py>(
        &self,
        py: Python<'py>,
        seed: Option<u64>,
        mode: Option<&str>,
        requests: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let apf_sim::scenario::Scenario::Server(server) = &self.0 else {
            return Err(PyTypeError::new_err("a list of fairness scenarios is checked, not run"));
        };
        let options = RunOptions { mode: mode.map(dispatcher::mode).transpose()?, seed };
        let (report, recording) = py
            .detach(|| {
                if requests {
                    let recorded = server.run_recorded(&options, &mut |_| {});
                    recorded.map(|(report, recording)| (report, Some(recording)))
                } else {
                    server.run(&options, &mut (), &mut |_| {}).map(|report| (report, None))
                }
            })
            .map_err(|error| errors::simulation(py, &error))?;
        run(py, &ScenarioReport::Server(Box::new(report)), recording)
    }

    /// Evaluates every row of a list of fairness scenarios.
    #[pyo3(signature = (*, mode = None))]
    fn check<'py>(&self, py: Python<'py>, mode: Option<&str>) -> PyResult<Bound<'py, PyAny>> {
        let options = RunOptions { mode: mode.map(dispatcher::mode).transpose()?, seed: None };
        let report = py
            .detach(|| self.0.check(&options, &mut |_| {}))
            .map_err(|error| errors::simulation(py, &error))?;
        let text =
            serde_json::to_string(&report).map_err(|error| PyValueError::new_err(error.to_string()))?;
        py.import("json")?.call_method1(intern!(py, "loads"), (text,))
    }
}

/// Sends recorded audit logs through a configuration.
#[pyfunction]
#[pyo3(signature = (
    logs, config = None, seats = 600, *, built_in = "suggested", mode = "default", request_timeout = 60.0,
    durations = None, list_seats = 1, requests = false,
))]
#[allow(clippy::too_many_arguments, reason = "keyword arguments of a function")]
pub(crate) fn replay<'py>(
    py: Python<'py>,
    logs: &Bound<'py, PyAny>,
    config: Option<&Bound<'py, PyAny>>,
    seats: i64,
    built_in: &str,
    mode: &str,
    request_timeout: f64,
    durations: Option<&Bound<'py, PyAny>>,
    list_seats: u64,
    requests: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let mut inputs = Vec::new();
    take_logs(logs, &mut inputs, true)?;
    let configuration = configuration(config, built_in)?;
    let mut options = ReplayOptions::new(total_seats(py, seats)?, dispatcher::mode(mode)?);
    options.request_timeout = seconds("request_timeout", request_timeout)?.as_nanos() as u64;
    options.list_seats = list_seats;
    if let Some(durations) = durations {
        let model = DurationModel::parse(&durations_text(durations)?);
        options.durations = model.map_err(|error| PyValueError::new_err(error.to_string()))?;
    }
    let (report, recording) = py
        .detach(|| {
            let log = audit::read(&inputs, &mut |_| {})?;
            if requests {
                let recorded = apf_sim::replay::run_recorded(&log, &configuration, &options, &mut |_| {});
                recorded.map(|(report, recording)| (report, Some(recording)))
            } else {
                apf_sim::replay::run(&log, &configuration, &options, &mut |_| {}).map(|report| (report, None))
            }
        })
        .map_err(|error| errors::simulation(py, &error))?;
    run(py, &report, recording)
}

/// A path, the bytes of a log, or, at the top, a sequence of these.
fn take_logs(logs: &Bound<'_, PyAny>, inputs: &mut Vec<Input>, may_be_many: bool) -> PyResult<()> {
    if let Ok(bytes) = logs.cast::<PyBytes>() {
        let name = format!("log {}", inputs.len() + 1);
        inputs.push(Input::Bytes(bytes.as_bytes().to_vec(), name));
    } else if may_be_many && (logs.cast::<PyList>().is_ok() || logs.cast::<PyTuple>().is_ok()) {
        for log in logs.try_iter()? {
            take_logs(&log?, inputs, false)?;
        }
    } else {
        let path: PathBuf = logs.extract()?;
        let name = path.display().to_string();
        inputs.push(Input::File(path, name));
    }
    Ok(())
}

/// `VERB=DURATION,...`, or a mapping of verbs to seconds.
fn durations_text(durations: &Bound<'_, PyAny>) -> PyResult<String> {
    if let Ok(text) = durations.cast::<PyString>() {
        return Ok(text.to_cow()?.into_owned());
    }
    let means: HashMap<String, f64> = durations.extract()?;
    let terms = means
        .into_iter()
        .map(|(verb, mean)| Ok(format!("{verb}={}ns", seconds("durations", mean)?.as_nanos())));
    Ok(terms.collect::<PyResult<Vec<_>>>()?.join(","))
}

fn configuration(config: Option<&Bound<'_, PyAny>>, built_in: &str) -> PyResult<Configuration> {
    let objects = config::objects(config, config::built_in(built_in)?)?;
    // The built-in objects are already below these.
    Ok(Configuration::from_objects(BuiltIn::Mandatory, &objects))
}

fn total_seats(py: Python<'_>, seats: i64) -> PyResult<u32> {
    apf::config::plan::total_seats(seats).map_err(|error| config::plan_error(py, &error))
}

/// A server on simulated time that requests are submitted to.
#[pyclass(frozen, module = "apf_core")]
pub(crate) struct Simulator {
    configuration: Configuration,
    options: trace::Options,
    load: Mutex<Load>,
}

#[derive(Default)]
struct Load {
    kinds: Vec<Kind>,
    arrivals: Vec<Arrival>,
    /// The kind of each prebuilt request and client name, by the request's address: the request is kept alive beside it.
    known: HashMap<(usize, Option<String>), u32>,
    kept: Vec<Py<Request>>,
}

impl Load {
    fn kind(&mut self, request: &Bound<'_, Request>, client: Option<&str>) -> u32 {
        let key = (request.as_ptr() as usize, client.map(str::to_owned));
        if let Some(known) = self.known.get(&key) {
            return *known;
        }
        let kind = self.kinds.len() as u32;
        self.kinds.push(kind_of(request.get().asked(), client));
        self.kept.push(request.clone().unbind());
        self.known.insert(key, kind);
        kind
    }
}

fn kind_of(asked: &Asked, client: Option<&str>) -> Kind {
    Kind {
        client: client.unwrap_or(&asked.user).to_owned(),
        user: asked.user.clone(),
        groups: asked.groups.clone(),
        request: asked.info.clone(),
        work: asked.work,
        wait_limit: asked.wait_limit.map(|limit| limit.as_nanos() as u64),
    }
}

fn nanoseconds(name: &str, value: f64) -> PyResult<u64> {
    seconds(name, value).map(|duration| duration.as_nanos() as u64)
}

#[pymethods]
impl Simulator {
    #[new]
    #[pyo3(signature = (config = None, seats = 600, *, built_in = "suggested", mode = "default", wait_limit = 15.0))]
    fn new(
        py: Python<'_>,
        config: Option<&Bound<'_, PyAny>>,
        seats: i64,
        built_in: &str,
        mode: &str,
        wait_limit: f64,
    ) -> PyResult<Self> {
        let mode: Mode = dispatcher::mode(mode)?;
        let mut options = trace::Options::new(total_seats(py, seats)?, mode);
        options.wait_limit = nanoseconds("wait_limit", wait_limit)?;
        Ok(Self { configuration: configuration(config, built_in)?, options, load: Mutex::default() })
    }

    /// Adds one request; answers its row in the columns of the run.
    #[pyo3(signature = (request, at, execution, *, client = None, cancel_after = None))]
    fn submit(
        &self,
        request: &Bound<'_, Request>,
        at: f64,
        execution: f64,
        client: Option<&str>,
        cancel_after: Option<f64>,
    ) -> PyResult<usize> {
        let cancel_after = cancel_after.map(|after| nanoseconds("cancel_after", after)).transpose()?;
        let (at, execution) = (nanoseconds("at", at)?, nanoseconds("execution", execution)?);
        let mut load = self.load();
        let kind = load.kind(request, client);
        load.arrivals.push(Arrival { at, execution, cancel_after, kind });
        Ok(load.arrivals.len() - 1)
    }

    /// Adds many requests of one kind; answers the row of the first.
    #[pyo3(signature = (request, at, execution, *, client = None))]
    fn submit_many(
        &self,
        request: &Bound<'_, Request>,
        at: &Bound<'_, PyAny>,
        execution: &Bound<'_, PyAny>,
        client: Option<&str>,
    ) -> PyResult<usize> {
        let at = floats("at", at)?;
        let execution = floats("execution", execution)?;
        if at.len() != execution.len() {
            return Err(PyValueError::new_err(format!(
                "at has {} values and execution {}",
                at.len(),
                execution.len()
            )));
        }
        let mut arrivals = Vec::with_capacity(at.len());
        let mut load = self.load();
        let kind = load.kind(request, client);
        for (at, execution) in at.into_iter().zip(execution) {
            let (at, execution) = (nanoseconds("at", at)?, nanoseconds("execution", execution)?);
            arrivals.push(Arrival { at, execution, cancel_after: None, kind });
        }
        let first = load.arrivals.len();
        load.arrivals.append(&mut arrivals);
        Ok(first)
    }

    /// Runs all requests from time 0 until nothing more can happen.
    fn run<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let (kinds, arrivals) = {
            let load = self.load();
            (load.kinds.clone(), load.arrivals.clone())
        };
        let (report, recording) = py
            .detach(|| trace::run(&kinds, &arrivals, &self.configuration, &self.options, &mut |_| {}))
            .map_err(|error| errors::simulation(py, &error))?;
        run(py, &report, Some(recording))
    }

    fn __len__(&self) -> usize {
        self.load().arrivals.len()
    }
}

impl Simulator {
    /// Nobody waits for anything while holding it.
    fn load(&self) -> std::sync::MutexGuard<'_, Load> {
        self.load.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The values of an array of doubles, by its buffer, or of any iterable of numbers.
fn floats(name: &str, values: &Bound<'_, PyAny>) -> PyResult<Vec<f64>> {
    let py = values.py();
    let Ok(view) = PyMemoryView::from(values) else {
        return values.try_iter()?.map(|value| value?.extract()).collect();
    };
    let format: String = view.getattr(intern!(py, "format"))?.extract()?;
    let dimensions: usize = view.getattr(intern!(py, "ndim"))?.extract()?;
    if format != "d" || dimensions != 1 {
        return Err(PyTypeError::new_err(format!("{name}: one row of doubles is needed, not {format:?}")));
    }
    let bytes = view.call_method0(intern!(py, "tobytes"))?.cast_into::<PyBytes>()?;
    let doubles = bytes.as_bytes().as_chunks::<8>().0;
    Ok(doubles.iter().map(|bytes| f64::from_ne_bytes(*bytes)).collect())
}
