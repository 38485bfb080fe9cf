//! The built-in objects, field by field, and own objects over them.
#![allow(clippy::unwrap_used, reason = "helpers of tests may panic")]

use apf_config::bootstrap::{self, CATCH_ALL, EXEMPT};
use apf_config::objects::{AUTOUPDATE_ANNOTATION, DistinguisherMethod, PriorityLevelConfiguration, Subject};
use apf_config::{Format, Objects, Strictness, Version, load_str, write};

/// One line for each level: name, type, shares, lendable percent, response, queues, hand, queue length.
fn level_line(level: &PriorityLevelConfiguration) -> String {
    let spec = &level.spec;
    let name = &level.metadata.name;
    if let Some(exempt) = &spec.exempt {
        let shares = exempt.nominal_concurrency_shares.unwrap();
        return format!("{name} {} {shares} {}", spec.kind, exempt.lendable_percent.unwrap());
    }
    let limited = spec.limited.as_ref().unwrap();
    assert_eq!(limited.borrowing_limit_percent, None, "{name}");
    let queuing = match &limited.limit_response.queuing {
        None => String::new(),
        Some(queuing) => format!(" {} {} {}", queuing.queues, queuing.hand_size, queuing.queue_length_limit),
    };
    format!(
        "{name} {} {} {} {}{queuing}",
        spec.kind,
        limited.nominal_concurrency_shares.unwrap(),
        limited.lendable_percent.unwrap(),
        limited.limit_response.kind,
    )
}

fn subject(subject: &Subject) -> String {
    match (&subject.user, &subject.group, &subject.service_account) {
        (Some(user), None, None) => format!("user {user}"),
        (None, Some(group), None) => format!("group {group}"),
        (None, None, Some(account)) => format!("account {} in {}", account.name, account.namespace),
        _ => panic!("one member each"),
    }
}

/// One line for each schema: level, precedence, distinguisher, subjects, rules.
fn schema_line(objects: &Objects, name: &str) -> String {
    let schema = objects.flow_schemas.iter().find(|schema| schema.metadata.name == name).unwrap();
    let spec = &schema.spec;
    let [rule] = spec.rules.as_slice() else { panic!("one rule each") };
    let distinguisher = match &spec.distinguisher_method {
        None => "-",
        Some(DistinguisherMethod::ByUser) => "user",
        Some(DistinguisherMethod::ByNamespace) => "namespace",
        Some(DistinguisherMethod::Unknown(other)) => other,
    };
    let subjects: Vec<String> = rule.subjects.iter().map(subject).collect();
    let resources: Vec<String> = rule
        .resource_rules
        .iter()
        .map(|rule| {
            assert_eq!(rule.namespaces, ["*"]);
            format!(
                "{} of {:?}/{} {}",
                rule.verbs.join(","),
                rule.api_groups.join(","),
                rule.resources.join(","),
                rule.cluster_scope
            )
        })
        .collect();
    let urls: Vec<String> = rule
        .non_resource_rules
        .iter()
        .map(|rule| format!("{} of {}", rule.verbs.join(","), rule.non_resource_urls.join(",")))
        .collect();
    format!(
        "{} {} {distinguisher}; {}; {}; {}",
        spec.priority_level,
        spec.matching_precedence,
        subjects.join(" + "),
        resources.join(" + "),
        urls.join(" + ")
    )
}

#[test]
fn the_levels_are_those_of_a_server() {
    let mut lines: Vec<String> = bootstrap::all().priority_levels.iter().map(level_line).collect();
    lines.sort();
    assert_eq!(
        lines,
        [
            "catch-all Limited 5 0 Reject",
            "exempt Exempt 0 0",
            "global-default Limited 20 50 Queue 128 6 50",
            "leader-election Limited 10 0 Queue 16 4 50",
            "node-high Limited 40 25 Queue 64 6 50",
            "system Limited 30 33 Queue 64 6 50",
            "workload-high Limited 40 50 Queue 128 6 50",
            "workload-low Limited 100 90 Queue 128 6 50",
        ]
    );
    let mandatory: Vec<String> = bootstrap::mandatory().priority_levels.iter().map(level_line).collect();
    assert_eq!(mandatory, ["exempt Exempt 0 0", "catch-all Limited 5 0 Reject"]);
    assert_eq!(bootstrap::suggested().priority_levels.len(), 6);
}

