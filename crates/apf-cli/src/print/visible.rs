//! Names as people may see them: whoever wrote a log or a manifest does not get to steer the terminal.

/// The text with everything that is not shown as itself written as an escape: control characters, line separators, marks that
/// turn the direction of writing.
pub(crate) fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => shown.push_str("\\n"),
            '\r' => shown.push_str("\\r"),
            '\t' => shown.push_str("\\t"),
            c if c.is_ascii_control() => shown.push_str(&format!("\\x{:02x}", u32::from(c))),
            c if c.is_control() || is_invisible(c) => shown.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => shown.push(c),
        }
    }
    shown
}

fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::visible;

    #[test]
    fn what_steers_a_terminal_is_escaped_and_nothing_else() {
        assert_eq!(
            visible("a\u{1b}[31m\n\tb\r\u{7f}\u{9b}2J\u{202e}x"),
            "a\\x1b[31m\\n\\tb\\r\\x7f\\u009b2J\\u202ex"
        );
        assert_eq!(visible("ünï 😀 \"x\" \\"), "ünï 😀 \"x\" \\");
    }
}
