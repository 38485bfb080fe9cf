//! A host that drives the clock gets, request by request, what `apf-sim` gets.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use apf::config::request_info::RequestInfo;
use apf::{Mode, WorkEstimate};
use apf_ffi::*;
use apf_sim::configuration::{BuiltIn, Configuration};
use apf_sim::random::Random;
use apf_sim::recording::{Fate, NEVER, Recording};
use apf_sim::trace::{self, Arrival, Kind};
use common::{Host, OPTIONS, REQUEST, name, text};

const SEATS: u32 = 40;
const WAIT_LIMIT: u64 = 700_000_000;

fn kinds() -> Vec<Kind> {
    let kind = |client: &str, user: &str, group: &str, method, url, work| Kind {
        client: client.to_owned(),
        user: user.to_owned(),
        groups: vec![group.to_owned(), "system:authenticated".to_owned()],
        request: RequestInfo::new(method, url).unwrap(),
        work,
        wait_limit: None,
    };
    let writes = WorkEstimate { initial_seats: 1, final_seats: 3, additional_latency: 7_000_003 };
    vec![
        kind("noisy", "noisy", "dev", "GET", "/api/v1/namespaces/dev/pods", WorkEstimate::seats(1)),
        kind("wide", "wide", "dev", "GET", "/api/v1/pods?limit=500", WorkEstimate::seats(4)),
        kind("writer", "writer", "dev", "POST", "/api/v1/namespaces/prod/pods", writes),
        Kind {
            wait_limit: Some(50_000_017),
            ..kind("hasty", "hasty", "dev", "GET", "/apis/apps/v1/deployments", WorkEstimate::seats(2))
        },
        kind(
            "node",
            "system:node:a",
            "system:nodes",
            "PATCH",
            "/api/v1/nodes/a/status",
            WorkEstimate::seats(1),
        ),
        kind("probe", "probe", "dev", "GET", "/healthz", WorkEstimate::seats(1)),
        kind(
            "scheduler",
            "system:kube-scheduler",
            "dev",
            "PUT",
            "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/s",
            WorkEstimate::seats(1),
        ),
    ]
}

/// Arrivals for about 25 s, so that limits are adjusted twice; no two events fall on one nanosecond.
fn arrivals(kinds: usize) -> Vec<Arrival> {
    let mut random = Random::new(7, 0);
    let mut at = 0;
    (0..6_000)
        .map(|number: u64| {
            // Now and then a burst.
            at += 1 + (random.bits() % (if number % 1_000 < 400 { 2_000_000 } else { 7_000_000 }));
            Arrival {
                at,
                execution: 1 + random.bits() % 90_000_000,
                cancel_after: random.bits().is_multiple_of(6).then(|| 1 + random.bits() % 900_000_000),
                kind: (random.bits() % (kinds as u64 + 3)).saturating_sub(3) as u32,
            }
        })
        .collect()
}

/// What is compared of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Row {
    start: i64,
    end: i64,
    fate: &'static str,
    seats: u32,
    level: String,
    schema: String,
}

fn rows(recording: &Recording) -> Vec<Row> {
    (0..recording.len())
        .map(|at| {
            let fate = Fate::ALL[recording.fate[at] as usize];
            // The recording ends a served request when its last seats come back.
            let end = if fate == Fate::Served { 0 } else { recording.end[at] };
            Row {
                start: recording.start[at],
                end,
                fate: fate.name(),
                seats: if recording.start[at] == NEVER { 0 } else { recording.seats[at] },
                level: recording.levels[recording.level[at] as usize].clone(),
                schema: recording.schemas[recording.schema[at] as usize].clone(),
            }
        })
        .collect()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Arrive(usize),
    Finish(usize),
    Cancel(usize),
}

/// The same requests through the C interface.
struct Driven<'a> {
    host: Host,
    arrivals: &'a [Arrival],
    rows: Vec<Row>,
    tickets: HashMap<usize, apf_ticket>,
    events: BinaryHeap<Reverse<(u64, Event)>>,
    now: u64,
    /// Requests that are not over.
    left: usize,
}

