//! Every rule of the API, with the path and message a server gives.

use apf_config::{Loaded, Severity, Strictness, load_str};

/// Loads one object of `v1` whose metadata and spec are given in flow style.
fn load(kind: &str, metadata: &str, spec: &str) -> Loaded {
    load_in("v1", kind, metadata, spec)
}

fn load_in(version: &str, kind: &str, metadata: &str, spec: &str) -> Loaded {
    let text = format!(
        "apiVersion: flowcontrol.apiserver.k8s.io/{version}\nkind: {kind}\nmetadata: {metadata}\nspec: {spec}\n"
    );
    load_str("test.yaml", &text, Strictness::Strict)
}

fn errors(loaded: &Loaded) -> Vec<String> {
    let mut messages: Vec<String> = loaded.errors().map(|error| error.message()).collect();
    messages.sort();
    messages
}

fn schema(spec: &str) -> Vec<String> {
    errors(&load("FlowSchema", "{name: s}", spec))
}

fn level(spec: &str) -> Vec<String> {
    errors(&load("PriorityLevelConfiguration", "{name: l}", spec))
}

/// Messages of a schema whose only rule is given.
fn rule(rule: &str) -> Vec<String> {
    let messages = schema(&format!("{{priorityLevelConfiguration: {{name: l}}, rules: [{rule}]}}"));
    messages.iter().map(|message| message.replacen("spec.rules[0]", "RULE", 1)).collect()
}

fn resource_rule(members: &str) -> Vec<String> {
    let messages =
        rule(&format!("{{subjects: [{{kind: User, user: {{name: u}}}}], resourceRules: [{{{members}}}]}}"));
    messages.iter().map(|message| message.replacen("RULE.resourceRules[0].", "", 1)).collect()
}

fn non_resource_rule(members: &str) -> Vec<String> {
    let messages = rule(&format!(
        "{{subjects: [{{kind: User, user: {{name: u}}}}], nonResourceRules: [{{{members}}}]}}"
    ));
    messages.iter().map(|message| message.replacen("RULE.nonResourceRules[0].", "", 1)).collect()
}

fn subject(members: &str) -> Vec<String> {
    let messages = rule(&format!(
        "{{subjects: [{{{members}}}], nonResourceRules: [{{verbs: [get], nonResourceURLs: [/]}}]}}"
    ));
    messages.iter().map(|message| message.replacen("RULE.subjects[0].", "", 1)).collect()
}

/// Messages of a level with the given queues, hand and queue length.
fn queuing(queuing: &str) -> Vec<String> {
    let spec = format!("{{type: Limited, limited: {{limitResponse: {{type: Queue, queuing: {queuing}}}}}}}");
    let messages = level(&spec);
    messages.iter().map(|message| message.replacen("spec.limited.limitResponse.queuing.", "", 1)).collect()
}

const NONE: [&str; 0] = [];

const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or \
                         '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex \
                         used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must \
                     start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for \
                     validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const VERBS: &str = "supported values: \"create\", \"delete\", \"deletecollection\", \"get\", \"list\", \"patch\", \
                     \"proxy\", \"update\", \"watch\"";

#[test]
fn the_precedence_of_a_schema_is_in_range_and_one_is_reserved() {
    let precedence = |value: &str| {
        schema(&format!("{{matchingPrecedence: {value}, priorityLevelConfiguration: {{name: l}}}}"))
    };
    for good in ["0", "null", "2", "1000", "10000"] {
        assert_eq!(precedence(good), NONE, "{good}");
    }
    assert_eq!(precedence("-1"), ["spec.matchingPrecedence: Invalid value: -1: must be a positive value"]);
    assert_eq!(
        precedence("10001"),
        ["spec.matchingPrecedence: Invalid value: 10001: must not be greater than 10000"]
    );
    assert_eq!(
        precedence("1"),
        [
            "spec.matchingPrecedence: Invalid value: 1: only the schema named 'exempt' may have matchingPrecedence 1"
        ]
    );
}

