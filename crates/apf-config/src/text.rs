//! Bytes to documents: encoding, and whether the text is JSON or YAML.

use crate::json;
use crate::tree::{Document, Position, SyntaxError};
use crate::yaml;

/// The documents of one file.
pub(crate) struct Text {
    pub(crate) documents: Vec<Document>,
    /// Where the bytes are not UTF-8. The documents are read all the same, with the bad bytes replaced, so
    /// that the other mistakes show too; none of their objects should be used.
    pub(crate) encoding_error: Option<SyntaxError>,
}

/// Reads a file. A text that begins like JSON is read as JSON, and as YAML when it is not JSON.
pub(crate) fn read(content: &[u8]) -> Text {
    let (text, encoding_error) = match std::str::from_utf8(content) {
        Ok(text) => (text.into(), None),
        Err(error) => {
            let (good, _) = content.split_at(error.valid_up_to());
            let position = end_of(&String::from_utf8_lossy(good));
            let detail =
                if good.is_empty() && content.starts_with(b"\xff\xfe") || content.starts_with(b"\xfe\xff") {
                    "the text is UTF-16, not UTF-8"
                } else {
                    "the text is not UTF-8"
                };
            let error = SyntaxError { position, detail: detail.to_owned() };
            (String::from_utf8_lossy(content), Some(error))
        }
    };
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    Text { documents: documents(text), encoding_error }
}

fn documents(text: &str) -> Vec<Document> {
    if !json::looks_like_json(text) {
        return yaml::documents(text);
    }
    let (documents, error) = json::documents(text);
    let whole = documents.into_iter().map(Ok);
    let Some(error) = error else { return whole.collect() };
    let as_yaml = yaml::documents(text);
    let quoted_key = text.trim_start().trim_start_matches(['{', '[']).trim_start().starts_with('"');
    let is_json = quoted_key && !is_separator(text, error.position) && as_yaml.iter().any(Result::is_err);
    if is_json { whole.chain([Err(error)]).collect() } else { as_yaml }
}

/// Whether the line there separates YAML documents, which may be written in JSON themselves.
fn is_separator(text: &str, at: Position) -> bool {
    let line = usize::try_from(at.line).ok().and_then(|line| text.lines().nth(line.saturating_sub(1)));
    line.is_some_and(|line| line.starts_with("---"))
}

/// The place right behind a text.
fn end_of(text: &str) -> Position {
    let clamp = |value: usize| u32::try_from(value).unwrap_or(u32::MAX);
    let line = text.matches('\n').count().saturating_add(1);
    let column = text.rsplit('\n').next().map_or(0, |last| last.chars().count()).saturating_add(1);
    Position { line: clamp(line), column: clamp(column) }
}
