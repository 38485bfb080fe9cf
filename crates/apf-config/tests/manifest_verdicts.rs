//! What a server would say to manifests of real projects and to the mistakes people make.
//!
//! The verdicts are those of a server that serves the version of the file, with strict field validation.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "helpers of tests may panic and say what they skip"
)]

use std::path::{Path, PathBuf};

use apf_config::{Kind, Loaded, Strictness, load_paths};

/// File, accepted FlowSchemas, accepted levels, objects passed over, and the messages of all errors: path
/// and beginning.
type Verdict = (&'static str, usize, usize, usize, &'static [&'static str]);

const NO_NAMESPACES: &str = "spec.rules[0].resourceRules[0].namespaces: Required value: resource rules that are \
                             not cluster scoped must supply at least one namespace";

const ROUND_TRIP_ERRORS: [&str; 10] = [
    "metadata.name: Invalid value: \"nameValue\": a lowercase RFC 1123 subdomain must",
    "spec.distinguisherMethod.type: Unsupported value: {\"Type\":\"typeValue\"}: supported values: \
     \"ByNamespace\", \"ByUser\"",
    "spec.priorityLevelConfiguration.name: Invalid value: \"nameValue\": a lowercase RFC 1123 subdomain must",
    "spec.rules[0].nonResourceRules[0].nonResourceURLs[0]: Invalid value: \"nonResourceURLsValue\": must start \
     with slash",
    "spec.rules[0].nonResourceRules[0].verbs: Unsupported value: [\"verbsValue\"]: supported values: \"create\", ",
    "spec.rules[0].resourceRules[0].namespaces[0]: Invalid value: \"namespacesValue\": each member of this list \
     must be '*' or a DNS-1123 label; a lowercase RFC 1123 label must",
    "spec.rules[0].resourceRules[0].verbs: Unsupported value: [\"verbsValue\"]: supported values: \"create\", ",
    "spec.rules[0].subjects[0].kind: Unsupported value: \"kindValue\": supported values: \"Group\", \
     \"ServiceAccount\", \"User\"",
    "metadata.name: Invalid value: \"nameValue\": a lowercase RFC 1123 subdomain must",
    "spec.type: Unsupported value: \"typeValue\": supported values: \"Exempt\", \"Limited\"",
];

const SHIPPED: [Verdict; 12] = [
    ("aks-restrict-bad-client-v1beta2.yaml", 1, 1, 0, &[]),
    (
        "deckhouse-lib-first-version-v1beta1.yaml",
        0,
        0,
        0,
        &[
            "spec.priorityLevelConfiguration.name: Invalid value: \"cluster-low/\": a lowercase RFC 1123 subdomain",
        ],
    ),
    ("k8s-api-roundtrip-v1.yaml", 0, 0, 0, &ROUND_TRIP_ERRORS),
    ("k8s-api-roundtrip-v1beta3.yaml", 0, 0, 0, &ROUND_TRIP_ERRORS),
    ("karpenter-v1.yaml", 2, 0, 0, &[]),
    ("kueue-visibility-v1.yaml", 1, 0, 0, &[]),
    ("openshift-kas-operator-v1.yaml", 2, 1, 0, &[]),
    ("openshift-kas-operator-v1alpha1-2020-10.yaml", 11, 2, 0, &[]),
    ("openshift-kas-operator-v1beta1-exempt-watches.yaml", 3, 1, 0, &[]),
    ("openshift-storage-version-migration.yaml", 0, 0, 1, &[]),
    ("podlister-demo-deployment.yaml", 0, 0, 5, &[]),
    ("website-health-for-strangers-v1.yaml", 1, 0, 0, &[]),
];

const MISTAKES: [Verdict; 6] = [
    ("mixed-stream.yaml", 1, 1, 2, &[]),
    ("namespaces-missing.yaml", 0, 1, 0, &[NO_NAMESPACES]),
    (
        "stale-shares-field-v1beta3.yaml",
        0,
        0,
        0,
        &["strict decoding error: unknown field \"spec.limited.assuredConcurrencyShares\""],
    ),
    ("suggested-replaced-v1alpha1.yaml", 1, 1, 0, &[]),
    (
        "type-one-level-too-deep-v1beta1.yaml",
        0,
        0,
        0,
        &[
            "spec.type: Required value",
            "strict decoding error: unknown field \"spec.limited.type\"",
            "spec.rules[0].resourceRules[0].apiGroups: Required value: resource rules must supply at least one \
             api group",
            NO_NAMESPACES,
        ],
    ),
    (
        "wrong-group.yaml",
        0,
        0,
        0,
        &["apiVersion: Unsupported value: \"apiserver.example.io/v1\": no matches for kind \
           \"PriorityLevelConfiguration\" in version \"apiserver.example.io/v1\""],
    ),
];

const POSTED: [Verdict; 17] = [
    ("nf-orchestrator-apf-drill-v1.yaml", 1, 1, 3, &[]),
    ("palark-cilium-pods-v1beta3.yaml", 1, 1, 0, &[]),
    ("podlister-article-original-v1alpha1.yaml", 1, 1, 0, &[]),
    ("podlister-article-v1-qll20.yaml", 1, 1, 0, &[]),
    ("podlister-article-v1-qll5.yaml", 1, 1, 0, &[]),
    ("podlister-article-v1beta1-qll5.yaml", 1, 1, 0, &[]),
    ("posted-admin-flow-v1.yaml", 1, 1, 0, &[]),
    ("posted-apf-recovery-v1.yaml", 0, 2, 0, &[]),
    ("posted-argocd-operator-v1.yaml", 0, 1, 0, &[NO_NAMESPACES, NO_NAMESPACES]),
    ("posted-batch-low-v1.yaml", 1, 1, 0, &[]),
    ("posted-daemonset-rate-limit-v1beta3.yaml", 1, 1, 0, &[]),
    ("posted-overrides-suggested-workload-high-v1beta3.yaml", 2, 1, 0, &[]),
    (
        "posted-system-level-v1beta3-stale-field.yaml",
        0,
        0,
        0,
        &["strict decoding error: unknown field \"spec.limited.assuredConcurrencyShares\""],
    ),
    (
        "posted-type-inside-limited-v1beta1.yaml",
        0,
        0,
        0,
        &[
            "spec.type: Required value",
            "strict decoding error: unknown field \"spec.limited.type\"",
            "spec.rules[0].resourceRules[0].apiGroups: Required value",
            NO_NAMESPACES,
        ],
    ),
    ("posted-workload-leader-election-v1.yaml", 0, 1, 0, &[NO_NAMESPACES]),
    (
        "posted-wrong-group.yaml",
        0,
        0,
        0,
        &["apiVersion: Unsupported value: \"apiserver.config.k8s.io/v1beta3\": no matches for kind"],
    ),
    ("website-health-for-strangers-v1alpha1.yaml", 1, 1, 0, &[]),
];

fn here(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(folder)
}

fn check(folder: &Path, verdicts: &[Verdict]) {
    for (file, schemas, levels, skipped, errors) in verdicts {
        let loaded = load_paths(&[folder.join(file)], Strictness::Strict);
        assert_eq!(loaded.objects.flow_schemas.len(), *schemas, "FlowSchemas accepted of {file}");
        assert_eq!(loaded.objects.priority_levels.len(), *levels, "levels accepted of {file}");
        assert_eq!(loaded.skipped.values().sum::<usize>(), *skipped, "objects passed over in {file}");
        let messages: Vec<String> = loaded.errors().map(|error| error.message()).collect();
        assert_eq!(messages.len(), errors.len(), "errors of {file}: {messages:#?}");
        for (message, expected) in messages.iter().zip(*errors) {
            assert!(message.starts_with(expected), "{file}: {message}\nshould begin with\n{expected}");
        }
        for error in loaded.errors() {
            assert!(error.line > 1 && error.column > 0, "place of {error}");
        }
    }
}

#[test]
fn manifests_that_projects_ship_get_their_verdict() {
    check(&here("manifests"), &SHIPPED);
    assert_eq!(files(&here("manifests")), SHIPPED.len(), "every file is in the table");
}

#[test]
fn frequent_mistakes_get_their_verdict() {
    check(&here("mistakes"), &MISTAKES);
    assert_eq!(files(&here("mistakes")), MISTAKES.len(), "every file is in the table");
}

#[test]
fn manifests_that_people_posted_get_their_verdict() {
    let Some(folder) = shared() else { return };
    check(&folder, &POSTED);
    check(&folder, &SHIPPED);
    assert_eq!(files(&folder), POSTED.len() + SHIPPED.len(), "every file is in a table");
    let all = load_everything(&folder);
    let count =
        |kind| all.iter().flat_map(|loaded| &loaded.items).filter(|i| i.object.kind() == kind).count();
    assert_eq!((count(Kind::FlowSchema), count(Kind::PriorityLevelConfiguration)), (40, 24));
    let skipped: usize = all.iter().flat_map(|loaded| loaded.skipped.values()).sum();
    assert_eq!(skipped + 1, 10, "objects of other kinds, and the one in another group");
}

/// The data folder beside the repository, where there is one.
fn shared() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/manifests");
    if !folder.is_dir() {
        println!("skipped: no ../shared/data/manifests beside the repository");
        return None;
    }
    Some(folder)
}

fn files(folder: &Path) -> usize {
    let entries = std::fs::read_dir(folder).unwrap();
    entries.filter(|entry| entry.as_ref().unwrap().path().extension().is_some_and(|e| e == "yaml")).count()
}

fn load_everything(folder: &Path) -> Vec<Loaded> {
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|e| e == "yaml"));
    paths.sort();
    paths.iter().map(|path| load_paths(&[path], Strictness::Strict)).collect()
}

