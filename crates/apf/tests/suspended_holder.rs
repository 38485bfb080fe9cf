//! A thread is suspended at every point of its way through the gate, and all other threads but one with it: that one
//! starts, finishes and cancels in a bounded number of its own steps. When the thread goes on, nothing is lost.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::print_stdout, reason = "a test says how much it has seen")]

use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, mpsc};
use std::task::{Wake, Waker};
use std::thread::{self, JoinHandle};

use apf::gate::fault::{POINTS, Point, on_this_thread};
use apf::gate::{Decision, Gate, NoTimers, Request, Started, Ticket, Withdrawn};
use apf_core::{Cause, Level, Mode, Queuing, WorkEstimate};

/// Attempts at the gate word that an operation may need: the first, and one more if what it read was old.
const ATTEMPTS: u32 = 2;
/// Points that an operation may pass: it works for others between two offers of the role, and not for ever.
const STEPS: u32 = 250;
/// More than a holder applies before it offers the role.
const BACKLOG: usize = 70;

struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

struct Waiting {
    ticket: Ticket,
    woken: Arc<Woken>,
}

/// A level with requests in it.
struct Scene {
    gate: Arc<Gate>,
    running: Vec<Ticket>,
    waiting: Vec<Waiting>,
}

fn request(seats: u64) -> Request {
    Request { flow_hash: seats, work: WorkEstimate::seats(seats) }
}

impl Scene {
    fn new(limit: u32, running: &[u64], waiting: &[u64]) -> Self {
        let queuing = Queuing::Queue { queues: 4, hand_size: 1, queue_length_limit: 100 };
        let level = Level::new(Mode::Default, queuing, limit, 0).unwrap();
        let gate = Arc::new(Gate::new(level, Arc::new(NoTimers)));
        let mut scene = Self { gate, running: Vec::new(), waiting: Vec::new() };
        for seats in running {
            let Started::Running(ticket) = scene.gate.start(1, request(*seats)) else { panic!("it fits") };
            scene.running.push(ticket);
        }
        for seats in waiting {
            let Started::Pending(ticket) = scene.gate.start(1, request(*seats)) else { panic!("it waits") };
            scene.wait_for(ticket);
        }
        scene
    }

    fn wait_for(&mut self, mut ticket: Ticket) {
        let woken = Arc::new(Woken(AtomicBool::new(false)));
        if self.gate.poll(&mut ticket, &Waker::from(woken.clone())).is_some() {
            woken.0.store(true, Ordering::Relaxed);
        }
        self.waiting.push(Waiting { ticket, woken });
    }

    /// Everybody who waits is granted in the end, and has been woken for it.
    fn settle(mut self) {
        loop {
            for ticket in self.running.drain(..) {
                self.gate.finish(9, ticket);
            }
            if self.waiting.is_empty() {
                break;
            }
            let before = self.waiting.len();
            for waiting in std::mem::take(&mut self.waiting) {
                match self.gate.decision(&waiting.ticket) {
                    Some(Decision::Granted) => {
                        assert!(waiting.woken.0.load(Ordering::Relaxed), "granted and not woken");
                        self.running.push(waiting.ticket);
                    }
                    Some(Decision::Refused(reason)) => panic!("{reason}"),
                    None => self.waiting.push(waiting),
                }
            }
            assert!(self.waiting.len() < before, "nobody is granted any more");
        }
        assert_eq!(self.gate.nodes_in_use(), 0, "nodes are lost");
        let (send, receive) = mpsc::channel();
        let ticket = self
            .gate
            .control(10, move |held| {
                let level = held.level();
                send.send((level.requests_waiting(), level.requests_executing(), level.seats_in_use()))
                    .unwrap();
            })
            .unwrap();
        self.gate.forget(ticket);
        assert_eq!(receive.recv().unwrap(), (0, 0, 0), "seats are lost");
    }
}

