//! A tree to an object: every version of both kinds, converted to the canonical form on the way.
//!
//! Nothing is defaulted here. A zero that a version cannot tell from "not set" becomes `None`.

use crate::fields::{Fields, Reader};
use crate::objects::{
    Condition, DistinguisherMethod, Exempt, FlowSchema, FlowSchemaSpec, LimitResponse, Limited,
    NonResourceRule, ObjectMeta, PRESERVE_ZERO_ANNOTATION, PriorityLevelConfiguration, PriorityLevelSpec,
    QueuingConfiguration, ResourceRule, Rule, ServiceAccountSubject, Subject,
};
use crate::tree::Node;
use crate::value::Value;
use crate::version::Version;

const OBJECT: [&str; 5] = ["apiVersion", "kind", "metadata", "spec", "status"];

const METADATA: [&str; 15] = [
    "annotations",
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "finalizers",
    "generateName",
    "generation",
    "labels",
    "managedFields",
    "name",
    "namespace",
    "ownerReferences",
    "resourceVersion",
    "selfLink",
    "uid",
];

const OWNER: [&str; 6] = ["apiVersion", "blockOwnerDeletion", "controller", "kind", "name", "uid"];

const MANAGER: [&str; 7] =
    ["apiVersion", "fieldsType", "fieldsV1", "manager", "operation", "subresource", "time"];

/// Reads a `FlowSchema`; its fields are the same in every version.
pub(crate) fn flow_schema(reader: &mut Reader, node: &Node) -> FlowSchema {
    let fields = reader.fields(node, &OBJECT);
    FlowSchema {
        metadata: metadata(reader, &fields),
        spec: reader
            .object(
                &fields,
                "spec",
                &["distinguisherMethod", "matchingPrecedence", "priorityLevelConfiguration", "rules"],
                flow_schema_spec,
            )
            .unwrap_or_default(),
        conditions: conditions(reader, &fields),
    }
}

/// Reads a `PriorityLevelConfiguration` of the given version.
pub(crate) fn priority_level(
    reader: &mut Reader,
    node: &Node,
    version: Version,
) -> PriorityLevelConfiguration {
    let fields = reader.fields(node, &OBJECT);
    let mut level = PriorityLevelConfiguration {
        metadata: metadata(reader, &fields),
        spec: reader
            .object(&fields, "spec", &["exempt", "limited", "type"], |reader, fields| {
                priority_level_spec(reader, fields, version)
            })
            .unwrap_or_default(),
        conditions: conditions(reader, &fields),
    };
    let preserve_zero =
        version == Version::V1Beta3 && level.metadata.annotations.remove(PRESERVE_ZERO_ANNOTATION).is_some();
    if let Some(limited) = &mut level.spec.limited {
        let shares = &mut limited.nominal_concurrency_shares;
        match version {
            Version::V1 => {}
            _ if preserve_zero => {
                shares.get_or_insert(0);
            }
            // Before v1, a plain 0 is "not set".
            _ => *shares = shares.filter(|shares| *shares != 0),
        }
    }
    level
}

fn metadata(reader: &mut Reader, fields: &Fields<'_>) -> ObjectMeta {
    reader.object(fields, "metadata", &METADATA, metadata_fields).unwrap_or_default()
}

fn metadata_fields(reader: &mut Reader, fields: &Fields<'_>) -> ObjectMeta {
    let mut meta = ObjectMeta {
        name: reader.string(fields, "name"),
        namespace: reader.string(fields, "namespace"),
        annotations: reader.string_map(fields, "annotations"),
        labels: reader.string_map(fields, "labels"),
        generation: reader.int64(fields, "generation").unwrap_or(0),
        uid: reader.string(fields, "uid"),
        rest: Default::default(),
    };
    let checked = reader.issues.len();
    for name in ["generateName", "resourceVersion", "selfLink"] {
        reader.string(fields, name);
    }
    for name in ["creationTimestamp", "deletionTimestamp"] {
        reader.time(fields, name);
    }
    reader.int64(fields, "deletionGracePeriodSeconds");
    reader.strings(fields, "finalizers");
    reader.objects(fields, "ownerReferences", &OWNER, |reader, owner| {
        for name in ["apiVersion", "kind", "name", "uid"] {
            reader.string(owner, name);
        }
        reader.boolean(owner, "controller");
        reader.boolean(owner, "blockOwnerDeletion");
    });
    reader.objects(fields, "managedFields", &MANAGER, |reader, manager| {
        for name in ["apiVersion", "fieldsType", "manager", "operation", "subresource"] {
            reader.string(manager, name);
        }
        reader.time(manager, "time");
    });
    if reader.issues.len() == checked {
        const READ: [&str; 6] = ["annotations", "generation", "labels", "name", "namespace", "uid"];
        let kept = fields.iter().filter(|(name, _)| !READ.contains(name));
        meta.rest = kept
            .map(|(name, node)| (name.to_owned(), node.to_value()))
            .filter(|(_, value)| *value != Value::Null)
            .collect();
    }
    meta
}

