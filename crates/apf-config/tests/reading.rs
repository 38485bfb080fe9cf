//! Texts of every shape: what is read, what is said about what is not, and where.

use apf_config::{Loaded, Rule, Source, Strictness, load, load_bytes, load_str};

const LEVEL: &str = "apiVersion: flowcontrol.apiserver.k8s.io/v1\nkind: PriorityLevelConfiguration\nmetadata:\n  \
                     name: NAME\nspec:\n  type: Limited\n  limited:\n    limitResponse:\n      type: Reject\n";

fn level(name: &str) -> String {
    LEVEL.replace("NAME", name)
}

fn json(name: &str) -> String {
    format!(
        "{{\"apiVersion\":\"flowcontrol.apiserver.k8s.io/v1\",\"kind\":\"PriorityLevelConfiguration\",\
             \"metadata\":{{\"name\":\"{name}\"}},\n\t\"spec\":{{\"type\":\"Limited\",\"limited\":\
             {{\"limitResponse\":{{\"type\":\"Reject\"}}}}}}}}"
    )
}

fn read(text: &str) -> Loaded {
    load_str("t.yaml", text, Strictness::Strict)
}

fn lines(loaded: &Loaded) -> Vec<String> {
    loaded.diagnostics.iter().map(ToString::to_string).collect()
}

fn names(loaded: &Loaded) -> Vec<&str> {
    loaded.objects.priority_levels.iter().map(|level| level.metadata.name.as_str()).collect()
}

const NONE: [&str; 0] = [];

#[test]
fn a_stream_holds_many_documents_and_empty_ones_are_nothing() {
    let text = format!("# a comment only\n---\n{}\n---\n---\n# more\n---\n{}...\n", level("a"), level("b"));
    let loaded = read(&text);
    assert_eq!(lines(&loaded), NONE);
    assert_eq!(names(&loaded), ["a", "b"]);
    for nothing in ["", "\n", "---\n", "# comment", "\u{feff}", "null"] {
        let loaded = read(nothing);
        assert_eq!((lines(&loaded).len(), loaded.items.len()), (0, 0), "{nothing:?}");
    }
}

#[test]
fn line_ends_and_byte_order_marks_of_other_systems_are_fine() {
    let text = format!("\u{feff}{}", level("a").replace('\n', "\r\n"));
    let loaded = read(&text.replace("limitResponse:", "limitResponse: # é\r\n     "));
    assert_eq!(lines(&loaded), NONE);
    assert_eq!(names(&loaded), ["a"]);
    let marked = format!("\u{feff}{}{}", json("a"), json("b"));
    assert_eq!(names(&read(&marked)), ["a", "b"]);
}

#[test]
fn json_is_read_alone_in_a_row_and_in_lists() {
    let one = json;
    assert_eq!(names(&read(&one("a"))), ["a"]);
    assert_eq!(names(&read(&format!("\n{}\n{}  {}", one("a"), one("b"), one("c")))), ["a", "b", "c"]);
    let list = format!("{{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[{},{}]}}", one("a"), one("b"));
    assert_eq!(names(&read(&list)), ["a", "b"]);
    let between_markers = format!("{}\n---\n{}", one("a"), one("b"));
    assert_eq!(names(&read(&between_markers)), ["a", "b"], "JSON documents in a YAML stream");
    let escaped = one("\\u0061\\/b\\ud83d\\ude00");
    assert_eq!(read(&escaped).items[0].object.metadata().name, "a/b😀");
}