/// A thread that stops at every point until it is told to go on.
struct Stepped {
    at: Receiver<Point>,
    go_on: SyncSender<()>,
    thread: JoinHandle<Option<Ticket>>,
}

fn step(gate: &Arc<Gate>, operation: impl FnOnce(&Gate) -> Option<Ticket> + Send + 'static) -> Stepped {
    let (report, at) = sync_channel(0);
    let (go_on, told) = sync_channel(0);
    let gate = Arc::clone(gate);
    let thread = thread::spawn(move || {
        on_this_thread(move |point| {
            report.send(point).unwrap();
            told.recv().unwrap();
        });
        let ticket = operation(&gate);
        on_this_thread(|_| ());
        ticket
    });
    Stepped { at, go_on, thread }
}

/// The main thread's own steps.
struct Steps {
    attempts: Rc<Cell<u32>>,
    points: Rc<Cell<u32>>,
}

impl Steps {
    fn count() -> Self {
        let steps = Self { attempts: Rc::default(), points: Rc::default() };
        let (attempts, points) = (steps.attempts.clone(), steps.points.clone());
        on_this_thread(move |point| {
            attempts.set(attempts.get() + u32::from(point == Point::Attempt));
            points.set(points.get() + 1);
            assert!(points.get() <= STEPS, "it does not come to an end");
        });
        steps
    }

    /// Runs one operation and checks its steps.
    fn within<T>(&self, operation: impl FnOnce() -> T) -> T {
        self.attempts.set(0);
        self.points.set(0);
        let result = operation();
        assert!(self.attempts.get() <= ATTEMPTS, "{} attempts", self.attempts.get());
        result
    }
}

type Operation = fn(&mut Scene) -> Box<dyn FnOnce(&Gate) -> Option<Ticket> + Send>;

/// Suspends the operation at each of its points in turn, publishes a backlog while it is in the role, and
/// probes. Returns how often each point was probed.
fn at_every_point(
    scene: fn() -> Scene,
    operation: Operation,
    probe: fn(&mut Scene, &Steps),
    probed: &mut BTreeMap<String, u32>,
) {
    for stop in 0.. {
        let mut scene = scene();
        let operation = operation(&mut scene);
        let steps = Steps::count();
        let stepped = step(&scene.gate, operation);
        let (mut number, mut published, mut done) = (0, false, false);
        while let Ok(point) = stepped.at.recv() {
            if point == Point::TookRole && !published {
                for _ in 0..BACKLOG {
                    steps.within(|| scene.gate.tick(2));
                }
                published = true;
            }
            if number == stop {
                probe(&mut scene, &steps);
                *probed.entry(format!("{point:?}")).or_default() += 1;
                done = true;
            }
            number += 1;
            stepped.go_on.send(()).unwrap();
        }
        match stepped.thread.join().unwrap() {
            Some(ticket) if scene.gate.decision(&ticket).is_some() => scene.running.push(ticket),
            Some(ticket) => scene.wait_for(ticket),
            None => {}
        }
        on_this_thread(|_| ());
        scene.settle();
        if !done {
            return;
        }
    }
}

fn start(gate: &Gate, seats: u64) -> Option<Ticket> {
    match gate.start(3, request(seats)) {
        Started::Running(ticket) | Started::Pending(ticket) => Some(ticket),
        other => panic!("{other:?}"),
    }
}

