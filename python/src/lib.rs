//! The compiled part of the Python package `apf_core`: classes around [`apf::Dispatcher`] and the simulator.
//!
//! What can wait lets go of the interpreter first; what cannot keeps it, for that is cheaper. Rust code never takes the
//! interpreter's lock while it holds one of its own.

mod admission;
mod blocking;
mod completions;
mod config;
mod dispatcher;
mod errors;
mod permit;
mod quick;
mod request;
mod simulation;
mod stats;

use pyo3::prelude::*;

/// `apf_core._native`. Not declared safe without the interpreter's lock: nobody has tested it so.
#[pymodule(gil_used = true)]
mod _native {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::admission::{Admission, Done};
    #[pymodule_export]
    use crate::completions::Completions;
    #[pymodule_export]
    use crate::config::Finding;
    #[pymodule_export]
    use crate::dispatcher::{Dispatcher, ManualClock};
    #[pymodule_export]
    use crate::permit::Permit;
    #[pymodule_export]
    use crate::request::Request;
    #[pymodule_export]
    use crate::simulation::{Scenario, Simulator, replay};
    #[pymodule_export]
    use crate::stats::{Histogram, LevelStats, SchemaStats, Stats};

    #[pymodule_init]
    fn complete(module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::quick::add_try_admit(module.py())
    }
}
