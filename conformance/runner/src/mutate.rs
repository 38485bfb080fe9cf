//! Puts known faults into a copy of the core, one at a time, and shows that a check finds each.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::Failure;
use crate::mutations::{MUTATIONS, Mutation};

/// Builds the runner against each faulty core and checks `events` events with it; `say` gets a line
/// for each fault. Returns whether every fault was found.
///
/// # Errors
///
/// When the copy cannot be made, a fault cannot be applied, or the faulty core does not build.
pub fn mutate(
    program: &Path,
    events: u64,
    seed: u64,
    only: Option<&str>,
    mut say: impl FnMut(String) -> Result<(), Failure>,
) -> Result<bool, Failure> {
    let program = program.canonicalize().map_err(Failure::io(format!(
        "finding {} (conformance/README.md says how to build it)",
        program.display()
    )))?;
    let chosen: Vec<_> = MUTATIONS.iter().filter(|m| only.is_none_or(|text| m.name.contains(text))).collect();
    if chosen.is_empty() {
        return Err(Failure::Mutation(format!("none has {:?} in its name", only.unwrap_or_default())));
    }
    let copy = WorkspaceCopy::make()?;
    // The faultless copy must pass, or finding a difference would prove nothing.
    match copy.check(&program, events, seed)? {
        Verdict::Same => say(format!("no fault: 0 differences in {events} events"))?,
        Verdict::Different(what) => return Err(Failure::Mutation(format!("none applied, and yet: {what}"))),
    }
    let mut found = 0;
    for mutation in &chosen {
        let original = copy.apply(mutation)?;
        let verdict = copy.check(&program, events, seed);
        copy.restore(mutation, &original)?;
        match verdict? {
            Verdict::Different(what) => {
                found += 1;
                say(format!("{}: found, {what}", mutation.name))?;
            }
            Verdict::Same => say(format!("{}: NOT FOUND in {events} events", mutation.name))?,
        }
    }
    say(format!("{found} of {} faults found", chosen.len()))?;
    Ok(found == chosen.len())
}

enum Verdict {
    Same,
    Different(String),
}

/// The crates and the runner in a folder of their own, removed at the end.
struct WorkspaceCopy {
    root: PathBuf,
}

impl WorkspaceCopy {
    fn make() -> Result<Self, Failure> {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let copy = Self { root: env::temp_dir().join(format!("apf-mutate-{}", std::process::id())) };
        for folder in ["crates", "conformance/runner"] {
            copy_folder(&source.join(folder), &copy.root.join(folder))?;
        }
        copy_file(&source.join("Cargo.lock"), &copy.root.join("Cargo.lock"))?;
        let manifest = read(&source.join("Cargo.toml"))?;
        write(&copy.root.join("Cargo.toml"), &fewer_members(&manifest)?)?;
        Ok(copy)
    }

    fn file(&self, mutation: &Mutation) -> PathBuf {
        self.root.join("crates/apf-core/src").join(mutation.file)
    }

    /// Applies a fault and returns the file's text before it.
    fn apply(&self, mutation: &Mutation) -> Result<String, Failure> {
        let file = self.file(mutation);
        let original = read(&file)?;
        write(&file, &replace_once(mutation, &original)?)?;
        Ok(original)
    }

    fn restore(&self, mutation: &Mutation, original: &str) -> Result<(), Failure> {
        write(&self.file(mutation), original)
    }

    /// Builds the copy and runs a check with it.
    fn check(&self, program: &Path, events: u64, seed: u64) -> Result<Verdict, Failure> {
        let build = self.cargo(&["build", "--quiet", "--package", "apf-conformance"])?;
        if !build.status.success() {
            let errors = String::from_utf8_lossy(&build.stderr).into_owned();
            return Err(Failure::Mutation(format!("does not build:\n{errors}")));
        }
        let runner = self.root.join("target/debug/apf-conformance");
        let output = Command::new(&runner)
            .arg("--reference")
            .arg(program)
            .args(["check", "--no-regressions", "--events", &events.to_string(), "--seed", &seed.to_string()])
            .output()
            .map_err(Failure::io(format!("running {}", runner.display())))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let first = text.lines().next().unwrap_or_default();
        match output.status.code() {
            // A minimum that is missed is no difference.
            Some(0 | 1) if first.contains(": 0 differences") => Ok(Verdict::Same),
            Some(1) => Ok(Verdict::Different(first.to_owned())),
            _ => {
                let errors = String::from_utf8_lossy(&output.stderr);
                Ok(Verdict::Different(errors.lines().next().unwrap_or("the runner crashed").to_owned()))
            }
        }
    }

