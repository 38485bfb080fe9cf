//! The API objects of a case, in the JSON of `flowcontrol.apiserver.k8s.io/v1`, and what they are to
//! `apf-config`. Neither side defaults or validates them, so that broken objects stay broken.

use apf_config::objects as canonical;
use serde::{Deserialize, Serialize};

/// A FlowSchema.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlowSchema {
    /// Name.
    pub metadata: Metadata,
    /// What it matches.
    pub spec: FlowSchemaSpec,
    /// What the configuration consumer said of it.
    #[serde(default, skip_serializing_if = "Status::is_empty")]
    pub status: Status,
}

/// The part of the metadata that counts.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Metadata {
    /// Name.
    pub name: String,
    /// UID.
    pub uid: String,
}

/// `spec` of a FlowSchema.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FlowSchemaSpec {
    /// The level it refers to.
    pub priority_level_configuration: Reference,
    /// Its place in the order.
    pub matching_precedence: i32,
    /// How it tells flows apart.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distinguisher_method: Option<Method>,
    /// Its rules.
    pub rules: Vec<Rule>,
}

/// Name of another object.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reference {
    /// Name.
    pub name: String,
}

/// `distinguisherMethod`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Method {
    /// `ByUser` or `ByNamespace`.
    #[serde(rename = "type")]
    pub kind: String,
}

/// One of `rules`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Rule {
    /// Who.
    pub subjects: Vec<Subject>,
    /// What, for resources.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resource_rules: Vec<ResourceRule>,
    /// What, for other URLs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub non_resource_rules: Vec<NonResourceRule>,
}

/// One of `subjects`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Subject {
    /// `User`, `Group` or `ServiceAccount`.
    pub kind: String,
    /// The user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<Reference>,
    /// The group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<Reference>,
    /// The service account.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_account: Option<ServiceAccount>,
}

/// A service account.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServiceAccount {
    /// Its namespace.
    pub namespace: String,
    /// Its name, or `*`.
    pub name: String,
}

/// One of `resourceRules`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct ResourceRule {
    /// Verbs.
    pub verbs: Vec<String>,
    /// API groups.
    pub api_groups: Vec<String>,
    /// Resources.
    pub resources: Vec<String>,
    /// Whether requests without a namespace match.
    pub cluster_scope: bool,
    /// Namespaces.
    pub namespaces: Vec<String>,
}

/// One of `nonResourceRules`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NonResourceRule {
    /// Verbs.
    pub verbs: Vec<String>,
    /// URLs.
    #[serde(rename = "nonResourceURLs")]
    pub urls: Vec<String>,
}

/// `status`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Status {
    /// Conditions.
    pub conditions: Vec<Condition>,
}

impl Status {
    fn is_empty(&self) -> bool {
        self.conditions.is_empty()
    }
}

/// One of `conditions`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Condition {
    /// `type`.
    #[serde(rename = "type")]
    pub kind: String,
    /// `status`.
    pub status: String,
    /// `reason`.
    pub reason: String,
    /// `message`.
    pub message: String,
}

/// A PriorityLevelConfiguration.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PriorityLevel {
    /// Name.
    pub metadata: Metadata,
    /// Shares, borrowing and queues.
    pub spec: PriorityLevelSpec,
}

/// `spec` of a PriorityLevelConfiguration.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PriorityLevelSpec {
    /// `Exempt` or `Limited`.
    #[serde(rename = "type")]
    pub kind: String,
    /// For `Limited`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limited: Option<Limited>,
    /// For `Exempt`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exempt: Option<Exempt>,
}

/// `limited`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Limited {
    /// Shares; the reference does not survive their absence, which defaulting rules out.
    pub nominal_concurrency_shares: i32,
    /// What it lends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lendable_percent: Option<i32>,
    /// What it may borrow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub borrowing_limit_percent: Option<i32>,
    /// What happens without a free seat.
    pub limit_response: LimitResponse,
}

/// `limitResponse`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LimitResponse {
    /// `Queue` or `Reject`.
    #[serde(rename = "type")]
    pub kind: String,
    /// For `Queue`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queuing: Option<Queuing>,
}

