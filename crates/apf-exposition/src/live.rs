//! The dumps of a running dispatcher.

use std::collections::HashMap;
use std::time::{Duration, SystemTime};

use apf::{Dispatcher, LevelCopy, RequestDetails};
use jiff::Timestamp;

use crate::tables::{self, Described, DumpLevel};

/// The debug dumps of kube-apiserver, by the last part of their path under `/debug/api_priority_and_fairness/`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Table {
    /// `dump_priority_levels`: a row a level, by name.
    PriorityLevels,
    /// `dump_queues`: a row a queue, levels by name.
    Queues,
    /// `dump_requests`: a row a request that waits or executes, levels by name.
    Requests {
        /// Whether the columns of `includeRequestDetails` are there: kube-apiserver shows them if its query parameter
        /// has a first value that is not empty.
        details: bool,
    },
}

/// A debug dump as text, for `text/plain; charset=utf-8`.
///
/// What the level itself does not know of a request is there only if the dispatcher was built with
/// [`keep_details`](apf::Builder::keep_details): its schema, its flow distinguisher and the columns of the details. The cells are
/// empty otherwise.
///
/// # Blocking
///
/// As [`Dispatcher::copy_levels`]: waits for its turn at each level. Not for busy monitoring.
pub fn dump(dispatcher: &Dispatcher, table: Table) -> String {
    let copies = dispatcher.copy_levels();
    let age = Duration::from_nanos(dispatcher.clock().now());
    dump_copies(&copies, table, SystemTime::now().checked_sub(age).unwrap_or(SystemTime::UNIX_EPOCH))
}

/// As [`dump`], of levels as they were when they were copied; `origin` is the wall-clock time of the dispatcher's time 0.
pub fn dump_copies(copies: &[LevelCopy], table: Table, origin: SystemTime) -> String {
    let levels = copies.iter().map(|copy| DumpLevel {
        name: &copy.name,
        quiescing: copy.quiescing,
        level: &copy.level,
    });
    match table {
        Table::PriorityLevels => tables::priority_levels(levels),
        Table::Queues => tables::queues(levels),
        Table::Requests { details } => {
            let kept: HashMap<&str, &HashMap<u64, RequestDetails>> =
                copies.iter().map(|copy| (copy.name.as_str(), &copy.details)).collect();
            let describe = |level: &str, token: u64| {
                kept.get(level).and_then(|kept| kept.get(&token)).map(described).unwrap_or_default()
            };
            let origin = Timestamp::try_from(origin).unwrap_or(Timestamp::UNIX_EPOCH);
            tables::requests(levels, origin, details, &describe)
        }
    }
}

fn described(kept: &RequestDetails) -> Described {
    Described {
        schema: kept.flow_schema.clone(),
        distinguisher: kept.distinguisher.clone(),
        user: kept.user.clone(),
        verb: kept.verb.clone(),
        path: path(kept),
        namespace: kept.namespace.clone(),
        name: kept.name.clone(),
        api_version: kept.api_version.clone(),
        resource: kept.resource.clone(),
        subresource: kept.subresource.clone(),
    }
}

/// The path of the URL: of a request for a resource put together from what it asks for, where its API version is known.
fn path(kept: &RequestDetails) -> String {
    if kept.resource.is_empty() || kept.api_version.is_empty() {
        return kept.path.clone();
    }
    let mut path = String::from(if kept.api_version.contains('/') { "/apis" } else { "/api" });
    // A namespace counts as being in itself.
    let namespace = if kept.resource == "namespaces" { "" } else { &kept.namespace };
    // Lists have a name where they select an object by its name: that is in the query.
    let of_all =
        kept.subresource.is_empty() && matches!(kept.verb.as_str(), "list" | "watch" | "deletecollection");
    let name = if of_all { "" } else { &kept.name };
    let namespaces = if namespace.is_empty() { "" } else { "namespaces" };
    let parts = [&kept.api_version, namespaces, namespace, &kept.resource, name, &kept.subresource];
    for part in parts.into_iter().filter(|part| !part.is_empty()) {
        path.push('/');
        path.push_str(part);
    }
    path
}
