//! Durations as Go prints them.

use std::fmt;

/// Writes nanoseconds in Go's form, as the debug dumps do: `0s`, `5ms`, `16.25ms`, `1m0s`.
///
/// # Errors
///
/// Those of `f`.
pub fn write(f: &mut impl fmt::Write, ns: i64) -> fmt::Result {
    if ns < 0 {
        f.write_str("-")?;
    }
    let ns = ns.unsigned_abs();
    match ns {
        0 => f.write_str("0s"),
        1..1_000 => write!(f, "{ns}ns"),
        1_000..1_000_000 => scaled(f, ns, 1_000, "µs"),
        1_000_000..1_000_000_000 => scaled(f, ns, 1_000_000, "ms"),
        _ => {
            let minutes = ns / 60_000_000_000;
            if minutes >= 60 {
                write!(f, "{}h", minutes / 60)?;
            }
            if minutes >= 1 {
                write!(f, "{}m", minutes % 60)?;
            }
            scaled(f, ns % 60_000_000_000, 1_000_000_000, "s")
        }
    }
}

fn scaled(f: &mut impl fmt::Write, ns: u64, scale: u64, unit: &str) -> fmt::Result {
    write!(f, "{}", ns / scale)?;
    let rest = ns % scale;
    if rest > 0 {
        let width = scale.ilog10() as usize;
        let decimals = format!("{rest:0width$}");
        write!(f, ".{}", decimals.trim_end_matches('0'))?;
    }
    f.write_str(unit)
}

/// The text of [`write`].
pub(crate) fn text(ns: i64) -> String {
    let mut text = String::new();
    // Writing into a string does not fail.
    let _ = write(&mut text, ns);
    text
}

#[cfg(test)]
mod tests {
    use super::text;

    #[test]
    fn durations_print_as_go_prints_them() {
        for (ns, expected) in [
            (0, "0s"),
            (999, "999ns"),
            (1_500, "1.5µs"),
            (5_500_000, "5.5ms"),
            (16_250_000, "16.25ms"),
            (166_666_666, "166.666666ms"),
            (1_500_000_000, "1.5s"),
            (60_000_000_000, "1m0s"),
            (90_000_000_000, "1m30s"),
            (3_600_000_000_000, "1h0m0s"),
            (-1, "-1ns"),
        ] {
            assert_eq!(text(ns), expected);
        }
    }
}
