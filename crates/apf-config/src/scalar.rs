//! What a plain YAML scalar means. kubectl turns YAML into JSON with the rules of YAML 1.1, so `yes`, `on`
//! and `0777` mean there what they mean here.

use crate::tree::Data;

/// The meaning of an unquoted, untagged scalar. `Err` names a value that JSON cannot express.
pub(crate) fn resolve_plain(text: &str) -> Result<Data, String> {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Ok(Data::Null),
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            return Ok(Data::Bool(true));
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            return Ok(Data::Bool(false));
        }
        ".nan" | ".NaN" | ".NAN" => return Err(format!("{text} cannot be represented in JSON")),
        _ => {}
    }
    if matches!(text.trim_start_matches(['+', '-']), ".inf" | ".Inf" | ".INF") {
        return Err(format!("{text} cannot be represented in JSON"));
    }
    Ok(number(text).map_or_else(|| Data::String(text.to_owned()), Data::Number))
}

/// The JSON notation of a number, `None` when the text is not one.
pub(crate) fn number(text: &str) -> Option<String> {
    let first = text.chars().next()?;
    if !(first.is_ascii_digit() || matches!(first, '+' | '-' | '.')) {
        return None;
    }
    if first == '.' && !underscores_part_digits(text) {
        return None;
    }
    let plain: String = text.chars().filter(|c| *c != '_').collect();
    if let Some(integer) = integer(&plain) {
        return Some(integer.to_string());
    }
    if is_float(&plain) { plain.parse::<f64>().ok().and_then(json_float) } else { None }
}

/// Whether every underscore stands between two digits, as Go asks of a float.
fn underscores_part_digits(text: &str) -> bool {
    let digit = |at: usize| text.as_bytes().get(at).is_some_and(u8::is_ascii_digit);
    text.match_indices('_').all(|(at, _)| digit(at.wrapping_sub(1)) && digit(at + 1))
}

/// A 64-bit integer with Go's base prefixes: `0x`, `0o`, `0b` and a bare leading zero for octal.
fn integer(text: &str) -> Option<i128> {
    let (negative, digits) = match text.strip_prefix(['+', '-']) {
        Some(digits) => (text.starts_with('-'), digits),
        None => (false, text),
    };
    let (base, digits) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, digits.get(2..)?),
        [b'0', b'o' | b'O', ..] => (8, digits.get(2..)?),
        [b'0', b'b' | b'B', ..] => (2, digits.get(2..)?),
        [b'0', _, ..] => (8, digits.get(1..)?),
        _ => (10, digits),
    };
    if digits.is_empty() || !digits.chars().all(|c| c.is_digit(base)) {
        return None;
    }
    let magnitude = i128::from(u64::from_str_radix(digits, base).ok()?);
    let value = if negative { -magnitude } else { magnitude };
    (value >= i128::from(i64::MIN)).then_some(value)
}

/// Whether the text is a decimal floating-point number of YAML.
fn is_float(text: &str) -> bool {
    let text = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (text, None),
    };
    let digits = |part: &str| part.chars().all(|c| c.is_ascii_digit());
    let mantissa_ok = match mantissa.split_once('.') {
        Some((whole, fraction)) => {
            digits(whole) && digits(fraction) && !(whole.is_empty() && fraction.is_empty())
        }
        None => !mantissa.is_empty() && digits(mantissa),
    };
    let exponent_ok = exponent.is_none_or(|exponent| {
        let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        !exponent.is_empty() && digits(exponent)
    });
    mantissa_ok && exponent_ok
}

/// A float as Go writes it into JSON, where `5.0` becomes `5`. Nothing for an overflow.
fn json_float(value: f64) -> Option<String> {
    if !value.is_finite() {
        return None;
    }
    if value != 0.0 && (value.abs() < 1e-6 || value.abs() >= 1e21) {
        Some(format!("{value:e}"))
    } else {
        Some(format!("{value}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        match resolve_plain(text) {
            Ok(Data::Null) => "null".to_owned(),
            Ok(Data::Bool(value)) => format!("bool {value}"),
            Ok(Data::Number(number)) => format!("number {number}"),
            Ok(Data::String(text)) => format!("string {text}"),
            Ok(_) => unreachable!("a scalar is neither list nor map"),
            Err(detail) => format!("error {detail}"),
        }
    }

    #[test]
    fn plain_scalars_mean_what_kubectl_reads() {
        for (text, meaning) in [
            ("yes", "bool true"),
            ("Off", "bool false"),
            ("y", "bool true"),
            ("oN", "string oN"),
            ("~", "null"),
            ("", "null"),
            ("12", "number 12"),
            ("+12", "number 12"),
            ("1_000", "number 1000"),
            ("010", "number 8"),
            ("08", "number 8"),
            ("0o17", "number 15"),
            ("0x1F", "number 31"),
            ("-0b11", "number -3"),
            ("5.0", "number 5"),
            (".5", "number 0.5"),
            (".5_0", "number 0.5"),
            (".5_", "string .5_"),
            ("5_.", "number 5"),
            ("1e3", "number 1000"),
            ("1e", "string 1e"),
            (".", "string ."),
            ("-", "string -"),
            ("1.2.3", "string 1.2.3"),
            ("9223372036854775808", "number 9223372036854775808"),
            ("99999999999999999999", "number 100000000000000000000"),
            ("2003-01-01", "string 2003-01-01"),
            ("-.inf", "error -.inf cannot be represented in JSON"),
            ("system:masters", "string system:masters"),
        ] {
            assert_eq!(shown(text), meaning, "{text:?}");
        }
    }
}
