//! The objects that always exist, imagined where a configuration lacks them.

use crate::objects::{
    DistinguisherMethod, Exempt, FlowSchemaSpec, LimitResponse, Limited, NonResourceRule, PriorityLevelSpec,
    ResourceRule, Rule, Subject,
};

pub(super) fn exempt_level() -> PriorityLevelSpec {
    PriorityLevelSpec {
        kind: "Exempt".to_owned(),
        limited: None,
        exempt: Some(Exempt { nominal_concurrency_shares: Some(0), lendable_percent: Some(0) }),
    }
}

pub(super) fn catch_all_level() -> PriorityLevelSpec {
    PriorityLevelSpec {
        kind: "Limited".to_owned(),
        limited: Some(Limited {
            nominal_concurrency_shares: Some(5),
            lendable_percent: Some(0),
            borrowing_limit_percent: None,
            limit_response: LimitResponse { kind: "Reject".to_owned(), queuing: None },
        }),
        exempt: None,
    }
}

pub(super) fn exempt_schema() -> FlowSchemaSpec {
    FlowSchemaSpec {
        priority_level: super::EXEMPT.to_owned(),
        matching_precedence: 1,
        distinguisher_method: None,
        rules: vec![everything(&["system:masters"])],
    }
}

pub(super) fn catch_all_schema() -> FlowSchemaSpec {
    FlowSchemaSpec {
        priority_level: super::CATCH_ALL.to_owned(),
        matching_precedence: 10_000,
        distinguisher_method: Some(DistinguisherMethod::ByUser),
        rules: vec![everything(&["system:unauthenticated", "system:authenticated"])],
    }
}

fn everything(groups: &[&str]) -> Rule {
    let any = || vec!["*".to_owned()];
    Rule {
        subjects: groups
            .iter()
            .map(|group| Subject {
                kind: "Group".to_owned(),
                group: Some((*group).to_owned()),
                ..Subject::default()
            })
            .collect(),
        resource_rules: vec![ResourceRule {
            verbs: any(),
            api_groups: any(),
            resources: any(),
            cluster_scope: true,
            namespaces: any(),
        }],
        non_resource_rules: vec![NonResourceRule { verbs: any(), non_resource_urls: any() }],
    }
}
