//! Every target on its seeds, and on each seed with small damages, so that the targets run everywhere.

use std::fs;
use std::path::PathBuf;

/// Damaged copies of each seed.
const DAMAGES: u64 = 40;

fn seeds(target: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("seeds").join(target);
    let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= 3, "{target} has too few seeds");
    files.into_iter().map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}

/// A few bytes changed, a part left out or doubled; the same every time.
fn damaged(seed: &[u8], turn: u64) -> Vec<u8> {
    let mut state = turn.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut draw = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below.max(1)
    };
    let mut bytes = seed.to_vec();
    for _ in 0..=draw(4) {
        let at = draw(bytes.len());
        let end = (at + draw(16)).min(bytes.len());
        match draw(3) {
            0 if at < bytes.len() => bytes[at] = draw(256) as u8,
            1 => drop(bytes.drain(at..end)),
            _ => {
                let part = bytes[at..end].to_vec();
                bytes.splice(at..at, part);
            }
        }
    }
    bytes
}

fn run(target: &str, function: fn(&[u8])) {
    let mut runs = 0;
    for (path, seed) in seeds(target) {
        println!("{}", path.display());
        function(&seed);
        for turn in 0..DAMAGES {
            function(&damaged(&seed, turn));
            runs += 1;
        }
    }
    println!("{target}: {runs} damaged seeds");
}

#[test]
fn manifests() {
    run("manifests", apf_fuzz::manifests::run);
}

#[test]
fn audit_lines() {
    run("audit_lines", apf_fuzz::audit_lines::run);
}

#[test]
fn event_trace() {
    run("event_trace", apf_fuzz::event_trace::run);
}

#[test]
fn scenario() {
    run("scenario", apf_fuzz::scenario::run);
}
