//! What an HTTP request asks for, derived from its method and URL alone.
//!
//! Follows `pkg/endpoints/request/requestinfo.go` of kube-apiserver with its two prefixes:
//! `/apis/GROUP/VERSION/…` and, for the core group, `/api/VERSION/…`.

mod field_selector;
mod label_selector;
mod query;

use std::fmt;

use crate::attributes::{Groups, RequestAttributes, Resource, Target};
use query::Query;

/// What a request asks for. Absent parts are empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequestInfo {
    /// Whether it is for an API resource; otherwise only `path` and `verb` are set.
    pub is_resource_request: bool,
    /// The URL's path, decoded, without query.
    pub path: String,
    /// API verb for a resource, lower-case HTTP method otherwise.
    pub verb: String,
    /// API group, empty for the core group.
    pub api_group: String,
    /// API version.
    pub api_version: String,
    /// Namespace; a request for a namespace object itself counts as in that namespace.
    pub namespace: String,
    /// Resource.
    pub resource: String,
    /// Subresource.
    pub subresource: String,
    /// Name, from the path or from a field selector that pins `metadata.name`.
    pub name: String,
}

/// Why a request line has no [`RequestInfo`]. A server answers such a request with an error before
/// priority and fairness sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RequestInfoError {
    /// The request target does not begin with `/`.
    NotAPath(String),
    /// A `%` is not followed by two hexadecimal digits.
    BadEscape(String),
    /// The request target contains an ASCII control character.
    ControlCharacter(String),
    /// The path ends right after `/proxy` or `/watch`, so nothing names a resource.
    NothingAfterVerb(String),
}

impl fmt::Display for RequestInfoError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAPath(target) => write!(f, "path {target:?}: must begin with \"/\""),
            Self::BadEscape(target) => {
                write!(f, "path {target:?}: \"%\" must be followed by two hexadecimal digits")
            }
            Self::ControlCharacter(target) => write!(f, "path {target:?}: contains a control character"),
            Self::NothingAfterVerb(target) => {
                write!(f, "path {target:?}: no resource follows the verb in the path")
            }
        }
    }
}

impl std::error::Error for RequestInfoError {}

impl RequestInfo {
    /// Derives the info from an HTTP method and a request target: a path, optionally with a query.
    ///
    /// The method is case-sensitive, as in HTTP. Bytes that are not UTF-8 after decoding become
    /// U+FFFD.
    ///
    /// # Errors
    /// The target is no decodable path, or names a verb and no resource.
    pub fn new(method: &str, target: &str) -> Result<Self, RequestInfoError> {
        if !target.starts_with('/') {
            return Err(RequestInfoError::NotAPath(target.to_owned()));
        }
        if target.bytes().any(|byte| byte.is_ascii_control()) {
            return Err(RequestInfoError::ControlCharacter(target.to_owned()));
        }
        let (raw_path, raw_query) = target.split_once('?').unwrap_or((target, ""));
        let path =
            query::unescape(raw_path, false).ok_or_else(|| RequestInfoError::BadEscape(target.to_owned()))?;

        let mut info = RequestInfo { verb: method.to_ascii_lowercase(), ..RequestInfo::default() };
        let found = info.read_resource(method, &path, raw_query);
        info.path = path;
        match found {
            Ok(()) => Ok(info),
            Err(NothingAfterVerb) => Err(RequestInfoError::NothingAfterVerb(target.to_owned())),
        }
    }

    /// The attributes that classification reads, for a user and their groups.
    pub fn attributes<'a>(&'a self, user: &'a str, groups: impl Into<Groups<'a>>) -> RequestAttributes<'a> {
        let target = if self.is_resource_request {
            Target::Resource(Resource {
                api_group: &self.api_group,
                api_version: &self.api_version,
                resource: &self.resource,
                subresource: &self.subresource,
                namespace: &self.namespace,
                name: &self.name,
            })
        } else {
            Target::NonResource { path: &self.path }
        };
        RequestAttributes { user, groups: groups.into(), verb: &self.verb, target }
    }

    /// Fills in the resource parts; leaves them alone when the path is no resource's.
    fn read_resource(&mut self, method: &str, path: &str, raw_query: &str) -> Result<(), NothingAfterVerb> {
        let mut segments = path.trim_matches('/').split('/').peekable();
        let count = segments.clone().count();
        let (group, version) = match (segments.next(), count) {
            (Some("api"), 3..) => ("", segments.next()),
            (Some("apis"), 4..) => (segments.next().unwrap_or(""), segments.next()),
            _ => return Ok(()),
        };
        self.is_resource_request = true;
        self.api_group = group.to_owned();
        self.api_version = version.unwrap_or("").to_owned();

        let mut rest: Vec<&str> = segments.collect();
        match rest.first() {
            Some(&verb @ ("proxy" | "watch")) => {
                if rest.len() < 2 {
                    return Err(NothingAfterVerb);
                }
                self.verb = verb.to_owned();
                rest.remove(0);
            }
            _ => self.verb = verb_of_method(method).to_owned(),
        }

        if let ["namespaces", namespace, inside @ ..] = rest.as_slice() {
            self.namespace = (*namespace).to_owned();
            if let [first, ..] = inside
                && !matches!(*first, "status" | "finalize")
            {
                rest.drain(..2);
            }
        }

        let mut parts = rest.into_iter();
        self.resource = parts.next().unwrap_or("").to_owned();
        self.name = parts.next().unwrap_or("").to_owned();
        if self.verb != "proxy" {
            self.subresource = parts.next().unwrap_or("").to_owned();
        }

        if self.name.is_empty() {
            match self.verb.as_str() {
                "get" => self.read_list_options(&Query::new(raw_query)),
                "delete" => self.verb = "deletecollection".to_owned(),
                _ => {}
            }
        }
        Ok(())
    }

    fn read_list_options(&mut self, query: &Query<'_>) {
        let options = query::ListOptions::decode(query);
        self.verb = if options.watch { "watch" } else { "list" }.to_owned();
        if let Some(name) = options.pinned_name {
            self.name = name;
        }
    }
}

/// The path ends right after a verb.
struct NothingAfterVerb;

fn verb_of_method(method: &str) -> &'static str {
    match method {
        "POST" => "create",
        "GET" | "HEAD" => "get",
        "PUT" => "update",
        "PATCH" => "patch",
        "DELETE" => "delete",
        _ => "",
    }
}
