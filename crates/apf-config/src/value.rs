//! A JSON-shaped value that can be compared: what metadata keeps uninterpreted and what is written.

use std::collections::BTreeMap;

/// A JSON value. Numbers keep their text, so that nothing is rounded on the way through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number, in JSON notation.
    Number(String),
    /// A string.
    String(String),
    /// An array.
    List(Vec<Value>),
    /// An object, ordered by key as the Kubernetes tools print it.
    Map(BTreeMap<String, Value>),
}

impl Value {
    /// An object of the given members.
    pub fn map<const N: usize>(members: [(&str, Value); N]) -> Value {
        Value::Map(members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
    }

    /// The member `key` of an object, `None` for anything else.
    pub fn get(&self, key: &str) -> Option<&Value> {
        match self {
            Value::Map(members) => members.get(key),
            _ => None,
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::String(text.to_owned())
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Value {
        Value::Bool(value)
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Value {
        Value::Number(value.to_string())
    }
}

impl From<i32> for Value {
    fn from(value: i32) -> Value {
        Value::Number(value.to_string())
    }
}

impl From<Option<i32>> for Value {
    fn from(value: Option<i32>) -> Value {
        value.map_or(Value::Null, Value::from)
    }
}

impl From<&[String]> for Value {
    fn from(items: &[String]) -> Value {
        Value::List(items.iter().map(|item| Value::from(item.as_str())).collect())
    }
}
