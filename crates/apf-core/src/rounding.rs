//! Rounding of `f64` without `std`: half away from zero, and up.

/// Values at least this large have no fraction.
const NO_FRACTION: f64 = 4_503_599_627_370_496.0; // 2^52

/// Rounds half away from zero, saturating at the range of `i64`; NaN gives 0.
pub(crate) fn round_half_away(x: f64) -> i64 {
    let whole = x as i64; // truncates toward zero, exactly, and saturates
    if !(-NO_FRACTION < x && x < NO_FRACTION) {
        return whole;
    }
    let fraction = x - whole as f64;
    if fraction >= 0.5 {
        whole.saturating_add(1)
    } else if fraction <= -0.5 {
        whole.saturating_sub(1)
    } else {
        whole
    }
}

/// Rounds up, saturating at the range of `i64`; NaN gives 0.
pub(crate) fn ceil(x: f64) -> i64 {
    let whole = x as i64;
    if !(-NO_FRACTION < x && x < NO_FRACTION) {
        return whole;
    }
    if x > whole as f64 { whole.saturating_add(1) } else { whole }
}

/// A rounded non-negative number of seats, saturating at the range of `u32`.
pub(crate) fn to_seats(x: i64) -> u32 {
    x.clamp(0, i64::from(u32::MAX)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_go_away_from_zero() {
        for (x, rounded) in [
            (0.5, 1),
            (-0.5, -1),
            (24.5, 25),
            (2.5, 3),
            (-2.5, -3),
            (0.499_999_999_999_999_94, 0), // adding 0.5 first would give 1
            (7.499_999_999, 7),
            (4_503_599_627_370_495.5, 4_503_599_627_370_496),
            (9_007_199_254_740_993.0, 9_007_199_254_740_992),
            (f64::NAN, 0),
            (1e300, i64::MAX),
            (-1e300, i64::MIN),
        ] {
            assert_eq!(round_half_away(x), rounded, "{x}");
        }
    }

    #[test]
    fn ceil_goes_up_only_from_a_fraction() {
        for (x, up) in [(3.0, 3), (3.000_000_1, 4), (-3.5, -3), (0.0, 0), (1e-300, 1)] {
            assert_eq!(ceil(x), up, "{x}");
        }
    }
}
