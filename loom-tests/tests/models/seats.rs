//! Who may start by the word alone.

use apf_core::Queuing;
use apf_loom::{Bench, QUEUES, explore, explore_within, join, lingering, seats, spawn};

#[test]
fn two_threads_share_one_seat() {
    explore("two_threads_share_one_seat", || {
        let bench = Bench::new(QUEUES, 1);
        let other = spawn(&bench, |bench| bench.serve(2, seats(1)));
        bench.serve(1, seats(1));
        join(other);
        bench.settled(1);
    });
}

#[test]
fn three_threads_of_unequal_widths_share_two_seats() {
    explore("three_threads_of_unequal_widths_share_two_seats", || {
        let bench = Bench::new(QUEUES, 2);
        let wide = spawn(&bench, |bench| bench.serve(3, seats(2)));
        let narrow = spawn(&bench, |bench| bench.serve(2, seats(1)));
        bench.serve(1, seats(1));
        join(wide);
        join(narrow);
        bench.settled(2);
    });
}

/// The word fits when it is read and does not when the exchange succeeds.
#[test]
fn a_start_that_does_not_fit_any_more_waits() {
    explore_within(3, "a_start_that_does_not_fit_any_more_waits", || {
        let bench = Bench::new(QUEUES, 1);
        let first = spawn(&bench, |bench| bench.serve(2, seats(1)));
        let second = spawn(&bench, |bench| bench.start(3, seats(1)));
        bench.gate.tick(1); // while this is in the role, both publish
        let ticket = join(second).expect("it gets the seat or waits for it");
        bench.finish(4, ticket);
        join(first);
        bench.settled(1);
    });
}

#[test]
fn a_request_wider_than_the_limit_runs_alone() {
    explore("a_request_wider_than_the_limit_runs_alone", || {
        let bench = Bench::new(QUEUES, 2);
        let wide = spawn(&bench, |bench| bench.serve(2, seats(3)));
        bench.serve(1, seats(1));
        bench.serve(3, seats(1));
        join(wide);
        bench.settled(2);
    });
}

/// Dispatch clips the final seats; what comes back is what was taken.
#[test]
fn clipped_seats_come_back_as_clipped() {
    explore("clipped_seats_come_back_as_clipped", || {
        let bench = Bench::new(QUEUES, 2);
        let first = bench.start(1, seats(2)).expect("an empty level admits");
        let clipped = spawn(&bench, |bench| {
            if let Some(ticket) = bench.start(2, lingering(1, 3, 1_000)) {
                let work = bench.gate.request(&ticket).expect("it runs").work;
                assert_eq!((work.final_seats, work.additional_latency), (2, 1_500));
                bench.finish(3, ticket);
            }
        });
        bench.finish(4, first);
        join(clipped);
        bench.gate.tick(10_000);
        bench.settled(2);
    });
}

/// Found by polling, not by a wake-up that would order the threads by itself.
#[test]
fn clipped_seats_are_seen_by_whoever_sees_the_grant() {
    explore("clipped_seats_are_seen_by_whoever_sees_the_grant", || {
        let bench = Bench::new(QUEUES, 1);
        let first = bench.start(1, seats(1)).expect("an empty level admits");
        let second = spawn(&bench, |bench| bench.start_or_cancel(2, lingering(1, 2, 0)));
        bench.finish(3, first);
        join(second);
        bench.gate.tick(10_000);
        bench.settled(1);
    });
}

#[test]
fn delayed_releases_are_not_counted_before_they_are_due() {
    explore("delayed_releases_are_not_counted_before_they_are_due", || {
        let bench = Bench::new(QUEUES, 1);
        let clock = spawn(&bench, |bench| bench.gate.tick(200));
        let lingers = spawn(&bench, |bench| bench.serve(1, lingering(1, 1, 100)));
        bench.start_or_cancel(2, seats(1));
        join(lingers);
        join(clock);
        bench.gate.tick(10_000);
        bench.settled(1);
    });
}

#[test]
fn a_level_that_rejects_refuses_what_does_not_fit() {
    explore("a_level_that_rejects_refuses_what_does_not_fit", || {
        let bench = Bench::new(Queuing::Reject, 2);
        let wide = spawn(&bench, |bench| bench.serve(2, seats(2)));
        let narrow = spawn(&bench, |bench| bench.serve(3, seats(1)));
        bench.serve(1, seats(1));
        join(wide);
        join(narrow);
        bench.settled(2);
    });
}

#[test]
fn a_start_that_will_not_wait_never_holds_too_much() {
    use apf::gate::Started;
    explore("a_start_that_will_not_wait_never_holds_too_much", || {
        let bench = Bench::new(QUEUES, 1);
        let other = spawn(&bench, |bench| bench.serve(2, seats(1)));
        if let Started::Running(ticket) = bench.gate.try_start(1, seats(1)) {
            let ticket = bench.granted(ticket);
            bench.finish(3, ticket);
        }
        join(other);
        bench.settled(1);
    });
}

#[test]
fn an_exempt_level_takes_everybody() {
    explore("an_exempt_level_takes_everybody", || {
        let bench = Bench::new(Queuing::Exempt, 0);
        let other = spawn(&bench, |bench| bench.start_or_cancel(2, seats(3)));
        assert!(bench.start_or_cancel(1, seats(2)));
        assert!(join(other));
        bench.settled(5);
    });
}
