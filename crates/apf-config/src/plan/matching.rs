//! Whether a rule matches a request, and if not, which part of it does not.
//!
//! Follows `pkg/util/flowcontrol/rule.go`: everything is compared byte for byte. `*` is a wildcard only where
//! it is the single entry of a list, except among URLs.

use std::fmt;

use crate::attributes::{RequestAttributes, Resource, Target};
use crate::objects::{FlowSchemaSpec, NonResourceRule, ResourceRule, Rule, Subject};

/// What every service account's user name begins with.
pub(super) const SERVICE_ACCOUNT_PREFIX: &str = "system:serviceaccount:";

/// A part of a rule that a request has to satisfy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Part {
    /// Some subject is the user, a group of the user, or the service account.
    Subject,
    /// `resourceRules` has an entry, for a resource request.
    ResourceRules,
    /// `nonResourceRules` has an entry, for any other request.
    NonResourceRules,
    /// `verbs` has the verb.
    Verb,
    /// `apiGroups` has the API group.
    ApiGroup,
    /// `resources` has the resource, or the resource and subresource.
    Resource,
    /// `namespaces` has the namespace, for a request in one.
    Namespace,
    /// `clusterScope` is true, for a resource request without namespace.
    ClusterScope,
    /// `nonResourceURLs` covers the path.
    Url,
}

impl Part {
    const ALL: [Part; 9] = [
        Part::Subject,
        Part::ResourceRules,
        Part::NonResourceRules,
        Part::Verb,
        Part::ApiGroup,
        Part::Resource,
        Part::Namespace,
        Part::ClusterScope,
        Part::Url,
    ];

    /// What to call the part in a sentence.
    pub fn as_str(self) -> &'static str {
        match self {
            Part::Subject => "subject",
            Part::ResourceRules => "no resource rules",
            Part::NonResourceRules => "no non-resource rules",
            Part::Verb => "verb",
            Part::ApiGroup => "API group",
            Part::Resource => "resource",
            Part::Namespace => "namespace",
            Part::ClusterScope => "cluster scope",
            Part::Url => "URL",
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A set of parts.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Parts(u16);

impl Parts {
    /// Whether no part is in the set.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// How many parts are in the set.
    pub fn len(self) -> usize {
        self.iter().count()
    }

    /// Whether the part is in the set.
    pub fn contains(self, part: Part) -> bool {
        self.0 & Parts::bit(part) != 0
    }

    /// The parts, in the order in which a request is checked.
    pub fn iter(self) -> impl Iterator<Item = Part> {
        Part::ALL.into_iter().filter(move |part| self.contains(*part))
    }

    fn bit(part: Part) -> u16 {
        1 << part as u16
    }

    pub(crate) fn with(self, part: Part, present: bool) -> Self {
        if present { Parts(self.0 | Parts::bit(part)) } else { self }
    }
}

impl fmt::Debug for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

/// Whether any rule of the schema matches.
pub(crate) fn schema_matches(spec: &FlowSchemaSpec, request: &RequestAttributes<'_>) -> bool {
    spec.rules.iter().any(|rule| rule_matches(rule, request))
}

fn rule_matches(rule: &Rule, request: &RequestAttributes<'_>) -> bool {
    some_subject_matches(rule, request)
        && match request.target {
            Target::Resource(resource) => rule
                .resource_rules
                .iter()
                .any(|entry| resource_rule_misses(entry, request.verb, &resource).is_empty()),
            Target::NonResource { path } => rule
                .non_resource_rules
                .iter()
                .any(|entry| non_resource_rule_misses(entry, request.verb, path).is_empty()),
        }
}

pub(crate) fn some_subject_matches(rule: &Rule, request: &RequestAttributes<'_>) -> bool {
    rule.subjects.iter().any(|subject| subject_matches(subject, request))
}

fn subject_matches(subject: &Subject, request: &RequestAttributes<'_>) -> bool {
    match subject.kind.as_str() {
        "User" => subject.user.as_ref().is_some_and(|name| name == "*" || name == request.user),
        "Group" => subject.group.as_ref().is_some_and(|name| name == "*" || request.groups.contains(name)),
        "ServiceAccount" => subject.service_account.as_ref().is_some_and(|account| {
            let name = request
                .user
                .strip_prefix(SERVICE_ACCOUNT_PREFIX)
                .and_then(|rest| rest.strip_prefix(account.namespace.as_str()))
                .and_then(|rest| rest.strip_prefix(':'));
            name.is_some_and(|name| account.name == "*" || account.name == name)
        }),
        _ => false,
    }
}

/// Which parts of an entry of `resourceRules` the request does not satisfy.
pub(crate) fn resource_rule_misses(entry: &ResourceRule, verb: &str, resource: &Resource<'_>) -> Parts {
    let (place, in_place) = if resource.namespace.is_empty() {
        (Part::ClusterScope, entry.cluster_scope)
    } else {
        (Part::Namespace, in_list(resource.namespace, &entry.namespaces))
    };
    let is_named = is_any(&entry.resources)
        || entry.resources.iter().any(|name| names(name, resource.resource, resource.subresource));
    Parts::default()
        .with(Part::Verb, !in_list(verb, &entry.verbs))
        .with(Part::ApiGroup, !in_list(resource.api_group, &entry.api_groups))
        .with(Part::Resource, !is_named)
        .with(place, !in_place)
}

/// Which parts of an entry of `nonResourceRules` the request does not satisfy.
pub(crate) fn non_resource_rule_misses(entry: &NonResourceRule, verb: &str, path: &str) -> Parts {
    Parts::default()
        .with(Part::Verb, !in_list(verb, &entry.verbs))
        .with(Part::Url, !entry.non_resource_urls.iter().any(|url| covers(url, path)))
}

/// Whether the list stands for every value.
pub(super) fn is_any(list: &[String]) -> bool {
    matches!(list, [only] if only == "*")
}

fn in_list(value: &str, list: &[String]) -> bool {
    is_any(list) || list.iter().any(|entry| entry == value)
}

/// Whether an entry of `resources` is the resource or, where there is one, resource `/` subresource.
pub(super) fn names(entry: &str, resource: &str, subresource: &str) -> bool {
    if subresource.is_empty() {
        return entry == resource;
    }
    entry.strip_prefix(resource).and_then(|rest| rest.strip_prefix('/')) == Some(subresource)
}

/// Whether an entry of `nonResourceURLs` is `*`, the path itself, or a path above it.
fn covers(url: &str, path: &str) -> bool {
    let above = url.strip_suffix('*').unwrap_or(url);
    let below = path.strip_prefix(above);
    url == "*" || url == path || below.is_some_and(|rest| above.ends_with('/') || rest.starts_with('/'))
}
