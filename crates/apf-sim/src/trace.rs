//! A list of requests with their times, as a load-test harness or another simulation has it, through a server of its own.

use apf_config::request_info::RequestInfo;
use apf_core::{Cause, Mode, WorkEstimate};

use crate::configuration::Configuration;
use crate::engine::{End, Engine, Source, Submission};
use crate::error::Error;
use crate::mode_name;
use crate::progress::Progress;
use crate::recording::Recording;
use crate::report::Report;
use crate::server::{DEFAULT_WAIT_LIMIT, LevelKey, Server, ServerOptions};

/// What the requests of one client have in common.
#[derive(Debug, Clone)]
pub struct Kind {
    /// Name in the report.
    pub client: String,
    /// User name.
    pub user: String,
    /// The user's groups.
    pub groups: Vec<String>,
    /// What is asked for.
    pub request: RequestInfo,
    /// What it costs.
    pub work: WorkEstimate,
    /// How long it may wait at most, nanoseconds; the server's limit applies besides.
    pub wait_limit: Option<u64>,
}

/// One request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// When it arrives, nanoseconds.
    pub at: u64,
    /// How long it executes, nanoseconds; 0 counts as 1.
    pub execution: u64,
    /// When its caller leaves if it still waits then, nanoseconds after its arrival.
    pub cancel_after: Option<u64>,
    /// Index of its kind.
    pub kind: u32,
}

/// The server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Its seats.
    pub seats: u32,
    /// Exact or default.
    pub mode: Mode,
    /// How long a request may wait, nanoseconds.
    pub wait_limit: u64,
}

impl Options {
    /// A wait limit of 15 s.
    pub fn new(seats: u32, mode: Mode) -> Options {
        Options { seats, mode, wait_limit: DEFAULT_WAIT_LIMIT }
    }
}

/// Where the requests of a kind go, under the plan in force.
#[derive(Debug, Clone, Copy)]
struct Place {
    level: LevelKey,
    schema: usize,
    flow_hash: u64,
}

struct Sender<'a> {
    kinds: &'a [Kind],
    arrivals: &'a [Arrival],
    /// The arrivals in the order of their times; of equal times in the order of the list.
    order: Vec<u32>,
    places: Vec<Place>,
    wait_limit: u64,
}

/// Runs the requests until nothing more can happen. The recording has them in the order given; of equal times the one
/// that is first in it comes first.
///
/// # Errors
///
/// A configuration that the engine refuses, a kind that is not there, or an estimate out of range.
pub fn run(
    kinds: &[Kind],
    arrivals: &[Arrival],
    configuration: &Configuration,
    options: &Options,
    progress: &mut dyn FnMut(Progress),
) -> Result<(Report, Recording), Error> {
    let refuse = |error: &dyn std::fmt::Display| Error::new(error.to_string());
    if let Some(arrival) = arrivals.iter().find(|arrival| arrival.kind as usize >= kinds.len()) {
        return Err(refuse(&format!("request kind {} of {}", arrival.kind, kinds.len())));
    }
    if u32::try_from(arrivals.len()).is_err() {
        return Err(refuse(&"more than 4,294,967,295 requests"));
    }
    let objects = configuration.objects().clone();
    let server = Server::new(ServerOptions::new(options.mode), objects, options.seats, 0)
        .map_err(|error| refuse(&error))?;
    let mut order: Vec<u32> = (0..arrivals.len() as u32).collect();
    order.sort_by_key(|index| arrivals[*index as usize].at);
    let last = order.last().map_or(0, |index| arrivals[*index as usize].at);
    let mut sender = Sender { kinds, arrivals, order, places: Vec::new(), wait_limit: options.wait_limit };
    sender.replanned(&server);

    let mut engine = Engine::new(server, kinds.len());
    engine.record();
    if let Some(first) = sender.order.first() {
        engine.set_timer(arrivals[*first as usize].at, 0);
    }
    let end = engine.run(&mut sender, None, &mut |at| {
        progress(Progress { done: at.done.min(last), total: last });
    })?;
    let names: Vec<String> = kinds.iter().map(|kind| kind.client.clone()).collect();
    let recording = engine.take_recording().unwrap_or_default();
    let recording = Recording { clients: names.clone(), ..recording.into_order(&sender.order) };
    let rows = engine.rows(end, names);
    let report = Report {
        mode: mode_name(options.mode),
        seats: options.seats,
        duration_s: end as f64 / 1e9,
        seed: None,
        notes: Vec::new(),
        levels: rows.levels,
        schemas: rows.schemas,
        clients: rows.clients,
        adjustments: rows.adjustments,
    };
    Ok((report, recording))
}

impl Source for Sender<'_> {
    fn due(&mut self, now: u64, timer: u64, engine: &mut Engine) -> Result<(), Error> {
        let Some(arrival) = self.order.get(timer as usize).map(|index| self.arrivals[*index as usize]) else {
            return Ok(());
        };
        let kind = &self.kinds[arrival.kind as usize];
        let place = self.places[arrival.kind as usize];
        let limit = kind.wait_limit.map_or(self.wait_limit, |own| own.min(self.wait_limit));
        let (wait, cause) = match arrival.cancel_after {
            Some(after) if after < limit => (after, Cause::Caller),
            _ => (limit, Cause::TimeOut),
        };
        let submission = Submission {
            level: place.level,
            schema: place.schema,
            flow_hash: place.flow_hash,
            work: kind.work,
            exec: arrival.execution.max(1),
            give_up: (now.saturating_add(wait), cause),
            client: arrival.kind,
            tag: 0,
        };
        engine.submit(now, submission)?;
        if let Some(next) = self.order.get(timer as usize + 1) {
            engine.set_timer(self.arrivals[*next as usize].at, timer + 1);
        }
        Ok(())
    }

    fn over(&mut self, _: u64, _: u64, _: End, _: &mut Engine) {}

    fn replanned(&mut self, server: &Server) {
        self.places.clear();
        self.places.extend(self.kinds.iter().map(|kind| {
            let found = server.classify(&kind.request.attributes(&kind.user, &kind.groups));
            Place { level: found.level, schema: found.schema, flow_hash: found.flow_hash }
        }));
    }
}
