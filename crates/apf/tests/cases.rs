//! Things that went wrong for real people with limiters, as tests of the dispatcher named after what they protect.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use apf::clock::{Clock, ManualClock};
use apf::{AdmitError, Dispatcher, Permit, Reason, Request, RequestAttributes, WorkEstimate};
use apf_config::{Objects, Strictness, load_str};

fn level(name: &str, shares: u32, rest: u32, response: &str) -> Objects {
    let yaml = format!(
        "
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: PriorityLevelConfiguration
metadata: {{name: {name}}}
spec: {{type: Limited, limited: {{nominalConcurrencyShares: {shares}, borrowingLimitPercent: 0, limitResponse: {response}}}}}
---
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: PriorityLevelConfiguration
metadata: {{name: rest}}
spec: {{type: Limited, limited: {{nominalConcurrencyShares: {rest}, limitResponse: {{type: Reject}}}}}}
---
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: FlowSchema
metadata: {{name: everyone}}
spec:
  priorityLevelConfiguration: {{name: {name}}}
  matchingPrecedence: 10
  distinguisherMethod: {{type: ByUser}}
  rules:
  - subjects: [{{kind: Group, group: {{name: 'system:authenticated'}}}}]
    resourceRules: [{{verbs: ['*'], apiGroups: ['*'], resources: ['*'], namespaces: ['*'], clusterScope: true}}]
"
    );
    let loaded = load_str("level", &yaml, Strictness::Strict);
    assert!(!loaded.has_errors(), "{:?}", loaded.diagnostics);
    loaded.objects
}

const QUEUE: &str = "{type: Queue, queuing: {queues: 16, handSize: 2, queueLengthLimit: 1000}}";

fn list(user: &str) -> RequestAttributes<'_> {
    RequestAttributes::resource("list", "pods").in_namespace("dev").by(user, &["system:authenticated"][..])
}

fn admin() -> RequestAttributes<'static> {
    RequestAttributes::resource("list", "pods").by("admin", &["system:masters"][..])
}

/// aiohttp issue 9670: a limiter served nobody any more after a time-out in the tick of a release.
#[test]
fn random_time_outs_never_bring_throughput_to_a_halt() {
    let objects = level("tight", 2, 93, QUEUE);
    let dispatcher = Dispatcher::builder().seats(100).objects(objects).build().unwrap();
    let served = AtomicU64::new(0);
    let timed_out = AtomicU64::new(0);
    let end = Instant::now() + Duration::from_secs(3);
    std::thread::scope(|scope| {
        for client in 0..50u64 {
            let (dispatcher, served, timed_out) = (&dispatcher, &served, &timed_out);
            scope.spawn(move || {
                let user = format!("client-{client}");
                let mut seed = client + 1;
                while Instant::now() < end {
                    seed =
                        seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    let limit = Duration::from_micros(1000 + (seed >> 33) % 4000);
                    match dispatcher.admit_blocking(Request::from(list(&user)).with_wait_limit(limit)) {
                        Ok(permit) => {
                            std::thread::sleep(Duration::from_micros(200));
                            drop(permit);
                            served.fetch_add(1, Ordering::Relaxed);
                        }
                        Err(error) => {
                            assert_eq!(error.rejected().unwrap().reason, Reason::TimeOut);
                            timed_out.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                }
            });
        }
        let mut before = 0;
        for _ in 0..6 {
            std::thread::sleep(Duration::from_millis(490));
            let now = served.load(Ordering::Relaxed);
            assert!(now > before, "nothing was served for half a second");
            before = now;
        }
    });
    assert!(timed_out.load(Ordering::Relaxed) > 0, "the case was not met");
    let stats = dispatcher.stats();
    assert_eq!(stats.level("tight").unwrap().seats_in_use, 0);
    assert_eq!(dispatcher.nodes_in_use(), 0);
}

/// Netflix/concurrency-limits pull request 233: check and increment were two steps.
#[test]
fn sixty_four_threads_never_hold_more_seats_than_the_limit() {
    let objects = level("tight", 5, 90, QUEUE);
    let dispatcher = Dispatcher::builder().seats(100).objects(objects).build().unwrap();
    let limit = u64::from(dispatcher.stats().level("tight").unwrap().current_limit);
    let held = AtomicU64::new(0);
    let most = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for thread in 0..64u64 {
            let (dispatcher, held, most) = (&dispatcher, &held, &most);
            scope.spawn(move || {
                let user = format!("user-{thread}");
                for round in 0..200 {
                    let seats = 1 + (thread + round) % limit;
                    let request = Request::from(list(&user)).with_work(WorkEstimate::seats(seats));
                    let admitted: Result<Permit<'_>, AdmitError> = if round % 3 == 0 {
                        dispatcher.try_admit(request)
                    } else {
                        dispatcher.admit_blocking(request)
                    };
                    if let Ok(permit) = admitted {
                        let now = held.fetch_add(seats, Ordering::Relaxed) + seats;
                        most.fetch_max(now, Ordering::Relaxed);
                        if round % 7 == 0 {
                            std::thread::yield_now();
                        }
                        held.fetch_sub(seats, Ordering::Relaxed);
                        drop(permit);
                    }
                }
            });
        }
    });
    let most = most.load(Ordering::Relaxed);
    assert!(most <= limit, "{most} of {limit}");
    assert_eq!(most, limit, "the limit was reached, or the test shows nothing");
}

