//! The reference program as a child process: traces in, lines out.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::thread;

use crate::Failure;

/// A running reference program. Traces go in by [`Input`], possibly from another thread; their lines
/// come out in the same order.
#[derive(Debug)]
pub struct Reference {
    program: PathBuf,
    child: Child,
    input: Input,
    output: BufReader<ChildStdout>,
}

/// Where traces for the reference go. The process ends its input when the last one is dropped.
#[derive(Debug, Clone)]
pub struct Input(Sender<String>);

impl Input {
    /// Sends the text of a trace.
    ///
    /// # Errors
    ///
    /// When the process does not read any more.
    pub fn send(&self, trace: String) -> Result<(), Failure> {
        self.0.send(trace).map_err(|_| Failure::Reference("stopped reading".to_owned()))
    }
}

impl Reference {
    /// Where `conformance/README.md` says to build it.
    pub fn default_program() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../reference/bin/reference")
    }

    /// Starts the program; `arguments` go before its standard input.
    ///
    /// # Errors
    ///
    /// When it cannot be started: most often it has not been built.
    pub fn start(program: &Path, arguments: &[String]) -> Result<Self, Failure> {
        let started =
            Command::new(program).args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = started.map_err(Failure::io(format!(
            "starting {} (conformance/README.md says how to build it)",
            program.display()
        )))?;
        let (Some(mut stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(Failure::Reference("has no pipes".to_owned()));
        };
        // A thread of its own, since the process may stop reading until somebody takes its output.
        // It ends by itself: with the last sender, or when the process does not read any more.
        let (sender, traces) = channel::<String>();
        thread::spawn(move || {
            for trace in traces {
                if stdin.write_all(trace.as_bytes()).and_then(|()| stdin.flush()).is_err() {
                    return; // the reader of its output will notice
                }
            }
        });
        Ok(Self {
            program: program.to_owned(),
            child,
            input: Input(sender),
            output: BufReader::with_capacity(1 << 16, stdout),
        })
    }

    /// The way in.
    pub fn input(&self) -> Input {
        self.input.clone()
    }

    /// The next line of the current trace, or `None` at its end.
    ///
    /// # Errors
    ///
    /// When the process has ended or its output cannot be read.
    pub fn line(&mut self) -> Result<Option<String>, Failure> {
        let mut line = String::new();
        let read = self
            .output
            .read_line(&mut line)
            .map_err(Failure::io(format!("reading from {}", self.program.display())))?;
        if read == 0 {
            let how = self.child.wait().map_or_else(|e| e.to_string(), |status| status.to_string());
            return Err(Failure::Reference(format!("ended in the middle of a trace ({how})")));
        }
        let line = line.trim_end_matches('\n');
        Ok(if line == "end" { None } else { Some(line.to_owned()) })
    }

    /// All lines of one trace that nothing else is in front of.
    ///
    /// # Errors
    ///
    /// As [`Reference::line`] and [`Input::send`].
    pub fn run(&mut self, trace: String) -> Result<Vec<String>, Failure> {
        self.input.send(trace)?;
        let mut lines = Vec::new();
        while let Some(line) = self.line()? {
            lines.push(line);
        }
        Ok(lines)
    }
}

impl Drop for Reference {
    fn drop(&mut self) {
        // Killed rather than waited for: it may be in the middle of a trace that nobody reads any more.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
