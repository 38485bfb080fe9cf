//! The events of a trace and their text form.

use std::fmt;

use apf_core::{Cause, Mode, Queuing};

/// Latest time and longest duration of a trace, nanoseconds (292 years): differences fit `i64`.
pub const MAX_TIME: u64 = i64::MAX as u64;

/// Largest number of queues, queue length limit and concurrency limit of a trace.
pub const MAX_LIMIT: u64 = i32::MAX as u64;

/// The configuration of the level under test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LevelSpec {
    /// What happens to requests that cannot run at once. In text: queues, hand and queue length
    /// limit, with -1 queues for exempt and 0 for reject.
    pub queuing: Queuing,
    /// Seats of the level.
    pub limit: u32,
}

/// One event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// When, in nanoseconds since the trace's origin. May be before the previous event.
    pub at: u64,
    /// What.
    pub kind: EventKind,
}

/// What happens in an event. `id` is the trace's own name of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventKind {
    /// A request arrives.
    Arrive {
        /// Its name from now on, never used before in the trace.
        id: u64,
        /// Its flow hash.
        hash: u64,
        /// Seats while it executes.
        initial_seats: u64,
        /// Seats after its end.
        final_seats: u64,
        /// Nanoseconds for which the final seats are held.
        latency: u64,
    },
    /// An executing request ends.
    Finish {
        /// The request.
        id: u64,
    },
    /// A waiting request gives up.
    Cancel {
        /// The request.
        id: u64,
        /// Why; makes a difference in the default mode only.
        cause: Cause,
    },
    /// The level's configuration changes.
    Reconfigure(LevelSpec),
    /// Time is synchronised: R advances and nothing else happens.
    Touch,
    /// The seat demand since the last one is reported and its integration starts anew.
    Demand,
}

/// A whole trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    /// Where the trace came from; nothing depends on it.
    pub seed: Option<u64>,
    /// Mode in which our core runs it; the reference knows the exact one only.
    pub mode: Mode,
    /// When the level is made, nanoseconds.
    pub start: u64,
    /// The level's first configuration.
    pub level: LevelSpec,
    /// What happens to it.
    pub events: Vec<Event>,
}

impl fmt::Display for LevelSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.queuing {
            Queuing::Exempt => write!(f, "-1 0 0 {}", self.limit),
            Queuing::Reject => write!(f, "0 0 0 {}", self.limit),
            Queuing::Queue { queues, hand_size, queue_length_limit } => {
                write!(f, "{queues} {hand_size} {queue_length_limit} {}", self.limit)
            }
        }
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.at)?;
        match self.kind {
            EventKind::Arrive { id, hash, initial_seats, final_seats, latency } => {
                write!(f, "arrive {id} {hash} {initial_seats} {final_seats} {latency}")
            }
            EventKind::Finish { id } => write!(f, "finish {id}"),
            EventKind::Cancel { id, cause: Cause::TimeOut } => write!(f, "cancel {id}"),
            EventKind::Cancel { id, cause: Cause::Caller } => write!(f, "cancel {id} caller"),
            EventKind::Reconfigure(level) => write!(f, "reconfigure {level}"),
            EventKind::Touch => write!(f, "touch"),
            EventKind::Demand => write!(f, "demand"),
        }
    }
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "apf-trace 1")?;
        if let Some(seed) = self.seed {
            writeln!(f, "seed {seed}")?;
        }
        writeln!(f, "mode {}", if self.mode == Mode::Exact { "exact" } else { "default" })?;
        writeln!(f, "start {}", self.start)?;
        writeln!(f, "level {}", self.level)?;
        for event in &self.events {
            writeln!(f, "{event}")?;
        }
        writeln!(f, "end")
    }
}