/// Kubernetes issues 109846, 105683 and pull request 141496: ratios without denominators, seats counted as requests,
/// the exempt level under another's target.
#[test]
fn numbers_are_honest_for_exempt_levels_without_seats_and_under_wide_requests() {
    let clock = ManualClock::default();
    let objects = level("tight", 10, 85, QUEUE);
    let builder = Dispatcher::builder().seats(100).objects(objects).clock(Clock::Manual(clock.clone()));
    let dispatcher = builder.build().unwrap();

    let exempt: Vec<_> = (0..7).map(|_| dispatcher.try_admit(admin()).unwrap()).collect();
    clock.set(10_000_000_000);
    dispatcher.run_timers();
    let stats = dispatcher.stats();
    assert_eq!(
        (stats.level("exempt").unwrap().target, stats.level("exempt").unwrap().current_limit),
        (7.0, 7)
    );
    drop(exempt);

    let of = |seats| Request::from(list("a")).with_work(WorkEstimate::seats(seats));
    let half = dispatcher.try_admit(of(5)).unwrap();
    let tight = dispatcher.stats().level("tight").unwrap().clone();
    assert_eq!((tight.current_limit, tight.seats_in_use, tight.seat_utilization), (10, 5, 0.5));
    drop(half);

    let _all = dispatcher.try_admit(of(10)).unwrap();
    let waiting = [dispatcher.admit(of(10)), dispatcher.admit(of(1)), dispatcher.admit(of(1))];
    let stats = dispatcher.stats();
    let tight = stats.level("tight").unwrap();
    assert_eq!((tight.requests_waiting, tight.seats_waiting), (3, 12));
    let everyone = stats.schemas.iter().find(|schema| schema.schema == "everyone").unwrap();
    assert_eq!((everyone.waiting, everyone.waiting_seats), (3, 12));
    drop(waiting);

    dispatcher.reconfigure(level("tight", 0, 95, QUEUE)).unwrap();
    let tight = dispatcher.stats().level("tight").unwrap().clone();
    assert_eq!(tight.current_limit, 0);
    assert!((tight.seat_utilization - 1.0).abs() < 1e-9, "10 seats over a tenth of the server: {tight:?}");
    assert!(dispatcher.stats().levels.iter().all(|level| level.seat_utilization.is_finite()));
}

/// Kubernetes issue 108272: 1608 series on a tiny cluster.
#[test]
fn the_default_configuration_has_as_many_series_as_it_has_levels_and_schemas() {
    let dispatcher = Dispatcher::builder().build().unwrap();
    let stats = dispatcher.stats();
    assert_eq!((stats.levels.len(), stats.schemas.len()), (8, 11));
    dispatcher.reconfigure(apf_config::bootstrap::all()).unwrap();
    let again = dispatcher.stats();
    assert_eq!((again.levels.len(), again.schemas.len()), (8, 11), "a new configuration adds none");
}
