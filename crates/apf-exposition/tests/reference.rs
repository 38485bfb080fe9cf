//! What is printed is what `k8s.io/apiserver` prints: it has been through the same cases, and what its dumps and metrics
//! showed is kept beside them (`conformance/server/README.md` says how; the Go tests there hold the texts to it).

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, SystemTime};

use apf::clock::{Clock, ManualClock};
use apf::config::attributes::{Groups, RequestAttributes, Resource, Target};
use apf::config::{Objects, Strictness, load_str};
use apf::{Dispatcher, Mode, OwnedAdmit, OwnedPermit, Request, WorkEstimate};
use apf_exposition::{Table, dump_copies, prometheus};
use serde_json::Value;

/// Time 0 of the reference's clock: 2024-01-01T00:00:00Z.
const ORIGIN: Duration = Duration::from_secs(1_704_067_200);

/// What the reference exports and this does not; `docs/metrics.md` says why.
const NOT_EXPORTED: [&str; 1] = ["apiserver_flowcontrol_read_vs_write_current_requests"];

/// A case on our side.
struct Server {
    dispatcher: Dispatcher,
    clock: ManualClock,
    waiting: BTreeMap<u64, Pin<Box<OwnedAdmit>>>,
    running: BTreeMap<u64, OwnedPermit>,
    printed: Vec<(String, String)>,
}

fn objects(step: &Value) -> Objects {
    let documents = [("PriorityLevelConfiguration", "priorityLevels"), ("FlowSchema", "flowSchemas")]
        .into_iter()
        .flat_map(|(kind, list)| step[list].as_array().unwrap().iter().map(move |object| (kind, object)))
        .map(|(kind, object)| {
            let mut object = object.clone();
            object["apiVersion"] = "flowcontrol.apiserver.k8s.io/v1".into();
            object["kind"] = kind.into();
            object.to_string()
        });
    let loaded = load_str("case", &documents.collect::<Vec<_>>().join("\n---\n"), Strictness::Strict);
    assert!(!loaded.has_errors(), "{:?}", loaded.diagnostics);
    loaded.objects
}

impl Server {
    fn new(case: &Value) -> Self {
        let clock = ManualClock::default();
        let dispatcher = Dispatcher::builder()
            .seats(case["serverLimit"].as_i64().unwrap())
            .objects(Objects::default())
            .mode(Mode::Exact)
            .clock(Clock::Manual(clock.clone()))
            .keep_details()
            .build()
            .unwrap();
        let (waiting, running, printed) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
        Self { dispatcher, clock, waiting, running, printed }
    }

    /// Lets everything happen that is due by `time`, each thing at its own time.
    fn advance(&mut self, time: u64) {
        while let Some(due) = self.dispatcher.next_timer().filter(|due| *due <= time) {
            self.clock.set(due);
            self.dispatcher.run_timers();
            self.settle();
        }
        self.clock.set(time);
        self.settle();
    }

    fn settle(&mut self) {
        let mut context = Context::from_waker(Waker::noop());
        let running = &mut self.running;
        self.waiting.retain(|handle, admit| match admit.as_mut().poll(&mut context) {
            Poll::Pending => true,
            Poll::Ready(Ok(permit)) => running.insert(*handle, permit).is_some(),
            Poll::Ready(Err(_)) => false,
        });
    }

    fn take(&mut self, step: &Value) {
        let at = step["at"].as_u64().unwrap();
        self.advance(at);
        let handle = step["handle"].as_u64();
        match step["op"].as_str().unwrap() {
            "replace" => self.dispatcher.reconfigure(objects(step)).unwrap(),
            "start" => self.start(handle.unwrap(), step),
            "finish" => drop(self.running.remove(&handle.unwrap()).unwrap()),
            // One whose time is up is gone by itself.
            "cancel" => drop(self.waiting.remove(&handle.unwrap())),
            "adjust" => {} // it happens by itself
            "dump" => {
                let copies = self.dispatcher.copy_levels();
                for (name, table) in [
                    ("dump_priority_levels", Table::PriorityLevels),
                    ("dump_queues", Table::Queues),
                    ("dump_requests", Table::Requests { details: false }),
                    ("dump_requests?includeRequestDetails=1", Table::Requests { details: true }),
                ] {
                    let text = dump_copies(&copies, table, SystemTime::UNIX_EPOCH + ORIGIN);
                    self.printed.push((format!("{at} {name}"), text));
                }
            }
            "metrics" => self.printed.push((format!("{at} metrics"), prometheus(&self.dispatcher))),
            other => panic!("{other}"),
        }
        self.settle();
    }

    fn start(&mut self, handle: u64, step: &Value) {
        let (request, work) = (&step["request"], &step["work"]);
        let text = |field: &str| request[field].as_str().unwrap_or_default();
        let groups: Vec<&str> =
            request["groups"].as_array().unwrap().iter().map(|group| group.as_str().unwrap()).collect();
        let target = if request["isResource"].as_bool().unwrap() {
            Target::Resource(Resource {
                api_group: text("apiGroup"),
                api_version: text("apiVersion"),
                resource: text("resource"),
                subresource: text("subresource"),
                namespace: text("namespace"),
                name: text("name"),
            })
        } else {
            Target::NonResource { path: text("path") }
        };
        let attributes = RequestAttributes {
            user: text("user"),
            groups: Groups::Borrowed(&groups),
            verb: text("verb"),
            target,
        };
        let number = |field: &str| work[field].as_u64().unwrap();
        let work = WorkEstimate {
            initial_seats: number("initialSeats"),
            final_seats: number("finalSeats"),
            additional_latency: number("additionalLatency"),
        };
        let admit = self.dispatcher.admit_owned(Request::from(attributes).with_work(work));
        self.waiting.insert(handle, Box::pin(admit));
    }
}

