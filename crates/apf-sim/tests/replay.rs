//! Published audit logs replay, and what comes out is what the configuration makes of them.

#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "tests")]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use apf_config::bootstrap;
use apf_config::objects::Objects;
use apf_core::Mode;
use apf_sim::audit::{self, Input, Log};
use apf_sim::configuration::{BuiltIn, Configuration};
use apf_sim::replay::{self, DurationModel, Options, ReplayReport};
use apf_sim::report::{Report, Traffic};

fn data(file: &str) -> Input {
    Input::from_arg(&format!("{}/tests/data/{file}", env!("CARGO_MANIFEST_DIR")))
}

/// A log that may not be redistributed: beside the repository, or not there.
fn beside(file: &str) -> Option<Input> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/audit").join(file);
    if path.exists() {
        return Some(Input::from_arg(path.to_str().unwrap()));
    }
    eprintln!("skipped: {file} is not in ../shared/data/audit beside the repository");
    None
}

fn read(inputs: &[Input]) -> Log {
    audit::read(inputs, &mut |_| {}).unwrap()
}

/// Read once: it is the largest.
fn perfspec() -> &'static Log {
    static LOG: OnceLock<Log> = OnceLock::new();
    LOG.get_or_init(|| read(&[data("perfspec-arrivals-a.jsonl.gz")]))
}

fn replay(log: &Log, own: &Objects, seats: u32, mode: Mode) -> ReplayReport {
    let configuration = Configuration::from_objects(BuiltIn::Suggested, own);
    replay::run(log, &configuration, &Options::new(seats, mode), &mut |_| {}).unwrap()
}

fn sum(report: &Report, of: fn(&Traffic) -> u64) -> u64 {
    report.levels.iter().map(|level| of(&level.traffic)).sum()
}

/// Every request is accounted for, at every granularity.
fn assert_adds_up(report: &ReplayReport) {
    let Report { levels, schemas, clients, .. } = &report.report;
    for traffic in levels
        .iter()
        .map(|row| &row.traffic)
        .chain(schemas.iter().map(|row| &row.traffic))
        .chain(clients.iter().map(|row| &row.traffic))
    {
        let at_arrival = traffic.rejected_queue_full + traffic.rejected_concurrency_limit;
        assert_eq!(traffic.requests, traffic.admitted_at_once + traffic.queued + at_arrival, "{traffic:?}");
        assert_eq!(traffic.unfinished, 0);
    }
    let replayed = report.replayed;
    let of_schemas: u64 = schemas.iter().map(|row| row.traffic.requests).sum();
    let of_clients: u64 = clients.iter().map(|row| row.traffic.requests).sum();
    assert_eq!(sum(&report.report, |traffic| traffic.requests), replayed.requests);
    assert_eq!((of_schemas, of_clients), (replayed.requests, replayed.requests));
    let not_sent = replayed.long_running + replayed.unauthenticated + replayed.unclassifiable;
    assert_eq!(replayed.requests + not_sent, report.counts.requests);
}

#[test]
fn a_bursty_log_fits_600_seats_and_queues_at_20() {
    let log = perfspec();
    assert_eq!((log.counts.lines, log.counts.requests), (9836, 9757));
    assert_eq!((log.counts.out_of_order, log.counts.merged, log.counts.skipped()), (1945, 79, 0));
    assert!(log.requests.is_sorted_by_key(|request| request.received));
    for mode in [Mode::Exact, Mode::Default] {
        let plenty = replay(log, &Objects::default(), 600, mode);
        assert_adds_up(&plenty);
        assert_eq!(sum(&plenty.report, |traffic| traffic.queued), 0);
        assert_eq!(plenty.replayed.watches, 370);
        assert_eq!(plenty.replayed.durations_from_model, 9757, "the log has no durations");
        assert!(plenty.report.notes.iter().any(|note| note.contains("get 1.6ms, list 1.9ms")));

        let scarce = replay(log, &Objects::default(), 20, mode);
        assert_adds_up(&scarce);
        assert!(sum(&scarce.report, |traffic| traffic.queued) > 500);
        assert_eq!(sum(&scarce.report, Traffic::rejected), 0);
        let exempt = scarce.report.levels.iter().find(|row| row.level == "exempt").unwrap();
        // 54 % kubernetes-admin, 4.5 % the API server itself, and the anonymous probes.
        assert_eq!((exempt.traffic.requests, exempt.traffic.queued), (5872, 0));
        let of_exempt: u64 = ["exempt", "probes"]
            .iter()
            .map(|name| {
                scarce.report.schemas.iter().find(|row| row.schema == *name).unwrap().traffic.requests
            })
            .sum();
        assert_eq!(of_exempt, 5872);
    }
}

