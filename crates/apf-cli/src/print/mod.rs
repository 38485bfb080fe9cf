//! Everything that leaves the program: results on standard output, messages on standard error.
//!
//! A result is complete before its first byte is written. A reader that goes away (`| head`) ends nothing
//! with an error.

mod format;
mod progress;
mod table;
mod visible;

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};

pub(crate) use format::{Figures, Format, json, quantity, seconds};
pub(crate) use progress::Bar;
pub(crate) use table::{Column, Table};
pub(crate) use visible::visible;

/// What kind of message it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Label {
    /// Why there is no result.
    Error,
    /// Something that may not be meant.
    Warning,
    /// An assumption that the result rests on.
    Note,
}

impl Label {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Label::Error => "error",
            Label::Warning => "warning",
            Label::Note => "note",
        }
    }

    /// The word, coloured; the colour is taken out where it is not wanted.
    pub(crate) fn styled(self) -> String {
        let colour = match self {
            Label::Error => AnsiColor::Red,
            Label::Warning => AnsiColor::Yellow,
            Label::Note => AnsiColor::Cyan,
        };
        let style = Style::new().bold().fg_color(Some(colour.into()));
        format!("{style}{}{style:#}", self.as_str())
    }
}

/// Writes a result to standard output, byte for byte.
pub(crate) fn result(text: &str) {
    write_all(io::stdout().lock(), text);
}

/// Writes a result with coloured words; the colour is taken out where it is not wanted.
pub(crate) fn coloured_result(text: &str) {
    write_all(anstream::stdout().lock(), text);
}

fn write_all(mut out: impl Write, text: &str) {
    // The reader may be gone; there is nobody left to tell.
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Writes each line of a message to standard error, behind its label.
pub(crate) fn message(label: Label, text: &str) {
    let mut err = anstream::stderr().lock();
    for line in text.lines() {
        let written: io::Result<()> = writeln!(err, "{}: {}", label.styled(), visible(line));
        if written.is_err() {
            return;
        }
    }
}