#[test]
fn mistakes_in_json_have_a_place() {
    for (text, column, detail) in [
        ("{\"a\":1,}", 9, "expected a key in double quotes, found '}'"),
        ("{\"a\" 1}", 7, "expected ':' after the key, found '1'"),
        ("{\"a\":01}", 8, "a number must not begin with 0"),
        ("{\"a\":1.}", 9, "expected a digit, found '}'"),
        ("{\"a\":tru}", 7, "expected true"),
        ("{\"a\":\"\u{1}\"}", 8, "a control character must be escaped in a string"),
        ("{\"a\":\"\\ud800\"}", 8, "a surrogate must come in a pair"),
        ("{\"a\":\"\\u12g4\"}", 8, "\\u needs four hexadecimal digits"),
        ("{\"a\":\"\\x\"}", 8, "unknown escape in a string"),
        ("{\"a\":[1 2]}", 10, "expected ',' or ']', found '2'"),
        ("{\"a\":\"b", 9, "the string is not closed"),
        ("{\"a\":", 7, "expected a value, found the end of the text"),
    ] {
        // Neither JSON nor YAML: as YAML alone, several of these are fine.
        let broken = if text.ends_with('}') { format!("[{text} }}") } else { format!("[{text}") };
        assert_eq!(lines(&read(&broken)), [format!("t.yaml:1:{column}: Syntax error: {detail}")], "{text}");
    }
    assert_eq!(names(&read(&json("a").replace("}}}}", "}},}}"))), ["a"], "what is not JSON is read as YAML");
}

#[test]
fn lists_give_their_items_and_typed_lists_their_kind() {
    let item = "metadata: {name: NAME}, spec: {type: Limited, limited: {limitResponse: {type: Reject}}}";
    let typed = format!(
        "apiVersion: flowcontrol.apiserver.k8s.io/v1beta3\nkind: PriorityLevelConfigurationList\nmetadata: \
         {{resourceVersion: '7'}}\nitems:\n- {{{}}}\n- {{{}}}\n",
        item.replace("NAME", "a"),
        item.replace("NAME", "b")
    );
    let loaded = read(&typed);
    assert_eq!(names(&loaded), ["a", "b"]);
    assert!(loaded.items.iter().all(|item| item.version.as_str() == "v1beta3"));

    let mixed = format!(
        "apiVersion: v1\nkind: List\nitems:\n- {{apiVersion: v1, kind: Pod}}\n- {{apiVersion: \
         flowcontrol.apiserver.k8s.io/v1, kind: PriorityLevelConfiguration, {}}}\n- {{apiVersion: v1, kind: List, \
         items: [{{apiVersion: v1, kind: Pod}}]}}\n",
        item.replace("NAME", "c")
    );
    let loaded = read(&mixed);
    assert_eq!(lines(&loaded), NONE);
    assert_eq!(names(&loaded), ["c"]);
    assert_eq!(loaded.skipped.into_iter().collect::<Vec<_>>(), [("v1/Pod".to_owned(), 2)]);

    for empty in ["", "items: null", "items: []"] {
        let text = format!("apiVersion: flowcontrol.apiserver.k8s.io/v1\nkind: FlowSchemaList\n{empty}\n");
        assert_eq!(lines(&read(&text)), NONE, "{empty}");
    }
    assert_eq!(
        lines(&read("apiVersion: v1\nkind: List\nitems: {}\n")),
        ["t.yaml:3:1: List \"\": items: Invalid type: cannot unmarshal object into a field of type array"]
    );
    assert_eq!(
        lines(&read("apiVersion: v1\nkind: List\nitems: [3, {apiVersion: v1}]\n")),
        [
            "t.yaml:3:9: Invalid type: 3: a Kubernetes object must be a mapping, not number",
            "t.yaml:3:12: kind: Required value: kind not set",
        ]
    );
}

#[test]
fn an_object_says_its_version_and_kind() {
    assert_eq!(
        lines(&read("metadata: {name: a}\n")),
        [
            "t.yaml:1:1: apiVersion: Required value: apiVersion not set",
            "t.yaml:1:1: kind: Required value: kind not set"
        ]
    );
    assert_eq!(
        lines(&read("- 1\n")),
        ["t.yaml:1:1: Invalid type: a Kubernetes object must be a mapping, not array"]
    );
    assert_eq!(
        lines(&read("just text\n")),
        ["t.yaml:1:1: Invalid type: \"just text\": a Kubernetes object must be a mapping, not string"]
    );
}

