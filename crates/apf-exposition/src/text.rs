//! The Prometheus text format 0.0.4, as Go's `expfmt` writes it.

use std::fmt::Write;

/// What a metric is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Counter,
    Gauge,
    Histogram,
}

impl Kind {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

/// A label and its value.
pub(crate) type Label<'a> = (&'static str, &'a str);

/// What a series says.
pub(crate) enum Value<'a> {
    Number(f64),
    /// Counts in the buckets, not cumulative, one more than there are bounds; and the sum of the observations.
    Buckets {
        bounds: &'a [f64],
        counts: &'a [u64],
        sum: f64,
    },
}

/// One metric with its series.
pub(crate) struct Family<'a, const LABELS: usize> {
    pub(crate) name: &'static str,
    pub(crate) help: &'static str,
    pub(crate) kind: Kind,
    pub(crate) series: Vec<([Label<'a>; LABELS], Value<'a>)>,
}

impl<const LABELS: usize> Family<'_, LABELS> {
    /// Writes it, labels by name and series by the values of their labels; nothing when it has no series.
    pub(crate) fn write(mut self, text: &mut String) {
        if self.series.is_empty() {
            return;
        }
        for (labels, _) in &mut self.series {
            labels.sort_by_key(|(name, _)| *name);
        }
        self.series.sort_by(|(a, _), (b, _)| a.iter().map(|l| l.1).cmp(b.iter().map(|l| l.1)));
        let name = self.name;
        text.push_str("# HELP ");
        text.push_str(name);
        text.push(' ');
        escape(text, self.help, false);
        text.push_str("\n# TYPE ");
        text.push_str(name);
        text.push(' ');
        text.push_str(self.kind.as_str());
        text.push('\n');
        for (labels, value) in &self.series {
            match value {
                Value::Number(value) => sample(text, name, "", labels, None, *value),
                Value::Buckets { bounds, counts, sum } => {
                    let mut below = 0_u64;
                    for (bound, count) in bounds.iter().zip(*counts) {
                        below = below.wrapping_add(*count);
                        sample(text, name, "_bucket", labels, Some(*bound), below as f64);
                    }
                    let all = counts.iter().fold(0_u64, |sum, count| sum.wrapping_add(*count));
                    sample(text, name, "_bucket", labels, Some(f64::INFINITY), all as f64);
                    sample(text, name, "_sum", labels, None, *sum);
                    sample(text, name, "_count", labels, None, all as f64);
                }
            }
        }
    }
}

/// One line. `le` comes after the other labels.
fn sample(text: &mut String, name: &str, suffix: &str, labels: &[Label<'_>], bound: Option<f64>, value: f64) {
    text.push_str(name);
    text.push_str(suffix);
    let mut separator = '{';
    for (label, value) in labels {
        text.push(separator);
        text.push_str(label);
        text.push_str("=\"");
        escape(text, value, true);
        text.push('"');
        separator = ',';
    }
    if let Some(bound) = bound {
        text.push(separator);
        text.push_str("le=\"");
        number(text, bound);
        text.push('"');
        separator = ',';
    }
    if separator == ',' {
        text.push('}');
    }
    text.push(' ');
    number(text, value);
    text.push('\n');
}

/// Backslashes and line feeds, and in label values double quotes.
fn escape(text: &mut String, value: &str, quotes: bool) {
    for character in value.chars() {
        match character {
            '\\' => text.push_str("\\\\"),
            '\n' => text.push_str("\\n"),
            '"' if quotes => text.push_str("\\\""),
            other => text.push(other),
        }
    }
}

/// A number in Go's shortest form: with an exponent below 1e-4 and from 1e6 on.
fn number(text: &mut String, value: f64) {
    if value.is_nan() {
        text.push_str("NaN");
        return;
    }
    if value.is_infinite() {
        text.push_str(if value > 0.0 { "+Inf" } else { "-Inf" });
        return;
    }
    // Rust's shortest digits are Go's; only the choice of the form differs.
    let scientific = format!("{value:e}");
    let parts = scientific.split_once('e').and_then(|(digits, e)| Some((digits, e.parse::<i32>().ok()?)));
    // Writing into a string does not fail.
    let _ = match parts {
        Some((digits, exponent)) if value != 0.0 && !(-4..6).contains(&exponent) => {
            let sign = if exponent < 0 { '-' } else { '+' };
            write!(text, "{digits}e{sign}{:02}", exponent.unsigned_abs())
        }
        // Adding 0 makes -0 a plain 0.
        _ => write!(text, "{}", value + 0.0),
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_go_writes_them() {
        for (value, expected) in [
            (0.0, "0"),
            (-0.0, "0"),
            (1.0, "1"),
            (-1.0, "-1"),
            (0.5, "0.5"),
            (5e9, "5e+09"),
            (123_456.0, "123456"),
            (999_999.0, "999999"),
            (1e6, "1e+06"),
            (1_234_567.0, "1.234567e+06"),
            (1e21, "1e+21"),
            (1e-4, "0.0001"),
            (1.5e-5, "1.5e-05"),
            (9_007_199_254_740_993.0, "9.007199254740992e+15"),
            (0.1 + 0.2, "0.30000000000000004"),
            (12.006, "12.006"),
            (f64::INFINITY, "+Inf"),
            (f64::NEG_INFINITY, "-Inf"),
            (f64::NAN, "NaN"),
        ] {
            let mut text = String::new();
            number(&mut text, value);
            assert_eq!(text, expected);
        }
    }

    #[test]
    fn labels_and_help_are_escaped_each_by_its_rule_and_everything_is_in_order() {
        let family = Family {
            name: "m",
            help: "back\\slash \"quoted\"\nline",
            kind: Kind::Gauge,
            series: vec![
                ([("z", "b"), ("a", "x")], Value::Number(2.0)),
                ([("z", "a\\\"\n}"), ("a", "x")], Value::Number(1.0)),
            ],
        };
        let mut text = String::new();
        family.write(&mut text);
        let expected = r#"# HELP m back\\slash "quoted"\nline
# TYPE m gauge
m{a="x",z="a\\\"\n}"} 1
m{a="x",z="b"} 2
"#;
        assert_eq!(text, expected);
    }

    #[test]
    fn buckets_are_cumulative_and_a_family_without_series_is_not_written() {
        let mut text = String::new();
        let none: Family<'_, 1> = Family { name: "n", help: "", kind: Kind::Counter, series: Vec::new() };
        none.write(&mut text);
        let value = Value::Buckets { bounds: &[0.0, 0.5], counts: &[1, 0, 2], sum: 7.25 };
        Family { name: "m", help: "h", kind: Kind::Histogram, series: vec![([("a", "x")], value)] }
            .write(&mut text);
        let expected = r#"# HELP m h
# TYPE m histogram
m_bucket{a="x",le="0"} 1
m_bucket{a="x",le="0.5"} 1
m_bucket{a="x",le="+Inf"} 3
m_sum{a="x"} 7.25
m_count{a="x"} 3
"#;
        assert_eq!(text, expected);
    }
}
