//! What a run of a whole server gave, as values: tables, JSON and CSV are made of these.

use serde::Serialize;

/// One run of a whole server: a scenario or a replay. Times are seconds of simulated time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// `exact` or `default`.
    pub mode: &'static str,
    /// Seats of the server at the start.
    pub seats: u32,
    /// Length of the run.
    pub duration_s: f64,
    /// Seed of the random numbers, where there are any.
    pub seed: Option<u64>,
    /// Assumptions that the numbers rest on.
    pub notes: Vec<String>,
    /// Per priority level, by name; levels that were removed on the way too.
    pub levels: Vec<LevelRow>,
    /// Per flow schema, in the matching order of the first configuration; those of later ones follow.
    pub schemas: Vec<SchemaRow>,
    /// Per client of a scenario, in the order of the file; per user of a log, busiest first.
    pub clients: Vec<ClientRow>,
    /// How the limits moved. Adjustments that gave every level the limits it had are left out.
    pub adjustments: Vec<Adjustment>,
}

/// What became of a set of requests.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Traffic {
    /// Requests that arrived.
    pub requests: u64,
    /// Started at their arrival.
    pub admitted_at_once: u64,
    /// Had to wait in a queue, whatever became of them.
    pub queued: u64,
    /// Median wait of the requests that were not refused at their arrival; those admitted at once waited 0.
    pub wait_p50_s: f64,
    /// 90th percentile.
    pub wait_p90_s: f64,
    /// 99th percentile.
    pub wait_p99_s: f64,
    /// Longest wait.
    pub wait_max_s: f64,
    /// Refused: queue full.
    pub rejected_queue_full: u64,
    /// Refused: the level does not queue and had too few seats.
    pub rejected_concurrency_limit: u64,
    /// Refused after waiting: wait limit or deadline passed. In exact mode also those whose caller had left.
    pub rejected_time_out: u64,
    /// Refused after waiting: the caller had left.
    pub rejected_cancelled: u64,
    /// Still waiting or executing at the end of the run.
    pub unfinished: u64,
    /// Seats in use, average over the run.
    pub seats_avg: f64,
    /// Seats in use, maximum.
    pub seats_max: u64,
}

impl Traffic {
    /// Refused for any reason.
    pub fn rejected(&self) -> u64 {
        self.rejected_queue_full
            + self.rejected_concurrency_limit
            + self.rejected_time_out
            + self.rejected_cancelled
    }
}

/// A priority level.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LevelRow {
    /// Its name.
    pub level: String,
    /// Its requests.
    #[serde(flatten)]
    pub traffic: Traffic,
    /// Nominal limit at the end, seats.
    pub nominal: u32,
    /// Lower limit at the end, seats.
    pub min: u32,
    /// Upper limit at the end, seats.
    pub max: u32,
    /// Lowest current limit, seats.
    pub current_min: u32,
    /// Highest current limit, seats.
    pub current_max: u32,
    /// Seats above the nominal limit, average over the run.
    pub borrowed_avg: f64,
    /// Seats below the nominal limit, average over the run.
    pub lent_avg: f64,
}

/// A flow schema.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SchemaRow {
    /// Its name.
    pub schema: String,
    /// The level it led to last.
    pub level: String,
    /// Its requests.
    #[serde(flatten)]
    pub traffic: Traffic,
}

/// A client of a scenario, or a user of a log.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClientRow {
    /// Its name.
    pub client: String,
    /// Its requests.
    #[serde(flatten)]
    pub traffic: Traffic,
}

/// One adjustment of the current limits.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Adjustment {
    /// When.
    pub at_s: f64,
    /// `start`, `period` or `configuration`.
    pub cause: &'static str,
    /// Every level, by name.
    pub levels: Vec<AdjustedLevel>,
}

/// A level after an adjustment.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AdjustedLevel {
    /// Its name.
    pub level: String,
    /// Nominal limit, seats.
    pub nominal: u32,
    /// Current limit, seats.
    pub current: u32,
    /// Seats above the nominal limit.
    pub borrowed: u32,
    /// Seats below the nominal limit.
    pub lent: u32,
    /// Seats in use right after.
    pub seats_in_use: u64,
    /// Seat demand of the period before, average.
    pub demand_avg: f64,
    /// Seat demand of the period before, maximum.
    pub demand_max: u32,
    /// Whether it only waits to become idle.
    pub quiescing: bool,
}
