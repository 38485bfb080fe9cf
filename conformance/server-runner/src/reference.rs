//! The reference in a process of its own.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use crate::wire::{Case, CaseResult};

/// A running `server-reference`.
#[derive(Debug)]
pub struct Reference {
    child: Child,
    cases: ChildStdin,
    results: BufReader<ChildStdout>,
}

/// Where the Go module is.
pub fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../server")
}

impl Reference {
    /// Builds the program with Go and starts it.
    ///
    /// # Errors
    ///
    /// Says that Go is missing, or that the module does not build.
    pub fn start() -> Result<Self, String> {
        let folder = folder();
        let program = folder.join("bin/server-reference");
        let built = Command::new("go")
            .args(["build", "-o"])
            .arg(&program)
            .arg(".")
            .current_dir(&folder)
            .status()
            .map_err(|error| format!("go: {error}"))?;
        if !built.success() {
            return Err(format!("go build in {}: {built}", folder.display()));
        }
        let mut child = Command::new(&program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("{}: {error}", program.display()))?;
        let (Some(cases), Some(results)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("the reference has no pipes".to_owned());
        };
        Ok(Self { child, cases, results: BufReader::new(results) })
    }

    /// Runs a case.
    ///
    /// # Errors
    ///
    /// Says that the program ended or wrote something else than a result.
    pub fn run(&mut self, case: &Case) -> Result<CaseResult, String> {
        let answer = self.ask(case)?;
        serde_json::from_str(&answer).map_err(|error| lost(case, &error))
    }

    /// Runs a case and returns the answer as it came, without the end of the line.
    ///
    /// # Errors
    ///
    /// Says that the program ended.
    pub fn ask(&mut self, case: &Case) -> Result<String, String> {
        let lost = |error: &dyn std::fmt::Display| lost(case, error);
        let mut line = serde_json::to_vec(case).map_err(|error| lost(&error))?;
        line.push(b'\n');
        self.cases.write_all(&line).and_then(|()| self.cases.flush()).map_err(|error| lost(&error))?;
        let mut answer = String::new();
        if self.results.read_line(&mut answer).map_err(|error| lost(&error))? == 0 {
            return Err(lost(&"it ended without an answer"));
        }
        answer.truncate(answer.trim_end().len());
        Ok(answer)
    }
}

fn lost(case: &Case, error: &dyn std::fmt::Display) -> String {
    format!("the reference, in {}: {error}", case.name)
}

impl Drop for Reference {
    fn drop(&mut self) {
        // It ends by itself when its input does; it is not worth waiting for.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
