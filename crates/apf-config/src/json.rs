//! JSON text to documents: one value or several after each other, as kubectl reads them.

use std::iter::Peekable;
use std::str::Chars;

use crate::tree::{Data, Entry, MAX_DEPTH, Node, Position, SyntaxError};

/// Whether a text is taken for JSON first: it begins with a brace or a bracket.
pub(crate) fn looks_like_json(text: &str) -> bool {
    text.trim_start().starts_with(['{', '['])
}

/// Reads every value up to the first error: JSON has no place to go on from.
pub(crate) fn documents(text: &str) -> (Vec<Node>, Option<SyntaxError>) {
    let mut reader = Reader { rest: text.chars().peekable(), position: Position::START, depth: 0 };
    let mut documents = Vec::new();
    loop {
        reader.skip_blanks();
        if reader.rest.peek().is_none() {
            return (documents, None);
        }
        match reader.value() {
            Ok(document) => documents.push(document),
            Err(error) => return (documents, Some(error)),
        }
    }
}

struct Reader<'t> {
    rest: Peekable<Chars<'t>>,
    position: Position,
    depth: usize,
}

impl Reader<'_> {
    fn next(&mut self) -> Option<char> {
        let c = self.rest.next()?;
        if c == '\n' {
            self.position = Position { line: self.position.line.saturating_add(1), column: 1 };
        } else {
            self.position.column = self.position.column.saturating_add(1);
        }
        Some(c)
    }

    fn skip_blanks(&mut self) {
        while matches!(self.rest.peek(), Some(' ' | '\t' | '\n' | '\r')) {
            self.next();
        }
    }

    fn error<T>(&self, detail: impl Into<String>) -> Result<T, SyntaxError> {
        Err(SyntaxError { position: self.position, detail: detail.into() })
    }

    /// An error about the next character.
    fn unexpected<T>(&mut self, wanted: &str) -> Result<T, SyntaxError> {
        match self.rest.peek().copied() {
            Some(c) => self.error(format!("expected {wanted}, found {c:?}")),
            None => self.error(format!("expected {wanted}, found the end of the text")),
        }
    }

    fn value(&mut self) -> Result<Node, SyntaxError> {
        let position = self.position;
        let data = match self.rest.peek().copied() {
            Some('{') => self.nested(Reader::object)?,
            Some('[') => self.nested(Reader::array)?,
            Some('"') => Data::String(self.string()?),
            Some('-' | '0'..='9') => Data::Number(self.number()?),
            Some('t') => self.word("true", Data::Bool(true))?,
            Some('f') => self.word("false", Data::Bool(false))?,
            Some('n') => self.word("null", Data::Null)?,
            _ => return self.unexpected("a value"),
        };
        Ok(Node { position, data })
    }

    fn nested(&mut self, read: fn(&mut Self) -> Result<Data, SyntaxError>) -> Result<Data, SyntaxError> {
        if self.depth >= MAX_DEPTH {
            return self.error(format!("nested deeper than {MAX_DEPTH} levels"));
        }
        self.depth += 1;
        self.next();
        let data = read(self);
        self.depth -= 1;
        data
    }

    fn object(&mut self) -> Result<Data, SyntaxError> {
        let mut entries = Vec::new();
        self.skip_blanks();
        if self.rest.peek() == Some(&'}') {
            self.next();
            return Ok(Data::Map(entries));
        }
        loop {
            self.skip_blanks();
            let key_position = self.position;
            if self.rest.peek() != Some(&'"') {
                return self.unexpected("a key in double quotes");
            }
            let key = self.string()?;
            self.skip_blanks();
            if self.rest.peek() != Some(&':') {
                return self.unexpected("':' after the key");
            }
            self.next();
            self.skip_blanks();
            entries.push(Entry { key, key_position, value: self.value()? });
            self.skip_blanks();
            match self.rest.peek() {
                Some(',') => self.next(),
                Some('}') => {
                    self.next();
                    return Ok(Data::Map(entries));
                }
                _ => return self.unexpected("',' or '}'"),
            };
        }
    }

    fn array(&mut self) -> Result<Data, SyntaxError> {
        let mut items = Vec::new();
        self.skip_blanks();
        if self.rest.peek() == Some(&']') {
            self.next();
            return Ok(Data::List(items));
        }
        loop {
            self.skip_blanks();
            items.push(self.value()?);
            self.skip_blanks();
            match self.rest.peek() {
                Some(',') => self.next(),
                Some(']') => {
                    self.next();
                    return Ok(Data::List(items));
                }
                _ => return self.unexpected("',' or ']'"),
            };
        }
    }

    fn word(&mut self, word: &str, data: Data) -> Result<Data, SyntaxError> {
        let start = self.position;
        for expected in word.chars() {
            if self.rest.peek() != Some(&expected) {
                return Err(SyntaxError { position: start, detail: format!("expected {word}") });
            }
            self.next();
        }
        Ok(data)
    }

    fn digits(&mut self, number: &mut String) -> Result<(), SyntaxError> {
        if !matches!(self.rest.peek(), Some('0'..='9')) {
            return self.unexpected("a digit");
        }
        while let Some(digit @ '0'..='9') = self.rest.peek().copied() {
            number.push(digit);
            self.next();
        }
        Ok(())
    }

    fn number(&mut self) -> Result<String, SyntaxError> {
        let mut number = String::new();
        if self.rest.peek() == Some(&'-') {
            number.push('-');
            self.next();
        }
        if self.rest.peek() == Some(&'0') {
            number.push('0');
            self.next();
            if matches!(self.rest.peek(), Some('0'..='9')) {
                return self.error("a number must not begin with 0");
            }
        } else {
            self.digits(&mut number)?;
        }
        if self.rest.peek() == Some(&'.') {
            number.push('.');
            self.next();
            self.digits(&mut number)?;
        }
        if let Some(exponent @ ('e' | 'E')) = self.rest.peek().copied() {
            number.push(exponent);
            self.next();
            if let Some(sign @ ('+' | '-')) = self.rest.peek().copied() {
                number.push(sign);
                self.next();
            }
            self.digits(&mut number)?;
        }
        Ok(number)
    }

    fn string(&mut self) -> Result<String, SyntaxError> {
        let mut text = String::new();
        self.next();
        loop {
            let start = self.position;
            match self.next() {
                Some('"') => return Ok(text),
                Some('\\') => text.push(self.escape(start)?),
                Some(c) if c < ' ' => {
                    return Err(SyntaxError {
                        position: start,
                        detail: "a control character must be escaped in a string".to_owned(),
                    });
                }
                Some(c) => text.push(c),
                None => return self.error("the string is not closed"),
            }
        }
    }

    fn escape(&mut self, start: Position) -> Result<char, SyntaxError> {
        let wrong = |detail: &str| SyntaxError { position: start, detail: detail.to_owned() };
        match self.next() {
            Some(c @ ('"' | '\\' | '/')) => Ok(c),
            Some('b') => Ok('\u{8}'),
            Some('f') => Ok('\u{c}'),
            Some('n') => Ok('\n'),
            Some('r') => Ok('\r'),
            Some('t') => Ok('\t'),
            Some('u') => {
                let unit = self.hex4().ok_or_else(|| wrong("\\u needs four hexadecimal digits"))?;
                if let Some(c) = char::from_u32(unit) {
                    return Ok(c);
                }
                let low = if unit < 0xDC00 && self.next() == Some('\\') && self.next() == Some('u') {
                    self.hex4().filter(|low| (0xDC00..0xE000).contains(low))
                } else {
                    None
                };
                low.and_then(|low| char::from_u32(0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00)))
                    .ok_or_else(|| wrong("a surrogate must come in a pair"))
            }
            _ => Err(wrong("unknown escape in a string")),
        }
    }

    fn hex4(&mut self) -> Option<u32> {
        let mut unit = 0;
        for _ in 0..4 {
            let digit = self.rest.peek()?.to_digit(16)?;
            self.next();
            unit = unit * 16 + digit;
        }
        Some(unit)
    }
}
