//! YAML text in the style of `kubectl get -o yaml`: keys in alphabetical order, lists not indented.
//!
//! A string stays unquoted only when it is a plain word under every version of YAML.

use super::json;
use crate::scalar;
use crate::tree::Data;
use crate::value::Value;

/// One document for each value, with `---` between them.
pub(super) fn documents(values: &[Value]) -> String {
    let mut out = String::new();
    for (position, value) in values.iter().enumerate() {
        if position > 0 {
            out.push_str("---\n");
        }
        block(&mut out, value, 0);
    }
    out
}

/// Writes the value, beginning where the line stands, with further lines indented.
fn block(out: &mut String, value: &Value, indent: usize) {
    match value {
        Value::Map(members) if !members.is_empty() => {
            for (position, (key, value)) in members.iter().enumerate() {
                if position > 0 {
                    blanks(out, indent);
                }
                out.push_str(&string(key));
                out.push(':');
                below(out, value, indent);
            }
        }
        Value::List(items) if !items.is_empty() => {
            for (position, item) in items.iter().enumerate() {
                if position > 0 {
                    blanks(out, indent);
                }
                out.push_str("- ");
                block(out, item, indent + 1);
            }
        }
        _ => {
            out.push_str(&inline(value));
            out.push('\n');
        }
    }
}

/// Writes the value of a key: on the same line when it is short, else on the lines below.
fn below(out: &mut String, value: &Value, indent: usize) {
    let inner = match value {
        Value::Map(members) if !members.is_empty() => indent + 1,
        Value::List(items) if !items.is_empty() => indent,
        _ => {
            out.push(' ');
            out.push_str(&inline(value));
            out.push('\n');
            return;
        }
    };
    out.push('\n');
    blanks(out, inner);
    block(out, value, inner);
}

fn blanks(out: &mut String, indent: usize) {
    out.extend(std::iter::repeat_n("  ", indent));
}

fn inline(value: &Value) -> String {
    match value {
        Value::String(text) => string(text),
        Value::Map(_) => "{}".to_owned(),
        Value::List(_) => "[]".to_owned(),
        other => json::text(other),
    }
}

fn string(text: &str) -> String {
    if is_plain(text) {
        text.to_owned()
    } else if text.chars().all(|c| (' '..='~').contains(&c)) {
        format!("'{}'", text.replace('\'', "''"))
    } else {
        json::string(text)
    }
}

fn is_plain(text: &str) -> bool {
    let inside = |c: char| c.is_ascii_alphanumeric() || "-_./ :@+".contains(c);
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/')
        && text.ends_with(|c: char| c != ' ' && c != ':')
        && text.chars().all(inside)
        && !text.contains(": ")
        && matches!(scalar::resolve_plain(text), Ok(Data::String(_)))
}
