//! Dealing hands, and the adjustment of every level's limit.

use crate::{HAND, Hashes};
use apf_core::{
    Adjusted, Borrower, Dealer, DemandPeriod, DemandStats, LevelLimits, LevelShares, Mode, Outcome, adjust,
    level_limits,
};

/// Deals one hand after the other.
pub struct Hands {
    dealer: Dealer,
    hashes: Hashes,
}

impl Hands {
    /// Hands of [`HAND`] out of this many queues.
    pub fn new(queues: u32) -> Self {
        Self { dealer: Dealer::new(queues, HAND).expect("a valid hand"), hashes: Hashes::default() }
    }

    /// The sum of the next hand's cards.
    pub fn cycle(&mut self) -> u32 {
        self.dealer.deal(self.hashes.draw()).iter().sum()
    }
}

/// The levels of a server, one of them exempt, each with a demand of its own.
pub struct Server {
    borrowers: Vec<Borrower>,
    adjusted: Vec<Adjusted>,
}

impl Server {
    /// A server of this many levels with ten seats each.
    pub fn new(levels: u32) -> Self {
        let shares: Vec<LevelShares> = (0..levels)
            .map(|index| LevelShares {
                exempt: index == 0,
                shares: if index == 0 { 0 } else { 10 + index % 7 },
                lendable_percent: 50,
                borrowing_limit_percent: None,
            })
            .collect();
        let mut limits = vec![LevelLimits::default(); shares.len()];
        level_limits(levels * 10, &shares, &mut limits).expect("valid shares");
        let mut hashes = Hashes::default();
        let borrowers: Vec<Borrower> = shares
            .iter()
            .zip(&limits)
            .map(|(shares, &limits)| {
                let demand = if shares.exempt { 3.0 } else { (hashes.draw() % 20) as f64 };
                let mut stats = DemandStats::default();
                let period = DemandPeriod {
                    duration: 10.0,
                    average: demand,
                    deviation: 1.5,
                    high_watermark: demand + 2.0,
                };
                stats.update(&period);
                Borrower { exempt: shares.exempt, limits, stats, current: limits.initial }
            })
            .collect();
        let adjusted = vec![Adjusted::default(); borrowers.len()];
        Self { borrowers, adjusted }
    }

    /// One adjustment of all levels.
    pub fn cycle(&mut self) -> u32 {
        let Outcome::Fair { .. } = adjust(Mode::Default, &self.borrowers, &mut self.adjusted) else {
            panic!("there is a fair allocation")
        };
        self.adjusted.iter().map(|level| level.current).sum()
    }
}
