//! Between versions and back: shares, the annotation that keeps a zero, and nothing lost on the way.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "helpers of tests may panic and say what they skip"
)]

use std::path::{Path, PathBuf};

use apf_config::{
    Format, Object, Objects, Rule, Source, Strictness, Value, Version, bootstrap, load, load_as_written,
    load_str, to_value, write,
};

const Z: &str = "flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares";

/// A level with this line in `limited`, with or without the annotation.
fn level(version: &str, shares: &str, annotated: bool) -> Object {
    let annotations =
        if annotated { format!("{{{Z}: \"\", other: kept}}") } else { "{other: kept}".to_owned() };
    let text = format!(
        "apiVersion: flowcontrol.apiserver.k8s.io/{version}\nkind: PriorityLevelConfiguration\nmetadata: {{name: l, \
         annotations: {annotations}}}\nspec: {{type: Limited, limited: {{{shares} limitResponse: {{type: Reject}}}}}}\n"
    );
    let loaded = load_str("t", &text, Strictness::Strict);
    assert!(!loaded.has_errors(), "{:?}", loaded.diagnostics);
    loaded.items[0].object.clone()
}

fn shares_of(object: &Object) -> Option<i32> {
    let Object::PriorityLevelConfiguration(level) = object else { unreachable!("a level was read") };
    level.spec.limited.as_ref().unwrap().nominal_concurrency_shares
}

fn annotated(value: &Value) -> bool {
    let annotations = value.get("metadata").and_then(|metadata| metadata.get("annotations"));
    annotations.and_then(|annotations| annotations.get(Z)) == Some(&Value::from(""))
}

fn written_shares(value: &Value) -> &Value {
    let limited = value.get("spec").unwrap().get("limited").unwrap();
    limited.get("nominalConcurrencyShares").or_else(|| limited.get("assuredConcurrencyShares")).unwrap()
}

#[test]
fn shares_mean_in_every_version_what_a_server_takes_them_for() {
    for (version, shares, annotated, canonical) in [
        ("v1", "", false, 30),
        ("v1", "nominalConcurrencyShares: null,", false, 30),
        ("v1", "nominalConcurrencyShares: 0,", false, 0),
        ("v1", "nominalConcurrencyShares: 7,", false, 7),
        ("v1beta3", "", false, 30),
        ("v1beta3", "nominalConcurrencyShares: 0,", false, 30),
        ("v1beta3", "nominalConcurrencyShares: 0,", true, 0),
        ("v1beta3", "nominalConcurrencyShares: 7,", true, 7),
        ("v1beta3", "", true, 0),
        ("v1beta2", "", false, 30),
        ("v1beta2", "assuredConcurrencyShares: 0,", false, 30),
        ("v1beta1", "assuredConcurrencyShares: 0,", false, 30),
        ("v1beta1", "assuredConcurrencyShares: 7,", false, 7),
        ("v1alpha1", "assuredConcurrencyShares: 0,", false, 30),
    ] {
        let object = level(version, shares, annotated);
        assert_eq!(shares_of(&object), Some(canonical), "{version} {shares} annotated: {annotated}");
        let kept: Vec<&String> = object.metadata().annotations.keys().collect();
        assert_eq!(kept, ["other"], "the annotation is dropped in {version}");
    }
}

#[test]
fn a_zero_is_written_so_that_it_is_read_back_or_its_loss_is_reported() {
    let zero = level("v1", "nominalConcurrencyShares: 0,", false);
    for (version, is_annotated, read_back) in [
        (Version::V1, false, 0),
        (Version::V1Beta3, true, 0),
        (Version::V1Beta2, false, 30),
        (Version::V1Beta1, false, 30),
    ] {
        let value = to_value(&zero, version).unwrap();
        assert_eq!(written_shares(&value), &Value::from(0), "{version}");
        assert_eq!(annotated(&value), is_annotated, "{version}");
        let written = write(std::slice::from_ref(&zero), version, Format::Yaml).unwrap();
        let again = load_str("t", &written.text, Strictness::Strict);
        assert_eq!(shares_of(&again.items[0].object), Some(read_back), "{version}");
        let warnings: Vec<String> = written.warnings.iter().map(|warning| warning.message()).collect();
        if read_back == 0 {
            assert_eq!(warnings, Vec::<String>::new(), "{version}");
        } else {
            assert_eq!(
                warnings,
                [format!(
                    "spec.limited.assuredConcurrencyShares: Lossy conversion: 0: {version} takes 0 for \"not set\": read \
                     back, it is 30"
                )]
            );
            assert_eq!(written.warnings[0].rule, Rule::Lossy);
        }
    }
}

#[test]
fn shares_that_are_not_zero_need_no_annotation() {
    for version in Version::WRITABLE {
        let object = level("v1", "nominalConcurrencyShares: 30,", false);
        let value = to_value(&object, version).unwrap();
        assert_eq!((written_shares(&value), annotated(&value)), (&Value::from(30), false), "{version}");
        assert!(write(&[object], version, Format::Json).unwrap().warnings.is_empty());
    }
}

#[test]
fn an_annotation_that_is_there_is_left_alone_and_the_source_is_not_touched() {
    for shares in ["nominalConcurrencyShares: 7,", "nominalConcurrencyShares: 0,"] {
        let Object::PriorityLevelConfiguration(mut object) = level("v1", shares, false) else {
            unreachable!("a level was read")
        };
        object.metadata.annotations.insert(Z.to_owned(), "here".to_owned());
        let object = Object::PriorityLevelConfiguration(object);
        let before = object.clone();
        let value = to_value(&object, Version::V1Beta3).unwrap();
        let annotations = value.get("metadata").unwrap().get("annotations").unwrap();
        assert_eq!(annotations.get(Z), Some(&Value::from("here")));
        assert_eq!(object, before);
    }
}

