//! The file format of whole-server scenarios: a YAML mapping, described in `docs/scenarios.md`.

use std::path::{Path, PathBuf};

use apf_config::objects::Objects;
use apf_config::request_info::RequestInfo;
use apf_config::{Strictness, load_paths, load_str};
use apf_core::{MAX_SEATS, Mode, WorkEstimate};
use serde::Deserialize;

use super::distribution::Distribution;
use crate::configuration::{self, BuiltIn, Configuration};
use crate::duration::GoDuration;
use crate::error::Error;
use crate::server::DEFAULT_WAIT_LIMIT;
use crate::yaml::{self, Placed};

/// A whole-server scenario, checked.
#[derive(Debug, Clone)]
pub(super) struct Scenario {
    pub(super) seats: u32,
    pub(super) mode: Mode,
    pub(super) seed: u64,
    pub(super) duration: u64,
    pub(super) wait_limit: u64,
    pub(super) objects: Objects,
    pub(super) clients: Vec<Client>,
    pub(super) changes: Vec<Change>,
}

#[derive(Debug, Clone)]
pub(super) struct Client {
    pub(super) name: String,
    pub(super) user: String,
    pub(super) groups: Vec<String>,
    pub(super) request: RequestInfo,
    pub(super) load: Load,
    pub(super) exec: Distribution,
    pub(super) work: WorkEstimate,
    pub(super) deadline: Option<u64>,
    pub(super) cancel_after: Option<Distribution>,
    pub(super) start: u64,
    pub(super) stop: u64,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Load {
    /// Each thread makes its next call after the last one has ended.
    Closed { threads: u32, calls: u64, think: Distribution, backoff: Distribution },
    /// Arrivals whatever becomes of them.
    Open { rate: f64, arrivals: Arrivals, burst: u32 },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Arrivals {
    Poisson,
    Uniform,
    Bursts,
}

/// The configuration from a time on.
#[derive(Debug, Clone)]
pub(super) struct Change {
    pub(super) at: u64,
    pub(super) seats: u32,
    pub(super) objects: Objects,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    seats: Placed<i64>,
    #[serde(default)]
    mode: ModeField,
    #[serde(default)]
    seed: u64,
    duration: Placed<GoDuration>,
    wait_limit: Option<Placed<GoDuration>>,
    #[serde(default)]
    built_in: BuiltIn,
    #[serde(default)]
    manifests: Vec<PathBuf>,
    objects: Option<Placed<String>>,
    clients: Vec<Placed<ClientFields>>,
    #[serde(default)]
    changes: Vec<Placed<ChangeFields>>,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ModeField {
    #[default]
    Default,
    Exact,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ClientFields {
    name: String,
    user: String,
    #[serde(default)]
    groups: Vec<String>,
    request: Placed<RequestFields>,
    closed: Option<Placed<ClosedFields>>,
    open: Option<Placed<OpenFields>>,
    exec: Distribution,
    #[serde(default = "one")]
    seats: u64,
    #[serde(default)]
    final_seats: u64,
    #[serde(default)]
    additional_latency: GoDuration,
    deadline: Option<GoDuration>,
    cancel_after: Option<Distribution>,
    #[serde(default)]
    start: GoDuration,
    stop: Option<GoDuration>,
}

fn one() -> u64 {
    1
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RequestFields {
    method: Option<String>,
    path: Option<String>,
    verb: Option<String>,
    resource: Option<String>,
    #[serde(default)]
    group: String,
    #[serde(default)]
    subresource: String,
    #[serde(default)]
    namespace: String,
    #[serde(default)]
    name: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ClosedFields {
    threads: u32,
    calls: Option<u64>,
    think: Option<Distribution>,
    backoff: Option<Distribution>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OpenFields {
    rate: f64,
    arrivals: Option<Arrivals>,
    burst: Option<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ChangeFields {
    at: GoDuration,
    seats: Option<i64>,
    #[serde(default)]
    manifests: Vec<PathBuf>,
    objects: Option<Placed<String>>,
    #[serde(default)]
    delete: Vec<String>,
}

/// How long a rejected closed-loop caller stays away unless the file says otherwise: the lowest `Retry-After`.
const DEFAULT_BACKOFF: Distribution = Distribution::Constant(1_000_000_000);

/// More threads, or arrivals at one instant, are a slip of the pen.
const MOST_AT_ONCE: u32 = 1_000_000;

/// More arrivals than this are one in a nanosecond.
const HIGHEST_RATE: f64 = 1e9;

/// Reads a scenario; manifests are looked up in `folder`.
pub(super) fn read(text: &str, name: &str, folder: &Path) -> Result<Scenario, Error> {
    let file: File = yaml::read(text, name)?;
    let reader = Reader { name, folder };
    let seats = reader.seats(&file.seats, file.seats.value)?;
    let duration = reader.time(&file.duration, "duration", file.duration.value)?;
    if duration == 0 {
        return Err(yaml::refuse(&file.duration, name, "duration must be longer than 0"));
    }
    let wait_limit = match &file.wait_limit {
        None => DEFAULT_WAIT_LIMIT,
        Some(limit) => reader.time(limit, "wait_limit", limit.value)?,
    };
    let own = reader.objects(&file.manifests, file.objects.as_ref())?;
    let objects = Configuration::from_objects(file.built_in, &own).objects().clone();

    if file.clients.is_empty() {
        return Err(Error::in_file(name, "clients: at least one is needed"));
    }
    let mut clients: Vec<Client> = Vec::new();
    for placed in &file.clients {
        let client = reader.client(placed, duration)?;
        if clients.iter().any(|other| other.name == client.name) {
            let message = format!("client {:?}: there is another of this name", client.name);
            return Err(yaml::refuse(placed, name, message));
        }
        clients.push(client);
    }
    let mut changes: Vec<Change> = Vec::new();
    for placed in &file.changes {
        let before = changes.last().map_or((seats, &objects), |last| (last.seats, &last.objects));
        let change = reader.change(placed, before)?;
        if changes.last().is_some_and(|last| last.at > change.at) {
            return Err(yaml::refuse(placed, name, "changes must be in the order of their times"));
        }
        changes.push(change);
    }
    Ok(Scenario {
        seats,
        mode: match file.mode {
            ModeField::Default => Mode::Default,
            ModeField::Exact => Mode::Exact,
        },
        seed: file.seed,
        duration,
        wait_limit,
        objects,
        clients,
        changes,
    })
}

struct Reader<'a> {
    name: &'a str,
    folder: &'a Path,
}

impl Reader<'_> {
    fn seats<T>(&self, placed: &Placed<T>, seats: i64) -> Result<u32, Error> {
        apf_config::plan::total_seats(seats)
            .map_err(|error| yaml::refuse(placed, self.name, format!("seats: {error}")))
    }

    fn time<T>(&self, placed: &Placed<T>, field: &str, duration: GoDuration) -> Result<u64, Error> {
        duration
            .unsigned()
            .ok_or_else(|| yaml::refuse(placed, self.name, format!("{field} must not be negative")))
    }

    fn objects(&self, manifests: &[PathBuf], inline: Option<&Placed<String>>) -> Result<Objects, Error> {
        let paths: Vec<PathBuf> = manifests.iter().map(|path| self.folder.join(path)).collect();
        let mut objects = configuration::accepted(&load_paths(&paths, Strictness::Strict))?.clone();
        if let Some(placed) = inline {
            // Blank lines in front make the lines of its errors those of the scenario file.
            let lines_before = usize::try_from(placed.referenced.line()).unwrap_or(0).saturating_sub(1);
            let text = "\n".repeat(lines_before) + &placed.value;
            configuration::apply(
                &mut objects,
                configuration::accepted(&load_str(self.name, &text, Strictness::Strict))?,
            );
        }
        Ok(objects)
    }

    fn client(&self, placed: &Placed<ClientFields>, duration: u64) -> Result<Client, Error> {
        let fields = &placed.value;
        let refuse =
            |message: &str| yaml::refuse(placed, self.name, format!("client {:?}: {message}", fields.name));
        if !(1..=MAX_SEATS).contains(&fields.seats) || fields.final_seats > MAX_SEATS {
            return Err(refuse(&format!("seats must be 1 to {MAX_SEATS}, final_seats at most that")));
        }
        if fields.exec.is_zero() {
            return Err(refuse("exec must be longer than 0"));
        }
        let stop = match fields.stop {
            None => duration,
            Some(stop) => self.time(placed, "stop", stop)?,
        };
        Ok(Client {
            name: fields.name.clone(),
            user: fields.user.clone(),
            groups: fields.groups.clone(),
            request: self.request(&fields.request)?,
            load: match (&fields.closed, &fields.open) {
                (Some(closed), None) => self.closed(closed)?,
                (None, Some(open)) => self.open(open)?,
                _ => return Err(refuse("exactly one of closed and open is needed")),
            },
            exec: fields.exec,
            work: WorkEstimate {
                initial_seats: fields.seats,
                final_seats: fields.final_seats,
                additional_latency: self.time(placed, "additional_latency", fields.additional_latency)?,
            },
            deadline: fields.deadline.map(|deadline| self.time(placed, "deadline", deadline)).transpose()?,
            cancel_after: fields.cancel_after,
            start: self.time(placed, "start", fields.start)?,
            stop,
        })
    }

    fn request(&self, placed: &Placed<RequestFields>) -> Result<RequestInfo, Error> {
        let refuse = |message: String| yaml::refuse(placed, self.name, format!("request: {message}"));
        let fields = &placed.value;
        match (&fields.path, &fields.verb, &fields.resource) {
            (Some(path), None, None) => {
                let method = fields.method.as_deref().unwrap_or("GET");
                RequestInfo::new(method, path).map_err(|error| refuse(error.to_string()))
            }
            (None, Some(verb), Some(resource)) if fields.method.is_none() => Ok(RequestInfo {
                is_resource_request: true,
                verb: verb.clone(),
                api_group: fields.group.clone(),
                resource: resource.clone(),
                subresource: fields.subresource.clone(),
                namespace: fields.namespace.clone(),
                name: fields.name.clone(),
                ..RequestInfo::default()
            }),
            _ => Err(refuse("either path (and method), or verb and resource, are needed".into())),
        }
    }

    fn closed(&self, placed: &Placed<ClosedFields>) -> Result<Load, Error> {
        let ClosedFields { threads, calls, think, backoff } = placed.value;
        let backoff = backoff.unwrap_or(DEFAULT_BACKOFF);
        if !(1..=MOST_AT_ONCE).contains(&threads) || calls == Some(0) {
            let message = format!("closed: threads must be 1 to {MOST_AT_ONCE}, calls at least 1");
            return Err(yaml::refuse(placed, self.name, message));
        }
        if backoff.is_zero() {
            return Err(yaml::refuse(placed, self.name, "closed.backoff must be longer than 0"));
        }
        let think = think.unwrap_or(Distribution::Constant(0));
        Ok(Load::Closed { threads, calls: calls.unwrap_or(u64::MAX), think, backoff })
    }

    fn open(&self, placed: &Placed<OpenFields>) -> Result<Load, Error> {
        let OpenFields { rate, arrivals, burst } = placed.value;
        if !(rate > 0.0 && rate <= HIGHEST_RATE) {
            return Err(yaml::refuse(
                placed,
                self.name,
                "open.rate must be above 0 and at most 1e9 a second",
            ));
        }
        let arrivals = arrivals.unwrap_or(Arrivals::Poisson);
        let is_bursty = arrivals == Arrivals::Bursts;
        if is_bursty != burst.is_some() || !(1..=MOST_AT_ONCE).contains(&burst.unwrap_or(1)) {
            let message =
                format!("open.burst, 1 to {MOST_AT_ONCE}, is needed with arrivals: bursts and nowhere else");
            return Err(yaml::refuse(placed, self.name, message));
        }
        Ok(Load::Open { rate, arrivals, burst: burst.unwrap_or(1) })
    }

    fn change(
        &self,
        placed: &Placed<ChangeFields>,
        (seats, objects): (u32, &Objects),
    ) -> Result<Change, Error> {
        let fields = &placed.value;
        let mut objects = objects.clone();
        for reference in &fields.delete {
            delete(&mut objects, reference)
                .map_err(|why| yaml::refuse(placed, self.name, format!("delete: {reference:?} {why}")))?;
        }
        configuration::apply(&mut objects, &self.objects(&fields.manifests, fields.objects.as_ref())?);
        Ok(Change {
            at: self.time(placed, "at", fields.at)?,
            seats: match fields.seats {
                None => seats,
                Some(seats) => self.seats(placed, seats)?,
            },
            objects,
        })
    }
}

/// Deletes `KIND/NAME`.
fn delete(objects: &mut Objects, reference: &str) -> Result<(), &'static str> {
    let Objects { flow_schemas, priority_levels } = objects;
    let before = flow_schemas.len() + priority_levels.len();
    match reference.split_once('/') {
        Some(("FlowSchema", name)) => flow_schemas.retain(|schema| schema.metadata.name != name),
        Some(("PriorityLevelConfiguration", name)) => {
            priority_levels.retain(|level| level.metadata.name != name)
        }
        _ => return Err("must be FlowSchema/NAME or PriorityLevelConfiguration/NAME"),
    }
    if flow_schemas.len() + priority_levels.len() == before {
        return Err("is not there at that time");
    }
    Ok(())
}
