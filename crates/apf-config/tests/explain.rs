//! Why a request goes where it goes.

mod common;

use apf_config::attributes::RequestAttributes;
use apf_config::bootstrap;
use apf_config::explain::{Outcome, explain};
use apf_config::objects::DistinguisherMethod;
use apf_config::plan::Part;
use apf_core::FlowHash;
use common::*;

#[test]
fn every_schema_up_to_the_match_is_told_with_what_did_not_match() {
    let plan = plan(&bootstrap::all());
    let request = RequestAttributes::resource("list", "leases")
        .in_group("coordination.k8s.io")
        .in_namespace("kube-system")
        .by("system:kube-scheduler", &["system:authenticated"]);
    let explanation = explain(&plan, &request);
    let told: Vec<(&str, Vec<Part>)> = explanation
        .tried
        .iter()
        .map(|tried| match tried.outcome {
            Outcome::Missed { parts, .. } => (&*tried.schema, parts.iter().collect()),
            Outcome::Matched { .. } => (&*tried.schema, vec![]),
            Outcome::NoRules => panic!("{tried:?}"),
        })
        .collect();
    assert_eq!(
        told,
        [
            ("exempt", vec![Part::Subject]),
            ("probes", vec![Part::ResourceRules]),
            ("system-leader-election", vec![Part::Verb]),
            ("system-node-high", vec![Part::Subject]), // its second entry is closer than its first
            ("system-nodes", vec![Part::Subject]),
            ("kube-controller-manager", vec![Part::Subject]),
            ("kube-scheduler", vec![]),
        ]
    );
    let Outcome::Missed { entry, .. } = explanation.tried[3].outcome else { panic!() };
    assert_eq!(entry, Some(1));
    assert_eq!(explanation.tried[6].matching_precedence, 800);
    assert_eq!(explanation.tried[6].outcome, Outcome::Matched { rule: 0, entry: 0 });
    assert_eq!((&*explanation.schema, &*explanation.level), ("kube-scheduler", "workload-high"));
    assert_eq!(explanation.distinguisher, "kube-system");
    assert_eq!(explanation.flow_hash, FlowHash::Sha256.hash("kube-scheduler", "kube-system"));
    assert!(!explanation.fallback);
}

#[test]
fn the_hand_is_the_one_that_kube_apiserver_deals() {
    let plan = plan(&bootstrap::all());
    let hand = |request: RequestAttributes<'_>| explain(&plan, &request).hand;
    let alice = RequestAttributes::resource("list", "pods").by("alice", &["system:authenticated"]);
    assert_eq!(hand(alice), [55, 62, 126, 125, 105, 1]);
    let node = RequestAttributes::resource("get", "secrets").by("system:node:node-1", &["system:nodes"]);
    assert_eq!(hand(node), [31, 41, 53, 23, 38, 17]);
    let admin = RequestAttributes::resource("get", "secrets").by("root", &["system:masters"]);
    assert_eq!(hand(admin), []);
}

#[test]
fn a_request_that_nothing_matches_is_said_to_fall_back() {
    let plan = plan(&bootstrap::all());
    let explanation =
        explain(&plan, &RequestAttributes::resource("get", "pods").in_namespace("dev").by("nobody", &[]));
    assert!(explanation.fallback);
    assert_eq!(
        (&*explanation.schema, &*explanation.level, &*explanation.distinguisher),
        ("catch-all", "catch-all", "")
    );
    assert_eq!(explanation.tried.len(), plan.schemas().len());
    assert!(explanation.tried.iter().all(|tried| !matches!(tried.outcome, Outcome::Matched { .. })));
    assert_eq!((explanation.flow_hash, explanation.hand), (0, vec![]));
}

#[test]
fn each_part_that_fails_is_named() {
    let entry = resources(&["get"], &["apps"], &["deployments"], &["x"], false);
    let rules = vec![rule(vec![user("u")], vec![entry], vec![urls(&["get"], &["/a/*"])])];
    let plan = plan(&config(vec![
        by(DistinguisherMethod::ByUser, schema("s", "l", 5, rules)),
        schema("empty", "l", 6, vec![]),
    ]));
    let parts = |request: RequestAttributes<'_>| {
        let explanation = explain(&plan, &request.by("u", &[]));
        match explanation.tried[1].outcome {
            Outcome::Missed { parts, .. } => parts.iter().map(Part::as_str).collect::<Vec<_>>().join(", "),
            other => format!("{other:?}"),
        }
    };
    let right = RequestAttributes::resource("get", "deployments").in_group("apps").in_namespace("x");
    assert_eq!(parts(right), "Matched { rule: 0, entry: 0 }");
    assert_eq!(parts(right.in_namespace("y")), "namespace");
    assert_eq!(parts(right.in_namespace("")), "cluster scope");
    assert_eq!(parts(right.in_group("")), "API group");
    assert_eq!(parts(right.with_subresource("scale")), "resource");
    assert_eq!(
        parts(RequestAttributes::resource("list", "pods")),
        "verb, API group, resource, cluster scope"
    );
    assert_eq!(parts(RequestAttributes::non_resource("get", "/a")), "URL");
    assert_eq!(parts(RequestAttributes::non_resource("put", "/a/b")), "verb");
    let explanation = explain(&plan, &RequestAttributes::non_resource("put", "/b").by("stranger", &[]));
    let Outcome::Missed { parts, .. } = explanation.tried[1].outcome else { panic!() };
    assert_eq!(parts.iter().collect::<Vec<_>>(), [Part::Subject, Part::Verb, Part::Url]);
    assert_eq!(explanation.tried[2].outcome, Outcome::NoRules);
}
