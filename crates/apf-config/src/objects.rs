//! The API objects in their canonical form: the fields of `flowcontrol.apiserver.k8s.io/v1`.
//!
//! Every older version is converted to this form while it is read and back while it is written;
//! the rest of the workspace knows no other.

use std::collections::BTreeMap;

use crate::value::Value;
use crate::version::Kind;

/// Annotations and labels: a map, so their order in a file means nothing.
pub type StringMap = BTreeMap<String, String>;

/// The API group of both kinds.
pub const GROUP: &str = "flowcontrol.apiserver.k8s.io";

/// Annotation by which v1beta3 tells an explicit zero of shares from "not set"; only its presence counts.
pub const PRESERVE_ZERO_ANNOTATION: &str = "flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares";

/// Annotation that says whether a server keeps the spec of a built-in object up to date.
pub const AUTOUPDATE_ANNOTATION: &str = "apf.kubernetes.io/autoupdate-spec";

/// `ObjectMeta`: what priority and fairness reads, and the rest as it was written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ObjectMeta {
    /// Name of the object, a DNS-1123 subdomain.
    pub name: String,
    /// Namespace as written. Both kinds are cluster-scoped: a server clears it.
    pub namespace: String,
    /// Annotations, by key.
    pub annotations: StringMap,
    /// Labels, by key.
    pub labels: StringMap,
    /// Generation of the spec, 0 when the file does not say.
    pub generation: i64,
    /// UID, empty when the file does not say.
    pub uid: String,
    /// Every other field that is set, such as `resourceVersion` and `managedFields`: carried along when the
    /// object is written again, and never looked at.
    pub rest: BTreeMap<String, Value>,
}

/// A `FlowSchema`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FlowSchema {
    /// Name and annotations.
    pub metadata: ObjectMeta,
    /// What it matches and where it sends it.
    pub spec: FlowSchemaSpec,
    /// Conditions, as written.
    pub conditions: Vec<Condition>,
}

/// `FlowSchema.spec`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FlowSchemaSpec {
    /// `priorityLevelConfiguration.name`.
    pub priority_level: String,
    /// `matchingPrecedence`, 1..=10000 when valid; lower is tried first.
    pub matching_precedence: i32,
    /// `distinguisherMethod`; `None` makes one flow of the whole schema.
    pub distinguisher_method: Option<DistinguisherMethod>,
    /// The rules; any that matches is enough.
    pub rules: Vec<Rule>,
}

/// `distinguisherMethod.type`. A value that no version knows is kept for the error message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DistinguisherMethod {
    /// One flow a user.
    ByUser,
    /// One flow a namespace.
    ByNamespace,
    /// Not a known method: refused by validation.
    Unknown(String),
}

/// `PolicyRulesWithSubjects`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rule {
    /// Who.
    pub subjects: Vec<Subject>,
    /// What, for resource requests.
    pub resource_rules: Vec<ResourceRule>,
    /// What, for non-resource requests.
    pub non_resource_rules: Vec<NonResourceRule>,
}

/// A subject as written: a discriminator and three members of which exactly one may be set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Subject {
    /// `kind`: `User`, `Group` or `ServiceAccount`; anything else is refused by validation.
    pub kind: String,
    /// `user.name`.
    pub user: Option<String>,
    /// `group.name`.
    pub group: Option<String>,
    /// `serviceAccount`.
    pub service_account: Option<ServiceAccountSubject>,
}

/// `subjects[].serviceAccount`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServiceAccountSubject {
    /// Namespace, never a wildcard.
    pub namespace: String,
    /// Name, or `*` for every account of the namespace.
    pub name: String,
}

/// `ResourcePolicyRule`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResourceRule {
    /// Verbs, or `*` alone.
    pub verbs: Vec<String>,
    /// API groups, `""` is the core group, or `*` alone.
    pub api_groups: Vec<String>,
    /// `resource` or `resource/subresource`, or `*` alone.
    pub resources: Vec<String>,
    /// Whether requests without a namespace match.
    pub cluster_scope: bool,
    /// Namespaces of requests that have one, or `*` alone.
    pub namespaces: Vec<String>,
}

/// `NonResourcePolicyRule`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NonResourceRule {
    /// Verbs, or `*` alone.
    pub verbs: Vec<String>,
    /// URL paths, see the matching rules in [`crate::plan`].
    pub non_resource_urls: Vec<String>,
}

