//! Whoever wrote a log or a manifest chooses names in it, but not what the terminal does.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

mod common;

use common::{apf, file};

/// Clears the screen, fakes a message, turns the direction of writing.
const NAME: &str = "a\u{1b}[2J\nerror: b\u{202e}";
const SHOWN: &str = r"a\x1b[2J\nerror: b\u202e";

const EVENT: &str = r#"{"kind":"Event","apiVersion":"audit.k8s.io/v1","auditID":"a\u001b[2J\nerror: b\u202e","stage":"ResponseComplete","requestURI":"/x","verb":"get","user":{"username":"a\u001b[2J\nerror: b\u202e","groups":["system:authenticated"]},"requestReceivedTimestamp":"2024-01-01T00:00:00.000001Z"}"#;

const LEVEL: &str = r#"apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: PriorityLevelConfiguration
metadata: {name: "a\e[2J\nerror: b\u202e"}
spec: {type: Limited, limited: {limitResponse: {type: Reject}}}
"#;

#[test]
fn names_are_escaped_for_people() {
    let log = file("steering.jsonl", format!("{EVENT}\n{EVENT}\n").as_bytes());
    let manifest = file("steering.yaml", LEVEL.as_bytes());
    for (args, code) in [
        (vec!["replay", "--seats", "600", &log], 0),
        (vec!["explain", "--path", "/x", "--user", NAME], 0),
        (vec!["check", &manifest], 1),
        (vec!["limits", "--seats", "600", "-f", &manifest], 1),
    ] {
        let ran = apf(&args);
        assert_eq!(ran.code, code, "{ran:?}");
        let text = format!("{}{}", ran.stdout, ran.stderr);
        assert!(text.contains(SHOWN), "{args:?}: {text}");
        assert!(!text.contains(['\u{1b}', '\u{202e}']), "{args:?}: {text:?}");
        assert!(!text.contains("\nerror: b"), "{args:?}: {text:?}");
    }
}

#[test]
fn names_are_kept_for_programs() {
    let log = file("kept.jsonl", EVENT.as_bytes());
    let csv = apf(&["replay", "--seats", "600", "-o", "csv", &log]);
    assert!(csv.stdout.contains(&format!("client,\"{NAME}\"")), "{csv:?}");
    let manifest = file("kept.yaml", LEVEL.as_bytes());
    let json = apf(&["check", "-o", "json", &manifest]);
    let name = NAME.replace('\u{1b}', r"\u001b").replace('\n', r"\n");
    assert!(json.stdout.contains(&format!("\"name\": \"{name}\"")), "{json:?}");
}
