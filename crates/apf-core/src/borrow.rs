//! Borrowing and lending: every level's current limit, from what each one wanted lately
//! (KEP-1040, "Dispatching: borrowing").

use alloc::vec::Vec;

use crate::reserved::push_reserved;
use crate::rounding::{round_half_away, to_seats};
use crate::{DemandStats, LevelLimits, Mode};

/// A target below this is raised to it, so that bounds can be divided by it.
const LEAST_TARGET: f64 = 0.001;
/// How far a sum of bounds may miss the required sum.
const TOLERANCE: f64 = 1e-7;

/// One level as the adjustment sees it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Borrower {
    /// Whether it is exempt: it takes what it wants before the others share the rest.
    pub exempt: bool,
    /// Its limits.
    pub limits: LevelLimits,
    /// Its demand.
    pub stats: DemandStats,
    /// Its current limit until now, kept where no allocation exists.
    pub current: u32,
}

impl Borrower {
    /// The least it gets now: its recent demand, between its lower limit and its nominal one.
    fn floor(&self) -> u32 {
        let wanted = self.stats.high_watermark;
        let wanted = if self.exempt { wanted } else { wanted.min(self.limits.nominal) };
        wanted.max(self.limits.min)
    }

    /// What it is aimed at: an exempt level gets its floor, a limited one its smoothed demand too.
    fn target(&self) -> f64 {
        let floor = f64::from(self.floor());
        if self.exempt { floor } else { floor.max(self.stats.smoothed) }
    }
}

/// What one level gets.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Adjusted {
    /// The new current limit, seats.
    pub current: u32,
    /// What the level was aimed at, seats; the gauge `target_seats`.
    pub target: f64,
}

/// How the limits came about.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Outcome {
    /// Each level has the same proportion of its target, within its bounds; the gauge `seat_fair_frac`.
    Fair {
        /// That proportion.
        proportion: f64,
    },
    /// Exempt levels leave less than recent demand: each level has the same part of the way from its
    /// lower limit to its floor.
    Squeezed,
    /// Exempt levels leave no more than the lower limits, which everyone has.
    MinimumsOnly,
    /// No allocation meets the bounds; every level keeps its current limit.
    Impossible,
    /// No memory to work in; every level keeps its current limit.
    OutOfMemory,
}

impl Outcome {
    /// The value of the gauge `seat_fair_frac`.
    pub fn fair_fraction(self) -> f64 {
        if let Self::Fair { proportion } = self { proportion } else { 0.0 }
    }
}

/// Recomputes the current limit of every level. `out` is filled as far as it reaches.
///
/// [`Mode::Default`] hands out what the exempt levels leave, as KEP-1040 says; [`Mode::Exact`] hands
/// out the sum of all nominal limits, so that seats which exempt requests use are given out twice.
pub fn adjust(mode: Mode, borrowers: &[Borrower], out: &mut [Adjusted]) -> Outcome {
    let limited = || borrowers.iter().filter(|b| !b.exempt);
    let sum = |of: fn(&Borrower) -> u32| limited().map(|b| i64::from(of(b))).sum::<i64>();
    let nominal: i64 = borrowers.iter().map(|b| i64::from(b.limits.nominal)).sum();
    let taken: i64 = borrowers.iter().filter(|b| b.exempt).map(|b| i64::from(b.floor())).sum();
    let remaining = nominal.saturating_sub(taken);
    let (minimums, floors) = (sum(|b| b.limits.min), sum(Borrower::floor));

    // The reference reports the first limited level's target for an exempt one.
    let first_target = limited().next().map_or(0.0, Borrower::target);
    for (adjusted, borrower) in out.iter_mut().zip(borrowers) {
        let misreported = borrower.exempt && mode.is_exact();
        *adjusted = Adjusted {
            current: if borrower.exempt { borrower.floor() } else { borrower.current },
            target: if misreported { first_target } else { borrower.target() },
        };
    }
    let mut give = |seats: &mut dyn FnMut(&Borrower) -> u32| {
        for (adjusted, borrower) in out.iter_mut().zip(borrowers).filter(|(_, b)| !b.exempt) {
            adjusted.current = seats(borrower);
        }
    };

    if remaining <= minimums {
        give(&mut |b| b.limits.min);
        return Outcome::MinimumsOnly;
    }
    if remaining <= floors {
        // The quotient comes first, as in the reference: 11 x (15 / 22) is 7.499... and rounds to 7,
        // where 11 x 15 / 22 would be 7.5 and round to 8.
        let share = remaining.saturating_sub(minimums) as f64 / floors.saturating_sub(minimums) as f64;
        give(&mut |b| {
            let above = f64::from(b.floor().saturating_sub(b.limits.min));
            b.limits.min.saturating_add(to_seats(round_half_away(above * share)))
        });
        return Outcome::Squeezed;
    }

    let required = if mode.is_exact() { nominal } else { remaining };
    let mut items: Vec<Item> = Vec::new();
    if items.try_reserve_exact(borrowers.len()).is_err() {
        return Outcome::OutOfMemory;
    }
    for borrower in limited() {
        if !push_reserved(&mut items, Item::of(borrower)) {
            return Outcome::OutOfMemory;
        }
    }
    match fair_proportion(required as f64, &items) {
        Ok(proportion) => {
            give(&mut |b| to_seats(round_half_away(Item::of(b).at(proportion))));
            Outcome::Fair { proportion }
        }
        Err(outcome) => outcome,
    }
}

