//! What a server fills in, and what it leaves alone.
#![allow(clippy::unwrap_used, reason = "helpers of tests may panic")]

use apf_config::objects::{
    Exempt, FlowSchemaSpec, LimitResponse, Limited, PriorityLevelSpec, QueuingConfiguration,
};
use apf_config::{Loaded, Strictness, Version, load_str};

fn load(version: Version, kind: &str, name: &str, spec: &str) -> Loaded {
    let text = format!(
        "apiVersion: {}\nkind: {kind}\nmetadata: {{name: {name}}}\nspec: {spec}\n",
        version.api_version()
    );
    let loaded = load_str("test.yaml", &text, Strictness::Strict);
    assert!(!loaded.has_errors(), "{:#?}", loaded.diagnostics);
    loaded
}

fn level(version: Version, name: &str, spec: &str) -> PriorityLevelSpec {
    load(version, "PriorityLevelConfiguration", name, spec).objects.priority_levels.remove(0).spec
}

#[test]
fn an_empty_schema_is_tried_after_a_thousand_and_has_one_flow() {
    for version in Version::ALL {
        for spec in [
            "{priorityLevelConfiguration: {name: l}}",
            "{priorityLevelConfiguration: {name: l}, rules: null}",
        ] {
            let loaded = load(version, "FlowSchema", "s", spec);
            let expected = FlowSchemaSpec {
                priority_level: "l".to_owned(),
                matching_precedence: 1000,
                distinguisher_method: None,
                rules: Vec::new(),
            };
            assert_eq!(loaded.objects.flow_schemas[0].spec, expected, "{version}");
        }
    }
}

#[test]
fn a_queue_level_has_64_queues_of_50_and_hands_of_8() {
    for version in Version::ALL {
        for queuing in ["{}", "{queues: 0, handSize: 0, queueLengthLimit: 0}", "{queues: null}"] {
            let spec =
                format!("{{type: Limited, limited: {{limitResponse: {{type: Queue, queuing: {queuing}}}}}}}");
            let expected = Limited {
                nominal_concurrency_shares: Some(30),
                lendable_percent: Some(0),
                borrowing_limit_percent: None,
                limit_response: LimitResponse {
                    kind: "Queue".to_owned(),
                    queuing: Some(QueuingConfiguration { queues: 64, hand_size: 8, queue_length_limit: 50 }),
                },
            };
            assert_eq!(level(version, "l", &spec).limited, Some(expected), "{version} {queuing}");
        }
    }
}

#[test]
fn values_that_are_written_stay() {
    let shares = Version::V1.shares_field();
    let spec = format!(
        "{{type: Limited, limited: {{{shares}: 7, lendablePercent: 20, borrowingLimitPercent: 0, limitResponse: {{type: \
         Queue, queuing: {{queues: 9, handSize: 2, queueLengthLimit: 1}}}}}}}}"
    );
    let limited = level(Version::V1, "l", &spec).limited.unwrap();
    assert_eq!(limited.nominal_concurrency_shares, Some(7));
    assert_eq!(limited.lendable_percent, Some(20));
    assert_eq!(limited.borrowing_limit_percent, Some(0));
    let queuing = QueuingConfiguration { queues: 9, hand_size: 2, queue_length_limit: 1 };
    assert_eq!(limited.limit_response.queuing, Some(queuing));
}

#[test]
fn the_exempt_member_is_filled_in_and_never_made_up() {
    for version in Version::ALL {
        assert_eq!(level(version, "exempt", "{type: Exempt}").exempt, None, "{version}");
        let zero = Exempt { nominal_concurrency_shares: Some(0), lendable_percent: Some(0) };
        assert_eq!(level(version, "exempt", "{type: Exempt, exempt: {}}").exempt, Some(zero), "{version}");
        let spec = "{type: Exempt, exempt: {nominalConcurrencyShares: 3, lendablePercent: 4}}";
        let own = Exempt { nominal_concurrency_shares: Some(3), lendable_percent: Some(4) };
        assert_eq!(level(version, "exempt", spec).exempt, Some(own), "{version}");
    }
}
