//! Our core against the reference's recorded answers: the part of conformance that needs no Go.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::Path;

use apf_conformance::check::trace_files;
use apf_conformance::{driver, read};

fn replay(folder: &str) -> (usize, usize) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name(folder);
    let (mut traces, mut events) = (0, 0);
    for file in trace_files(&folder).unwrap() {
        let name = file.display();
        let expected = fs::read_to_string(file.with_extension("expected")).unwrap();
        let mut expected = expected.lines();
        for trace in read::read_file(&file).unwrap() {
            for line in driver::run(&trace, |_| false).unwrap() {
                assert_eq!(Some(line.as_str()), expected.next(), "{name}");
                events += 1;
            }
            assert_eq!(expected.next(), Some("end"), "{name}");
            traces += 1;
        }
        assert_eq!(expected.next(), None, "{name}");
    }
    (traces, events)
}

#[test]
fn every_vector_gives_the_recorded_decisions_and_state_digests() {
    let (traces, events) = replay("vectors");
    assert!(traces >= 18 && events >= 4_000, "{traces} traces with {events} events");
}

#[test]
fn what_once_differed_from_the_reference_does_not_any_more() {
    assert!(replay("regressions").0 >= 1);
}