/// The sections of a text that the reference has printed: what each is, and its text.
fn sections(text: &str) -> Vec<(String, String)> {
    text.split("--- ")
        .skip(1)
        .map(|section| {
            let (title, text) = section.split_once('\n').unwrap();
            (title.to_owned(), text.to_owned())
        })
        .collect()
}

/// The lines of a metrics text by metric: `HELP`, `TYPE` and the series.
fn families(text: &str) -> BTreeMap<&str, Vec<&str>> {
    let mut families: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut name = "";
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            name = rest.split(' ').next().unwrap();
        }
        families.entry(name).or_default().push(line);
    }
    families
}

/// Holds a metrics text to the reference's.
fn compare_metrics(at: &str, ours: &str, reference: &str) {
    let (ours, reference) = (families(ours), families(reference));
    for (name, ours) in &ours {
        let reference = reference.get(name).unwrap_or_else(|| panic!("{at}: the reference has no {name}"));
        let (ours, reference) = match name.strip_prefix("apiserver_flowcontrol_").unwrap() {
            // The schema of the request in turn is not known: the sum is compared.
            "request_dispatch_no_accommodation_total" => (summed(ours), summed(reference)),
            // They stand for the present, not for the last dispatch.
            "next_s_bounds" | "next_discounted_s_bounds" => (shape(ours), shape(reference)),
            // No time passes for the reference's there; `apf-core` has the vector of its arithmetic.
            "demand_seats" | "priority_level_request_utilization" | "priority_level_seat_utilization" => {
                (without_values(ours), without_values(reference))
            }
            // The reference shows another level's; the case's text has a 0 instead.
            "target_seats" => (without_exempt(ours), without_exempt(reference)),
            _ => (rounded(ours), rounded(reference)),
        };
        assert_eq!(ours, reference, "{at}: {name}");
    }
}

/// Sums of durations to 12 digits: the reference adds floats up, this nanoseconds.
fn rounded(lines: &[&str]) -> String {
    let line = |line: &&str| match line.rsplit_once(' ') {
        Some((series, sum)) if series.contains("_seconds_sum{") => {
            format!("{series} {:.11e}\n", sum.parse::<f64>().unwrap())
        }
        _ => format!("{line}\n"),
    };
    lines.iter().map(line).collect()
}

fn summed(lines: &[&str]) -> String {
    let sum: f64 =
        lines[2..].iter().map(|line| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap()).sum();
    format!("{}\n{}\n{sum}", lines[0], lines[1])
}

fn shape(lines: &[&str]) -> String {
    let label = |line: &str| line.split('{').nth(1).unwrap().split("=").next().unwrap().to_owned();
    let labels: BTreeSet<String> = lines[2..].iter().map(|line| label(line)).collect();
    format!("{}\n{}\n{labels:?}", lines[0], lines[1])
}

fn without_values(lines: &[&str]) -> String {
    let series = |line: &&str| match line.strip_prefix('#') {
        Some(_) => format!("{line}\n"),
        None => format!("{}\n", line.rsplit_once(' ').unwrap().0),
    };
    lines.iter().map(series).collect()
}

fn without_exempt(lines: &[&str]) -> String {
    let kept: Vec<&str> = lines.iter().copied().filter(|line| !line.contains("\"exempt\"")).collect();
    kept.join("\n")
}

/// Returns the names of the metrics that only the reference has, at any time.
fn compare(case: &str, reference: &str) -> BTreeSet<String> {
    let case: Value = serde_json::from_str(case).unwrap();
    let mut server = Server::new(&case);
    for step in case["steps"].as_array().unwrap() {
        server.take(step);
    }
    let reference = sections(reference);
    assert!(!reference.is_empty());
    assert_eq!(server.printed.len(), reference.len());
    let names = |printed: &[(String, String)]| -> BTreeSet<String> {
        let metrics = printed.iter().filter(|(title, _)| title.ends_with(" metrics"));
        metrics
            .flat_map(|(_, text)| families(text).into_keys().map(str::to_owned).collect::<Vec<_>>())
            .collect()
    };
    for ((title, ours), (reference_title, theirs)) in server.printed.iter().zip(&reference) {
        assert_eq!(title, reference_title);
        if title.ends_with(" metrics") {
            compare_metrics(title, ours, theirs);
        } else {
            assert_eq!(ours, theirs, "{title}");
        }
    }
    names(&reference).difference(&names(&server.printed)).cloned().collect()
}

#[test]
fn everything_is_printed_as_the_reference_prints_it() {
    let only_reference = compare(
        include_str!("../../../conformance/server/exposition/everything.json"),
        include_str!("../../../conformance/server/exposition/everything.txt"),
    );
    assert_eq!(only_reference.iter().map(String::as_str).collect::<Vec<_>>(), NOT_EXPORTED);
}

#[test]
fn the_documentation_names_every_metric() {
    let page = include_str!("../../../docs/metrics.md");
    let (exported, not_exported) = page.split_once("## Metrics that are not").unwrap();
    let reference = sections(include_str!("../../../conformance/server/exposition/everything.txt"));
    for (_, text) in reference.iter().filter(|(title, _)| title.ends_with(" metrics")) {
        for name in families(text).keys() {
            let place = if NOT_EXPORTED.contains(name) { not_exported } else { exported };
            let name = name.strip_prefix("apiserver_flowcontrol_").unwrap();
            assert!(place.contains(&format!("`{name}`")), "{name}");
        }
    }
}

#[test]
fn a_level_that_goes_and_comes_back_goes_on_counting() {
    compare(
        include_str!("../../../conformance/server/exposition/gone-and-back.json"),
        include_str!("../../../conformance/server/exposition/gone-and-back.txt"),
    );
}
