//! The whole server's view: limits from shares, demand, borrowing, hands and widths.

use crate::heap;
use crate::line::Line;
use crate::story::{Refused, thousandths};
use apf_core::{
    Adjusted, Borrower, Dealer, DemandPeriod, DemandStats, Level, LevelLimits, LevelShares, Mode, Outcome,
    Queuing, SeatSeconds, WorkEstimate, adjust, level_limits, max_seats,
};
use core::hint::black_box;

const LEVELS: [LevelShares; 3] = [
    LevelShares { exempt: true, shares: 5, lendable_percent: 50, borrowing_limit_percent: None },
    LevelShares { exempt: false, shares: 30, lendable_percent: 40, borrowing_limit_percent: Some(20) },
    LevelShares { exempt: false, shares: 65, lendable_percent: 90, borrowing_limit_percent: None },
];

/// Limits, then one adjustment for each demand of the exempt level.
pub(crate) fn borrowing(mode: Mode) -> Result<(), Refused> {
    let mut limits = [LevelLimits::default(); LEVELS.len()];
    level_limits(black_box(600), black_box(&LEVELS), &mut limits).map_err(|_| Refused)?;
    if level_limits(black_box(0), &LEVELS, &mut limits).is_ok() {
        return Err(Refused);
    }
    for limit in limits {
        Line::new("limits")
            .named("nominal", u64::from(limit.nominal))
            .named("min", u64::from(limit.min))
            .named("max", u64::from(limit.max))
            .named("initial", u64::from(limit.initial))
            .named("widest", u64::from(max_seats(limit.nominal, black_box(6))))
            .print();
    }
    for exempt_demand in [3.0, 250.0, 520.0, 2000.0] {
        adjust_once(mode, &limits, [exempt_demand, 100.0, 500.0]);
    }
    Ok(())
}

fn adjust_once(mode: Mode, limits: &[LevelLimits; LEVELS.len()], demands: [f64; LEVELS.len()]) {
    let mut borrowers = LEVELS.map(|level| Borrower {
        exempt: level.exempt,
        limits: LevelLimits::default(),
        stats: DemandStats::default(),
        current: 0,
    });
    for ((borrower, limits), demand) in borrowers.iter_mut().zip(limits).zip(demands) {
        borrower.limits = *limits;
        borrower.current = limits.initial;
        borrower.stats.update(&black_box(DemandPeriod {
            duration: 10.0,
            average: demand,
            deviation: 1.0,
            high_watermark: demand,
        }));
    }
    let mut adjusted = [Adjusted::default(); LEVELS.len()];
    let outcome = adjust(black_box(mode), black_box(&borrowers), &mut adjusted);
    let name = match outcome {
        Outcome::Fair { .. } => "fair",
        Outcome::Squeezed => "squeezed",
        Outcome::MinimumsOnly => "minimums only",
        Outcome::Impossible => "impossible",
        Outcome::OutOfMemory => "out of memory",
    };
    let mut line = Line::new(name).named("fraction, thousandths", thousandths(outcome.fair_fraction()));
    for level in adjusted {
        line = line.named("| current", u64::from(level.current)).named("target", thousandths(level.target));
    }
    line.print();
}

/// Hands and amounts of work.
pub(crate) fn arithmetic() -> Result<(), Refused> {
    let dealer = Dealer::new(black_box(512), black_box(6)).map_err(|_| Refused)?;
    let mut line =
        Line::new("hand of").number(u64::from(dealer.hand_size())).named("of", u64::from(dealer.deck_size()));
    for card in dealer.deal(black_box(0x0123_4567_89ab_cdef)).iter() {
        line = line.number(u64::from(*card));
    }
    line.print();
    if Dealer::new(black_box(1024), black_box(7)).is_ok() {
        return Err(Refused); // more than 60 bits
    }
    let work = SeatSeconds::work(black_box(2.5), black_box(3_000_000));
    Line::new("work")
        .number(work.raw())
        .named("a seat", black_box(work).duration_per_seat(black_box(2.0)).unsigned_abs())
        .named("thousandths", thousandths(SeatSeconds::from_raw(black_box(123_456_789)).as_f64()))
        .named("width", black_box(WorkEstimate::seats(7)).max_seats())
        .print();
    Ok(())
}

/// A level that gets no memory says so.
pub(crate) fn without_memory() -> Result<(), Refused> {
    heap::limit(heap::used());
    let queuing = Queuing::Queue { queues: 4096, hand_size: 4, queue_length_limit: 10 };
    match Level::new(black_box(Mode::Default), black_box(queuing), black_box(1), black_box(0)) {
        Ok(_) => Err(Refused),
        Err(_) => {
            Line::new("without memory: refused").print();
            Ok(())
        }
    }
}
