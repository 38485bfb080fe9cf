//! The level is changed and removed while requests come and go.

use apf::gate::Started;
use apf_loom::{Bench, QUEUES, explore, join, seats, spawn, waker};

#[test]
fn the_limit_falls_while_requests_start() {
    explore("the_limit_falls_while_requests_start", || {
        let bench = Bench::new(QUEUES, 2);
        let limiter = spawn(&bench, |bench| {
            bench.control(2, |held| held.set_limit(1).expect("a limit that any level may have"))
        });
        let other = spawn(&bench, |bench| bench.serve(3, seats(1)));
        bench.serve(1, seats(1));
        assert!(join(limiter));
        join(other);
        bench.settled(1);
    });
}

#[test]
fn a_limit_that_rises_wakes_who_waits() {
    explore("a_limit_that_rises_wakes_who_waits", || {
        let bench = Bench::new(QUEUES, 1);
        bench.allow(2);
        let first = bench.start(1, seats(1)).expect("an empty level admits");
        let waiter = spawn(&bench, |bench| bench.serve(2, seats(1)));
        let ticket = bench
            .gate
            .control(3, |held| held.reconfigure(QUEUES, 2).expect("a level that may be"))
            .expect("not retired");
        bench.gate.forget(ticket);
        join(waiter);
        bench.finish(4, first);
        bench.settled(2);
    });
}

/// Statistics are read while requests start: a look changes nothing, so who fits starts at once.
#[test]
fn a_look_makes_nobody_wait() {
    explore("a_look_makes_nobody_wait", || {
        let bench = Bench::new(QUEUES, 2);
        let other = spawn(&bench, |bench| {
            let Started::Running(ticket) = bench.gate.start(2, seats(1)) else {
                panic!("a start that fits waits for a look");
            };
            bench.gate.finish(2, ticket);
        });
        let ticket = bench.gate.look(1, |level| assert!(level.seats_in_use() <= 1)).expect("not retired");
        join(other);
        bench.gate.tick(3);
        assert!(bench.gate.decision(&ticket).is_some(), "it has been looked at");
        bench.gate.forget(ticket);
        bench.settled(2);
    });
}

/// Whoever is done with it first, owner or holder, the other frees it.
#[test]
fn a_control_operation_is_forgotten_before_it_is_done() {
    explore("a_control_operation_is_forgotten_before_it_is_done", || {
        let bench = Bench::new(QUEUES, 1);
        let busy = spawn(&bench, |bench| bench.gate.tick(2));
        let mut ticket = bench.gate.control(1, |_| ()).expect("not retired");
        let _ = bench.gate.poll(&mut ticket, &waker());
        let _ = bench.gate.request(&ticket);
        bench.gate.forget(ticket);
        bench.gate.tick(3); // uses the node again
        join(busy);
        bench.settled(1);
    });
}

/// Its owner uses the node until it is done with it, and the holder frees it for the next.
#[test]
fn a_control_operation_is_looked_at_and_forgotten() {
    explore("a_control_operation_is_looked_at_and_forgotten", || {
        let bench = Bench::new(QUEUES, 1);
        let busy = spawn(&bench, |bench| {
            bench.gate.tick(2);
            bench.gate.tick(3);
        });
        let owner = spawn(&bench, |bench| {
            let mut ticket = bench.gate.control(1, |_| ()).expect("not retired");
            let _ = bench.gate.poll(&mut ticket, std::task::Waker::noop());
            while bench.gate.decision(&ticket).is_none() {
                apf_loom::rt::thread::yield_now();
            }
            let _ = bench.gate.request(&ticket);
            bench.gate.forget(ticket);
        });
        join(busy);
        join(owner);
        bench.settled(1);
    });
}

#[test]
fn a_level_is_retired_when_its_last_request_has_gone() {
    explore("a_level_is_retired_when_its_last_request_has_gone", || {
        let bench = Bench::new(QUEUES, 1);
        let first = spawn(&bench, |bench| {
            if let Some(ticket) = bench.start(2, seats(1)) {
                assert!(!bench.gate.is_retired(), "a request runs here");
                bench.finish(2, ticket);
            }
        });
        let second = spawn(&bench, |bench| bench.serve(3, seats(1)));
        assert!(bench.control(1, |held| held.quiesce()));
        join(first);
        join(second);
        assert!(bench.gate.is_retired(), "whoever came last has seen to it");
        bench.gate.tick(4);
        assert!(matches!(bench.gate.start(5, seats(1)), Started::Retired));
        assert!(!bench.control(5, |_| ()));
        bench.settled(1);
    });
}

/// Wanted again: either in time, or the answer says that it is too late.
#[test]
fn a_level_that_is_wanted_again_stays_or_says_that_it_is_gone() {
    explore("a_level_that_is_wanted_again_stays_or_says_that_it_is_gone", || {
        let bench = Bench::new(QUEUES, 1);
        let removed = spawn(&bench, |bench| bench.control(2, |held| held.quiesce()));
        let served = spawn(&bench, |bench| bench.serve(3, seats(1)));
        let kept = bench.control(1, |held| held.reconfigure(QUEUES, 1).expect("a level that may be"));
        let removed = join(removed);
        join(served);
        bench.gate.tick(4);
        assert!(kept || removed, "only a removal can make it too late");
        assert!(kept || bench.gate.is_retired());
        bench.settled(1);
    });
}
