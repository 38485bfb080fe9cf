//! Events to requests: the lines of one audit ID are one request, and requests are sorted by arrival.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::event::{Event, Stage};
use super::{Counts, Identity, Input, Log, Request};
use crate::error::Error;

/// Where a line stands.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) source: &'a str,
    pub(super) line: u64,
}

/// Collects events into requests.
#[derive(Default)]
pub(super) struct Merger {
    pub(super) counts: Counts,
    requests: Vec<Request>,
    stages_seen: Vec<u8>,
    by_audit_id: HashMap<String, usize>,
    identities: Vec<Identity>,
    by_identity: HashMap<Identity, u32>,
    last_received: i64,
}

impl Merger {
    pub(super) fn add(&mut self, event: Event, place: Place<'_>) {
        self.counts.events += 1;
        self.counts.repaired(event.repairs);
        self.counts.out_of_order += u64::from(event.received < self.last_received);
        self.last_received = event.received;

        if event.audit_id.is_empty() {
            self.counts.no_audit_id += 1;
            self.push(event);
            return;
        }
        let known = self.by_audit_id.get(&event.audit_id).copied();
        if let Some(index) = known.filter(|&index| is_same_request(&self.requests[index], &event)) {
            return self.merge(index, &event, place);
        }
        // Aggregated servers log the same ID, and a client may send one of its own: then verb and URI tell requests apart.
        let key = match known {
            None => event.audit_id.clone(),
            Some(_) => format!("{} {} {}", event.audit_id, event.verb, event.uri),
        };
        match self.by_audit_id.entry(key) {
            Entry::Occupied(entry) => {
                let index = *entry.get();
                self.merge(index, &event, place);
            }
            Entry::Vacant(entry) => {
                self.counts.reused_audit_ids += u64::from(known.is_some());
                entry.insert(self.requests.len());
                self.push(event);
            }
        }
    }

    fn push(&mut self, event: Event) {
        let identity = Identity { user: event.user, groups: event.groups };
        let identity = match self.by_identity.get(&identity) {
            Some(&index) => index,
            None => {
                let index = self.identities.len() as u32;
                self.identities.push(identity.clone());
                self.by_identity.insert(identity, index);
                index
            }
        };
        let mut request = Request {
            identity,
            received: event.received,
            started: None,
            completed: None,
            queue_wait: event.queue_wait,
            code: event.code,
            verb: event.verb,
            uri: event.uri,
            object: event.object,
        };
        reached(&mut request, event.stage, event.stage_time);
        self.requests.push(request);
        self.stages_seen.push(stage_bit(event.stage));
    }

    fn merge(&mut self, index: usize, event: &Event, place: Place<'_>) {
        let (Some(request), Some(seen)) = (self.requests.get_mut(index), self.stages_seen.get_mut(index))
        else {
            return;
        };
        if *seen & stage_bit(event.stage) != 0 {
            self.counts.duplicate(place.source, place.line, &event.audit_id);
            return;
        }
        *seen |= stage_bit(event.stage);
        self.counts.merged += 1;
        request.received = request.received.min(event.received);
        request.queue_wait = request.queue_wait.max(event.queue_wait);
        if event.code != 0 {
            request.code = event.code;
        }
        if request.object.is_none() {
            request.object.clone_from(&event.object);
        }
        reached(request, event.stage, event.stage_time);
    }

    /// The log, or an error that says what was found instead of requests.
    pub(super) fn finish(mut self, inputs: &[Input]) -> Result<Log, Error> {
        self.counts.requests = self.requests.len() as u64;
        self.counts.never_completed =
            self.stages_seen.iter().filter(|&&seen| seen == stage_bit(Stage::Received)).count() as u64;
        if self.requests.is_empty() {
            let names: Vec<&str> = inputs.iter().map(Input::name).collect();
            let mut message = if self.counts.skipped() == 0 {
                "the log is empty: no audit event to replay".to_owned()
            } else {
                let s = if self.counts.lines == 1 { "" } else { "s" };
                format!("no audit event to replay: {} line{s}, none usable", self.counts.lines)
            };
            for example in &self.counts.examples {
                message.push_str("\n  ");
                message.push_str(example);
            }
            return Err(Error::in_file(names.join(", "), message).at_line(self.counts.lines.max(1)));
        }
        self.requests.sort_by_key(|request| request.received);
        Ok(Log { counts: self.counts, requests: self.requests, identities: self.identities })
    }
}

fn is_same_request(request: &Request, event: &Event) -> bool {
    request.verb == event.verb && request.uri == event.uri
}

fn stage_bit(stage: Stage) -> u8 {
    match stage {
        Stage::Received => 1,
        Stage::Started => 2,
        Stage::Complete => 4,
        Stage::Panic => 8,
    }
}

fn reached(request: &mut Request, stage: Stage, time: Option<i64>) {
    match stage {
        Stage::Received => {}
        Stage::Started => request.started = time,
        Stage::Complete | Stage::Panic => request.completed = time.or(request.completed),
    }
}

#[cfg(test)]
mod tests {
    use super::{Event, Merger, Place, Stage};
    use crate::audit::Input;

    const PLACE: Place<'_> = Place { source: "log", line: 1 };

    fn event(id: &str, stage: Stage, received: i64, at: i64) -> Event {
        Event {
            audit_id: id.into(),
            stage,
            user: "u".into(),
            verb: "get".into(),
            uri: "/x".into(),
            received,
            stage_time: Some(at),
            ..Event::default()
        }
    }

    #[test]
    fn stages_of_one_audit_id_are_one_request() {
        let mut merger = Merger::default();
        merger.add(event("a", Stage::Complete, 10, 90), PLACE);
        merger.add(event("b", Stage::Received, 5, 5), PLACE);
        merger.add(event("a", Stage::Received, 10, 10), PLACE);
        merger.add(event("a", Stage::Started, 10, 40), PLACE);
        let log = merger.finish(&[]).unwrap();
        assert_eq!(log.requests.len(), 2);
        let request = &log.requests[1];
        assert_eq!((request.received, request.started, request.completed), (10, Some(40), Some(90)));
        assert_eq!((log.counts.merged, log.counts.out_of_order, log.counts.never_completed), (2, 1, 1));
    }

    #[test]
    fn a_repeated_line_is_counted_and_not_replayed_twice() {
        let mut merger = Merger::default();
        merger.add(event("a", Stage::Complete, 10, 90), PLACE);
        merger.add(event("a", Stage::Complete, 10, 90), PLACE);
        let log = merger.finish(&[]).unwrap();
        assert_eq!((log.requests.len(), log.counts.duplicates, log.counts.skipped()), (1, 1, 1));
    }

    #[test]
    fn an_audit_id_used_by_two_requests_does_not_merge_them() {
        let mut merger = Merger::default();
        merger.add(event("a", Stage::Complete, 10, 90), PLACE);
        for stage in [Stage::Received, Stage::Complete] {
            merger.add(Event { verb: "list".into(), ..event("a", stage, 20, 95) }, PLACE);
        }
        let log = merger.finish(&[]).unwrap();
        assert_eq!((log.requests.len(), log.counts.reused_audit_ids, log.counts.merged), (2, 1, 1));
    }

    #[test]
    fn an_empty_log_is_an_error_that_names_the_file() {
        let error = Merger::default().finish(&[Input::from_arg("empty.jsonl")]).unwrap_err();
        assert_eq!(error.to_string(), "empty.jsonl:1: the log is empty: no audit event to replay");
    }
}