    fn cargo(&self, arguments: &[&str]) -> Result<Output, Failure> {
        Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
            .args(arguments)
            .current_dir(&self.root)
            .env("CARGO_TARGET_DIR", self.root.join("target"))
            // Quick to build and quick enough to run.
            .env("CARGO_PROFILE_DEV_OPT_LEVEL", "1")
            .env("CARGO_PROFILE_DEV_DEBUG", "0")
            .output()
            .map_err(Failure::io("running cargo"))
    }
}

impl Drop for WorkspaceCopy {
    fn drop(&mut self) {
        // What cannot be removed is left to the operating system's temporary folder.
        let _ = fs::remove_dir_all(&self.root);
    }
}

/// The workspace's manifest with just the crates and the runner as members.
fn fewer_members(manifest: &str) -> Result<String, Failure> {
    let mut out = String::new();
    let mut members = 0;
    for line in manifest.lines() {
        if line.starts_with("members = [") && line.ends_with(']') {
            out.push_str("members = [\"crates/*\", \"conformance/runner\"]");
            members += 1;
        } else if !line.starts_with("exclude = ") && !line.starts_with("default-members = ") {
            out.push_str(line);
        }
        out.push('\n');
    }
    if members == 1 {
        Ok(out)
    } else {
        Err(Failure::Mutation("cannot be tried: the workspace has no \"members = [...]\" line".to_owned()))
    }
}

fn replace_once(mutation: &Mutation, text: &str) -> Result<String, Failure> {
    match text.matches(mutation.from).count() {
        1 => Ok(text.replacen(mutation.from, mutation.to, 1)),
        count => Err(Failure::Mutation(format!(
            "\"{}\" does not apply: its text occurs {count} times in {}",
            mutation.name, mutation.file
        ))),
    }
}

fn read(path: &Path) -> Result<String, Failure> {
    fs::read_to_string(path).map_err(Failure::io(format!("reading {}", path.display())))
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    fs::write(path, text).map_err(Failure::io(format!("writing {}", path.display())))
}

fn copy_file(from: &Path, to: &Path) -> Result<(), Failure> {
    fs::copy(from, to).map(|_| ()).map_err(Failure::io(format!("copying {}", from.display())))
}

fn copy_folder(from: &Path, to: &Path) -> Result<(), Failure> {
    fs::create_dir_all(to).map_err(Failure::io(format!("making {}", to.display())))?;
    let doing = format!("listing {}", from.display());
    for entry in fs::read_dir(from).map_err(Failure::io(&*doing))? {
        let path = entry.map_err(Failure::io(&*doing))?.path();
        let Some(name) = path.file_name() else { continue };
        if path.is_dir() {
            copy_folder(&path, &to.join(name))?;
        } else {
            copy_file(&path, &to.join(name))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A fault that does not apply any more would silently prove nothing.
    #[test]
    fn every_fault_applies_exactly_once_to_the_core_as_it_is() {
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/apf-core/src");
        assert!(MUTATIONS.len() >= 10);
        for mutation in MUTATIONS {
            let text = read(&sources.join(mutation.file)).unwrap();
            let mutated = replace_once(mutation, &text).unwrap();
            assert_ne!(mutated, text, "{}", mutation.name);
        }
    }

    #[test]
    fn a_manifest_is_cut_down_to_what_is_copied() {
        let cut =
            fewer_members("[workspace]\nmembers = [\"a/*\"]\nexclude = [\"b\"]\n[profile.x]\n").unwrap();
        assert_eq!(cut, "[workspace]\nmembers = [\"crates/*\", \"conformance/runner\"]\n\n[profile.x]\n");
        assert!(fewer_members("[workspace]\n").is_err());
    }
}
