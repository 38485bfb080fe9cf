//! Configuration changes while requests are in flight, and servers without a configuration.

#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use apf_config::attributes::RequestAttributes;
use apf_config::objects::Objects;
use apf_core::{Arrived, Cause, Mode};
use apf_sim::configuration::{BuiltIn, Configuration};
use apf_sim::server::{Server, ServerOptions};

use common::{Grants, SECOND, arrive, both, finish, level_with_user, queue, start};

fn server(objects: &Objects, seats: u32) -> Server {
    Server::new(ServerOptions::new(Mode::Default), objects.clone(), seats, 0).unwrap()
}

fn by(user: &str) -> RequestAttributes<'_> {
    RequestAttributes::resource("list", "pods").in_namespace("dev").by(user, &["system:authenticated"])
}

/// Kubernetes PR 94204, issue 102885: start-up without a configuration.
#[test]
fn a_server_without_a_configuration_classifies_everything_and_refuses_to_have_no_seats() {
    let refused = Server::new(ServerOptions::new(Mode::Default), Objects::default(), 0, 0).unwrap_err();
    assert_eq!(refused.to_string(), "the server's total number of seats must be from 1 to 2147483647, not 0");

    let mut server = server(&Objects::default(), 600);
    let strangers = [
        RequestAttributes::resource("list", "pods").by("test", &["mygroup"]),
        RequestAttributes::resource("list", "pods").by("test", &[] as &[&str; 0]),
        RequestAttributes::resource("list", "pods").in_namespace("dev").by("", &[] as &[&str; 0]),
        RequestAttributes::non_resource("get", "/healthz").by("test", &["system:authenticated"]),
    ];
    for stranger in &strangers {
        let (level, arrived) = arrive(&mut server, 0, stranger, &mut Grants::default());
        assert_eq!(server.level(level).name(), "catch-all");
        assert!(matches!(arrived, Arrived::Executing(_)));
    }
    let admin = RequestAttributes::resource("list", "pods").by("admin", &["system:masters"]);
    let (level, _) = arrive(&mut server, 0, &admin, &mut Grants::default());
    assert_eq!(server.level(level).name(), "exempt");
}

#[test]
fn health_checks_pass_while_everything_else_is_saturated() {
    let objects = Configuration::built_in(BuiltIn::Suggested);
    let mut server = server(objects.objects(), 10);
    for user in ["system:kube-scheduler", "system:node:n1", "alice"] {
        for _ in 0..2_000 {
            arrive(&mut server, 0, &by(user), &mut Grants::default());
        }
    }
    let probe =
        RequestAttributes::non_resource("get", "/readyz").by("system:anonymous", &["system:unauthenticated"]);
    let (level, arrived) = arrive(&mut server, 0, &probe, &mut Grants::default());
    assert_eq!(server.level(level).name(), "exempt");
    assert!(matches!(arrived, Arrived::Executing(_)));
}

/// KEP-1040, "Reaction to Configuration Changes".
#[test]
fn a_lowered_limit_aborts_nothing_and_starts_nothing_until_seats_are_free() {
    // With 5 shares of catch-all, 10 of 15 and 4 of 9 seats.
    let mut server = server(&level_with_user("own", 10, &queue(8, 2, 50), "alice"), 15);
    let mut running = start(&mut server, 0, 10, &by("alice"));
    for _ in 0..3 {
        assert!(matches!(
            arrive(&mut server, 0, &by("alice"), &mut Grants::default()).1,
            Arrived::Waiting(_)
        ));
    }
    let level = server.level_named("own").unwrap();
    server
        .reconfigure(SECOND, level_with_user("own", 4, &queue(8, 2, 50), "alice"), 9, &mut Grants::default())
        .unwrap();
    assert_eq!(server.level(level).current(), 4);
    assert_eq!(server.level(level).level().requests_executing(), 10, "nothing is aborted");
    for left in (4..10).rev() {
        finish(&mut server, 2 * SECOND, &[running.pop().unwrap()]);
        assert_eq!(server.level(level).level().requests_executing(), left, "nothing starts");
    }
    finish(&mut server, 3 * SECOND, &[running.pop().unwrap()]);
    let of = server.level(level).level();
    assert_eq!((of.requests_executing(), of.requests_waiting()), (4, 2), "below the limit they start again");
}

