//! A request on its way in, for `async with` and `await`.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use apf::{AdmitError, OwnedAdmit, OwnedPermit};
use pyo3::exceptions::{PyRuntimeError, PyStopIteration};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyTuple;

use crate::completions::Completions;
use crate::errors;
use crate::permit::Permit;

/// A request that was admitted, waits, or was refused. It took its place when it was made; awaiting it gives its permit.
#[pyclass(frozen, module = "apf_core", freelist = 64)]
pub(crate) struct Admission {
    state: Mutex<State>,
}

enum State {
    Waiting(Box<OwnedAdmit>),
    Decided(Result<OwnedPermit, AdmitError>),
    /// The permit has been handed out. It is kept for the end of an `async with` block.
    Taken(Py<Permit>),
    /// Given up, or refused and told so.
    Over,
}

/// The coroutine that waits.
static WAIT: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
/// What has nothing to wait for.
static DONE: PyOnceLock<Py<Done>> = PyOnceLock::new();

/// Imports what awaiting needs, so that no request has to.
pub(crate) fn prepare(py: Python<'_>) -> PyResult<()> {
    let done = Py::new(py, Done)?;
    DONE.get_or_init(py, || done);
    WAIT.import(py, "apf_core._waiting", "wait")?;
    Ok(())
}

/// An awaitable that gives `None` at once.
#[pyclass(frozen, module = "apf_core._native")]
pub(crate) struct Done;

#[pymethods]
impl Done {
    fn __await__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__(&self) -> Option<()> {
        None
    }
}

impl Admission {
    pub(crate) fn new(admit: OwnedAdmit) -> Self {
        let state = match admit.at_once() {
            Ok(decided) => State::Decided(decided),
            Err(waits) => State::Waiting(Box::new(waits)),
        };
        Self { state: Mutex::new(state) }
    }

    /// Nobody waits for anything while holding it.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn replace(&self, state: State) -> State {
        std::mem::replace(&mut *self.state(), state)
    }

    /// Hands the permit out. No Python object is made under the lock: that may run a collection, and that anything.
    fn take(&self, py: Python<'_>) -> PyResult<Py<Permit>> {
        match self.replace(State::Over) {
            State::Decided(Ok(permit)) => {
                let permit = Py::new(py, Permit::new(permit))?;
                self.replace(State::Taken(permit.clone_ref(py)));
                Ok(permit)
            }
            State::Decided(Err(error)) => Err(errors::admission(py, error)),
            before => {
                let is_waiting = matches!(before, State::Waiting(_));
                self.replace(before);
                Err(PyRuntimeError::new_err(if is_waiting {
                    "the request still waits"
                } else {
                    "an admission can be awaited once"
                }))
            }
        }
    }
}

#[pymethods]
impl Admission {
    fn __aenter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __aexit__<'py>(
        &self,
        py: Python<'py>,
        _exception: &Bound<'py, PyTuple>,
    ) -> PyResult<&Bound<'py, Done>> {
        if let State::Taken(permit) = self.replace(State::Over) {
            permit.bind(py).try_borrow_mut()?.release();
        }
        DONE.get(py).map(|done| done.bind(py)).ok_or_else(|| PyRuntimeError::new_err("not set up"))
    }

    fn __await__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        if !matches!(&*slf.get().state(), State::Waiting(_)) {
            return Ok(slf.clone().into_any());
        }
        let py = slf.py();
        let wait = WAIT.import(py, "apf_core._waiting", "wait")?;
        wait.call1((slf,))?.call_method0("__await__")
    }

    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    /// Awaiting something decided ends at once, with the permit.
    fn __next__(&self, py: Python<'_>) -> PyResult<()> {
        Err(PyStopIteration::new_err((self.take(py)?,)))
    }

    /// Whether it has to wait.
    #[getter]
    fn waiting(&self) -> bool {
        matches!(&*self.state(), State::Waiting(_))
    }

    /// Whether it is decided; if not, `token` is put on the list once it may be.
    fn _watch(&self, completions: &Completions, token: u64) -> bool {
        let mut state = self.state();
        let State::Waiting(admit) = &mut *state else { return true };
        let waker = completions.waker(token);
        match Pin::new(&mut **admit).poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(decided) => {
                *state = State::Decided(decided);
                true
            }
            Poll::Pending => false,
        }
    }

    /// The permit of a request that is decided.
    fn _take(&self, py: Python<'_>) -> PyResult<Py<Permit>> {
        self.take(py)
    }

    /// Gives up: the place in the queue, or the seats that nobody has taken yet.
    fn _abandon(&self) {
        drop(self.replace(State::Over));
    }

    fn __repr__(&self) -> &'static str {
        match &*self.state() {
            State::Waiting(_) => "<Admission waiting>",
            State::Decided(Ok(_)) => "<Admission admitted>",
            State::Decided(Err(_)) => "<Admission refused>",
            State::Taken(_) => "<Admission taken>",
            State::Over => "<Admission over>",
        }
    }
}