#[test]
fn the_schemas_are_those_of_a_server() {
    let all = bootstrap::all();
    let everything = "* of \"*\"/* true; * of *";
    let everyone = "group system:unauthenticated + group system:authenticated";
    let leases = "\"coordination.k8s.io\"/leases false";
    let expected = [
        ("exempt", format!("exempt 1 -; group system:masters; {everything}")),
        ("probes", format!("exempt 2 -; {everyone}; ; get of /healthz,/readyz,/livez")),
        (
            "system-leader-election",
            format!(
                "leader-election 100 user; user system:kube-controller-manager + user system:kube-scheduler + account * \
                 in kube-system; get,create,update of {leases}; "
            ),
        ),
        (
            "system-node-high",
            format!(
                "node-high 400 user; group system:nodes; * of \"\"/nodes,nodes/status true + * of {leases}; "
            ),
        ),
        ("system-nodes", format!("system 500 user; group system:nodes; {everything}")),
        (
            "kube-controller-manager",
            format!("workload-high 800 namespace; user system:kube-controller-manager; {everything}"),
        ),
        ("kube-scheduler", format!("workload-high 800 namespace; user system:kube-scheduler; {everything}")),
        (
            "kube-system-service-accounts",
            format!("workload-high 900 namespace; account * in kube-system; {everything}"),
        ),
        ("service-accounts", format!("workload-low 9000 user; group system:serviceaccounts; {everything}")),
        ("global-default", format!("global-default 9900 user; {everyone}; {everything}")),
        ("catch-all", format!("catch-all 10000 user; {everyone}; {everything}")),
    ];
    assert_eq!(all.flow_schemas.len(), expected.len());
    for (name, line) in expected {
        assert_eq!(schema_line(&all, name), line, "{name}");
    }
    let mandatory = bootstrap::mandatory();
    let names: Vec<&str> =
        mandatory.flow_schemas.iter().map(|schema| schema.metadata.name.as_str()).collect();
    assert_eq!(names, [EXEMPT, CATCH_ALL]);
}

#[test]
fn every_built_in_object_is_kept_up_to_date_by_a_server_and_valid() {
    let list = bootstrap::all().to_list();
    for object in &list {
        assert_eq!(object.metadata().annotations[AUTOUPDATE_ANNOTATION], "true");
    }
    let text = write(&list, Version::V1, Format::Yaml).unwrap().text;
    let loaded = load_str("built-in", &text, Strictness::Strict);
    assert_eq!(loaded.diagnostics, []);
    assert_eq!(loaded.items.len(), 19);
}

#[test]
fn own_objects_replace_built_in_ones_of_their_name_and_follow_the_others() {
    let own = load_str(
        "own",
        "apiVersion: flowcontrol.apiserver.k8s.io/v1\nkind: PriorityLevelConfiguration\nmetadata: {name: \
         workload-high}\nspec: {type: Limited, limited: {nominalConcurrencyShares: 7, limitResponse: {type: \
         Reject}}}\n---\napiVersion: flowcontrol.apiserver.k8s.io/v1\nkind: FlowSchema\nmetadata: {name: \
         own}\nspec: {priorityLevelConfiguration: {name: workload-high}}\n",
        Strictness::Strict,
    )
    .objects;
    let merged = bootstrap::with_own(&own);
    let all = bootstrap::all();
    assert_eq!(merged.priority_levels.len(), all.priority_levels.len());
    for (merged, built_in) in merged.priority_levels.iter().zip(&all.priority_levels) {
        assert_eq!(merged.metadata.name, built_in.metadata.name);
        let expected =
            if built_in.metadata.name == "workload-high" { &own.priority_levels[0] } else { built_in };
        assert_eq!(merged, expected);
    }
    assert_eq!(merged.flow_schemas[..all.flow_schemas.len()], all.flow_schemas);
    assert_eq!(merged.flow_schemas[all.flow_schemas.len()..], own.flow_schemas);
    assert_eq!(bootstrap::with_own(&Objects::default()), all);
}
