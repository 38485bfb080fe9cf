//! The argument `config`: manifests as text, files, folders or mappings, over the built-in objects.

use std::path::PathBuf;

use apf::config::plan::PlanError;
use apf::config::{Diagnostic, Objects, Source, Strictness, load, read_paths};
use apf_sim::configuration::{BuiltIn, Configuration};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString, PyTuple};

use crate::errors;

/// One thing that is wrong with a configuration.
#[pyclass(frozen, module = "apf_core")]
#[derive(Debug, Clone)]
pub(crate) struct Finding {
    /// `KIND/NAME`, empty when not known.
    #[pyo3(get)]
    object: String,
    /// Path of the field, empty when the whole object or file is meant.
    #[pyo3(get)]
    field: String,
    /// What rule is broken, as kubectl titles it.
    #[pyo3(get)]
    rule: String,
    /// The finding without its place.
    #[pyo3(get)]
    message: String,
    /// Name of the file or text.
    #[pyo3(get)]
    source: String,
    /// Line from 1, 0 when it has none.
    #[pyo3(get)]
    line: u32,
    /// Column from 1, 0 when it has none.
    #[pyo3(get)]
    column: u32,
    text: String,
}

impl From<&Diagnostic> for Finding {
    fn from(found: &Diagnostic) -> Self {
        let object = match (&*found.kind, &*found.name) {
            ("", _) => String::new(),
            (kind, name) => format!("{kind}/{name}"),
        };
        Self {
            object,
            field: found.path.clone(),
            rule: found.rule.title().to_owned(),
            message: found.message(),
            source: found.source.clone(),
            line: found.line,
            column: found.column,
            text: found.to_string(),
        }
    }
}

impl From<&PlanError> for Finding {
    fn from(error: &PlanError) -> Self {
        let object = match error {
            PlanError::LevelTwice(name) => format!("PriorityLevelConfiguration/{name}"),
            PlanError::SchemaTwice(name) => format!("FlowSchema/{name}"),
            _ => String::new(),
        };
        let text = error.to_string();
        let rule = if object.is_empty() { "Invalid value" } else { "Duplicate value" }.to_owned();
        let (field, source) = (String::new(), String::new());
        Self { object, field, rule, message: text.clone(), source, line: 0, column: 0, text }
    }
}

#[pymethods]
impl Finding {
    fn __str__(&self) -> &str {
        &self.text
    }

    fn __repr__(&self) -> String {
        format!("<Finding {:?}>", self.text)
    }
}

/// The error of a plan as the exception that the other findings come in.
pub(crate) fn plan_error(py: Python<'_>, error: &PlanError) -> PyErr {
    errors::config(py, vec![error.into()])
}

/// `suggested` or `mandatory`.
pub(crate) fn built_in(text: &str) -> PyResult<BuiltIn> {
    match text {
        "suggested" => Ok(BuiltIn::Suggested),
        "mandatory" => Ok(BuiltIn::Mandatory),
        other => {
            Err(PyValueError::new_err(format!("built_in: {other:?} is neither 'suggested' nor 'mandatory'")))
        }
    }
}

/// Everything that a `config` names, over the built-in objects.
pub(crate) fn objects(config: Option<&Bound<'_, PyAny>>, base: BuiltIn) -> PyResult<Objects> {
    let mut reading = Reading::default();
    if let Some(config) = config {
        reading.take(config, true)?;
    }
    let own = config.map_or_else(|| Ok(Objects::default()), |config| reading.load(config.py()))?;
    Ok(Configuration::from_objects(base, &own).objects().clone())
}

#[derive(Default)]
struct Reading {
    sources: Vec<Source>,
    unreadable: Vec<Diagnostic>,
    texts: usize,
    mappings: usize,
}

impl Reading {
    /// One text, path or mapping, or, at the top, a sequence of them.
    fn take(&mut self, part: &Bound<'_, PyAny>, may_be_many: bool) -> PyResult<()> {
        let py = part.py();
        if let Ok(text) = part.cast::<PyString>() {
            self.texts += 1;
            let name = if self.texts == 1 { "config".to_owned() } else { format!("config {}", self.texts) };
            self.sources.push(Source::new(name, text.to_cow()?.as_bytes()));
        } else if let Ok(bytes) = part.cast::<PyBytes>() {
            self.texts += 1;
            self.sources.push(Source::new(format!("config {}", self.texts), bytes.as_bytes()));
        } else if part.cast::<PyDict>().is_ok() {
            self.mappings += 1;
            let json = py.import("json")?.call_method1(intern!(py, "dumps"), (part,))?;
            let json = json.cast::<PyString>()?.to_cow()?.into_owned();
            self.sources.push(Source::new(format!("object {}", self.mappings), json));
        } else if part.hasattr(intern!(py, "__fspath__"))? {
            let path: PathBuf = part.extract()?;
            let (mut sources, mut unreadable) = py.detach(|| read_paths(&[path]));
            self.sources.append(&mut sources);
            self.unreadable.append(&mut unreadable);
        } else if may_be_many && (part.cast::<PyList>().is_ok() || part.cast::<PyTuple>().is_ok()) {
            for part in part.try_iter()? {
                self.take(&part?, false)?;
            }
        } else {
            let what = part.get_type().name()?;
            return Err(PyTypeError::new_err(format!(
                "config: {what} is not a text, a path, a dict, or a list of these"
            )));
        }
        Ok(())
    }

    fn load(self, py: Python<'_>) -> PyResult<Objects> {
        let Self { sources, unreadable, .. } = self;
        let loaded = py.detach(|| load(&sources, Strictness::Strict));
        let findings: Vec<Finding> = unreadable.iter().chain(loaded.errors()).map(Finding::from).collect();
        if findings.is_empty() { Ok(loaded.objects) } else { Err(errors::config(py, findings)) }
    }
}
