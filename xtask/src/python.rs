//! The Python package: its wheel, built once, in a fresh environment of every CPython that is here.

use crate::setup;
use crate::shell::{Program, Stop, cargo, fail, own_target_dir, program, root, target_dir};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

pub(crate) const FOLDER: &str = "python";
const MANIFEST: &str = "python/Cargo.toml";
/// The least minor version of Python 3 that the wheel is for.
const LEAST: u32 = 9;
/// What the optional parts need at least.
const LEAST_FULL: u32 = 11;

/// An interpreter.
struct Python {
    minor: u32,
    path: PathBuf,
}

/// The crates of the package: clippy on its own workspace.
pub(crate) fn lint() -> Result<(), Stop> {
    setup::component("clippy", "clippy")?;
    of_workspace(cargo(["clippy", "--all-targets", "--locked"]), &["--", "-D", "warnings"]).run()
}

/// The wheel is built as `pip install ./python` builds it, and tested; on the newest interpreter with all that is optional.
pub(crate) fn tests() -> Result<(), Stop> {
    let pythons = interpreters()?;
    let newest =
        pythons.last().ok_or_else(|| Stop::Skip("there is no CPython 3.9 or later here".to_owned()))?;
    let folder = own_target_dir(FOLDER).join("environments");
    let wheel = build_wheel(newest, &folder)?;
    let decisions = own_target_dir(FOLDER).join("debug/core-decisions");
    of_workspace(cargo(["build", "--locked", "--package", "core-decisions"]), &[]).run()?;
    cargo(["build", "--locked", "--package", "apf-cli"]).run()?;
    let cli = target_dir().join("debug/apf");

    let mut failed = Vec::new();
    for python in &pythons {
        let is_full = python.minor == newest.minor && python.minor >= LEAST_FULL;
        let tested = environment(python, &folder, &wheel, is_full).and_then(|environment| {
            if is_full {
                types(&environment)?;
            }
            python_of(&environment)
                .args(["-m", "pytest", "-q", "--timeout", "120", "-p", "no:cacheprovider"])
                .env("APF_CORE_DECISIONS", &decisions)
                .env("APF_CLI", &cli)
                .env("APF_TEST_SECONDS", if is_full { "3" } else { "1" })
                .within(FOLDER)
                .run()
        });
        if let Err(Stop::Fail(why) | Stop::Usage(why) | Stop::Skip(why)) = tested {
            failed.push(format!("3.{}: {why}", python.minor));
        }
    }
    if newest.minor < LEAST_FULL {
        return Err(Stop::Skip(format!("the optional parts need CPython 3.{LEAST_FULL} or later")));
    }
    if failed.is_empty() { Ok(()) } else { Err(Stop::Fail(failed.join("\n"))) }
}

/// A command of cargo on the workspace of the package.
fn of_workspace(command: Program, more: &[&str]) -> Program {
    let target = own_target_dir(FOLDER);
    command.args(["--manifest-path", MANIFEST]).args(["--target-dir".as_ref(), target.as_os_str()]).args(more)
}

/// One CPython of each minor version, oldest first: on the path, and where pyenv keeps them.
fn interpreters() -> Result<Vec<Python>, Stop> {
    let mut candidates: Vec<PathBuf> = vec!["python3".into()];
    candidates.extend((LEAST..30).map(|minor| format!("python3.{minor}").into()));
    let pyenv = std::env::var_os("PYENV_ROOT").map(PathBuf::from);
    let pyenv = pyenv.or_else(|| std::env::home_dir().map(|home| home.join(".pyenv")));
    let kept = pyenv.and_then(|folder| std::fs::read_dir(folder.join("versions")).ok());
    candidates.extend(kept.into_iter().flatten().flatten().map(|entry| entry.path().join("bin/python3")));

    let mut found: BTreeMap<u32, Python> = BTreeMap::new();
    for path in candidates {
        let Some(minor) = minor_version(&path) else { continue };
        found.entry(minor).or_insert(Python { minor, path });
    }
    let names: Vec<String> = found.keys().map(|minor| format!("3.{minor}")).collect();
    println!("CPython here: {}", if names.is_empty() { "none".to_owned() } else { names.join(", ") });
    Ok(found.into_values().collect())
}

