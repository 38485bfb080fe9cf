//! Requests in batches.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use apf::clock::{Clock, ManualClock};
use apf::{
    Batch, Classified, Dispatcher, Preclassified, Reason, Request, RequestAttributes, Submitted, WorkEstimate,
};

fn request(user: &'static str) -> Request<'static> {
    RequestAttributes::resource("list", "pods").by(user, &["system:authenticated"]).into()
}

fn dispatcher() -> (Dispatcher, ManualClock) {
    let clock = ManualClock::default();
    (Dispatcher::builder().clock(Clock::Manual(clock.clone())).build().unwrap(), clock)
}

/// The same requests one by one or in batches: the same statistics, whatever is counted together.
#[test]
fn a_batch_counts_what_single_calls_count() {
    let run = |batched: bool| {
        let (dispatcher, clock) = dispatcher();
        let kept = Classified::new();
        let mut permits = Vec::new();
        let requests = |round: u64| {
            let kept = &kept;
            (0..40).map(move |number: u64| {
                let user = if number % 16 < 8 { "alice" } else { "system:kube-scheduler" };
                let seats = if number.is_multiple_of(5) { 1 + round } else { 1 };
                let request = request(user).with_work(WorkEstimate::seats(seats));
                if number == 0 && round == 0 { request.with_classified(kept) } else { request }
            })
        };
        for round in 0..6 {
            clock.set(round * 7_000_000);
            dispatcher.run_timers();
            let take = |submitted: Submitted<'static>| match submitted {
                Submitted::Admitted(permit) => Some(permit),
                Submitted::Waits(_) | Submitted::Refused(_) => None,
            };
            let dispatcher: &'static Dispatcher = Box::leak(Box::new(dispatcher.clone()));
            if batched {
                let mut batch = dispatcher.batch();
                permits.extend(requests(round).filter_map(|request| take(batch.submit(&request, false))));
                clock.set(round * 7_000_000 + 1_000_000 * round);
                drop(batch);
                let mut batch = dispatcher.batch();
                permits.drain(..30).for_each(|permit| batch.finish(permit));
            } else {
                permits
                    .extend(requests(round).filter_map(|request| take(dispatcher.submit(&request, false))));
                clock.set(round * 7_000_000 + 1_000_000 * round);
                permits.drain(..30).for_each(drop);
            }
        }
        let stats = dispatcher.stats();
        drop(permits);
        (stats, dispatcher.stats())
    };
    let (batched, single) = (run(true), run(false));
    assert_eq!(batched, single);
    let arrived: u64 = batched.0.schemas.iter().map(|schema| schema.arrived).sum();
    assert_eq!(arrived, 240);
}

#[test]
fn a_batch_outlives_a_change_of_the_configuration() {
    let (dispatcher, _) = dispatcher();
    let mut batch = dispatcher.batch();
    let first = batch.submit(&request("alice"), false);
    let Submitted::Admitted(first) = first else { panic!("it is idle") };
    assert_eq!(first.level(), "global-default");
    // Without the level, and with it gone: the batch classifies anew.
    dispatcher.reconfigure(apf::config::Objects::default()).unwrap();
    batch.finish(first);
    let Submitted::Admitted(second) = batch.submit(&request("alice"), false) else { panic!("it is idle") };
    assert_eq!(second.level(), "catch-all");
}

#[test]
fn a_permit_of_another_dispatcher_is_finished_where_it_belongs() {
    let ((one, _), (other, _)) = (dispatcher(), dispatcher());
    let Submitted::Admitted(permit) = one.submit(&request("alice"), true) else { panic!("it is idle") };
    let mut batch: Batch<'_> = other.batch();
    batch.finish(permit);
    assert_eq!(one.stats().level("global-default").unwrap().requests_executing, 0);
    drop(batch);
    assert!(other.stats().schemas.iter().all(|schema| schema.executing == 0 && schema.executed.count() == 0));
}

#[test]
fn a_host_that_classifies_for_itself_names_the_level() {
    let (dispatcher, _) = dispatcher();
    assert_eq!(dispatcher.level_number("no-such"), None);
    let level = dispatcher.level_number("workload-low").unwrap();
    assert_eq!(dispatcher.level_number("workload-low"), Some(level), "the same each time");
    let request =
        |level| Preclassified { level, flow_hash: 7, work: WorkEstimate::seats(1), wait_limit: None };
    let Some(Submitted::Admitted(permit)) = dispatcher.submit_preclassified(&request(level), false) else {
        panic!("it is idle")
    };
    assert_eq!((permit.level(), permit.flow_schema()), ("workload-low", "(host)"));
    assert!(dispatcher.submit_preclassified(&request(u32::MAX), true).is_none());
    // A number that stands for the counts of a FlowSchema of the configuration is none of a level.
    assert!(dispatcher.submit_preclassified(&request(0), true).is_none());
    let wide = Preclassified { work: WorkEstimate::seats(100_000), ..request(level) };
    let Some(Submitted::Refused(error)) = dispatcher.submit_preclassified(&wide, false) else {
        panic!("it does not fit")
    };
    assert_eq!(error.rejected().map(|rejected| rejected.reason), Some(Reason::ConcurrencyLimit));
    drop(permit);
    // A level that is gone takes nothing, and has no number.
    dispatcher.reconfigure(apf::config::Objects::default()).unwrap();
    assert!(dispatcher.submit_preclassified(&request(level), true).is_none());
    assert_eq!(dispatcher.level_number("workload-low"), None);
}
