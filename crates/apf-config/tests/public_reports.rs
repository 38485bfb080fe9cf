//! Things that went wrong for real people with the configuration of priority and fairness, and what is right.
#![allow(clippy::unwrap_used, reason = "helpers of tests may panic")]

use apf_config::objects::PriorityLevelConfiguration;
use apf_config::{Format, Loaded, Object, Strictness, Version, load_str, write};

fn load(version: &str, kind: &str, name: &str, annotations: &str, spec: &str) -> Loaded {
    let text = format!(
        "apiVersion: flowcontrol.apiserver.k8s.io/{version}\nkind: {kind}\nmetadata: {{name: {name}, annotations: \
         {annotations}}}\nspec: {spec}\n"
    );
    load_str("test.yaml", &text, Strictness::Strict)
}

fn level(loaded: &Loaded) -> &PriorityLevelConfiguration {
    assert!(!loaded.has_errors(), "{:#?}", loaded.diagnostics);
    &loaded.objects.priority_levels[0]
}

fn shares(loaded: &Loaded) -> Option<i32> {
    level(loaded).spec.limited.as_ref().unwrap().nominal_concurrency_shares
}

/// kubernetes/kubernetes#121510: a zero written by the user came back as 30.
#[test]
fn zero_shares_stay_zero_and_absent_shares_become_thirty() {
    let z = "{flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares: ''}";
    for (version, annotations, shares_line, expected) in [
        ("v1", "{}", "nominalConcurrencyShares: 0,", 0),
        ("v1", "{}", "", 30),
        ("v1beta3", z, "nominalConcurrencyShares: 0,", 0),
        ("v1beta3", "{}", "nominalConcurrencyShares: 0,", 30),
    ] {
        let spec = format!("{{type: Limited, limited: {{{shares_line} limitResponse: {{type: Reject}}}}}}");
        let first = load(version, "PriorityLevelConfiguration", "jail", annotations, &spec);
        assert_eq!(shares(&first), Some(expected), "{version} {annotations} {shares_line}");
        for back in [Version::V1, Version::V1Beta3] {
            let object = Object::PriorityLevelConfiguration(level(&first).clone());
            let text = write(&[object], back, Format::Json).unwrap().text;
            let again = load_str("again.json", &text, Strictness::Strict);
            assert_eq!(shares(&again), Some(expected), "{version} through {back}");
        }
    }
}

/// kubernetes/kubernetes#83671: the entropy check itself could overflow.
#[test]
fn queues_and_hands_beyond_the_entropy_are_refused_cleanly() {
    let errors = |queues: &str, hand: &str| -> Vec<String> {
        let spec = format!(
            "{{type: Limited, limited: {{limitResponse: {{type: Queue, queuing: {{queues: {queues}, handSize: \
             {hand}}}}}}}}}"
        );
        let loaded = load("v1", "PriorityLevelConfiguration", "l", "{}", &spec);
        loaded.errors().map(|error| error.path.rsplit('.').next().unwrap().to_owned()).collect()
    };
    for (queues, hand) in [("64", "10"), ("128", "8"), ("512", "6"), ("1024", "6"), ("0", "0")] {
        assert_eq!(errors(queues, hand), [""; 0], "{queues}/{hand}");
    }
    for (queues, hand) in [("64", "11"), ("128", "9"), ("512", "7"), ("1024", "7"), ("4", "5"), ("64", "-1")]
    {
        assert_eq!(errors(queues, hand), ["handSize"], "{queues}/{hand}");
    }
    assert_eq!(errors("-1", "1"), ["queues", "handSize"]);
    assert_eq!(errors("2147483647", "2147483647"), ["queues", "handSize"]);
    assert_eq!(errors("2147483648", "2"), ["queues"], "out of 32 bits");
}

