//! The objects every server has: the mandatory ones and the suggested defaults.

use std::collections::HashMap;

use crate::objects::{
    AUTOUPDATE_ANNOTATION, DistinguisherMethod, Exempt, FlowSchema, FlowSchemaSpec, LimitResponse, Limited,
    NonResourceRule, ObjectMeta, Objects, PriorityLevelConfiguration, PriorityLevelSpec,
    QueuingConfiguration, ResourceRule, Rule, ServiceAccountSubject, StringMap, Subject,
};

/// Name of the mandatory schema and level whose requests are never limited.
pub const EXEMPT: &str = "exempt";

/// Name of the mandatory schema and level for whatever nothing else matches.
pub const CATCH_ALL: &str = "catch-all";

const BY_USER: Option<DistinguisherMethod> = Some(DistinguisherMethod::ByUser);
const BY_NAMESPACE: Option<DistinguisherMethod> = Some(DistinguisherMethod::ByNamespace);

/// The schemas and levels named `exempt` and `catch-all`.
pub fn mandatory() -> Objects {
    Objects {
        flow_schemas: [EXEMPT, CATCH_ALL].into_iter().filter_map(mandatory_schema).collect(),
        priority_levels: [EXEMPT, CATCH_ALL].into_iter().filter_map(mandatory_level).collect(),
    }
}

/// The mandatory schema of this name.
pub fn mandatory_schema(name: &str) -> Option<FlowSchema> {
    match name {
        EXEMPT => Some(schema(EXEMPT, EXEMPT, 1, None, vec![everything(vec![group("system:masters")])])),
        CATCH_ALL => Some(schema(CATCH_ALL, CATCH_ALL, 10_000, BY_USER, vec![everything(everyone())])),
        _ => None,
    }
}

/// The mandatory level of this name.
pub fn mandatory_level(name: &str) -> Option<PriorityLevelConfiguration> {
    match name {
        EXEMPT => Some(exempt_level()),
        CATCH_ALL => {
            let reject = LimitResponse { kind: "Reject".to_owned(), queuing: None };
            Some(limited_level(CATCH_ALL, 5, 0, reject))
        }
        _ => None,
    }
}

/// The suggested objects, without the mandatory ones.
pub fn suggested() -> Objects {
    Objects {
        flow_schemas: vec![
            schema("probes", EXEMPT, 2, None, vec![probes_rule()]),
            schema("system-leader-election", "leader-election", 100, BY_USER, vec![leader_election_rule()]),
            schema("system-node-high", "node-high", 400, BY_USER, vec![node_high_rule()]),
            schema("system-nodes", "system", 500, BY_USER, vec![everything(vec![group("system:nodes")])]),
            schema(
                "kube-controller-manager",
                "workload-high",
                800,
                BY_NAMESPACE,
                vec![everything(vec![user("system:kube-controller-manager")])],
            ),
            schema(
                "kube-scheduler",
                "workload-high",
                800,
                BY_NAMESPACE,
                vec![everything(vec![user("system:kube-scheduler")])],
            ),
            schema(
                "kube-system-service-accounts",
                "workload-high",
                900,
                BY_NAMESPACE,
                vec![everything(vec![every_account_of("kube-system")])],
            ),
            schema(
                "service-accounts",
                "workload-low",
                9000,
                BY_USER,
                vec![everything(vec![group("system:serviceaccounts")])],
            ),
            schema("global-default", "global-default", 9900, BY_USER, vec![everything(everyone())]),
        ],
        priority_levels: vec![
            queue_level("system", 30, 33, 64, 6),
            queue_level("node-high", 40, 25, 64, 6),
            queue_level("leader-election", 10, 0, 16, 4),
            queue_level("workload-high", 40, 50, 128, 6),
            queue_level("workload-low", 100, 90, 128, 6),
            queue_level("global-default", 20, 50, 128, 6),
        ],
    }
}

/// All built-in objects, the mandatory ones first.
pub fn all() -> Objects {
    let mut objects = mandatory();
    let suggested = suggested();
    objects.flow_schemas.extend(suggested.flow_schemas);
    objects.priority_levels.extend(suggested.priority_levels);
    objects
}

/// The built-in objects with `own` over them: an own object replaces the built-in one of its kind and
/// name, in its place; the others follow in their order.
pub fn with_own(own: &Objects) -> Objects {
    let built_in = all();
    Objects {
        flow_schemas: overlaid(built_in.flow_schemas, &own.flow_schemas, |schema| &schema.metadata.name),
        priority_levels: overlaid(built_in.priority_levels, &own.priority_levels, |level| {
            &level.metadata.name
        }),
    }
}

fn overlaid<T: Clone>(mut objects: Vec<T>, own: &[T], name: impl Fn(&T) -> &String) -> Vec<T> {
    let places: HashMap<String, usize> =
        objects.iter().enumerate().map(|(place, object)| (name(object).clone(), place)).collect();
    for object in own {
        match places.get(name(object)).and_then(|place| objects.get_mut(*place)) {
            Some(built_in) => *built_in = object.clone(),
            None => objects.push(object.clone()),
        }
    }
    objects
}

