//! What was met in the logs: every line that is not replayed, and every repair, is counted here.

use serde::Serialize;

use super::event::{Repairs, Skip};

/// How many places of skipped lines are kept.
const EXAMPLES: usize = 10;

/// Counts over all logs read together.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Lines read, blank ones too.
    pub lines: u64,
    /// Audit events read: one a stage of a request.
    pub events: u64,
    /// Requests: events merged by audit ID.
    pub requests: u64,

    /// Skipped: not JSON.
    pub not_json: u64,
    /// Skipped: JSON, but no audit event.
    pub not_an_event: u64,
    /// Skipped: GKE Cloud Logging entries, which carry no groups and so cannot be classified.
    pub cloud_logging: u64,
    /// Skipped: audit events without user, verb, time or target.
    pub incomplete: u64,
    /// Skipped: lines that repeat an audit ID and a stage already read.
    pub duplicates: u64,

    /// Events that came out of a list.
    pub in_lists: u64,
    /// Events that came out of an AKS diagnostic record.
    pub wrapped: u64,
    /// Events of `audit.k8s.io/v1beta1` or `v1alpha1`.
    pub old_versions: u64,
    /// Events without an `apiVersion`, read as the newest.
    pub no_api_version: u64,
    /// Events without a `stage`, read as `ResponseComplete`.
    pub no_stage: u64,
    /// Events without an `auditID`, each read as a request of its own.
    pub no_audit_id: u64,
    /// Events whose audit ID another request had used: a client may choose it.
    pub reused_audit_ids: u64,
    /// Events without `requestReceivedTimestamp`: time taken from an older field.
    pub old_timestamps: u64,
    /// Events whose time is known to the second only.
    pub whole_seconds: u64,
    /// Events of an impersonated user, classified as that user.
    pub impersonated: u64,
    /// Events whose queue-wait annotation is not a duration: nothing subtracted.
    pub bad_annotations: u64,
    /// Lines that arrived before the line above them: logs are in the order of completion.
    pub out_of_order: u64,
    /// Events that were merged into a request read before.
    pub merged: u64,
    /// Requests of which the log has only the arrival.
    pub never_completed: u64,

    /// `FILE:LINE: reason` of the first skipped lines.
    pub examples: Vec<String>,
}

/// A line of the table of counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct CountRow {
    /// What was counted.
    pub what: &'static str,
    /// How often.
    pub count: u64,
    /// Whether these are not replayed.
    pub skipped: bool,
}

impl Counts {
    /// Everything that was met at all, in a fixed order; lines, events and requests always.
    pub fn rows(&self) -> Vec<CountRow> {
        let always = [("lines", self.lines), ("events", self.events), ("requests", self.requests)];
        let skipped = [
            ("not JSON", self.not_json),
            ("not an audit event", self.not_an_event),
            ("GKE Cloud Logging entry: unsupported, it has no groups", self.cloud_logging),
            ("audit event without user, verb, time or target", self.incomplete),
            ("repeats an audit ID and stage already read", self.duplicates),
        ];
        let repaired = [
            ("taken out of a list", self.in_lists),
            ("taken out of an AKS record", self.wrapped),
            ("audit.k8s.io v1beta1 or v1alpha1", self.old_versions),
            ("without apiVersion, read as audit.k8s.io/v1", self.no_api_version),
            ("without stage, read as ResponseComplete", self.no_stage),
            ("without auditID, each a request of its own", self.no_audit_id),
            ("audit ID used by another request too", self.reused_audit_ids),
            ("without requestReceivedTimestamp, time from an older field", self.old_timestamps),
            ("time known to the second only", self.whole_seconds),
            ("impersonated, classified as the impersonated user", self.impersonated),
            ("queue-wait annotation is no duration, nothing subtracted", self.bad_annotations),
            ("earlier than the line above, sorted", self.out_of_order),
            ("further stage of a request, merged", self.merged),
            ("request without an end in the log", self.never_completed),
        ];
        let row = |skipped| move |(what, count)| CountRow { what, count, skipped };
        let met = |row: &CountRow| row.count > 0;
        always
            .into_iter()
            .map(row(false))
            .chain(skipped.into_iter().map(row(true)).filter(met))
            .chain(repaired.into_iter().map(row(false)).filter(met))
            .collect()
    }

    /// Everything that is not replayed.
    pub fn skipped(&self) -> u64 {
        self.not_json + self.not_an_event + self.cloud_logging + self.incomplete + self.duplicates
    }

    pub(super) fn skip(&mut self, skip: Skip, source: &str, line: u64) {
        let reason = match skip {
            Skip::NotJson(why) => {
                self.not_json += 1;
                format!("not JSON: {why}")
            }
            Skip::NotAnEvent(why) => {
                self.not_an_event += 1;
                format!("not an audit event: {why}")
            }
            Skip::CloudLogging => {
                self.cloud_logging += 1;
                "GKE Cloud Logging entry: unsupported, it has no groups to classify by".into()
            }
            Skip::Incomplete(why) => {
                self.incomplete += 1;
                format!("not usable: {why}")
            }
        };
        self.example(source, line, &reason);
    }

    pub(super) fn duplicate(&mut self, source: &str, line: u64, audit_id: &str) {
        self.duplicates += 1;
        self.example(source, line, &format!("repeats audit ID {audit_id} and its stage"));
    }

    pub(super) fn repaired(&mut self, repairs: Repairs) {
        for (count, met) in [
            (&mut self.in_lists, repairs.in_list),
            (&mut self.wrapped, repairs.wrapped),
            (&mut self.old_versions, repairs.old_version),
            (&mut self.no_api_version, repairs.no_api_version),
            (&mut self.no_stage, repairs.no_stage),
            (&mut self.old_timestamps, repairs.old_timestamp),
            (&mut self.whole_seconds, repairs.whole_seconds),
            (&mut self.impersonated, repairs.impersonated),
            (&mut self.bad_annotations, repairs.bad_annotation),
        ] {
            *count += u64::from(met);
        }
    }

    fn example(&mut self, source: &str, line: u64, reason: &str) {
        if self.examples.len() < EXAMPLES {
            self.examples.push(format!("{source}:{line}: {reason}"));
        }
    }
}
