//! What a request asks for, kept in Rust form: nothing is converted when it is admitted again.

use std::time::Duration;

use apf::config::attributes::{Groups, Resource, Target};
use apf::config::request_info::RequestInfo;
use apf::{Classified, RequestAttributes, WorkEstimate};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

/// Who asks for what, at what cost.
#[pyclass(frozen, module = "apf_core")]
#[derive(Debug)]
pub(crate) struct Request {
    asked: Asked,
    /// Its classification under the configuration it was last admitted under.
    kept: Classified,
}

/// A request in Rust form.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) user: String,
    pub(crate) groups: Vec<String>,
    pub(crate) info: RequestInfo,
    pub(crate) work: WorkEstimate,
    pub(crate) wait_limit: Option<Duration>,
}

impl Default for Asked {
    fn default() -> Self {
        let work = WorkEstimate::seats(1);
        Self { user: String::new(), groups: Vec::new(), info: RequestInfo::default(), work, wait_limit: None }
    }
}

impl Asked {
    /// From keyword arguments.
    fn from_keywords(keywords: &Bound<'_, PyDict>) -> PyResult<Self> {
        let mut asked = Self::default();
        for (name, value) in keywords {
            asked.set_named(name.cast::<PyString>()?, &value)?;
        }
        asked.check()?;
        Ok(asked)
    }

    pub(crate) fn set_named(&mut self, name: &Bound<'_, PyString>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let name = name.to_cow()?;
        if self.set(&name, value)? {
            Ok(())
        } else {
            Err(PyTypeError::new_err(format!("{name:?} is no attribute of a request")))
        }
    }

    /// Sets one attribute; `false` when there is none of this name.
    fn set(&mut self, name: &str, value: &Bound<'_, PyAny>) -> PyResult<bool> {
        let text = || -> PyResult<String> {
            match value.cast::<PyString>() {
                Ok(text) => Ok(text.to_cow()?.into_owned()),
                Err(_) => {
                    let what = value.get_type().name()?;
                    Err(PyTypeError::new_err(format!("{name} must be a str, not {what}")))
                }
            }
        };
        match name {
            "user" => self.user = text()?,
            "groups" => self.groups = groups(value)?,
            "verb" => self.info.verb = text()?,
            "path" => self.info.path = text()?,
            "resource" => self.info.resource = text()?,
            "subresource" => self.info.subresource = text()?,
            "api_group" => self.info.api_group = text()?,
            "api_version" => self.info.api_version = text()?,
            "namespace" => self.info.namespace = text()?,
            "name" => self.info.name = text()?,
            _ => return self.set_cost(name, value),
        }
        Ok(true)
    }

    /// Sets an attribute that is no part of the request's description.
    fn set_cost(&mut self, name: &str, value: &Bound<'_, PyAny>) -> PyResult<bool> {
        match name {
            "seats" => self.work.initial_seats = seats(name, value)?,
            "final_seats" => self.work.final_seats = seats(name, value)?,
            "additional_latency" => {
                let latency = duration(name, value)?;
                self.work.additional_latency = u64::try_from(latency.as_nanos()).unwrap_or(u64::MAX);
            }
            "wait_limit" => self.wait_limit = optional_duration(name, value)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// What only the whole request shows.
    pub(crate) fn check(&mut self) -> PyResult<()> {
        let info = &mut self.info;
        let resource_parts = [
            &info.resource,
            &info.subresource,
            &info.api_group,
            &info.api_version,
            &info.namespace,
            &info.name,
        ];
        info.is_resource_request = !info.resource.is_empty();
        if info.verb.is_empty() {
            return Err(PyTypeError::new_err("verb is missing"));
        }
        if info.is_resource_request != info.path.is_empty() {
            return Err(PyTypeError::new_err("either resource or path is needed, and not both"));
        }
        if !info.is_resource_request && resource_parts.iter().any(|part| !part.is_empty()) {
            return Err(PyTypeError::new_err(
                "subresource, api_group, api_version, namespace and name belong to a resource, not to a path",
            ));
        }
        if self.work.initial_seats == 0 {
            return Err(PyValueError::new_err("seats must be at least 1"));
        }
        Ok(())
    }

    fn attributes(&self) -> RequestAttributes<'_> {
        self.info.attributes(&self.user, Groups::Owned(&self.groups))
    }

    pub(crate) fn request<'a>(&'a self, kept: Option<&'a Classified>) -> apf::Request<'a> {
        let (work, wait_limit) = (self.work, self.wait_limit);
        apf::Request { attributes: self.attributes(), work, wait_limit, classified: kept }
    }
}

impl Request {
    pub(crate) fn asked(&self) -> &Asked {
        &self.asked
    }

    /// As a dispatcher takes it, with the place to keep its classification in.
    #[inline]
    pub(crate) fn as_kept(&self) -> apf::Request<'_> {
        self.asked.request(Some(&self.kept))
    }
}

/// The request of a call: prebuilt, or described by keyword arguments.
pub(crate) enum Given<'a> {
    Prebuilt(&'a Request),
    Described(Box<Asked>),
}

impl<'a> Given<'a> {
    pub(crate) fn new(
        request: Option<&'a Bound<'_, Request>>,
        keywords: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        match (request, keywords) {
            (Some(request), None) => Ok(Self::Prebuilt(request.get())),
            (None, Some(keywords)) => Asked::from_keywords(keywords).map(Box::new).map(Self::Described),
            (Some(_), Some(_)) => Err(PyTypeError::new_err("a prebuilt request takes no attributes besides")),
            (None, None) => Err(PyTypeError::new_err("a request or its attributes are needed")),
        }
    }

