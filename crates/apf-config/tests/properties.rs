//! Reading copes with every input, and writing is undone by reading.

use apf_config::objects::{
    Condition, DistinguisherMethod, Exempt, FlowSchema, FlowSchemaSpec, LimitResponse, Limited,
    NonResourceRule, ObjectMeta, PriorityLevelConfiguration, PriorityLevelSpec, QueuingConfiguration,
    ResourceRule, Rule, ServiceAccountSubject, StringMap, Subject,
};
use apf_config::{
    Format, Object, Source, Strictness, Value, Version, load, load_as_written, load_bytes, to_value, write,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

/// Strings that YAML and JSON could take for something else.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z]{1,8}",
        "\\PC{0,12}",
        prop::sample::select(vec![
            "",
            " ",
            "*",
            "yes",
            "off",
            "null",
            "~",
            "1",
            "010",
            "1e3",
            ".5",
            "-",
            "- a",
            "a: b",
            "a #b",
            "#",
            "'",
            "\"",
            "\n",
            "a\nb\n",
            "\t",
            "\u{85}",
            "\u{feff}",
            "\u{2028}",
            "---",
            "...",
            "!x",
            "&a",
            "*a",
            "{",
            "[",
            "%x",
            "@",
            "`",
            "a:",
            ":a",
            "?",
            "? a",
            "|",
            ">",
            "<<",
            "0x1f",
            "\\",
            "\u{0}",
            "\u{7f}",
            "é",
            "😀",
            "2003-01-01",
            "=",
            "-.inf",
        ])
        .prop_map(str::to_owned),
    ]
}

fn int() -> impl Strategy<Value = i32> {
    prop_oneof![-2..200_i32, any::<i32>()]
}

fn string_map() -> impl Strategy<Value = StringMap> {
    prop::collection::btree_map(text(), text(), 0..3)
}

fn metadata() -> impl Strategy<Value = ObjectMeta> {
    let rest = option::of((text(), vec(text(), 0..3)));
    (text(), text(), string_map(), string_map(), any::<i64>(), text(), rest).prop_map(
        |(name, namespace, annotations, labels, generation, uid, rest)| {
            let mut meta =
                ObjectMeta { name, namespace, annotations, labels, generation, uid, ..ObjectMeta::default() };
            if let Some((version, finalizers)) = rest {
                meta.rest.insert("resourceVersion".to_owned(), Value::String(version));
                meta.rest.insert("finalizers".to_owned(), Value::from(finalizers.as_slice()));
            }
            meta
        },
    )
}

fn conditions() -> impl Strategy<Value = Vec<Condition>> {
    let time = option::of(Just("2026-02-28T23:59:59Z".to_owned()));
    let condition = (text(), text(), time, text(), text()).prop_map(
        |(kind, status, last_transition_time, reason, message)| Condition {
            kind,
            status,
            last_transition_time,
            reason,
            message,
        },
    );
    vec(condition, 0..3)
}

fn subject() -> impl Strategy<Value = Subject> {
    let account = (text(), text()).prop_map(|(namespace, name)| ServiceAccountSubject { namespace, name });
    (text(), option::of(text()), option::of(text()), option::of(account))
        .prop_map(|(kind, user, group, service_account)| Subject { kind, user, group, service_account })
}

fn rule() -> impl Strategy<Value = Rule> {
    let texts = || vec(text(), 0..3);
    let resource_rule = (texts(), texts(), texts(), any::<bool>(), texts()).prop_map(
        |(verbs, api_groups, resources, cluster_scope, namespaces)| ResourceRule {
            verbs,
            api_groups,
            resources,
            cluster_scope,
            namespaces,
        },
    );
    let non_resource_rule = (texts(), texts())
        .prop_map(|(verbs, non_resource_urls)| NonResourceRule { verbs, non_resource_urls });
    (vec(subject(), 0..3), vec(resource_rule, 0..3), vec(non_resource_rule, 0..3)).prop_map(
        |(subjects, resource_rules, non_resource_rules)| Rule {
            subjects,
            resource_rules,
            non_resource_rules,
        },
    )
}

fn schema() -> impl Strategy<Value = Object> {
    let method = prop_oneof![
        Just(DistinguisherMethod::ByUser),
        Just(DistinguisherMethod::ByNamespace),
        text().prop_map(DistinguisherMethod::Unknown),
    ];
    let spec = (text(), int(), option::of(method), vec(rule(), 0..3)).prop_map(
        |(priority_level, matching_precedence, distinguisher_method, rules)| FlowSchemaSpec {
            priority_level,
            matching_precedence,
            distinguisher_method,
            rules,
        },
    );
    (metadata(), spec, conditions()).prop_map(|(metadata, spec, conditions)| {
        Object::FlowSchema(FlowSchema { metadata, spec, conditions })
    })
}