/// A `PriorityLevelConfiguration`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PriorityLevelConfiguration {
    /// Name and annotations.
    pub metadata: ObjectMeta,
    /// Shares, borrowing and queues.
    pub spec: PriorityLevelSpec,
    /// Conditions, as written.
    pub conditions: Vec<Condition>,
}

/// `PriorityLevelConfiguration.spec`: a discriminator and two members.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PriorityLevelSpec {
    /// `type`: `Exempt` or `Limited`; anything else is refused by validation.
    pub kind: String,
    /// `limited`.
    pub limited: Option<Limited>,
    /// `exempt`.
    pub exempt: Option<Exempt>,
}

/// `spec.limited`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Limited {
    /// `nominalConcurrencyShares` (`assuredConcurrencyShares` up to v1beta2); `None` before defaulting.
    pub nominal_concurrency_shares: Option<i32>,
    /// `lendablePercent`; `None` before defaulting.
    pub lendable_percent: Option<i32>,
    /// `borrowingLimitPercent`; `None` means without limit.
    pub borrowing_limit_percent: Option<i32>,
    /// `limitResponse`.
    pub limit_response: LimitResponse,
}

/// `spec.limited.limitResponse`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LimitResponse {
    /// `type`: `Queue` or `Reject`; anything else is refused by validation.
    pub kind: String,
    /// `queuing`, present exactly for `Queue`.
    pub queuing: Option<QueuingConfiguration>,
}

/// `limitResponse.queuing`. Zero means unset before defaulting.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct QueuingConfiguration {
    /// Number of queues, 1..=10,000,000 when valid.
    pub queues: i32,
    /// Size of a flow's hand, at most `queues` and within the 60-bit entropy rule.
    pub hand_size: i32,
    /// Longest queue, at least 1.
    pub queue_length_limit: i32,
}

/// `spec.exempt`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Exempt {
    /// `nominalConcurrencyShares`; `None` before defaulting.
    pub nominal_concurrency_shares: Option<i32>,
    /// `lendablePercent`; `None` before defaulting.
    pub lendable_percent: Option<i32>,
}

/// `status.conditions[]`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Condition {
    /// `type`.
    pub kind: String,
    /// `status`: `True`, `False` or `Unknown`.
    pub status: String,
    /// `lastTransitionTime`, RFC 3339, `None` when null.
    pub last_transition_time: Option<String>,
    /// `reason`.
    pub reason: String,
    /// `message`.
    pub message: String,
}

/// A configuration: the objects of both kinds, in the order they were read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Objects {
    /// Every FlowSchema.
    pub flow_schemas: Vec<FlowSchema>,
    /// Every PriorityLevelConfiguration.
    pub priority_levels: Vec<PriorityLevelConfiguration>,
}

/// An object of either kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Object {
    /// A `FlowSchema`.
    FlowSchema(FlowSchema),
    /// A `PriorityLevelConfiguration`.
    PriorityLevelConfiguration(PriorityLevelConfiguration),
}

impl Object {
    /// Which kind it is.
    pub fn kind(&self) -> Kind {
        match self {
            Object::FlowSchema(_) => Kind::FlowSchema,
            Object::PriorityLevelConfiguration(_) => Kind::PriorityLevelConfiguration,
        }
    }

    /// Its metadata.
    pub fn metadata(&self) -> &ObjectMeta {
        match self {
            Object::FlowSchema(schema) => &schema.metadata,
            Object::PriorityLevelConfiguration(level) => &level.metadata,
        }
    }

    pub(crate) fn metadata_mut(&mut self) -> &mut ObjectMeta {
        match self {
            Object::FlowSchema(schema) => &mut schema.metadata,
            Object::PriorityLevelConfiguration(level) => &mut level.metadata,
        }
    }
}

impl Objects {
    /// Adds an object behind those of its kind.
    pub fn push(&mut self, object: Object) {
        match object {
            Object::FlowSchema(schema) => self.flow_schemas.push(schema),
            Object::PriorityLevelConfiguration(level) => self.priority_levels.push(level),
        }
    }

    /// Every object: the levels, then the schemas that refer to them.
    pub fn to_list(&self) -> Vec<Object> {
        let levels = self.priority_levels.iter().cloned().map(Object::PriorityLevelConfiguration);
        levels.chain(self.flow_schemas.iter().cloned().map(Object::FlowSchema)).collect()
    }
}
