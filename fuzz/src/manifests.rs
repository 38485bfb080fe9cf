//! Any bytes as a file of FlowSchemas and PriorityLevelConfigurations.

use apf_config::attributes::RequestAttributes;
use apf_config::plan::Plan;
use apf_config::{Format, Loaded, Object, Source, Strictness, Version, load, load_str, write};
use apf_core::FlowHash;

/// Loads the bytes strictly and leniently; what was accepted compiles, classifies, and survives being written and read again.
pub fn run(data: &[u8]) {
    let strict = load(&[Source::new("input", data)], Strictness::Strict);
    let lenient = load(&[Source::new("input", data)], Strictness::Lenient);
    for loaded in [&strict, &lenient] {
        diagnostics_are_placed(loaded);
        use_it(loaded);
    }
    assert!(
        strict.objects.flow_schemas.len() <= lenient.objects.flow_schemas.len()
            && strict.objects.priority_levels.len() <= lenient.objects.priority_levels.len(),
        "strict reading accepts what lenient reading refuses"
    );
}

fn diagnostics_are_placed(loaded: &Loaded) {
    for diagnostic in &loaded.diagnostics {
        let text = diagnostic.to_string();
        assert!(text.starts_with("input"), "no file in: {text}");
        assert!(!diagnostic.message().is_empty(), "no reason in: {text}");
    }
}

/// A plan is made or refused with a reason, and classifies any request.
fn use_it(loaded: &Loaded) {
    match Plan::compile(&loaded.objects, 600, FlowHash::Xxh3) {
        Ok(plan) => {
            for request in [
                RequestAttributes::resource("list", "pods").by("alice", &["system:authenticated"] as &[&str]),
                RequestAttributes::resource("create", "leases")
                    .by("system:serviceaccount:default:worker", &["system:serviceaccounts"] as &[&str])
                    .in_group("coordination.k8s.io")
                    .in_namespace("kube-system"),
                RequestAttributes::non_resource("get", "/healthz").by("", &[] as &[&str]),
            ] {
                let classified = plan.classify(&request);
                assert!(classified.schema < plan.schemas().len() && classified.level < plan.levels().len());
            }
            round_trip(loaded);
        }
        Err(refused) => assert!(!refused.to_string().is_empty()),
    }
}

/// Accepted objects, written in any version that can say them, are accepted again and are the same.
fn round_trip(loaded: &Loaded) {
    let accepted = loaded.items.iter().filter(|item| item.accepted);
    let objects: Vec<Object> = accepted.map(|item| item.object.clone()).collect();
    for version in Version::WRITABLE {
        for format in [Format::Yaml, Format::Json] {
            let written = write(&objects, version, format).expect("a writable version");
            if !written.warnings.is_empty() {
                continue; // it says what is lost
            }
            let again = load_str("written", &written.text, Strictness::Strict);
            if let Some(error) = again.errors().next() {
                panic!("what was written is refused: {error}\n{}", written.text);
            }
            assert_eq!(
                again.objects, loaded.objects,
                "what was written is read differently:\n{}",
                written.text
            );
        }
    }
}
