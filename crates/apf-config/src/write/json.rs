//! JSON text.

use crate::value::Value;

/// The value on one line.
pub(crate) fn text(value: &Value) -> String {
    let mut out = String::new();
    write(&mut out, value, None);
    out
}

/// The value indented by four blanks a level, as kubectl prints it, with a final line break.
pub(super) fn pretty(value: &Value) -> String {
    let mut out = String::new();
    write(&mut out, value, Some(0));
    out.push('\n');
    out
}

/// A JSON string.
pub(crate) fn string(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c < ' ' || matches!(c, '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}') => {
                out.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

fn write(out: &mut String, value: &Value, indent: Option<usize>) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Value::Number(number) => out.push_str(number),
        Value::String(text) => out.push_str(&string(text)),
        Value::List(items) => nested(out, '[', ']', items.iter(), indent, write),
        Value::Map(members) => nested(out, '{', '}', members.iter(), indent, |out, (key, value), indent| {
            out.push_str(&string(key));
            out.push_str(if indent.is_some() { ": " } else { ":" });
            write(out, value, indent);
        }),
    }
}

fn nested<T>(
    out: &mut String,
    open: char,
    close: char,
    items: impl Iterator<Item = T>,
    indent: Option<usize>,
    each: impl Fn(&mut String, T, Option<usize>),
) {
    let inner = indent.map(|indent| indent + 1);
    let mut empty = true;
    out.push(open);
    for item in items {
        if !empty {
            out.push(',');
        }
        empty = false;
        line_break(out, inner);
        each(out, item, inner);
    }
    if !empty {
        line_break(out, indent);
    }
    out.push(close);
}

fn line_break(out: &mut String, indent: Option<usize>) {
    if let Some(indent) = indent {
        out.push('\n');
        out.extend(std::iter::repeat_n("    ", indent));
    }
}
