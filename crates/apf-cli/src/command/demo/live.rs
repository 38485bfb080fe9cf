//! The story on the real engine: a thread a pod, the real clock, grants by wake-up.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use apf::clock::Clock;
use apf::stats::SchemaStats;
use apf::{Dispatcher, LevelCopy, Mode, Reason, Request, RequestAttributes, WorkEstimate};
use apf_config::Objects;
use apf_config::attributes::Groups;
use apf_exposition::{Table as DumpTable, dump_copies};

use super::{Dumps, LEVEL, STAGE, STAGES, of_the_level, oldest_wait};
use crate::failure::{Failure, Outcome};
use crate::print::{self, Column, Table, seconds};

/// Replicas of each deployment at the most.
const MOST_REPLICAS: u32 = 25;
/// Threads of the three deployments and the neighbour.
pub(super) const THREADS: u32 = 3 * MOST_REPLICAS + 1;

const PODLISTER_GROUPS: [&str; 3] =
    ["system:serviceaccounts", "system:serviceaccounts:demo", "system:authenticated"];
const SHOP_GROUPS: [&str; 3] =
    ["system:serviceaccounts", "system:serviceaccounts:shop", "system:authenticated"];

/// What the pods and the story share.
struct Scene {
    dispatcher: Dispatcher,
    replicas: AtomicU32,
    over: AtomicBool,
    neighbour_asked: AtomicU64,
    neighbour_waited: AtomicU64,
}

pub(super) fn run(mode: Mode, details: bool, objects: Objects) -> Result<Outcome, Failure> {
    let dispatcher = Dispatcher::builder()
        .objects(objects)
        .mode(mode)
        .clock(Clock::monotonic())
        .queue_wait_limit(Duration::from_secs(5))
        .keep_details()
        .build()
        .map_err(Failure::refused)?;
    let scene = Scene {
        dispatcher,
        replicas: AtomicU32::new(0),
        over: AtomicBool::new(false),
        neighbour_asked: AtomicU64::new(0),
        neighbour_waited: AtomicU64::new(0),
    };
    let origin = SystemTime::now();
    thread::scope(|scope| {
        for deployment in 0..3 {
            for replica in 0..MOST_REPLICAS {
                let scene = &scene;
                scope.spawn(move || pod(scene, deployment, replica));
            }
        }
        scope.spawn(|| neighbour(&scene));

        let begun = Instant::now();
        let mut before = counts(&scene);
        for (stage, &(replicas, what_happens, dumps)) in (1..).zip(&STAGES) {
            scene.replicas.store(replicas, Ordering::Relaxed);
            let end = Duration::from_nanos(STAGE) * stage;
            thread::sleep(end.saturating_sub(begun.elapsed()));
            let now = counts(&scene);
            let plural = if replicas == 1 { "" } else { "s" };
            let mut text = format!("\n--- {replicas} replica{plural} each: {what_happens}\n\n");
            let copies = scene.dispatcher.copy_levels();
            text.push_str(&line(&scene, &copies, replicas, end.as_secs(), &before, &now));
            text.push_str(&tables(&copies, dumps, origin, details));
            print::result(&text);
            before = now;
        }
        scene.over.store(true, Ordering::Relaxed);
    });
    print::result(&closing(&counts(&scene)));
    Ok(Outcome::Good)
}

/// Lists pods for as long as its deployment has so many replicas.
fn pod(scene: &Scene, deployment: u32, replica: u32) {
    let user = format!("system:serviceaccount:demo:podlister-{deployment}");
    let list = RequestAttributes::resource("list", "pods")
        .in_namespace("demo")
        .by(&user, Groups::Borrowed(&PODLISTER_GROUPS));
    let mut spread = u64::from(deployment * MOST_REPLICAS + replica);
    while !scene.over.load(Ordering::Relaxed) {
        if replica >= scene.replicas.load(Ordering::Relaxed) {
            thread::sleep(Duration::from_millis(10));
            continue;
        }
        match scene.dispatcher.admit_blocking(Request::from(list).with_work(WorkEstimate::seats(2))) {
            Ok(permit) => {
                spread = (spread * 7919 + 13) % 200;
                thread::sleep(Duration::from_millis(1400 + spread)); // the list itself
                drop(permit);
                thread::sleep(Duration::from_millis(300));
            }
            Err(_) => thread::sleep(Duration::from_secs(1)),
        }
    }
}