fn level() -> impl Strategy<Value = Object> {
    let queuing = (int(), int(), int()).prop_map(|(queues, hand_size, queue_length_limit)| {
        QueuingConfiguration { queues, hand_size, queue_length_limit }
    });
    let response = (text(), option::of(queuing)).prop_map(|(kind, queuing)| LimitResponse { kind, queuing });
    let limited = (option::of(int()), option::of(int()), option::of(int()), response).prop_map(
        |(nominal_concurrency_shares, lendable_percent, borrowing_limit_percent, limit_response)| Limited {
            nominal_concurrency_shares,
            lendable_percent,
            borrowing_limit_percent,
            limit_response,
        },
    );
    let exempt =
        (option::of(int()), option::of(int())).prop_map(|(nominal_concurrency_shares, lendable_percent)| {
            Exempt { nominal_concurrency_shares, lendable_percent }
        });
    let spec = (text(), option::of(limited), option::of(exempt))
        .prop_map(|(kind, limited, exempt)| PriorityLevelSpec { kind, limited, exempt });
    (metadata(), spec, conditions()).prop_map(|(metadata, spec, conditions)| {
        Object::PriorityLevelConfiguration(PriorityLevelConfiguration { metadata, spec, conditions })
    })
}

fn object() -> impl Strategy<Value = Object> {
    prop_oneof![schema(), level()]
}

/// Whether the version tells every value of the object apart.
fn expressible(object: &Object, version: Version) -> bool {
    let Object::PriorityLevelConfiguration(level) = object else { return true };
    let shares = level.spec.limited.as_ref().and_then(|limited| limited.nominal_concurrency_shares);
    matches!(version, Version::V1 | Version::V1Beta3) || shares != Some(0)
}

/// Words of manifests, so that random texts come near to real ones.
fn fragment() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => prop::sample::select(vec![
            "apiVersion: flowcontrol.apiserver.k8s.io/v1\n", "apiVersion: flowcontrol.apiserver.k8s.io/v1beta3\n",
            "apiVersion: v1\n", "kind: FlowSchema\n", "kind: PriorityLevelConfiguration\n", "kind: List\n", "items:\n",
            "metadata:\n", "  name: a\n", "spec:\n", "  type: Limited\n", "  limited:\n", "    limitResponse:\n",
            "      type: Reject\n", "      queuing: {queues: 1025, handSize: 6}\n", "  rules:\n", "  - subjects:\n",
            "    - kind: User\n", "    resourceRules:\n", "---\n", "...\n", "- ", "{", "}", "[", "]", "&a ", "*a", "<<: *a\n",
            "? ", ": ", "|\n", ">-\n", "\"", "'", "\\", "#", "\t", "  ", "\n", "\r\n", "!!str ", "%YAML 1.2\n", "{\"a\":",
        ]).prop_map(str::to_owned),
        1 => any::<String>(),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    #[test]
    fn no_bytes_make_reading_panic(bytes in vec(any::<u8>(), 0..512)) {
        load_bytes(&bytes);
    }

    #[test]
    fn no_text_of_familiar_words_makes_reading_panic(words in vec(fragment(), 0..60)) {
        let loaded = load_bytes(words.concat().as_bytes());
        prop_assert!(loaded.items.iter().all(|item| item.accepted) || loaded.has_errors());
        for diagnostic in &loaded.diagnostics {
            prop_assert!(diagnostic.line > 0 && diagnostic.column > 0, "{diagnostic}");
        }
    }

    #[test]
    fn a_changed_manifest_does_not_make_reading_panic(at in 0..3000_usize, with in vec(any::<u8>(), 0..8)) {
        let mut bytes = include_bytes!("manifests/k8s-api-roundtrip-v1.yaml").to_vec();
        let at = at.min(bytes.len());
        let end = (at + with.len()).min(bytes.len());
        bytes.splice(at..end, with);
        load_bytes(&bytes);
    }

    #[test]
    fn what_is_written_is_read_back(objects in vec(object(), 1..3), yaml in any::<bool>(), version in 0..4_usize) {
        let version = Version::WRITABLE[version];
        let mut expected = objects.clone();
        for object in &mut expected {
            if !expressible(object, version)
                && let Object::PriorityLevelConfiguration(level) = object
                && let Some(limited) = &mut level.spec.limited
            {
                limited.nominal_concurrency_shares = None;
            }
        }
        let lost = objects.iter().filter(|object| !expressible(object, version)).count();
        let format = if yaml { Format::Yaml } else { Format::Json };
        let written = write(&objects, version, format).unwrap();
        prop_assert_eq!(written.warnings.len(), lost);
        let source = [Source::new("written", written.text.clone())];
        let read = load_as_written(&source, Strictness::Strict);
        prop_assert_eq!(&read.diagnostics, &[], "{}", written.text);
        let read: Vec<Object> = read.items.into_iter().map(|item| item.object).collect();
        prop_assert_eq!(&read, &expected, "{}", written.text);
        // Another round gives the same text.
        let again = write(&read, version, format).unwrap().text;
        prop_assert_eq!(again, written.text);
    }

    #[test]
    fn yaml_and_json_say_the_same(object in object()) {
        let read = |format| {
            let text = write(std::slice::from_ref(&object), Version::V1, format).unwrap().text;
            let loaded = load(&[Source::new("t", text)], Strictness::Strict);
            let messages: Vec<String> = loaded.diagnostics.iter().map(|d| d.message()).collect();
            (loaded.objects, messages)
        };
        let (yaml, json) = (read(Format::Yaml), read(Format::Json));
        prop_assert_eq!(yaml.0, json.0);
        let sorted = |mut messages: Vec<String>| { messages.sort(); messages };
        prop_assert_eq!(sorted(yaml.1), sorted(json.1));
        prop_assert!(to_value(&object, Version::V1Alpha1).is_err());
    }
}
