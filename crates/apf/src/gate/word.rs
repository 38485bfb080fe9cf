//! The gate word: the 64 bits that every operation of a level passes through with one successful
//! compare-exchange.
//!
//! | bits | name | meaning | set by | cleared by |
//! | --- | --- | --- | --- | --- |
//! | 63 | `CLOSED` | nobody may start by the word alone: someone waits or is undecided, or a control operation is under way | a start that does not fit; a published control operation; a hand-back | a hand-back that finds nothing waiting |
//! | 62 | `HELD` | a thread is in the role and runs the core | taking the role | hand-back, hand-off |
//! | 61 | `OFFER` | the role is free and work is left: whoever publishes next, or its last holder, takes it | hand-off | taking the role |
//! | 60 | `RETIRED` | the level has been removed and is empty: starts must classify again | a hand-back of an idle quiescing level | never |
//! | 32..=55 | `AVAIL` | seats that are free once everything published is applied; a lower bound; no meaning while `CLOSED` | hand-back (exact), starts (less), finishes (more) | |
//! | 0..=31 | `HEAD` | the newest published cell: node x 2 + cell + 1; 0 for none | publishing | draining |
//!
//! Invariants: (1) neither `HELD` nor `OFFER` means `HEAD` is 0 and nothing is left over; (2) not `CLOSED` means no start
//! is undecided and `AVAIL` is at most the core's free seats after all published events; (3) at most one of `HELD` and
//! `OFFER` is set; (4) `RETIRED` implies `CLOSED`, for ever; only late ticks pass from then on, and take the role for a moment.

/// A value of the gate word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Word(pub(super) u64);

pub(super) const CLOSED: u64 = 1 << 63;
pub(super) const HELD: u64 = 1 << 62;
pub(super) const OFFER: u64 = 1 << 61;
pub(super) const RETIRED: u64 = 1 << 60;
pub(super) const HEAD: u64 = 0xFFFF_FFFF;
const AVAIL_SHIFT: u32 = 32;
/// The largest number of free seats that the word tells apart from more.
pub(super) const AVAIL_MAX: u64 = (1 << 24) - 1;

impl Word {
    pub(super) const fn has(self, flag: u64) -> bool {
        self.0 & flag != 0
    }

    pub(super) const fn with(self, flag: u64) -> Self {
        Self(self.0 | flag)
    }

    pub(super) const fn without(self, flag: u64) -> Self {
        Self(self.0 & !flag)
    }

    /// The newest published cell, 0 for none.
    pub(super) const fn head(self) -> u32 {
        (self.0 & HEAD) as u32
    }

    pub(super) const fn with_head(self, head: u32) -> Self {
        Self(self.0 & !HEAD | head as u64)
    }

    pub(super) const fn avail(self) -> u64 {
        self.0 >> AVAIL_SHIFT & AVAIL_MAX
    }

    pub(super) const fn with_avail(self, seats: u64) -> Self {
        let seats = if seats > AVAIL_MAX { AVAIL_MAX } else { seats };
        Self(self.0 & !(AVAIL_MAX << AVAIL_SHIFT) | seats << AVAIL_SHIFT)
    }

    /// Whether the role is free and nothing is left to do, so that an operation may apply itself.
    pub(super) const fn is_quiet(self) -> bool {
        !self.has(HELD | OFFER) && self.head() == 0
    }

    /// Whether a start of this width is granted by the word alone.
    pub(super) const fn fits(self, seats: u64) -> bool {
        !self.has(CLOSED) && self.avail() >= seats
    }

    /// The word after a start: its seats taken, or the level closed behind it.
    pub(super) const fn started(self, seats: u64) -> Self {
        if self.fits(seats) { Self(self.0 - (seats << AVAIL_SHIFT)) } else { self.with(CLOSED) }
    }

    /// The word after `seats` have come back. While `CLOSED` it means nothing and does no harm: only a hand-back
    /// opens the level, and it counts the seats anew.
    pub(super) const fn released(self, seats: u64) -> Self {
        if self.avail() + seats <= AVAIL_MAX {
            Self(self.0 + (seats << AVAIL_SHIFT))
        } else {
            self.with_avail(AVAIL_MAX)
        }
    }
}