/// `queuing`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Queuing {
    /// Number of queues.
    pub queues: i32,
    /// Hand size.
    pub hand_size: i32,
    /// Longest queue.
    pub queue_length_limit: i32,
}

/// `exempt`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Exempt {
    /// Shares.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nominal_concurrency_shares: Option<i32>,
    /// What it lends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lendable_percent: Option<i32>,
}

impl From<&FlowSchema> for canonical::FlowSchema {
    fn from(schema: &FlowSchema) -> Self {
        let spec = &schema.spec;
        Self {
            metadata: metadata(&schema.metadata),
            spec: canonical::FlowSchemaSpec {
                priority_level: spec.priority_level_configuration.name.clone(),
                matching_precedence: spec.matching_precedence,
                distinguisher_method: spec.distinguisher_method.as_ref().map(|method| {
                    match method.kind.as_str() {
                        "ByUser" => canonical::DistinguisherMethod::ByUser,
                        "ByNamespace" => canonical::DistinguisherMethod::ByNamespace,
                        other => canonical::DistinguisherMethod::Unknown(other.to_owned()),
                    }
                }),
                rules: spec.rules.iter().map(rule).collect(),
            },
            conditions: schema.status.conditions.iter().map(condition).collect(),
        }
    }
}

fn metadata(metadata: &Metadata) -> canonical::ObjectMeta {
    canonical::ObjectMeta { name: metadata.name.clone(), uid: metadata.uid.clone(), ..Default::default() }
}

fn condition(condition: &Condition) -> canonical::Condition {
    canonical::Condition {
        kind: condition.kind.clone(),
        status: condition.status.clone(),
        last_transition_time: None,
        reason: condition.reason.clone(),
        message: condition.message.clone(),
    }
}

fn rule(rule: &Rule) -> canonical::Rule {
    let name = |reference: &Option<Reference>| reference.as_ref().map(|reference| reference.name.clone());
    canonical::Rule {
        subjects: rule
            .subjects
            .iter()
            .map(|subject| canonical::Subject {
                kind: subject.kind.clone(),
                user: name(&subject.user),
                group: name(&subject.group),
                service_account: subject.service_account.as_ref().map(|account| {
                    canonical::ServiceAccountSubject {
                        namespace: account.namespace.clone(),
                        name: account.name.clone(),
                    }
                }),
            })
            .collect(),
        resource_rules: rule
            .resource_rules
            .iter()
            .map(|entry| canonical::ResourceRule {
                verbs: entry.verbs.clone(),
                api_groups: entry.api_groups.clone(),
                resources: entry.resources.clone(),
                cluster_scope: entry.cluster_scope,
                namespaces: entry.namespaces.clone(),
            })
            .collect(),
        non_resource_rules: rule
            .non_resource_rules
            .iter()
            .map(|entry| canonical::NonResourceRule {
                verbs: entry.verbs.clone(),
                non_resource_urls: entry.urls.clone(),
            })
            .collect(),
    }
}

impl From<&PriorityLevel> for canonical::PriorityLevelConfiguration {
    fn from(level: &PriorityLevel) -> Self {
        let spec = &level.spec;
        Self {
            metadata: metadata(&level.metadata),
            spec: canonical::PriorityLevelSpec {
                kind: spec.kind.clone(),
                limited: spec.limited.as_ref().map(|limited| canonical::Limited {
                    nominal_concurrency_shares: Some(limited.nominal_concurrency_shares),
                    lendable_percent: limited.lendable_percent,
                    borrowing_limit_percent: limited.borrowing_limit_percent,
                    limit_response: canonical::LimitResponse {
                        kind: limited.limit_response.kind.clone(),
                        queuing: limited.limit_response.queuing.map(|queuing| {
                            canonical::QueuingConfiguration {
                                queues: queuing.queues,
                                hand_size: queuing.hand_size,
                                queue_length_limit: queuing.queue_length_limit,
                            }
                        }),
                    },
                }),
                exempt: spec.exempt.map(|exempt| canonical::Exempt {
                    nominal_concurrency_shares: exempt.nominal_concurrency_shares,
                    lendable_percent: exempt.lendable_percent,
                }),
            },
            conditions: Vec::new(),
        }
    }
}
