//! A finding about one object, before it is known which object in which file it is.

use crate::diagnostic::{Diagnostic, Rule, Severity};
use crate::path::FieldPath;
use crate::tree::{Node, Position};

/// A finding at a field. Without a position of its own it is placed where the path leads.
#[derive(Debug, Clone)]
pub(crate) struct Issue {
    pub(crate) path: FieldPath,
    pub(crate) position: Option<Position>,
    pub(crate) rule: Rule,
    pub(crate) value: Option<String>,
    pub(crate) detail: String,
    pub(crate) severity: Severity,
}

impl Issue {
    /// An error placed where its path leads.
    pub(crate) fn error(
        path: FieldPath,
        rule: Rule,
        value: Option<String>,
        detail: impl Into<String>,
    ) -> Issue {
        Issue { path, position: None, rule, value, detail: detail.into(), severity: Severity::Error }
    }

    /// A warning placed where its path leads.
    pub(crate) fn warning(
        path: FieldPath,
        rule: Rule,
        value: Option<String>,
        detail: impl Into<String>,
    ) -> Issue {
        Issue { severity: Severity::Warning, ..Issue::error(path, rule, value, detail) }
    }

    /// Names file, place and object.
    pub(crate) fn into_diagnostic(self, source: &str, root: &Node, kind: &str, name: &str) -> Diagnostic {
        let position = self.position.unwrap_or_else(|| root.locate(&self.path));
        Diagnostic {
            source: source.to_owned(),
            line: position.line,
            column: position.column,
            kind: kind.to_owned(),
            name: name.to_owned(),
            path: self.path.to_string(),
            rule: self.rule,
            value: self.value,
            detail: self.detail,
            severity: self.severity,
        }
    }
}
