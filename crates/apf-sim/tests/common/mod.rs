//! Objects and requests that several tests need.

#![allow(dead_code, unreachable_pub, clippy::unwrap_used, reason = "each test uses its part")]

use apf_config::attributes::RequestAttributes;
use apf_config::objects::{FlowSchema, Objects, PriorityLevelConfiguration};
use apf_config::{Strictness, load_str};
use apf_core::{Answer, Arrival, Arrived, Grant, RequestId, Sink, WorkEstimate};
use apf_sim::server::{LevelKey, Server, ServerLevel};

pub const SECOND: u64 = 1_000_000_000;

/// A limited level, and a schema of the same name that leads one user to it.
pub fn level_with_user(name: &str, shares: u32, queuing: &str, user: &str) -> Objects {
    let text = format!(
        "apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: PriorityLevelConfiguration
metadata: {{name: {name}}}
spec:
  type: Limited
  limited:
    nominalConcurrencyShares: {shares}
    lendablePercent: 0
    borrowingLimitPercent: 0
    limitResponse: {queuing}
---
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: FlowSchema
metadata: {{name: {name}}}
spec:
  priorityLevelConfiguration: {{name: {name}}}
  matchingPrecedence: 50
  rules:
  - subjects: [{{kind: User, user: {{name: {user}}}}}]
    resourceRules: [{{verbs: ['*'], apiGroups: ['*'], resources: ['*'], namespaces: ['*'], clusterScope: true}}]
"
    );
    let loaded = load_str("test", &text, Strictness::Strict);
    assert!(!loaded.has_errors(), "{:?}", loaded.diagnostics);
    loaded.objects
}

pub fn queue(queues: u32, hand_size: u32, queue_length_limit: u32) -> String {
    format!(
        "{{type: Queue, queuing: {{queues: {queues}, handSize: {hand_size}, queueLengthLimit: {queue_length_limit}}}}}"
    )
}

pub const REJECT: &str = "{type: Reject}";

pub fn both(a: &Objects, b: &Objects) -> Objects {
    let join = |a: &[FlowSchema], b: &[FlowSchema]| a.iter().chain(b).cloned().collect();
    let levels = |a: &[PriorityLevelConfiguration], b: &[PriorityLevelConfiguration]| {
        a.iter().chain(b).cloned().collect()
    };
    Objects {
        flow_schemas: join(&a.flow_schemas, &b.flow_schemas),
        priority_levels: levels(&a.priority_levels, &b.priority_levels),
    }
}

/// Takes every grant and remembers it.
#[derive(Default)]
pub struct Grants(pub Vec<Grant>);

impl Sink for Grants {
    fn grant(&mut self, grant: Grant) -> Answer {
        self.0.push(grant);
        Answer::Taken
    }
}

/// One request of one seat arrives.
pub fn arrive(
    server: &mut Server,
    now: u64,
    request: &RequestAttributes<'_>,
    sink: &mut impl Sink,
) -> (LevelKey, Arrived) {
    let found = server.classify(request);
    let arrival = Arrival { flow_hash: found.flow_hash, work: WorkEstimate::seats(1), token: 0 };
    (found.level, server.arrive(now, found.level, arrival, sink).unwrap())
}

/// Requests of one seat that start at once.
pub fn start(
    server: &mut Server,
    now: u64,
    count: usize,
    request: &RequestAttributes<'_>,
) -> Vec<(LevelKey, RequestId)> {
    let mut started = Vec::new();
    for _ in 0..count {
        match arrive(server, now, request, &mut Grants::default()) {
            (level, Arrived::Executing(id)) => started.push((level, id)),
            (level, other) => panic!("{}: {other:?}", server.level(level).name()),
        }
    }
    started
}

pub fn finish(server: &mut Server, now: u64, started: &[(LevelKey, RequestId)]) {
    for &(level, id) in started {
        server.finish(now, level, id, &mut Grants::default()).unwrap();
    }
}

/// Current limits by level name.
pub fn currents(server: &Server) -> Vec<(&str, u32)> {
    let current = |level: &'_ ServerLevel| {
        assert_eq!(level.level().concurrency_limit(), u64::from(level.current()), "{}", level.name());
        level.current()
    };
    server.levels().map(|level| (level.name(), current(level))).collect()
}
