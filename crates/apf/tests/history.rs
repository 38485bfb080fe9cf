//! Concurrent histories, replayed in gate order through a fresh core: the same decisions, and the same state to the bit.
//!
//! This checks that the gate is linearizable without a search: the order is recorded where it is made, and every
//! event's time must lie within the call that it comes from.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]
#![allow(clippy::print_stdout, reason = "a test says how much it has seen")]

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::task::{Wake, Waker};
use std::thread::{self, Thread};
use std::time::Instant;

use apf::gate::history::{Applied, Entry, Outcome};
use apf::gate::{Decision, Gate, NoTimers, Request, Started, Ticket, Withdrawn};
use apf_core::{
    Answer, Arrival, Arrived, Cause, Grant, Level, Mode, Queuing, Reason, RequestId, Sink, WorkEstimate,
};

const THREADS: u64 = 4;
/// Few under Miri, which is slow and looks at each access.
const REQUESTS: u64 = if cfg!(miri) { 6 } else { 150 };
const SEEDS: u64 = if cfg!(miri) { 1 } else { 150 };

struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// What a caller saw of its request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Seen {
    Ran,
    Refused(Reason),
    GaveUp(Cause),
}

/// One call: its flow names it, for every flow is used once.
struct Call {
    flow: u64,
    before: u64,
    after: u64,
    seen: Seen,
}

fn queuing(seed: u64) -> Queuing {
    match seed % 4 {
        0 => Queuing::Reject,
        n => Queuing::Queue { queues: n as u32 * 3, hand_size: n as u32, queue_length_limit: 3 },
    }
}

/// One caller after the other, some of them at the same time as others.
fn client(gate: &Gate, thread: u64, seed: u64, now: &dyn Fn() -> u64) -> Vec<Call> {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut random = Random(seed * THREADS + thread);
    let mut calls = Vec::new();
    for number in 0..REQUESTS {
        let flow = thread << 32 | number;
        let work = WorkEstimate {
            initial_seats: 1 + random.below(4),
            final_seats: random.below(3) * random.below(4),
            additional_latency: random.below(2) * random.below(20_000),
        };
        let patience = random.below(6);
        let before = now();
        let started = gate.start(before, Request { flow_hash: flow, work });
        let after = now();
        let mut run = |ticket: Ticket| {
            (0..random.below(3)).for_each(|_| thread::yield_now());
            gate.finish(now(), ticket);
            Seen::Ran
        };
        let seen = match started {
            Started::Running(ticket) => run(ticket),
            Started::Refused(reason) => Seen::Refused(reason),
            Started::Pending(mut ticket) => {
                let mut looks = 0;
                loop {
                    match gate.poll(&mut ticket, &waker) {
                        Some(Decision::Granted) => break run(ticket),
                        Some(Decision::Refused(reason)) => {
                            gate.forget(ticket);
                            break Seen::Refused(reason);
                        }
                        None if looks >= patience => {
                            let cause =
                                if patience.is_multiple_of(2) { Cause::Caller } else { Cause::TimeOut };
                            match gate.cancel(now(), ticket, cause) {
                                Withdrawn::Gone => break Seen::GaveUp(cause),
                                Withdrawn::Running(ticket) => break run(ticket),
                                Withdrawn::Refused(reason) => break Seen::Refused(reason),
                            }
                        }
                        None => {
                            looks += 1;
                            thread::park_timeout(std::time::Duration::from_micros(20));
                        }
                    }
                }
            }
            other => panic!("{other:?}"),
        };
        calls.push(Call { flow, before, after, seen });
        if random.below(8) == 0 {
            gate.tick(now());
        }
    }
    calls
}

/// What the level was told, until nobody was left.
struct Recorded {
    applied: Vec<Applied>,
    level: Level,
    calls: Vec<Call>,
}

fn record(mode: Mode, seed: u64) -> Recorded {
    let level = Level::new(mode, queuing(seed), 5, 0).unwrap();
    let gate = Arc::new(Gate::new(level, Arc::new(NoTimers)));
    let origin = Instant::now();
    let now = move || origin.elapsed().as_nanos() as u64;
    let clients: Vec<_> = (0..THREADS)
        .map(|thread| {
            let gate = Arc::clone(&gate);
            thread::spawn(move || client(&gate, thread, seed, &now))
        })
        .collect();
    let left = Arc::new(AtomicU64::new(THREADS));
    let configurer = {
        let (gate, left) = (Arc::clone(&gate), Arc::clone(&left));
        thread::spawn(move || {
            let mut random = Random(seed ^ 0x5eed);
            while left.load(Ordering::Relaxed) > 0 {
                let (queuing, limit) = (queuing(random.below(100)), 1 + random.below(6) as u32);
                let what = random.below(4);
                let ticket = gate
                    .control(now(), move |held| match what {
                        0 => held.reconfigure(queuing, limit).unwrap(),
                        1 => drop(held.close_demand_period()),
                        _ => held.set_limit(limit).unwrap(),
                    })
                    .unwrap();
                gate.forget(ticket);
                // Nobody has a timer here: this brings what lingers to its end and lets the rest go on.
                gate.tick(now());
                thread::sleep(std::time::Duration::from_micros(50));
            }
        })
    };
    let mut calls = Vec::new();
    for client in clients {
        calls.extend(client.join().unwrap());
        left.fetch_sub(1, Ordering::Relaxed);
    }
    configurer.join().unwrap();

    assert_eq!(gate.nodes_in_use(), 0);
    let (send, receive) = mpsc::channel();
    let ticket = gate.control(now() + 100_000, move |held| send.send(held.level().clone()).unwrap()).unwrap();
    gate.forget(ticket);
    let level = receive.recv().unwrap();
    let gate = Arc::try_unwrap(gate).unwrap();
    Recorded { applied: gate.into_history().applied, level, calls }
}