#[test]
fn a_schema_refers_to_a_level_by_a_valid_name() {
    assert_eq!(
        schema("{}"),
        ["spec.priorityLevelConfiguration.name: Required value: must reference a priority level"]
    );
    assert_eq!(
        schema("{priorityLevelConfiguration: {name: A}}"),
        [format!("spec.priorityLevelConfiguration.name: Invalid value: \"A\": {SUBDOMAIN}")]
    );
    assert_eq!(schema("{priorityLevelConfiguration: {name: does-not-exist}}"), NONE);
}

#[test]
fn a_distinguisher_is_by_user_or_by_namespace() {
    let method = |method: &str| {
        schema(&format!("{{priorityLevelConfiguration: {{name: l}}, distinguisherMethod: {method}}}"))
    };
    for good in ["null", "{type: ByUser}", "{type: ByNamespace}"] {
        assert_eq!(method(good), NONE, "{good}");
    }
    for (bad, shown) in [("{}", ""), ("{type: byUser}", "byUser")] {
        assert_eq!(
            method(bad),
            [format!(
                "spec.distinguisherMethod.type: Unsupported value: {{\"Type\":\"{shown}\"}}: supported values: \
                 \"ByNamespace\", \"ByUser\""
            )]
        );
    }
}

#[test]
fn a_rule_has_subjects_and_something_to_match() {
    assert_eq!(
        rule("{}"),
        [
            "RULE.subjects: Required value: subjects must contain at least one value",
            "RULE: Required value: at least one of resourceRules and nonResourceRules has to be non-empty",
        ]
    );
    assert_eq!(schema("{priorityLevelConfiguration: {name: l}, rules: []}"), NONE);
}

#[test]
fn a_subject_has_the_member_of_its_kind_and_no_other() {
    for good in [
        "kind: User, user: {name: '*'}",
        "kind: Group, group: {name: 'system:masters'}",
        "kind: ServiceAccount, serviceAccount: {name: '*', namespace: kube-system}",
        "kind: ServiceAccount, serviceAccount: {name: a.b, namespace: ns}, user: null",
    ] {
        assert_eq!(subject(good), NONE, "{good}");
    }
    for kind in ["", "user"] {
        assert_eq!(
            subject(&format!("kind: '{kind}', user: {{name: u}}")),
            [format!(
                "kind: Unsupported value: \"{kind}\": supported values: \"Group\", \"ServiceAccount\", \"User\""
            )]
        );
    }
    assert_eq!(
        subject("kind: User, group: {name: g}, serviceAccount: {name: a, namespace: ns}"),
        [
            "group: Forbidden: group is forbidden when subject kind is not 'Group'",
            "serviceAccount: Forbidden: serviceAccount is forbidden when subject kind is not 'ServiceAccount'",
            "user: Required value: user is required when subject kind is 'User'",
        ]
    );
    assert_eq!(
        subject("kind: Group, user: {name: g}"),
        [
            "group: Required value: group is required when subject kind is 'Group'",
            "user: Forbidden: user is forbidden when subject kind is not 'User'",
        ]
    );
    assert_eq!(
        subject("kind: ServiceAccount"),
        ["serviceAccount: Required value: serviceAccount is required when subject kind is 'ServiceAccount'"]
    );
    assert_eq!(subject("kind: User, user: {}"), ["user.name: Required value"]);
    assert_eq!(subject("kind: Group, group: {name: ''}"), ["group.name: Required value"]);
    assert_eq!(
        subject("kind: ServiceAccount, serviceAccount: {}"),
        [
            "serviceAccount.name: Required value",
            "serviceAccount.namespace: Required value: must specify namespace for service account",
        ]
    );
    assert_eq!(
        subject("kind: ServiceAccount, serviceAccount: {name: A, namespace: '*'}"),
        [
            format!("serviceAccount.name: Invalid value: \"A\": {SUBDOMAIN}"),
            format!("serviceAccount.namespace: Invalid value: \"*\": {LABEL}"),
        ]
    );
}

