//! The dispatcher as its users see it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use apf::clock::{Clock, ManualClock};
use apf::{AdmitError, Dispatcher, Mode, Reason, Request, RequestAttributes, WorkEstimate};
use apf_config::{Objects, Strictness, bootstrap, load_str};

const MS: u64 = 1_000_000;
const SECOND: u64 = 1000 * MS;

/// One level `tight` of one seat (of 100) for everyone but system:masters.
fn tight(limit_response: &str) -> Objects {
    let yaml = format!(
        "
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: PriorityLevelConfiguration
metadata: {{name: tight}}
spec: {{type: Limited, limited: {{nominalConcurrencyShares: 1, borrowingLimitPercent: 0, limitResponse: {limit_response}}}}}
---
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: PriorityLevelConfiguration
metadata: {{name: rest}}
spec: {{type: Limited, limited: {{nominalConcurrencyShares: 94, limitResponse: {{type: Reject}}}}}}
---
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: FlowSchema
metadata: {{name: everyone}}
spec:
  priorityLevelConfiguration: {{name: tight}}
  matchingPrecedence: 10
  distinguisherMethod: {{type: ByUser}}
  rules:
  - subjects: [{{kind: Group, group: {{name: '*'}}}}]
    resourceRules: [{{verbs: ['*'], apiGroups: ['*'], resources: ['*'], namespaces: ['*'], clusterScope: true}}]
"
    );
    let loaded = load_str("tight", &yaml, Strictness::Strict);
    assert!(!loaded.has_errors(), "{:?}", loaded.diagnostics);
    loaded.objects
}

const QUEUE: &str = "{type: Queue, queuing: {queues: 8, handSize: 2, queueLengthLimit: 5}}";

fn list(user: &str) -> RequestAttributes<'_> {
    RequestAttributes::resource("list", "pods").in_namespace("dev").by(user, &["system:authenticated"][..])
}

fn manual() -> (Dispatcher, ManualClock) {
    let clock = ManualClock::default();
    let dispatcher = Dispatcher::builder()
        .seats(100)
        .objects(tight(QUEUE))
        .clock(Clock::Manual(clock.clone()))
        .build()
        .unwrap();
    (dispatcher, clock)
}

struct CountWakes(AtomicUsize);

impl Wake for CountWakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

fn counting() -> (Arc<CountWakes>, Waker) {
    let count = Arc::new(CountWakes(AtomicUsize::new(0)));
    (count.clone(), Waker::from(count))
}

fn seats_in_use(dispatcher: &Dispatcher) -> u64 {
    dispatcher.stats().level("tight").unwrap().seats_in_use
}

#[test]
fn a_waiting_future_is_woken_once_and_takes_the_seat() {
    let (dispatcher, _clock) = manual();
    let (wakes, waker) = counting();
    let mut context = Context::from_waker(&waker);
    let first = dispatcher.admit_blocking(list("a")).unwrap();
    let mut second = pin!(dispatcher.admit(list("b")));
    assert!(second.as_mut().poll(&mut context).is_pending());
    assert!(second.as_mut().poll(&mut context).is_pending());
    drop(first);
    assert_eq!(wakes.0.load(Ordering::SeqCst), 1);
    let Poll::Ready(Ok(permit)) = second.poll(&mut context) else { panic!() };
    assert_eq!((permit.level(), permit.flow_schema(), permit.seats()), ("tight", "everyone", 1));
    drop(permit);
    assert_eq!(seats_in_use(&dispatcher), 0);
}

