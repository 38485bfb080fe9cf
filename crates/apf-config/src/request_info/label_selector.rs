//! Label selectors, as far as asking whether one is well-formed: a malformed one makes all list options
//! undecodable.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token<'a> {
    Word(&'a str),
    Symbol(&'static str),
    End,
}

/// Whether Kubernetes can parse the selector: `key`, `!key`, `key=value`, `key in (a,b)` and so on, separated by
/// commas.
pub(super) fn is_valid(text: &str) -> bool {
    selector(&mut Tokens { rest: text }).is_some()
}

fn selector(tokens: &mut Tokens<'_>) -> Option<()> {
    if tokens.peek() == Token::End {
        return Some(());
    }
    loop {
        requirement(tokens)?;
        match tokens.next() {
            Token::End => return Some(()),
            Token::Symbol(",") => {}
            _ => return None,
        }
    }
}

fn requirement(tokens: &mut Tokens<'_>) -> Option<()> {
    let (negated, key) = match tokens.next() {
        Token::Symbol("!") => (true, tokens.next()),
        other => (false, other),
    };
    let Token::Word(key) = key else { return None };
    if !is_label_key(key) {
        return None;
    }
    if negated || matches!(tokens.peek(), Token::End | Token::Symbol(",")) {
        return Some(());
    }
    match tokens.next() {
        Token::Word("in" | "notin") => value_set(tokens),
        Token::Symbol("=" | "==" | "!=") => {
            exact_value(tokens).filter(|value| is_label_value(value)).map(drop)
        }
        Token::Symbol(">" | "<") => exact_value(tokens)
            .filter(|value| is_label_value(value) && value.parse::<i64>().is_ok())
            .map(drop),
        _ => None,
    }
}

fn exact_value<'a>(tokens: &mut Tokens<'a>) -> Option<&'a str> {
    match tokens.peek() {
        Token::End | Token::Symbol(",") => Some(""),
        Token::Word(value) => {
            tokens.next();
            Some(value)
        }
        Token::Symbol(_) => None,
    }
}

/// `(a,b)`. Empty members are allowed and commas may repeat.
fn value_set(tokens: &mut Tokens<'_>) -> Option<()> {
    if tokens.next() != Token::Symbol("(") {
        return None;
    }
    let mut after_word = false;
    loop {
        match tokens.next() {
            Token::Word(value) if !after_word && is_label_value(value) => after_word = true,
            Token::Symbol(",") => after_word = false,
            Token::Symbol(")") => return Some(()),
            _ => return None,
        }
    }
}

struct Tokens<'a> {
    rest: &'a str,
}

impl<'a> Tokens<'a> {
    fn peek(&self) -> Token<'a> {
        Tokens { rest: self.rest }.next()
    }

    fn next(&mut self) -> Token<'a> {
        const SYMBOLS: [&str; 9] = ["==", "!=", "=", "!", "(", ")", ",", ">", "<"];
        self.rest = self.rest.trim_start_matches([' ', '\t', '\r', '\n']);
        // The reference takes a NUL for the end where a token could begin, and skips one right after a token.
        if self.rest.is_empty() || self.rest.starts_with('\0') {
            return Token::End;
        }
        for symbol in SYMBOLS {
            if let Some(rest) = self.rest.strip_prefix(symbol) {
                self.rest = rest.strip_prefix('\0').unwrap_or(rest);
                return Token::Symbol(symbol);
            }
        }
        let ends = |c: char| "=!(),>< \t\r\n\0".contains(c);
        let (word, rest) = self.rest.split_at(self.rest.find(ends).unwrap_or(self.rest.len()));
        self.rest = rest.strip_prefix('\0').unwrap_or(rest);
        Token::Word(word)
    }
}

fn is_label_key(key: &str) -> bool {
    match key.split_once('/') {
        None => is_name(key),
        Some((prefix, name)) => is_name(name) && is_dns_subdomain(prefix),
    }
}

fn is_label_value(value: &str) -> bool {
    value.is_empty() || is_name(value)
}

/// At most 63 of letters, digits, `-`, `_` and `.`, the outer ones letters or digits.
fn is_name(name: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let bytes = name.as_bytes();
    bytes.len() <= 63
        && bytes.first().is_some_and(u8::is_ascii_alphanumeric)
        && bytes.last().is_some_and(u8::is_ascii_alphanumeric)
        && bytes.iter().all(|&byte| inner(byte))
}

fn is_dns_subdomain(name: &str) -> bool {
    let outer = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let is_label = |label: &str| {
        let bytes = label.as_bytes();
        bytes.first().is_some_and(outer)
            && bytes.last().is_some_and(outer)
            && bytes.iter().all(|byte| outer(byte) || *byte == b'-')
    };
    name.len() <= 253 && name.split('.').all(is_label)
}
