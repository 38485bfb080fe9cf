//! Two and three threads that want the same request: exactly one gets it, and no seat is lost.
//!
//! Small enough for Miri, which watches every access: `MIRIFLAGS=-Zmiri-disable-isolation cargo +nightly miri test -p apf-ffi
//! --test interleavings`, and for other interleavings `-Zmiri-seed=N`.

#![allow(unsafe_code, reason = "calls of the C interface")]

mod common;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Barrier, Mutex};
use std::thread;

use apf_ffi::apf_status::*;
use apf_ffi::*;
use common::{Host, OPTIONS, REQUEST, text};

/// Rounds of each race; Miri's seeds make up for its few.
const ROUNDS: usize = if cfg!(miri) { 2 } else { 3_000 };

const ADMITTED: i32 = apf_outcome_kind::APF_OUTCOME_ADMITTED as i32;
const QUEUED: i32 = apf_outcome_kind::APF_OUTCOME_QUEUED as i32;

const GROUPS: &[apf_str] = &[text("system:authenticated")];

fn request() -> apf_request {
    apf_request {
        user: text("alice"),
        groups: GROUPS.as_ptr(),
        group_count: GROUPS.len(),
        verb: text("list"),
        resource: text("pods"),
        ..REQUEST
    }
}

/// One level for everybody, and little else: quick to set up under Miri.
const CONFIGURATION: &str = r#"{"apiVersion": "v1", "kind": "List", "items": [
{"apiVersion": "flowcontrol.apiserver.k8s.io/v1", "kind": "PriorityLevelConfiguration", "metadata": {"name": "only"},
 "spec": {"type": "Limited", "limited": {"nominalConcurrencyShares": 25, "limitResponse": {"type": "Queue",
  "queuing": {"queues": 1, "handSize": 1, "queueLengthLimit": 100}}}}},
{"apiVersion": "flowcontrol.apiserver.k8s.io/v1", "kind": "FlowSchema", "metadata": {"name": "all"},
 "spec": {"priorityLevelConfiguration": {"name": "only"}, "matchingPrecedence": 2, "rules": [{
  "subjects": [{"kind": "Group", "group": {"name": "system:authenticated"}}],
  "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "clusterScope": true, "namespaces": ["*"]}]}]}}
]}"#;

fn host() -> Host {
    let configuration = apf_configuration {
        size: size_of::<apf_configuration>(),
        text: text(CONFIGURATION),
        text_name: common::EMPTY,
        path: common::EMPTY,
        strictness: 0,
        builtin: apf_builtin::APF_BUILTIN_MANDATORY as i32,
    };
    let host =
        Host::new(&apf_engine_options { seats: 30, configuration: &raw const configuration, ..OPTIONS });
    assert_eq!(host.held(), (0, 0));
    host
}

/// Takes every seat, and leaves one request waiting.
fn full(host: &Host) -> (apf_ticket, apf_ticket) {
    let wide = apf_request { initial_seats: 1_000, ..request() };
    let runs = host.submit(&wide, 0);
    assert_eq!(runs.kind, ADMITTED);
    let waits = host.submit(&request(), 1);
    assert_eq!(waits.kind, QUEUED);
    (runs.ticket, waits.ticket)
}

fn finish(host: &Host, ticket: apf_ticket) -> apf_status {
    // SAFETY: as the header says.
    unsafe { apf_finish(host.engine, ticket) }
}

fn finish_early(host: &Host, ticket: apf_ticket) -> apf_status {
    // SAFETY: as the header says.
    unsafe { apf_finish_early(host.engine, ticket) }
}

/// Runs all of them at once.
fn race(each: &[&(dyn Fn() + Sync)]) {
    let barrier = Barrier::new(each.len());
    thread::scope(|scope| {
        for run in each {
            scope.spawn(|| {
                barrier.wait();
                run();
            });
        }
    });
}

fn a_request_that_is_finished_twice_ends_once(host: &Host) {
    for _ in 0..ROUNDS {
        let ticket = host.submit(&request(), 0).ticket;
        let ended = AtomicUsize::new(0);
        let end = || match finish(host, ticket) {
            APF_OK => _ = ended.fetch_add(1, Ordering::Relaxed),
            status => assert_eq!(status, APF_ERROR_STALE_TICKET),
        };
        race(&[&end, &end]);
        assert_eq!(ended.into_inner(), 1);
        assert_eq!(host.held(), (0, 0));
    }
}

fn a_request_that_is_finished_and_released_early_at_once_gives_its_seats_back_once(host: &Host) {
    for _ in 0..ROUNDS {
        let ticket = host.submit(&request(), 0).ticket;
        let early = || match finish_early(host, ticket) {
            APF_OK | APF_ERROR_STALE_TICKET => {}
            status => panic!("{status:?}"),
        };
        let end = || {
            // While the other one is at work, it is told so.
            while finish(host, ticket) == APF_ERROR_BUSY {
                thread::yield_now();
            }
        };
        race(&[&early, &end]);
        assert_eq!(finish(host, ticket), APF_ERROR_STALE_TICKET);
        assert_eq!(host.held(), (0, 0));
    }
}

fn a_wait_that_is_cancelled_as_it_is_granted_ends_once(host: &Host) {
    let (mut cancels, mut grants) = (0, 0);
    for _ in 0..ROUNDS {
        let (runs, waits) = full(host);
        let (cancelled, completed) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let cancel = || match host.cancel(waits) {
            APF_OK => _ = cancelled.fetch_add(1, Ordering::Relaxed),
            APF_ERROR_ALREADY_ADMITTED | APF_ERROR_STALE_TICKET => {}
            status => panic!("{status:?}"),
        };
        let release = || host.finish(runs);
        let take = || {
            if let Some(completion) = host.completion() {
                assert_eq!((completion.user_data, completion.outcome.ticket), (1, waits));
                completed.fetch_add(1, Ordering::Relaxed);
                host.finish(completion.outcome.ticket);
            }
        };
        race(&[&cancel, &release, &take]);
        take();
        let (cancelled, completed) = (cancelled.into_inner(), completed.into_inner());
        assert_eq!(cancelled + completed, 1);
        cancels += cancelled;
        grants += completed;
        assert_eq!(host.held(), (0, 0));
    }
    if !cfg!(miri) {
        assert!(cancels > 0 && grants > 0, "{cancels} {grants}: it is no race");
    }
}

fn a_request_that_is_granted_as_it_begins_to_wait_completes(host: &Host) {
    let mut granted = 0;
    for _ in 0..ROUNDS {
        let wide = apf_request { initial_seats: 1_000, ..request() };
        let runs = host.submit(&wide, 0).ticket;
        let decided = Mutex::new(None);
        let submit = || {
            if let Ok(mut decided) = decided.lock() {
                let outcome = host.submit(&request(), 1);
                *decided = Some((outcome.kind, outcome.ticket));
            }
        };
        let release = || host.finish(runs);
        race(&[&submit, &release]);
        let Ok(Some((kind, ticket))) = decided.into_inner() else { panic!("it was not submitted") };
        let completion = host.completion();
        assert_eq!(completion.is_some(), kind == QUEUED, "it would wait for ever");
        granted += usize::from(completion.is_some());
        host.finish(ticket);
        assert_eq!(host.held(), (0, 0));
    }
    if !cfg!(miri) {
        assert!(granted > 0, "it is no race");
    }
}

fn cancels_that_meet_a_drain_lose_no_slot(host: &Host) {
    const WAITING: usize = if cfg!(miri) { 3 } else { 20 };
    for _ in 0..ROUNDS {
        let wide = apf_request { initial_seats: 1_000, ..request() };
        let runs = host.submit(&wide, 0).ticket;
        let waiting: Vec<apf_ticket> = (0..WAITING).map(|_| host.submit(&request(), 1).ticket).collect();
        host.finish(runs);
        let cancel = || waiting.iter().for_each(|ticket| _ = host.cancel(*ticket));
        let drain = || {
            while let Some(completion) = host.completion() {
                host.finish(completion.outcome.ticket);
            }
        };
        race(&[&cancel, &drain]);
        drain();
        assert_eq!(host.held(), (0, 0));
    }
    // Whichever comes second frees the slot: so there are never more than were in use and at hand in threads.
    let slot = host.submit(&request(), 0).ticket;
    assert!(slot.bits[0] as u32 <= 256, "{slot:?}");
    host.finish(slot);
}

fn two_that_cancel_one_wait_agree_who_did(host: &Host) {
    for _ in 0..ROUNDS {
        let (runs, waits) = full(host);
        let cancelled = AtomicUsize::new(0);
        let cancel = || match host.cancel(waits) {
            APF_OK => _ = cancelled.fetch_add(1, Ordering::Relaxed),
            status => assert_eq!(status, APF_ERROR_STALE_TICKET),
        };
        let release = || host.finish(runs);
        race(&[&cancel, &cancel, &release]);
        assert_eq!(cancelled.into_inner(), 1);
        assert!(host.completion().is_none());
        assert_eq!(host.held(), (0, 0));
    }
}

fn a_queue_that_is_freed_as_its_request_is_granted_loses_no_seat(host: &Host) {
    for _ in 0..ROUNDS {
        let mut queue = std::ptr::null_mut();
        // SAFETY: as the header says, here and below.
        assert_eq!(unsafe { apf_completions_new(host.engine, &raw mut queue) }, APF_OK);
        let other = Host { engine: host.engine, queue };
        let (runs, _) = full(&other);
        let release = || host.finish(runs);
        let free = || {
            let other = &other;
            // SAFETY: nobody else uses it.
            assert_eq!(unsafe { apf_completions_free(other.queue) }, APF_OK);
        };
        race(&[&release, &free]);
        assert_eq!(host.held(), (0, 0));
        std::mem::forget(other);
    }
}

fn time_outs_and_grants_at_once_are_one_completion_each(host: &Host) {
    for round in 1..=ROUNDS as u64 {
        let wide = apf_request { initial_seats: 1_000, ..request() };
        let runs = host.submit(&wide, 0).ticket;
        let hasty = apf_request { wait_limit_ns: 5, ..request() };
        assert_eq!(host.submit(&hasty, 1).kind, QUEUED);
        assert_eq!(host.submit(&hasty, 2).kind, QUEUED);
        let release = || host.finish(runs);
        let pass = || host.set_time(round * 10);
        race(&[&release, &pass]);
        let mut users = Vec::new();
        while let Some(completion) = host.completion() {
            users.push(completion.user_data);
            if completion.outcome.kind == ADMITTED {
                host.finish(completion.outcome.ticket);
            }
        }
        users.sort_unstable();
        assert_eq!(users, [1, 2]);
        assert_eq!(host.held(), (0, 0));
    }
}

fn tickets_that_change_hands_use_slots_of_other_threads(host: &Host) {
    let rounds = if cfg!(miri) { 3 } else { 300 };
    for _ in 0..rounds {
        let tickets: Vec<apf_ticket> = thread::scope(|scope| {
            let submit = || {
                (0..if cfg!(miri) { 3 } else { 50 })
                    .map(|_| host.submit(&request(), 3))
                    .map(|outcome| outcome.ticket)
                    .collect::<Vec<_>>()
            };
            let threads: Vec<_> = (0..2).map(|_| scope.spawn(submit)).collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap_or_default()).collect()
        });
        let (first, second) = tickets.split_at(tickets.len() / 2);
        let end = |tickets: &[apf_ticket]| {
            for ticket in tickets {
                if host.cancel(*ticket) == APF_ERROR_ALREADY_ADMITTED {
                    host.finish(*ticket);
                }
            }
        };
        race(&[&|| end(first), &|| end(second)]);
        assert!(host.completion().is_none());
        assert_eq!(host.held(), (0, 0));
    }
}

/// Each of them is a test of its own; Miri takes long to make an engine and has one for all of them.
macro_rules! races {
    ($($name:ident),+ $(,)?) => {
        mod race {
            $(
                #[test]
                #[cfg_attr(miri, ignore = "see `all_on_one_engine`")]
                fn $name() {
                    super::$name(&super::host());
                }
            )+
        }

        #[test]
        #[cfg_attr(not(miri), ignore = "for Miri; each is a test of its own")]
        fn all_on_one_engine() {
            let host = host();
            $($name(&host);)+
        }
    };
}

races!(
    a_request_that_is_finished_twice_ends_once,
    a_request_that_is_finished_and_released_early_at_once_gives_its_seats_back_once,
    a_wait_that_is_cancelled_as_it_is_granted_ends_once,
    a_request_that_is_granted_as_it_begins_to_wait_completes,
    cancels_that_meet_a_drain_lose_no_slot,
    two_that_cancel_one_wait_agree_who_did,
    a_queue_that_is_freed_as_its_request_is_granted_loses_no_seat,
    time_outs_and_grants_at_once_are_one_completion_each,
    tickets_that_change_hands_use_slots_of_other_threads,
);