/// anyio issue 947: a task that was cancelled between its grant and its wake-up kept the seat.
#[test]
fn a_future_dropped_at_any_point_gives_its_seat_back_and_passes_the_grant_on() {
    for drop_at in 0..4 {
        let (dispatcher, _clock) = manual();
        let (_, waker) = counting();
        let mut context = Context::from_waker(&waker);
        let first = dispatcher.try_admit(list("a")).unwrap();
        let mut second = Box::pin(dispatcher.admit(list("b")));
        let third = Box::pin(dispatcher.admit(list("b")));
        let mut first = Some(first);
        match drop_at {
            0 => drop(second), // never polled
            1 => {
                assert!(second.as_mut().poll(&mut context).is_pending());
                drop(second);
            }
            2 => {
                assert!(second.as_mut().poll(&mut context).is_pending());
                first = None; // granted, not polled again
                drop(second);
            }
            _ => {
                first = None;
                let Poll::Ready(Ok(permit)) = second.as_mut().poll(&mut context) else { panic!() };
                drop(second);
                drop(permit);
            }
        }
        drop(first);
        let mut third = third;
        let Poll::Ready(Ok(permit)) = third.as_mut().poll(&mut context) else { panic!("{drop_at}") };
        assert_eq!(seats_in_use(&dispatcher), 1);
        drop(permit);
        assert_eq!(seats_in_use(&dispatcher), 0, "{drop_at}");
        let stats = dispatcher.stats();
        let everyone = stats.schemas.iter().find(|s| s.schema == "everyone").unwrap();
        assert_eq!(everyone.arrived, 3);
        let ended = everyone.dispatched + everyone.rejected.iter().sum::<u64>();
        assert_eq!((ended, everyone.waiting, everyone.executing), (3, 0, 0), "each has one outcome");
    }
}

#[test]
fn a_wait_ends_at_the_limit_of_the_level_or_of_the_request_whichever_comes_first() {
    let (dispatcher, clock) = manual();
    let (wakes, waker) = counting();
    let mut context = Context::from_waker(&waker);
    let _holder = dispatcher.try_admit(list("a")).unwrap();
    let mut patient = pin!(dispatcher.admit(list("b")));
    let mut hurried =
        pin!(dispatcher.admit(Request::from(list("c")).with_wait_limit(Duration::from_secs(1))));
    assert!(patient.as_mut().poll(&mut context).is_pending());
    assert!(hurried.as_mut().poll(&mut context).is_pending());
    clock.set(SECOND - 1);
    dispatcher.run_timers();
    assert!(hurried.as_mut().poll(&mut context).is_pending());
    clock.set(SECOND);
    dispatcher.run_timers();
    assert_eq!(wakes.0.load(Ordering::SeqCst), 1);
    let Poll::Ready(Err(AdmitError::Rejected(rejected))) = hurried.poll(&mut context) else { panic!() };
    assert_eq!((rejected.reason, rejected.retry_after), (Reason::TimeOut, Duration::from_secs(1)));
    assert!(patient.as_mut().poll(&mut context).is_pending());
    clock.set(15 * SECOND);
    dispatcher.run_timers();
    let Poll::Ready(Err(AdmitError::Rejected(rejected))) = patient.poll(&mut context) else { panic!() };
    assert_eq!(rejected.reason, Reason::TimeOut);
}

/// 2^64 nanoseconds and a little more: cut to 64 bits that would be 0.4 s.
#[test]
fn a_wait_limit_of_centuries_is_none() {
    let (dispatcher, clock) = manual();
    let mut context = Context::from_waker(Waker::noop());
    let _holder = dispatcher.try_admit(list("a")).unwrap();
    let centuries = Duration::from_secs(18_446_744_074);
    let mut patient = pin!(dispatcher.admit(Request::from(list("b")).with_wait_limit(centuries)));
    clock.set(14 * SECOND);
    dispatcher.run_timers();
    assert!(patient.as_mut().poll(&mut context).is_pending());
    clock.set(15 * SECOND);
    dispatcher.run_timers();
    assert!(patient.poll(&mut context).is_ready(), "the level's own limit still holds");
}

/// Row 8 of the differences, in the dispatcher's own counts.
#[test]
fn a_dropped_future_counts_as_cancelled_or_as_timed_out_in_exact_mode() {
    for (mode, reason) in [(Mode::Default, Reason::Cancelled), (Mode::Exact, Reason::TimeOut)] {
        let clock = Clock::Manual(ManualClock::default());
        let builder = Dispatcher::builder().seats(100).objects(tight(QUEUE)).mode(mode).clock(clock);
        let dispatcher = builder.build().unwrap();
        let _holder = dispatcher.try_admit(list("a")).unwrap();
        drop(dispatcher.admit(list("b")));
        let stats = dispatcher.stats();
        let everyone = stats.schemas.iter().find(|schema| schema.schema == "everyone").unwrap();
        assert_eq!(
            (everyone.rejected_for(reason), everyone.rejected.iter().sum::<u64>()),
            (1, 1),
            "{mode:?}"
        );
    }
}

