//! A request that runs.

use apf::OwnedPermit;
use pyo3::prelude::*;

/// Seats in use. `release`, the end of a `with` block, or the garbage collector gives them back, once.
///
/// Guarded by PyO3's flag and not by a lock: a release runs no Python, so that nobody meets it half done while there is a lock of
/// the interpreter. A tenth of what admitting costs.
#[pyclass(module = "apf_core", freelist = 64)]
pub(crate) struct Permit {
    held: OwnedPermit,
}

impl Permit {
    #[inline]
    pub(crate) fn new(permit: OwnedPermit) -> Self {
        Self { held: permit }
    }
}

#[pymethods]
impl Permit {
    /// Gives the seats back. Doing so again changes nothing.
    pub(crate) fn release(&mut self) {
        self.held.release_early();
    }

    /// The priority level.
    #[getter]
    fn level(&self) -> String {
        self.held.level().to_owned()
    }

    /// The FlowSchema.
    #[getter]
    fn schema(&self) -> String {
        self.held.flow_schema().to_owned()
    }

    /// The seats: the larger of its initial and final ones.
    #[getter]
    fn seats(&self) -> u64 {
        self.held.seats()
    }

    /// How long it waited, seconds.
    #[getter]
    fn waited(&self) -> f64 {
        self.held.waited_ns() as f64 / 1e9
    }

    fn __enter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&mut self, _exception: &Bound<'_, pyo3::types::PyTuple>) {
        self.held.release_early();
    }

    fn __repr__(&self) -> String {
        let held = &self.held;
        format!("<Permit level={:?} schema={:?} seats={}>", held.level(), held.flow_schema(), held.seats())
    }
}
