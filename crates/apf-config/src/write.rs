//! Objects to text: YAML or JSON, in a version of choice.

mod json;
mod yaml;

use std::collections::BTreeMap;
use std::fmt;

use crate::diagnostic::{Diagnostic, Rule, Severity};
use crate::objects::{
    Condition, DistinguisherMethod, FlowSchemaSpec, LimitResponse, NonResourceRule, Object, ObjectMeta,
    PRESERVE_ZERO_ANNOTATION, PriorityLevelSpec, ResourceRule, Rule as PolicyRule, Subject,
};
use crate::value::Value;
use crate::version::Version;

pub(crate) use json::{string as json_string, text as json_text};

/// A text format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// One YAML document for each object.
    Yaml,
    /// One JSON object, or a `List` when there are several.
    Json,
}

/// A version that can be read but not written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadOnlyVersion(pub Version);

impl fmt::Display for ReadOnlyVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let writable: Vec<&str> = Version::WRITABLE.iter().map(|version| version.as_str()).collect();
        write!(f, "{} can only be read; it can be converted to {}", self.0, writable.join(", "))
    }
}

impl std::error::Error for ReadOnlyVersion {}

/// Objects as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The text, ending with a line break.
    pub text: String,
    /// What the version cannot express. Their source is the version's name; they have no line.
    pub warnings: Vec<Diagnostic>,
}

/// Writes objects in a version.
///
/// # Errors
/// When the version can only be read (`v1alpha1`).
pub fn write(objects: &[Object], version: Version, format: Format) -> Result<Written, ReadOnlyVersion> {
    let mut warnings = Vec::new();
    let mut values = Vec::with_capacity(objects.len());
    for object in objects {
        values.push(to_value(object, version)?);
        warnings.extend(lost(object, version));
    }
    let text = match format {
        Format::Yaml => yaml::documents(&values),
        Format::Json => match values.as_slice() {
            [one] => json::pretty(one),
            _ => json::pretty(&Value::map([
                ("apiVersion", Value::from("v1")),
                ("items", Value::List(values)),
                ("kind", Value::from("List")),
            ])),
        },
    };
    Ok(Written { text, warnings })
}

/// The JSON form of an object in a version.
///
/// # Errors
/// When the version can only be read (`v1alpha1`).
pub fn to_value(object: &Object, version: Version) -> Result<Value, ReadOnlyVersion> {
    if !Version::WRITABLE.contains(&version) {
        return Err(ReadOnlyVersion(version));
    }
    let (spec, conditions) = match object {
        Object::FlowSchema(schema) => (flow_schema_spec(&schema.spec), &schema.conditions),
        Object::PriorityLevelConfiguration(level) => (level_spec(&level.spec, version), &level.conditions),
    };
    let keep_zero = version == Version::V1Beta3 && shares(object) == Some(0);
    let mut value = BTreeMap::from([
        ("apiVersion".to_owned(), Value::String(version.api_version())),
        ("kind".to_owned(), Value::from(object.kind().as_str())),
        ("metadata".to_owned(), metadata(object.metadata(), keep_zero)),
        ("spec".to_owned(), spec),
    ]);
    if !conditions.is_empty() {
        let conditions = Value::List(conditions.iter().map(condition).collect());
        value.insert("status".to_owned(), Value::map([("conditions", conditions)]));
    }
    Ok(Value::Map(value))
}

/// `spec.limited.nominalConcurrencyShares`.
fn shares(object: &Object) -> Option<i32> {
    match object {
        Object::PriorityLevelConfiguration(level) => level.spec.limited.as_ref()?.nominal_concurrency_shares,
        Object::FlowSchema(_) => None,
    }
}

fn lost(object: &Object, version: Version) -> Option<Diagnostic> {
    let no_zero = matches!(version, Version::V1Beta2 | Version::V1Beta1);
    (no_zero && shares(object) == Some(0)).then(|| Diagnostic {
        source: version.as_str().to_owned(),
        line: 0,
        column: 0,
        kind: object.kind().as_str().to_owned(),
        name: object.metadata().name.clone(),
        path: format!("spec.limited.{}", version.shares_field()),
        rule: Rule::Lossy,
        value: Some("0".to_owned()),
        detail: format!(
            "{version} takes 0 for \"not set\": read back, it is {}",
            crate::defaults::DEFAULT_SHARES
        ),
        severity: Severity::Warning,
    })
}

/// Leaves out what is empty.
struct Members(BTreeMap<String, Value>);

impl Members {
    fn new() -> Members {
        Members(BTreeMap::new())
    }

    fn set(&mut self, name: &str, value: Value) {
        self.0.insert(name.to_owned(), value);
    }

    fn set_text(&mut self, name: &str, text: &str) {
        if !text.is_empty() {
            self.set(name, Value::from(text));
        }
    }

    fn set_some(&mut self, name: &str, value: Option<Value>) {
        if let Some(value) = value {
            self.set(name, value);
        }
    }

    fn set_list<T>(&mut self, name: &str, items: &[T], each: impl Fn(&T) -> Value) {
        if !items.is_empty() {
            self.set(name, Value::List(items.iter().map(each).collect()));
        }
    }

    fn done(self) -> Value {
        Value::Map(self.0)
    }
}