#[test]
fn a_lenient_reader_drops_an_unknown_field_and_its_default_applies() {
    let loaded = load_paths(&[here("mistakes").join("stale-shares-field-v1beta3.yaml")], Strictness::Lenient);
    assert!(!loaded.has_errors());
    let limited = loaded.objects.priority_levels[0].spec.limited.as_ref().unwrap();
    assert_eq!(limited.nominal_concurrency_shares, Some(30));
    let warnings: Vec<String> = loaded.diagnostics.iter().map(|d| d.message()).collect();
    assert_eq!(warnings[1], "unknown field \"spec.limited.assuredConcurrencyShares\"");
}

#[test]
fn a_folder_is_read_in_the_order_of_its_names_and_names_every_file() {
    let loaded = load_paths(&[here("mistakes")], Strictness::Strict);
    let levels: Vec<&str> =
        loaded.objects.priority_levels.iter().map(|level| level.metadata.name.as_str()).collect();
    assert_eq!(levels, ["reports", "builds", "workload-high"]);
    let twice: Vec<_> = loaded
        .errors()
        .filter(|error| error.rule == apf_config::Rule::Duplicate)
        .map(|error| (error.source.rsplit('/').next().unwrap(), error.line, error.detail.clone()))
        .collect();
    let first = here("mistakes").join("mixed-stream.yaml");
    let first = first.display();
    assert_eq!(
        twice,
        [
            (
                "stale-shares-field-v1beta3.yaml",
                5,
                format!("the PriorityLevelConfiguration is already defined at {first}:21:1")
            ),
            (
                "type-one-level-too-deep-v1beta1.yaml",
                5,
                format!("the PriorityLevelConfiguration is already defined at {first}:21:1")
            ),
            (
                "type-one-level-too-deep-v1beta1.yaml",
                16,
                format!("the FlowSchema is already defined at {first}:6:1")
            ),
        ]
    );
}

#[test]
fn what_cannot_be_read_is_said_and_hides_nothing() {
    let loaded = load_paths(
        &[here("nowhere.yaml"), here("common"), here("mistakes").join("mixed-stream.yaml")],
        Strictness::Strict,
    );
    let messages: Vec<String> = loaded.errors().map(ToString::to_string).collect();
    assert_eq!(messages.len(), 2, "{messages:?}");
    assert!(messages[0].ends_with("nowhere.yaml: Unreadable: No such file or directory (os error 2)"));
    assert!(messages[1].ends_with("common: Unreadable: the folder holds no *.yaml, *.yml or *.json file"));
    assert_eq!(loaded.objects.priority_levels.len(), 1);
}
