//! Brings what a step needs and a fresh clone may lack, or says in one line what cannot be brought.

use crate::shell::{Stop, cargo, program};

/// Makes sure that a rustup component is there.
pub(crate) fn component(name: &str, check: &str) -> Result<(), Stop> {
    if cargo([check, "--version"]).capture().is_ok_and(|output| output.success) {
        return Ok(());
    }
    let added = program("rustup").args(["component", "add", name]).run();
    added.map_err(|_| Stop::Skip(format!("the Rust component {name} is missing and cannot be added")))
}

/// Makes sure that Go is there; its modules come from the module proxy as they are built.
pub(crate) fn go() -> Result<(), Stop> {
    match program("go").args(["version"]).capture() {
        Ok(output) if output.success => Ok(()),
        _ => Err(Stop::Skip("Go is not installed".to_owned())),
    }
}

/// Makes sure that a command of this exact version is there, from the crates registry.
pub(crate) fn cargo_tool(name: &str, version: &str, version_args: &[&str]) -> Result<(), Stop> {
    let present = program(name).args(version_args).capture();
    if present.is_ok_and(|output| output.success && output.stdout.contains(version)) {
        return Ok(());
    }
    let exact = format!("={version}");
    cargo(["install", name, "--version", &exact, "--locked"])
        .without_env("CARGO_TARGET_DIR")
        .output_to_stderr()
        .run()
        .map_err(|_| Stop::Skip(format!("{name} {version} is missing and cannot be installed")))
}

/// Makes sure that a program which no registry of ours carries is there.
pub(crate) fn installed(name: &str, purpose: &str) -> Result<(), Stop> {
    match program(name).args(["--version"]).capture() {
        Ok(output) if output.success => Ok(()),
        _ => Err(Stop::Skip(format!("{name} is not installed ({purpose})"))),
    }
}

/// Makes sure that a program is there, from Debian's packages where they are to be had.
pub(crate) fn debian(name: &str, package: &str) -> Result<(), Stop> {
    let present = || program(name).args(["--version"]).capture().is_ok_and(|output| output.success);
    if present() {
        return Ok(());
    }
    let apt = |arguments: &[&str]| {
        program("apt-get")
            .args(arguments)
            .env("DEBIAN_FRONTEND", "noninteractive")
            .capture()
            .is_ok_and(|output| output.success)
    };
    let install = ["install", "--yes", package];
    if (apt(&install) || (apt(&["update"]) && apt(&install))) && present() {
        return Ok(());
    }
    Err(Stop::Skip(format!("{name} is not installed, and Debian's package {package} cannot be")))
}
