//! After warm-up a request allocates nothing, whatever becomes of it; and what a waiting request costs in memory.
//!
//! Prints `measured NAME VALUE UNIT` lines. Counts the allocations of all threads, so the cases run one after the other.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test fails by panicking and prints what it has seen"
)]

mod counting_allocator;

use std::future::Future;
use std::pin::Pin;
use std::sync::mpsc;
use std::task::{Context, Poll, Waker};

use apf::gate::{Decision, Gate, Started};
use apf::{Admit, AdmitError, Dispatcher, Permit, Reason};
use apf_config::{Objects, Strictness, load_str};
use apf_contention::peers::admission::Admission;
use apf_contention::peers::dispatcher::list;
use apf_contention::peers::{level, request};
use counting_allocator::{asked, held};

/// What a waiting request may cost, where it fills what has been allocated for it.
const MOST_BYTES: f64 = 256.0;
/// So many fill chunks and vectors, which double, nearly to the last place.
const FILLED: usize = 131_000;
const WARM_UP: u32 = 3_000;
const REQUESTS: u32 = 10_000;

/// Allocations a request, after as many for warming up; there must be none.
fn none(name: &str, mut request: impl FnMut()) {
    // The count is the process's: the timer thread, and the adjustment every ten seconds, may fall into a round. What
    // a request allocates falls into every one.
    let counted = (0..5).map(|_| allocations(name, &mut request)).find(|counted| *counted == 0);
    assert_eq!(counted, Some(0), "{name}: allocations in each of 5 rounds of {REQUESTS} requests");
}

fn allocations(name: &str, request: &mut dyn FnMut()) -> u64 {
    (0..WARM_UP).for_each(|_| request());
    let before = asked();
    (0..REQUESTS).for_each(|_| request());
    let counted = asked() - before;
    println!(
        "measured contention-allocations/{name} {} allocations/request",
        counted as f64 / f64::from(REQUESTS)
    );
    counted
}

/// One level of so many seats for everyone.
fn dispatcher(seats: u32, response: &str) -> Dispatcher {
    let manifests = format!(
        "
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: PriorityLevelConfiguration
metadata: {{name: only}}
spec: {{type: Limited, limited: {{nominalConcurrencyShares: {seats}, borrowingLimitPercent: 0, limitResponse: {response}}}}}
---
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: PriorityLevelConfiguration
metadata: {{name: rest}}
spec: {{type: Limited, limited: {{nominalConcurrencyShares: {}, limitResponse: {{type: Reject}}}}}}
---
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: FlowSchema
metadata: {{name: everyone}}
spec:
  priorityLevelConfiguration: {{name: only}}
  matchingPrecedence: 10
  distinguisherMethod: {{type: ByUser}}
  rules:
  - subjects: [{{kind: Group, group: {{name: '*'}}}}]
    resourceRules: [{{verbs: ['*'], apiGroups: ['*'], resources: ['*'], namespaces: ['*'], clusterScope: true}}]
",
        995 - seats // five more are the catch-all level's
    );
    let loaded = load_str("only.yaml", &manifests, Strictness::Strict);
    assert!(!loaded.has_errors(), "{:?}", loaded.diagnostics);
    let objects: Objects = loaded.objects;
    let dispatcher = Dispatcher::builder().seats(1000).objects(objects).build().unwrap();
    assert_eq!(dispatcher.stats().level("only").unwrap().current_limit, seats);
    dispatcher
}

const QUEUES: &str = "{type: Queue, queuing: {queues: 64, handSize: 8, queueLengthLimit: 1000000}}";

/// Polls once, not to be woken.
fn poll<'a>(future: &mut Admit<'a>) -> Poll<Result<Permit<'a>, AdmitError>> {
    Pin::new(future).poll(&mut Context::from_waker(Waker::noop()))
}

fn admitted_at_once() {
    let dispatcher = dispatcher(16, QUEUES);
    none("try-admit", || drop(dispatcher.try_admit(list("alice")).unwrap()));
    none("admit-blocking", || drop(dispatcher.admit_blocking(list("alice")).unwrap()));
    none("admit-await", || {
        let mut future = dispatcher.admit(list("alice"));
        let Poll::Ready(Ok(permit)) = poll(&mut future) else { panic!("a seat is free") };
        drop(permit);
    });
}

/// A request waits for another one's seat, polled twice on the way.
fn queued_as_a_future() {
    let dispatcher = dispatcher(1, QUEUES);
    let mut running = Some(dispatcher.try_admit(list("alice")).unwrap());
    none("queued-await", || {
        let mut future = dispatcher.admit(list("bob"));
        assert!(poll(&mut future).is_pending() && poll(&mut future).is_pending());
        drop(running.take());
        let Poll::Ready(Ok(permit)) = poll(&mut future) else { panic!("the seat is free") };
        running = Some(permit);
    });
    none("dropped-while-queued", || {
        let mut future = dispatcher.admit(list("bob"));
        assert!(poll(&mut future).is_pending());
        drop(future);
    });
    none("timed-out-at-once", || {
        let request = apf::Request::from(list("bob")).with_wait_limit(std::time::Duration::ZERO);
        let Err(AdmitError::Rejected(rejected)) = dispatcher.admit_blocking(request) else {
            panic!("no seat")
        };
        assert_eq!(rejected.reason, Reason::TimeOut);
    });
}