#[test]
fn a_resource_rule_names_verbs_groups_resources_and_namespaces() {
    for good in [
        "verbs: ['*'], apiGroups: ['*'], resources: ['*'], namespaces: ['*']",
        "verbs: [get, get], apiGroups: [''], resources: [pods, pods/status], namespaces: [a, b]",
        "verbs: [proxy], apiGroups: [A_b], resources: ['pods/*'], clusterScope: true",
        "verbs: [watch], apiGroups: [a], resources: [b], clusterScope: true, namespaces: null",
    ] {
        assert_eq!(resource_rule(good), NONE, "{good}");
    }
    assert_eq!(
        resource_rule(""),
        [
            "apiGroups: Required value: resource rules must supply at least one api group",
            "namespaces: Required value: resource rules that are not cluster scoped must supply at least one \
             namespace",
            "resources: Required value: resource rules must supply at least one resource",
            "verbs: Required value: verbs must contain at least one value",
        ]
    );
    assert_eq!(
        resource_rule(
            "verbs: ['*', get], apiGroups: [a, '*'], resources: ['*', pods], namespaces: [ns, '*']"
        ),
        [
            "apiGroups: Invalid value: [\"a\",\"*\"]: if '*' is present, must not specify other api groups",
            "namespaces: Invalid value: [\"ns\",\"*\"]: if '*' is present, must not specify other namespaces",
            "resources: Invalid value: [\"*\",\"pods\"]: if '*' is present, must not specify other resources",
            "verbs: Invalid value: [\"*\",\"get\"]: if '*' is present, must not specify other verbs",
        ]
    );
    assert_eq!(
        resource_rule("verbs: [get, head], apiGroups: [''], resources: [pods], clusterScope: true, namespaces: [a.b, ok, _]"),
        [
            "namespaces[0]: Invalid value: \"a.b\": each member of this list must be '*' or a DNS-1123 label; must \
             not contain dots"
                .to_owned(),
            format!(
                "namespaces[2]: Invalid value: \"_\": each member of this list must be '*' or a DNS-1123 label; {LABEL}"
            ),
            format!("verbs: Unsupported value: [\"get\",\"head\"]: {VERBS}"),
        ]
    );
}

#[test]
fn a_non_resource_rule_names_verbs_and_paths() {
    assert_eq!(
        non_resource_rule(""),
        [
            "nonResourceURLs: Required value: nonResourceURLs must contain at least one value",
            "verbs: Required value: verbs must contain at least one value",
        ]
    );
    assert_eq!(
        non_resource_rule("verbs: [post], nonResourceURLs: ['*', /a]"),
        [
            "nonResourceURLs: Invalid value: [\"*\",\"/a\"]: if '*' is present, must not specify other non-resource \
             URLs"
                .to_owned(),
            format!("verbs: Unsupported value: [\"post\"]: {VERBS}"),
        ]
    );
}

#[test]
fn a_path_may_end_in_a_wildcard_and_nowhere_else() {
    let url = |url: &str| non_resource_rule(&format!("verbs: [get], nonResourceURLs: ['{url}']"));
    for good in ["/", "/foo", "/apis/", "/healthz/*", "/*", "*"] {
        assert_eq!(url(good), NONE, "{good}");
    }
    let glob = "wildcard can only do suffix matching";
    for (bad, why) in [
        ("", "must not be empty"),
        ("foo", "must start with slash"),
        ("*x", "must start with slash"),
        ("//", "must not contain double slash"),
        ("/////", "must not contain double slash"),
        ("/healthz/foo bar", "must not contain white-space"),
        ("/healthz/*/foo", glob),
        ("/health*", glob),
        ("/health*/foo", glob),
        ("/*/*", glob),
    ] {
        assert_eq!(url(bad), [format!("nonResourceURLs[0]: Invalid value: \"{bad}\": {why}")]);
    }
}

