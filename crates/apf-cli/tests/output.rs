//! What each command prints, in each format. `INSTA_UPDATE=always cargo test -p apf-cli` takes what it prints now.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

mod common;

use common::{apf_line, apf_reading, root};

const LOG: &str = "crates/apf-cli/tests/data/audit.jsonl";
const LEVEL: &str = "docs/examples/restrict-pod-lister.yaml";

fn snapshot(name: &str, line: &str) {
    insta::assert_snapshot!(name, apf_line(line).shown(), line);
}

#[test]
fn check() {
    for format in ["table", "json", "csv"] {
        snapshot(
            &format!("check_mistakes_{format}"),
            &format!("check docs/examples/mistakes.yaml -o {format}"),
        );
    }
    snapshot("check_good", &format!("check {LEVEL}"));
    snapshot("check_replaced", "check docs/examples/short-queues.yaml");
    snapshot("check_folder", "check crates/apf-config/tests/mistakes");
}

#[test]
fn explain() {
    let request =
        "--user system:serviceaccount:demo:podlister-0 --verb list --resource pods --namespace demo";
    for format in ["table", "json", "csv"] {
        snapshot(&format!("explain_{format}"), &format!("explain -f {LEVEL} {request} -o {format}"));
    }
    snapshot("explain_xxh3", &format!("explain -f {LEVEL} {request} --flow-hash xxh3"));
    snapshot("explain_path", "explain --user system:anonymous --path /healthz");
    snapshot(
        "explain_url",
        "explain --user system:node:n1 --groups system:nodes,system:authenticated --url /api/v1/nodes/n1/proxy",
    );
    snapshot(
        "explain_fallback",
        "explain --user nobody --groups= --verb get --resource pods --namespace dev",
    );
}

#[test]
fn convert() {
    for version in ["v1", "v1beta3", "v1beta2", "v1beta1"] {
        snapshot(&format!("convert_{version}"), &format!("convert --to {version} {LEVEL}"));
    }
    snapshot("convert_json", &format!("convert --to v1beta3 -o json {LEVEL}"));
}

#[test]
fn limits() {
    for format in ["table", "json", "csv"] {
        snapshot(&format!("limits_{format}"), &format!("limits --seats 600 -f {LEVEL} -o {format}"));
    }
}

#[test]
fn simulate() {
    let file = "crates/apf-cli/tests/data/scenario.yaml";
    for format in ["table", "json", "csv"] {
        snapshot(&format!("simulate_{format}"), &format!("simulate {file} -o {format}"));
    }
    snapshot("simulate_adjustments_csv", &format!("simulate {file} -o csv --section adjustments"));
    snapshot("simulate_seats_table", &format!("simulate {file} --section seats"));
    snapshot("simulate_other_seed", &format!("simulate {file} --section traffic --seed 4"));
}

#[test]
fn replay() {
    for format in ["table", "json", "csv"] {
        snapshot(&format!("replay_{format}"), &format!("replay {LOG} --seats 600 -f {LEVEL} -o {format}"));
        let against = format!("replay {LOG} --seats 1 --against {LEVEL} -o {format}");
        snapshot(&format!("replay_against_{format}"), &against);
    }
    snapshot("replay_input_csv", &format!("replay {LOG} --seats 600 --section input -o csv"));
}

#[test]
fn demo() {
    snapshot("demo", "demo");
    snapshot("demo_exact_details", "demo --exact --details");
}

#[test]
fn help_tells_the_exit_codes_and_examples() {
    snapshot("help", "--help");
    for command in ["check", "explain", "convert", "limits", "simulate", "replay", "demo"] {
        let text = apf_line(&format!("{command} --help")).stdout;
        assert!(text.contains("Exit codes: 0 done; 1 "), "{command}: {text}");
        assert!(text.contains("Examples:\n  "), "{command}: {text}");
    }
    assert!(apf_line("completions bash").stdout.contains("_apf()"));
}

