//! Replay of an audit log against a configuration: the logged arrivals, open-loop, on simulated time.

mod compare;
mod durations;
mod prepare;

use apf_core::{Cause, Mode, WorkEstimate};
use serde::Serialize;

pub use compare::{Comparison, Difference, compare};
pub use durations::DurationModel;

use crate::audit::{Counts, Log};
use crate::configuration::Configuration;
use crate::duration::GoDuration;
use crate::engine::{End, Engine, Source, Submission};
use crate::error::Error;
use crate::mode_name;
use crate::progress::Progress;
use crate::recording::Recording;
use crate::report::Report;
use crate::server::{Server, ServerOptions};
use prepare::{Kind, Timing};

/// How to replay.
#[derive(Debug, Clone)]
pub struct Options {
    /// Seats of the server.
    pub seats: u32,
    /// Exact or default.
    pub mode: Mode,
    /// The server's request timeout, nanoseconds: a request may wait for a quarter of it.
    pub request_timeout: u64,
    /// Execution times of the requests whose log has none.
    pub durations: DurationModel,
    /// Seats of a list, up to its level's own bound; every other request takes one.
    pub list_seats: u64,
}

impl Options {
    /// The defaults: a request timeout of 60 s, the reference means, one seat a request.
    pub fn new(seats: u32, mode: Mode) -> Options {
        Options {
            seats,
            mode,
            request_timeout: 60_000_000_000,
            durations: DurationModel::default(),
            list_seats: 1,
        }
    }
}

/// What a replay gave.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReplayReport {
    /// What was met in the logs.
    pub counts: Counts,
    /// What was done with the requests.
    pub replayed: Replayed,
    /// Numbers per level, schema and user.
    #[serde(flatten)]
    pub report: Report,
}

/// What was done with the requests of a log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Replayed {
    /// Sent to the server.
    pub requests: u64,
    /// Of those, watches: they hold their seat until they are initialised.
    pub watches: u64,
    /// Of those, requests whose execution time is in the log.
    pub durations_from_log: u64,
    /// Of those, requests whose execution time is a mean of the model.
    pub durations_from_model: u64,
    /// Of those, requests that the logged server had refused with 429: what they took was waiting, so the model's mean stands in.
    pub refused_in_log: u64,
    /// Of those, requests known by their `objectRef` only.
    pub by_object_ref: u64,
    /// Not sent: exec, attach, port-forward, proxy and log requests, which are never queued.
    pub long_running: u64,
    /// Not sent: answered 401 without a user, which happens before priority and fairness.
    pub unauthenticated: u64,
    /// Not sent: neither `requestURI` nor `objectRef` says what was asked for.
    pub unclassifiable: u64,
}

/// Sends the requests of a log.
struct Sender<'a> {
    log: &'a Log,
    options: &'a Options,
    origin: i64,
    /// By identity: index of the user.
    users: Vec<u32>,
    replayed: Replayed,
}

/// Replays a log.
///
/// # Errors
///
/// A configuration that cannot be digested, 0 seats, or a list width that no level accepts.
pub fn run(
    log: &Log,
    configuration: &Configuration,
    options: &Options,
    progress: &mut dyn FnMut(Progress),
) -> Result<ReplayReport, Error> {
    run_engine(log, configuration, options, false, progress).map(|(report, _)| report)
}

/// Replays a log and keeps what becomes of each request: 41 bytes for each.
///
/// # Errors
///
/// As [`run`].
pub fn run_recorded(
    log: &Log,
    configuration: &Configuration,
    options: &Options,
    progress: &mut dyn FnMut(Progress),
) -> Result<(ReplayReport, Recording), Error> {
    let (report, recording) = run_engine(log, configuration, options, true, progress)?;
    Ok((report, recording.unwrap_or_default()))
}

fn run_engine(
    log: &Log,
    configuration: &Configuration,
    options: &Options,
    record: bool,
    progress: &mut dyn FnMut(Progress),
) -> Result<(ReplayReport, Option<Recording>), Error> {
    let refuse = |error: &dyn std::fmt::Display| Error::new(error.to_string());
    if !(1..=apf_core::MAX_SEATS).contains(&options.list_seats) {
        return Err(refuse(&format!("list seats must be from 1 to {}", apf_core::MAX_SEATS)));
    }
    let objects = configuration.objects().clone();
    let server = Server::new(ServerOptions::new(options.mode), objects, options.seats, 0)
        .map_err(|error| refuse(&error))?;
    let (users, names) = users(log);
    let origin = log.requests.first().map_or(0, |first| first.received);
    let span = log.requests.last().map_or(0, |last| last.received.saturating_sub(origin)).unsigned_abs();
    let mut sender = Sender { log, options, origin, users, replayed: Replayed::default() };

    let mut engine = Engine::new(server, names.len());
    if record {
        engine.record();
    }
    engine.set_timer(0, 0);
    let end = engine.run(&mut sender, None, &mut |at| {
        progress(Progress { done: at.done.min(span), total: span });
    })?;
    let recording =
        engine.take_recording().map(|recording| Recording { clients: names.clone(), ..recording });
    let mut rows = engine.rows(end, names);
    rows.clients.sort_by(|a, b| (b.traffic.requests, &a.client).cmp(&(a.traffic.requests, &b.client)));
    let report = ReplayReport {
        counts: log.counts.clone(),
        replayed: sender.replayed,
        report: Report {
            mode: mode_name(options.mode),
            seats: options.seats,
            duration_s: end as f64 / 1e9,
            seed: None,
            notes: notes(options, &sender.replayed),
            levels: rows.levels,
            schemas: rows.schemas,
            clients: rows.clients,
            adjustments: rows.adjustments,
        },
    };
    Ok((report, recording))
}

