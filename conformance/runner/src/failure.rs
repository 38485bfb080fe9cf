//! What can go wrong besides a difference.

use std::fmt;

/// An error of the runner itself, a trace that cannot be read, or a broken reference process.
#[derive(Debug)]
pub enum Failure {
    /// A trace breaks the format's rules.
    Trace {
        /// File name, or what else the trace came from.
        source: String,
        /// Line, from 1.
        line: usize,
        /// Which rule it breaks.
        rule: String,
    },
    /// A file, pipe or process could not be used.
    Io {
        /// What was being done, with the name of the file or program.
        doing: String,
        /// The operating system's answer.
        cause: std::io::Error,
    },
    /// The reference program broke its protocol.
    Reference(String),
    /// Our core refused something that a valid trace may ask for.
    Core(String),
    /// A mutation cannot be applied or built.
    Mutation(String),
}

impl Failure {
    /// Wraps an I/O error with what was being done.
    pub fn io(doing: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let doing = doing.into();
        move |cause| Self::Io { doing, cause }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Trace { source, line, rule } => write!(f, "{source}:{line}: {rule}"),
            Self::Io { doing, cause } => write!(f, "{doing}: {cause}"),
            Self::Reference(what) => write!(f, "the reference program {what}"),
            Self::Core(what) => write!(f, "apf-core: {what}"),
            Self::Mutation(what) => write!(f, "mutation {what}"),
        }
    }
}

impl std::error::Error for Failure {}
