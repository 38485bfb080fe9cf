//! The one error of this crate: where in which file, and what rule was broken.

use std::fmt;

/// Why an input was refused. `Display` is `FILE:LINE:COLUMN: message`, without the parts that are not known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    source: String,
    line: Option<u64>,
    column: Option<u64>,
    message: String,
}

impl Error {
    /// An error that belongs to no file.
    pub fn new(message: impl Into<String>) -> Self {
        Error { source: String::new(), line: None, column: None, message: message.into() }
    }

    /// An error about a whole file; `source` is its name as the user gave it.
    pub fn in_file(source: impl Into<String>, message: impl Into<String>) -> Self {
        Error { source: source.into(), line: None, column: None, message: message.into() }
    }

    /// Adds the line, counted from 1.
    #[must_use]
    pub fn at_line(mut self, line: u64) -> Self {
        self.line = Some(line);
        self
    }

    /// Adds the column, counted from 1.
    #[must_use]
    pub fn at_column(mut self, column: u64) -> Self {
        self.column = Some(column);
        self
    }

    /// Name of the file, empty when the error belongs to none.
    pub fn source_name(&self) -> &str {
        &self.source
    }

    /// Line, counted from 1.
    pub fn line(&self) -> Option<u64> {
        self.line
    }

    /// Column, counted from 1.
    pub fn column(&self) -> Option<u64> {
        self.column
    }

    /// What is wrong, without the place.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.source.is_empty() {
            write!(f, "{}:", self.source)?;
            if let Some(line) = self.line {
                write!(f, "{line}:")?;
                if let Some(column) = self.column {
                    write!(f, "{column}:")?;
                }
            }
            f.write_str(" ")?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}