/// A thread waits, blocked, until another one gives the only seat back.
fn queued_blocking() {
    let dispatcher = dispatcher(1, QUEUES);
    let queued = || {
        dispatcher
            .stats()
            .schemas
            .iter()
            .map(|schema| schema.waited.count() - schema.waited.counts[0])
            .sum::<u64>()
    };
    let (ask, asked_for) = mpsc::sync_channel::<()>(1);
    let (tell, told) = mpsc::sync_channel::<()>(1);
    std::thread::scope(|scope| {
        let dispatcher = &dispatcher;
        scope.spawn(move || {
            for () in asked_for {
                drop(dispatcher.admit_blocking(list("bob")).unwrap());
                tell.send(()).unwrap();
            }
        });
        none("queued-blocking", || {
            let permit = dispatcher.admit_blocking(list("alice")).unwrap();
            ask.send(()).unwrap();
            // Looking whether it waits yet would itself allocate: that takes a control operation.
            std::thread::sleep(std::time::Duration::from_micros(100));
            drop(permit);
            told.recv().unwrap();
        });
        drop(ask);
    });
    assert!(queued() > u64::from(REQUESTS / 2), "most have waited: {}", queued());
}

fn rejected() {
    let dispatcher = dispatcher(1, "{type: Reject}");
    let _running = dispatcher.try_admit(list("alice")).unwrap();
    none("rejected-try-admit", || {
        let Err(AdmitError::Rejected(_)) = dispatcher.try_admit(list("bob")) else {
            panic!("no seat is free")
        };
    });
    none("rejected-await", || {
        let mut future = dispatcher.admit(list("bob"));
        let Poll::Ready(Err(AdmitError::Rejected(_))) = poll(&mut future) else { panic!("no seat is free") };
    });
}

/// The gate by itself.
fn gate() {
    let gate = <Gate as Admission>::around(level(64, 1));
    let mut now = 0_u64;
    let mut running = None;
    none("gate-queued", || {
        now += 1000;
        let flow = now.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        match (gate.start(now, request(flow)), running.take()) {
            (Started::Running(ticket), None) => running = Some(ticket),
            (Started::Pending(mut ticket), Some(earlier)) => {
                assert_eq!(gate.poll(&mut ticket, Waker::noop()), None);
                gate.finish(now, earlier);
                assert_eq!(gate.poll(&mut ticket, Waker::noop()), Some(Decision::Granted));
                running = Some(ticket);
            }
            other => panic!("{other:?}"),
        }
    });
}

/// Bytes of the engine that each of so many waiting requests holds.
fn memory(waiting: usize) -> f64 {
    let dispatcher = dispatcher(1, QUEUES);
    let users: Vec<String> = (0..1000).map(|user| format!("user-{user}")).collect();
    let _running = dispatcher.try_admit(list("alice")).unwrap();
    let mut futures: Vec<Admit<'_>> = Vec::with_capacity(waiting);
    let before = held();
    for request in 0..waiting {
        let mut future = dispatcher.admit(list(&users[request % users.len()]));
        assert!(poll(&mut future).is_pending());
        futures.push(future);
    }
    let each = (held() - before) as f64 / waiting as f64;
    assert_eq!(dispatcher.stats().level("only").unwrap().requests_waiting, waiting as u64);
    println!("measured contention-memory/waiting/{waiting} {each:.1} bytes/request");
    each
}

/// Bytes of the gate and its core alone.
fn memory_of_gate(waiting: u64) {
    let gate = <Gate as Admission>::around(level(64, 1));
    let mut tickets = Vec::with_capacity(waiting as usize + 1);
    let before = held();
    tickets.extend((0..=waiting).map(|flow| Admission::start(&gate, flow, request(flow << 20)).0));
    let each = (held() - before) as f64 / waiting as f64;
    println!("measured contention-memory/waiting-in-gate/{waiting} {each:.1} bytes/request");
}

/// What one allocation a request would look like.
fn control() {
    let counted = allocations("control", &mut || drop(std::hint::black_box(Box::new(1))));
    assert_eq!(counted, u64::from(REQUESTS), "the counter counts");
}

fn main() {
    control();
    gate();
    admitted_at_once();
    queued_as_a_future();
    queued_blocking();
    rejected();
    println!("measured contention-memory/future/1 {} bytes/request", size_of::<Admit<'_>>());
    memory_of_gate(FILLED as u64);
    memory(100_000);
    let each = memory(FILLED);
    assert!(each <= MOST_BYTES, "a waiting request costs {each:.1} bytes");
}
