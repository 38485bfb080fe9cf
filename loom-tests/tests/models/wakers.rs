//! Who wakes whom, and who drops a waker.

use apf::gate::Started;
use apf_core::Queuing;
use apf_loom::{Bench, QUEUES, explore, join, seats, spawn, waker};

/// The second waker replaces the first while the grant may take either.
#[test]
fn a_waker_is_replaced_while_the_grant_comes() {
    explore("a_waker_is_replaced_while_the_grant_comes", || {
        let bench = Bench::new(QUEUES, 1);
        let first = bench.start(1, seats(1)).expect("an empty level admits");
        let waiter = spawn(&bench, |bench| match bench.gate.start(2, seats(1)) {
            Started::Pending(mut ticket) => {
                let _ = bench.gate.poll(&mut ticket, std::task::Waker::noop());
                let ticket = bench.wait(ticket).expect("granted in the end");
                bench.finish(4, ticket);
            }
            Started::Running(ticket) => bench.gate.finish(4, ticket),
            other => panic!("{other:?}"),
        });
        bench.finish(3, first);
        join(waiter);
        bench.settled(1);
    });
}

#[test]
fn a_waker_is_left_while_its_request_is_refused() {
    explore("a_waker_is_left_while_its_request_is_refused", || {
        let bench = Bench::new(Queuing::Reject, 1);
        let busy = spawn(&bench, |bench| bench.serve(2, seats(1)));
        let refused = spawn(&bench, |bench| match bench.gate.start(3, seats(1)) {
            Started::Pending(mut ticket) => {
                let _ = bench.gate.poll(&mut ticket, std::task::Waker::noop());
                if let Some(ticket) = bench.wait(ticket) {
                    bench.finish(4, ticket);
                }
                // The node's slot is used again.
                bench.serve(5, seats(1));
            }
            Started::Running(ticket) => {
                let ticket = bench.granted(ticket);
                bench.finish(4, ticket);
            }
            other => assert!(matches!(other, Started::Refused(_))),
        });
        bench.serve(1, seats(1));
        join(busy);
        join(refused);
        bench.settled(1);
    });
}

/// A waker that was left and a request that is abandoned: the owner drops it, once.
#[test]
fn a_waker_is_left_and_its_request_abandoned() {
    explore("a_waker_is_left_and_its_request_abandoned", || {
        let bench = Bench::new(QUEUES, 1);
        let first = bench.start(1, seats(1)).expect("an empty level admits");
        let leaver = spawn(&bench, |bench| match bench.gate.start(2, seats(1)) {
            Started::Pending(mut ticket) => {
                let _ = bench.gate.poll(&mut ticket, &waker());
                bench.cancel(3, ticket)
            }
            Started::Running(ticket) => {
                bench.gate.finish(3, ticket);
                true
            }
            other => panic!("{other:?}"),
        });
        bench.finish(4, first);
        join(leaver);
        bench.settled(1);
    });
}

/// One release lets two start, one wake-up more than a holder does before it offers the role.
#[test]
fn one_release_wakes_two() {
    explore("one_release_wakes_two", || {
        let bench = Bench::new(QUEUES, 2);
        let first = bench.start(1, seats(2)).expect("an empty level admits");
        let one = spawn(&bench, |bench| bench.serve(2, seats(1)));
        let two = spawn(&bench, |bench| bench.serve(3, seats(1)));
        bench.finish(4, first);
        join(one);
        join(two);
        bench.settled(2);
    });
}