fn conditions(reader: &mut Reader, fields: &Fields<'_>) -> Vec<Condition> {
    let known = ["lastTransitionTime", "message", "reason", "status", "type"];
    reader
        .object(fields, "status", &["conditions"], |reader, status| {
            reader.objects(status, "conditions", &known, |reader, fields| Condition {
                kind: reader.string(fields, "type"),
                status: reader.string(fields, "status"),
                last_transition_time: reader.time(fields, "lastTransitionTime"),
                reason: reader.string(fields, "reason"),
                message: reader.string(fields, "message"),
            })
        })
        .unwrap_or_default()
}

fn flow_schema_spec(reader: &mut Reader, fields: &Fields<'_>) -> FlowSchemaSpec {
    FlowSchemaSpec {
        priority_level: named(reader, fields, "priorityLevelConfiguration").unwrap_or_default(),
        matching_precedence: reader.int32(fields, "matchingPrecedence").unwrap_or(0),
        distinguisher_method: reader.object(fields, "distinguisherMethod", &["type"], |reader, fields| {
            match reader.string(fields, "type").as_str() {
                "ByUser" => DistinguisherMethod::ByUser,
                "ByNamespace" => DistinguisherMethod::ByNamespace,
                other => DistinguisherMethod::Unknown(other.to_owned()),
            }
        }),
        rules: reader.objects(
            fields,
            "rules",
            &["nonResourceRules", "resourceRules", "subjects"],
            |reader, fields| Rule {
                subjects: reader.objects(
                    fields,
                    "subjects",
                    &["group", "kind", "serviceAccount", "user"],
                    subject,
                ),
                resource_rules: reader.objects(
                    fields,
                    "resourceRules",
                    &["apiGroups", "clusterScope", "namespaces", "resources", "verbs"],
                    resource_rule,
                ),
                non_resource_rules: reader.objects(
                    fields,
                    "nonResourceRules",
                    &["nonResourceURLs", "verbs"],
                    |reader, fields| NonResourceRule {
                        verbs: reader.strings(fields, "verbs"),
                        non_resource_urls: reader.strings(fields, "nonResourceURLs"),
                    },
                ),
            },
        ),
    }
}

/// An object that has only a `name`.
fn named(reader: &mut Reader, fields: &Fields<'_>, field: &str) -> Option<String> {
    reader.object(fields, field, &["name"], |reader, fields| reader.string(fields, "name"))
}

fn subject(reader: &mut Reader, fields: &Fields<'_>) -> Subject {
    Subject {
        kind: reader.string(fields, "kind"),
        user: named(reader, fields, "user"),
        group: named(reader, fields, "group"),
        service_account: reader.object(fields, "serviceAccount", &["name", "namespace"], |reader, fields| {
            ServiceAccountSubject {
                namespace: reader.string(fields, "namespace"),
                name: reader.string(fields, "name"),
            }
        }),
    }
}

fn resource_rule(reader: &mut Reader, fields: &Fields<'_>) -> ResourceRule {
    ResourceRule {
        verbs: reader.strings(fields, "verbs"),
        api_groups: reader.strings(fields, "apiGroups"),
        resources: reader.strings(fields, "resources"),
        cluster_scope: reader.boolean(fields, "clusterScope").unwrap_or(false),
        namespaces: reader.strings(fields, "namespaces"),
    }
}

fn priority_level_spec(reader: &mut Reader, fields: &Fields<'_>, version: Version) -> PriorityLevelSpec {
    let shares = version.shares_field();
    PriorityLevelSpec {
        kind: reader.string(fields, "type"),
        limited: reader.object(
            fields,
            "limited",
            &[shares, "borrowingLimitPercent", "lendablePercent", "limitResponse"],
            |reader, fields| Limited {
                nominal_concurrency_shares: reader.int32(fields, shares),
                lendable_percent: reader.int32(fields, "lendablePercent"),
                borrowing_limit_percent: reader.int32(fields, "borrowingLimitPercent"),
                limit_response: reader
                    .object(fields, "limitResponse", &["queuing", "type"], limit_response)
                    .unwrap_or_default(),
            },
        ),
        exempt: reader.object(
            fields,
            "exempt",
            &["lendablePercent", "nominalConcurrencyShares"],
            |reader, fields| Exempt {
                nominal_concurrency_shares: reader.int32(fields, "nominalConcurrencyShares"),
                lendable_percent: reader.int32(fields, "lendablePercent"),
            },
        ),
    }
}

fn limit_response(reader: &mut Reader, fields: &Fields<'_>) -> LimitResponse {
    LimitResponse {
        kind: reader.string(fields, "type"),
        queuing: reader.object(
            fields,
            "queuing",
            &["handSize", "queueLengthLimit", "queues"],
            |reader, fields| QueuingConfiguration {
                queues: reader.int32(fields, "queues").unwrap_or(0),
                hand_size: reader.int32(fields, "handSize").unwrap_or(0),
                queue_length_limit: reader.int32(fields, "queueLengthLimit").unwrap_or(0),
            },
        ),
    }
}