#[test]
fn our_kinds_in_another_group_or_version_are_errors_and_other_kinds_are_not() {
    for wrong in ["v1", "flowcontrol.apiserver.k8s.io/v2", "flowcontrol.apiserver.k8s.io", "apps/v1"] {
        for kind in ["FlowSchema", "PriorityLevelConfiguration", "FlowSchemaList"] {
            let loaded = read(&format!("kind: {kind}\napiVersion: {wrong}\nmetadata: {{name: a}}\n"));
            assert_eq!(loaded.diagnostics.len(), 1);
            assert!(
                lines(&loaded)[0].starts_with(&format!(
                    "t.yaml:2:1: {kind} \"a\": apiVersion: Unsupported value: \"{wrong}\": no matches for kind \"{kind}\" \
                     in version \"{wrong}\"; supported values: \"flowcontrol.apiserver.k8s.io/v1\", "
                )),
                "{:?}",
                lines(&loaded)
            );
        }
    }
    let loaded = read("apiVersion: flowcontrol.apiserver.k8s.io/v1\nkind: Flowschema\nmetadata: {name: a}\n");
    assert!(!loaded.has_errors());
    assert_eq!(
        lines(&loaded),
        [
            "t.yaml:2:1: warning: Flowschema \"a\": kind: Unsupported value: \"Flowschema\": not read; the kinds of this \
          group are \"FlowSchema\", \"PriorityLevelConfiguration\""
        ]
    );
    assert_eq!(loaded.skipped.len(), 1);
}

#[test]
fn unknown_fields_are_errors_in_strict_mode_and_warnings_in_lenient_mode() {
    let text =
        level("a").replace("type: Reject", "type: Reject\n      queue: {}\n  jail: true") + "extra: 1\n";
    let strict = read(&text);
    assert_eq!(names(&strict), NONE);
    let unknown = ["t.yaml:10:7: ", "t.yaml:11:3: ", "t.yaml:12:1: "];
    let fields = ["spec.limited.limitResponse.queue", "spec.jail", "extra"];
    let object = "PriorityLevelConfiguration \"a\": ";
    let expected = |prefix: &str| -> Vec<String> {
        let each = unknown.iter().zip(fields);
        each.map(|(place, field)| format!("{place}{prefix}unknown field \"{field}\"")).collect()
    };
    assert_eq!(lines(&strict), expected(&format!("{object}strict decoding error: ")));
    let lenient = load_str("t.yaml", &text, Strictness::Lenient);
    assert_eq!(names(&lenient), ["a"]);
    assert_eq!(lines(&lenient), expected(&format!("warning: {object}")));
}

#[test]
fn a_field_written_twice_is_an_error_in_strict_mode_and_the_last_counts_in_lenient_mode() {
    let text = level("a").replace("  name: a\n", "  name: a\n  labels: {x: '1', x: '2'}\n  name: b\n");
    let strict = read(&text);
    assert_eq!(names(&strict), NONE);
    assert_eq!(
        lines(&strict),
        [
            "t.yaml:5:20: PriorityLevelConfiguration \"b\": strict decoding error: duplicate field \"metadata.labels.x\"",
            "t.yaml:6:3: PriorityLevelConfiguration \"b\": strict decoding error: duplicate field \"metadata.name\"",
        ]
    );
    let lenient = load_str("t.yaml", &text, Strictness::Lenient);
    assert_eq!(names(&lenient), ["b"]);
    assert_eq!(lenient.objects.priority_levels[0].metadata.labels["x"], "2");
    assert_eq!(lenient.diagnostics.len(), 2);
}

