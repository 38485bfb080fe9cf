//! The lines that cross the pipe: cases out, answers back. `conformance/server/wire.go` is the other end.

use serde::{Deserialize, Serialize};

use crate::objects::{FlowSchema, PriorityLevel};

/// A server, and what happens to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Case {
    /// Where the case comes from, for messages.
    pub name: String,
    /// The server concurrency limit, at least 1.
    pub server_limit: u32,
    /// What happens, in order of time.
    pub steps: Vec<Step>,
}

/// One thing that happens, at a time in nanoseconds since the start of the case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "lowercase", rename_all_fields = "camelCase", deny_unknown_fields)]
pub enum Step {
    /// These objects replace all others and are digested.
    Replace {
        /// When.
        at: u64,
        /// Every PriorityLevelConfiguration.
        priority_levels: Vec<PriorityLevel>,
        /// Every FlowSchema.
        flow_schemas: Vec<FlowSchema>,
    },
    /// The same objects are digested again: what an idle level that is no longer wanted waits for.
    Digest {
        /// When.
        at: u64,
    },
    /// A request is classified and goes no further.
    Classify {
        /// When.
        at: u64,
        /// The request.
        request: Attributes,
    },
    /// A request is classified and arrives at its level.
    Start {
        /// When.
        at: u64,
        /// Names the request in later steps; no two requests of a case share one.
        handle: u64,
        /// The request.
        request: Attributes,
        /// What it is estimated to need.
        work: Work,
    },
    /// A request ends: it finishes if it executes, leaves its queue if it waits.
    Finish {
        /// When.
        at: u64,
        /// Which.
        handle: u64,
    },
    /// A waiting request leaves its queue. One that executes goes on.
    Cancel {
        /// When.
        at: u64,
        /// Which.
        handle: u64,
    },
    /// The current limits are adjusted to the demand since the last adjustment.
    Adjust {
        /// When.
        at: u64,
    },
}

impl Step {
    /// When it happens.
    pub fn at(&self) -> u64 {
        match *self {
            Step::Replace { at, .. }
            | Step::Digest { at }
            | Step::Classify { at, .. }
            | Step::Start { at, .. }
            | Step::Finish { at, .. }
            | Step::Cancel { at, .. }
            | Step::Adjust { at } => at,
        }
    }
}

/// What classification reads of a request.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Attributes {
    /// User name.
    pub user: String,
    /// Groups.
    pub groups: Vec<String>,
    /// Whether the request is for a resource; if not, only `path` and `verb` say what for.
    pub is_resource: bool,
    /// URL path.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub path: String,
    /// Verb.
    pub verb: String,
    /// API group.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub api_group: String,
    /// Namespace.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// Resource.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub resource: String,
    /// Subresource.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub subresource: String,
}

/// A work estimate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Work {
    /// Seats while it executes.
    pub initial_seats: u64,
    /// Seats afterwards.
    pub final_seats: u64,
    /// How long afterwards, in nanoseconds.
    pub additional_latency: u64,
}

/// What one side did with a case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CaseResult {
    /// Name of the case.
    pub name: String,
    /// An answer for each step.
    pub results: Vec<Answer>,
}

/// The answer to one step. The members that are not asked for are absent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Answer {
    /// After a digestion.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config: Option<ConfigState>,
    /// After a classification.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<Class>,
    /// After an arrival.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started: Option<Started>,
    /// After a finish or cancel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<Ended>,
    /// After an adjustment: every level, by name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adjusted: Option<Vec<LevelState>>,
    /// After an arrival, finish or cancel: what occupies the level.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<Occupied>,
    /// Why the reference panicked; the case ends there.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub panic: String,
}

/// What a digestion leaves behind.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ConfigState {
    /// Names of the schemas, in the order they are tried.
    pub schemas: Vec<String>,
    /// Status conditions to be written, by name of the schema.
    pub condition_updates: Vec<ConditionUpdate>,
    /// Every level, by name.
    pub levels: Vec<LevelState>,
}

/// A condition to be written to the status of a FlowSchema.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConditionUpdate {
    /// Name of the schema.
    pub schema: String,
    /// `type`.
    #[serde(rename = "type")]
    pub kind: String,
    /// `status`.
    pub status: String,
    /// `reason`.
    pub reason: String,
    /// `message`.
    pub message: String,
}

/// Everything about a level.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LevelState {
    /// Name.
    pub name: String,
    /// Whether it only waits to become idle.
    pub quiescing: bool,
    /// Nominal concurrency limit.
    #[serde(rename = "nominalCL")]
    pub nominal: i64,
    /// Lower limit.
    #[serde(rename = "minCL")]
    pub min: i64,
    /// Upper limit.
    #[serde(rename = "maxCL")]
    pub max: i64,
    /// Current limit.
    #[serde(rename = "currentCL")]
    pub current: i64,
    /// Widest work estimate, 0 where there is none of the level's own.
    #[serde(rename = "maxSeats")]
    pub max_seats: u64,
    /// The limit that the level's queues work with.
    #[serde(rename = "appliedCL")]
    pub applied: i64,
    /// Wanted number of queues, 0 for a level that rejects, -1 for an exempt one.
    pub queues: i64,
    /// Hand size, 0 without queues.
    #[serde(rename = "handSize")]
    pub hand_size: i64,
    /// Longest queue, 0 without queues.
    #[serde(rename = "queueLengthLimit")]
    pub queue_length_limit: i64,
    /// Demand: high watermark of the last period.
    #[serde(rename = "highWatermark")]
    pub high_watermark: i64,
    /// Demand: average of the last period that had a length.
    pub average: f64,
    /// Demand: standard deviation of that period.
    pub deviation: f64,
    /// Demand: smoothed envelope.
    pub smoothed: f64,
    /// What occupies it.
    pub occupied: Occupied,
}

/// Totals of a level.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Occupied {
    /// Requests waiting.
    pub waiting: u64,
    /// Their seats.
    pub seats_waiting: i64,
    /// Requests executing.
    pub executing: u64,
    /// Seats in use, after the end of the request too.
    pub seats_in_use: i64,
}

/// A classification.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Class {
    /// Name of the schema.
    pub schema: String,
    /// UID of the schema, empty where it is imagined.
    #[serde(rename = "schemaUID")]
    pub schema_uid: String,
    /// Name of the level.
    pub level: String,
    /// UID of the level, empty where it is imagined.
    #[serde(rename = "levelUID")]
    pub level_uid: String,
    /// Flow distinguisher.
    pub distinguisher: String,
    /// Flow hash, 0 where flows play no part.
    pub flow_hash: u64,
    /// The flow's queues in deal order, `None` for a level without queues.
    pub hand: Option<Vec<u32>>,
}

/// What became of an arrival.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Started {
    /// Where it was sent.
    #[serde(flatten)]
    pub class: Class,
    /// How it went.
    pub state: StartState,
    /// Index of its queue, -1 in no queue.
    pub queue: i64,
}

/// How an arrival went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StartState {
    /// It executes.
    Executing,
    /// It waits.
    Waiting,
    /// It was turned away.
    Rejected,
}

/// What a finish or cancel met.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ended {
    /// What it was.
    pub was: EndState,
}

/// What a finish or cancel met.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EndState {
    /// It executed and is done.
    Executed,
    /// It waited and has left its queue.
    Ejected,
    /// It executes and goes on.
    Executing,
    /// There is no such request in flight.
    None,
}
