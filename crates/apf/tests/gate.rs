//! The gate under real threads.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Wake, Waker};
use std::thread::{self, Thread};
use std::time::Instant;

use apf::gate::{Decision, Gate, NoTimers, Request, Started, Ticket, Withdrawn};
use apf_core::{Cause, Level, Mode, Queuing, WorkEstimate};

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn gate(queues: u32, limit: u32) -> Arc<Gate> {
    let queuing = Queuing::Queue { queues, hand_size: 1.max(queues.min(8) / 2), queue_length_limit: 100 };
    Arc::new(Gate::new(Level::new(Mode::Default, queuing, limit, 0).unwrap(), Arc::new(NoTimers)))
}

fn request(flow_hash: u64, seats: u64) -> Request {
    Request { flow_hash, work: WorkEstimate::seats(seats) }
}

#[test]
fn one_thread_sees_the_core_behind_the_gate() {
    let gate = gate(8, 2);
    let Started::Running(first) = gate.start(0, request(1, 2)) else { panic!() };
    let Started::Pending(second) = gate.start(1, request(2, 1)) else { panic!() };
    let Started::Pending(third) = gate.start(1, request(3, 1)) else { panic!() };
    assert_eq!(gate.decision(&second), None);
    assert_eq!(gate.cancel(2, third, Cause::Caller), Withdrawn::Gone);
    gate.finish(3, first);
    assert_eq!(gate.decision(&second), Some(Decision::Granted));
    gate.finish(4, second);
    assert_eq!(gate.nodes_in_use(), 0);
}

fn wait(gate: &Gate, ticket: &mut Ticket, waker: &Waker) -> Decision {
    loop {
        if let Some(decision) = gate.poll(ticket, waker) {
            return decision;
        }
        thread::park();
    }
}

#[test]
fn seats_never_exceed_the_limit_and_all_come_back() {
    let gate = gate(8, 7);
    let held = Arc::new(AtomicU64::new(0));
    let stop = Arc::new(AtomicBool::new(false));
    let origin = Instant::now();
    let now = move || origin.elapsed().as_nanos() as u64;
    let threads: Vec<_> = (0..4u64)
        .map(|thread| {
            let (gate, held, stop) = (gate.clone(), held.clone(), stop.clone());
            thread::spawn(move || {
                let waker = Waker::from(Arc::new(Unpark(thread::current())));
                let mut seed = thread + 1;
                let mut served = 0u64;
                while !stop.load(Ordering::Relaxed) {
                    seed =
                        seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    let seats = 1 + (seed >> 60) % 5;
                    let ticket = match gate.start(now(), request(seed, seats)) {
                        Started::Running(ticket) => ticket,
                        Started::Pending(ticket) if seed >> 33 & 7 == 0 => {
                            match gate.cancel(now(), ticket, Cause::Caller) {
                                Withdrawn::Running(ticket) => ticket,
                                _ => continue,
                            }
                        }
                        Started::Pending(mut ticket) => {
                            assert_eq!(wait(&gate, &mut ticket, &waker), Decision::Granted);
                            ticket
                        }
                        other => panic!("{other:?}"),
                    };
                    assert!(held.fetch_add(seats, Ordering::Relaxed) + seats <= 7);
                    served += 1;
                    held.fetch_sub(seats, Ordering::Relaxed);
                    gate.finish(now(), ticket);
                }
                served
            })
        })
        .collect();
    thread::sleep(std::time::Duration::from_secs(2));
    stop.store(true, Ordering::Relaxed);
    let served: u64 = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
    assert!(served > 1000, "{served}");
    assert_eq!(gate.nodes_in_use(), 0);
    let (send, receive) = std::sync::mpsc::channel();
    let ticket = gate
        .control(now(), move |held| {
            send.send((held.level().seats_in_use(), held.level().requests_waiting())).unwrap();
        })
        .unwrap();
    gate.forget(ticket);
    assert_eq!(receive.recv().unwrap(), (0, 0));
}
