//! `apf demo`: three deployments list pods through a level of their own, more and more of them and then fewer,
//! while a neighbour in another level notices nothing.

mod live;

use std::path::Path;

use apf_core::{Level, Mode};
use apf_sim::report::{Report, Traffic};
use apf_sim::scenario::{Observer, RunOptions, Scenario, Snapshot};

use crate::args::Demo;
use crate::failure::{Failure, Outcome};
use crate::print::{self, Column, Table, seconds};

const SCENARIO: &str = include_str!("demo/podlister.yaml");
const LEVEL: &str = "restrict-pod-lister";
const NEIGHBOUR: &str = "neighbour";

/// How long each stage lasts, simulated nanoseconds.
const STAGE: u64 = 6_000_000_000;

/// Second of the Unix epoch that time 0 stands for in the dumps: 2020-12-01T00:00:00Z.
const ORIGIN: i64 = 1_606_780_800;

/// What is shown after a stage, besides its line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dumps {
    None,
    Levels,
    LevelsAndQueues,
    All,
}

/// Replicas of each deployment, what that leads to, and what to look at.
const STAGES: [(u32, &str, Dumps); 8] = [
    (1, "a list takes 2 of the level's 12 seats for 1.5 s: three lists at a time need no queue", Dumps::None),
    (
        3,
        "nine at a time want 18 seats: some wait, each in the hand of queues of its service account",
        Dumps::All,
    ),
    (10, "waits reach their limit: rejections for time-out", Dumps::LevelsAndQueues),
    (25, "queues reach queueLengthLimit: rejections for queue-full", Dumps::LevelsAndQueues),
    (10, "scaled down", Dumps::None),
    (3, "the queues shorten", Dumps::None),
    (1, "nobody waits any more", Dumps::None),
    (0, "the level has drained", Dumps::Levels),
];

pub(super) fn run(args: &Demo) -> Result<Outcome, Failure> {
    let Scenario::Server(scenario) =
        Scenario::parse(SCENARIO, "podlister.yaml", Path::new("")).map_err(Failure::refused)?
    else {
        return Err(Failure::refused("podlister.yaml: not a scenario of a server"));
    };
    let mode = if args.exact { Mode::Exact } else { Mode::Default };
    print::result(&opening(args));
    if args.live {
        return live::run(mode, args.details, scenario.objects().clone());
    }
    let mut story = Story { stages: STAGES.iter(), before: Traffic::default(), details: args.details };
    let options = RunOptions { mode: Some(mode), seed: None };
    let report = scenario.run(&options, &mut story, &mut |_| {}).map_err(Failure::refused)?;
    print::result(&closing(&report));
    Ok(Outcome::Good)
}

fn opening(args: &Demo) -> String {
    let mode = if args.exact { "exact" } else { "default" };
    let time = if args.live {
        format!("Real time on {} threads, {mode} mode.", live::THREADS)
    } else {
        format!("Simulated time, {mode} mode: every run prints the same.")
    };
    format!(
        "A server of 600 seats with the built-in configuration and one more level, {LEVEL}: 12 seats, 10 queues,\n\
         handSize 4, queueLengthLimit 5. Pods of podlister-0, podlister-1 and podlister-2 list the pods of namespace demo,\n\
         again 300 ms after each answer and 1 s after a rejection. A request waits 5 s at most. A neighbour in another\n\
         level, service account shop:web, reads ten times a second. {time}\n",
    )
}

fn closing(report: &Report) -> String {
    let mut text = "\nAll in all\n\n".to_owned();
    let mut table = Table::new(&[
        Column::left("LEVEL", ""),
        Column::right("REQUESTS", ""),
        Column::right("AT ONCE", ""),
        Column::right("QUEUED", ""),
        Column::right("WAIT P50", ""),
        Column::right("WAIT P99", ""),
        Column::right("WAIT MAX", ""),
        Column::right("QUEUE-FULL", ""),
        Column::right("TIME-OUT", ""),
        Column::right("SEATS AVG", ""),
        Column::right("SEATS MAX", ""),
    ]);
    for row in report.levels.iter().filter(|row| row.traffic.requests > 0) {
        let traffic = &row.traffic;
        table.row([
            row.level.clone(),
            traffic.requests.to_string(),
            traffic.admitted_at_once.to_string(),
            traffic.queued.to_string(),
            seconds(traffic.wait_p50_s),
            seconds(traffic.wait_p99_s),
            seconds(traffic.wait_max_s),
            traffic.rejected_queue_full.to_string(),
            traffic.rejected_time_out.to_string(),
            print::quantity(traffic.seats_avg),
            traffic.seats_max.to_string(),
        ]);
    }
    text.push_str(&table.aligned());
    text
}

