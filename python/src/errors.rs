//! The one place where an error of the engine becomes an exception of `apf_core`.

use apf::AdmitError;
use pyo3::exceptions::{PyMemoryError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

/// The module of the exceptions; they are written in Python, where a class may have fields and be pickled.
const MODULE: &str = "apf_core._errors";

static REJECTED: PyOnceLock<Py<PyType>> = PyOnceLock::new();
static FORKED: PyOnceLock<Py<PyType>> = PyOnceLock::new();
static CONFIG: PyOnceLock<Py<PyType>> = PyOnceLock::new();
static SIMULATION: PyOnceLock<Py<PyType>> = PyOnceLock::new();

/// Imports the classes, so that no request has to.
pub(crate) fn prepare(py: Python<'_>) -> PyResult<()> {
    REJECTED.import(py, MODULE, "Rejected")?;
    FORKED.import(py, MODULE, "ForkedError")?;
    Ok(())
}

fn raise(
    py: Python<'_>,
    cell: &PyOnceLock<Py<PyType>>,
    name: &str,
    arguments: impl pyo3::PyErrArguments + 'static,
) -> PyErr {
    match cell.import(py, MODULE, name) {
        Ok(class) => PyErr::from_type(class.clone(), arguments),
        Err(error) => error,
    }
}

/// Why a request does not run.
pub(crate) fn admission(py: Python<'_>, error: AdmitError) -> PyErr {
    match error {
        AdmitError::Rejected(why) => {
            let fields = (
                why.reason.to_string(),
                why.retry_after.as_secs(),
                why.level.to_string(),
                why.flow_schema.to_string(),
            );
            raise(py, &REJECTED, "Rejected", fields)
        }
        AdmitError::Estimate => PyValueError::new_err(error.to_string()),
        AdmitError::OutOfMemory => PyMemoryError::new_err(error.to_string()),
        AdmitError::Forked => raise(py, &FORKED, "ForkedError", (error.to_string(),)),
    }
}

/// What is wrong with a configuration.
pub(crate) fn config(py: Python<'_>, findings: Vec<crate::config::Finding>) -> PyErr {
    raise(py, &CONFIG, "ConfigError", (findings,))
}

/// What is wrong with a scenario or a log.
pub(crate) fn simulation(py: Python<'_>, error: &apf_sim::Error) -> PyErr {
    let fields = (error.to_string(), error.source_name().to_owned(), error.line(), error.column());
    raise(py, &SIMULATION, "SimulationError", fields)
}
