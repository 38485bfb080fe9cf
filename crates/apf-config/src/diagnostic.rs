//! What is wrong, where, with which object: the form kubectl users know, with file, line and column.

use std::fmt;

/// How much a diagnostic matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The object is used, but something is worth knowing.
    Warning,
    /// The object is not used.
    Error,
}

/// Which rule a diagnostic comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Rule {
    /// The file cannot be read, or a folder holds no manifest.
    Unreadable,
    /// The text is not UTF-8, YAML or JSON.
    Syntax,
    /// The value has another JSON type than the field, or does not fit into it.
    Type,
    /// A field that this version of the kind does not have.
    UnknownField,
    /// A field that is written twice.
    DuplicateField,
    /// `FieldValueRequired`.
    Required,
    /// `FieldValueInvalid`.
    Invalid,
    /// `FieldValueNotSupported`.
    NotSupported,
    /// `FieldValueForbidden`.
    Forbidden,
    /// `FieldValueDuplicate`.
    Duplicate,
    /// `FieldValueTooLong`.
    TooLong,
    /// A version that servers have given up or will.
    Deprecated,
    /// A value that is set to another one, as a server does silently.
    Ignored,
    /// A value that the chosen version cannot express.
    Lossy,
}

impl Rule {
    /// The title in messages; for `FieldValue…` rules it is the one of Kubernetes.
    pub fn title(self) -> &'static str {
        match self {
            Rule::Unreadable => "Unreadable",
            Rule::Syntax => "Syntax error",
            Rule::Type => "Invalid type",
            Rule::UnknownField => "Unknown field",
            Rule::DuplicateField => "Duplicate field",
            Rule::Required => "Required value",
            Rule::Invalid => "Invalid value",
            Rule::NotSupported => "Unsupported value",
            Rule::Forbidden => "Forbidden",
            Rule::Duplicate => "Duplicate value",
            Rule::TooLong => "Too long",
            Rule::Deprecated => "Deprecated",
            Rule::Ignored => "Ignored",
            Rule::Lossy => "Lossy conversion",
        }
    }
}

/// One finding.
///
/// `Display` gives `file:line:column: Kind "name": path: Title: value: detail`, with `warning: ` after the
/// place when it is one. Parts that are not known are left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// Name of the file or stream.
    pub source: String,
    /// Line from 1, 0 when it has none.
    pub line: u32,
    /// Column in characters from 1, 0 when it has none.
    pub column: u32,
    /// `kind` of the object as written, empty when not known.
    pub kind: String,
    /// `metadata.name` of the object, empty when not known.
    pub name: String,
    /// Path of the field, such as `spec.rules[0].subjects`; empty when the whole object or file is meant.
    pub path: String,
    /// The rule.
    pub rule: Rule,
    /// The offending value as Kubernetes prints it, where the rule shows one.
    pub value: Option<String>,
    /// What the rule asks for; may be empty.
    pub detail: String,
    /// Error or warning.
    pub severity: Severity,
}

impl Diagnostic {
    /// Whether the object (or file) cannot be used.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    /// The message without place and object, as in a cause of a Kubernetes `Status`:
    /// `path: Title: value: detail`.
    pub fn message(&self) -> String {
        match self.rule {
            Rule::UnknownField | Rule::DuplicateField => {
                let prefix = if self.is_error() { "strict decoding error: " } else { "" };
                let what = if self.rule == Rule::UnknownField { "unknown" } else { "duplicate" };
                format!("{prefix}{what} field {}", quote(&self.path))
            }
            _ => {
                let mut parts: Vec<&str> = Vec::with_capacity(4);
                if !self.path.is_empty() {
                    parts.push(&self.path);
                }
                parts.push(self.rule.title());
                if let Some(value) = &self.value {
                    parts.push(value);
                }
                if !self.detail.is_empty() {
                    parts.push(&self.detail);
                }
                parts.join(": ")
            }
        }
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.source)?;
        if self.line > 0 {
            write!(f, ":{}:{}", self.line, self.column)?;
        }
        f.write_str(": ")?;
        if self.severity == Severity::Warning {
            f.write_str("warning: ")?;
        }
        if !self.kind.is_empty() {
            write!(f, "{} {}: ", self.kind, quote(&self.name))?;
        }
        f.write_str(&self.message())
    }
}

/// The text in double quotes with Go's escapes (`%q`).
pub(crate) fn quote(text: &str) -> String {
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
            c if u32::from(c) < 0x80 && c.is_control() => {
                quoted.push_str(&format!("\\x{:02x}", u32::from(c)))
            }
            c if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}') => {
                quoted.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}
