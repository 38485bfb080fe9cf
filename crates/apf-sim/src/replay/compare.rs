//! Two replays of one log, side by side.

use serde::Serialize;

use super::ReplayReport;
use crate::report::Traffic;

/// The differences of two replays.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// Per priority level, by name.
    pub levels: Vec<Difference>,
    /// Per flow schema: those of the first configuration in matching order, then those that only the second has.
    pub schemas: Vec<Difference>,
}

/// A level or schema in two replays. Differences are second minus first.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Difference {
    /// Its name.
    pub name: String,
    /// In the first replay; absent when that configuration does not have it.
    pub before: Option<Traffic>,
    /// In the second.
    pub after: Option<Traffic>,
    /// Requests.
    pub requests: i64,
    /// Queued requests.
    pub queued: i64,
    /// Refused requests.
    pub rejected: i64,
    /// 99th percentile of the wait, seconds.
    pub wait_p99_s: f64,
    /// Longest wait, seconds.
    pub wait_max_s: f64,
    /// Average of seats in use.
    pub seats_avg: f64,
}

impl Comparison {
    /// Whether the second configuration treats the log as the first does.
    pub fn is_same(&self) -> bool {
        self.levels.iter().chain(&self.schemas).all(Difference::is_same)
    }
}

impl Difference {
    /// Whether both replays have it and its requests fared the same.
    pub fn is_same(&self) -> bool {
        self.before == self.after
    }

    fn new(name: &str, before: Option<&Traffic>, after: Option<&Traffic>) -> Difference {
        let count = |of: fn(&Traffic) -> u64| {
            let [before, after] = [before, after].map(|traffic| traffic.map_or(0, of) as i64);
            after - before
        };
        let number = |of: fn(&Traffic) -> f64| after.map_or(0.0, of) - before.map_or(0.0, of);
        Difference {
            name: name.to_owned(),
            before: before.cloned(),
            after: after.cloned(),
            requests: count(|traffic| traffic.requests),
            queued: count(|traffic| traffic.queued),
            rejected: count(Traffic::rejected),
            wait_p99_s: number(|traffic| traffic.wait_p99_s),
            wait_max_s: number(|traffic| traffic.wait_max_s),
            seats_avg: number(|traffic| traffic.seats_avg),
        }
    }
}

/// Compares two replays of the same log.
pub fn compare(before: &ReplayReport, after: &ReplayReport) -> Comparison {
    let levels = |of: &ReplayReport| -> Vec<(String, Traffic)> {
        of.report.levels.iter().map(|row| (row.level.clone(), row.traffic.clone())).collect()
    };
    let schemas = |of: &ReplayReport| -> Vec<(String, Traffic)> {
        of.report.schemas.iter().map(|row| (row.schema.clone(), row.traffic.clone())).collect()
    };
    let mut by_level = differences(&levels(before), &levels(after));
    by_level.sort_by(|a, b| a.name.cmp(&b.name));
    Comparison { levels: by_level, schemas: differences(&schemas(before), &schemas(after)) }
}

fn differences(before: &[(String, Traffic)], after: &[(String, Traffic)]) -> Vec<Difference> {
    let find = |rows: &'_ [(String, Traffic)], name: &str| {
        rows.iter().find(|(other, _)| other == name).map(|(_, traffic)| traffic.clone())
    };
    let only_after = after.iter().filter(|(name, _)| find(before, name).is_none());
    before
        .iter()
        .chain(only_after)
        .map(|(name, _)| Difference::new(name, find(before, name).as_ref(), find(after, name).as_ref()))
        .collect()
}
