//! Every input that cannot be used is refused with a message that says where and why, a documented exit code,
//! and nothing on standard output that could be taken for a result.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

mod common;

use std::io::Write;

use common::{apf, apf_line, apf_reading, file};

const LOG: &str = "crates/apf-cli/tests/data/audit.jsonl";
const OTHER_LOG: &str = "crates/apf-sim/tests/data/falco-k8saudit-events-a.jsonl";

/// Runs a command that must be refused; standard error must have all of `says`.
fn refused(args: &[&str], code: i32, says: &[&str]) {
    let ran = apf(args);
    assert_eq!(ran.code, code, "{args:?}: {ran:?}");
    assert_eq!(ran.stdout, "", "{args:?} printed a result");
    assert!(ran.stderr.starts_with("error: "), "{args:?}: {}", ran.stderr);
    for what in says {
        assert!(ran.stderr.contains(what), "{args:?} does not say {what:?}: {}", ran.stderr);
    }
}

/// A manifest is refused by every command that takes one, and found by `check`, with the same words.
fn refused_manifest(name: &str, content: &str, says: &[&str]) {
    let path = file(name, content.as_bytes());
    refused(&["limits", "--seats", "600", "-f", &path], 1, &[says, &[name]].concat());
    refused(&["explain", "--user", "a", "--path", "/x", "-f", &path], 1, says);
    refused(&["replay", LOG, "--seats", "600", "-f", &path], 1, says);
    refused(&["replay", LOG, "--seats", "600", "--against", &path], 1, says);
    let ran = apf(&["check", &path]);
    assert_eq!(ran.code, 1, "{name}: {ran:?}");
    for what in says {
        assert!(ran.stdout.contains(what), "check {name} does not say {what:?}: {}", ran.stdout);
    }
}

const LEVEL: &str = "apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: PriorityLevelConfiguration
metadata:
  name: tight
spec:
  type: Limited
  limited:
    nominalConcurrencyShares: 5
    limitResponse:
      type: Reject
";

#[test]
fn malformed_yaml_names_line_and_column() {
    refused_manifest(
        "malformed.yaml",
        "kind: FlowSchema\nspec: [1, 2\nx: y\n",
        &["malformed.yaml:", "Syntax error"],
    );
}

#[test]
fn malformed_json_names_line_and_column() {
    refused_manifest(
        "malformed.json",
        "{\"kind\": \"FlowSchema\",\n \"spec\": {\n",
        &["malformed.json:", "Syntax error"],
    );
}

#[test]
fn a_manifest_that_is_not_utf8_is_refused() {
    let path = file("latin1.yaml", b"kind: FlowSchema\nname: caf\xe9\n");
    refused(&["limits", "--seats", "600", "-f", &path], 1, &["latin1.yaml:2:", "not UTF-8"]);
}

#[test]
fn a_negative_number_names_object_and_field() {
    let text = LEVEL.replace("nominalConcurrencyShares: 5", "nominalConcurrencyShares: -5");
    refused_manifest(
        "negative.yaml",
        &text,
        &[
            "negative.yaml:8:5: ",
            "PriorityLevelConfiguration \"tight\"",
            "spec.limited.nominalConcurrencyShares: Invalid value: -5",
        ],
    );
}

#[test]
fn an_unknown_version_is_named_with_the_known_ones() {
    let text = LEVEL.replace("k8s.io/v1", "k8s.io/v2");
    let says = [
        "version.yaml:1:1: ",
        "\"tight\"",
        "apiVersion: ",
        "flowcontrol.apiserver.k8s.io/v2",
        "k8s.io/v1beta3",
    ];
    refused_manifest("version.yaml", &text, &says);
    let path = file("version-fs.yaml", text.replace("PriorityLevelConfiguration", "FlowSchema").as_bytes());
    refused(
        &["convert", "--to", "v1", &path],
        1,
        &["FlowSchema \"tight\"", "flowcontrol.apiserver.k8s.io/v2"],
    );
}

#[test]
fn a_name_that_is_there_twice_names_both_places() {
    let text = format!("{LEVEL}---\n{LEVEL}");
    refused_manifest(
        "twice.yaml",
        &text,
        &["twice.yaml:15:3: ", "metadata.name: Duplicate value: \"tight\"", "twice.yaml:1:1"],
    );
}

#[test]
fn unknown_fields_are_errors_unless_lenient() {
    let text = LEVEL.replace("limited:\n", "limited:\n    assuredConcurrencyShares: 7\n");
    refused_manifest("unknown.yaml", &text, &["unknown field \"spec.limited.assuredConcurrencyShares\""]);
    let path = file("unknown.yaml", text.as_bytes());
    for args in
        [vec!["check", "--lenient", &path], vec!["limits", "--seats", "600", "--lenient", "-f", &path]]
    {
        let ran = apf(&args);
        assert_eq!(ran.code, 0, "{ran:?}");
        let all = ran.stdout + &ran.stderr;
        assert!(all.contains("warning: ") && all.contains("assuredConcurrencyShares"), "{all}");
    }
}

