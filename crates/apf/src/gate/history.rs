//! What the gate did, in the order it did it: replayed through a fresh core, it must decide the same.

use alloc::vec::Vec;

use apf_core::{ArriveError, Cause, Queuing, Reason};

use super::Request;

/// One event as it was applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry {
    /// A request arrived.
    Start {
        /// The time it counts at.
        now: u64,
        /// Its node.
        token: u64,
        /// What it asked for.
        request: Request,
        /// Whether the gate word had granted it.
        granted: bool,
    },
    /// A request ended.
    Finish {
        /// The time it counts at.
        now: u64,
        /// Its node.
        token: u64,
    },
    /// An abandoned request left.
    Cancel {
        /// The time it counts at.
        now: u64,
        /// Its node.
        token: u64,
        /// Why.
        cause: Cause,
    },
    /// Delayed releases were looked for, by a tick or a control operation.
    Tick {
        /// The time it counts at.
        now: u64,
    },
    /// A control operation changed the level.
    Reconfigure {
        /// The time it counts at.
        now: u64,
        /// What it does with requests that do not fit, from now on.
        queuing: Queuing,
        /// Its seats.
        concurrency_limit: u32,
    },
    /// A control operation ended a period of seat demand.
    CloseDemandPeriod {
        /// The time it counts at.
        now: u64,
    },
}

/// What became of an arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It ran at once.
    Executing,
    /// It waits.
    Waiting,
    /// It was refused.
    Rejected(Reason),
    /// It had been abandoned before, and did not take its grant.
    Gone,
    /// It was not even considered.
    Invalid(ArriveError),
}

/// An event and what came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applied {
    /// The event.
    pub entry: Entry,
    /// The grants it led to: the node, and the cause if the grant was not taken.
    pub grants: Vec<(u64, Option<Cause>)>,
    /// What became of it, if it is an arrival.
    pub outcome: Option<Outcome>,
}

/// Everything applied so far.
#[derive(Debug, Default)]
pub struct History {
    /// In order.
    pub applied: Vec<Applied>,
}

impl History {
    pub(super) fn begin(&mut self, entry: Entry) {
        self.applied.push(Applied { entry, grants: Vec::new(), outcome: None });
    }

    pub(super) fn granted(&mut self, token: u64, gone: Option<Cause>) {
        if let Some(last) = self.applied.last_mut() {
            last.grants.push((token, gone));
        }
    }

    pub(super) fn end(&mut self, outcome: Outcome) {
        if let Some(last) = self.applied.last_mut() {
            last.outcome = Some(outcome);
        }
    }
}
