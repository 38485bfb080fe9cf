//! Whole-server scenarios: a configuration, clients, and changes at given times.

mod clients;
mod distribution;
mod file;

use std::path::Path;

use apf_exposition::tables::{self, Described, DumpLevel};
use jiff::Timestamp;

use super::RunOptions;
use crate::engine::Engine;
use crate::error::Error;
use crate::mode_name;
use crate::progress::Progress;
use crate::recording::Recording;
use crate::report::{Report, Traffic};
use crate::server::{Server, ServerOptions};
use clients::Clients;
use file::{Client, Scenario};

/// A whole-server scenario.
#[derive(Debug, Clone)]
pub struct ServerScenario {
    scenario: Scenario,
}

/// A look at a running scenario.
#[derive(Debug)]
pub struct Snapshot<'a> {
    now: u64,
    engine: &'a Engine,
    scenario: &'a Scenario,
}

/// Looks at a running scenario, every so often.
pub trait Observer {
    /// Simulated time between two looks, nanoseconds; 0 for none.
    fn period(&self) -> u64;

    /// Called every period.
    fn observe(&mut self, snapshot: &Snapshot<'_>);
}

/// Looks at nothing.
impl Observer for () {
    fn period(&self) -> u64 {
        0
    }

    fn observe(&mut self, _: &Snapshot<'_>) {}
}

impl ServerScenario {
    pub(super) fn parse(text: &str, name: &str, folder: &Path) -> Result<ServerScenario, Error> {
        Ok(ServerScenario { scenario: file::read(text, name, folder)? })
    }

    /// Its configuration at the start, with the built-in objects.
    pub fn objects(&self) -> &apf_config::Objects {
        &self.scenario.objects
    }

    /// Runs the scenario.
    ///
    /// # Errors
    ///
    /// A configuration that the engine refuses.
    pub fn run(
        &self,
        options: &RunOptions,
        observer: &mut dyn Observer,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Report, Error> {
        self.run_engine(options, false, observer, progress).map(|(report, _)| report)
    }

    /// Runs the scenario and keeps what becomes of each request: 41 bytes for each.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run).
    pub fn run_recorded(
        &self,
        options: &RunOptions,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(Report, Recording), Error> {
        let (report, recording) = self.run_engine(options, true, &mut (), progress)?;
        Ok((report, recording.unwrap_or_default()))
    }

    fn run_engine(
        &self,
        options: &RunOptions,
        record: bool,
        observer: &mut dyn Observer,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(Report, Option<Recording>), Error> {
        let scenario = &self.scenario;
        let mode = options.mode.unwrap_or(scenario.mode);
        let seed = options.seed.unwrap_or(scenario.seed);
        let server = Server::new(ServerOptions::new(mode), scenario.objects.clone(), scenario.seats, 0)
            .map_err(|error| Error::new(error.to_string()))?;
        let mut engine = Engine::new(server, scenario.clients.len());
        if record {
            engine.record();
        }
        let mut clients = Clients::new(scenario, seed, engine.server(), observer);
        clients.begin(&mut engine);
        let end = engine.run(&mut clients, Some(scenario.duration), progress)?;
        let names: Vec<String> = scenario.clients.iter().map(|client| client.name.clone()).collect();
        let recording =
            engine.take_recording().map(|recording| Recording { clients: names.clone(), ..recording });
        let rows = engine.rows(end, names);
        let report = Report {
            mode: mode_name(mode),
            seats: scenario.seats,
            duration_s: end as f64 / 1e9,
            seed: Some(seed),
            notes: Vec::new(),
            levels: rows.levels,
            schemas: rows.schemas,
            clients: rows.clients,
            adjustments: rows.adjustments,
        };
        Ok((report, recording))
    }
}

impl Snapshot<'_> {
    /// Simulated time, nanoseconds.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// The server.
    pub fn server(&self) -> &Server {
        self.engine.server()
    }

    /// Each client's name and counts so far.
    pub fn clients(&self) -> Vec<(&str, Traffic)> {
        let clients = self.scenario.clients.iter().enumerate();
        clients
            .map(|(index, client)| (client.name.as_str(), self.engine.client_traffic(index, self.now)))
            .collect()
    }

    /// The dump `dump_priority_levels`.
    pub fn dump_priority_levels(&self) -> String {
        tables::priority_levels(self.dump_levels())
    }

    /// The dump `dump_queues`.
    pub fn dump_queues(&self) -> String {
        tables::queues(self.dump_levels())
    }

    /// The dump `dump_requests`; `origin` is the wall-clock time of time 0.
    pub fn dump_requests(&self, origin: Timestamp, details: bool) -> String {
        tables::requests(self.dump_levels(), origin, details, &|_, token| {
            self.engine
                .client_of(token)
                .and_then(|client| self.scenario.clients.get(client as usize))
                .map_or_else(Described::default, |client| describe(client, self.server()))
        })
    }

    fn dump_levels(&self) -> impl Iterator<Item = DumpLevel<'_>> {
        self.server().levels().map(|level| DumpLevel {
            name: level.name(),
            quiescing: level.is_quiescing(),
            level: level.level(),
        })
    }
}

/// What the dumps say of a request of this client.
fn describe(client: &Client, server: &Server) -> Described {
    let info = &client.request;
    let found = server.classify(&info.attributes(&client.user, &client.groups));
    let api_version = match (info.api_group.as_str(), info.api_version.as_str()) {
        ("", version) => version.to_owned(),
        (group, version) => format!("{group}/{version}"),
    };
    Described {
        schema: server.plan().schemas()[found.schema].name.clone(),
        distinguisher: found.distinguisher.to_owned(),
        user: client.user.clone(),
        verb: info.verb.clone(),
        path: info.path.clone(),
        namespace: info.namespace.clone(),
        name: info.name.clone(),
        api_version,
        resource: info.resource.clone(),
        subresource: info.subresource.clone(),
    }
}
