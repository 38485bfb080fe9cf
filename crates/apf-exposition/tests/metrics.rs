//! The metrics of a dispatcher with the default configuration: as a real kube-apiserver's, bounded, and always numbers.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;

use apf::clock::{Clock, ManualClock};
use apf::config::bootstrap;
use apf::{Dispatcher, Request, RequestAttributes, WorkEstimate};
use apf_exposition::{Table, dump, prometheus};

/// A metric as a scraper reads it.
#[derive(Default)]
struct Family {
    help: String,
    kind: String,
    /// Labels with their values, and the value.
    series: Vec<(BTreeMap<String, String>, f64)>,
}

impl Family {
    fn label_names(&self) -> BTreeSet<&str> {
        self.series.iter().flat_map(|(labels, _)| labels.keys().map(String::as_str)).collect()
    }

    fn bounds(&self) -> BTreeSet<&str> {
        self.series.iter().filter_map(|(labels, _)| labels.get("le")).map(String::as_str).collect()
    }
}

/// Reads `name="value",…` with the escapes of the format, up to the closing brace.
fn labels(text: &str) -> (BTreeMap<String, String>, &str) {
    let mut labels = BTreeMap::new();
    let mut rest = text;
    loop {
        let (name, after) = rest.split_once("=\"").unwrap();
        let mut value = String::new();
        let mut characters = after.char_indices();
        let end = loop {
            match characters.next().unwrap() {
                (_, '\\') => value.push(match characters.next().unwrap().1 {
                    'n' => '\n',
                    other => other,
                }),
                (at, '"') => break at,
                (_, other) => value.push(other),
            }
        };
        assert!(labels.insert(name.to_owned(), value).is_none(), "{text}");
        rest = &after[end + 1..];
        match rest.split_at(1) {
            (",", more) => rest = more,
            ("}", more) => return (labels, more),
            _ => panic!("{text}"),
        }
    }
}

/// Reads a text of the format 0.0.4; every series once, each under its metric.
fn parse(text: &str) -> BTreeMap<String, Family> {
    let mut families: BTreeMap<String, Family> = BTreeMap::new();
    let mut seen = BTreeSet::new();
    let mut current = String::new();
    assert!(text.ends_with('\n'));
    for line in text.lines() {
        if let Some(help) = line.strip_prefix("# HELP ") {
            let (name, help) = help.split_once(' ').unwrap();
            name.clone_into(&mut current);
            let family = Family { help: help.to_owned(), ..Family::default() };
            assert!(families.insert(current.clone(), family).is_none(), "{name} twice");
        } else if let Some(kind) = line.strip_prefix("# TYPE ") {
            let (name, kind) = kind.split_once(' ').unwrap();
            assert_eq!(name, current);
            kind.clone_into(&mut families.get_mut(name).unwrap().kind);
        } else {
            let end = line.find(['{', ' ']).unwrap();
            let (name, rest) = line.split_at(end);
            let (labels, value) = rest.strip_prefix('{').map_or((BTreeMap::new(), rest), labels);
            let family = families.get_mut(&current).unwrap();
            let suffix = name.strip_prefix(current.as_str()).unwrap();
            let allowed: &[&str] =
                if family.kind == "histogram" { &["_bucket", "_sum", "_count"] } else { &[""] };
            assert!(allowed.contains(&suffix), "{line}");
            assert!(seen.insert((name.to_owned(), labels.clone())), "{line} twice");
            family.series.push((labels, value.trim().parse().unwrap()));
        }
    }
    families
}

fn series(text: &str) -> usize {
    text.lines().filter(|line| !line.starts_with('#')).count()
}

fn dispatcher(seats: i64) -> (Dispatcher, ManualClock) {
    let clock = ManualClock::default();
    let dispatcher = Dispatcher::builder().seats(seats).clock(Clock::Manual(clock.clone())).build().unwrap();
    (dispatcher, clock)
}

/// Requests of every kind by this user: served, watched, queued, timed out, refused.
fn trouble(dispatcher: &Dispatcher, clock: &ManualClock, user: &str, namespace: &str) {
    let second = 1_000_000_000;
    let of = |verb| {
        RequestAttributes::resource(verb, "configmaps")
            .in_namespace(namespace)
            .by(user, &["system:serviceaccounts", "system:authenticated"][..])
    };
    let work = WorkEstimate { initial_seats: 3, final_seats: 5, additional_latency: second };
    let admits: Vec<_> =
        (0..400).map(|_| dispatcher.admit(Request::from(of("update")).with_work(work))).collect();
    let watch = dispatcher.try_admit(of("watch"));
    drop(watch);
    clock.set(clock.now() + second);
    dispatcher.run_timers();
    drop(admits);
    let metrics = RequestAttributes::non_resource("get", "/metrics").by(user, &["system:masters"][..]);
    drop(dispatcher.try_admit(metrics).unwrap());
    clock.set(clock.now() + 20 * second);
    dispatcher.run_timers();
}