#[test]
fn a_level_has_the_member_of_its_type() {
    assert_eq!(level("{}"), ["spec.type: Required value"]);
    assert_eq!(
        level("{type: limited}"),
        ["spec.type: Unsupported value: \"limited\": supported values: \"Exempt\", \"Limited\""]
    );
    assert_eq!(
        level("{type: Limited}"),
        ["spec.limited: Required value: must not be empty when type is Limited"]
    );
    assert_eq!(
        level("{type: Limited, limited: {limitResponse: {type: Reject}}, exempt: {}}"),
        ["spec.exempt: Forbidden: must be nil if the type is Limited"]
    );
    assert_eq!(
        level("{type: Exempt, limited: {}}"),
        [
            "spec.limited: Forbidden: must be nil if the type is not Limited",
            "spec.type: Invalid value: \"Exempt\": type must be 'Exempt' if and only if name is 'exempt'",
        ]
    );
}

#[test]
fn shares_and_percentages_of_a_limited_level_are_in_range() {
    let limited = |members: &str| {
        level(&format!("{{type: Limited, limited: {{limitResponse: {{type: Reject}}, {members}}}}}"))
    };
    for good in [
        "nominalConcurrencyShares: 0",
        "nominalConcurrencyShares: 2147483647",
        "lendablePercent: 0, borrowingLimitPercent: 0",
        "lendablePercent: 100, borrowingLimitPercent: 1000",
    ] {
        assert_eq!(limited(good), NONE, "{good}");
    }
    assert_eq!(
        limited("nominalConcurrencyShares: -1, lendablePercent: 101, borrowingLimitPercent: -1"),
        [
            "spec.limited.borrowingLimitPercent: Invalid value: -1: if specified, must be a non-negative integer",
            "spec.limited.lendablePercent: Invalid value: 101: must be between 0 and 100, inclusive",
            "spec.limited.nominalConcurrencyShares: Invalid value: -1: must be a non-negative integer",
        ]
    );
    assert_eq!(
        limited("lendablePercent: -1"),
        ["spec.limited.lendablePercent: Invalid value: -1: must be between 0 and 100, inclusive"]
    );
}

#[test]
fn negative_shares_are_reported_under_the_field_name_of_the_version() {
    for (version, field) in [
        ("v1", "nominalConcurrencyShares"),
        ("v1beta3", "nominalConcurrencyShares"),
        ("v1beta2", "assuredConcurrencyShares"),
        ("v1beta1", "assuredConcurrencyShares"),
        ("v1alpha1", "assuredConcurrencyShares"),
    ] {
        let spec = format!("{{type: Limited, limited: {{{field}: -1, limitResponse: {{type: Reject}}}}}}");
        let loaded = load_in(version, "PriorityLevelConfiguration", "{name: l}", &spec);
        assert_eq!(
            errors(&loaded),
            [format!("spec.limited.{field}: Invalid value: -1: must be a non-negative integer")]
        );
        let error = loaded.errors().next().unwrap();
        assert_eq!((error.line, error.column), (4, 33), "points to the field in {version}");
    }
}

#[test]
fn a_limit_response_queues_with_queues_or_rejects_without() {
    let response =
        |response: &str| level(&format!("{{type: Limited, limited: {{limitResponse: {response}}}}}"));
    assert_eq!(response("{}"), ["spec.limited.limitResponse.type: Required value"]);
    assert_eq!(
        response("{type: Drop}"),
        [
            "spec.limited.limitResponse.type: Unsupported value: \"Drop\": supported values: \"Queue\", \"Reject\""
        ]
    );
    assert_eq!(
        response("{type: Reject, queuing: {}}"),
        [
            "spec.limited.limitResponse.queuing: Forbidden: must be nil if limited.limitResponse.type is not Limited"
        ]
    );
    assert_eq!(
        response("{type: Queue}"),
        [
            "spec.limited.limitResponse.queuing: Required value: must not be empty if limited.limitResponse.type is \
          Limited"
        ]
    );
    assert_eq!(response("{type: Queue, queuing: {}}"), NONE);
}

