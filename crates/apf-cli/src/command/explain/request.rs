//! The request that the command line describes.

use apf_config::attributes::{RequestAttributes, Resource, Target};
use apf_config::request_info::RequestInfo;
use serde::Serialize;

use crate::args::Explain;
use crate::failure::Failure;

const SERVICE_ACCOUNT: &str = "system:serviceaccount:";
const ANONYMOUS: &str = "system:anonymous";
const AUTHENTICATED: &str = "system:authenticated";
const UNAUTHENTICATED: &str = "system:unauthenticated";

/// A request as classification sees it; parts that it does not have are `""`.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Request {
    user: String,
    groups: Vec<String>,
    /// Whether the groups were derived from the name.
    groups_assumed: bool,
    verb: String,
    resource_request: bool,
    path: String,
    api_group: String,
    resource: String,
    subresource: String,
    namespace: String,
    name: String,
}

impl Request {
    /// Puts together what the options say.
    pub(super) fn from_args(args: &Explain) -> Result<Request, Failure> {
        let (groups, groups_assumed) = match &args.groups {
            Some(groups) => (groups.iter().filter(|group| !group.is_empty()).cloned().collect(), false),
            None => (implied_groups(&args.user), true),
        };
        let mut request = Request {
            user: args.user.clone(),
            groups,
            groups_assumed,
            verb: args.verb.clone().unwrap_or_default(),
            resource_request: false,
            path: String::new(),
            api_group: String::new(),
            resource: String::new(),
            subresource: String::new(),
            namespace: String::new(),
            name: String::new(),
        };
        if let Some(url) = &args.url {
            request.take_url(args.method.as_deref().unwrap_or("GET"), url)?;
        } else if let Some(path) = &args.path {
            if !path.starts_with('/') {
                return Err(Failure::usage(format!("--path {path:?}: must begin with \"/\"")));
            }
            request.path.clone_from(path);
            if request.verb.is_empty() {
                request.verb = "get".to_owned();
            }
        } else if let Some(resource) = &args.resource {
            request.take_resource(args, resource)?;
        }
        Ok(request)
    }

    fn take_url(&mut self, method: &str, url: &str) -> Result<(), Failure> {
        let info =
            RequestInfo::new(method, url).map_err(|error| Failure::usage(format!("--url: {error}")))?;
        self.verb = info.verb;
        self.resource_request = info.is_resource_request;
        self.path = info.path;
        self.api_group = info.api_group;
        self.resource = info.resource;
        self.subresource = info.subresource;
        self.namespace = info.namespace;
        self.name = info.name;
        Ok(())
    }

    fn take_resource(&mut self, args: &Explain, resource: &str) -> Result<(), Failure> {
        let (resource, in_resource) = resource.split_once('/').unwrap_or((resource, ""));
        let given = args.subresource.as_deref().unwrap_or_default();
        if !in_resource.is_empty() && !given.is_empty() {
            return Err(Failure::usage("--subresource: --resource names one already"));
        }
        let text = |value: &Option<String>| value.clone().unwrap_or_default();
        self.resource_request = true;
        self.resource = resource.to_owned();
        self.subresource = if given.is_empty() { in_resource } else { given }.to_owned();
        self.api_group = text(&args.api_group);
        self.namespace = text(&args.namespace);
        self.name = text(&args.name);
        Ok(())
    }

    pub(super) fn attributes(&self) -> RequestAttributes<'_> {
        let target = if self.resource_request {
            Target::Resource(Resource {
                api_group: &self.api_group,
                api_version: "",
                resource: &self.resource,
                subresource: &self.subresource,
                namespace: &self.namespace,
                name: &self.name,
            })
        } else {
            Target::NonResource { path: &self.path }
        };
        RequestAttributes { user: &self.user, groups: (&self.groups).into(), verb: &self.verb, target }
    }

    pub(super) fn is_for_resource(&self) -> bool {
        self.resource_request
    }

    pub(super) fn has_no_authentication_group(&self) -> bool {
        !self.groups.iter().any(|group| group == AUTHENTICATED || group == UNAUTHENTICATED)
    }

    /// `list pods.apps in namespace demo`.
    pub(super) fn in_words(&self) -> String {
        if !self.resource_request {
            return format!("{} {}", self.verb, self.path);
        }
        let mut text =
            format!("{} {}", if self.verb.is_empty() { "\"\"" } else { &self.verb }, self.resource);
        if !self.api_group.is_empty() {
            text.push_str(&format!(".{}", self.api_group));
        }
        if !self.subresource.is_empty() {
            text.push_str(&format!("/{}", self.subresource));
        }
        if !self.name.is_empty() {
            text.push_str(&format!(" {}", self.name));
        }
        if self.namespace.is_empty() {
            text.push_str(", no namespace");
        } else {
            text.push_str(&format!(" in namespace {}", self.namespace));
        }
        text
    }

    /// `alice (groups a, b)`.
    pub(super) fn user_in_words(&self) -> String {
        let groups = if self.groups.is_empty() { "none".to_owned() } else { self.groups.join(", ") };
        let assumed = if self.groups_assumed { ", as the name implies" } else { "" };
        format!("{} (groups {groups}{assumed})", self.user)
    }
}

/// The groups that a server gives a user of this name who is only known by it, as for `kubectl --as`.
fn implied_groups(user: &str) -> Vec<String> {
    if user == ANONYMOUS {
        return vec![UNAUTHENTICATED.to_owned()];
    }
    let mut groups = Vec::new();
    if let Some((namespace, name)) = user.strip_prefix(SERVICE_ACCOUNT).and_then(|rest| rest.split_once(':'))
        && !namespace.is_empty()
        && !name.is_empty()
    {
        groups.push("system:serviceaccounts".to_owned());
        groups.push(format!("system:serviceaccounts:{namespace}"));
    }
    groups.push(AUTHENTICATED.to_owned());
    groups
}
