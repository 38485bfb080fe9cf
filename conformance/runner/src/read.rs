//! Reads traces from text.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use apf_core::{Cause, Dealer, MAX_SEATS, Mode, Queuing};

use crate::Failure;
use crate::trace::{Event, EventKind, LevelSpec, MAX_LIMIT, MAX_TIME, Trace};

/// Reads every trace of a file.
///
/// # Errors
///
/// When the file cannot be read or a line breaks the format; the message names file and line.
pub fn read_file(path: &Path) -> Result<Vec<Trace>, Failure> {
    let name = path.display().to_string();
    let text = fs::read_to_string(path).map_err(Failure::io(format!("reading {name}")))?;
    read_traces(&name, &text)
}

/// Reads every trace of a text; `source` names it in messages.
///
/// # Errors
///
/// When a line breaks the format, or there is no trace in the text.
pub fn read_traces(source: &str, text: &str) -> Result<Vec<Trace>, Failure> {
    let mut reader = Reader { source, lines: text.lines(), line: 0, last: 0 };
    let mut traces = Vec::new();
    while let Some(words) = reader.words() {
        traces.push(reader.trace(&words)?);
    }
    if traces.is_empty() {
        return Err(reader.fail("there is no trace in it"));
    }
    Ok(traces)
}

struct Reader<'a> {
    source: &'a str,
    lines: std::str::Lines<'a>,
    line: usize,
    last: u64,
}

impl<'a> Reader<'a> {
    fn fail(&self, rule: impl Into<String>) -> Failure {
        Failure::Trace { source: self.source.to_owned(), line: self.line, rule: rule.into() }
    }

