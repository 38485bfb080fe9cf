//! The recorded vectors and generated traces, through the gate.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;

use apf_conformance::check::trace_files;
use apf_conformance::generate::generate;
use apf_conformance::{gate, read};
use apf_core::Mode;

#[test]
fn every_vector_runs_through_the_gate_as_through_the_bare_core() {
    let (mut traces, mut events, mut moved) = (0, 0, 0);
    for folder in ["vectors", "regressions"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name(folder);
        for file in trace_files(&folder).unwrap() {
            for mut trace in read::read_file(&file).unwrap() {
                for mode in [Mode::Exact, Mode::Default] {
                    trace.mode = mode;
                    let compared =
                        gate::compare(&trace).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
                    traces += 1;
                    events += compared.events;
                    moved += compared.moved;
                }
            }
        }
    }
    println!("{traces} traces, {events} events, {moved} of them at a later time than the trace says");
    assert!(traces >= 38 && events >= 8_000 && moved * 10 < events, "{traces} {events} {moved}");
}

#[test]
fn generated_traces_run_through_the_gate_as_through_the_bare_core() {
    let mut events = 0;
    for config in 0..20 {
        let mut trace = generate(7, config, 0, 1_000).unwrap().trace;
        for mode in [Mode::Exact, Mode::Default] {
            trace.mode = mode;
            events += gate::compare(&trace).unwrap_or_else(|e| panic!("configuration {config}: {e}")).events;
        }
    }
    println!("{events} events");
    assert!(events >= 20_000, "{events}");
}
