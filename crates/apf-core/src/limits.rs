//! From shares to seats: nominal, lower and upper concurrency limits of every level.

use core::fmt;

use crate::rounding::{ceil, round_half_away, to_seats};

/// What the configuration says of one level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LevelShares {
    /// Whether the level is exempt: it may borrow without limit and is never refused.
    pub exempt: bool,
    /// `nominalConcurrencyShares`.
    pub shares: u32,
    /// `lendablePercent`, 0..=100.
    pub lendable_percent: u32,
    /// `borrowingLimitPercent`; `None` allows borrowing up to the server's limit.
    pub borrowing_limit_percent: Option<u32>,
}

/// The limits of one level, in seats; numbers too large for 32 bits saturate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LevelLimits {
    /// Its share of the server, rounded up.
    pub nominal: u32,
    /// What it keeps when it lends all it may.
    pub min: u32,
    /// What it has when it borrows all it may.
    pub max: u32,
    /// The current limit it starts with: half of what is lendable is lent out.
    pub initial: u32,
}

/// Why there are no limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitsError {
    /// The server concurrency limit is 0: nothing could ever run.
    NoSeats,
    /// The output slice is shorter than the input.
    OutputTooShort,
}

impl fmt::Display for LimitsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoSeats => "the server concurrency limit must be at least 1 seat",
            Self::OutputTooShort => "the output holds fewer levels than the input",
        })
    }
}

impl core::error::Error for LimitsError {}

/// Computes the limits of all levels of a server with `server_limit` seats. Exempt levels and levels
/// that are being removed take part with their shares. The nominal limits may sum to more than the
/// server has, because each is rounded up.
///
/// # Errors
///
/// [`LimitsError::NoSeats`] for 0 seats; [`LimitsError::OutputTooShort`] where `out` is too short.
pub fn level_limits(
    server_limit: u32,
    levels: &[LevelShares],
    out: &mut [LevelLimits],
) -> Result<(), LimitsError> {
    if server_limit == 0 {
        return Err(LimitsError::NoSeats);
    }
    if out.len() < levels.len() {
        return Err(LimitsError::OutputTooShort);
    }
    let server = f64::from(server_limit);
    let total: f64 = levels.iter().map(|level| f64::from(level.shares)).sum();
    for (level, limits) in levels.iter().zip(out) {
        let nominal = if total > 0.0 { to_seats(ceil(server * f64::from(level.shares) / total)) } else { 0 };
        let percent =
            |percent: u32| to_seats(round_half_away(f64::from(nominal) * f64::from(percent) / 100.0));
        let lendable = percent(level.lendable_percent).min(nominal);
        let borrowing = match level.borrowing_limit_percent {
            Some(limit) if !level.exempt => percent(limit),
            _ => server_limit,
        };
        *limits = LevelLimits {
            nominal,
            min: nominal.saturating_sub(lendable),
            max: nominal.saturating_add(borrowing),
            initial: nominal.saturating_sub(lendable / 2),
        };
    }
    Ok(())
}

/// The widest estimate that a level with queues allows one request: 15 % of its nominal limit, and
/// no more than its share of a hand; at least 1.
pub fn max_seats(nominal: u32, hand_size: u32) -> u32 {
    let by_fraction = to_seats(ceil(f64::from(nominal) * 0.15));
    let by_hand = nominal.checked_div(hand_size).unwrap_or(nominal);
    by_fraction.min(by_hand).max(1)
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::vec;
    use std::vec::Vec;

    const DEFAULTS: [(u32, u32); 8] =
        [(0, 0), (5, 0), (30, 33), (40, 25), (10, 0), (40, 50), (100, 90), (20, 50)];

    fn of_defaults(server: u32) -> Vec<LevelLimits> {
        let levels: Vec<LevelShares> = DEFAULTS
            .iter()
            .enumerate()
            .map(|(i, &(shares, lendable_percent))| LevelShares {
                exempt: i == 0,
                shares,
                lendable_percent,
                borrowing_limit_percent: None,
            })
            .collect();
        let mut out = vec![LevelLimits::default(); levels.len()];
        level_limits(server, &levels, &mut out).unwrap();
        out
    }

    #[test]
    fn the_default_objects_get_the_published_limits_at_600_seats() {
        let expected = [
            (0, 0, 600, 0),
            (13, 13, 613, 13),
            (74, 50, 674, 62),
            (98, 73, 698, 86),
            (25, 25, 625, 25),
            (98, 49, 698, 74),
            (245, 24, 845, 135),
            (49, 24, 649, 37),
        ];
        for (limits, (nominal, min, max, initial)) in of_defaults(600).into_iter().zip(expected) {
            assert_eq!(limits, LevelLimits { nominal, min, max, initial });
        }
    }

    #[test]
    fn nominal_limits_round_up_so_they_may_exceed_the_server() {
        let nominal: Vec<u32> = of_defaults(100).iter().map(|l| l.nominal).collect();
        assert_eq!(nominal, [0, 3, 13, 17, 5, 17, 41, 9]);
    }

    /// Half seats go away from zero; banker's rounding gives 24, 220 and 24.
    #[test]
    fn lendable_seats_round_half_away_from_zero() {
        let lendable: Vec<u32> = of_defaults(600).iter().map(|l| l.nominal - l.min).collect();
        assert_eq!(lendable, [0, 0, 24, 25, 0, 49, 221, 25]);
    }

    /// Kubernetes issue 102885: a server without seats never became ready and did not say why.
    #[test]
    fn a_server_without_seats_is_refused_and_the_largest_is_sane() {
        assert_eq!(level_limits(0, &[], &mut []), Err(LimitsError::NoSeats));
        let largest = of_defaults(i32::MAX as u32);
        assert!(largest.iter().all(|l| l.min <= l.nominal && l.nominal <= l.max));
        assert_eq!(largest[6].nominal, 876_523_938);
    }

    #[test]
    fn one_request_may_not_be_wider_than_its_part_of_the_level() {
        for (nominal, hand, widest) in [
            (5, 6, 1),
            (10, 6, 1),
            (15, 6, 2),
            (20, 6, 3),
            (35, 6, 5),
            (100, 6, 15),
            (200, 6, 30),
            (10, 1, 2),
            (100, 20, 5),
        ] {
            assert_eq!(max_seats(nominal, hand), widest, "{nominal} {hand}");
        }
    }
}
