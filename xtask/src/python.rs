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
    let decisions = own_target_dir(FOLDER).join("quick/core-decisions");
    of_workspace(cargo(["build", "--locked", "--profile", "quick", "--package", "core-decisions"]), &[])
        .run()?;
    cargo(["build", "--locked", "--package", "apf-cli"]).run()?;
    let cli = target_dir().join("debug/apf");

    let setting = Setting { folder, wheel, decisions, cli };
    let (is_full, others): (Vec<&Python>, Vec<&Python>) =
        pythons.iter().partition(|python| python.minor == newest.minor && python.minor >= LEAST_FULL);
    // The others meanwhile, each saying what it has to say at its end.
    let failed: Vec<String> = std::thread::scope(|scope| {
        let meanwhile = scope.spawn(|| {
            others.iter().filter_map(|python| setting.test_briefly(python).err()).collect::<Vec<String>>()
        });
        let mut failed: Vec<String> =
            is_full.iter().filter_map(|python| setting.test_fully(python).err().map(why)).collect();
        failed.extend(meanwhile.join().unwrap_or_else(|_| vec!["a thread panicked".to_owned()]));
        failed
    });
    if !failed.is_empty() {
        return Err(Stop::Fail(failed.join("\n")));
    }
    if is_full.is_empty() {
        return Err(Stop::Skip(format!("the optional parts need CPython 3.{LEAST_FULL} or later")));
    }
    Ok(())
}

/// What the tests of every interpreter share.
struct Setting {
    folder: PathBuf,
    wheel: PathBuf,
    decisions: PathBuf,
    cli: PathBuf,
}

impl Setting {
    /// Types, examples and all that is optional besides.
    fn test_fully(&self, python: &Python) -> Result<(), Stop> {
        let environment = environment(python, &self.folder, &self.wheel, true)?;
        types(&environment)?;
        self.pytest(&environment).env("APF_TEST_SECONDS", "3").run()
    }

    /// The wheel alone. The error is what to print of it.
    fn test_briefly(&self, python: &Python) -> Result<(), String> {
        let tested = environment(python, &self.folder, &self.wheel, false)
            .and_then(|environment| self.pytest(&environment).env("APF_TEST_SECONDS", "1").capture());
        let said = |text: &str| println!("CPython 3.{}: {}", python.minor, text.trim());
        match tested {
            Ok(output) if output.success => {
                said(output.stdout.lines().last().unwrap_or_default());
                Ok(())
            }
            Ok(output) => {
                said(&format!("{}{}", output.stdout, output.stderr));
                Err(format!("the tests on CPython 3.{} failed", python.minor))
            }
            Err(stop) => Err(format!("3.{}: {}", python.minor, why(stop))),
        }
    }

    fn pytest(&self, environment: &Path) -> Program {
        python_of(environment)
            .args(["-m", "pytest", "-q", "--timeout", "120", "-p", "no:cacheprovider"])
            .env("APF_CORE_DECISIONS", &self.decisions)
            .env("APF_CLI", &self.cli)
            .within(FOLDER)
    }
}

fn why(stop: Stop) -> String {
    let (Stop::Fail(text) | Stop::Usage(text) | Stop::Skip(text)) = stop;
    text
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
        .env("MATURIN_PEP517_ARGS", "--profile quick")
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