    /// The words of the next line that is neither empty nor a comment.
    fn words(&mut self) -> Option<Vec<&'a str>> {
        for line in self.lines.by_ref() {
            self.line += 1;
            let text = line.split('#').next().unwrap_or_default();
            let words: Vec<_> = text.split_ascii_whitespace().collect();
            if !words.is_empty() {
                return Some(words);
            }
        }
        None
    }

    fn trace(&mut self, first: &[&str]) -> Result<Trace, Failure> {
        match first {
            ["apf-trace", "1"] => {}
            ["apf-trace", version] => {
                return Err(
                    self.fail(format!("format version {version} is not known; this program reads version 1"))
                );
            }
            _ => {
                return Err(
                    self.fail(format!("a trace begins with \"apf-trace 1\", not {:?}", first.join(" ")))
                );
            }
        }
        self.last = 0;
        let (mut seed, mut mode) = (None, Mode::Exact);
        let level = loop {
            let words = self.words().ok_or_else(|| self.fail("the trace has no level line"))?;
            match words.as_slice() {
                ["seed", text] => seed = Some(self.number("seed", text, u64::MAX)?),
                ["mode", "exact"] => mode = Mode::Exact,
                ["mode", "default"] => mode = Mode::Default,
                ["mode", ..] => return Err(self.fail("mode is exact or default")),
                ["start", text] => self.last = self.time(text)?,
                ["level", args @ ..] => break self.level(args)?,
                ["seed" | "start", ..] => return Err(self.fail(format!("{} takes one value", words[0]))),
                _ => {
                    return Err(
                        self.fail(format!("{:?} is not a header line (seed, mode, start, level)", words[0]))
                    );
                }
            }
        };
        let start = self.last;
        let mut arrived = HashSet::new();
        let mut events = Vec::new();
        loop {
            let words = self.words().ok_or_else(|| self.fail("the trace has no end line"))?;
            if words == ["end"] {
                return Ok(Trace { seed, mode, start, level, events });
            }
            let event = self.event(&words)?;
            if let EventKind::Arrive { id, .. } = event.kind
                && !arrived.insert(id)
            {
                return Err(self.fail(format!("request {id} arrived before")));
            }
            events.push(event);
        }
    }

    fn event(&mut self, words: &[&str]) -> Result<Event, Failure> {
        let [at, name, args @ ..] = words else {
            return Err(self.fail("an event is a time and a name, for example \"5ms touch\""));
        };
        let at = self.time(at)?;
        self.last = at;
        let kind = match (*name, args) {
            ("arrive", [id, hash, initial_seats, final_seats, latency]) => {
                let id = self.number("id", id, u64::MAX)?;
                let hash = self.number("hash", hash, u64::MAX)?;
                let initial_seats = self.number("initial seats", initial_seats, MAX_SEATS)?;
                if initial_seats == 0 {
                    return Err(self.fail("initial seats are at least 1"));
                }
                let final_seats = self.number("final seats", final_seats, MAX_SEATS)?;
                let latency = self.duration("latency", latency)?;
                EventKind::Arrive { id, hash, initial_seats, final_seats, latency }
            }
            ("finish", [id]) => EventKind::Finish { id: self.number("id", id, u64::MAX)? },
            ("cancel", [id, rest @ ..]) if rest.len() < 2 => {
                let id = self.number("id", id, u64::MAX)?;
                let cause = match rest {
                    [] | ["time-out"] => Cause::TimeOut,
                    ["caller"] => Cause::Caller,
                    _ => return Err(self.fail("the cause of a cancel is time-out or caller")),
                };
                EventKind::Cancel { id, cause }
            }
            ("reconfigure", args) => EventKind::Reconfigure(self.level(args)?),
            ("touch", []) => EventKind::Touch,
            ("demand", []) => EventKind::Demand,
            ("arrive" | "finish" | "cancel" | "touch" | "demand", args) => {
                let takes = match *name {
                    "arrive" => "ID HASH INITIAL FINAL LATENCY",
                    "finish" => "ID",
                    "cancel" => "ID and at most a cause",
                    _ => "no values",
                };
                return Err(self.fail(format!("{name} takes {takes}, not {} values", args.len())));
            }
            (other, _) => {
                return Err(self.fail(format!(
                    "{other:?} is not an event (arrive, finish, cancel, reconfigure, touch, demand)"
                )));
            }
        };
        Ok(Event { at, kind })
    }

    fn level(&self, args: &[&str]) -> Result<LevelSpec, Failure> {
        let [queues, hand_size, queue_length_limit, limit] = args else {
            return Err(self.fail(format!(
                "a level is QUEUES HAND QUEUE_LENGTH_LIMIT LIMIT, 4 numbers, not {}",
                args.len()
            )));
        };
        let hand_size = self.limit("hand", hand_size)?;
        let queue_length_limit = self.limit("queue length limit", queue_length_limit)?;
        let limit = self.limit("limit", limit)?;
        let queuing = match *queues {
            "-1" => Queuing::Exempt,
            text => match self.limit("queues", text)? {
                0 => Queuing::Reject,
                queues => {
                    Dealer::new(queues, hand_size).map_err(|e| {
                        self.fail(format!("no hand of {hand_size} from {queues} queues: {e}"))
                    })?;
                    Queuing::Queue { queues, hand_size, queue_length_limit }
                }
            },
        };
        Ok(LevelSpec { queuing, limit })
    }

    fn limit(&self, what: &str, text: &str) -> Result<u32, Failure> {
        Ok(self.number(what, text, MAX_LIMIT)? as u32)
    }

    fn number(&self, what: &str, text: &str, largest: u64) -> Result<u64, Failure> {
        let number = match text.strip_prefix("0x") {
            Some(digits) => parse_digits(digits, 16),
            None => parse_digits(text, 10),
        };
        number
            .filter(|n| *n <= largest)
            .ok_or_else(|| self.fail(format!("{what} is a whole number from 0 to {largest}, not {text:?}")))
    }

    /// A whole number with an optional unit; without one it is nanoseconds.
    fn duration(&self, what: &str, text: &str) -> Result<u64, Failure> {
        const UNITS: [(&str, u64); 7] = [
            ("ns", 1),
            ("us", 1_000),
            ("ms", 1_000_000),
            ("s", 1_000_000_000),
            ("m", 60_000_000_000),
            ("h", 3_600_000_000_000),
            ("d", 86_400_000_000_000),
        ];
        let (digits, scale) = UNITS
            .iter()
            .find_map(|(suffix, scale)| text.strip_suffix(suffix).map(|digits| (digits, *scale)))
            .unwrap_or((text, 1));
        parse_digits(digits, 10)
            .and_then(|n| n.checked_mul(scale))
            .filter(|ns| *ns <= MAX_TIME)
            .ok_or_else(|| {
                self.fail(format!(
                    "{what} is a whole number with an optional unit (ns us ms s m h d), up to 292 years, not {text:?}"
                ))
            })
    }

    /// An absolute time, or with a sign one relative to the event before.
    fn time(&self, text: &str) -> Result<u64, Failure> {
        if let Some(rest) = text.strip_prefix('+') {
            let time = self.last + self.duration("time", rest)?;
            return if time <= MAX_TIME { Ok(time) } else { Err(self.fail("the time is past 292 years")) };
        }
        if let Some(rest) = text.strip_prefix('-') {
            let back = self.duration("time", rest)?;
            return self.last.checked_sub(back).ok_or_else(|| self.fail("the time is before the origin"));
        }
        self.duration("time", text)
    }
}

