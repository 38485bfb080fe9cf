//! What `check` says of an object: an error or warning of the library, or a note on what it leads to.

use apf_config::{Diagnostic, Item};
use serde::{Serialize, Serializer};

use crate::print::{Label, visible};

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    /// The object is not used.
    Error,
    /// The object is used, and probably does not do what is meant.
    Warning,
    /// Worth knowing.
    Note,
}

impl Level {
    pub(crate) fn label(self) -> Label {
        match self {
            Level::Error => Label::Error,
            Level::Warning => Label::Warning,
            Level::Note => Label::Note,
        }
    }
}

impl Serialize for Level {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.label().as_str())
    }
}

/// One finding, with everything that is known of its place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Finding {
    pub(crate) level: Level,
    pub(crate) file: String,
    /// From 1; null when the whole file is meant.
    pub(crate) line: Option<u32>,
    /// In characters, from 1.
    pub(crate) column: Option<u32>,
    pub(crate) kind: String,
    pub(crate) name: String,
    /// Path of the field, `""` when the whole object is meant.
    pub(crate) field: String,
    pub(crate) rule: String,
    /// Field, rule, value and detail in one text, as `kubectl` shows it.
    pub(crate) message: String,
}

impl Finding {
    pub(crate) fn new(level: Level, diagnostic: Diagnostic) -> Finding {
        let message = diagnostic.message();
        let known = |number: u32| (number > 0).then_some(number);
        Finding {
            level,
            file: diagnostic.source,
            line: known(diagnostic.line),
            column: known(diagnostic.column),
            kind: diagnostic.kind,
            name: diagnostic.name,
            field: diagnostic.path,
            rule: diagnostic.rule.title().to_lowercase().replace(' ', "-"),
            message,
        }
    }

    /// A finding about the object as a whole, or about one field of it.
    pub(crate) fn about(item: &Item, level: Level, field: &str, rule: &str, detail: &str) -> Finding {
        let message = if field.is_empty() { detail.to_owned() } else { format!("{field}: {detail}") };
        Finding {
            level,
            file: item.origin.source.clone(),
            line: Some(item.origin.line),
            column: Some(item.origin.column),
            kind: item.object.kind().as_str().to_owned(),
            name: item.object.metadata().name.clone(),
            field: field.to_owned(),
            rule: rule.to_owned(),
            message,
        }
    }

    fn place(&self) -> String {
        match (self.line, self.column) {
            (Some(line), Some(column)) => format!("{}:{line}:{column}", self.file),
            _ => self.file.clone(),
        }
    }

    fn object(&self) -> String {
        if self.kind.is_empty() { String::new() } else { format!("{} \"{}\": ", self.kind, self.name) }
    }

    /// `FILE:LINE:COLUMN: Kind "name": message`, on one line.
    pub(crate) fn without_level(&self) -> String {
        visible(&format!("{}: {}{}", self.place(), self.object(), self.message))
    }

    /// `FILE:LINE:COLUMN: level: Kind "name": message`, with the level coloured.
    pub(crate) fn shown(&self) -> String {
        let said = visible(&format!("{}{}", self.object(), self.message));
        format!("{}: {}: {said}", visible(&self.place()), self.level.label().styled())
    }
}

impl From<Diagnostic> for Finding {
    fn from(diagnostic: Diagnostic) -> Finding {
        let level = if diagnostic.is_error() { Level::Error } else { Level::Warning };
        Finding::new(level, diagnostic)
    }
}