/// A level in the allocation problem: bounds in seats, and a target that is never 0.
#[derive(Debug, Clone, Copy)]
struct Item {
    lower: f64,
    upper: f64,
    target: f64,
}

impl Item {
    fn of(borrower: &Borrower) -> Self {
        Self {
            lower: f64::from(borrower.floor()),
            upper: f64::from(borrower.limits.max),
            target: borrower.target().max(LEAST_TARGET),
        }
    }

    /// Its allocation when everyone gets `proportion` of the target.
    fn at(&self, proportion: f64) -> f64 {
        (proportion * self.target).min(self.upper).max(self.lower)
    }
}

/// A proportion at which one level's allocation starts (its lower bound) or stops (its upper bound)
/// to grow with it.
#[derive(Debug, Clone, Copy)]
struct Bound {
    proportion: f64,
    target_gained: f64,
    levels_gained: i32,
}

/// The one proportion of the targets at which the allocations sum to `required`.
fn fair_proportion(required: f64, items: &[Item]) -> Result<f64, Outcome> {
    let (mut lowest, mut highest) = (0.0, 0.0);
    let mut targets = 0.0;
    // The ranges of the relative bounds.
    let (mut first_lower, mut last_lower) = (f64::from(f32::MAX), 0f64);
    let (mut first_upper, mut last_upper) = (f64::from(f32::MAX), 0f64);
    for item in items {
        if item.upper < item.lower || item.target.is_nan() {
            return Err(Outcome::Impossible);
        }
        lowest += item.lower;
        highest += item.upper;
        targets += item.target;
        first_lower = first_lower.min(item.lower / item.target);
        last_lower = last_lower.max(item.lower / item.target);
        first_upper = first_upper.min(item.upper / item.target);
        last_upper = last_upper.max(item.upper / item.target);
    }
    if lowest - required > TOLERANCE || required - highest > TOLERANCE {
        return Err(Outcome::Impossible);
    }
    if lowest - required > -TOLERANCE {
        return Ok(first_lower);
    }
    if required - highest > -TOLERANCE {
        return Ok(last_upper);
    }
    let free = required / targets;
    if last_lower <= free && free <= first_upper {
        return Ok(free); // no bound is in the way
    }

    let bounds = ascending_bounds(items)?;
    let mut allocated = lowest;
    let mut proportion = first_lower;
    let mut growing = 0.0;
    let mut growing_levels = 0;
    let mut next = bounds.iter().peekable();
    while allocated < required {
        while let Some(bound) = next.next_if(|bound| bound.proportion <= proportion) {
            growing += bound.target_gained;
            growing_levels += bound.levels_gained;
        }
        let Some(bound) = next.peek() else { return Err(Outcome::Impossible) };
        if growing_levels > 0 {
            let solution = proportion + (required - allocated) / growing;
            if solution <= bound.proportion {
                return Ok(solution);
            }
            allocated += (bound.proportion - proportion) * growing;
        }
        proportion = bound.proportion;
    }
    Ok(proportion)
}

/// Every relative bound, smallest first. Sorted by insertion: a configuration has few levels, and
/// the library's sort can panic on an inconsistent order.
fn ascending_bounds(items: &[Item]) -> Result<Vec<Bound>, Outcome> {
    let mut bounds: Vec<Bound> = Vec::new();
    if bounds.try_reserve_exact(items.len().saturating_mul(2)).is_err() {
        return Err(Outcome::OutOfMemory);
    }
    for item in items {
        let starts =
            Bound { proportion: item.lower / item.target, target_gained: item.target, levels_gained: 1 };
        let stops =
            Bound { proportion: item.upper / item.target, target_gained: -item.target, levels_gained: -1 };
        for bound in [starts, stops] {
            if !push_reserved(&mut bounds, bound) {
                return Err(Outcome::OutOfMemory);
            }
            let mut place = bounds.len().saturating_sub(1);
            while let Some(before) = place.checked_sub(1) {
                match (bounds.get(before).copied(), bounds.get(place).copied()) {
                    (Some(left), Some(right)) if left.proportion > right.proportion => {
                        if let Some(slot) = bounds.get_mut(before) {
                            *slot = right;
                        }
                        if let Some(slot) = bounds.get_mut(place) {
                            *slot = left;
                        }
                        place = before;
                    }
                    _ => break,
                }
            }
        }
    }
    Ok(bounds)
}