fn metadata(name: &str) -> ObjectMeta {
    ObjectMeta {
        name: name.to_owned(),
        annotations: StringMap::from([(AUTOUPDATE_ANNOTATION.to_owned(), "true".to_owned())]),
        ..ObjectMeta::default()
    }
}

fn exempt_level() -> PriorityLevelConfiguration {
    PriorityLevelConfiguration {
        metadata: metadata(EXEMPT),
        spec: PriorityLevelSpec {
            kind: "Exempt".to_owned(),
            limited: None,
            exempt: Some(Exempt { nominal_concurrency_shares: Some(0), lendable_percent: Some(0) }),
        },
        conditions: Vec::new(),
    }
}

fn limited_level(
    name: &str,
    shares: i32,
    lendable: i32,
    response: LimitResponse,
) -> PriorityLevelConfiguration {
    PriorityLevelConfiguration {
        metadata: metadata(name),
        spec: PriorityLevelSpec {
            kind: "Limited".to_owned(),
            limited: Some(Limited {
                nominal_concurrency_shares: Some(shares),
                lendable_percent: Some(lendable),
                borrowing_limit_percent: None,
                limit_response: response,
            }),
            exempt: None,
        },
        conditions: Vec::new(),
    }
}

fn queue_level(
    name: &str,
    shares: i32,
    lendable: i32,
    queues: i32,
    hand_size: i32,
) -> PriorityLevelConfiguration {
    let queuing = QueuingConfiguration { queues, hand_size, queue_length_limit: 50 };
    limited_level(name, shares, lendable, LimitResponse { kind: "Queue".to_owned(), queuing: Some(queuing) })
}

fn schema(
    name: &str,
    level: &str,
    precedence: i32,
    distinguisher_method: Option<DistinguisherMethod>,
    rules: Vec<Rule>,
) -> FlowSchema {
    FlowSchema {
        metadata: metadata(name),
        spec: FlowSchemaSpec {
            priority_level: level.to_owned(),
            matching_precedence: precedence,
            distinguisher_method,
            rules,
        },
        conditions: Vec::new(),
    }
}

fn user(name: &str) -> Subject {
    Subject { kind: "User".to_owned(), user: Some(name.to_owned()), ..Subject::default() }
}

fn group(name: &str) -> Subject {
    Subject { kind: "Group".to_owned(), group: Some(name.to_owned()), ..Subject::default() }
}

fn every_account_of(namespace: &str) -> Subject {
    Subject {
        kind: "ServiceAccount".to_owned(),
        service_account: Some(ServiceAccountSubject {
            namespace: namespace.to_owned(),
            name: "*".to_owned(),
        }),
        ..Subject::default()
    }
}

fn everyone() -> Vec<Subject> {
    vec![group("system:unauthenticated"), group("system:authenticated")]
}

fn strings(items: &[&str]) -> Vec<String> {
    items.iter().map(|item| (*item).to_owned()).collect()
}

fn resources(verbs: &[&str], api_group: &str, resources: &[&str], cluster_scope: bool) -> ResourceRule {
    ResourceRule {
        verbs: strings(verbs),
        api_groups: strings(&[api_group]),
        resources: strings(resources),
        cluster_scope,
        namespaces: strings(&["*"]),
    }
}

/// Every request of these subjects.
fn everything(subjects: Vec<Subject>) -> Rule {
    Rule {
        subjects,
        resource_rules: vec![resources(&["*"], "*", &["*"], true)],
        non_resource_rules: vec![NonResourceRule {
            verbs: strings(&["*"]),
            non_resource_urls: strings(&["*"]),
        }],
    }
}

fn probes_rule() -> Rule {
    Rule {
        subjects: everyone(),
        resource_rules: Vec::new(),
        non_resource_rules: vec![NonResourceRule {
            verbs: strings(&["get"]),
            non_resource_urls: strings(&["/healthz", "/readyz", "/livez"]),
        }],
    }
}

fn leader_election_rule() -> Rule {
    Rule {
        subjects: vec![
            user("system:kube-controller-manager"),
            user("system:kube-scheduler"),
            every_account_of("kube-system"),
        ],
        resource_rules: vec![resources(
            &["get", "create", "update"],
            "coordination.k8s.io",
            &["leases"],
            false,
        )],
        non_resource_rules: Vec::new(),
    }
}

fn node_high_rule() -> Rule {
    Rule {
        subjects: vec![group("system:nodes")],
        resource_rules: vec![
            resources(&["*"], "", &["nodes", "nodes/status"], true),
            resources(&["*"], "coordination.k8s.io", &["leases"], false),
        ],
        non_resource_rules: Vec::new(),
    }
}
