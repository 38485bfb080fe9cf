//! The query of a request, and the list options in it.

use std::borrow::Cow;

use super::field_selector::FieldSelector;
use super::label_selector;

/// A query string, looked up by key without being taken apart first.
pub(super) struct Query<'a>(&'a str);

impl<'a> Query<'a> {
    pub(super) fn new(raw: &'a str) -> Self {
        Query(raw)
    }

    /// The first value of a key. Pairs that contain `;` or cannot be decoded do not exist.
    fn first(&self, key: &str) -> Option<String> {
        self.0.split('&').filter(|pair| !pair.is_empty() && !pair.contains(';')).find_map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let name = unescape(name, true)?;
            let value = unescape(value, true)?;
            (name == key).then_some(value)
        })
    }
}

/// Those list options that matter for what a request asks for.
#[derive(Debug, Default)]
pub(super) struct ListOptions {
    /// Whether it is a watch.
    pub(super) watch: bool,
    /// The one name that the field selector leaves, when it can be a segment of a path.
    pub(super) pinned_name: Option<String>,
}

impl ListOptions {
    /// Reads the options. When any of them cannot be decoded, only `watch` counts.
    pub(super) fn decode(query: &Query<'_>) -> Self {
        let watch = query.first("watch").is_some_and(|value| is_true(&value));
        let pinned_name =
            if numbers_decode(query) && labels_decode(query) { pinned_name(query) } else { None };
        ListOptions { watch, pinned_name }
    }
}

/// Kubernetes' reading of a boolean parameter: present and neither `0` nor `false`.
fn is_true(value: &str) -> bool {
    value != "0" && !value.eq_ignore_ascii_case("false")
}

fn numbers_decode(query: &Query<'_>) -> bool {
    ["timeoutSeconds", "limit"]
        .iter()
        .all(|key| query.first(key).is_none_or(|value| value.parse::<i64>().is_ok()))
}

fn labels_decode(query: &Query<'_>) -> bool {
    query.first("labelSelector").is_none_or(|selector| label_selector::is_valid(&selector))
}

fn pinned_name(query: &Query<'_>) -> Option<String> {
    let text = query.first("fieldSelector")?;
    let name = FieldSelector::parse(&text)?.required_value("metadata.name")?;
    is_path_segment(&name).then_some(name)
}

fn is_path_segment(name: &str) -> bool {
    !matches!(name, "." | "..") && !name.contains(['/', '%'])
}

/// Decodes percent escapes, and `+` as a space where the text is part of a query. `None` when a `%` is not
/// followed by two hexadecimal digits.
pub(super) fn unescape(text: &str, in_query: bool) -> Option<String> {
    let encoded = |c: char| c == '%' || in_query && c == '+';
    if !text.contains(encoded) {
        return Some(text.to_owned());
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => hex_digit(rest.next()?)? << 4 | hex_digit(rest.next()?)?,
            b'+' if in_query => b' ',
            other => other,
        });
    }
    Some(match String::from_utf8_lossy(&bytes) {
        Cow::Borrowed(valid) => valid.to_owned(),
        Cow::Owned(repaired) => repaired,
    })
}

fn hex_digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}
