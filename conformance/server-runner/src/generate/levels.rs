//! Random PriorityLevelConfigurations, most of them sound.

use super::random::Random;
use crate::objects::{Exempt, LimitResponse, Limited, Metadata, PriorityLevel, PriorityLevelSpec, Queuing};

/// What a case is after.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flavour {
    /// Nothing in particular.
    Plain,
    /// Exempt requests take more than the server has.
    ExemptPressure,
    /// No level may borrow, and the exempt level lends seats that so nobody can take.
    NoBorrowing,
    /// A server larger than any demand.
    Huge,
}

const SHARES: &[i32] = &[0, 0, 1, 2, 3, 5, 7, 10, 13, 29, 30, 30, 40, 100, 101, 997];

/// A configuration's levels: the mandatory ones most of the time, and some of `names`.
pub(crate) fn levels(random: &mut Random, flavour: Flavour, names: &[String]) -> Vec<PriorityLevel> {
    let mut levels = Vec::new();
    for name in names {
        let mut level = limited(random, flavour, name);
        if random.chance(6) {
            spoil(random, &mut level.spec);
        }
        levels.push(level);
    }
    if random.chance(80) || flavour == Flavour::NoBorrowing {
        levels.push(exempt(random, flavour));
    }
    if random.chance(80) || flavour == Flavour::NoBorrowing {
        levels.push(catch_all(random, flavour));
    }
    random.some(&levels, levels.len() as u64, levels.len() as u64)
}

fn object(name: &str, spec: PriorityLevelSpec) -> PriorityLevel {
    PriorityLevel { metadata: Metadata { name: name.to_owned(), uid: format!("level-{name}") }, spec }
}

fn of_limited(limited: Limited) -> PriorityLevelSpec {
    PriorityLevelSpec { kind: "Limited".to_owned(), limited: Some(limited), exempt: None }
}

fn limited(random: &mut Random, flavour: Flavour, name: &str) -> PriorityLevel {
    let shares = if random.chance(2) && flavour != Flavour::Huge { 1_000_003 } else { *random.pick(SHARES) };
    let percents: &[Option<i32>] = match flavour {
        Flavour::NoBorrowing => &[Some(0)],
        Flavour::Huge => &[None, Some(0), Some(33), Some(100)],
        _ => &[None, None, None, Some(0), Some(1), Some(33), Some(50), Some(100), Some(150), Some(401)],
    };
    object(
        name,
        of_limited(Limited {
            nominal_concurrency_shares: shares,
            lendable_percent: *random.pick(&[
                None,
                Some(0),
                Some(1),
                Some(33),
                Some(50),
                Some(51),
                Some(90),
                Some(99),
                Some(100),
            ]),
            borrowing_limit_percent: *random.pick(percents),
            limit_response: response(random),
        }),
    )
}

fn response(random: &mut Random) -> LimitResponse {
    if random.chance(25) {
        return LimitResponse { kind: "Reject".to_owned(), queuing: None };
    }
    // The second number is the largest hand that the 60-bit rule allows, or 15.
    let (queues, most) = *random.pick(&[
        (1, 1),
        (1, 1),
        (2, 2),
        (3, 3),
        (7, 7),
        (16, 15),
        (31, 12),
        (64, 10),
        (128, 8),
        (512, 6),
        (1024, 6),
    ]);
    let queuing = Queuing {
        queues,
        hand_size: random.between(1, most) as i32,
        queue_length_limit: *random.pick(&[1, 1, 2, 3, 10, 50, 2_000_000_000]),
    };
    LimitResponse { kind: "Queue".to_owned(), queuing: Some(queuing) }
}

fn exempt(random: &mut Random, flavour: Flavour) -> PriorityLevel {
    let (shares, lends) = match flavour {
        Flavour::NoBorrowing => (Some(50), Some(100)),
        _ => {
            let shares = *random.pick(&[None, Some(0), Some(0), Some(1), Some(10), Some(50), Some(300)]);
            (shares, *random.pick(&[None, Some(0), Some(10), Some(50), Some(100)]))
        }
    };
    let mut spec = PriorityLevelSpec {
        kind: "Exempt".to_owned(),
        limited: None,
        exempt: Some(Exempt { nominal_concurrency_shares: shares, lendable_percent: lends }),
    };
    if flavour != Flavour::NoBorrowing && random.chance(10) {
        // The API accepts this one and the controller does not.
        spec.exempt = None;
    } else if flavour != Flavour::NoBorrowing && random.chance(3) {
        spec = of_limited(Limited {
            nominal_concurrency_shares: 5,
            limit_response: response(random),
            ..Limited::default()
        });
    }
    object("exempt", spec)
}

/// Shares of catch-all are never 0: with no shares at all the limits are undefined in the reference.
fn catch_all(random: &mut Random, flavour: Flavour) -> PriorityLevel {
    let mut limited = Limited {
        nominal_concurrency_shares: 5,
        lendable_percent: Some(0),
        borrowing_limit_percent: None,
        limit_response: LimitResponse { kind: "Reject".to_owned(), queuing: None },
    };
    if flavour == Flavour::NoBorrowing {
        limited.borrowing_limit_percent = Some(0);
    } else if random.chance(20) {
        limited.nominal_concurrency_shares = *random.pick(&[1, 30, 1000]);
        limited.lendable_percent = *random.pick(&[None, Some(50), Some(100)]);
        limited.limit_response = response(random);
    }
    let mut level = object("catch-all", of_limited(limited));
    if flavour != Flavour::NoBorrowing && random.chance(5) {
        spoil(random, &mut level.spec);
    }
    level
}

/// Breaks one of the rules that the controller checks for itself.
fn spoil(random: &mut Random, spec: &mut PriorityLevelSpec) {
    let queuing = |queues, hand_size| LimitResponse {
        kind: "Queue".to_owned(),
        queuing: Some(Queuing { queues, hand_size, queue_length_limit: 50 }),
    };
    let response = match random.below(11) {
        0 => {
            spec.limited = None;
            return;
        }
        1 => {
            spec.exempt = Some(Exempt::default());
            return;
        }
        2 => {
            *spec = PriorityLevelSpec {
                kind: "Exempt".to_owned(),
                limited: None,
                exempt: Some(Exempt::default()),
            };
            return;
        }
        3 => {
            spec.kind = "Unlimited".to_owned();
            return;
        }
        4 => LimitResponse { kind: "Reject".to_owned(), ..queuing(64, 8) },
        5 => LimitResponse { kind: "Queue".to_owned(), queuing: None },
        6 => LimitResponse { kind: "Drop".to_owned(), queuing: None },
        7 => queuing(7, 8),
        8 => {
            let (queues, hand_size) = *random.pick(&[(1025, 6), (512, 8), (17, 15), (33, 12)]);
            queuing(queues, hand_size)
        }
        9 => queuing(64, 0),
        _ => {
            let (queues, hand_size) = *random.pick(&[(67_108_865, 1), (64, -1)]);
            queuing(queues, hand_size)
        }
    };
    if let Some(limited) = &mut spec.limited {
        limited.limit_response = response;
    }
}