/// Answers grants as they were answered, and checks that they come in the same order.
struct Replayed<'a> {
    grants: VecDeque<(u64, Option<Cause>)>,
    ids: &'a mut HashMap<u64, RequestId>,
}

impl Sink for Replayed<'_> {
    fn grant(&mut self, grant: Grant) -> Answer {
        let (token, gone) = self.grants.pop_front().expect("the core grants more than it did");
        assert_eq!(grant.token, token, "the core grants another request");
        match gone {
            Some(cause) => {
                self.ids.remove(&token);
                Answer::Gone(cause)
            }
            None => {
                self.ids.insert(token, grant.id);
                Answer::Taken
            }
        }
    }
}

fn replay(mode: Mode, seed: u64, applied: &[Applied]) -> Level {
    let mut level = Level::new(mode, queuing(seed), 5, 0).unwrap();
    let mut ids = HashMap::new();
    let mut latest = 0;
    for Applied { entry, grants, outcome } in applied {
        let mut sink = Replayed { grants: grants.iter().copied().collect(), ids: &mut ids };
        let at = match *entry {
            Entry::Start { now, token, request, granted } => {
                let arrival = Arrival { flow_hash: request.flow_hash, work: request.work, token };
                let arrived = level.arrive(now, arrival, &mut sink);
                if let Ok(Arrived::Executing(id) | Arrived::Waiting(id)) = arrived {
                    sink.ids.insert(token, id);
                }
                let again = match arrived {
                    Ok(Arrived::Executing(_)) => Outcome::Executing,
                    Ok(Arrived::Waiting(_)) => Outcome::Waiting,
                    Ok(Arrived::Rejected(reason)) => Outcome::Rejected(reason),
                    Ok(Arrived::Gone) => Outcome::Gone,
                    Err(error) => Outcome::Invalid(error),
                };
                assert_eq!(Some(again), *outcome, "another decision for {entry:?}");
                assert!(!granted || again == Outcome::Executing, "granted by the word alone: {entry:?}");
                now
            }
            Entry::Finish { now, token } => {
                let id = sink.ids.remove(&token).expect("it runs");
                level.finish(now, id, &mut sink).unwrap();
                now
            }
            Entry::Cancel { now, token, cause } => {
                match sink.ids.remove(&token) {
                    Some(id) => drop(level.cancel(now, id, cause, &mut sink)),
                    None => level.tick(now, &mut sink),
                }
                now
            }
            Entry::Tick { now } => {
                level.tick(now, &mut sink);
                now
            }
            Entry::Reconfigure { now, queuing, concurrency_limit } => {
                level.reconfigure(now, queuing, concurrency_limit, &mut sink).unwrap();
                now
            }
            Entry::CloseDemandPeriod { now } => {
                level.close_demand_period(now, &mut sink);
                now
            }
        };
        assert!(sink.grants.is_empty(), "the core grants fewer than it did: {:?}", sink.grants);
        assert!(at >= latest, "time goes back");
        latest = at;
    }
    level
}

/// That what the callers saw is what the history says, at times within their calls.
fn agree(recorded: &Recorded) {
    let mut starts = HashMap::new();
    let mut flows = HashMap::new();
    let mut ends: HashMap<u64, Seen> = HashMap::new();
    for Applied { entry, grants, outcome } in &recorded.applied {
        match *entry {
            Entry::Start { now, token, request, .. } => {
                starts.insert(request.flow_hash, now);
                flows.insert(token, request.flow_hash);
                if let Some(Outcome::Rejected(reason)) = outcome {
                    ends.insert(request.flow_hash, Seen::Refused(*reason));
                }
            }
            Entry::Finish { token, .. } => {
                assert_eq!(ends.insert(flows[&token], Seen::Ran), None, "two ends");
            }
            // An abandoned arrival counts as given up even where it would have been refused.
            Entry::Cancel { token, cause, .. } => {
                ends.insert(flows[&token], Seen::GaveUp(cause));
            }
            _ => {}
        }
        let _ = grants;
    }
    assert_eq!(recorded.calls.len() as u64, THREADS * REQUESTS);
    for Call { flow, before, after, seen } in &recorded.calls {
        assert_eq!(ends.get(flow), Some(seen), "flow {flow:x}");
        let start = starts[flow];
        assert!((*before..=*after).contains(&start), "{start} is not within {before}..={after}");
    }
}

fn histories(mode: Mode) {
    let (mut events, mut by_word, mut handed_over) = (0, 0, 0);
    for seed in 0..SEEDS {
        let recorded = record(mode, seed);
        agree(&recorded);
        let level = replay(mode, seed, &recorded.applied);
        assert_eq!(format!("{level:?}"), format!("{:?}", recorded.level), "seed {seed}: another state");
        events += recorded.applied.len();
        by_word += recorded
            .applied
            .iter()
            .filter(|applied| matches!(applied.entry, Entry::Start { granted: true, .. }))
            .count();
        handed_over +=
            recorded.applied.iter().flat_map(|applied| &applied.grants).filter(|g| g.1.is_some()).count();
    }
    println!(
        "{mode:?}: {events} events, {by_word} starts granted by the word, {handed_over} grants not taken"
    );
    assert!(by_word > if cfg!(miri) { 0 } else { 100 }, "{by_word}");
}

#[test]
fn histories_replay_in_default_mode() {
    histories(Mode::Default);
}

#[test]
fn histories_replay_in_exact_mode() {
    histories(Mode::Exact);
}
