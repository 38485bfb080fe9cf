//! Runs the program as its users do.

#![allow(dead_code, reason = "each test file uses its part")]
#![allow(clippy::print_stdout, reason = "a skipped test says so")]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The repository's root: commands run there, so that paths in outputs are the same everywhere.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// What a command printed, and its exit code.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    fn from(output: Output) -> Ran {
        Ran {
            code: output.status.code().expect("ended by itself"),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Everything, for a snapshot.
    pub(crate) fn shown(&self) -> String {
        let mut text = self.stdout.clone();
        if !self.stderr.is_empty() {
            text.push_str(&format!("--- standard error\n{}", self.stderr));
        }
        if self.code != 0 {
            text.push_str(&format!("--- exit code {}\n", self.code));
        }
        text
    }
}

fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_apf"));
    command.current_dir(root()).args(args).env_remove("CLICOLOR_FORCE").env("NO_COLOR", "1");
    command
}

/// Runs `apf` with nothing on standard input.
pub(crate) fn apf(args: &[&str]) -> Ran {
    Ran::from(command(args).stdin(Stdio::null()).output().unwrap())
}

/// Runs `apf` with the words of one line as arguments.
pub(crate) fn apf_line(line: &str) -> Ran {
    apf(&line.split_whitespace().collect::<Vec<_>>())
}

/// Runs `apf` with a text on standard input.
pub(crate) fn apf_reading(args: &[&str], input: &[u8]) -> Ran {
    let mut child =
        command(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // A program that ends without reading all of it is fine.
    let _ = child.stdin.take().unwrap().write_all(input);
    Ran::from(child.wait_with_output().unwrap())
}

/// A fresh file below cargo's folder for tests.
pub(crate) fn file(name: &str, content: &[u8]) -> String {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("apf-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join(name);
    std::fs::write(&path, content).unwrap();
    path.to_str().unwrap().to_owned()
}

/// A folder of data beside the repository, when it is there; one line says when it is not.
pub(crate) fn shared(path: &str) -> Option<String> {
    let shared = root().join("../shared").join(path);
    if shared.exists() {
        return Some(format!("../shared/{path}"));
    }
    println!("skipped: there is no ../shared/{path} beside the repository");
    None
}
