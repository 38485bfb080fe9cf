//! Defaults, on the canonical form. Integers without null take 0 as "not set"; a list of conditions and
//! an `exempt` object that are absent stay so.

use crate::objects::{FlowSchema, PriorityLevelConfiguration};

/// `matchingPrecedence` when 0 or absent.
pub const DEFAULT_MATCHING_PRECEDENCE: i32 = 1000;
/// `limited.nominalConcurrencyShares` when absent.
pub const DEFAULT_SHARES: i32 = 30;
/// `queuing.queues` when 0 or absent.
pub const DEFAULT_QUEUES: i32 = 64;
/// `queuing.handSize` when 0 or absent.
pub const DEFAULT_HAND_SIZE: i32 = 8;
/// `queuing.queueLengthLimit` when 0 or absent.
pub const DEFAULT_QUEUE_LENGTH_LIMIT: i32 = 50;

/// Fills in what a server would fill in.
pub fn default_flow_schema(schema: &mut FlowSchema) {
    if schema.spec.matching_precedence == 0 {
        schema.spec.matching_precedence = DEFAULT_MATCHING_PRECEDENCE;
    }
}

/// Fills in what a server would fill in.
pub fn default_priority_level(level: &mut PriorityLevelConfiguration) {
    if let Some(exempt) = &mut level.spec.exempt {
        exempt.nominal_concurrency_shares.get_or_insert(0);
        exempt.lendable_percent.get_or_insert(0);
    }
    if let Some(limited) = &mut level.spec.limited {
        limited.nominal_concurrency_shares.get_or_insert(DEFAULT_SHARES);
        limited.lendable_percent.get_or_insert(0);
        if let Some(queuing) = &mut limited.limit_response.queuing {
            for (value, default) in [
                (&mut queuing.queues, DEFAULT_QUEUES),
                (&mut queuing.hand_size, DEFAULT_HAND_SIZE),
                (&mut queuing.queue_length_limit, DEFAULT_QUEUE_LENGTH_LIMIT),
            ] {
                if *value == 0 {
                    *value = default;
                }
            }
        }
    }
}
