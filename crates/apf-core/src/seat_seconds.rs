//! Seat-seconds: the unit of work and of the progress meter.

use core::fmt;

use crate::rounding::round_half_away;

/// Seat-seconds in unsigned 64-bit fixed point: 1 unit is 1e-8 seat-second. Arithmetic wraps.
///
/// A negative amount of work, such as the correction for a request that ran longer than guessed,
/// is added as its two's complement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct SeatSeconds(u64);

impl SeatSeconds {
    /// No work.
    pub const ZERO: Self = Self(0);
    /// The largest reading.
    pub const MAX: Self = Self(u64::MAX);

    /// From units of 1e-8 seat-second.
    pub const fn from_raw(units: u64) -> Self {
        Self(units)
    }

    /// In units of 1e-8 seat-second.
    pub const fn raw(self) -> u64 {
        self.0
    }

    /// `seats` held for `duration_ns` nanoseconds (either may be negative), rounded half away from zero.
    #[inline(never)]
    pub fn work(seats: f64, duration_ns: i64) -> Self {
        Self(round_half_away(seats * duration_ns as f64 / 10.0) as u64)
    }

    /// [`SeatSeconds::work`] of a whole number of seats, without floating point where that makes no difference.
    #[inline(always)]
    pub(crate) fn work_of_whole(seats: u64, duration_ns: i64) -> Self {
        if seats < 1 << 22 && duration_ns.unsigned_abs() < 1 << 28 {
            // Below 2^50 the quotient by 10 is exact to a hundredth of a unit: it rounds as the true one does.
            let product = (seats as i64).wrapping_mul(duration_ns);
            let units = (product.unsigned_abs().wrapping_add(5) / 10) as i64;
            return Self((if product < 0 { -units } else { units }) as u64);
        }
        Self::work(seats as f64, duration_ns)
    }

    /// How long this much work takes on `seats` seats, in nanoseconds, truncated toward zero.
    pub fn duration_per_seat(self, seats: f64) -> i64 {
        (self.0 as f64 / seats * 10.0) as i64
    }

    /// As a floating-point number of seat-seconds, for gauges.
    pub fn as_f64(self) -> f64 {
        self.0 as f64 / 1e8
    }

    pub(crate) const fn plus(self, other: Self) -> Self {
        Self(self.0.wrapping_add(other.0))
    }

    pub(crate) const fn minus(self, other: Self) -> Self {
        Self(self.0.wrapping_sub(other.0))
    }
}

/// The form of the debug dumps: `12.00600000ss`.
impl fmt::Display for SeatSeconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:08}ss", self.0 / 100_000_000, self.0 % 100_000_000)
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::string::ToString;

    #[test]
    fn work_and_its_text_match_the_published_vectors() {
        for (seats, ns, units, text) in [
            (1.0, 3_000_000, 300_000, "0.00300000ss"),
            (3.0, 5_000_000, 1_500_000, "0.01500000ss"),
            (123.0, 100_000_000, 1_230_000_000, "12.30000000ss"),
            (1.0, 4, 0, "0.00000000ss"),
            (1.0, 5, 1, "0.00000001ss"),
            (1.0, 15, 2, "0.00000002ss"),
        ] {
            let work = SeatSeconds::work(seats, ns);
            assert_eq!(work.raw(), units);
            assert_eq!(work.to_string(), text);
        }
    }

    #[test]
    fn whole_seats_make_the_same_work_with_and_without_floating_point() {
        let mut value = 1_u64;
        let mut random = move |bits: u32| {
            value = value.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            value >> (64 - bits)
        };
        for bits in 1..=45 {
            for _ in 0..300 {
                let (seats, duration) = (random(bits.min(22)), random(bits) as i64);
                for near in -10..=10 {
                    for duration in [duration + near, -duration + near] {
                        let work = SeatSeconds::work(seats as f64, duration);
                        assert_eq!(SeatSeconds::work_of_whole(seats, duration), work, "{seats} {duration}");
                    }
                }
            }
        }
        for (seats, duration) in [(u64::MAX, 1), (1, i64::MAX), (1, i64::MIN), (1 << 22, 1 << 28), (0, -5)] {
            let work = SeatSeconds::work(seats as f64, duration);
            assert_eq!(SeatSeconds::work_of_whole(seats, duration), work, "{seats} {duration}");
        }
    }

    #[test]
    fn negative_work_is_its_twos_complement() {
        let back = SeatSeconds::work(2.0, -15);
        assert_eq!(SeatSeconds::from_raw(10).plus(back), SeatSeconds::from_raw(7));
    }

    #[test]
    fn duration_per_seat_truncates() {
        let work = SeatSeconds::work(100.0, 5_000_000);
        assert_eq!(work.duration_per_seat(3.0), 166_666_666);
    }
}
