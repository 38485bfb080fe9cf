//! Which priority levels a configuration really has, and what each is in numbers.

use std::fmt;

use apf_core::{Dealer, DealerError, LevelShares, Queuing};

use crate::bootstrap::{CATCH_ALL, EXEMPT};
use crate::objects::{LimitResponse, PriorityLevelSpec};

/// `limited.nominalConcurrencyShares` where the object does not say.
const DEFAULT_SHARES: i32 = 30;

/// Where a level comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LevelOrigin {
    /// An accepted object.
    Object,
    /// A mandatory level without an object: taken from the built-in values.
    Imagined,
    /// A level of an earlier configuration that this one has no acceptable object for. Unless it is mandatory
    /// it only waits to become idle: no schema leads to it.
    Retained,
}

/// A priority level that is in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedLevel {
    /// Name.
    pub name: String,
    /// UID of the object, empty without one.
    pub uid: String,
    /// The spec, as it was given.
    pub spec: PriorityLevelSpec,
    /// Where it comes from.
    pub origin: LevelOrigin,
    /// What happens to a request that finds no free seat.
    pub queuing: Queuing,
    /// Its shares of the server.
    pub shares: LevelShares,
    /// Its limits in seats.
    pub limits: apf_core::LevelLimits,
    /// Widest estimate in seats that one request may get; 0 where the level has no queues and so no bound
    /// of its own.
    pub max_seats: u32,
}

impl PlannedLevel {
    /// Whether the level is only kept until what it has is done.
    pub fn is_quiescing(&self) -> bool {
        self.origin == LevelOrigin::Retained && !is_mandatory(&self.name)
    }
}

pub(super) fn is_mandatory(name: &str) -> bool {
    name == EXEMPT || name == CATCH_ALL
}

/// Why a priority level object is treated as if it did not exist. A server's validation lets none of these through
/// except [`LevelDefect::ExemptMismatch`] of an `Exempt` level without `spec.exempt`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LevelDefect {
    /// `spec.limited` is there, and `spec.type` is not `Limited`, or the other way round.
    LimitedMismatch,
    /// `spec.exempt` is there, and `spec.type` is not `Exempt`, or the other way round.
    ExemptMismatch,
    /// `spec.type` is `Exempt`, and the name is not `exempt`, or the other way round.
    ExemptName,
    /// `spec.type` is neither `Exempt` nor `Limited`.
    UnknownType(String),
    /// `limitResponse.queuing` is there, and `limitResponse.type` is `Reject`, or the other way round.
    ResponseMismatch,
    /// `limitResponse.type` is neither `Queue` nor `Reject`.
    UnknownResponse(String),
    /// No hand of `handSize` queues can be dealt from `queues` queues.
    Queues {
        /// `queues`.
        queues: i32,
        /// `handSize`.
        hand_size: i32,
        /// What is wrong with them.
        cause: DealerError,
    },
    /// A number is outside its range.
    OutOfRange {
        /// Path of the field.
        field: &'static str,
        /// What it says.
        value: i32,
    },
}

impl fmt::Display for LevelDefect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LimitedMismatch => {
                f.write_str("spec.limited must be set exactly when spec.type is \"Limited\"")
            }
            Self::ExemptMismatch => f.write_str("spec.exempt must be set exactly when spec.type is \"Exempt\""),
            Self::ExemptName => {
                f.write_str("spec.type must be \"Exempt\" exactly when metadata.name is \"exempt\"")
            }
            Self::UnknownType(kind) => {
                write!(f, "spec.type must be \"Exempt\" or \"Limited\", not {kind:?}")
            }
            Self::ResponseMismatch => f.write_str(
                "spec.limited.limitResponse.queuing must be set exactly when spec.limited.limitResponse.type is \"Queue\"",
            ),
            Self::UnknownResponse(kind) => {
                write!(f, "spec.limited.limitResponse.type must be \"Queue\" or \"Reject\", not {kind:?}")
            }
            Self::Queues { queues, hand_size, cause } => write!(
                f,
                "spec.limited.limitResponse.queuing: queues {queues} and handSize {hand_size} are not acceptable: {cause}"
            ),
            Self::OutOfRange { field, value } => write!(f, "{field}: {value} is out of range"),
        }
    }
}

/// Checks a level as the configuration consumer does and turns it into numbers.
pub(super) fn digest(name: &str, spec: &PriorityLevelSpec) -> Result<(Queuing, LevelShares), LevelDefect> {
    let (limited, exempt) = (spec.kind == "Limited", spec.kind == "Exempt");
    if limited != spec.limited.is_some() {
        return Err(LevelDefect::LimitedMismatch);
    }
    if exempt != spec.exempt.is_some() {
        return Err(LevelDefect::ExemptMismatch);
    }
    if exempt != (name == EXEMPT) {
        return Err(LevelDefect::ExemptName);
    }
    if let Some(limited) = &spec.limited {
        let queuing = queuing(&limited.limit_response)?;
        let shares = LevelShares {
            exempt: false,
            shares: in_range(
                "spec.limited.nominalConcurrencyShares",
                limited.nominal_concurrency_shares.unwrap_or(DEFAULT_SHARES),
                i32::MAX,
            )?,
            lendable_percent: in_range(
                "spec.limited.lendablePercent",
                limited.lendable_percent.unwrap_or(0),
                100,
            )?,
            borrowing_limit_percent: limited
                .borrowing_limit_percent
                .map(|percent| in_range("spec.limited.borrowingLimitPercent", percent, i32::MAX))
                .transpose()?,
        };
        return Ok((queuing, shares));
    }
    let Some(exempt) = &spec.exempt else {
        return Err(LevelDefect::UnknownType(spec.kind.clone()));
    };
    let shares = LevelShares {
        exempt: true,
        shares: in_range(
            "spec.exempt.nominalConcurrencyShares",
            exempt.nominal_concurrency_shares.unwrap_or(0),
            i32::MAX,
        )?,
        lendable_percent: in_range("spec.exempt.lendablePercent", exempt.lendable_percent.unwrap_or(0), 100)?,
        borrowing_limit_percent: None,
    };
    Ok((Queuing::Exempt, shares))
}

fn queuing(response: &LimitResponse) -> Result<Queuing, LevelDefect> {
    if (response.kind == "Reject") != response.queuing.is_none() {
        return Err(LevelDefect::ResponseMismatch);
    }
    let Some(queuing) = &response.queuing else { return Ok(Queuing::Reject) };
    if response.kind != "Queue" {
        return Err(LevelDefect::UnknownResponse(response.kind.clone()));
    }
    // A negative number is as little a number of queues as zero is.
    let queues = u32::try_from(queuing.queues).unwrap_or(0);
    let hand_size = u32::try_from(queuing.hand_size).unwrap_or(0);
    Dealer::new(queues, hand_size).map_err(|cause| LevelDefect::Queues {
        queues: queuing.queues,
        hand_size: queuing.hand_size,
        cause,
    })?;
    let field = "spec.limited.limitResponse.queuing.queueLengthLimit";
    let queue_length_limit = in_range(field, queuing.queue_length_limit, i32::MAX)?;
    if queue_length_limit == 0 {
        return Err(LevelDefect::OutOfRange { field, value: 0 });
    }
    Ok(Queuing::Queue { queues, hand_size, queue_length_limit })
}

fn in_range(field: &'static str, value: i32, most: i32) -> Result<u32, LevelDefect> {
    match u32::try_from(value) {
        Ok(number) if value <= most => Ok(number),
        _ => Err(LevelDefect::OutOfRange { field, value }),
    }
}
