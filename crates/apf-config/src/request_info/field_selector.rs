//! Field selectors: `field=value,field!=value`, with `\` before `,`, `=` and `\` inside values.

/// The equalities of a field selector, in the order in which Kubernetes looks at them.
pub(super) struct FieldSelector {
    equalities: Vec<(String, String)>,
}

impl FieldSelector {
    /// Parses a selector; `None` when it is malformed.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut terms: Vec<&str> = terms(text).into_iter().filter(|term| !term.is_empty()).collect();
        // The first of several requirements on one field counts, and "first" is by byte order.
        terms.sort_unstable();
        let mut equalities = Vec::new();
        for term in terms {
            let (field, equal, value) = split_term(term)?;
            let value = unescape_value(value)?;
            if equal {
                equalities.push((field.to_owned(), value));
            }
        }
        Some(FieldSelector { equalities })
    }

    /// The value that the selector requires of a field, if it requires exactly one.
    pub(super) fn required_value(self, field: &str) -> Option<String> {
        self.equalities.into_iter().find(|(name, _)| name == field).map(|(_, value)| value)
    }
}

/// Splits at commas that no backslash precedes.
fn terms(text: &str) -> Vec<&str> {
    let mut escaped = false;
    text.split(|c: char| {
        let separates = c == ',' && !escaped;
        escaped = c == '\\' && !escaped;
        separates
    })
    .collect()
}

/// Splits a term at its first operator: field, whether it demands equality, value.
fn split_term(term: &str) -> Option<(&str, bool, &str)> {
    let bytes = term.as_bytes();
    for (at, byte) in bytes.iter().enumerate() {
        let (equal, width) = match (byte, bytes.get(at + 1)) {
            (b'!', Some(b'=')) => (false, 2),
            (b'=', Some(b'=')) => (true, 2),
            (b'=', _) => (true, 1),
            _ => continue,
        };
        return Some((term.get(..at)?, equal, term.get(at + width..)?));
    }
    None
}

fn unescape_value(value: &str) -> Option<String> {
    let mut plain = String::with_capacity(value.len());
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some(escaped @ ('\\' | ',' | '=')) => plain.push(escaped),
                _ => return None,
            },
            ',' | '=' => return None,
            other => plain.push(other),
        }
    }
    Some(plain)
}
