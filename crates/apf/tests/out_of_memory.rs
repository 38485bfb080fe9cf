//! Requests that the gate word has granted while the core has no memory for them.

// A history needs memory of its own.
#![cfg(not(feature = "history"))]
#![allow(unsafe_code, reason = "an allocator that fails on request")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ptr;
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, mpsc};
use std::thread;

use apf::gate::fault::{Point, on_this_thread};
use apf::gate::{Gate, NoTimers, Request, Started, Ticket};
use apf_core::{Level, Mode, Queuing, WorkEstimate};

std::thread_local! {
    static NO_MEMORY: Cell<bool> = const { Cell::new(false) };
}

struct Failing;

// SAFETY: the system's allocator, or no memory.
unsafe impl GlobalAlloc for Failing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if NO_MEMORY.get() {
            return ptr::null_mut();
        }
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if NO_MEMORY.get() {
            return ptr::null_mut();
        }
        // SAFETY: as the caller promises.
        unsafe { System.realloc(memory, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Failing = Failing;

const LIMIT: u32 = 200;

fn request() -> Request {
    Request { flow_hash: 0, work: WorkEstimate::seats(1) }
}

fn start(gate: &Gate) -> Option<Ticket> {
    match gate.start(1, request()) {
        Started::Running(ticket) => Some(ticket),
        Started::Pending(ticket) => {
            gate.finish(1, ticket);
            None
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn requests_without_memory_in_the_core_are_counted_all_the_same() {
    let queuing = Queuing::Queue { queues: 4, hand_size: 1, queue_length_limit: 1000 };
    let level = Level::new(Mode::Default, queuing, LIMIT, 0).unwrap();
    let gate = Arc::new(Gate::new(level, Arc::new(NoTimers)));
    let (took_role, is_in_role) = sync_channel(0);
    let (go_on, told) = sync_channel::<()>(0);
    let holder = {
        let gate = Arc::clone(&gate);
        thread::spawn(move || {
            let taken = Cell::new(false);
            on_this_thread(move |point| {
                if point == Point::TookRole && !taken.replace(true) {
                    took_role.send(()).unwrap();
                    told.recv().unwrap();
                }
                NO_MEMORY.set(point == Point::Apply);
            });
            gate.tick(1);
            NO_MEMORY.set(false);
        })
    };
    is_in_role.recv().unwrap();
    let mut running: Vec<_> = (0..LIMIT).map(|_| start(&gate).expect("it fits the word")).collect();
    assert_eq!(start(&gate), None, "all seats are taken");
    go_on.send(()).unwrap();
    holder.join().unwrap();

    let (send, receive) = mpsc::channel();
    let ticket = gate.control(2, move |held| send.send(held.level().seats_in_use()).unwrap()).unwrap();
    gate.forget(ticket);
    let in_core = receive.recv().unwrap();
    assert!(in_core < u64::from(LIMIT), "memory was never short: the test shows nothing");

    // Each seat comes back once, whoever had it: the gate's own assertions compare the word with the core.
    for ticket in running.drain(..) {
        gate.finish(3, ticket);
    }
    running.extend((0..LIMIT).map(|_| start(&gate).expect("all seats are back")));
    assert_eq!(start(&gate), None, "and no more");
    for ticket in running {
        gate.finish(4, ticket);
    }
    assert_eq!(gate.nodes_in_use(), 0);
}