/// The minor version of a CPython 3 that can load the wheel and make environments.
fn minor_version(path: &Path) -> Option<u32> {
    let ask = "import sys, sysconfig, venv, ensurepip\n\
               assert sys.implementation.name == 'cpython' and not sysconfig.get_config_var('Py_GIL_DISABLED')\n\
               print(*sys.version_info[:2])";
    let output = program(path).args(["-c", ask]).capture().ok().filter(|output| output.success)?;
    let (major, minor) = output.stdout.trim().split_once(' ')?;
    minor.parse().ok().filter(|minor| major == "3" && *minor >= LEAST)
}

/// Builds the wheel by way of its own build system, which brings maturin.
fn build_wheel(python: &Python, folder: &Path) -> Result<PathBuf, Stop> {
    let wheels = folder.join("wheels");
    if wheels.exists() {
        std::fs::remove_dir_all(&wheels).map_err(fail("removing the wheels of before"))?;
    }
    let tools = folder.join("tools");
    fresh(python, &tools)?;
    python_of(&tools)
        .args(["-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir"])
        .args([wheels.as_os_str(), root().join(FOLDER).as_os_str()])
        .env("CARGO_TARGET_DIR", own_target_dir(FOLDER))
        .run()?;
    let built = std::fs::read_dir(&wheels).map_err(fail("reading the folder of wheels"))?;
    let wheel =
        built.flatten().map(|entry| entry.path()).find(|path| path.extension().is_some_and(|e| e == "whl"));
    let wheel = wheel.ok_or_else(|| Stop::Fail("no wheel was built".to_owned()))?;
    let name = wheel.file_name().unwrap_or_default().to_string_lossy().into_owned();
    println!("built {name}");
    if !name.contains("-cp39-abi3-") {
        return Err(Stop::Fail(format!("{name} is not for CPython 3.9 and later")));
    }
    Ok(wheel)
}

fn fresh(python: &Python, folder: &Path) -> Result<(), Stop> {
    program(&python.path).args(["-m", "venv", "--clear"]).args([folder]).run()
}

fn python_of(environment: &Path) -> Program {
    program(environment.join("bin/python")).env("PIP_DISABLE_PIP_VERSION_CHECK", "1")
}

/// A fresh environment with the wheel and what its tests need.
fn environment(python: &Python, folder: &Path, wheel: &Path, is_full: bool) -> Result<PathBuf, Stop> {
    let environment = folder.join(format!("3.{}", python.minor));
    fresh(python, &environment)?;
    let mut install = python_of(&environment)
        .args(["-m", "pip", "install", "--quiet"])
        .args([wheel])
        .args(["--requirement", "python/requirements-test.txt"]);
    if is_full {
        install = install.args(["--requirement", "python/requirements-full.txt"]);
    }
    install.run()?;
    Ok(environment)
}

/// The stub says what the module has, and everything is typed.
fn types(environment: &Path) -> Result<(), Stop> {
    let stubtest = program(environment.join("bin/stubtest"));
    stubtest
        .args(["--mypy-config-file", "python/pyproject.toml"])
        .args(["--allowlist", "python/stubtest-allowlist.txt", "apf_core"])
        .run()?;
    let mypy = |what: &[&str]| {
        python_of(environment)
            .args(["-m", "mypy", "--cache-dir", "/dev/null"])
            .args(what)
            .env("MYPYPATH", root().join("python/tests"))
            .within(FOLDER)
            .run()
    };
    mypy(&["--package", "apf_core"])?;
    mypy(&["tests"])
}