impl Driven<'_> {
    fn decided(&mut self, at: usize, outcome: &apf_outcome) {
        let row = &mut self.rows[at];
        (row.level, row.schema) = (name(outcome.level), name(outcome.flow_schema));
        if outcome.kind == apf_outcome_kind::APF_OUTCOME_ADMITTED as i32 {
            (row.start, row.seats, row.fate, row.end) = (self.now as i64, outcome.seats as u32, "served", 0);
            self.tickets.insert(at, outcome.ticket);
            self.events.push(Reverse((self.now + self.arrivals[at].execution, Event::Finish(at))));
        } else {
            row.end = self.now as i64;
            row.fate = match outcome.reason {
                1 => "queue-full",
                2 => "concurrency-limit",
                3 => "time-out",
                _ => "cancelled",
            };
            self.left -= 1;
        }
    }

    fn take_completions(&mut self) {
        while let Some(completion) = self.host.completion() {
            self.decided(completion.user_data as usize, &completion.outcome);
        }
    }

    fn handle(&mut self, event: Event, request: &apf_request) {
        match event {
            Event::Arrive(at) => {
                let outcome = self.host.submit(request, at as u64);
                if outcome.kind == apf_outcome_kind::APF_OUTCOME_QUEUED as i32 {
                    self.tickets.insert(at, outcome.ticket);
                    if let Some(after) = self.arrivals[at].cancel_after {
                        self.events.push(Reverse((self.now + after, Event::Cancel(at))));
                    }
                } else {
                    self.decided(at, &outcome);
                }
            }
            Event::Finish(at) => {
                self.host.finish(self.tickets[&at]);
                self.left -= 1;
            }
            Event::Cancel(at) if self.rows[at].fate.is_empty() => {
                assert_eq!(self.host.cancel(self.tickets[&at]), apf_status::APF_OK);
                (self.rows[at].end, self.rows[at].fate) = (self.now as i64, "cancelled");
                self.left -= 1;
            }
            Event::Cancel(_) => {}
        }
    }
}

fn through_c(kinds: &[Kind], arrivals: &[Arrival], mode: i32) -> Vec<Row> {
    let options =
        apf_engine_options { seats: SEATS.into(), queue_wait_limit_ns: WAIT_LIMIT, mode, ..OPTIONS };
    let groups: Vec<Vec<apf_str>> =
        kinds.iter().map(|kind| kind.groups.iter().map(|group| text(group)).collect()).collect();
    let requests: Vec<apf_request> = kinds
        .iter()
        .zip(&groups)
        .map(|(of, groups)| apf_request {
            user: text(&of.user),
            groups: groups.as_ptr(),
            group_count: groups.len(),
            verb: text(&of.request.verb),
            path: text(if of.request.is_resource_request { "" } else { &of.request.path }),
            resource: text(&of.request.resource),
            subresource: text(&of.request.subresource),
            api_group: text(&of.request.api_group),
            object_namespace: text(&of.request.namespace),
            object_name: text(&of.request.name),
            initial_seats: of.work.initial_seats,
            final_seats: of.work.final_seats,
            additional_latency_ns: of.work.additional_latency,
            wait_limit_ns: of.wait_limit.unwrap_or(APF_NO_LIMIT),
            ..REQUEST
        })
        .collect();
    let nothing =
        Row { start: NEVER, end: NEVER, fate: "", seats: 0, level: String::new(), schema: String::new() };
    let mut driven = Driven {
        host: Host::new(&options),
        arrivals,
        rows: vec![nothing; arrivals.len()],
        tickets: HashMap::new(),
        events: arrivals.iter().enumerate().map(|(at, a)| Reverse((a.at, Event::Arrive(at)))).collect(),
        now: 0,
        left: arrivals.len(),
    };
    while driven.left > 0 {
        let event = driven.events.peek().map_or(u64::MAX, |event| event.0.0);
        driven.now = driven.host.next_timer().min(event);
        driven.host.set_time(driven.now);
        driven.take_completions();
        while let Some(Reverse((time, event))) = driven.events.peek().copied() {
            if time != driven.now {
                break;
            }
            driven.events.pop();
            let (Event::Arrive(at) | Event::Finish(at) | Event::Cancel(at)) = event;
            driven.handle(event, &requests[arrivals[at].kind as usize]);
            driven.take_completions();
        }
    }
    driven.rows
}

fn compare(mode: Mode, number: i32) {
    let kinds = kinds();
    let arrivals = arrivals(kinds.len());
    let options = trace::Options { wait_limit: WAIT_LIMIT, ..trace::Options::new(SEATS, mode) };
    let configuration = Configuration::built_in(BuiltIn::Suggested);
    let (_, recording) = trace::run(&kinds, &arrivals, &configuration, &options, &mut |_| ()).unwrap();
    let (expected, got) = (rows(&recording), through_c(&kinds, &arrivals, number));
    let mut fates: HashMap<&str, usize> = HashMap::new();
    for (at, (expected, mut got)) in expected.into_iter().zip(got).enumerate() {
        *fates.entry(got.fate).or_default() += 1;
        let cancelled = got.fate == "cancelled";
        if cancelled {
            // Who cancels is told no names; and the exact mode calls it what the reference does.
            (got.level, got.schema) = (expected.level.clone(), expected.schema.clone());
            got.fate = expected.fate;
            assert!(["cancelled", "time-out"].contains(&expected.fate));
        }
        assert_eq!(got, expected, "request {at}: {:?}", arrivals[at]);
    }
    for fate in ["served", "time-out", "cancelled"] {
        assert!(fates.get(fate).is_some_and(|count| *count > 100), "{fates:?}");
    }
}

#[test]
fn a_driven_clock_gives_what_the_simulation_gives() {
    compare(Mode::Default, apf_mode::APF_MODE_DEFAULT as i32);
}

#[test]
fn a_driven_clock_gives_what_the_simulation_gives_in_exact_mode() {
    compare(Mode::Exact, apf_mode::APF_MODE_EXACT as i32);
}