#[test]
fn a_deleted_level_serves_its_waiters_and_gets_no_new_requests() {
    let mut server = server(&level_with_user("own", 1, &queue(8, 2, 50), "alice"), 6);
    let mut running = start(&mut server, 0, 1, &by("alice"));
    let level = server.level_named("own").unwrap();
    for _ in 0..5 {
        arrive(&mut server, 0, &by("alice"), &mut Grants::default());
    }
    server.reconfigure(SECOND, Objects::default(), 6, &mut Grants::default()).unwrap();
    assert!(server.level(level).is_quiescing());
    assert_eq!(server.level(level).limits().nominal, 1, "it keeps its shares");
    let (elsewhere, _) = arrive(&mut server, SECOND, &by("alice"), &mut Grants::default());
    assert_eq!(server.level(elsewhere).name(), "catch-all");

    for served in 1..=6 {
        let mut grants = Grants::default();
        let (level, id) = running.pop().unwrap();
        server.finish(served * 2 * SECOND, level, id, &mut grants).unwrap();
        running.extend(grants.0.iter().map(|grant| (level, grant.id)));
    }
    assert!(running.is_empty(), "all five waiters have run");
    assert_eq!(server.level_named("own"), None, "idle, so it is gone");
    assert_eq!(
        server.level(server.level_named("catch-all").unwrap()).limits().nominal,
        6,
        "and so are its shares"
    );
}

#[test]
fn a_level_that_comes_back_before_it_is_idle_keeps_its_queues() {
    let objects = level_with_user("own", 1, &queue(8, 2, 50), "alice");
    let mut server = server(&objects, 6);
    let running = start(&mut server, 0, 1, &by("alice"));
    let level = server.level_named("own").unwrap();
    arrive(&mut server, 0, &by("alice"), &mut Grants::default());
    server.reconfigure(SECOND, Objects::default(), 6, &mut Grants::default()).unwrap();
    server.reconfigure(2 * SECOND, objects, 6, &mut Grants::default()).unwrap();
    assert_eq!(server.level_named("own"), Some(level));
    assert!(!server.level(level).is_quiescing());
    assert_eq!(server.level(level).level().requests_waiting(), 1);
    finish(&mut server, 3 * SECOND, &running);
    assert_eq!(server.level(level).level().requests_executing(), 1);
}

#[test]
fn a_level_emptied_by_a_cancellation_goes_too() {
    let mut server = server(&level_with_user("own", 0, &queue(8, 2, 50), "alice"), 6);
    let (level, Arrived::Waiting(id)) = arrive(&mut server, 0, &by("alice"), &mut Grants::default()) else {
        panic!("a level without seats must let requests wait")
    };
    server.reconfigure(SECOND, Objects::default(), 6, &mut Grants::default()).unwrap();
    let before = server.generation();
    server.cancel(2 * SECOND, level, id, Cause::TimeOut, &mut Grants::default()).unwrap();
    assert_eq!(server.level_named("own"), None);
    assert!(server.generation() > before, "destinations found before hold no longer");
}

#[test]
fn a_refused_configuration_changes_nothing() {
    let objects = level_with_user("own", 1, &queue(8, 2, 50), "alice");
    let mut server = server(&objects, 6);
    let error = server.reconfigure(SECOND, both(&objects, &objects), 6, &mut Grants::default()).unwrap_err();
    assert!(error.to_string().contains("there is another of this name"), "{error}");
    assert_eq!(server.generation(), 0);
    assert!(server.level_named("own").is_some());
}
