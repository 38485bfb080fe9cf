//! YAML text to serde types; the one module that knows which YAML library reads it.

use serde::de::DeserializeOwned;
use serde_saphyr::{Error as YamlError, Spanned};

use crate::error::Error;

/// A value with the place it was read from, for rules that span several fields.
pub(crate) type Placed<T> = Spanned<T>;

/// Reads one document. `name` is the file's name for messages. An error says line, column, the path of the field, and the rule.
pub(crate) fn read<T: DeserializeOwned>(text: &str, name: &str) -> Result<T, Error> {
    let mut path = String::new();
    let read = serde_saphyr::with_deserializer_from_str(text, |deserializer| {
        serde_path_to_error::deserialize(deserializer).map_err(|error| {
            // `value` is the inside of a `Placed`, not a field of ours.
            path = error.path().to_string().replace(".value", "");
            error.into_inner()
        })
    });
    read.map_err(|error| refusal(&error, &path, name))
}

/// An error at the place of a value.
pub(crate) fn refuse<T>(placed: &Placed<T>, name: &str, message: impl Into<String>) -> Error {
    Error::in_file(name, message).at_line(placed.referenced.line()).at_column(placed.referenced.column())
}

fn refusal(error: &YamlError, path: &str, name: &str) -> Error {
    let error = error.without_snippet();
    let what = match error {
        YamlError::InvalidScalar { ty, .. } => rule_of(ty).to_owned(),
        YamlError::Unexpected { expected, .. } => format!("must be a {}", kind_of(expected)),
        YamlError::DuplicateMappingKey { key: Some(key), .. } => format!("field {key:?} is there twice"),
        other => in_our_words(without_place(other)),
    };
    // What is not reached yet shows as "?" in the path, and the document itself as ".".
    let path = path.strip_suffix('?').map_or(path, |parent| parent.trim_end_matches('.'));
    let message = match path {
        "" | "." => what,
        path => format!("{path}: {what}"),
    };
    match error.location() {
        Some(place) => Error::in_file(name, message).at_line(place.line()).at_column(place.column()),
        None => Error::in_file(name, message),
    }
}

/// The library ends its messages with the place; ours stands in front.
fn without_place(error: &YamlError) -> String {
    let rendered = error.render();
    let place = error.location().map(|p| format!(" at line {}, column {}", p.line(), p.column()));
    match place.and_then(|place| rendered.split_once(&place)) {
        Some((before, after)) => format!("{before}{after}"),
        None => rendered,
    }
}

/// What the library says of values that have the wrong form in words of its own types, said of the file.
fn in_our_words(what: String) -> String {
    let said = |words: &[&str]| words.iter().any(|word| what.contains(word));
    if said(&["use Option<", "non-finite float"]) {
        "has a value of the wrong type".to_owned()
    } else if said(&["unexpected end of input"]) {
        "holds nothing".to_owned()
    } else if said(&["externally tagged enum", "unit enum variant"]) {
        "must be a single word".to_owned()
    } else {
        what
    }
}

fn rule_of(scalar_type: &str) -> &str {
    match scalar_type {
        "u32" | "u64" | "usize" => "must be a whole number, 0 or more",
        "i32" | "i64" => "must be a whole number",
        "floating point" => "must be a number",
        "boolean" => "must be true or false",
        _ => "has a value of the wrong type",
    }
}

fn kind_of(expected: &str) -> &str {
    match expected {
        "sequence start" => "list",
        "mapping start" => "mapping",
        "string scalar" | "scalar" => "single value",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::read;

    #[derive(Debug, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code)]
    struct Outer {
        inner: Vec<Inner>,
    }

    #[derive(Debug, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code)]
    struct Inner {
        seats: u32,
        rate: Option<f64>,
        open: Option<bool>,
        #[serde(default)]
        word: Word,
        #[serde(default)]
        name: String,
    }

    #[derive(Debug, Default, serde::Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Word {
        #[default]
        Exact,
    }

    #[test]
    fn errors_name_file_line_column_field_and_rule() {
        for (text, message) in [
            ("inner: [{seats: -1}]", "f:1:17: inner[0].seats: must be a whole number, 0 or more"),
            ("inner: [{seats: 1.5}]", "f:1:17: inner[0].seats: must be a whole number, 0 or more"),
            ("inner: [{seats: 1, rate: x}]", "f:1:26: inner[0].rate: must be a number"),
            ("inner: [{seats: 1, open: x}]", "f:1:26: inner[0].open: must be true or false"),
            ("inner: [{seats: 1, word: []}]", "f:1:26: inner[0].word: must be a single word"),
            ("inner: [{seats: 1, word: {}}]", "f:1:27: inner[0].word: must be a single word"),
            ("inner: [{seats: 1, word: {exact: 1}}]", "f:1:34: inner[0].word.exact: must be a single word"),
            ("inner: [{seats: 1, name: ~}]", "f:1:26: inner[0].name: has a value of the wrong type"),
            ("", "f:1:1: holds nothing"),
            ("inner: 3", "f:1:8: inner: must be a list"),
            ("inner: [3]", "f:1:9: inner[0]: must be a mapping"),
            ("inner: [{seats: 1, seats: 2}]", "f:1:20: inner[0]: field \"seats\" is there twice"),
        ] {
            assert_eq!(read::<Outer>(text, "f").unwrap_err().to_string(), message, "{text}");
        }
        let error = read::<Outer>("inner:\n- seat: 1\n", "f").unwrap_err();
        assert!(
            error.to_string().starts_with("f:2:3: inner[0].seat: unknown field `seat`, expected one of"),
            "{error}"
        );
        let error = read::<Outer>("inner:\n- rate: 1\n", "f").unwrap_err();
        assert!(error.to_string().contains("missing field `seats`"), "{error}");
        assert_eq!(error.line(), Some(2));
    }
}