#[test]
fn queues_of_one_request_reject_what_they_cannot_hold() {
    let mut objects = bootstrap::all();
    for level in &mut objects.priority_levels {
        if let Some(queuing) =
            level.spec.limited.as_mut().and_then(|limited| limited.limit_response.queuing.as_mut())
        {
            queuing.queue_length_limit = 1;
        }
    }
    let log = perfspec();
    let report = replay(log, &objects, 20, Mode::Exact);
    assert_adds_up(&report);
    let rejected = sum(&report.report, |traffic| traffic.rejected_queue_full);
    assert!(rejected >= 100, "{rejected}");
    assert_eq!(sum(&report.report, Traffic::rejected), rejected, "for no other reason");

    let before = replay(log, &Objects::default(), 20, Mode::Exact);
    let comparison = replay::compare(&before, &report);
    assert!(!comparison.is_same());
    let moved: i64 = comparison.levels.iter().map(|difference| difference.rejected).sum();
    assert_eq!(moved, rejected as i64);
    assert!(replay::compare(&before, &before).is_same());
}

#[test]
fn a_comparison_names_what_only_one_configuration_has() {
    let mut own = Objects::default();
    let mut level = bootstrap::suggested().priority_levels.remove(0);
    level.metadata.name = "another".into();
    own.priority_levels.push(level);
    let log = perfspec();
    let before = replay(log, &Objects::default(), 600, Mode::Exact);
    let after = replay(log, &own, 600, Mode::Exact);
    let comparison = replay::compare(&before, &after);
    let another = comparison.levels.iter().find(|difference| difference.name == "another").unwrap();
    assert!(another.before.is_none() && another.after.is_some());
    assert!(comparison.schemas.iter().all(|difference| difference.is_same()), "the limits are still plenty");
}

#[test]
fn a_log_replays_to_the_same_bytes_every_time() {
    let log = perfspec();
    let report = || serde_json::to_string(&replay(log, &Objects::default(), 20, Mode::Exact)).unwrap();
    assert_eq!(report(), report());
}

#[test]
fn old_events_impersonation_and_whole_seconds_are_counted() {
    let log = read(&[data("audit2rbac-demo-a.jsonl")]);
    let counts = &log.counts;
    assert_eq!((counts.events, counts.requests, counts.merged), (380, 223, 157));
    assert_eq!((counts.old_versions, counts.old_timestamps, counts.whole_seconds), (380, 380, 380));
    assert_eq!(counts.impersonated, 4);
    let report = replay(&log, &Objects::default(), 600, Mode::Exact);
    assert_adds_up(&report);
    let bob = report.report.clients.iter().find(|row| row.client == "bob").unwrap();
    assert_eq!(bob.traffic.requests, 4, "the impersonated user, not the admin");
    let global = report.report.schemas.iter().find(|row| row.schema == "global-default").unwrap();
    assert_eq!(global.traffic.requests, 4);
}

#[test]
fn events_without_version_and_junk_are_counted_and_attach_is_never_queued() {
    let log = read(&[data("falco-k8saudit-events-a.jsonl")]);
    let counts = &log.counts;
    assert_eq!(
        (counts.requests, counts.no_api_version, counts.old_versions, counts.not_an_event),
        (25, 17, 4, 1)
    );
    assert!(
        counts.examples[0].contains("falco-k8saudit-events-a.jsonl:26: not an audit event"),
        "{counts:?}"
    );
    let report = replay(&log, &Objects::default(), 600, Mode::Exact);
    assert_adds_up(&report);
    assert_eq!((report.replayed.long_running, report.replayed.durations_from_log), (1, 24));
    // A span of one and a half years, idle for most of it.
    assert!(report.report.duration_s > 4e7);
}

#[test]
fn logs_of_several_clusters_and_wrapped_records_replay() {
    if let Some(mixed) = beside("mixed-real-events-a.jsonl") {
        let log = read(&[mixed]);
        assert_eq!((log.counts.requests, log.counts.merged, log.counts.never_completed), (7, 1, 1));
        let report = replay(&log, &Objects::default(), 600, Mode::Exact);
        assert_adds_up(&report);
        assert_eq!(report.replayed.long_running, 1, "the exec");
    }
    if let Some(wrapped) = beside("wrapped-events-a.jsonl") {
        let log = read(&[wrapped]);
        assert_eq!((log.counts.wrapped, log.counts.cloud_logging, log.counts.requests), (1, 1, 1));
        let report = replay(&log, &Objects::default(), 600, Mode::Exact);
        assert_adds_up(&report);
        assert_eq!(report.report.clients[0].client, "aksService");
    }
}

#[test]
fn several_logs_are_merged_by_time() {
    let log = read(&[data("falco-k8saudit-events-a.jsonl"), data("audit2rbac-demo-a.jsonl")]);
    assert_eq!(log.counts.requests, 25 + 223);
    assert!(log.requests.is_sorted_by_key(|request| request.received));
    let twice = read(&[data("falco-k8saudit-events-a.jsonl"), data("falco-k8saudit-events-a.jsonl")]);
    assert_eq!((twice.counts.requests, twice.counts.duplicates), (25, 25));
}

