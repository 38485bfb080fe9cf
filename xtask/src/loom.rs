//! `cargo xtask loom`: the gate's models, and the faults that they must find.

mod mutations;

use crate::shell::{Program, Stop, cargo, fail, program, root, target_dir};
use lexopt::prelude::*;
use mutations::{MUTATIONS, Mutation};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Preemptions a model has in CI.
const BOUND: u32 = 2;
/// What puts loom in place of the standard atomics.
const LOOM: &str = "--cfg loom";
/// Random schedules that a scenario has in CI.
const SCHEDULES: u32 = 300;
/// Crates whose sources a mutated workspace has of its own.
const COPIED: &[&str] = &["crates/apf", "crates/apf-core", "crates/apf-config", "loom-tests"];

pub(crate) fn command(mut args: lexopt::Parser) -> Result<(), Stop> {
    let mut bound = BOUND;
    let mut mutate = false;
    let mut only = None;
    let mut schedules = None;
    let mut flags = LOOM;
    while let Some(arg) = args.next()? {
        match arg {
            Long("bound") => bound = args.value()?.parse()?,
            Long("mutations") => mutate = true,
            Long("all-loads") => flags = "--cfg loom --cfg loom_all_loads",
            Long("schedules") => schedules = Some(args.value()?.parse()?),
            Long("only") => only = Some(args.value()?.string()?),
            other => return Err(other.unexpected().into()),
        }
    }
    if only.is_some() && !mutate {
        return Err(Stop::Usage("--only NAME goes with --mutations".to_owned()));
    }
    match schedules {
        Some(count) => random_schedules(count),
        None if mutate => find_all(bound, only.as_deref()),
        None => explore(bound, flags),
    }
}

/// The part of `cargo xtask test` for more threads than loom can explore.
pub(crate) fn some_schedules() -> Result<(), Stop> {
    random_schedules(SCHEDULES)
}

fn random_schedules(count: u32) -> Result<(), Stop> {
    println!("{count} random schedules of each scenario, by each of two schedulers");
    cargo(["test", "--package", "apf-loom", "--profile", "loom", "--test", "schedules", "--locked"])
        .env("RUSTFLAGS", "--cfg shuttle")
        .env("CARGO_TARGET_DIR", target_dir().join("own/shuttle"))
        .env("APF_SCHEDULES", count.to_string())
        .run()
}

/// The tests of the gate that need a feature, or that there is none.
pub(crate) fn gate() -> Result<(), Stop> {
    cargo(["test", "--package", "apf", "--features", "history,fault-injection", "--locked"])
        .args(["--test", "history", "--test", "suspended_holder"])
        .run()?;
    cargo([
        "test",
        "--package",
        "apf",
        "--features",
        "fault-injection",
        "--test",
        "out_of_memory",
        "--locked",
    ])
    .run()?;
    cargo(["test", "--package", "apf", "--no-default-features", "--test", "gate", "--locked"]).run()
}

/// The part of `cargo xtask test`.
pub(crate) fn short() -> Result<(), Stop> {
    explore(BOUND, LOOM)
}

/// The part of `cargo xtask test` that keeps the list of faults from rotting.
pub(crate) fn mutations_apply() -> Result<(), Stop> {
    for mutation in MUTATIONS {
        mutation.check(&root())?;
    }
    println!("{} faults apply", MUTATIONS.len());
    Ok(())
}

/// Cargo with loom in place of the standard atomics. Its own target folder keeps the flags from rebuilding the rest.
fn with_loom(args: &[&str], bound: u32) -> Program {
    cargo(args.iter().copied())
        .env("RUSTFLAGS", LOOM)
        .env("CARGO_TARGET_DIR", target_dir().join("own/loom"))
        .env("LOOM_MAX_PREEMPTIONS", bound.to_string())
}

const TEST: &[&str] = &["test", "--package", "apf-loom", "--profile", "loom", "--test", "models"];

fn explore(bound: u32, flags: &str) -> Result<(), Stop> {
    println!("every interleaving with at most {bound} preemptions");
    with_loom(&[TEST, &["--locked"]].concat(), bound).env("RUSTFLAGS", flags).run()
}

fn find_all(bound: u32, only: Option<&str>) -> Result<(), Stop> {
    let chosen: Vec<_> =
        MUTATIONS.iter().filter(|mutation| only.is_none_or(|only| mutation.name == only)).collect();
    if chosen.is_empty() {
        return Err(Stop::Usage("no mutation of that name".to_owned()));
    }
    let workspace = target_dir().join("own/loom-mutations");
    let begun = Instant::now();
    let mut missed = Vec::new();
    for mutation in &chosen {
        lay(&workspace)?;
        mutation.apply(&workspace)?;
        let caught = find(mutation, &workspace, bound)?;
        println!("{:<44} {}", mutation.name, caught.as_deref().unwrap_or("NOT FOUND"));
        if caught.as_deref() != Some(mutation.model) {
            missed.push(mutation.name);
        }
    }
    println!(
        "\n{} of {} faults found by the model that is named for each, at bound {bound}, in {:.0} s",
        chosen.len() - missed.len(),
        chosen.len(),
        begun.elapsed().as_secs_f64()
    );
    if missed.is_empty() { Ok(()) } else { Err(Stop::Fail(format!("not as listed: {}", missed.join(", ")))) }
}