#[test]
fn queues_and_hands_stay_within_the_entropy_of_a_flow_hash() {
    for good in [(512, 4), (10_000_000, 2), (1024, 6), (1, 1), (64, 8)] {
        assert_eq!(queuing(&format!("{{queues: {}, handSize: {}}}", good.0, good.1)), NONE, "{good:?}");
    }
    for (queues, hand) in [(512, 8), (128, 10), (1025, 6), (10_000_000, 3)] {
        assert_eq!(
            queuing(&format!("{{queues: {queues}, handSize: {hand}}}")),
            [format!(
                "handSize: Invalid value: {hand}: required entropy bits of deckSize {queues} and handSize {hand} \
                 should not be greater than 60"
            )]
        );
    }
    assert_eq!(
        queuing("{queues: 7, handSize: 8}"),
        ["handSize: Invalid value: 8: should not be greater than queues (7)"]
    );
    assert_eq!(
        queuing("{queues: 2147483647, handSize: 3}"),
        [
            "handSize: Invalid value: 3: required entropy bits of deckSize 2147483647 and handSize 3 should not be \
             greater than 60",
            "queues: Invalid value: 2147483647: must not be greater than 10000000",
        ]
    );
    assert_eq!(
        queuing("{queues: -1, handSize: -2, queueLengthLimit: -3}"),
        [
            "handSize: Invalid value: -2: must be positive",
            "queueLengthLimit: Invalid value: -3: must be positive",
            "queues: Invalid value: -1: must be positive",
        ]
    );
}

#[test]
fn the_mandatory_objects_keep_their_specs() {
    let catch_all = |spec: &str| errors(&load("PriorityLevelConfiguration", "{name: catch-all}", spec));
    let good = "{type: Limited, limited: {nominalConcurrencyShares: 5, limitResponse: {type: Reject}}}";
    assert_eq!(catch_all(good), NONE);
    assert_eq!(
        catch_all(&good.replace('5', "6")),
        ["spec: Invalid value: spec of 'catch-all' must equal the fixed value"]
    );

    let exempt = |spec: &str| errors(&load("PriorityLevelConfiguration", "{name: exempt}", spec));
    for good in
        ["{type: Exempt}", "{type: Exempt, exempt: {nominalConcurrencyShares: 10, lendablePercent: 50}}"]
    {
        assert_eq!(exempt(good), NONE, "{good}");
    }
    assert_eq!(
        exempt("{type: Limited, limited: {limitResponse: {type: Reject}}}"),
        [
            "spec.type: Invalid value: \"Limited\": type must be 'Exempt' if and only if name is 'exempt'",
            "spec: Invalid value: spec of 'exempt' except the 'spec.exempt' field must equal the fixed value",
        ]
    );

    let everything = "resourceRules: [{verbs: ['*'], apiGroups: ['*'], resources: ['*'], namespaces: ['*'], \
                      clusterScope: true}], nonResourceRules: [{verbs: ['*'], nonResourceURLs: ['*']}]";
    let spec = |group: &str| {
        format!(
            "{{matchingPrecedence: 1, priorityLevelConfiguration: {{name: exempt}}, rules: [{{subjects: [{{kind: \
             Group, group: {{name: '{group}'}}}}], {everything}}}]}}"
        )
    };
    assert_eq!(errors(&load("FlowSchema", "{name: exempt}", &spec("system:masters"))), NONE);
    assert_eq!(
        errors(&load("FlowSchema", "{name: exempt}", &spec("admins"))),
        ["spec: Invalid value: spec of 'exempt' must equal the fixed value"]
    );
}