/// The user of each identity, and the users' names: one user may have come with several sets of groups.
fn users(log: &Log) -> (Vec<u32>, Vec<String>) {
    let mut names: Vec<String> = Vec::new();
    let mut known = std::collections::HashMap::new();
    let users = log.identities.iter().map(|identity| {
        *known.entry(identity.user.as_str()).or_insert_with(|| {
            names.push(identity.user.clone());
            names.len() as u32 - 1
        })
    });
    (users.collect(), names)
}

fn notes(options: &Options, replayed: &Replayed) -> Vec<String> {
    let width = match options.list_seats {
        1 => "Every request is taken to need 1 seat: an audit log does not tell widths.".to_owned(),
        seats => format!(
            "Every list is taken to need {seats} seats, or as many as its level allows one request; every other request 1 seat."
        ),
    };
    let mut notes = vec![width];
    if replayed.durations_from_model > 0 {
        notes.push(format!(
            "{} of {} requests have no usable duration in the log; mean by verb: {}.",
            replayed.durations_from_model, replayed.requests, options.durations
        ));
    }
    if replayed.watches > 0 {
        notes.push("A watch holds its seat until its response starts, not until it ends.".to_owned());
    }
    let limit = GoDuration(i64::try_from(options.request_timeout / 4).unwrap_or(i64::MAX));
    notes.push(format!(
        "A request may wait {limit}, or a quarter of its own timeout parameter when that is shorter."
    ));
    notes.push(
        "Arrivals are those of the log whatever becomes of them: a refused client does not come back later."
            .to_owned(),
    );
    notes
}

impl Sender<'_> {
    fn send(&mut self, now: u64, index: usize, engine: &mut Engine) -> Result<(), Error> {
        let request = &self.log.requests[index];
        let identity = &self.log.identities[request.identity as usize];
        if request.code == 401 && identity.user.is_empty() {
            self.replayed.unauthenticated += 1;
            return Ok(());
        }
        let Some(prepared) = prepare::prepare(request) else {
            self.replayed.unclassifiable += 1;
            return Ok(());
        };
        if prepared.kind == Kind::LongRunning {
            self.replayed.long_running += 1;
            return Ok(());
        }
        let (exec, timing) = prepare::execution(request, prepared.kind, self.options);
        self.replayed.requests += 1;
        self.replayed.watches += u64::from(prepared.kind == Kind::Watch);
        self.replayed.by_object_ref += u64::from(prepared.by_object);
        self.replayed.durations_from_log += u64::from(timing == Timing::Log);
        self.replayed.durations_from_model += u64::from(timing != Timing::Log);
        self.replayed.refused_in_log += u64::from(timing == Timing::ModelAsRefused);

        let server = engine.server();
        let found = server.classify(&prepared.info.attributes(&identity.user, &identity.groups));
        let seats = if prepared.info.verb == "list" {
            // 0 stands for no bound of the level's own.
            match server.max_seats(found.level) {
                0 => self.options.list_seats,
                most => self.options.list_seats.min(most),
            }
        } else {
            1
        };
        let wait_limit = prepare::wait_limit(request, prepared.kind, self.options);
        let submission = Submission {
            level: found.level,
            schema: found.schema,
            flow_hash: found.flow_hash,
            work: WorkEstimate::seats(seats),
            exec,
            give_up: (now.saturating_add(wait_limit), Cause::TimeOut),
            client: self.users[request.identity as usize],
            tag: 0,
        };
        engine.submit(now, submission)?;
        Ok(())
    }
}

impl Source for Sender<'_> {
    fn due(&mut self, now: u64, timer: u64, engine: &mut Engine) -> Result<(), Error> {
        let index = timer as usize;
        self.send(now, index, engine)?;
        if let Some(next) = self.log.requests.get(index + 1) {
            let arrival = next.received.saturating_sub(self.origin).unsigned_abs();
            engine.set_timer(arrival, timer + 1);
        }
        Ok(())
    }

    fn over(&mut self, _: u64, _: u64, _: End, _: &mut Engine) {}

    fn replanned(&mut self, _: &Server) {}
}