fn metadata(meta: &ObjectMeta, keep_zero: bool) -> Value {
    let mut members = Members(meta.rest.clone());
    let strings = |map: &BTreeMap<String, String>| {
        Value::Map(map.iter().map(|(key, value)| (key.clone(), Value::from(value.as_str()))).collect())
    };
    let mut annotations = meta.annotations.clone();
    if keep_zero {
        annotations.entry(PRESERVE_ZERO_ANNOTATION.to_owned()).or_default();
    }
    if !annotations.is_empty() {
        members.set("annotations", strings(&annotations));
    }
    if !meta.labels.is_empty() {
        members.set("labels", strings(&meta.labels));
    }
    if meta.generation != 0 {
        members.set("generation", Value::from(meta.generation));
    }
    members.set_text("name", &meta.name);
    members.set_text("namespace", &meta.namespace);
    members.set_text("uid", &meta.uid);
    members.done()
}

fn condition(condition: &Condition) -> Value {
    let mut members = Members::new();
    let time = condition.last_transition_time.as_deref().map_or(Value::Null, Value::from);
    members.set("lastTransitionTime", time);
    members.set_text("message", &condition.message);
    members.set_text("reason", &condition.reason);
    members.set_text("status", &condition.status);
    members.set_text("type", &condition.kind);
    members.done()
}

fn named(name: &str) -> Value {
    Value::map([("name", Value::from(name))])
}

fn flow_schema_spec(spec: &FlowSchemaSpec) -> Value {
    let mut members = Members::new();
    members.set("matchingPrecedence", Value::from(spec.matching_precedence));
    members.set("priorityLevelConfiguration", named(&spec.priority_level));
    members.set_some(
        "distinguisherMethod",
        spec.distinguisher_method.as_ref().map(|method| {
            let kind = match method {
                DistinguisherMethod::ByUser => "ByUser",
                DistinguisherMethod::ByNamespace => "ByNamespace",
                DistinguisherMethod::Unknown(other) => other,
            };
            Value::map([("type", Value::from(kind))])
        }),
    );
    members.set_list("rules", &spec.rules, rule);
    members.done()
}

fn rule(rule: &PolicyRule) -> Value {
    let mut members = Members::new();
    members.set("subjects", Value::List(rule.subjects.iter().map(subject).collect()));
    members.set_list("resourceRules", &rule.resource_rules, resource_rule);
    members.set_list("nonResourceRules", &rule.non_resource_rules, non_resource_rule);
    members.done()
}

fn subject(subject: &Subject) -> Value {
    let mut members = Members::new();
    members.set("kind", Value::from(subject.kind.as_str()));
    members.set_some("user", subject.user.as_deref().map(named));
    members.set_some("group", subject.group.as_deref().map(named));
    members.set_some(
        "serviceAccount",
        subject.service_account.as_ref().map(|account| {
            Value::map([
                ("name", Value::from(account.name.as_str())),
                ("namespace", Value::from(account.namespace.as_str())),
            ])
        }),
    );
    members.done()
}

fn resource_rule(rule: &ResourceRule) -> Value {
    let mut members = Members::new();
    members.set("verbs", Value::from(rule.verbs.as_slice()));
    members.set("apiGroups", Value::from(rule.api_groups.as_slice()));
    members.set("resources", Value::from(rule.resources.as_slice()));
    members.set("namespaces", Value::from(rule.namespaces.as_slice()));
    if rule.cluster_scope {
        members.set("clusterScope", Value::from(true));
    }
    members.done()
}

fn non_resource_rule(rule: &NonResourceRule) -> Value {
    Value::map([
        ("verbs", Value::from(rule.verbs.as_slice())),
        ("nonResourceURLs", Value::from(rule.non_resource_urls.as_slice())),
    ])
}

fn level_spec(spec: &PriorityLevelSpec, version: Version) -> Value {
    let mut members = Members::new();
    members.set("type", Value::from(spec.kind.as_str()));
    members.set_some(
        "limited",
        spec.limited.as_ref().map(|limited| {
            let mut members = Members::new();
            let shares = limited.nominal_concurrency_shares;
            // Only v1 has a null for "not set"; the older versions write a plain zero.
            let shares =
                if version == Version::V1 { Value::from(shares) } else { Value::from(shares.unwrap_or(0)) };
            members.set(version.shares_field(), shares);
            members.set_some("lendablePercent", limited.lendable_percent.map(Value::from));
            members.set_some("borrowingLimitPercent", limited.borrowing_limit_percent.map(Value::from));
            members.set("limitResponse", limit_response(&limited.limit_response));
            members.done()
        }),
    );
    members.set_some(
        "exempt",
        spec.exempt.as_ref().map(|exempt| {
            let mut members = Members::new();
            let shares = exempt.nominal_concurrency_shares;
            members.set_some("nominalConcurrencyShares", shares.map(Value::from));
            members.set_some("lendablePercent", exempt.lendable_percent.map(Value::from));
            members.done()
        }),
    );
    members.done()
}

fn limit_response(response: &LimitResponse) -> Value {
    let mut members = Members::new();
    members.set("type", Value::from(response.kind.as_str()));
    members.set_some(
        "queuing",
        response.queuing.as_ref().map(|queuing| {
            Value::map([
                ("queues", Value::from(queuing.queues)),
                ("handSize", Value::from(queuing.hand_size)),
                ("queueLengthLimit", Value::from(queuing.queue_length_limit)),
            ])
        }),
    );
    members.done()
}
