//! Why a request does not run.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use apf_core::Reason;

/// A refused request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejected {
    /// Why: the label `reason` of `rejected_requests_total`.
    pub reason: Reason,
    /// How long to stay away: the value of the header `Retry-After`, whole seconds, 1..=32.
    pub retry_after: Duration,
    /// The priority level that refused it.
    pub level: Arc<str>,
    /// The FlowSchema that it matched.
    pub flow_schema: Arc<str>,
}

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { reason, retry_after, level, flow_schema } = self;
        write!(
            f,
            "too many requests: {reason} at priority level {level:?} (flow schema {flow_schema:?}), retry after {} s",
            retry_after.as_secs()
        )
    }
}

impl std::error::Error for Rejected {}

/// A request that does not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AdmitError {
    /// The level refused it.
    Rejected(Rejected),
    /// Its estimate is out of range: initial seats 0, a width above 4,194,303, or an additional latency above 2^63 - 1 ns.
    Estimate,
    /// There is no memory for another request.
    OutOfMemory,
    /// It would wait in a process that was forked: the threads that serve timers have stayed in the parent.
    /// Make a new dispatcher in the child.
    Forked,
}

impl fmt::Display for AdmitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rejected(rejected) => rejected.fmt(f),
            Self::Estimate => f.write_str(
                "work estimate: initial seats must be 1..=4194303, final seats at most that, latency below 2^63 ns",
            ),
            Self::OutOfMemory => f.write_str("no memory for another request"),
            Self::Forked => f.write_str("this dispatcher belongs to the parent of this process: make a new one"),
        }
    }
}

impl std::error::Error for AdmitError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        if let Self::Rejected(rejected) = self { Some(rejected) } else { None }
    }
}

impl AdmitError {
    /// The refusal, if that is what it is.
    pub fn rejected(&self) -> Option<&Rejected> {
        if let Self::Rejected(rejected) = self { Some(rejected) } else { None }
    }
}