#[test]
fn metadata_follows_the_common_rules() {
    let metadata =
        |metadata: &str| errors(&load("FlowSchema", metadata, "{priorityLevelConfiguration: {name: l}}"));
    for missing in ["null", "{}", "{name: ''}", "{generateName: a-}"] {
        assert_eq!(
            metadata(missing),
            ["metadata.name: Required value: name or generateName is required"],
            "{missing}"
        );
    }
    assert_eq!(metadata("{name: A}"), [format!("metadata.name: Invalid value: \"A\": {SUBDOMAIN}")]);
    let long = "a".repeat(254);
    assert_eq!(
        metadata(&format!("{{name: {long}}}")),
        [format!("metadata.name: Invalid value: \"{long}\": must be no more than 253 bytes")]
    );
    assert_eq!(
        metadata("{name: a, generation: -1}"),
        ["metadata.generation: Invalid value: -1: must be greater than or equal to 0"]
    );
    assert_eq!(metadata("{name: a, labels: {A.b/x: y}}").len(), 1, "upper case in the prefix of a label");
    assert_eq!(
        metadata("{name: a, annotations: {Example.COM/Y: any thing}}"),
        NONE,
        "but not of an annotation"
    );
    let value = metadata("{name: a, labels: {x: '-'}}");
    assert!(
        value[0].starts_with("metadata.labels: Invalid value: \"-\": a valid label must be"),
        "{value:?}"
    );
    assert_eq!(metadata("{name: a, annotations: {a b: c}}").len(), 1);
    let large = "x".repeat(256 << 10);
    assert_eq!(
        metadata(&format!("{{name: a, annotations: {{k: {large}}}}}")),
        ["metadata.annotations: Too long: may not be more than 262144 bytes"]
    );
}

#[test]
fn a_namespace_on_a_cluster_scoped_kind_is_cleared_with_a_warning() {
    let loaded = load("FlowSchema", "{name: a, namespace: b}", "{priorityLevelConfiguration: {name: l}}");
    assert_eq!(loaded.objects.flow_schemas[0].metadata.namespace, "");
    assert_eq!(loaded.diagnostics.len(), 1);
    assert_eq!(loaded.diagnostics[0].severity, Severity::Warning);
    assert_eq!(
        loaded.diagnostics[0].to_string(),
        "test.yaml:3:21: warning: FlowSchema \"a\": metadata.namespace: Ignored: \"b\": not allowed on this type; a \
         server clears it"
    );
}

#[test]
fn the_zero_shares_annotation_is_for_v1beta3_alone() {
    let z = "flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares";
    for (version, accepted) in [("v1", false), ("v1beta3", true), ("v1beta2", false), ("v1beta1", false)] {
        let loaded = load_in(
            version,
            "PriorityLevelConfiguration",
            &format!("{{name: l, annotations: {{{z}: ''}}}}"),
            "{type: Limited, limited: {limitResponse: {type: Reject}}}",
        );
        if accepted {
            assert_eq!(errors(&loaded), NONE);
        } else {
            assert_eq!(
                errors(&loaded),
                [format!("metadata.annotations: Forbidden: annotation '{z}' is forbidden")]
            );
        }
    }
}

#[test]
fn conditions_have_distinct_types() {
    for kind in ["FlowSchema", "PriorityLevelConfiguration"] {
        let spec = if kind == "FlowSchema" {
            "{priorityLevelConfiguration: {name: l}}"
        } else {
            "{type: Limited, limited: {limitResponse: {type: Reject}}}"
        };
        let status =
            "\nstatus: {conditions: [{type: a}, {type: a}, {}, {type: b, lastTransitionTime: null}]}";
        assert_eq!(
            errors(&load(kind, "{name: l}", &format!("{spec}{status}"))),
            [
                "status.conditions[1].type: Duplicate value: \"a\"",
                "status.conditions[2].type: Required value: must not be empty",
            ],
            "{kind}"
        );
    }
}

#[test]
fn a_field_that_cannot_be_read_is_not_called_missing_too() {
    assert_eq!(
        schema("{priorityLevelConfiguration: {name: l}, rules: [{subjects: 1, resourceRules: 2}]}"),
        [
            "spec.rules[0].resourceRules: Invalid type: 2: cannot unmarshal number 2 into a field of type array",
            "spec.rules[0].subjects: Invalid type: 1: cannot unmarshal number 1 into a field of type array",
        ]
    );
    assert_eq!(
        level("{type: Limited, limited: []}"),
        ["spec.limited: Invalid type: cannot unmarshal array into a field of type object"]
    );
    assert_eq!(
        level("{type: [], limited: {lendablePercent: 101, limitResponse: {type: Reject}}}"),
        ["spec.type: Invalid type: cannot unmarshal array into a field of type string"]
    );
}
