//! Pipes that close early, and colour.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]
#![cfg(unix)]

mod common;

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_apf"));
    command.current_dir(common::root()).args(args).env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE");
    command
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let big = "replay crates/apf-sim/tests/data/perfspec-arrivals-a.jsonl.gz --seats 20 -o json";
    for (line, code) in
        [("demo --details", 0), ("check docs/examples/mistakes.yaml -o json", 1), (big, 0), ("--help", 0)]
    {
        let args: Vec<&str> = line.split_whitespace().collect();
        let mut child = command(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut first = String::new();
        BufReader::with_capacity(16, child.stdout.take().unwrap()).read_line(&mut first).unwrap();
        let mut messages = String::new();
        child.stderr.take().unwrap().read_to_string(&mut messages).unwrap();
        let status = child.wait().unwrap();
        assert_eq!(status.code(), Some(code), "{line}: {status} {messages}");
        assert!(!first.is_empty() && !messages.contains("panicked"), "{line}: {messages}");
    }
}

#[test]
fn a_closed_standard_error_is_no_panic() {
    let mut child = command(&["check", "nowhere.yaml"]).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stderr.take());
    assert_eq!(child.wait().unwrap().code(), Some(2));
}

#[test]
fn colour_is_for_terminals_and_those_who_ask() {
    let args = ["check", "docs/examples/mistakes.yaml"];
    let has_colour = |command: &mut Command| command.output().unwrap().stdout.contains(&0x1b);
    assert!(!has_colour(&mut command(&args)), "a pipe is no terminal");
    assert!(has_colour(command(&args).env("CLICOLOR_FORCE", "1")));
    assert!(!has_colour(command(&args).env("CLICOLOR_FORCE", "1").env("NO_COLOR", "1")));
}