const SERVER: &str = include_str!("data/kube-apiserver-1.35.0.prom");

#[test]
fn what_a_real_server_exports_too_has_its_type_help_labels_and_buckets() {
    let (dispatcher, clock) = dispatcher(600);
    trouble(&dispatcher, &clock, "system:serviceaccount:dev:bot", "dev");
    let list = RequestAttributes::resource("list", "pods")
        .by("system:serviceaccount:dev:bot", &["system:serviceaccounts", "system:authenticated"][..]);
    let _waiting: Vec<_> = (0..400).map(|_| dispatcher.admit(list)).collect();
    let (ours, server) = (parse(&prometheus(&dispatcher)), parse(SERVER));
    let mut compared = 0;
    for (name, ours) in &ours {
        let Some(server) = server.get(name) else { continue };
        compared += 1;
        assert_eq!((&ours.help, &ours.kind), (&server.help, &server.kind), "{name}");
        assert_eq!(ours.label_names(), server.label_names(), "{name}");
        assert_eq!(ours.bounds(), server.bounds(), "{name}");
    }
    assert_eq!(compared, 27);
}

#[test]
fn the_default_limits_are_those_of_a_real_server_with_as_many_seats() {
    let ours = prometheus(&dispatcher(600).0);
    for name in ["nominal_limit_seats", "lower_limit_seats", "upper_limit_seats"] {
        let lines = |text: &str| -> Vec<String> {
            let start = format!("apiserver_flowcontrol_{name}{{");
            text.lines().filter(|line| line.starts_with(&start)).map(str::to_owned).collect()
        };
        assert_eq!(lines(&ours), lines(SERVER), "{name}");
        assert_eq!(lines(&ours).len(), 8);
    }
}

/// Kubernetes issue 108272: too many series.
#[test]
fn the_default_configuration_has_so_many_series_and_no_more_whatever_users_send() {
    let (dispatcher, clock) = dispatcher(600);
    // Ten gauges and four histograms over time of each of eight levels, and the fair fraction.
    assert_eq!(series(&prometheus(&dispatcher)), 8 * (10 + 13 + 13 + 16 + 15) + 1);
    trouble(&dispatcher, &clock, "system:serviceaccount:dev:bot", "dev");
    let after_one = series(&prometheus(&dispatcher));
    assert!(after_one > 537);
    for user in 0..50 {
        let name = format!("system:serviceaccount:n{user}:\"}} evil\n{user}");
        trouble(&dispatcher, &clock, &name, &format!("n{user}\\"));
    }
    let text = prometheus(&dispatcher);
    assert_eq!(series(&text), after_one);
    assert!(!text.contains("evil"), "{text}");
    let of = |schema: &str| {
        text.lines().filter(|line| line.contains(&format!("flow_schema=\"{schema}\""))).count()
    };
    for schema in bootstrap::all().flow_schemas {
        assert!(of(&schema.metadata.name) <= 95, "{}", schema.metadata.name);
    }
}

/// Kubernetes issue 120032: NaN in the gauges of demand.
#[test]
fn every_value_is_a_number_at_every_moment() {
    for seats in [1, 600, i64::from(i32::MAX)] {
        let (dispatcher, clock) = dispatcher(seats);
        let check = || {
            for (name, family) in parse(&prometheus(&dispatcher)) {
                assert!(family.series.iter().all(|(_, value)| value.is_finite()), "{name}");
                assert!(family.series.iter().all(|(_, value)| *value >= 0.0), "{name}");
            }
        };
        check();
        dispatcher.reconfigure(bootstrap::all()).unwrap();
        check();
        trouble(&dispatcher, &clock, "system:serviceaccount:dev:bot", "dev");
        check();
        clock.set(u64::MAX / 4);
        dispatcher.run_timers();
        check();
    }
}

#[test]
fn names_of_the_configuration_are_escaped() {
    let mut objects = bootstrap::all();
    let odd = "o\\d\"d\n}";
    for schema in &mut objects.flow_schemas {
        if schema.metadata.name == "service-accounts" {
            schema.metadata.name = odd.to_owned();
        }
    }
    let clock = ManualClock::default();
    let dispatcher =
        Dispatcher::builder().objects(objects).clock(Clock::Manual(clock.clone())).build().unwrap();
    trouble(&dispatcher, &clock, "system:serviceaccount:dev:bot", "dev");
    let text = prometheus(&dispatcher);
    assert!(
        text.contains(
            r#"dispatched_requests_total{flow_schema="o\\d\"d\n}",priority_level="workload-low"} "#
        ),
        "{text}"
    );
    let families = parse(&text);
    let dispatched = &families["apiserver_flowcontrol_dispatched_requests_total"];
    assert!(dispatched.series.iter().any(|(labels, _)| labels["flow_schema"] == odd));
}

