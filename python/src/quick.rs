//! `Dispatcher.try_admit`, called without a tuple of its arguments.
//!
//! The stable interface of CPython 3.9 has no name yet for the calling convention `METH_FASTCALL | METH_KEYWORDS`, so PyO3 makes a
//! tuple and parses it at each call of an abi3-py39 module. The convention itself is there, unchanged since 3.7, and has been
//! part of the stable interface since 3.10. This saves a tenth of what admitting a prebuilt request costs.

#![allow(unsafe_code, reason = "a function that the interpreter calls by its own convention")]

use std::ffi::{CStr, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};

use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};

use crate::dispatcher::Dispatcher;
use crate::permit::Permit;
use crate::request::{Asked, Request};

const METH_FASTCALL: c_int = 0x80;

type Fastcall = unsafe extern "C" fn(
    *mut ffi::PyObject,
    *const *mut ffi::PyObject,
    ffi::Py_ssize_t,
    *mut ffi::PyObject,
) -> *mut ffi::PyObject;

/// The interpreter keeps a pointer to it for as long as it runs, and changes nothing in it.
struct Definition(ffi::PyMethodDef);

// SAFETY: nothing in it is ever written.
unsafe impl Sync for Definition {}

static TRY_ADMIT: Definition = Definition(ffi::PyMethodDef {
    ml_name: c"try_admit".as_ptr(),
    ml_meth: ffi::PyMethodDefPointer {
        // SAFETY: the interpreter calls it by the convention of the flags, not of this type: its way with every method.
        PyCFunction: unsafe { std::mem::transmute::<Fastcall, ffi::PyCFunction>(try_admit) },
    },
    ml_flags: METH_FASTCALL | ffi::METH_KEYWORDS,
    ml_doc: DOCUMENTATION.as_ptr(),
});

const DOCUMENTATION: &CStr = c"try_admit($self, request=None, /, **attributes)
--

Admits a request now or not at all.";

/// Gives `Dispatcher` the method.
pub(crate) fn add_try_admit(py: Python<'_>) -> PyResult<()> {
    let class = py.get_type::<Dispatcher>();
    let definition = (&raw const TRY_ADMIT.0).cast_mut();
    // SAFETY: the class is a type object, and the definition is valid for ever; `cast_mut` because C knows no const here.
    let method = unsafe {
        let method = ffi::PyDescr_NewMethod(class.as_type_ptr(), definition);
        Bound::from_owned_ptr_or_err(py, method)?
    };
    class.setattr(intern!(py, "try_admit"), method)
}

/// # Safety
///
/// The interpreter's own: the thread is attached; `receiver` is a dispatcher, which the descriptor has checked; `arguments`
/// are `count` positional ones and one for each name of the tuple `names`, which may be null.
unsafe extern "C" fn try_admit(
    receiver: *mut ffi::PyObject,
    arguments: *const *mut ffi::PyObject,
    count: ffi::Py_ssize_t,
    names: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: the caller is the interpreter.
    let py = unsafe { Python::assume_attached() };
    let admit = || {
        // SAFETY: a borrowed reference, good until this call returns, to a dispatcher.
        let receiver = unsafe { Borrowed::<PyAny>::from_ptr(py, receiver) };
        // SAFETY: as the descriptor has checked.
        let dispatcher = unsafe { receiver.cast_unchecked::<Dispatcher>() };
        if count == 1 && names.is_null() {
            // SAFETY: there is one argument.
            let request = unsafe { Borrowed::from_ptr(py, *arguments) };
            if let Ok(request) = request.cast_exact::<Request>() {
                return Py::new(py, dispatcher.get().admit_prebuilt(py, request.get())?);
            }
        }
        // SAFETY: as the interpreter gave them.
        Py::new(py, unsafe { by_name(dispatcher.get(), py, arguments, count, names) }?)
    };
    // Nothing of it is used again after a panic.
    match catch_unwind(AssertUnwindSafe(admit)) {
        Ok(Ok(permit)) => permit.into_ptr(),
        Ok(Err(error)) => {
            error.restore(py);
            std::ptr::null_mut()
        }
        Err(_) => {
            PyRuntimeError::new_err("try_admit panicked").restore(py);
            std::ptr::null_mut()
        }
    }
}

/// Any other call than that with one prebuilt request: attributes by name, or a mistake.
///
/// # Safety
///
/// As for [`try_admit`].
unsafe fn by_name(
    dispatcher: &Dispatcher,
    py: Python<'_>,
    arguments: *const *mut ffi::PyObject,
    count: ffi::Py_ssize_t,
    names: *mut ffi::PyObject,
) -> PyResult<Permit> {
    // SAFETY: one of the arguments that there are.
    let argument = |index: usize| unsafe { Borrowed::<PyAny>::from_ptr(py, *arguments.add(index)) };
    let is_given = |index: usize| !argument(index).is_none();
    match count {
        0 => {}
        1 if !is_given(0) => {}
        1 if names.is_null() => {
            let what = argument(0).get_type().name()?;
            return Err(PyTypeError::new_err(format!("a Request is needed, not {what}")));
        }
        1 => return Err(PyTypeError::new_err("a prebuilt request takes no attributes besides")),
        _ => return Err(PyTypeError::new_err(format!("one request is needed, not {count} arguments"))),
    }
    if names.is_null() {
        return Err(PyTypeError::new_err("a request or its attributes are needed"));
    }
    // SAFETY: a tuple of str.
    let names = unsafe { Borrowed::<PyAny>::from_ptr(py, names) };
    let mut asked = Asked::default();
    for (place, name) in names.cast::<PyTuple>()?.iter().enumerate() {
        asked.set_named(name.cast::<PyString>()?, &argument(count.unsigned_abs() + place))?;
    }
    asked.check()?;
    dispatcher.admit_described(py, &asked)
}
