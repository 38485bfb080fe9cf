//! Whole requests through the dispatcher: classified, admitted, counted, finished, counted.

use std::fmt::Write;

use apf::clock::Clock;
use apf::{Dispatcher, RequestAttributes};
use apf_config::{Objects, Strictness, load_str};

use super::limiters::now_or_never;
use crate::rounds::Peer;

/// Which way in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// `try_admit`, which never waits.
    Try,
    /// `admit`, awaited.
    Await,
    /// `admit_blocking`.
    Block,
}

/// Requests of some users in turn.
pub struct Whole {
    dispatcher: Dispatcher,
    way: Way,
    users: Vec<String>,
    turn: usize,
}

impl Whole {
    /// Of one user, `alice`, with the built-in objects.
    pub fn built_in(way: Way, clock: Clock) -> Self {
        Self::new(Objects::default(), way, clock, vec!["alice".to_owned()])
    }

    /// Of these users, with these objects over the built-in ones.
    ///
    /// # Panics
    ///
    /// When there is no dispatcher.
    pub fn new(objects: Objects, way: Way, clock: Clock, users: Vec<String>) -> Self {
        let objects = apf_config::bootstrap::with_own(&objects);
        let dispatcher = Dispatcher::builder().seats(6000).objects(objects).clock(clock).build();
        Self { dispatcher: dispatcher.expect("a valid configuration"), way, users, turn: 0 }
    }
}

/// A request of `user` to list the pods of a namespace.
pub fn list(user: &str) -> RequestAttributes<'_> {
    RequestAttributes::resource("list", "pods").in_namespace("dev").by(user, &["system:authenticated"][..])
}

impl Peer for Whole {
    fn serve(&mut self, requests: u64) {
        for _ in 0..requests {
            self.turn = if self.turn + 1 < self.users.len() { self.turn + 1 } else { 0 };
            let attributes = list(self.users.get(self.turn).map_or("", String::as_str));
            let permit = match self.way {
                Way::Try => self.dispatcher.try_admit(attributes),
                Way::Await => now_or_never(self.dispatcher.admit(attributes)),
                Way::Block => self.dispatcher.admit_blocking(attributes),
            };
            drop(permit.expect("a seat is free"));
        }
    }

    fn served(&self) -> u64 {
        self.dispatcher.stats().schemas.iter().map(|schema| schema.dispatched).sum()
    }
}

/// The user of a schema of [`schemas`] or [`levels`].
pub fn user(index: u32) -> String {
    format!("system:serviceaccount:team-{index}:worker")
}

fn parse(manifests: &str) -> Objects {
    let loaded = load_str("generated.yaml", manifests, Strictness::Strict);
    assert!(loaded.diagnostics.is_empty(), "{:?}", loaded.diagnostics.first());
    loaded.objects
}

fn schema(manifests: &mut String, index: u32, level: &str) {
    write!(
        manifests,
        "---\napiVersion: flowcontrol.apiserver.k8s.io/v1\nkind: FlowSchema\nmetadata: {{name: schema-{index}}}\n\
         spec:\n  priorityLevelConfiguration: {{name: {level}}}\n  matchingPrecedence: {}\n  \
         distinguisherMethod: {{type: ByUser}}\n  rules:\n  - subjects:\n    - kind: ServiceAccount\n      \
         serviceAccount: {{namespace: team-{index}, name: worker}}\n    resourceRules:\n    \
         - {{verbs: [list, watch], apiGroups: ['*'], resources: [pods, nodes], namespaces: ['*'], clusterScope: true}}\n",
        index + 2, // 1 is reserved
    )
    .expect("writing to a string");
}

/// So many schemas of one service account each, all pointing to `level`.
///
/// # Panics
///
/// When they are not valid.
pub fn schemas(count: u32, level: &str) -> Objects {
    let mut manifests = String::new();
    (0..count).for_each(|index| schema(&mut manifests, index, level));
    parse(&manifests)
}

/// So many levels of 64 queues, each with a schema of its own.
///
/// # Panics
///
/// When they are not valid.
pub fn levels(count: u32) -> Objects {
    let mut manifests = String::new();
    for index in 0..count {
        write!(
            manifests,
            "---\napiVersion: flowcontrol.apiserver.k8s.io/v1\nkind: PriorityLevelConfiguration\n\
             metadata: {{name: level-{index}}}\nspec:\n  type: Limited\n  limited:\n    nominalConcurrencyShares: 100\n    \
             limitResponse: {{type: Queue, queuing: {{queues: 64, handSize: 8, queueLengthLimit: 50}}}}\n"
        )
        .expect("writing to a string");
        schema(&mut manifests, index, &format!("level-{index}"));
    }
    parse(&manifests)
}