#[test]
fn a_blocked_thread_gets_its_seat_and_a_late_one_its_time_out() {
    let dispatcher = Dispatcher::builder()
        .seats(100)
        .objects(tight(QUEUE))
        .queue_wait_limit_of("tight", Duration::from_millis(200))
        .build()
        .unwrap();
    let holder = dispatcher.admit_blocking(list("a")).unwrap();
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| dispatcher.admit_blocking(list("b")).map(drop));
        std::thread::sleep(Duration::from_millis(50));
        drop(holder);
        assert_eq!(waiter.join().unwrap(), Ok(()));
    });
    let _holder = dispatcher.admit_blocking(list("a")).unwrap();
    let before = Instant::now();
    let refused = dispatcher.admit_blocking(list("b")).unwrap_err();
    assert_eq!(refused.rejected().unwrap().reason, Reason::TimeOut);
    let waited = before.elapsed();
    assert!(waited >= Duration::from_millis(195) && waited < Duration::from_secs(3), "{waited:?}");
}

/// Kubernetes pull request 104345, with the timer of the dispatcher.
#[test]
fn a_lingering_seat_comes_back_by_itself() {
    let dispatcher = Dispatcher::builder().seats(100).objects(tight(QUEUE)).build().unwrap();
    let work = WorkEstimate { initial_seats: 1, final_seats: 1, additional_latency: 50 * MS };
    drop(dispatcher.admit_blocking(Request::from(list("a")).with_work(work)).unwrap());
    let before = Instant::now();
    drop(dispatcher.admit_blocking(list("b")).unwrap());
    let waited = before.elapsed();
    assert!(waited >= Duration::from_millis(40) && waited < Duration::from_secs(5), "{waited:?}");
}

/// Kubernetes pull request 97206: a handler that panicked kept its seat.
#[test]
fn a_panicking_handler_gives_its_seat_back() {
    let (dispatcher, _clock) = manual();
    for _ in 0..100 {
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _permit = dispatcher.try_admit(list("a")).unwrap();
            std::panic::resume_unwind(Box::new("handler"));
        }));
        assert!(outcome.is_err());
    }
    assert_eq!(seats_in_use(&dispatcher), 0);
    assert!(dispatcher.try_admit(list("a")).is_ok());
}

#[test]
fn an_early_release_lets_streams_stay_open_without_seats() {
    let (dispatcher, _clock) = manual();
    let streams: Vec<_> = (0..50)
        .map(|_| {
            let mut permit = dispatcher.try_admit(list("a")).unwrap();
            permit.release_early();
            permit.release_early();
            permit
        })
        .collect();
    assert_eq!(seats_in_use(&dispatcher), 0);
    drop(streams);
    assert_eq!(dispatcher.stats().schemas.iter().map(|s| s.executing).sum::<i64>(), 0);
}

#[test]
fn a_removed_level_lets_its_requests_end_and_sends_new_ones_elsewhere() {
    let (dispatcher, clock) = manual();
    let (_, waker) = counting();
    let mut context = Context::from_waker(&waker);
    let first = dispatcher.try_admit(list("a")).unwrap();
    let mut waiting: Vec<_> = (0..5).map(|_| Box::pin(dispatcher.admit(list("a")))).collect();
    dispatcher.reconfigure(bootstrap::all()).unwrap();
    assert!(dispatcher.stats().level("tight").unwrap().quiescing);
    let elsewhere = dispatcher.try_admit(list("a")).unwrap();
    assert_eq!(elsewhere.level(), "global-default");
    drop(first);
    let mut served = 0;
    while !waiting.is_empty() {
        let ready = |f: &mut std::pin::Pin<Box<apf::Admit<'_>>>| match f.as_mut().poll(&mut context) {
            Poll::Ready(outcome) => {
                assert_eq!(outcome.unwrap().level(), "tight");
                served += 1;
                false
            }
            Poll::Pending => true,
        };
        waiting.retain_mut(ready);
    }
    assert_eq!(served, 5);
    clock.set(10 * SECOND);
    dispatcher.run_timers(); // the adjustment finds it empty
    assert!(dispatcher.stats().level("tight").is_none());
    // It comes back as a new level.
    dispatcher.reconfigure(tight(QUEUE)).unwrap();
    assert_eq!(dispatcher.try_admit(list("a")).unwrap().level(), "tight");
}

