//! Nodes are used again, and more are made.

use apf::gate::Started;
use apf_core::Queuing;
use apf_loom::{Bench, QUEUES, explore, join, seats, spawn};

/// The next request uses the node of the last one while a holder may not have applied that yet.
#[test]
fn a_node_is_used_again_at_once() {
    explore("a_node_is_used_again_at_once", || {
        let bench = Bench::new(QUEUES, 2);
        let other = spawn(&bench, |bench| {
            bench.serve(2, seats(1));
            bench.serve(3, seats(2));
        });
        bench.serve(1, seats(1));
        join(other);
        bench.settled(2);
    });
}

/// Its owner learns of the refusal by looking, not by a wake-up that would order the threads by itself.
#[test]
fn a_refused_node_is_used_again() {
    explore("a_refused_node_is_used_again", || {
        let bench = Bench::new(Queuing::Reject, 1);
        let first = bench.start(1, seats(1)).expect("an empty level admits");
        let refused = spawn(&bench, |bench| {
            if let Started::Pending(ticket) = bench.gate.start(2, seats(1)) {
                while bench.gate.decision(&ticket).is_none() {
                    apf_loom::rt::thread::yield_now();
                }
                bench.gate.forget(ticket);
            }
            bench.gate.tick(3);
        });
        bench.gate.tick(4);
        join(refused);
        bench.finish(5, first);
        bench.settled(1);
    });
}

/// The same with a waker in its slot, which the holder takes after it has refused the request.
#[test]
fn a_refused_node_and_its_waker_slot_are_used_again() {
    explore("a_refused_node_and_its_waker_slot_are_used_again", || {
        let bench = Bench::new(Queuing::Reject, 1);
        let first = bench.start(1, seats(1)).expect("an empty level admits");
        let refused = spawn(&bench, |bench| {
            for now in 2..4 {
                let Started::Pending(mut ticket) = bench.gate.start(now, seats(1)) else { continue };
                let _ = bench.gate.poll(&mut ticket, std::task::Waker::noop());
                while bench.gate.decision(&ticket).is_none() {
                    apf_loom::rt::thread::yield_now();
                }
                bench.gate.forget(ticket);
            }
        });
        bench.gate.tick(4);
        join(refused);
        bench.finish(5, first);
        bench.settled(1);
    });
}

/// Three threads take and give nodes of a slab that begins empty.
#[test]
fn nodes_are_taken_and_made_by_three() {
    explore("nodes_are_taken_and_made_by_three", || {
        let bench = Bench::cold(QUEUES, 3);
        let two = spawn(&bench, |bench| bench.gate.tick(2));
        let three = spawn(&bench, |bench| bench.gate.tick(3));
        bench.gate.tick(1);
        join(two);
        join(three);
        bench.settled(3);
    });
}

/// A request goes from the thread that started it to another that finishes it.
#[test]
fn a_ticket_changes_threads() {
    explore("a_ticket_changes_threads", || {
        let bench = Bench::new(QUEUES, 1);
        let ticket = bench.start(1, seats(1)).expect("an empty level admits");
        let finisher = spawn(&bench, move |bench| bench.finish(2, ticket));
        bench.serve(3, seats(1));
        join(finisher);
        bench.settled(1);
    });
}

/// A node that was taken and came back is on top of the pool again, above a node that did not.
#[test]
fn the_pool_knows_a_node_that_came_back() {
    explore("the_pool_knows_a_node_that_came_back", || {
        let bench = Bench::new(QUEUES, 4);
        let start = |bench: &Bench, now| bench.start(now, seats(1)).expect("it fits");
        // Takes its node from the pool if it finds the role taken.
        let other = spawn(&bench, move |bench| start(bench, 1));
        let becomes_spare = start(&bench, 2);
        let comes_back = start(&bench, 3);
        let stays = start(&bench, 3);
        bench.finish(4, becomes_spare);
        bench.finish(4, comes_back);
        let others = join(other);
        let (the_spare, the_first) = (start(&bench, 5), start(&bench, 5));
        for ticket in [others, stays, the_spare, the_first] {
            bench.finish(6, ticket);
        }
        bench.settled(4);
    });
}
