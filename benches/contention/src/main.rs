//! Runs the cases and prints their figures, one a line.
//!
//! ```text
//! apf-contention [--quick] [--reference PROGRAM] [CASE...]
//! ```
//!
//! Without names all cases run; `reference` needs the program that `go test -c` makes of `benches/peers/reference`.

use std::path::PathBuf;
use std::process::ExitCode;

use apf::clock::Clock;
use apf_contention::cases::{places, reconfiguration, reference, saturated, sizes, threads, uncontended};
use apf_contention::report::Report;
use apf_contention::rounds::Effort;

const CASES: [&str; 7] =
    ["uncontended", "reference", "threads", "saturated", "sizes", "reconfiguration", "placement"];

fn run() -> Result<(), String> {
    let mut effort = Effort::FULL;
    let mut program: Option<PathBuf> = None;
    let mut chosen: Vec<String> = Vec::new();
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--quick" => effort = Effort::QUICK,
            "--reference" => program = Some(args.next().ok_or("--reference needs a program")?.into()),
            case if CASES.contains(&case) => chosen.push(arg),
            other => return Err(format!("`{other}` is none of --quick, --reference, {}", CASES.join(", "))),
        }
    }
    let mut report = Report::default();
    let clock = Clock::fastest();
    report.note(&format!("clock: {}", clock.name()));
    for case in CASES {
        if !chosen.is_empty() && !chosen.iter().any(|chosen| chosen == case) {
            continue;
        }
        report.note(&format!("{case}: load average {}", load_average()));
        match (case, &program) {
            ("uncontended", _) => uncontended::case(&mut report, effort, &clock),
            ("reference", Some(program)) => reference::case(&mut report, effort, &clock, program)?,
            ("reference", None) => report.note("reference: not measured without --reference PROGRAM"),
            ("threads", _) => threads::case(&mut report, effort, &clock),
            ("saturated", _) => saturated::case(&mut report, effort, &clock),
            ("sizes", _) => sizes::case(&mut report, effort, &clock),
            ("reconfiguration", _) => reconfiguration::case(&mut report, effort, &clock),
            _ => places::case(&mut report, effort, &clock)?,
        }
    }
    Ok(())
}

/// Of the last minute: the figures of a busy machine are to be read with care.
fn load_average() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().next().unwrap_or("unknown").to_owned()
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("apf-contention: {problem}");
            ExitCode::FAILURE
        }
    }
}