#[test]
fn one_bad_object_hides_no_other_error() {
    let bad = LEVEL.replace("Reject", "Queue");
    let text = format!("{bad}---\n{}", bad.replace("tight", "tighter"));
    refused_manifest("both.yaml", &text, &["\"tight\"", "\"tighter\""]);
}

#[test]
fn total_seats_of_zero_and_below_are_refused() {
    for seats in ["0", "-5"] {
        let rule = format!("must be from 1 to 2147483647, not {seats}");
        refused(&["limits", "--seats", seats], 2, &["--seats", &rule]);
        refused(&["replay", LOG, "--seats", seats], 2, &["--seats", &rule]);
    }
    for seats in ["many", "1.5", ""] {
        refused(&["limits", "--seats", seats], 2, &["--seats"]);
    }
    let text =
        std::fs::read_to_string(common::root().join("crates/apf-cli/tests/data/scenario.yaml")).unwrap();
    for seats in ["0", "-5"] {
        let path = file("seats.yaml", text.replace("seats: 2\n", &format!("seats: {seats}\n")).as_bytes());
        let rule = format!("must be from 1 to 2147483647, not {seats}");
        refused(&["simulate", &path], 1, &["seats.yaml:2:", "seats: ", &rule]);
    }
}

#[test]
fn a_negative_timeout_is_refused_for_what_it_is() {
    let says = ["--request-timeout", "'-1s'", "longer than 0"];
    refused(&["replay", LOG, "--seats", "600", "--request-timeout", "-1s"], 2, &says);
}

#[test]
fn an_empty_log_is_refused() {
    let path = file("empty.log", b"");
    refused(&["replay", &path, "--seats", "600"], 1, &["empty.log", "empty"]);
    let ran = apf_reading(&["replay", "-", "--seats", "600"], b"");
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""));
    assert!(ran.stderr.contains("standard input"), "{}", ran.stderr);
}

#[test]
fn a_log_without_a_usable_line_is_refused() {
    let path = file("junk.log", b"hello\n{\"kind\": 0}\n");
    refused(&["replay", &path, "--seats", "600"], 1, &["junk.log:1: ", "junk.log:2: "]);
}

#[test]
fn a_truncated_gzip_is_refused_and_a_whole_one_is_not() {
    let log = std::fs::read(common::root().join(OTHER_LOG)).unwrap();
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(&log).unwrap();
    let whole = encoder.finish().unwrap();
    for length in [whole.len() - 1, whole.len() / 2, 20] {
        let path = file("truncated.log.gz", &whole[..length]);
        refused(&["replay", &path, "--seats", "600"], 1, &["truncated.log.gz", "gzip"]);
    }
    let path = file("whole.log.gz", &whole);
    let ran = apf(&["replay", &path, "--seats", "600"]);
    assert_eq!(ran.code, 0, "{ran:?}");
}

#[test]
fn a_damaged_gzip_is_refused() {
    let log = std::fs::read(common::root().join(OTHER_LOG)).unwrap();
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(&log).unwrap();
    let mut damaged = encoder.finish().unwrap();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 0xff;
    let path = file("damaged.log.gz", &damaged);
    refused(&["replay", &path, "--seats", "600"], 1, &["damaged.log.gz", "gzip"]);
}

