//! Files, gzip files and standard input as JSON documents: one a line, or one over many lines.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::PathBuf;

use flate2::bufread::MultiGzDecoder;
use serde::de::IgnoredAny;

use crate::error::Error;

/// Longest line that is read: an audit event with both objects stays far below it.
const LONGEST_LINE: u64 = 64 << 20;

/// Where a log comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// A file, plain or gzip; which one shows in its first bytes.
    File(PathBuf, String),
    /// Standard input, plain or gzip.
    Stdin,
    /// Bytes in memory, plain or gzip, under a name for messages.
    Bytes(Vec<u8>, String),
}

impl Input {
    /// A command line argument: a path, or `-` for standard input.
    pub fn from_arg(arg: &str) -> Input {
        match arg {
            "-" => Input::Stdin,
            path => Input::File(PathBuf::from(path), path.to_owned()),
        }
    }

    /// Name for messages.
    pub fn name(&self) -> &str {
        match self {
            Input::File(_, name) | Input::Bytes(_, name) => name,
            Input::Stdin => "standard input",
        }
    }

    /// Size in bytes as stored, 0 when it is not known.
    pub(super) fn size(&self) -> u64 {
        match self {
            Input::File(path, _) => path.metadata().map_or(0, |data| data.len()),
            Input::Stdin => 0,
            Input::Bytes(bytes, _) => bytes.len() as u64,
        }
    }
}

/// A JSON document and where it begins.
pub(super) struct Document<'a> {
    pub(super) text: &'a [u8],
    /// Line it begins on, from 1.
    pub(super) line: u64,
    /// Number of lines it takes, with the blank ones before it.
    pub(super) lines: u64,
    /// Bytes of the input read so far, as stored.
    pub(super) bytes_read: u64,
}

/// The documents of one input.
pub(super) struct Lines<'a> {
    name: &'a str,
    reader: Box<dyn BufRead>,
    read: std::rc::Rc<std::cell::Cell<u64>>,
    gzip: bool,
    line: u64,
    buffer: Vec<u8>,
    /// Line and length of each line in the buffer that turned out to be a document of its own, the next one last.
    apart: Vec<(u64, usize)>,
    /// Where the next of them begins.
    apart_at: usize,
}

/// Counts what passes, so that progress is in bytes as stored, also for gzip.
struct Counting<R> {
    inner: R,
    read: std::rc::Rc<std::cell::Cell<u64>>,
}

impl<R: Read> Read for Counting<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buffer)?;
        self.read.set(self.read.get() + n as u64);
        Ok(n)
    }
}

