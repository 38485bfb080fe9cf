//! A request that runs.

use std::sync::{Mutex, MutexGuard, PoisonError};

use apf::OwnedPermit;
use pyo3::prelude::*;

/// Seats in use. `release`, the end of a `with` block, or the garbage collector gives them back, once.
#[pyclass(frozen, module = "apf_core", freelist = 64)]
pub(crate) struct Permit {
    held: Mutex<OwnedPermit>,
}

impl Permit {
    pub(crate) fn new(permit: OwnedPermit) -> Self {
        Self { held: Mutex::new(permit) }
    }

    pub(crate) fn give_back(&self) {
        self.held().release_early();
    }

    /// Never contended for longer than a release takes, which waits for nobody.
    fn held(&self) -> MutexGuard<'_, OwnedPermit> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Permit {
    /// Gives the seats back. Doing so again changes nothing.
    fn release(&self) {
        self.give_back();
    }

    /// The priority level.
    #[getter]
    fn level(&self) -> String {
        self.held().level().to_owned()
    }

    /// The FlowSchema.
    #[getter]
    fn schema(&self) -> String {
        self.held().flow_schema().to_owned()
    }

    /// The seats: the larger of its initial and final ones.
    #[getter]
    fn seats(&self) -> u64 {
        self.held().seats()
    }

    /// How long it waited, seconds.
    #[getter]
    fn waited(&self) -> f64 {
        self.held().waited_ns() as f64 / 1e9
    }

    fn __enter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, _exception: &Bound<'_, pyo3::types::PyTuple>) {
        self.give_back();
    }

    fn __repr__(&self) -> String {
        let held = self.held();
        format!("<Permit level={:?} schema={:?} seats={}>", held.level(), held.flow_schema(), held.seats())
    }
}