#[test]
fn mistakes_in_a_value_that_a_later_one_replaces_are_reported_too() {
    let text = level("a") + "    limitResponse: {type: Reject}\n";
    let text = text.replace("      type: Reject\n", "      type: Queue\n      jail: 1\n      type: Reject\n");
    let found = lines(&read(&text));
    let with = |what: &str| found.iter().filter(|line| line.ends_with(what)).count();
    assert_eq!(found.len(), 3, "{found:#?}");
    assert_eq!(with(r#"duplicate field "spec.limited.limitResponse""#), 1, "{found:#?}");
    assert_eq!(with(r#"duplicate field "spec.limited.limitResponse.type""#), 1, "{found:#?}");
    assert_eq!(with(r#"unknown field "spec.limited.limitResponse.jail""#), 1, "{found:#?}");
    // A replaced value is not used, so its type and its place in a list do not matter.
    let loaded = load_str("t.yaml", &text.replace("type: Queue", "type: 5"), Strictness::Lenient);
    assert_eq!(names(&loaded), ["a"], "{:#?}", loaded.diagnostics);
}

#[test]
fn a_mandatory_spec_is_not_compared_when_part_of_it_cannot_be_read() {
    let text = level("catch-all") + "    lendablePercent: \"0\"\n";
    let found = lines(&read(&text));
    assert_eq!(found.len(), 1, "{found:#?}");
    assert!(found[0].contains("lendablePercent: Invalid type"), "{found:#?}");
}

#[test]
fn values_of_the_wrong_type_are_errors_in_both_modes() {
    let text = "apiVersion: flowcontrol.apiserver.k8s.io/v1\nkind: FlowSchema\nmetadata:\n  name: yes\n  generation: \
                1.5\n  creationTimestamp: yesterday\n  labels: {a: 1}\nspec:\n  matchingPrecedence: \"500\"\n  \
                priorityLevelConfiguration: level\n  rules:\n  - subjects: [user]\n    resourceRules:\n    - verbs: \
                get\n      apiGroups: [1, null]\n      clusterScope: \"true\"\n      resources: {}\n";
    for mode in [Strictness::Strict, Strictness::Lenient] {
        let loaded = load_str("t", text, mode);
        assert!(loaded.objects.flow_schemas.is_empty());
        let messages: Vec<String> = loaded.diagnostics.iter().map(|d| d.message()).collect();
        assert_eq!(
            messages,
            [
                "metadata.name: Invalid type: true: cannot unmarshal bool into a field of type string",
                "metadata.generation: Invalid type: 1.5: cannot unmarshal number 1.5 into a field of type int64",
                "metadata.creationTimestamp: Invalid type: \"yesterday\": must be a time such as 2006-01-02T15:04:05Z",
                "metadata.labels.a: Invalid type: 1: cannot unmarshal number 1 into a field of type string",
                "spec.matchingPrecedence: Invalid type: \"500\": cannot unmarshal string into a field of type int32",
                "spec.priorityLevelConfiguration: Invalid type: \"level\": cannot unmarshal string into a field of \
                 type object",
                "spec.rules[0].subjects[0]: Invalid type: \"user\": cannot unmarshal string into a field of type object",
                "spec.rules[0].resourceRules[0].verbs: Invalid type: \"get\": cannot unmarshal string into a field of \
                 type array",
                "spec.rules[0].resourceRules[0].apiGroups[0]: Invalid type: 1: cannot unmarshal number 1 into a field \
                 of type string",
                "spec.rules[0].resourceRules[0].clusterScope: Invalid type: \"true\": cannot unmarshal string into a \
                 field of type bool",
                "spec.rules[0].resourceRules[0].resources: Invalid type: cannot unmarshal object into a field of type \
                 array",
            ]
        );
    }
}

#[test]
fn integers_must_fit() {
    for (text, fits) in [
        ("2147483647", true),
        ("2147483648", false),
        ("-2147483649", false),
        ("9223372036854775808", false),
        ("1e3", true),
        ("5.0", true),
        ("0x10", true),
        ("1.5", false),
        ("1e400", false),
    ] {
        let loaded = read(
            &level("a")
                .replace("  limited:\n", &format!("  limited:\n    nominalConcurrencyShares: {text}\n")),
        );
        assert_eq!(names(&loaded).len(), usize::from(fits), "{text}: {:?}", lines(&loaded));
    }
}

#[test]
fn one_broken_document_hides_no_other() {
    let text = format!(
        "{}---\nkind: [FlowSchema\n---\n{}---\nkey: \"open\n---\n{}---\na: b: c\n---\nx: *nowhere\n",
        level("a"),
        level("b"),
        level("c").replace("Reject", "Drop"),
    );
    let loaded = read(&text);
    assert_eq!(names(&loaded), ["a", "b"]);
    let places: Vec<(u32, Rule)> = loaded.diagnostics.iter().map(|d| (d.line, d.rule)).collect();
    assert_eq!(places.len(), 5, "{:#?}", lines(&loaded));
    assert_eq!(places.iter().filter(|(_, rule)| *rule == Rule::Syntax).count(), 4);
    assert!(places.iter().any(|(_, rule)| *rule == Rule::NotSupported));
    assert!(loaded.diagnostics.iter().all(|d| d.line > 9 && d.column > 0), "{:#?}", lines(&loaded));
}

#[test]
fn broken_json_hides_no_object_before_it_and_no_yaml_document_beside_it() {
    let wrong = json("Wrong");
    let loaded = read(&format!("{}\n{wrong}\n{{\"kind\": broken\n", json("good")));
    assert_eq!(names(&loaded), ["good"]);
    let found = lines(&loaded);
    assert_eq!(found.len(), 2, "{found:#?}");
    assert!(found[0].contains(r#""Wrong": metadata.name: Invalid value"#), "{found:#?}");
    assert!(found[1].starts_with("t.yaml:5:10: Syntax error"), "{found:#?}");

    let loaded = read(&format!("{}\n---\na: [\n---\n{}\n--- # the last\n{wrong}", json("a"), level("b")));
    let found = lines(&loaded);
    assert_eq!(names(&loaded), ["a", "b"], "{found:#?}");
    assert_eq!(found.len(), 2, "{found:#?}");
    assert!(found[0].starts_with("t.yaml:4:4: Syntax error"), "{found:#?}");
    assert!(found[1].contains(r#""Wrong": metadata.name: Invalid value"#), "{found:#?}");
}

#[test]
fn one_bad_object_hides_no_other() {
    let text = format!(
        "{}---\n{}---\n{}",
        level("a").replace("type: Reject", "type: 7"),
        level("b").replace("type: Limited", "type: Other"),
        level("c")
    );
    let loaded = read(&text);
    assert_eq!(names(&loaded), ["c"]);
    assert_eq!(loaded.items.len(), 3);
    assert_eq!(loaded.items.iter().map(|item| item.accepted).collect::<Vec<_>>(), [false, false, true]);
    assert_eq!(loaded.items.iter().map(|item| item.origin.line).collect::<Vec<_>>(), [1, 11, 21]);
    assert_eq!(loaded.diagnostics.len(), 2);
}

#[test]
fn the_same_kind_and_name_twice_names_both_places() {
    let sources = [
        Source::new("one.yaml", level("a")),
        Source::new("two.yaml", format!("# moved\n{}", level("a").replace("/v1\n", "/v1beta3\n"))),
    ];
    let loaded = load(&sources, Strictness::Lenient);
    assert_eq!(names(&loaded), ["a"]);
    let error = loaded.errors().next().unwrap();
    assert_eq!(
        error.to_string(),
        "two.yaml:5:3: PriorityLevelConfiguration \"a\": metadata.name: Duplicate value: \"a\": the \
         PriorityLevelConfiguration is already defined at one.yaml:1:1"
    );
    let schema = "apiVersion: flowcontrol.apiserver.k8s.io/v1\nkind: FlowSchema\nmetadata: {name: a}\nspec: \
                  {priorityLevelConfiguration: {name: a}}\n";
    assert_eq!(lines(&read(&format!("{}---\n{schema}", level("a")))), NONE, "another kind of the same name");
}

#[test]
fn anchors_aliases_and_merge_keys_are_expanded() {
    let text = "apiVersion: flowcontrol.apiserver.k8s.io/v1\nkind: FlowSchema\nmetadata: {name: a}\nspec:\n  \
                priorityLevelConfiguration: {name: &level l}\n  rules:\n  - &rule\n    subjects: [{kind: User, user: \
                {name: *level}}]\n    nonResourceRules: [&get {verbs: [get], nonResourceURLs: [/a]}]\n  - <<: *rule\n    \
                nonResourceRules:\n    - {<<: [{verbs: [list]}, *get]}\n    - {<<: *get, verbs: [watch]}\n";
    let loaded = read(text);
    assert_eq!(lines(&loaded), NONE);
    let rules = &loaded.objects.flow_schemas[0].spec.rules;
    assert_eq!(rules[0].subjects, rules[1].subjects);
    assert_eq!(rules[0].subjects[0].user.as_deref(), Some("l"));
    let verbs: Vec<&str> = rules[1].non_resource_rules.iter().map(|rule| rule.verbs[0].as_str()).collect();
    assert_eq!(verbs, ["list", "watch"], "own and earlier entries win");
    assert_eq!(rules[1].non_resource_rules[1].non_resource_urls, ["/a"]);
    assert_eq!(
        lines(&read("a: {<<: 1}\n")),
        ["t.yaml:1:9: Syntax error: a merge key needs a mapping or a list of mappings"]
    );
}

#[test]
fn nested_aliases_cannot_fill_the_memory() {
    let mut text = "a0: &a0 [\"a long text that is repeated over and over\"]\n".to_owned();
    for level in 1..40 {
        let below = format!("*a{}", level - 1);
        text += &format!("a{level}: &a{level} [{}]\n", [below.as_str(); 10].join(", "));
    }
    let loaded = read(&text);
    assert_eq!(loaded.diagnostics.len(), 1);
    assert!(loaded.diagnostics[0].detail.contains("anchors and aliases expand to more than 16 MiB"));
}

#[test]
fn nesting_has_a_limit_also_through_aliases() {
    for deep in [
        format!("{}1{}", "[".repeat(200), "]".repeat(200)),
        format!(
            "a: {}",
            "\n".to_owned() + &(0..200).map(|depth| " ".repeat(depth + 1) + "a:\n").collect::<String>()
        ),
        format!("{}1", "{\"a\":".repeat(200)),
        (0..300)
            .map(|n| format!("k{n}: &k{n} [[[[*k{}]]]]\n", n - 1))
            .collect::<String>()
            .replace("*k-1", "0"),
    ] {
        let loaded = read(&deep);
        assert!(!loaded.diagnostics.is_empty());
        let detail = &loaded.diagnostics[0].detail;
        assert!(detail.contains("100 levels") || detail.contains("recursion limit"), "{detail}");
    }
    assert_eq!(lines(&read("a: &a [*a]\n")), ["t.yaml:1:8: Syntax error: the anchor contains its own alias"]);
}

#[test]
fn bytes_that_are_not_utf8_are_placed_and_their_file_is_not_used() {
    let mut bytes = level("a").into_bytes();
    bytes.extend_from_slice("metadat\u{e9}: ".as_bytes());
    bytes.push(0xff);
    bytes.push(b'\n');
    let loaded = load_bytes(&bytes);
    assert_eq!(
        lines(&loaded),
        [
            "input:10:11: Syntax error: the text is not UTF-8",
            "input:10:1: PriorityLevelConfiguration \"a\": strict decoding error: unknown field \"metadat\u{e9}\"",
        ]
    );
    assert!(loaded.objects.priority_levels.is_empty());
    let mut in_a_comment = level("a").into_bytes();
    in_a_comment.extend_from_slice(b"# caf\xe9\n");
    let loaded = load_bytes(&in_a_comment);
    assert_eq!(lines(&loaded), ["input:10:6: Syntax error: the text is not UTF-8"]);
    assert!(loaded.objects.priority_levels.is_empty() && loaded.items.len() == 1);
    let utf16: Vec<u8> = "\u{feff}a: b".encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert_eq!(load_bytes(&utf16).diagnostics[0].detail, "the text is UTF-16, not UTF-8");
}

#[test]
fn tags_decide_the_type_of_a_scalar() {
    let shares = |value: &str| {
        let text = level("a")
            .replace("  limited:\n", &format!("  limited:\n    nominalConcurrencyShares: {value}\n"));
        let loaded = read(&text);
        let level = loaded.objects.priority_levels.first()?;
        level.spec.limited.as_ref()?.nominal_concurrency_shares
    };
    assert_eq!(shares("!!int \"7\""), Some(7));
    assert_eq!(shares("!!str 7"), None);
    assert_eq!(shares("!!int seven"), None);
    assert_eq!(shares("\"7\""), None);
    assert_eq!(names(&read(&level("!!str 7").replace("NAME", "7"))), ["7"]);
}
