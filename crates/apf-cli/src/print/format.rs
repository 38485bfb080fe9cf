//! Output formats, and how figures look in each.

use clap::ValueEnum;
use serde::Serialize;

use crate::failure::Failure;

/// `-o`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Aligned columns, for people
    Table,
    /// One JSON document, see docs/cli.md
    Json,
    /// One table with a header, RFC 4180
    Csv,
}

/// A JSON document, indented, with a line end.
pub(crate) fn json(value: &impl Serialize) -> Result<String, Failure> {
    let mut text = serde_json::to_string_pretty(value)
        .map_err(|error| Failure::refused(format!("writing JSON: {error}")))?;
    text.push('\n');
    Ok(text)
}

/// Seconds for people: the unit that fits, three significant digits.
pub(crate) fn seconds(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let (scaled, unit) = match value.abs() {
        size if size >= 1.0 => (value, "s"),
        size if size >= 1e-3 => (value * 1e3, "ms"),
        size if size >= 1e-6 => (value * 1e6, "us"),
        _ => (value * 1e9, "ns"),
    };
    format!("{}{unit}", significant(scaled))
}

/// How times and quantities are written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Figures {
    /// Seconds.
    pub(crate) time: fn(f64) -> String,
    /// Anything else.
    pub(crate) number: fn(f64) -> String,
    /// What stands where there is nothing.
    pub(crate) absent: &'static str,
}

impl Figures {
    /// Short, with units.
    pub(crate) const FOR_PEOPLE: Figures = Figures { time: seconds, number: quantity, absent: "-" };
    /// In full, without units.
    pub(crate) const FOR_PROGRAMS: Figures = Figures { time: csv_number, number: csv_number, absent: "" };
}

/// A quantity for people: at most three significant digits behind the point.
pub(crate) fn quantity(value: f64) -> String {
    significant(value)
}

fn significant(value: f64) -> String {
    let digits = match value.abs() {
        size if size >= 100.0 => 0,
        size if size >= 10.0 => 1,
        _ => 2,
    };
    let text = format!("{value:.digits$}");
    if !text.contains('.') {
        return text;
    }
    match text.trim_end_matches('0').trim_end_matches('.') {
        "-0" => "0".to_owned(),
        short => short.to_owned(),
    }
}

/// A figure for programs: the shortest text that reads back as the same number.
fn csv_number(value: f64) -> String {
    format!("{value}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_take_the_unit_that_fits() {
        let cases =
            [(0.0, "0"), (1.5, "1.5s"), (75.25, "75.2s"), (0.0123, "12.3ms"), (0.25, "250ms"), (2e-6, "2us")];
        for (value, text) in cases {
            assert_eq!(seconds(value), text);
        }
    }

    #[test]
    fn quantities_are_short() {
        for (value, text) in [(0.0, "0"), (-0.001, "0"), (12.04, "12"), (0.256, "0.26"), (1234.5, "1234")] {
            assert_eq!(quantity(value), text);
        }
    }
}