/// Tells each stage when it is over.
struct Story {
    stages: std::slice::Iter<'static, (u32, &'static str, Dumps)>,
    /// Counts of the pod listers up to the stage before.
    before: Traffic,
    details: bool,
}

impl Observer for Story {
    fn period(&self) -> u64 {
        STAGE
    }

    fn observe(&mut self, snapshot: &Snapshot<'_>) {
        let Some(&(replicas, what_happens, dumps)) = self.stages.next() else { return };
        let mut text = format!(
            "\n--- {replicas} replica{} each: {what_happens}\n\n",
            if replicas == 1 { "" } else { "s" }
        );
        text.push_str(&self.line(snapshot, replicas));
        if dumps != Dumps::None {
            text.push_str(&format!("\ndump_priority_levels\n{}", snapshot.dump_priority_levels()));
        }
        if matches!(dumps, Dumps::LevelsAndQueues | Dumps::All) {
            let queues = of_the_level(&snapshot.dump_queues());
            text.push_str(&format!("\ndump_queues, those of {LEVEL}\n{queues}"));
        }
        if dumps == Dumps::All {
            let origin = jiff::Timestamp::from_second(ORIGIN).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
            let requests = snapshot.dump_requests(origin, self.details);
            text.push_str(&format!("\ndump_requests\n{requests}"));
        }
        print::result(&text);
    }
}

impl Story {
    fn line(&mut self, snapshot: &Snapshot<'_>, replicas: u32) -> String {
        let mut so_far = Traffic::default();
        let mut neighbour = Traffic::default();
        for (name, traffic) in snapshot.clients() {
            let sum = if name == NEIGHBOUR { &mut neighbour } else { &mut so_far };
            sum.requests += traffic.requests;
            sum.admitted_at_once += traffic.admitted_at_once;
            sum.queued += traffic.queued;
            sum.rejected_queue_full += traffic.rejected_queue_full;
            sum.rejected_time_out += traffic.rejected_time_out;
        }
        let server = snapshot.server();
        let level = server.level_named(LEVEL).map(|key| server.level(key).level());
        let mut table = Table::new(
            &[
                "TIME",
                "PODS",
                "REQUESTS",
                "AT ONCE",
                "QUEUED",
                "QUEUE-FULL",
                "TIME-OUT",
                "SEATS NOW",
                "WAITING NOW",
                "LONGEST FOR",
                "NEIGHBOUR WAITED",
            ]
            .map(|header| Column::right(header, "")),
        );
        let before = std::mem::replace(&mut self.before, so_far.clone());
        let stage = |count: fn(&Traffic) -> u64| (count(&so_far) - count(&before)).to_string();
        table.row([
            format!("{}s", snapshot.now() / 1_000_000_000),
            (3 * replicas).to_string(),
            stage(|traffic| traffic.requests),
            stage(|traffic| traffic.admitted_at_once),
            stage(|traffic| traffic.queued),
            stage(|traffic| traffic.rejected_queue_full),
            stage(|traffic| traffic.rejected_time_out),
            level.map_or(0, Level::seats_in_use).to_string(),
            level.map_or(0, Level::requests_waiting).to_string(),
            seconds(level.map_or(0, |level| oldest_wait(level, snapshot.now())) as f64 / 1e9),
            format!("{} of {} times", neighbour.queued, neighbour.requests),
        ]);
        table.aligned()
    }
}

/// How long the request that has waited longest waits already, nanoseconds.
fn oldest_wait(level: &Level, now: u64) -> u64 {
    let waiting = level.queues().flat_map(|queue| level.waiting(queue.index).map(|request| request.arrival));
    waiting.min().map_or(0, |arrival| now - arrival)
}

/// The header of a dump, and the rows of the level: all levels together have several hundred queues.
fn of_the_level(dump: &str) -> String {
    let wanted = |at: usize, row: &str| at == 0 || row.starts_with(LEVEL);
    let rows = dump.lines().enumerate().filter(|(at, row)| wanted(*at, row));
    rows.map(|(_, row)| format!("{row}\n")).collect()
}