#[test]
fn starts_that_fit_finishes_and_cancels_go_on_while_the_holder_is_suspended() {
    let mut probed = BTreeMap::new();

    // Seats are free and nobody waits.
    let open = || Scene::new(100, &[2, 3, 1, 1], &[]);
    let probe = |scene: &mut Scene, steps: &Steps| {
        let started = steps.within(|| scene.gate.start(3, request(5)));
        let Started::Running(ticket) = started else { panic!("it fits: {started:?}") };
        steps.within(|| scene.gate.finish(4, ticket));
        let ticket = scene.running.pop().unwrap();
        steps.within(|| scene.gate.finish(4, ticket));
    };
    let operations: [Operation; 3] = [
        |_| Box::new(|gate| start(gate, 4)),
        |scene| {
            let ticket = scene.running.remove(0);
            Box::new(move |gate| {
                gate.finish(3, ticket);
                None
            })
        },
        |_| {
            Box::new(|gate| {
                gate.tick(3);
                None
            })
        },
    ];
    for operation in operations {
        at_every_point(open, operation, probe, &mut probed);
    }

    // No seat is free, and somebody waits.
    let closed = || Scene::new(12, &[9, 2, 1], &[1, 1, 3, 1, 1, 1, 1, 1, 1, 1, 1]);
    let probe = |scene: &mut Scene, steps: &Steps| {
        let waiting = scene.waiting.remove(2);
        match steps.within(|| scene.gate.cancel(4, waiting.ticket, Cause::Caller)) {
            Withdrawn::Gone => {}
            Withdrawn::Running(ticket) => scene.running.push(ticket),
            Withdrawn::Refused(reason) => panic!("{reason}"),
        }
        let ticket = scene.running.pop().unwrap();
        steps.within(|| scene.gate.finish(4, ticket));
        let ticket = steps.within(|| start(&scene.gate, 1)).unwrap();
        scene.wait_for(ticket);
    };
    let operations: [Operation; 5] = [
        |_| Box::new(|gate| start(gate, 1)),
        |scene| {
            let ticket = scene.running.remove(0);
            Box::new(move |gate| {
                gate.finish(3, ticket);
                None
            })
        },
        |scene| {
            let Waiting { ticket, .. } = scene.waiting.remove(2);
            Box::new(move |gate| match gate.cancel(3, ticket, Cause::TimeOut) {
                Withdrawn::Running(ticket) => Some(ticket),
                _ => None,
            })
        },
        |_| {
            Box::new(|gate| {
                gate.tick(3);
                None
            })
        },
        |_| {
            Box::new(|gate| {
                let ticket = gate.control(3, |held| held.set_limit(30).unwrap()).unwrap();
                gate.forget(ticket);
                None
            })
        },
    ];
    for operation in operations {
        at_every_point(closed, operation, probe, &mut probed);
    }

    println!("suspended at: {probed:?}");
    for point in POINTS {
        assert!(probed.contains_key(&format!("{point:?}")), "{point:?} was never reached");
    }
}

#[test]
fn statistics_are_read_while_the_holder_is_suspended() {
    let dispatcher = apf::Dispatcher::builder().seats(600).build().unwrap();
    let request = || {
        apf::RequestAttributes::resource("list", "pods")
            .in_namespace("dev")
            .by("alice", &["system:authenticated"])
    };
    let before = dispatcher.try_admit(request()).unwrap();
    assert_eq!(dispatcher.stats().level("global-default").unwrap().requests_executing, 1);
    let (took_role, is_in_role) = sync_channel(0);
    let (go_on, told) = sync_channel::<()>(0);
    let holder = {
        let dispatcher = dispatcher.clone();
        thread::spawn(move || {
            let taken = Cell::new(false);
            on_this_thread(move |point| {
                if point == Point::TookRole && !taken.replace(true) {
                    took_role.send(()).unwrap();
                    told.recv().unwrap();
                }
            });
            drop(dispatcher.try_admit(request()).unwrap());
        })
    };
    is_in_role.recv().unwrap();
    let stats = dispatcher.stats();
    assert_eq!(stats.level("global-default").unwrap().requests_executing, 1, "as it was last seen");
    let meanwhile = dispatcher.try_admit(request()).unwrap();
    drop(meanwhile);
    drop(before);
    go_on.send(()).unwrap();
    holder.join().unwrap();
    assert_eq!(dispatcher.stats().level("global-default").unwrap().requests_executing, 0);
}
