//! The gate under real threads.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Wake, Waker};
use std::thread::{self, Thread};
use std::time::Instant;

use apf::gate::{Decision, Gate, NoTimers, Request, Started, Ticket, Withdrawn};
use apf_core::{Cause, Level, Mode, Queuing, Reason, WorkEstimate};

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
    assert!(served > if cfg!(miri) { 4 } else { 1000 }, "{served}");
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

/// Runs a closure when it is woken.
struct WhenWoken<F: Fn() + Send + Sync>(F);

impl<F: Fn() + Send + Sync + 'static> Wake for WhenWoken<F> {
    fn wake(self: Arc<Self>) {
        (self.0)();
    }
}

fn when_woken(closure: impl Fn() + Send + Sync + 'static) -> Waker {
    Waker::from(Arc::new(WhenWoken(closure)))
}

fn pending(gate: &Gate, seats: u64, waker: &Waker) -> Ticket {
    let Started::Pending(mut ticket) = gate.start(1, request(seats, seats)) else {
        panic!("no seat is free")
    };
    assert_eq!(gate.poll(&mut ticket, waker), None);
    ticket
}

fn books(gate: &Gate) -> (u64, u64, usize) {
    let (send, receive) = std::sync::mpsc::channel();
    let ticket = gate
        .control(10, move |held| {
            send.send((held.level().requests_waiting(), held.level().seats_in_use())).unwrap()
        })
        .unwrap();
    gate.forget(ticket);
    let (waiting, seats) = receive.recv().unwrap();
    (waiting, seats, gate.nodes_in_use())
}

#[test]
fn a_waker_that_panics_takes_nothing_with_it() {
    let gate = gate(8, 3);
    let Started::Running(first) = gate.start(0, request(1, 3)) else { panic!() };
    let woken = Arc::new(AtomicU64::new(0));
    let count = woken.clone();
    let good = when_woken(move || {
        count.fetch_add(1, Ordering::Relaxed);
    });
    let bad = when_woken(|| panic!("a waker's own affair"));
    let tickets = [pending(&gate, 1, &bad), pending(&gate, 1, &good), pending(&gate, 1, &good)];
    // Without `std` the panic comes through, and the work goes on all the same.
    let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| gate.finish(2, first)));
    assert_eq!(woken.load(Ordering::Relaxed), 2);
    for ticket in tickets {
        gate.finish(3, ticket);
    }
    assert_eq!(books(&gate), (0, 0, 0));
}

#[cfg(feature = "std")]
#[test]
fn a_control_operation_that_panics_leaves_the_level_at_work() {
    let gate = gate(8, 1);
    let ticket = gate.control(1, |_| panic!("an operation's own affair")).unwrap();
    assert_eq!(gate.decision(&ticket), Some(Decision::Granted));
    gate.forget(ticket);
    let Started::Running(ticket) = gate.start(2, request(1, 1)) else { panic!() };
    gate.finish(3, ticket);
    assert_eq!(books(&gate), (0, 0, 0));
}

#[cfg(feature = "std")]
#[test]
fn wakers_that_finish_their_request_do_not_nest() {
    use std::cell::Cell;
    std::thread_local! {
        static DEPTH: Cell<u32> = const { Cell::new(0) };
        static DEEPEST: Cell<u32> = const { Cell::new(0) };
    }
    let gate = gate(1, 1);
    let Started::Running(first) = gate.start(0, request(1, 1)) else { panic!() };
    let tickets = Arc::new(std::sync::Mutex::new(std::collections::VecDeque::new()));
    for _ in 0..100 {
        let waker = {
            let (gate, tickets) = (gate.clone(), tickets.clone());
            when_woken(move || {
                DEPTH.set(DEPTH.get() + 1);
                DEEPEST.set(DEEPEST.get().max(DEPTH.get()));
                let ticket = tickets.lock().unwrap().pop_front().unwrap();
                assert_eq!(gate.decision(&ticket), Some(Decision::Granted));
                gate.finish(2, ticket);
                DEPTH.set(DEPTH.get() - 1);
            })
        };
        tickets.lock().unwrap().push_back(pending(&gate, 1, &waker));
    }
    gate.finish(2, first);
    assert_eq!(books(&gate), (0, 0, 0));
    assert_eq!(DEEPEST.get(), 1);
}

#[test]
fn a_ticket_that_goes_astray_is_ignored() {
    let (own, other) = (gate(8, 1), gate(8, 1));
    let Started::Running(ticket) = own.start(0, request(1, 1)) else { panic!() };
    let Started::Running(mut astray) = other.start(0, request(1, 1)) else { panic!() };
    assert_eq!(own.decision(&astray), None);
    assert_eq!(own.poll(&mut astray, Waker::noop()), None);
    assert_eq!(own.request(&astray), None);
    own.finish(1, astray);
    assert!(matches!(own.start(2, request(2, 1)), Started::Pending(_)), "its own request still runs");
    own.finish(3, ticket);
}

#[test]
fn a_request_that_is_finished_while_it_waits_is_withdrawn() {
    let gate = gate(8, 1);
    let Started::Running(first) = gate.start(0, request(1, 1)) else { panic!() };
    let second = pending(&gate, 1, Waker::noop());
    assert_eq!(gate.request(&second), None);
    gate.finish(1, second);
    gate.finish(2, first);
    let control = gate.control(3, |_| ()).unwrap();
    gate.finish(3, control);
    assert_eq!(books(&gate), (0, 0, 0));
}

#[test]
fn a_request_that_will_not_wait_may_be_wider_than_the_limit() {
    let gate = gate(8, 2);
    let Started::Running(wide) = gate.try_start(0, request(1, 3)) else { panic!("it runs alone") };
    assert_eq!(gate.try_start(1, request(2, 1)), Started::Refused(Reason::ConcurrencyLimit));
    gate.finish(2, wide);
    let Started::Running(narrow) = gate.try_start(3, request(2, 1)) else { panic!("it fits") };
    assert_eq!(gate.try_start(4, request(1, 3)), Started::Refused(Reason::ConcurrencyLimit));
    gate.finish(5, narrow);
    assert_eq!(books(&gate), (0, 0, 0));
}

#[test]
fn time_does_not_go_back_behind_the_end_of_a_period_of_demand() {
    let gate = gate(8, 1);
    let ticket = gate.control(100, |held| _ = held.close_demand_period()).unwrap();
    gate.forget(ticket);
    let (send, receive) = std::sync::mpsc::channel();
    let ticket = gate.control(50, move |held| send.send(held.now()).unwrap()).unwrap();
    gate.forget(ticket);
    assert_eq!(receive.recv().unwrap(), 100);
}