#[test]
fn lines_that_cannot_be_replayed_are_named_and_the_rest_is_replayed() {
    let ran = apf(&["replay", LOG, "--seats", "600"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stderr.contains("audit.jsonl:4: not JSON"), "{}", ran.stderr);
    assert!(ran.stdout.contains("not JSON"), "{}", ran.stdout);
}

#[test]
fn malformed_scenarios_name_line_and_field() {
    let good =
        std::fs::read_to_string(common::root().join("crates/apf-cli/tests/data/scenario.yaml")).unwrap();
    for (from, to, says) in [
        ("duration: 12s", "duration: -12s", vec!["scenario-bad.yaml:5:", "duration must not be negative"]),
        ("duration: 12s", "duration: 12", vec!["scenario-bad.yaml:5:", "unit"]),
        ("threads: 12", "threads: 0", vec!["scenario-bad.yaml:", "threads"]),
        ("seed: 3", "sead: 3", vec!["scenario-bad.yaml:3:", "sead"]),
        (
            "handSize: 2",
            "handSize: -2",
            vec!["PriorityLevelConfiguration \"tight\"", "handSize: Invalid value: -2"],
        ),
        ("- name: rare", "- name: busy", vec!["scenario-bad.yaml:", "\"busy\"", "another of this name"]),
    ] {
        assert!(good.contains(from));
        let path = file("scenario-bad.yaml", good.replace(from, to).as_bytes());
        refused(&["simulate", &path], 1, &says);
    }
    let path = file("scenario-empty.yaml", b"");
    refused(&["simulate", &path], 1, &["scenario-empty.yaml"]);
}

#[test]
fn a_failing_expectation_is_exit_code_1_with_the_table() {
    let text =
        std::fs::read_to_string(common::root().join("crates/apf-sim/tests/data/fairness.yaml")).unwrap();
    let strict = text.replace("margin: 0.35", "margin: 0.0001");
    assert_ne!(text, strict);
    let path = file("fairness-strict.yaml", strict.as_bytes());
    let ran = apf(&["simulate", &path, "--check"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.stdout.contains("too-wide evaluation 1: "), "{}", ran.stdout);
    assert!(ran.stdout.contains("  NO "), "{}", ran.stdout);
    assert_eq!(apf(&["simulate", &path]).code, 0, "without --check nothing is held to anything");
}

#[test]
fn what_cannot_be_read_is_a_usage_error() {
    for line in [
        "check nowhere.yaml",
        "limits --seats 600 -f nowhere.yaml",
        "explain --user a --path /x -f nowhere.yaml",
        "convert --to v1 nowhere.yaml",
        "simulate nowhere.yaml",
        "replay nowhere.log --seats 600",
        "replay docs --seats 600",
        "simulate docs",
    ] {
        let args: Vec<&str> = line.split_whitespace().collect();
        let name = if line.contains("nowhere") { "nowhere." } else { "docs: " };
        refused(&args, 2, &[name]);
    }
}

#[test]
fn a_file_that_cannot_be_read_is_told_with_the_errors_of_the_others() {
    let path = file("bad.yaml", LEVEL.replace("Reject", "Queue").as_bytes());
    refused(&["check", &path, "nowhere.yaml"], 2, &["nowhere.yaml", "limitResponse.queuing: Required value"]);
}

#[test]
fn command_lines_that_make_no_sense_are_usage_errors() {
    let scenario = "crates/apf-cli/tests/data/scenario.yaml";
    let fairness = "crates/apf-sim/tests/data/fairness.yaml";
    for (line, says) in [
        ("check".to_owned(), "<PATH>"),
        ("frobnicate".to_owned(), "frobnicate"),
        ("check --strict --lenient docs".to_owned(), "--lenient"),
        ("check -o xml docs".to_owned(), "xml"),
        ("explain --user a".to_owned(), "--resource"),
        ("explain --user a --resource pods".to_owned(), "--verb"),
        ("explain --path /x".to_owned(), "--user"),
        ("explain --user a --path x".to_owned(), "must begin with"),
        ("explain --user a --url pods".to_owned(), "must begin with"),
        ("explain --user a --url /api/v1/watch".to_owned(), "no resource follows the verb"),
        ("explain --user a --path /x --url /y".to_owned(), "--url"),
        ("explain --user a --verb get --resource pods/log --subresource log".to_owned(), "--subresource"),
        ("convert --to v1alpha1 docs/examples/mistakes.yaml".to_owned(), "v1alpha1"),
        ("convert --to v2 docs/examples/mistakes.yaml".to_owned(), "v2"),
        ("limits".to_owned(), "--seats"),
        (format!("simulate {scenario} --check"), "--check"),
        (format!("simulate {scenario} --section input"), "--section"),
        (format!("simulate {fairness} --section seats"), "--section"),
        (format!("replay {LOG} --seats 6 --section difference"), "--against"),
        (format!("replay {LOG} --seats 6 --durations list=-3s"), "longer than 0"),
        (format!("replay {LOG} --seats 6 --durations read=3s"), "must be one of"),
        (format!("replay {LOG} --seats 6 --list-seats 0"), "--list-seats"),
        (format!("replay {LOG} --seats 6 --request-timeout 0s"), "longer than 0"),
        ("replay - --seats 6 -f -".to_owned(), "standard input"),
    ] {
        let ran = apf_line(&line);
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{line}: {ran:?}");
        assert!(ran.stderr.contains(says), "{line} does not say {says:?}: {}", ran.stderr);
    }
}

#[test]
fn a_folder_without_manifests_and_files_without_objects_are_told() {
    let path = file("only-others.yaml", b"apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n");
    let ran = apf(&["check", &path]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stderr.contains("no FlowSchema"), "{}", ran.stderr);
    refused(&["convert", "--to", "v1", &path], 1, &["no FlowSchema"]);
    refused(&["check", "crates/apf-cli/src/command/explain"], 2, &["no *.yaml"]);
}