/// Digits only: no sign, as the reference's reader has it.
fn parse_digits(digits: &str, radix: u32) -> Option<u64> {
    if digits.starts_with('+') { None } else { u64::from_str_radix(digits, radix).ok() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: &str = "apf-trace 1\nseed 7\nstart 1s # a comment\nlevel 4 2 10 3\n\n+5ms arrive 1 0xff 1 2 3ms\n-1us finish 1\n2s cancel 1 caller\n+0 reconfigure 0 0 0 5\n+0 touch\n+0 demand\nend\n";

    #[test]
    fn text_form_is_read_back_unchanged() {
        let traces = read_traces("small", SMALL).unwrap();
        assert_eq!(traces.len(), 1);
        assert_eq!(traces[0].start, 1_000_000_000);
        assert_eq!(traces[0].events[0].at, 1_005_000_000);
        assert_eq!(traces[0].events[1].at, 1_004_999_000);
        assert_eq!(
            traces[0].events[0].kind,
            EventKind::Arrive { id: 1, hash: 255, initial_seats: 1, final_seats: 2, latency: 3_000_000 }
        );
        let again = read_traces("printed", &traces[0].to_string()).unwrap();
        assert_eq!(again, traces);
    }

    #[test]
    fn bad_lines_are_named_with_line_and_rule() {
        let head = "apf-trace 1\nlevel 4 2 10 3\n";
        for (text, line, rule) in [
            ("", 0, "no trace"),
            ("hello\n", 1, "begins with"),
            ("apf-trace 2\n", 1, "version 2"),
            ("apf-trace 1\n", 1, "no level line"),
            ("apf-trace 1\nlevel 4 2 10\n", 2, "4 numbers, not 3"),
            ("apf-trace 1\nlevel -2 2 10 1\n", 2, "queues is a whole number"),
            ("apf-trace 1\nlevel 512 15 10 1\n", 2, "no hand of 15 from 512"),
            ("apf-trace 1\nmode fast\n", 2, "mode is"),
            (&format!("{head}1ms touch\n"), 3, "no end line"),
            (&format!("{head}1.5ms touch\nend\n"), 3, "optional unit"),
            (&format!("{head}-1ms touch\nend\n"), 3, "before the origin"),
            (&format!("{head}1 arrive 1 1 0 0 0\nend\n"), 3, "at least 1"),
            (&format!("{head}1 arrive 1 1 1 0 0\n2 arrive 1 1 1 0 0\nend\n"), 4, "arrived before"),
            (&format!("{head}1 arrive 1 1 1\nend\n"), 3, "not 3 values"),
            (&format!("{head}1 frobnicate\nend\n"), 3, "is not an event"),
            (&format!("{head}1 finish +1\nend\n"), 3, "id is a whole number"),
        ] {
            let message = read_traces("t", text).unwrap_err().to_string();
            assert!(message.starts_with(&format!("t:{line}: ")), "{message}");
            assert!(message.contains(rule), "{message} lacks {rule}");
        }
    }
}
