//! Durations as people write them for Kubernetes: Go notation, and sums like `1s-1ns`.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, Visitor};

/// A signed duration in nanoseconds.
///
/// Written as one or more `NUMBER UNIT` terms; a sign holds for the terms after it, up to the next sign. Units: `ns`, `us`
/// (`µs`), `ms`, `s`, `m`, `h`, and `quarter` (91 days of 24 hours, for runs that span years). `0` needs no unit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct GoDuration(pub i64);

const UNITS: [(&str, i128); 9] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("μs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
    ("quarter", 91 * 24 * 3_600_000_000_000),
];

/// More decimals than this say nothing in nanoseconds of any unit.
const DECIMALS: usize = 18;

impl GoDuration {
    /// Reads the text form; the error says what is wrong with it.
    pub fn parse(text: &str) -> Result<GoDuration, String> {
        let refused =
            |why: &str| format!("{text:?} is not a duration: {why}; write it like 1.5s, 200ms or 1m30s");
        let mut rest = text.trim();
        if matches!(rest, "0" | "+0" | "-0") {
            return Ok(GoDuration(0));
        }
        if rest.is_empty() {
            return Err(refused("it is empty"));
        }
        let mut total: i128 = 0;
        let mut sign = 1;
        while !rest.is_empty() {
            if let Some(after) = rest.strip_prefix(['+', '-']) {
                sign = if rest.starts_with('-') { -1 } else { 1 };
                rest = after.trim_start();
            }
            let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
            let (number, after) = rest.split_at(digits);
            let after = after.trim_start();
            let end = after.find(|c: char| !c.is_alphabetic()).unwrap_or(after.len());
            let (unit, after) = after.split_at(end);
            rest = after.trim_start();

            let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
            if whole.is_empty() && fraction.is_empty() || fraction.contains('.') || fraction.len() > DECIMALS
            {
                return Err(refused("a number is missing or malformed"));
            }
            if unit.is_empty() {
                return Err(refused("the unit is missing"));
            }
            let unit = if unit == "quarters" { "quarter" } else { unit };
            let Some(&(_, scale)) = UNITS.iter().find(|(name, _)| *name == unit) else {
                return Err(refused("the unit is none of ns, us, ms, s, m, h, quarter"));
            };
            let digits: i128 = format!("{whole}{fraction}").parse().map_err(|_| refused("it is too long"))?;
            let decimals = u32::try_from(fraction.len()).map_err(|_| refused("it is too long"))?;
            let term = digits.checked_mul(scale).ok_or_else(|| refused("it is too long"))?;
            total = total.saturating_add(sign * (term / 10_i128.pow(decimals)));
        }
        i64::try_from(total).map(GoDuration).map_err(|_| refused("it is longer than 292 years"))
    }

    /// The length when it is not negative.
    pub fn unsigned(self) -> Option<u64> {
        u64::try_from(self.0).ok()
    }
}

/// Go's text form: `0s`, `5ms`, `16.25ms`, `1m0s`.
impl fmt::Display for GoDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        apf_exposition::duration::write(f, self.0)
    }
}

impl<'de> Deserialize<'de> for GoDuration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl Visitor<'_> for Text {
            type Value = GoDuration;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a duration like 1.5s, 200ms or 1m30s")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<GoDuration, E> {
                GoDuration::parse(text).map_err(E::custom)
            }
        }
        deserializer.deserialize_str(Text)
    }
}

#[cfg(test)]
mod tests {
    use super::GoDuration;

    fn ns(text: &str) -> i64 {
        GoDuration::parse(text).unwrap().0
    }

    #[test]
    fn durations_read_as_go_reads_them() {
        assert_eq!(ns("0"), 0);
        assert_eq!(ns("1.5h"), 5_400_000_000_000);
        assert_eq!(ns("1h30m0.5s"), 5_400_500_000_000);
        assert_eq!(ns("-1h30m"), -5_400_000_000_000);
        assert_eq!(ns("57ms"), 57_000_000);
        assert_eq!(ns("16.25µs"), 16_250);
        assert_eq!(ns(".5s"), 500_000_000);
    }

    #[test]
    fn sums_and_quarters_of_the_fairness_scenarios_are_read() {
        assert_eq!(ns("1s-1ns"), 999_999_999);
        assert_eq!(ns("-1ns"), -1);
        assert_eq!(ns("0.5 quarter"), 91 * 12 * 3_600_000_000_000);
        assert_eq!(ns("40 quarters"), 40 * 91 * 24 * 3_600_000_000_000);
    }

    #[test]
    fn malformed_durations_are_refused_with_the_reason() {
        for (text, why) in [
            ("", "empty"),
            ("5", "unit is missing"),
            ("5 parsecs", "unit is none of"),
            ("s", "number is missing"),
            ("1..2s", "malformed"),
            ("10000000h", "292 years"),
            ("99999999999999999999999999999999999999999s", "too long"),
            ("1s-", "number is missing"),
        ] {
            let error = GoDuration::parse(text).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