impl<'a> Lines<'a> {
    pub(super) fn open(input: &'a Input) -> Result<Lines<'a>, Error> {
        let raw: Box<dyn Read> = match input {
            Input::File(path, name) => {
                if path.is_dir() {
                    return Err(Error::in_file(name, "is a folder; name the log files in it"));
                }
                Box::new(
                    File::open(path).map_err(|e| Error::in_file(name, format!("cannot be opened: {e}")))?,
                )
            }
            Input::Stdin => Box::new(io::stdin()),
            Input::Bytes(bytes, _) => Box::new(io::Cursor::new(bytes.clone())),
        };
        Lines::new(input.name(), raw)
    }

    fn new(name: &'a str, raw: Box<dyn Read>) -> Result<Lines<'a>, Error> {
        let read = std::rc::Rc::default();
        let mut reader =
            BufReader::with_capacity(1 << 16, Counting { inner: raw, read: std::rc::Rc::clone(&read) });
        let start = reader.fill_buf().map_err(|e| Error::in_file(name, format!("cannot be read: {e}")))?;
        let gzip = start.starts_with(&[0x1f, 0x8b]);
        let reader: Box<dyn BufRead> =
            if gzip { Box::new(BufReader::new(MultiGzDecoder::new(reader))) } else { Box::new(reader) };
        Ok(Lines { name, reader, read, gzip, line: 0, buffer: Vec::new(), apart: Vec::new(), apart_at: 0 })
    }

    /// The next document, without blank lines. A line that is just `{` or `[` begins one that goes on until the line that is
    /// just the closing bracket, which is how pretty printers lay out a list. Where that is not JSON, the bracket was junk and
    /// its lines are documents of their own.
    pub(super) fn next_document(&mut self) -> Result<Option<Document<'_>>, Error> {
        let mut lines = 0;
        while let Some((line, length)) = self.apart.pop() {
            let start = self.apart_at;
            self.apart_at += length;
            lines += 1;
            if !self.buffer[start..self.apart_at].trim_ascii().is_empty() {
                let text = &self.buffer[start..self.apart_at];
                return Ok(Some(Document { text, line, lines, bytes_read: self.read.get() }));
            }
        }
        loop {
            self.buffer.clear();
            if self.append_line()? == 0 {
                return Ok(None);
            }
            lines += 1;
            if self.line == 1 && self.buffer.starts_with(b"\xef\xbb\xbf") {
                self.buffer.drain(..3);
            }
            if !self.buffer.trim_ascii().is_empty() {
                break;
            }
        }
        let line = self.line;
        match self.buffer.trim_ascii() {
            b"{" => self.append_block(b"\"}", b"}")?,
            b"[" => self.append_block(b"{]", b"]")?,
            _ => {}
        }
        let text = if self.apart.is_empty() { &self.buffer } else { &self.buffer[..self.apart_at] };
        lines += if self.apart.is_empty() { self.line - line } else { 0 };
        Ok(Some(Document { text, line, lines, bytes_read: self.read.get() }))
    }

    /// Appends the lines behind one that is just a bracket, up to the one that is just `closing`, or sets them apart. The
    /// first of them begins with one of `inside`.
    fn append_block(&mut self, inside: &[u8], closing: &[u8]) -> Result<(), Error> {
        let first = self.buffer.len();
        let mut apart = Vec::new();
        loop {
            let before = self.buffer.len();
            if self.append_line()? == 0 {
                break;
            }
            apart.push((self.line, self.buffer.len() - before));
            let added = &self.buffer[before..];
            let fits = before > first || added.trim_ascii().first().is_none_or(|c| inside.contains(c));
            if !fits || added.trim_ascii_end() == closing {
                break;
            }
        }
        if serde_json::from_slice::<IgnoredAny>(&self.buffer).is_err() {
            apart.reverse();
            self.apart = apart;
            self.apart_at = first;
        }
        Ok(())
    }

    fn append_line(&mut self) -> Result<u64, Error> {
        let room = LONGEST_LINE.saturating_sub(self.buffer.len() as u64);
        let outcome = (&mut self.reader).take(room).read_until(b'\n', &mut self.buffer);
        let line = self.line + 1;
        let refused = |why: String| Error::in_file(self.name, why).at_line(line);
        match outcome {
            Ok(n) if n as u64 == room && self.buffer.last() != Some(&b'\n') => {
                Err(refused("is longer than 64 MiB: not an audit log".into()))
            }
            Ok(n) => {
                self.line += u64::from(n > 0);
                Ok(n as u64)
            }
            Err(e) if self.gzip && e.kind() == io::ErrorKind::UnexpectedEof => {
                Err(refused("the gzip stream ends early: the file is truncated".into()))
            }
            Err(e) if self.gzip => Err(refused(format!("the gzip stream is damaged: {e}"))),
            Err(e) => Err(refused(format!("cannot be read: {e}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::Lines;

    fn documents(text: &[u8]) -> Vec<(u64, u64, String)> {
        let mut lines = Lines::new("log", Box::new(std::io::Cursor::new(text.to_vec()))).unwrap();
        let mut found = Vec::new();
        while let Some(document) = lines.next_document().unwrap() {
            found.push((
                document.line,
                document.lines,
                String::from_utf8_lossy(document.text).trim().to_owned(),
            ));
        }
        found
    }

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn each_line_is_a_document_and_blank_lines_are_counted_only() {
        let found = documents(b"\xef\xbb\xbf{\"a\":1}\r\n\n{\"b\":2}");
        assert_eq!(found, [(1, 1, "{\"a\":1}".into()), (3, 2, "{\"b\":2}".into())]);
    }

    #[test]
    fn a_pretty_printed_document_is_read_as_one() {
        let found = documents(b"{\n  \"items\": [\n    {\n    }\n  ]\n}\n{\"b\":2}\n");
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].0, found[0].1), (1, 6));
        assert_eq!(found[1].0, 7);
    }

    #[test]
    fn a_bracket_that_begins_no_document_does_not_hide_the_lines_behind_it() {
        let cut_off: &[(&[u8], &[u64])] = &[
            (b"{\n{\"a\":1}\n\n{\"b\":2}\n", &[1, 2, 4]),
            (b"[\n{\"a\":1}\n{\"b\":2}\n", &[1, 2, 3]),
            (b"{\n  \"kind\": \"List\",\n{\"a\":1}\n{\"b\":2}\n", &[1, 2, 3, 4]),
            (b"{\"x\":0}\n{\n  \"a\": 1,\n}\n{\"a\":1}\n[\n]\n", &[1, 2, 3, 4, 5, 6]),
            (b"{\n[\n{\n{\"a\":1}", &[1, 2, 3, 4]),
            (b"{\n  \"x\": 1\n\n{\"a\":1}\n", &[1, 2, 4]),
            (b"{", &[1]),
        ];
        for (text, expected) in cut_off {
            let found = documents(text);
            let whole = text.iter().filter(|&&c| c == b'\n').count() + usize::from(!text.ends_with(b"\n"));
            let begins: Vec<u64> = found.iter().map(|document| document.0).collect();
            assert_eq!(begins, *expected, "{}", String::from_utf8_lossy(text));
            let lines: u64 = found.iter().map(|document| document.1).sum();
            assert_eq!(lines, whole as u64, "{}", String::from_utf8_lossy(text));
            for line in String::from_utf8_lossy(text).lines().filter(|line| line.contains(":1}")) {
                assert!(found.iter().any(|document| document.2 == line), "{line} is hidden");
            }
        }
    }

    #[test]
    fn gzip_is_recognised_by_content_also_when_two_streams_are_joined() {
        let mut twice = gzip(b"{\"a\":1}\n");
        twice.extend(gzip(b"{\"b\":2}\n"));
        assert_eq!(documents(&twice), documents(b"{\"a\":1}\n{\"b\":2}\n"));
    }

    #[test]
    fn a_truncated_gzip_stream_is_an_error_with_file_and_line() {
        let text: Vec<u8> = (0..20_000).flat_map(|i| format!("{{\"a\":{i}}}\n").into_bytes()).collect();
        let whole = gzip(&text);
        let mut lines =
            Lines::new("log.gz", Box::new(std::io::Cursor::new(whole[..whole.len() / 2].to_vec()))).unwrap();
        let error = loop {
            match lines.next_document() {
                Ok(Some(_)) => {}
                Ok(None) => panic!("the truncation went unnoticed"),
                Err(error) => break error,
            }
        };
        assert_eq!(error.source_name(), "log.gz");
        assert!(error.line().unwrap() > 1);
        assert!(error.message().contains("truncated"), "{error}");
    }
}
