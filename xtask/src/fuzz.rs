//! The fuzz targets: on their seeds with any compiler, and for as long as wanted with cargo-fuzz.

use crate::setup;
use crate::shell::{Stop, cargo, fail, own_target_dir, root};
use lexopt::prelude::*;

const FOLDER: &str = "fuzz";
const CARGO_FUZZ: &str = "0.13.2";
const TARGETS: &[&str] = &["manifests", "audit_lines", "event_trace", "scenario"];
/// Without it the targets are plain functions that any compiler builds.
const WITHOUT_LIBFUZZER: &str = "--no-default-features";

pub(crate) fn seeds() -> Result<(), Stop> {
    cargo(["test", "--locked", WITHOUT_LIBFUZZER])
        .within(FOLDER)
        .env("CARGO_TARGET_DIR", own_target_dir(FOLDER))
        .run()
}

pub(crate) fn lint() -> Result<(), Stop> {
    cargo(["clippy", "--locked", "--all-targets", WITHOUT_LIBFUZZER, "--", "-D", "warnings"])
        .within(FOLDER)
        .env("CARGO_TARGET_DIR", own_target_dir(FOLDER))
        .run()
}

pub(crate) fn command(mut args: lexopt::Parser) -> Result<(), Stop> {
    let mut seconds = 600_u64;
    let mut only: Option<String> = None;
    while let Some(arg) = args.next()? {
        match arg {
            Long("seconds") => seconds = args.value()?.parse()?,
            Long("target") => only = Some(args.value()?.string()?),
            other => return Err(other.unexpected().into()),
        }
    }
    if let Some(name) = only.as_deref().filter(|name| !TARGETS.contains(name)) {
        return Err(Stop::Usage(format!("no fuzz target `{name}`; there are {}", TARGETS.join(", "))));
    }
    setup::cargo_tool("cargo-fuzz", CARGO_FUZZ, &["--version"])?;
    for target in TARGETS.iter().filter(|name| only.as_deref().is_none_or(|only| only == **name)) {
        run(target, seconds)?;
    }
    Ok(())
}

/// Without a sanitizer: the code under test has no `unsafe`, runs several times as often, and needs no nightly compiler.
/// What libFuzzer finds new goes into `fuzz/corpus`, which is not committed; the seeds are only read.
fn run(target: &str, seconds: u64) -> Result<(), Stop> {
    let corpus = format!("corpus/{target}");
    let fresh = root().join(FOLDER).join(&corpus);
    std::fs::create_dir_all(&fresh).map_err(fail("making the corpus folder"))?;
    let seeds = format!("seeds/{target}");
    let time = format!("-max_total_time={seconds}");
    cargo(["fuzz", "run", "--sanitizer", "none", "--fuzz-dir", ".", target, &corpus, &seeds])
        .args(["--", &time, "-print_final_stats=1", "-timeout=60", "-rss_limit_mb=4096"])
        .within(FOLDER)
        .env("CARGO_TARGET_DIR", own_target_dir("fuzz-libfuzzer"))
        .run()
}
