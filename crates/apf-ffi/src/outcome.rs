//! Outcomes and completions, as the host gets them.

use apf::{AdmitError, Permit};

use crate::pointers::lend;
use crate::status::{apf_reason, apf_status};
use crate::types::{apf_completion, apf_outcome, apf_outcome_kind, apf_str, apf_ticket};

const NOTHING: apf_outcome = apf_outcome {
    kind: apf_outcome_kind::APF_OUTCOME_NONE as i32,
    reason: apf_reason::APF_REASON_NONE as i32,
    retry_after_seconds: 0,
    reserved: 0,
    ticket: apf_ticket { bits: [0; 2] },
    seats: 0,
    level: apf_str::EMPTY,
    flow_schema: apf_str::EMPTY,
};

#[inline]
pub(crate) fn admitted(ticket: apf_ticket, permit: &Permit<'static>) -> apf_outcome {
    apf_outcome {
        kind: apf_outcome_kind::APF_OUTCOME_ADMITTED as i32,
        ticket,
        seats: permit.seats(),
        level: lend(permit.level()),
        flow_schema: lend(permit.flow_schema()),
        ..NOTHING
    }
}

pub(crate) fn queued(ticket: apf_ticket) -> apf_outcome {
    apf_outcome { kind: apf_outcome_kind::APF_OUTCOME_QUEUED as i32, ticket, ..NOTHING }
}

/// A refusal is an outcome; anything else a status without one.
pub(crate) fn refused(error: &AdmitError) -> (apf_status, apf_outcome) {
    let outcome = error.rejected().map_or(NOTHING, |rejected| apf_outcome {
        kind: apf_outcome_kind::APF_OUTCOME_REJECTED as i32,
        reason: apf_reason::from(rejected.reason) as i32,
        retry_after_seconds: rejected.retry_after.as_secs() as u32,
        // The engine keeps the names of its levels and schemas for good; these are counts of the same texts.
        level: lend(&rejected.level),
        flow_schema: lend(&rejected.flow_schema),
        ..NOTHING
    });
    (error.into(), outcome)
}

pub(crate) fn completion(
    user_data: u64,
    waited_ns: u64,
    status: apf_status,
    outcome: apf_outcome,
) -> apf_completion {
    apf_completion { user_data, waited_ns, status: status as i32, reserved: 0, outcome }
}
