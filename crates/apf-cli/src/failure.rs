//! How a command ends, and the exit code that says so.

use std::fmt;
use std::process::ExitCode;

/// The end of a command that did its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Nothing to complain of: exit code 0.
    Good,
    /// The result is printed, and it says that something does not hold: exit code 1.
    Findings,
}

impl Outcome {
    pub(crate) fn exit_code(self) -> ExitCode {
        ExitCode::from(match self {
            Outcome::Good => 0,
            Outcome::Findings => 1,
        })
    }
}

/// Why a command has no result. Nothing was written to standard output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Failure {
    /// An input was read and refused: exit code 1. One message a line.
    Refused(Vec<String>),
    /// The command line asks for something impossible, or a file cannot be read: exit code 2.
    Usage(String),
}

impl Failure {
    pub(crate) fn refused(message: impl fmt::Display) -> Failure {
        Failure::Refused(vec![message.to_string()])
    }

    pub(crate) fn usage(message: impl Into<String>) -> Failure {
        Failure::Usage(message.into())
    }

    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(match self {
            Failure::Refused(_) => 1,
            Failure::Usage(_) => 2,
        })
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Refused(messages) => f.write_str(&messages.join("\n")),
            Failure::Usage(message) => f.write_str(message),
        }
    }
}