/// `kubectl get ... -o json` gives a List.
#[test]
fn standard_input_is_a_file_like_any_other() {
    let list = apf_line(&format!("convert --to v1 -o json {LEVEL}")).stdout;
    let ran = apf_reading(&["check", "-"], list.as_bytes());
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(
        ran.stdout.starts_with("1 FlowSchema, 1 PriorityLevelConfiguration, 2 accepted"),
        "{}",
        ran.stdout
    );
    let from_file = apf_line(&format!("limits --seats 600 -f {LEVEL}")).stdout;
    assert_eq!(apf_reading(&["limits", "--seats", "600", "-f", "-"], list.as_bytes()).stdout, from_file);
    let log = std::fs::read(root().join(LOG)).unwrap();
    let from_file = apf_line(&format!("replay {LOG} --seats 600")).stdout;
    assert_eq!(apf_reading(&["replay", "-", "--seats", "600"], &log).stdout, from_file);
}

#[test]
fn the_same_command_prints_the_same_bytes() {
    for line in ["demo", "simulate docs/examples/two-tenants.yaml -o json"] {
        assert_eq!(apf_line(line).stdout, apf_line(line).stdout, "{line}");
    }
}

#[test]
fn exact_mode_is_said_and_differs() {
    let file = "docs/examples/two-tenants.yaml";
    let (usual, exact) = (
        apf_line(&format!("simulate {file} -o json")).stdout,
        apf_line(&format!("simulate {file} -o json --exact")).stdout,
    );
    assert!(usual.contains("\"mode\": \"default\"") && exact.contains("\"mode\": \"exact\""));
    assert_ne!(usual.replace("default", ""), exact.replace("exact", ""));
}

/// The names in every JSON output, at any depth; of maps whose keys are data, only the map's own.
fn keys(value: &serde_json::Value, found: &mut std::collections::BTreeSet<String>) {
    match value {
        serde_json::Value::Object(members) => {
            for (key, member) in members {
                found.insert(key.clone());
                if key != "skipped" {
                    keys(member, found);
                }
            }
        }
        serde_json::Value::Array(items) => items.iter().for_each(|item| keys(item, found)),
        _ => {}
    }
}

#[test]
fn every_key_and_column_is_documented() {
    let page = std::fs::read_to_string(root().join("docs/cli.md")).unwrap();
    let mut names = std::collections::BTreeSet::new();
    let runs = [
        "check crates/apf-config/tests/mistakes".to_owned(),
        "explain --user a --path /x".to_owned(),
        "limits --seats 600".to_owned(),
        "simulate docs/examples/two-tenants.yaml".to_owned(),
        "simulate crates/apf-sim/tests/data/fairness.yaml".to_owned(),
        format!("replay {LOG} --seats 600 --against {LEVEL}"),
    ];
    for run in &runs {
        let json = apf_line(&format!("{run} -o json")).stdout;
        keys(&serde_json::from_str(&json).unwrap_or_else(|error| panic!("{run}: {error}")), &mut names);
        let csv = apf_line(&format!("{run} -o csv")).stdout;
        let header = csv.lines().next().unwrap_or_else(|| panic!("{run} prints no CSV"));
        let columns =
            header.split(',').map(|name| name.trim_end_matches("_before").trim_end_matches("_after"));
        names.extend(columns.map(str::to_owned));
    }
    for section in ["seats", "adjustments", "input"] {
        let csv = apf_line(&format!("replay {LOG} --seats 600 -o csv --section {section}")).stdout;
        names.extend(csv.lines().next().unwrap().split(',').map(str::to_owned));
    }
    assert!(names.len() > 100, "{names:?}");
    let is_named = |name: &str| page.contains(&format!("\"{name}\"")) || page.contains(&format!("`{name}`"));
    let missing: Vec<&String> = names.iter().filter(|name| !is_named(name)).collect();
    assert!(missing.is_empty(), "docs/cli.md does not name {missing:?}");
}
