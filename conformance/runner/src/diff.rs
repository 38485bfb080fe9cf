//! Runs one trace on both sides and finds the first event after which they differ.

use std::path::Path;

use apf_core::Level;

use crate::Failure;
use crate::driver::{self, Driver};
use crate::reference::Reference;
use crate::trace::Trace;

/// The first event whose lines differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Its number, from 1.
    pub event: usize,
    /// Our line.
    pub ours: String,
    /// The reference's.
    pub theirs: String,
}

/// Compares the lines of a trace, which has `events` events that count.
pub fn first_difference(ours: &[String], theirs: &[String], events: usize) -> Option<Difference> {
    let line =
        |lines: &[String], place: usize| lines.get(place).cloned().unwrap_or_else(|| "(no line)".to_owned());
    (0..events).find(|place| ours.get(*place) != theirs.get(*place)).map(|place| Difference {
        event: place + 1,
        ours: line(ours, place),
        theirs: line(theirs, place),
    })
}

/// Whether R may move by 2^62 units or more in one step: near 2^63 the conversion from a float differs
/// between languages, so nothing can be compared from there on.
fn steps_too_far(level: &Level, at: u64) -> bool {
    let units = u128::from(level.concurrency_limit()) * u128::from(at.abs_diff(level.now())) / 10;
    units >= 1 << 62
}

/// Our lines for the events that can be compared: up to a step of R that is too long, to where the
/// reference would remove a queue a second time, or to a failure of the core (the last line then).
///
/// # Errors
///
/// When the core refuses the trace's first configuration.
pub fn our_lines(trace: &Trace) -> Result<Vec<String>, Failure> {
    let mut driver = Driver::new(trace.mode, trace.level, trace.start)?;
    let mut lines = Vec::with_capacity(trace.events.len());
    for (number, event) in (1..).zip(&trace.events) {
        if steps_too_far(driver.level(), event.at) {
            break;
        }
        if let Err(failure) = driver.apply(event) {
            lines.push(format!("{number} error {failure}"));
            break;
        }
        if driver.counters().removals_refused > 0 {
            break;
        }
        lines.push(driver.line(number));
    }
    Ok(lines)
}

/// Runs the trace on both sides.
///
/// # Errors
///
/// When one side cannot run it.
pub fn compare(trace: &Trace, reference: &mut Reference) -> Result<Option<Difference>, Failure> {
    let ours = our_lines(trace)?;
    let theirs = reference.run(trace.to_string())?;
    Ok(first_difference(&ours, &theirs, ours.len()))
}

/// Both states after an event, side by side; rows that differ are marked.
///
/// # Errors
///
/// When one side cannot run it.
pub fn states(trace: &Trace, event: usize, program: &Path) -> Result<String, Failure> {
    let is_state = |line: &String| line.starts_with('|');
    let ours: Vec<_> = match driver::run(&up_to(trace, event), |number| number == event) {
        Ok(lines) => lines.into_iter().filter(is_state).collect(),
        Err(failure) => vec![failure.to_string()],
    };
    let mut reference = Reference::start(program, &["--full".to_owned(), event.to_string()])?;
    let theirs: Vec<_> =
        reference.run(up_to(trace, event).to_string())?.into_iter().filter(is_state).collect();
    Ok(side_by_side(&ours, &theirs))
}

/// The trace without what comes after an event.
pub fn up_to(trace: &Trace, event: usize) -> Trace {
    let events = trace.events.iter().take(event).copied().collect();
    Trace { events, ..trace.clone() }
}

fn side_by_side(ours: &[String], theirs: &[String]) -> String {
    let text = |lines: &[String], row: usize| {
        lines.get(row).map_or_else(String::new, |line| line.trim_start_matches("| ").to_owned())
    };
    let rows = ours.len().max(theirs.len());
    let width = ours.iter().map(String::len).max().unwrap_or(0).max("ours".len());
    let mut table = format!("  {:width$} | reference\n", "ours");
    for row in 0..rows {
        let (left, right) = (text(ours, row), text(theirs, row));
        let mark = if left == right { ' ' } else { '!' };
        table.push_str(&format!("{mark} {left:width$} | {right}\n"));
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.split('/').map(str::to_owned).collect()
    }

    #[test]
    fn the_first_line_that_differs_is_named() {
        let found = first_difference(&lines("1 = a/2 = b/3 = c"), &lines("1 = a/2 = x/3 = y"), 3).unwrap();
        assert_eq!((found.event, found.ours.as_str(), found.theirs.as_str()), (2, "2 = b", "2 = x"));
    }

    #[test]
    fn a_missing_line_is_a_difference() {
        let found = first_difference(&lines("1 = a/2 = b"), &lines("1 = a"), 2).unwrap();
        assert_eq!(found.theirs, "(no line)");
        assert_eq!(first_difference(&lines("1 = a"), &lines("1 = a/2 = b"), 1), None);
    }
}
