//! The role goes from thread to thread with work left.

use std::sync::{Arc, Mutex};
use std::task::{Wake, Waker};

use apf::gate::{Started, Ticket};
use apf_loom::{Bench, QUEUES, explore, join, lingering, seats, spawn};

/// Three publishers behind one holder, one event a hold.
#[test]
fn everything_published_is_applied() {
    explore("everything_published_is_applied", || {
        let bench = Bench::new(QUEUES, 3);
        let two = spawn(&bench, |bench| bench.serve(2, seats(1)));
        let three = spawn(&bench, |bench| bench.serve(3, seats(2)));
        bench.serve(1, seats(1));
        join(two);
        join(three);
        bench.settled(3);
    });
}

/// Runs when it is woken, on the waking thread, and finishes the request there.
struct FinishWhenWoken {
    bench: Arc<Bench>,
    ticket: Mutex<Option<Ticket>>,
}

impl Wake for FinishWhenWoken {
    fn wake(self: Arc<Self>) {
        let ticket = self.ticket.lock().expect("nobody panics").take();
        if let Some(ticket) = ticket {
            self.bench.finish(9, self.bench.granted(ticket));
        }
    }
}

/// Wakers that come back to their gate: each is woken from the frame of the first.
#[test]
fn wakers_may_use_the_gate() {
    explore("wakers_may_use_the_gate", || {
        let bench = Bench::new(QUEUES, 1);
        let first = bench.start(1, seats(1)).expect("an empty level admits");
        for now in 2..4 {
            let Started::Pending(ticket) = bench.gate.start(now, seats(1)) else { panic!("no seat is free") };
            let inline = Arc::new(FinishWhenWoken { bench: bench.clone(), ticket: Mutex::new(None) });
            let waker = Waker::from(inline.clone());
            let mut slot = inline.ticket.lock().expect("nobody panics");
            let ticket = slot.insert(ticket);
            assert_eq!(bench.gate.poll(ticket, &waker), None);
        }
        let other = spawn(&bench, |bench| bench.serve(4, seats(1)));
        bench.finish(5, first);
        join(other);
        bench.settled(1);
    });
}

/// A release that is due starts a waiting request in the middle of somebody else's event.
#[test]
fn a_tick_starts_who_waits() {
    explore("a_tick_starts_who_waits", || {
        let bench = Bench::new(QUEUES, 1);
        bench.serve(1, lingering(1, 1, 100));
        let waiter = spawn(&bench, |bench| bench.serve(2, seats(1)));
        let clock = spawn(&bench, |bench| bench.gate.tick(150));
        join(clock);
        bench.gate.tick(200);
        join(waiter);
        bench.settled(1);
    });
}
