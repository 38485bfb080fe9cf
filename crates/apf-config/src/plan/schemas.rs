//! Which FlowSchemas take part, in which order, and what their status says.

use std::fmt;

use crate::objects::{Condition, FlowSchemaSpec};

/// A FlowSchema that takes part in classification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedSchema {
    /// Name.
    pub name: String,
    /// UID of the object, empty for an imagined schema.
    pub uid: String,
    /// The spec.
    pub spec: FlowSchemaSpec,
    /// Index of its level among [`Plan::levels`](super::Plan::levels).
    pub level: usize,
    /// Whether it is a mandatory schema that no object in force provides.
    pub imagined: bool,
}

/// Why a FlowSchema object takes no part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SchemaDefect {
    /// There is no acceptable level of the name it gives.
    Dangling,
    /// `distinguisherMethod.type` is neither `ByUser` nor `ByNamespace`; a server's validation refuses it.
    UnknownDistinguisher(String),
}

impl fmt::Display for SchemaDefect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dangling => f.write_str(
                "spec.priorityLevelConfiguration.name refers to no acceptable PriorityLevelConfiguration",
            ),
            Self::UnknownDistinguisher(kind) => {
                write!(f, "spec.distinguisherMethod.type must be \"ByNamespace\" or \"ByUser\", not {kind:?}")
            }
        }
    }
}

/// What became of one FlowSchema object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaStatus {
    /// Name of the schema.
    pub name: String,
    /// Name of the level it refers to.
    pub level: String,
    /// Whether that level is missing or not acceptable.
    pub dangling: bool,
    /// Why it takes no part, if it does not.
    pub ignored: Option<SchemaDefect>,
}

impl SchemaStatus {
    /// The condition `Dangling`, byte for byte as kube-apiserver writes it, without a time.
    pub fn condition(&self) -> Condition {
        let level = go_quoted(&self.level);
        let (status, reason, end) = if self.dangling {
            ("True", "NotFound", "but there is no such object")
        } else {
            ("False", "Found", "and it exists")
        };
        Condition {
            kind: "Dangling".to_owned(),
            status: status.to_owned(),
            last_transition_time: None,
            reason: reason.to_owned(),
            message: format!(
                "This FlowSchema references the PriorityLevelConfiguration object named {level} {end}"
            ),
        }
    }
}

/// A string in the quotes of Go's `%q`, exact for every name that validation accepts and for ASCII.
fn go_quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '\u{7}' => quoted.push_str("\\a"),
            '\u{8}' => quoted.push_str("\\b"),
            '\u{b}' => quoted.push_str("\\v"),
            '\u{c}' => quoted.push_str("\\f"),
            c if c.is_ascii_control() => quoted.push_str(&format!("\\x{:02x}", u32::from(c))),
            c if c.is_control() => quoted.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_dangling_condition_is_what_replicas_compare() {
        let mut status =
            SchemaStatus { name: "s".into(), level: "my-level".into(), dangling: true, ignored: None };
        let condition = status.condition();
        assert_eq!(
            (&*condition.kind, &*condition.status, &*condition.reason),
            ("Dangling", "True", "NotFound")
        );
        assert_eq!(
            condition.message,
            "This FlowSchema references the PriorityLevelConfiguration object named \"my-level\" but there is no such object"
        );
        status.dangling = false;
        let condition = status.condition();
        assert_eq!((&*condition.status, &*condition.reason), ("False", "Found"));
        assert_eq!(
            condition.message,
            "This FlowSchema references the PriorityLevelConfiguration object named \"my-level\" and it exists"
        );
    }

    #[test]
    fn names_are_quoted_as_go_quotes_them() {
        assert_eq!(go_quoted("a\"b\\c\n\t\u{1}\u{7f}\u{85}é"), "\"a\\\"b\\\\c\\n\\t\\x01\\x7f\\u0085é\"");
    }
}
