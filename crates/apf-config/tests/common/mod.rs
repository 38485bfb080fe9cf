//! Short ways to write configurations and requests in tests.
#![allow(dead_code, reason = "each test file uses its part of this")]

use apf_config::attributes::RequestAttributes;
use apf_config::objects::*;
use apf_config::plan::{Classified, Plan};
use apf_core::FlowHash;

pub(crate) fn strings(list: &[&str]) -> Vec<String> {
    list.iter().map(|entry| (*entry).to_owned()).collect()
}

pub(crate) fn user(name: &str) -> Subject {
    Subject { kind: "User".into(), user: Some(name.into()), ..Subject::default() }
}

pub(crate) fn group(name: &str) -> Subject {
    Subject { kind: "Group".into(), group: Some(name.into()), ..Subject::default() }
}

pub(crate) fn service_account(namespace: &str, name: &str) -> Subject {
    let service_account = Some(ServiceAccountSubject { namespace: namespace.into(), name: name.into() });
    Subject { kind: "ServiceAccount".into(), service_account, ..Subject::default() }
}

/// verbs, API groups, resources, namespaces, cluster scope
pub(crate) fn resources(
    verbs: &[&str],
    groups: &[&str],
    names: &[&str],
    namespaces: &[&str],
    cluster: bool,
) -> ResourceRule {
    ResourceRule {
        verbs: strings(verbs),
        api_groups: strings(groups),
        resources: strings(names),
        cluster_scope: cluster,
        namespaces: strings(namespaces),
    }
}

pub(crate) fn urls(verbs: &[&str], urls: &[&str]) -> NonResourceRule {
    NonResourceRule { verbs: strings(verbs), non_resource_urls: strings(urls) }
}

pub(crate) fn all_resources() -> ResourceRule {
    resources(&["*"], &["*"], &["*"], &["*"], true)
}

pub(crate) fn all_urls() -> NonResourceRule {
    urls(&["*"], &["*"])
}

pub(crate) fn rule(
    subjects: Vec<Subject>,
    resource_rules: Vec<ResourceRule>,
    non_resource_rules: Vec<NonResourceRule>,
) -> Rule {
    Rule { subjects, resource_rules, non_resource_rules }
}

pub(crate) fn anyone_anything() -> Rule {
    rule(vec![group("*")], vec![all_resources()], vec![all_urls()])
}

pub(crate) fn schema(name: &str, level: &str, precedence: i32, rules: Vec<Rule>) -> FlowSchema {
    FlowSchema {
        metadata: ObjectMeta { name: name.into(), uid: format!("uid-of-{name}"), ..ObjectMeta::default() },
        spec: FlowSchemaSpec {
            priority_level: level.into(),
            matching_precedence: precedence,
            distinguisher_method: None,
            rules,
        },
        conditions: Vec::new(),
    }
}

pub(crate) fn by(method: DistinguisherMethod, mut schema: FlowSchema) -> FlowSchema {
    schema.spec.distinguisher_method = Some(method);
    schema
}

pub(crate) fn level(name: &str, spec: PriorityLevelSpec) -> PriorityLevelConfiguration {
    PriorityLevelConfiguration {
        metadata: ObjectMeta { name: name.into(), uid: format!("uid-of-{name}"), ..ObjectMeta::default() },
        spec,
        conditions: Vec::new(),
    }
}

pub(crate) fn exempt() -> PriorityLevelSpec {
    let exempt = Some(Exempt { nominal_concurrency_shares: Some(0), lendable_percent: Some(0) });
    PriorityLevelSpec { kind: "Exempt".into(), limited: None, exempt }
}

pub(crate) fn limited(shares: i32, lendable: i32, limit_response: LimitResponse) -> PriorityLevelSpec {
    let limited = Some(Limited {
        nominal_concurrency_shares: Some(shares),
        lendable_percent: Some(lendable),
        borrowing_limit_percent: None,
        limit_response,
    });
    PriorityLevelSpec { kind: "Limited".into(), limited, exempt: None }
}

pub(crate) fn reject() -> LimitResponse {
    LimitResponse { kind: "Reject".into(), queuing: None }
}

pub(crate) fn queue(queues: i32, hand_size: i32) -> LimitResponse {
    let queuing = Some(QueuingConfiguration { queues, hand_size, queue_length_limit: 50 });
    LimitResponse { kind: "Queue".into(), queuing }
}

/// A configuration of the given schemas, all of whose levels exist and have queues.
pub(crate) fn config(flow_schemas: Vec<FlowSchema>) -> Objects {
    let mut names: Vec<String> =
        flow_schemas.iter().map(|schema| schema.spec.priority_level.clone()).collect();
    names.sort();
    names.dedup();
    let priority_levels = names
        .iter()
        .map(|name| match name.as_str() {
            "exempt" => level(name, exempt()),
            "catch-all" => level(name, limited(5, 0, reject())),
            _ => level(name, limited(30, 0, queue(64, 6))),
        })
        .collect();
    Objects { flow_schemas, priority_levels }
}

pub(crate) fn plan(objects: &Objects) -> Plan {
    Plan::compile(objects, 600, FlowHash::Sha256).unwrap_or_else(|error| panic!("{error}"))
}

/// Schema and level of a request, by name.
pub(crate) fn route<'p>(plan: &'p Plan, request: &RequestAttributes<'_>) -> (&'p str, &'p str) {
    let Classified { schema, level, .. } = plan.classify(request);
    (&plan.schemas()[schema].name, &plan.levels()[level].name)
}