/// Reads a config map ten times a second, in another level.
fn neighbour(scene: &Scene) {
    let read = RequestAttributes::resource("get", "configmaps")
        .in_namespace("shop")
        .with_name("settings")
        .by("system:serviceaccount:shop:web", Groups::Borrowed(&SHOP_GROUPS));
    while !scene.over.load(Ordering::Relaxed) {
        scene.neighbour_asked.fetch_add(1, Ordering::Relaxed);
        if let Ok(permit) = scene.dispatcher.admit_blocking(read) {
            if permit.waited_ns() > 0 {
                scene.neighbour_waited.fetch_add(1, Ordering::Relaxed);
            }
            thread::sleep(Duration::from_millis(5));
        }
        thread::sleep(Duration::from_millis(95));
    }
}

fn counts(scene: &Scene) -> SchemaStats {
    let schemas = scene.dispatcher.stats().schemas;
    schemas.into_iter().find(|schema| schema.schema == LEVEL).unwrap_or_default()
}

/// Requests that had to wait: those that did not start or leave within the first bucket, which is exactly 0 s.
fn queued(stats: &SchemaStats) -> u64 {
    let at_once = stats.waited.counts[0];
    stats.dispatched - at_once.min(stats.dispatched)
        + stats.rejected_for(Reason::TimeOut)
        + u64::try_from(stats.waiting).unwrap_or(0)
}

fn line(
    scene: &Scene,
    copies: &[LevelCopy],
    replicas: u32,
    time: u64,
    before: &SchemaStats,
    now: &SchemaStats,
) -> String {
    let level = copies.iter().find(|copy| copy.name == LEVEL).map(|copy| &copy.level);
    let mut table = Table::new(
        &[
            "TIME",
            "PODS",
            "REQUESTS",
            "STARTED",
            "QUEUE-FULL",
            "TIME-OUT",
            "SEATS NOW",
            "WAITING NOW",
            "LONGEST FOR",
            "NEIGHBOUR WAITED",
        ]
        .map(|header| Column::right(header, "")),
    );
    table.row([
        format!("{time}s"),
        (3 * replicas).to_string(),
        (now.arrived - before.arrived).to_string(),
        (now.dispatched - before.dispatched).to_string(),
        (now.rejected_for(Reason::QueueFull) - before.rejected_for(Reason::QueueFull)).to_string(),
        (now.rejected_for(Reason::TimeOut) - before.rejected_for(Reason::TimeOut)).to_string(),
        level.map_or(0, apf_core::Level::seats_in_use).to_string(),
        level.map_or(0, apf_core::Level::requests_waiting).to_string(),
        seconds(level.map_or(0, |level| oldest_wait(level, level.now())) as f64 / 1e9),
        format!(
            "{} of {} times",
            scene.neighbour_waited.load(Ordering::Relaxed),
            scene.neighbour_asked.load(Ordering::Relaxed)
        ),
    ]);
    table.aligned()
}

fn tables(copies: &[LevelCopy], dumps: Dumps, origin: SystemTime, details: bool) -> String {
    let mut text = String::new();
    if dumps != Dumps::None {
        let levels = dump_copies(copies, DumpTable::PriorityLevels, origin);
        text.push_str(&format!("\ndump_priority_levels\n{levels}"));
    }
    if matches!(dumps, Dumps::LevelsAndQueues | Dumps::All) {
        let queues = of_the_level(&dump_copies(copies, DumpTable::Queues, origin));
        text.push_str(&format!("\ndump_queues, those of {LEVEL}\n{queues}"));
    }
    if dumps == Dumps::All {
        let requests = of_the_level(&dump_copies(copies, DumpTable::Requests { details }, origin));
        text.push_str(&format!("\ndump_requests, those of {LEVEL}\n{requests}"));
    }
    text
}

fn closing(stats: &SchemaStats) -> String {
    format!(
        "\nAll in all {LEVEL} had {} requests: {} started, {} of all had waited, {} rejected for queue-full, {} for time-out.\n",
        stats.arrived,
        stats.dispatched,
        queued(stats),
        stats.rejected_for(Reason::QueueFull),
        stats.rejected_for(Reason::TimeOut),
    )
}
