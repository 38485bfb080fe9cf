//! Runs other programs from the repository's root and says which one failed.

use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Why a step did not hold.
#[derive(Debug)]
pub(crate) enum Stop {
    /// The step ran and something is wrong.
    Fail(String),
    /// The step cannot run on this machine; the text names what is missing.
    Skip(String),
    /// The command line was not understood.
    Usage(String),
}

impl From<lexopt::Error> for Stop {
    fn from(error: lexopt::Error) -> Self {
        Stop::Usage(error.to_string())
    }
}

/// Makes any error a failure that says what was being done.
pub(crate) fn fail<E: fmt::Display>(doing: &str) -> impl Fn(E) -> Stop {
    move |error| Stop::Fail(format!("{doing}: {error}"))
}

/// The repository's root. `cargo run` says where the package is; the place it was built in may be another.
pub(crate) fn root() -> PathBuf {
    let manifest =
        std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    let manifest = Path::new(&manifest);
    manifest.parent().unwrap_or(manifest).to_path_buf()
}

/// Where cargo puts what it builds for the main workspace.
pub(crate) fn target_dir() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |dir| root().join(dir))
}

/// Where cargo puts what it builds for one of the workspaces of their own, given their folder.
pub(crate) fn own_target_dir(folder: &str) -> PathBuf {
    target_dir().join("own").join(folder.replace('/', "-"))
}

/// One program with its arguments, to be run from the repository's root unless told otherwise.
pub(crate) struct Program {
    command: Command,
    shown: String,
}

/// What a program printed and how it ended.
pub(crate) struct Output {
    pub(crate) success: bool,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// The program of that name.
pub(crate) fn program(name: impl AsRef<OsStr>) -> Program {
    let mut command = Command::new(name.as_ref());
    command.current_dir(root()).stdin(Stdio::null());
    Program { command, shown: name.as_ref().to_string_lossy().into_owned() }
}

/// `cargo` with these arguments.
pub(crate) fn cargo<I, S>(args: I) -> Program
where
    I: IntoIterator<Item = S>,
    S: AsRef<OsStr>,
{
    program("cargo").args(args)
}

impl Program {
    pub(crate) fn args<I, S>(mut self, args: I) -> Self
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        for arg in args {
            self.shown.push(' ');
            self.shown.push_str(&arg.as_ref().to_string_lossy());
            self.command.arg(arg);
        }
        self
    }

    /// Runs in this folder, relative to the root.
    pub(crate) fn within(mut self, folder: impl AsRef<Path>) -> Self {
        self.command.current_dir(root().join(folder));
        self
    }

    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    pub(crate) fn without_env(mut self, name: &str) -> Self {
        self.command.env_remove(name);
        self
    }

    /// Sends what the program prints on standard output to our standard error, which keeps ours for results.
    pub(crate) fn output_to_stderr(mut self) -> Self {
        self.command.stdout(Stdio::from(std::io::stderr()));
        self
    }

    /// Runs to the end, its output going where ours goes; anything but exit code 0 is a failure.
    pub(crate) fn run(mut self) -> Result<(), Stop> {
        eprintln!("$ {}", self.shown);
        match self.command.status() {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(Stop::Fail(format!("`{}` ended with {status}", self.shown))),
            Err(error) => Err(Stop::Fail(format!("`{}` did not start: {error}", self.shown))),
        }
    }

    /// Runs to the end and hands back what it printed, whatever its exit code.
    pub(crate) fn capture(mut self) -> Result<Output, Stop> {
        match self.command.output() {
            Ok(output) => Ok(Output {
                success: output.status.success(),
                stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
                stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            }),
            Err(error) => Err(Stop::Fail(format!("`{}` did not start: {error}", self.shown))),
        }
    }

    /// Runs to the end and hands back its standard output; anything but exit code 0 is a failure.
    pub(crate) fn read(self) -> Result<String, Stop> {
        let shown = self.shown.clone();
        let output = self.capture()?;
        if output.success {
            Ok(output.stdout)
        } else {
            Err(Stop::Fail(format!("`{shown}` failed:\n{}{}", output.stdout, output.stderr)))
        }
    }
}
