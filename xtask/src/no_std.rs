//! Proves by the linker that `apf-core` needs no `std` and keeps no path to a panic.

use crate::shell::{Stop, cargo, fail, own_target_dir, program, root};

pub(crate) const FOLDER: &str = "conformance/no-std-proof";
const NAME: &str = "no-std-proof";
/// What the program's panic handler calls, and nobody defines.
const MISSING_SYMBOL: &str = "apf_core_has_a_path_to_a_panic";

fn build(features: &[&str]) -> Result<crate::shell::Output, Stop> {
    cargo(["build", "--release", "--locked"])
        .args(features.iter().flat_map(|feature| ["--features", *feature]))
        .within(FOLDER)
        .env("CARGO_TARGET_DIR", own_target_dir(FOLDER))
        .capture()
}

pub(crate) fn check() -> Result<(), Stop> {
    let built = build(&[])?;
    if !built.success {
        return Err(Stop::Fail(format!("the program does not link:\n{}", built.stderr)));
    }
    let printed = program(own_target_dir(FOLDER).join("release").join(NAME)).read()?;
    let expected = root().join(FOLDER).join("expected.txt");
    let expected = std::fs::read_to_string(expected).map_err(fail("reading expected.txt"))?;
    if printed != expected {
        return Err(Stop::Fail(format!("the program printed\n{printed}instead of\n{expected}")));
    }
    println!(
        "links without std and without a panic; its {} lines are the expected ones",
        printed.lines().count()
    );
    proof_can_fail()
}

/// With a panic planted in it the same program must not link, and for that reason.
fn proof_can_fail() -> Result<(), Stop> {
    let planted = build(&["plant-a-panic"])?;
    if planted.success {
        return Err(Stop::Fail("the program links although a panic is planted in it".to_owned()));
    }
    if !planted.stderr.contains(MISSING_SYMBOL) {
        return Err(Stop::Fail(format!("the planted panic fails for another reason:\n{}", planted.stderr)));
    }
    println!("with a planted panic the link fails on {MISSING_SYMBOL}, as it must");
    Ok(())
}

pub(crate) fn lint() -> Result<(), Stop> {
    cargo(["clippy", "--release", "--locked", "--", "-D", "warnings"])
        .within(FOLDER)
        .env("CARGO_TARGET_DIR", own_target_dir(FOLDER))
        .run()
}