/// The model that finds a fault: the one that is named for it, or else whichever does.
fn find(mutation: &Mutation, workspace: &Path, bound: u32) -> Result<Option<String>, Stop> {
    // Not the folder of the real sources: cargo takes the two workspaces' crates for the same.
    let target = target_dir().join("own/loom-mutated");
    let built = with_loom(&[TEST, &["--no-run"]].concat(), bound)
        .env("CARGO_TARGET_DIR", target)
        .within(workspace)
        .capture()?;
    if !built.success {
        return Err(Stop::Fail(format!("`{}` does not compile:\n{}", mutation.name, built.stderr)));
    }
    let binary = built
        .stderr
        .lines()
        .find_map(|line| line.split_once("models.rs (")?.1.strip_suffix(')'))
        .map(PathBuf::from)
        .ok_or_else(|| Stop::Fail(format!("cargo named no test binary:\n{}", built.stderr)))?;
    let run = |model: &str| {
        program(&binary)
            .args([&format!("models::{model}"), "--exact"])
            .env("LOOM_MAX_PREEMPTIONS", bound.to_string())
            // A fault may lead into far more states than the models have without it.
            .env("LOOM_MAX_DURATION", "120")
            .capture()
            .map(|output| !output.success)
    };
    if run(mutation.model)? {
        return Ok(Some(mutation.model.to_owned()));
    }
    let listed = program(&binary).args(["--list", "--format", "terse"]).read()?;
    for model in listed.lines().filter_map(|line| line.strip_prefix("models::")?.strip_suffix(": test")) {
        if run(model)? {
            return Ok(Some(model.to_owned()));
        }
    }
    Ok(None)
}

/// Lays a fresh copy of the sources; files that are the same are left alone, so that only the change is rebuilt.
fn lay(workspace: &Path) -> Result<(), Stop> {
    for folder in COPIED {
        copy(&root().join(folder), &workspace.join(folder))?;
    }
    let manifest = read(&root().join("Cargo.toml"))?;
    let members: Vec<_> = COPIED.iter().map(|folder| format!("\"{folder}\"")).collect();
    let manifest = manifest
        .lines()
        .filter(|line| !line.starts_with("default-members") && !line.starts_with("exclude"))
        .map(|line| {
            if line.starts_with("members") {
                format!("members = [{}]", members.join(", "))
            } else {
                line.to_owned()
            }
        })
        .collect::<Vec<_>>()
        .join("\n");
    write(&workspace.join("Cargo.toml"), &manifest)?;
    write(&workspace.join("Cargo.lock"), &read(&root().join("Cargo.lock"))?)
}

fn copy(from: &Path, to: &Path) -> Result<(), Stop> {
    let listing = format!("listing {}", from.display());
    for entry in fs::read_dir(from).map_err(fail(&listing))? {
        let path = entry.map_err(fail(&listing))?.path();
        let Some(name) = path.file_name() else { continue };
        if path.is_dir() {
            copy(&path, &to.join(name))?;
        } else if path.extension().is_some_and(|ending| ending == "rs" || ending == "toml") {
            write(&to.join(name), &read(&path)?)?;
        }
    }
    Ok(())
}

fn read(path: &Path) -> Result<String, Stop> {
    fs::read_to_string(path).map_err(fail(&format!("reading {}", path.display())))
}

fn write(path: &Path, text: &str) -> Result<(), Stop> {
    if fs::read_to_string(path).is_ok_and(|old| old == text) {
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(fail(&format!("making {}", folder.display())))?;
    }
    fs::write(path, text).map_err(fail(&format!("writing {}", path.display())))
}

impl Mutation {
    /// That every edit has exactly one place.
    fn check(&self, workspace: &Path) -> Result<(), Stop> {
        for edit in self.edits {
            let text = read(&workspace.join("crates/apf/src/gate").join(edit.file))?;
            let places = text.matches(edit.from).count();
            if places != 1 {
                return Err(Stop::Fail(format!(
                    "fault `{}`: {} has {places} places for:\n{}",
                    self.name, edit.file, edit.from
                )));
            }
        }
        Ok(())
    }

    fn apply(&self, workspace: &Path) -> Result<(), Stop> {
        self.check(workspace)?;
        for edit in self.edits {
            let path = workspace.join("crates/apf/src/gate").join(edit.file);
            write(&path, &read(&path)?.replacen(edit.from, edit.to, 1))?;
        }
        Ok(())
    }
}