/// The exact mode counts both as the reference: `tests/reference.rs`.
#[test]
fn who_leaves_is_told_from_whose_time_is_up_and_neither_counts_as_executed() {
    let (dispatcher, clock) = dispatcher(600);
    let list = RequestAttributes::resource("list", "pods")
        .by("system:serviceaccount:dev:bot", &["system:serviceaccounts", "system:authenticated"][..]);
    let mut permits = Vec::new();
    while let Ok(permit) = dispatcher.try_admit(list) {
        permits.push(permit);
    }
    let second = 1_000_000_000;
    // Before the limits are adjusted.
    let waits = Request::from(list).with_wait_limit(std::time::Duration::from_secs(4));
    let mut too_long = Box::pin(dispatcher.admit(waits));
    drop(dispatcher.admit(list));
    clock.set(4 * second);
    dispatcher.run_timers();
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(too_long.as_mut().poll(&mut context).is_ready());
    let text = prometheus(&dispatcher);
    let of = r#"flow_schema="service-accounts",priority_level="workload-low""#;
    let refused = permits.len() + 2;
    for line in [
        format!("rejected_requests_total{{{of},reason=\"cancelled\"}} 1"),
        format!("rejected_requests_total{{{of},reason=\"concurrency-limit\"}} 1"),
        format!("rejected_requests_total{{{of},reason=\"time-out\"}} 1"),
        format!("request_wait_duration_seconds_bucket{{execute=\"false\",{of},le=\"0\"}} 2"),
        format!("request_wait_duration_seconds_sum{{execute=\"false\",{of}}} 4"),
        format!("request_wait_duration_seconds_count{{execute=\"false\",{of}}} 3"),
        format!("request_wait_duration_seconds_count{{execute=\"true\",{of}}} {}", permits.len()),
        format!("current_inqueue_requests{{{of}}} 0"),
        format!("work_estimated_seats_count{{{of}}} {}", refused + 1),
    ] {
        assert!(text.contains(&format!("apiserver_flowcontrol_{line}\n")), "{line}\n{text}");
    }
}

#[test]
fn the_bounds_of_virtual_starts_are_those_of_the_queues_that_hold_requests() {
    let (dispatcher, clock) = dispatcher(600);
    let mut kept = Vec::new();
    for user in ["a", "b", "c"] {
        let list = RequestAttributes::resource("list", "pods")
            .in_namespace(user)
            .by(user, &["system:serviceaccounts", "system:authenticated"][..]);
        kept.extend((0..40).map(|_| dispatcher.admit(list)));
        clock.set(clock.now() + 700_000_000);
    }
    let (mut starts, mut discounted) = (Vec::new(), Vec::new());
    for row in dump(&dispatcher, Table::Queues).lines().skip(1) {
        let cells: Vec<&str> = row.split(',').map(str::trim).collect();
        if cells[0] == "workload-low" && cells[2] != "0" {
            let start: f64 = cells[5].strip_suffix("ss").unwrap().parse().unwrap();
            starts.push(start);
            discounted.push(start - 0.003 * cells[4].parse::<f64>().unwrap());
        }
    }
    assert!(starts.len() > 2);
    let text = prometheus(&dispatcher);
    let families = parse(&text);
    for (name, values) in [("next_s_bounds", starts), ("next_discounted_s_bounds", discounted)] {
        let family = &families[&format!("apiserver_flowcontrol_{name}")];
        for (bound, expected) in [
            ("min", values.iter().copied().fold(f64::MAX, f64::min)),
            ("max", values.iter().copied().fold(f64::MIN, f64::max)),
        ] {
            let of = |labels: &BTreeMap<String, String>| {
                labels["bound"] == bound && labels["priority_level"] == "workload-low"
            };
            let (_, value) = family.series.iter().find(|(labels, _)| of(labels)).unwrap();
            assert!((value - expected).abs() < 1e-9, "{name} {bound}: {value}, not {expected}");
        }
    }
}

#[test]
fn two_readings_of_the_same_moment_are_the_same_text() {
    let (dispatcher, clock) = dispatcher(600);
    trouble(&dispatcher, &clock, "system:serviceaccount:dev:bot", "dev");
    assert_eq!(prometheus(&dispatcher), prometheus(&dispatcher));
    assert_eq!(dump(&dispatcher, Table::Queues), dump(&dispatcher, Table::Queues));
}