#[test]
fn an_unset_share_is_null_in_v1_and_a_plain_zero_before() {
    let sources = [Source::new(
        "t",
        "apiVersion: flowcontrol.apiserver.k8s.io/v1\nkind: PriorityLevelConfiguration\nmetadata: {name: l}\nspec: {type: \
         Limited, limited: {limitResponse: {type: Reject}}}\n",
    )];
    let object = &load_as_written(&sources, Strictness::Strict).items[0].object;
    assert_eq!(written_shares(&to_value(object, Version::V1).unwrap()), &Value::Null);
    for version in [Version::V1Beta3, Version::V1Beta2, Version::V1Beta1] {
        let value = to_value(object, version).unwrap();
        assert_eq!((written_shares(&value), annotated(&value)), (&Value::from(0), false), "{version}");
    }
}

#[test]
fn the_oldest_version_is_read_only() {
    let refused = write(&bootstrap::mandatory().to_list(), Version::V1Alpha1, Format::Yaml).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "v1alpha1 can only be read; it can be converted to v1, v1beta3, v1beta2, v1beta1"
    );
}

/// Every manifest there is, own and shared.
fn manifests() -> Vec<PathBuf> {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let shared = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/manifests");
    if !shared.is_dir() {
        println!("skipped: no ../shared/data/manifests beside the repository");
    }
    let mut paths = Vec::new();
    for folder in [tests.join("manifests"), tests.join("mistakes"), shared] {
        for entry in std::fs::read_dir(folder).into_iter().flatten() {
            paths.push(entry.unwrap().path());
        }
    }
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "yaml"));
    assert!(paths.len() >= 18);
    paths
}

#[test]
fn what_is_written_is_read_back_the_same() {
    let mut objects = 0;
    for path in manifests() {
        let source = Source::new(path.display().to_string(), std::fs::read(&path).unwrap());
        for read in [load, load_as_written] {
            let items = read(std::slice::from_ref(&source), Strictness::Lenient).items;
            let list: Vec<Object> = items.into_iter().map(|item| item.object).collect();
            objects += list.len();
            for version in Version::WRITABLE {
                for format in [Format::Yaml, Format::Json] {
                    let text = write(&list, version, format).unwrap().text;
                    let again = read(&[Source::new("again", text.clone())], Strictness::Strict);
                    let decoding_errors: Vec<String> = again
                        .errors()
                        .filter(|e| {
                            matches!(
                                e.rule,
                                Rule::Syntax | Rule::Type | Rule::UnknownField | Rule::DuplicateField
                            )
                        })
                        .map(ToString::to_string)
                        .collect();
                    assert_eq!(decoding_errors, Vec::<String>::new(), "{text}");
                    let again: Vec<Object> = again.items.into_iter().map(|item| item.object).collect();
                    assert_eq!(again, list, "{} in {version}:\n{text}", path.display());
                }
            }
        }
    }
    assert!(objects >= 2 * 30, "{objects}");
}

#[test]
fn every_field_of_the_api_survives_reading_and_writing() {
    for (file, version) in
        [("k8s-api-roundtrip-v1.yaml", Version::V1), ("k8s-api-roundtrip-v1beta3.yaml", Version::V1Beta3)]
    {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/manifests").join(file);
        let text = std::fs::read_to_string(path).unwrap();
        let loaded = load_as_written(&[Source::new(file, text.clone())], Strictness::Strict);
        assert_eq!(loaded.diagnostics, []);
        let list: Vec<Object> = loaded.items.into_iter().map(|item| item.object).collect();
        let written = write(&list, version, Format::Yaml).unwrap().text;
        // The file is what kubectl prints, so the text is the same apart from comments and quotes.
        let significant = |text: &str| -> Vec<String> {
            let lines = text.lines().filter(|line| !line.starts_with('#'));
            lines.map(|line| line.replace(['"', '\''], "")).collect()
        };
        assert_eq!(significant(&written), significant(&text));
    }
}

#[test]
fn built_in_objects_survive_every_version() {
    let list = bootstrap::all().to_list();
    for version in Version::WRITABLE {
        for format in [Format::Yaml, Format::Json] {
            let written = write(&list, version, format).unwrap();
            assert_eq!(written.warnings, [], "no built-in limited level has zero shares");
            let again = load_str("t", &written.text, Strictness::Strict);
            assert!(!again.has_errors(), "{:#?}", again.diagnostics);
            assert_eq!(again.objects, bootstrap::all(), "{version}");
        }
    }
}

#[test]
fn objects_of_both_kinds_keep_their_order() {
    let text = std::fs::read_to_string(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/manifests/openshift-kas-operator-v1.yaml"),
    )
    .unwrap();
    let loaded = load_str("t", &text, Strictness::Strict);
    let list: Vec<Object> = loaded.items.iter().map(|item| item.object.clone()).collect();
    let written = write(&list, Version::V1, Format::Json).unwrap().text;
    assert!(
        written.starts_with("{\n    \"apiVersion\": \"v1\",\n    \"items\": [\n        {\n"),
        "{written}"
    );
    let again = load_str("t", &written, Strictness::Strict);
    assert_eq!(again.items.iter().map(|item| item.object.clone()).collect::<Vec<_>>(), list);
    assert_eq!(again.objects, loaded.objects);
    let one = write(&list[..1], Version::V1, Format::Json).unwrap().text;
    assert!(one.starts_with("{\n    \"apiVersion\": \"flowcontrol.apiserver.k8s.io/v1\",\n"), "{one}");
    let none = Objects::default().to_list();
    assert_eq!(write(&none, Version::V1, Format::Yaml).unwrap().text, "");
}
