//! A request gives up while its decision comes.

use apf_core::Queuing;
use apf_loom::{Bench, QUEUES, explore, join, seats, spawn};

#[test]
fn a_cancel_races_with_the_grant() {
    explore("a_cancel_races_with_the_grant", || {
        let bench = Bench::new(QUEUES, 1);
        let leaver = spawn(&bench, |bench| bench.start_or_cancel(2, seats(1)));
        bench.serve(1, seats(1));
        join(leaver);
        bench.settled(1);
    });
}

/// Who leaves passes its place on: the third is woken, whoever wins.
#[test]
fn a_grant_that_is_not_taken_is_passed_on() {
    explore("a_grant_that_is_not_taken_is_passed_on", || {
        let bench = Bench::new(QUEUES, 1);
        let first = bench.start(1, seats(1)).expect("an empty level admits");
        let leaver = spawn(&bench, |bench| bench.start_or_cancel(2, seats(1)));
        let stayer = spawn(&bench, |bench| bench.serve(3, seats(1)));
        bench.finish(4, first);
        join(leaver);
        join(stayer);
        bench.settled(1);
    });
}

/// A wide head keeps a narrow request from starting; when it leaves, nobody else comes by.
#[test]
fn a_wide_head_that_leaves_lets_the_next_one_start() {
    explore("a_wide_head_that_leaves_lets_the_next_one_start", || {
        let bench = Bench::new(QUEUES, 2);
        let first = bench.start(1, seats(1)).expect("an empty level admits");
        let leaver = spawn(&bench, |bench| bench.start_or_cancel(2, seats(2)));
        let stayer = spawn(&bench, |bench| bench.serve(3, seats(1)));
        join(leaver);
        join(stayer);
        bench.finish(4, first);
        bench.settled(2);
    });
}

/// The outcome of a cancel that came too late is the decision, not always a grant.
#[test]
fn a_cancel_races_with_the_refusal() {
    explore("a_cancel_races_with_the_refusal", || {
        let bench = Bench::new(Queuing::Reject, 1);
        let first = bench.start(1, seats(1)).expect("an empty level admits");
        let busy = spawn(&bench, |bench| bench.gate.tick(2));
        let leaver = spawn(&bench, |bench| bench.start_or_cancel(3, seats(1)));
        join(busy);
        assert!(!join(leaver), "the seat is taken all the time");
        bench.finish(4, first);
        bench.settled(1);
    });
}