#[test]
fn lists_take_the_width_they_are_given_up_to_the_bound_of_their_level() {
    let log = perfspec();
    let configuration = Configuration::built_in(BuiltIn::Suggested);
    let with = |list_seats| {
        let options = Options { list_seats, ..Options::new(600, Mode::Exact) };
        replay::run(log, &configuration, &options, &mut |_| {})
    };
    let (narrow, wide) = (with(1).unwrap(), with(1_000).unwrap());
    let of = |report: &ReplayReport, level: &str| {
        report.report.levels.iter().find(|row| row.level == level).unwrap().traffic.clone()
    };
    let used = |report: &ReplayReport| of(report, "workload-high").seats_avg;
    assert!(used(&wide) > 2.0 * used(&narrow));
    let at_bound = with(15).unwrap();
    assert!((used(&wide) - used(&at_bound)).abs() < 1e-9, "its bound at 600 seats is 15");
    assert!(of(&wide, "exempt").seats_max >= 1_000, "an exempt level has no bound");
    let refused = with(0).unwrap_err().to_string();
    assert!(refused.contains("list seats must be from 1"), "{refused}");
}

#[test]
fn slower_requests_queue_where_fast_ones_do_not() {
    let log = perfspec();
    let configuration = Configuration::built_in(BuiltIn::Suggested);
    let durations = DurationModel::parse("get=200ms").unwrap();
    let options = Options { durations, ..Options::new(600, Mode::Exact) };
    let report = replay::run(log, &configuration, &options, &mut |_| {}).unwrap();
    assert!(sum(&report.report, |traffic| traffic.queued) > 0);
    assert!(report.report.notes.iter().any(|note| note.contains("get 200ms")));
}

fn scratch(name: &str, content: &[u8]) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::File::create(&path).unwrap().write_all(content).unwrap();
    path
}

fn refusal(path: &Path) -> String {
    audit::read(&[Input::from_arg(path.to_str().unwrap())], &mut |_| {}).unwrap_err().to_string()
}

#[test]
fn a_log_that_cannot_be_replayed_is_refused_by_name_and_line() {
    let empty = scratch("empty.jsonl", b"");
    assert!(refusal(&empty).contains("empty.jsonl:1: the log is empty"), "{}", refusal(&empty));
    let junk = scratch("junk.jsonl", b"hello\n{\"kind\": 0}\n");
    let message = refusal(&junk);
    assert!(
        message.contains("2 lines, none usable") && message.contains("junk.jsonl:1: not JSON"),
        "{message}"
    );
    let whole =
        std::fs::read(format!("{}/tests/data/perfspec-arrivals-a.jsonl.gz", env!("CARGO_MANIFEST_DIR")));
    let whole = whole.unwrap();
    let cut = scratch("cut.jsonl.gz", &whole[..whole.len() / 2]);
    let message = refusal(&cut);
    let line: u64 =
        message.rsplit("cut.jsonl.gz:").next().unwrap().split(':').next().unwrap().parse().unwrap();
    assert!(line > 1_000 && message.contains("truncated"), "{message}");
    assert!(refusal(Path::new("/nonexistent.jsonl")).contains("cannot be opened"));
    assert!(refusal(Path::new(env!("CARGO_MANIFEST_DIR"))).contains("is a folder"));
}

#[test]
fn a_server_without_seats_is_refused() {
    let log = read(&[data("falco-k8saudit-events-a.jsonl")]);
    let configuration = Configuration::built_in(BuiltIn::Suggested);
    let refused = replay::run(&log, &configuration, &Options::new(0, Mode::Exact), &mut |_| {});
    assert!(refused.unwrap_err().to_string().contains("must be from 1 to"));
}

#[test]
fn requests_that_never_reached_the_queues_are_counted_and_not_sent() {
    let event = |id: &str, user: &str, code: u16, uri: &str| {
        format!(
            "{{\"kind\":\"Event\",\"apiVersion\":\"audit.k8s.io/v1\",\"auditID\":\"{id}\",\"stage\":\"ResponseComplete\",\
             \"requestURI\":\"{uri}\",\"verb\":\"get\",\"user\":{{{user}}},\"responseStatus\":{{\"code\":{code}}},\
             \"requestReceivedTimestamp\":\"2024-01-01T00:00:00Z\",\"stageTimestamp\":\"2024-01-01T00:00:01Z\"}}\n"
        )
    };
    let alice = "\"username\":\"alice\",\"groups\":[\"system:authenticated\"]";
    let lines = [
        event("1", "", 401, "/api/v1/pods"),
        event("2", alice, 401, "/api/v1/pods"),
        event("3", alice, 200, "not a path"),
        event("4", alice, 429, "/api/v1/pods"),
    ];
    let path = scratch("outside.jsonl", lines.concat().as_bytes());
    let report =
        replay(&read(&[Input::from_arg(path.to_str().unwrap())]), &Objects::default(), 600, Mode::Exact);
    assert_adds_up(&report);
    let replayed = report.replayed;
    assert_eq!((replayed.unauthenticated, replayed.unclassifiable, replayed.requests), (1, 1, 2));
    assert_eq!((replayed.refused_in_log, replayed.durations_from_log), (1, 1));
}