    /// As the dispatcher takes it.
    pub(crate) fn request(&self) -> apf::Request<'_> {
        match self {
            Self::Prebuilt(request) => request.as_kept(),
            Self::Described(asked) => asked.request(None),
        }
    }

    /// The same, waiting no longer than `timeout`.
    pub(crate) fn request_within(&self, timeout: Option<Duration>) -> apf::Request<'_> {
        let mut request = self.request();
        request.wait_limit = match (request.wait_limit, timeout) {
            (Some(own), Some(timeout)) => Some(own.min(timeout)),
            (own, timeout) => own.or(timeout),
        };
        request
    }
}

fn groups(value: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    if value.cast::<PyString>().is_ok() {
        return Err(PyTypeError::new_err("groups must be an iterable of str, not one str"));
    }
    value.try_iter()?.map(|group| group?.extract::<String>()).collect()
}

fn seats(name: &str, value: &Bound<'_, PyAny>) -> PyResult<u64> {
    let count: i64 = value.extract()?;
    u64::try_from(count).ok().filter(|seats| *seats <= apf_core::MAX_SEATS).ok_or_else(|| {
        PyValueError::new_err(format!("{name}: {count} is not within 0..={}", apf_core::MAX_SEATS))
    })
}

/// Seconds as a duration, at most 2^63 - 1 ns.
pub(crate) fn duration(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Duration> {
    seconds(name, value.extract()?)
}

pub(crate) fn seconds(name: &str, seconds: f64) -> PyResult<Duration> {
    let most = Duration::from_nanos(i64::MAX as u64);
    match Duration::try_from_secs_f64(seconds) {
        Ok(duration) if duration <= most => Ok(duration),
        _ => Err(PyValueError::new_err(format!("{name}: {seconds} is not within 0 and 2^63 ns, in seconds"))),
    }
}

fn optional_duration(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Option<Duration>> {
    if value.is_none() { Ok(None) } else { duration(name, value).map(Some) }
}

#[pymethods]
impl Request {
    #[new]
    #[pyo3(signature = (**attributes))]
    fn new(attributes: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let asked = match attributes {
            Some(attributes) => Asked::from_keywords(attributes)?,
            None => return Err(PyTypeError::new_err("a request needs a verb and a resource or a path")),
        };
        Ok(Self { asked, kept: Classified::new() })
    }

    /// What an HTTP request to a server with the URLs of the Kubernetes API asks for.
    #[staticmethod]
    #[pyo3(signature = (method, target, **attributes))]
    fn from_url(method: &str, target: &str, attributes: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let info =
            RequestInfo::new(method, target).map_err(|error| PyValueError::new_err(error.to_string()))?;
        let mut asked = Asked { info, ..Asked::default() };
        for (name, value) in attributes.into_iter().flatten() {
            let name = name.cast_into::<PyString>()?;
            let name = name.to_cow()?;
            let known = match &*name {
                "user" | "groups" => asked.set(&name, &value)?,
                other => asked.set_cost(other, &value)?,
            };
            if !known {
                return Err(PyTypeError::new_err(format!("{name:?} cannot be given besides a URL")));
            }
        }
        if asked.work.initial_seats == 0 {
            return Err(PyValueError::new_err("seats must be at least 1"));
        }
        Ok(Self { asked, kept: Classified::new() })
    }

    #[getter]
    fn user(&self) -> &str {
        &self.asked.user
    }

    #[getter]
    fn groups<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, pyo3::types::PyTuple>> {
        pyo3::types::PyTuple::new(py, &self.asked.groups)
    }

    #[getter]
    fn verb(&self) -> &str {
        &self.asked.info.verb
    }

    #[getter]
    fn path(&self) -> &str {
        &self.asked.info.path
    }

    #[getter]
    fn resource(&self) -> &str {
        &self.asked.info.resource
    }

    #[getter]
    fn subresource(&self) -> &str {
        &self.asked.info.subresource
    }

    #[getter]
    fn api_group(&self) -> &str {
        &self.asked.info.api_group
    }

    #[getter]
    fn api_version(&self) -> &str {
        &self.asked.info.api_version
    }

    #[getter]
    fn namespace(&self) -> &str {
        &self.asked.info.namespace
    }

    #[getter]
    fn name(&self) -> &str {
        &self.asked.info.name
    }

    #[getter]
    fn is_resource_request(&self) -> bool {
        self.asked.info.is_resource_request
    }

    #[getter]
    fn seats(&self) -> u64 {
        self.asked.work.initial_seats
    }

    #[getter]
    fn final_seats(&self) -> u64 {
        self.asked.work.final_seats
    }

    #[getter]
    fn additional_latency(&self) -> f64 {
        self.asked.work.additional_latency as f64 / 1e9
    }

    #[getter]
    fn wait_limit(&self) -> Option<f64> {
        self.asked.wait_limit.map(|limit| limit.as_secs_f64())
    }

    fn __repr__(&self) -> String {
        let attributes = self.asked.attributes();
        let target = match attributes.target {
            Target::Resource(Resource { resource, subresource, namespace, .. }) => {
                let slash = if subresource.is_empty() { "" } else { "/" };
                let place = if namespace.is_empty() { String::new() } else { format!(" in {namespace}") };
                format!("{resource}{slash}{subresource}{place}")
            }
            Target::NonResource { path } => path.to_owned(),
        };
        format!("<Request {} {target} by {:?}>", attributes.verb, attributes.user)
    }
}
