//! What a request is expected to cost.

use crate::SeatSeconds;

/// The guessed service time of every request, nanoseconds (KEP-1040: the constant G).
pub const GUESSED_SERVICE_TIME: i64 = 3_000_000;

/// The widest request that a level accepts.
pub const MAX_SEATS: u64 = (1 << 22) - 1;

/// How many seats a request takes and for how long it keeps them after it has finished.
///
/// It holds the larger of the two widths from dispatch until `additional_latency` after its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WorkEstimate {
    /// Seats while it executes, 1..=[`MAX_SEATS`].
    pub initial_seats: u64,
    /// Seats after it has finished, 0..=[`MAX_SEATS`].
    pub final_seats: u64,
    /// How long the final seats are held, nanoseconds, at most `i64::MAX`.
    pub additional_latency: u64,
}

impl WorkEstimate {
    /// An estimate of `seats` seats with nothing held after the end.
    pub const fn seats(seats: u64) -> Self {
        Self { initial_seats: seats, final_seats: 0, additional_latency: 0 }
    }

    /// The seats a request holds from dispatch to the very end.
    pub const fn max_seats(self) -> u64 {
        if self.initial_seats > self.final_seats { self.initial_seats } else { self.final_seats }
    }

    /// The work of the final phase.
    #[inline(always)]
    pub(crate) fn final_work(self) -> SeatSeconds {
        if self.additional_latency == 0 {
            return SeatSeconds::ZERO;
        }
        SeatSeconds::work(self.final_seats as f64, self.additional_latency as i64)
    }

    /// The work a queue is charged at dispatch: G on the initial seats, plus the final phase.
    #[inline(always)]
    pub(crate) fn total_work(self) -> SeatSeconds {
        // Exact without rounding, as G is a whole number of units.
        SeatSeconds::from_raw(self.initial_seats.wrapping_mul(GUESSED_SERVICE_TIME as u64 / 10))
            .plus(self.final_work())
    }

    /// Clips the final phase to `limit` seats and stretches it so that its work stays the same.
    pub(crate) fn trim_to(&mut self, limit: u64) {
        let latency = self.final_work().duration_per_seat(limit as f64);
        self.final_seats = limit;
        self.additional_latency = latency.max(0) as u64;
    }
}
