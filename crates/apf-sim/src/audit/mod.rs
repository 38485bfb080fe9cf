//! Reading Kubernetes audit logs: lines to events, events to requests in the order of their arrival.
//!
//! Nothing is dropped silently: whatever cannot be replayed or had to be repaired is in [`Counts`].

mod counts;
mod event;
mod input;
mod merge;

pub use counts::{CountRow, Counts};
pub use input::Input;

use crate::error::Error;
use crate::progress::Progress;
use event::Item;
use input::Lines;
use merge::Merger;

/// The requests of one or more audit logs, sorted by arrival.
#[derive(Debug, Clone)]
pub struct Log {
    /// What was met while reading.
    pub counts: Counts,
    /// Requests, earliest first; of equal times the one that was read first.
    pub requests: Vec<Request>,
    /// Who sent them.
    pub identities: Vec<Identity>,
}

/// A user as authorisation and priority and fairness see it: after impersonation.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Identity {
    /// User name.
    pub user: String,
    /// Groups, as logged: they cannot be derived from the name.
    pub groups: Vec<String>,
}

/// One request: its lines merged.
#[derive(Debug, Clone)]
pub struct Request {
    /// Index into [`Log::identities`].
    pub identity: u32,
    /// When the server received it, nanoseconds since the Unix epoch.
    pub received: i64,
    /// When its response started, when the log says.
    pub started: Option<i64>,
    /// When it ended, when the log says.
    pub completed: Option<i64>,
    /// Part of the time that was spent in a queue of the logged server, nanoseconds.
    pub queue_wait: u64,
    /// HTTP status, 0 when the log does not say.
    pub code: u16,
    /// `verb`, as logged.
    pub verb: String,
    /// `requestURI`, empty when the log has none.
    pub uri: String,
    /// `objectRef`, for resource requests.
    pub object: Option<ObjectRef>,
}

/// `objectRef` of an event.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ObjectRef {
    /// Resource, plural.
    pub resource: String,
    /// Namespace, empty for cluster-scoped requests.
    pub namespace: String,
    /// Name, empty for collections.
    pub name: String,
    /// API group, empty for the core group.
    pub api_group: String,
    /// API version without group.
    pub api_version: String,
    /// Subresource, if any.
    pub subresource: String,
}

/// Reads logs into one.
///
/// # Errors
///
/// A file that cannot be read, a gzip stream that is damaged or ends early, a line of more than 64 MiB, or logs without a
/// single request that could be replayed; each names the file and, where there is one, the line.
pub fn read(inputs: &[Input], progress: &mut dyn FnMut(Progress)) -> Result<Log, Error> {
    let mut merger = Merger::default();
    let total = inputs.iter().map(Input::size).sum();
    let mut done = 0;
    for input in inputs {
        let mut lines = Lines::open(input)?;
        while let Some(document) = lines.next_document()? {
            merger.counts.lines += document.lines;
            event::items(document.text, &mut |item| match item {
                Item::Event(event) => merger.add(*event, lines_place(input, document.line)),
                Item::Skipped(skip) => merger.counts.skip(skip, input.name(), document.line),
            });
            progress(Progress { done: done + document.bytes_read, total });
        }
        done += input.size();
    }
    merger.finish(inputs)
}

fn lines_place(input: &Input, line: u64) -> merge::Place<'_> {
    merge::Place { source: input.name(), line }
}