/// kubernetes/kubernetes#117703: shares and lending of the exempt level were not checked.
#[test]
fn fields_of_the_exempt_level_are_checked_like_those_of_limited_levels() {
    let loaded = load(
        "v1",
        "PriorityLevelConfiguration",
        "exempt",
        "{}",
        "{type: Exempt, exempt: {nominalConcurrencyShares: -1, lendablePercent: 101}, limited: {}}",
    );
    let messages: Vec<String> = loaded.errors().map(|error| error.message()).collect();
    for expected in [
        "spec.exempt.nominalConcurrencyShares: Invalid value: -1: must be a non-negative integer",
        "spec.exempt.lendablePercent: Invalid value: 101: must be between 0 and 100, inclusive",
        "spec.limited: Forbidden: must be nil if the type is not Limited",
    ] {
        assert!(messages.iter().any(|message| message == expected), "{expected}\nis not in\n{messages:#?}");
    }
    let whole =
        "spec: Invalid value: spec of 'exempt' except the 'spec.exempt' field must equal the fixed value";
    assert_eq!(messages.len(), 4);
    assert_eq!(messages[0], whole, "the mandatory spec is compared too");
}

fn schema_errors(spec: &str) -> Vec<String> {
    let spec = format!("{{priorityLevelConfiguration: {{name: l}}, {spec}}}");
    load("v1", "FlowSchema", "s", "{}", &spec).errors().map(|error| error.message()).collect()
}

/// openshift/cluster-kube-apiserver-operator#968: precedence decides, so it has to be in range.
#[test]
fn a_precedence_out_of_range_is_refused_and_an_absent_one_is_a_thousand() {
    assert_eq!(
        schema_errors("matchingPrecedence: 10001"),
        ["spec.matchingPrecedence: Invalid value: 10001: must not be greater than 10000"]
    );
    assert_eq!(
        schema_errors("matchingPrecedence: -1"),
        ["spec.matchingPrecedence: Invalid value: -1: must be a positive value"]
    );
    for version in ["v1", "v1beta3", "v1beta2", "v1beta1", "v1alpha1"] {
        for absent in ["", "matchingPrecedence: 0", "matchingPrecedence: null"] {
            let spec = format!("{{priorityLevelConfiguration: {{name: l}}, {absent}}}");
            let loaded = load(version, "FlowSchema", "s", "{}", &spec);
            assert_eq!(loaded.objects.flow_schemas[0].spec.matching_precedence, 1000, "{version} {absent}");
        }
    }
}

/// kubernetes/website#34806: patterns are exact names or `*` alone; paths may end in `/*`.
#[test]
fn a_star_stands_alone_and_a_path_pattern_ends_in_slash_star() {
    let resources = |resources: &str| {
        schema_errors(&format!(
            "rules: [{{subjects: [{{kind: User, user: {{name: u}}}}], resourceRules: [{{verbs: [get], apiGroups: [''], \
             namespaces: ['*'], resources: {resources}}}]}}]"
        ))
    };
    for good in ["[pods]", "[pods/status]", "['*']"] {
        assert_eq!(resources(good), [""; 0], "{good}");
    }
    assert_eq!(
        resources("['*', pods]"),
        [
            "spec.rules[0].resourceRules[0].resources: Invalid value: [\"*\",\"pods\"]: if '*' is present, must not \
          specify other resources"
        ]
    );
    let url = |url: &str| {
        schema_errors(&format!(
            "rules: [{{subjects: [{{kind: User, user: {{name: u}}}}], nonResourceRules: [{{verbs: [get], \
             nonResourceURLs: ['{url}']}}]}}]"
        ))
    };
    assert_eq!(url("/healthz"), [""; 0]);
    assert_eq!(url("/healthz/*"), [""; 0]);
    assert_eq!(
        url("/hea*"),
        [
            "spec.rules[0].nonResourceRules[0].nonResourceURLs[0]: Invalid value: \"/hea*\": wildcard can only do suffix \
          matching"
        ]
    );
}
