//! The tree that both text formats are read into: every key and value with its line and column.

use crate::diagnostic::quote;
use crate::path::{FieldPath, Step};
use crate::value::Value;

/// Deepest nesting that is read; far more than any Kubernetes object has.
pub(crate) const MAX_DEPTH: usize = 100;

/// A place in a text, both from 1 and in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) line: u32,
    pub(crate) column: u32,
}

impl Position {
    /// The first character of a text.
    pub(crate) const START: Position = Position { line: 1, column: 1 };
}

/// A value and where it begins.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) position: Position,
    pub(crate) data: Data,
}

/// What a node holds. Numbers keep their text, in JSON notation.
#[derive(Debug, Clone)]
pub(crate) enum Data {
    Null,
    Bool(bool),
    Number(String),
    String(String),
    List(Vec<Node>),
    Map(Vec<Entry>),
}

/// One entry of a map. A map keeps all of them, also those whose key is there twice.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) key_position: Position,
    pub(crate) value: Node,
}

/// One document of a stream: its tree, or why it has none.
pub(crate) type Document = Result<Node, SyntaxError>;

/// Why a document cannot be read.
#[derive(Debug, Clone)]
pub(crate) struct SyntaxError {
    pub(crate) position: Position,
    pub(crate) detail: String,
}

impl Node {
    /// The entry of a map that counts: the last one with this key, as JSON readers take it.
    pub(crate) fn entry(&self, key: &str) -> Option<&Entry> {
        match &self.data {
            Data::Map(entries) => entries.iter().rev().find(|entry| entry.key == key),
            _ => None,
        }
    }

    /// The string under a key of a map.
    pub(crate) fn string_at(&self, key: &str) -> Option<&str> {
        match &self.entry(key)?.value.data {
            Data::String(text) => Some(text),
            _ => None,
        }
    }

    /// Where the field at `path` is written, or its nearest parent that is there.
    pub(crate) fn locate(&self, path: &FieldPath) -> Position {
        let mut node = self;
        let mut position = self.position;
        for step in path.steps() {
            match step {
                Step::Field(name) => {
                    let Some(entry) = node.entry(name) else { break };
                    position = entry.key_position;
                    node = &entry.value;
                }
                Step::Index(index) => {
                    let Data::List(items) = &node.data else { break };
                    let Some(item) = items.get(*index) else { break };
                    position = item.position;
                    node = item;
                }
            }
        }
        position
    }

    /// The JSON type as Go's decoder names it.
    pub(crate) fn type_name(&self) -> &'static str {
        match &self.data {
            Data::Null => "null",
            Data::Bool(_) => "bool",
            Data::Number(_) => "number",
            Data::String(_) => "string",
            Data::List(_) => "array",
            Data::Map(_) => "object",
        }
    }

    /// A scalar as messages show it; nothing for lists and maps.
    pub(crate) fn shown(&self) -> Option<String> {
        match &self.data {
            Data::Bool(value) => Some(value.to_string()),
            Data::Number(text) => Some(text.clone()),
            Data::String(text) => Some(quote(text)),
            Data::Null | Data::List(_) | Data::Map(_) => None,
        }
    }

    /// The value without places; the last of several entries with one key counts.
    pub(crate) fn to_value(&self) -> Value {
        match &self.data {
            Data::Null => Value::Null,
            Data::Bool(value) => Value::Bool(*value),
            Data::Number(text) => Value::Number(text.clone()),
            Data::String(text) => Value::String(text.clone()),
            Data::List(items) => Value::List(items.iter().map(Node::to_value).collect()),
            Data::Map(entries) => {
                Value::Map(entries.iter().map(|entry| (entry.key.clone(), entry.value.to_value())).collect())
            }
        }
    }
}