#[test]
fn a_level_that_comes_back_before_it_is_empty_goes_on() {
    let (dispatcher, _clock) = manual();
    let first = dispatcher.try_admit(list("a")).unwrap();
    dispatcher.reconfigure(bootstrap::all()).unwrap();
    dispatcher.reconfigure(tight(QUEUE)).unwrap();
    assert!(!dispatcher.stats().level("tight").unwrap().quiescing);
    let refused = dispatcher.try_admit(list("a")).unwrap_err();
    assert_eq!(refused.rejected().unwrap().reason, Reason::ConcurrencyLimit, "its seat is still taken");
    drop(first);
    assert!(dispatcher.try_admit(list("a")).is_ok());
}

#[test]
fn limits_follow_demand_every_ten_seconds() {
    let clock = ManualClock::default();
    let dispatcher = Dispatcher::builder().clock(Clock::Manual(clock.clone())).build().unwrap();
    let currents = |dispatcher: &Dispatcher| {
        let stats = dispatcher.stats();
        let of = |name| stats.level(name).unwrap().current_limit;
        [
            "leader-election",
            "node-high",
            "system",
            "workload-high",
            "workload-low",
            "global-default",
            "catch-all",
        ]
        .map(of)
    };
    assert_eq!(currents(&dispatcher), [58, 170, 117, 114, 56, 56, 30], "idle");
    let permits: Vec<_> = (0..56).map(|_| dispatcher.try_admit(list("a")).unwrap()).collect();
    clock.set(10 * SECOND);
    dispatcher.run_timers();
    let global_default = dispatcher.stats().level("global-default").unwrap().clone();
    assert_eq!(global_default.demand.high_watermark, 56);
    assert!(global_default.current_limit > 56, "{global_default:?}");
    assert!((global_default.seat_utilization - 56.0 / f64::from(global_default.current_limit)).abs() < 1e-9);
    drop(permits);
}

#[test]
fn objects_that_take_no_part_are_named() {
    let (dispatcher, _clock) = manual();
    assert_eq!(dispatcher.left_out(), [""; 0]);
    let mut objects = tight(QUEUE);
    objects.flow_schemas[0].spec.priority_level = "nowhere".to_owned();
    objects.priority_levels[1].spec.limited = None;
    dispatcher.reconfigure(objects).unwrap();
    let left_out = dispatcher.left_out();
    assert_eq!(left_out.len(), 2, "{left_out:?}");
    assert!(left_out[0].starts_with("PriorityLevelConfiguration \"rest\": "), "{left_out:?}");
    assert_eq!(
        left_out[1],
        "FlowSchema \"everyone\": This FlowSchema references the PriorityLevelConfiguration object named \"nowhere\" but \
         there is no such object"
    );
}

#[test]
fn a_dispatcher_without_seats_is_refused() {
    for seats in [0, -1, i64::MAX] {
        let error = Dispatcher::builder().seats(seats).build().unwrap_err();
        assert!(error.to_string().contains("total number of seats"), "{error}");
    }
}

/// 10,000 waiters, one seat: one release wakes one (aiolimiter issue 73).
#[test]
fn one_release_wakes_exactly_one_of_ten_thousand() {
    let (_, _) = manual();
    let clock = ManualClock::default();
    let objects = tight("{type: Queue, queuing: {queues: 8, handSize: 2, queueLengthLimit: 100000}}");
    let dispatcher =
        Dispatcher::builder().seats(100).objects(objects).clock(Clock::Manual(clock)).build().unwrap();
    let (wakes, waker) = counting();
    let mut context = Context::from_waker(&waker);
    let holder = dispatcher.try_admit(list("a")).unwrap();
    let mut waiters: Vec<_> = (0..10_000).map(|_| Box::pin(dispatcher.admit(list("a")))).collect();
    for waiter in &mut waiters {
        assert!(waiter.as_mut().poll(&mut context).is_pending());
    }
    drop(holder);
    assert_eq!(wakes.0.load(Ordering::SeqCst), 1);
    assert_eq!(dispatcher.stats().level("tight").unwrap().requests_waiting, 9_999);
    drop(waiters);
    assert_eq!(seats_in_use(&dispatcher), 0);
}
