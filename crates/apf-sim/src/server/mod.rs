//! A whole server, sequential and on simulated time: a plan, one [`Level`] a priority level, and borrowing between them.
//!
//! Every call takes the time. The caller keeps the timers: one every [`ADJUSTMENT_PERIOD`] for [`Server::adjust`], one for each
//! delayed release for [`Server::tick`], and one for each waiting request for [`Server::cancel`].

mod adjust;
mod digest;

use std::fmt;

use apf_config::attributes::RequestAttributes;
use apf_config::objects::Objects;
use apf_config::plan::{Plan, PlanError};
use apf_core::{
    Arrival, ArriveError, Arrived, Cancelled, Cause, DemandStats, Finished, FlowHash, Level, LevelError,
    LevelLimits, Mode, RequestId, Sink, StaleRequest,
};

/// Time between two adjustments of the current limits (KEP-1040), nanoseconds.
pub const ADJUSTMENT_PERIOD: u64 = 10_000_000_000;

/// How long a request may wait unless its own deadline says otherwise, nanoseconds: a quarter of kube-apiserver's default
/// request timeout of one minute.
pub const DEFAULT_WAIT_LIMIT: u64 = 15_000_000_000;

/// What does not change while a server runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerOptions {
    /// Exact or default, for dispatching and borrowing alike.
    pub mode: Mode,
    /// How flows are told apart.
    pub flow_hash: FlowHash,
}

impl ServerOptions {
    /// The mode's own flow hash.
    pub fn new(mode: Mode) -> Self {
        ServerOptions { mode, flow_hash: mode.flow_hash() }
    }
}

/// A priority level of a server; stays valid when the configuration changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LevelKey(pub(crate) u32);

/// Where a request goes, under the configuration of the moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Destination<'a> {
    /// Its level.
    pub level: LevelKey,
    /// Index of its schema among the schemas of [`Server::plan`].
    pub schema: usize,
    /// Its flow distinguisher.
    pub distinguisher: &'a str,
    /// Its flow.
    pub flow_hash: u64,
}

/// One level of a server.
#[derive(Debug, Clone)]
pub struct ServerLevel {
    pub(crate) name: String,
    pub(crate) level: Level,
    pub(crate) limits: LevelLimits,
    pub(crate) is_exempt: bool,
    pub(crate) current: u32,
    pub(crate) stats: DemandStats,
    pub(crate) target: f64,
    pub(crate) state: Presence,
}

/// Whether a level is part of the configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Presence {
    Configured,
    /// Not configured any more, but it still has requests.
    Quiescing,
    /// Gone; kept only so that its key stays its own.
    Removed,
}

impl ServerLevel {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its state machine.
    pub fn level(&self) -> &Level {
        &self.level
    }

    /// Its limits in seats.
    pub fn limits(&self) -> LevelLimits {
        self.limits
    }

    /// Its current limit in seats, after borrowing.
    pub fn current(&self) -> u32 {
        self.current
    }

    /// Its demand in the periods before the last adjustment.
    pub fn demand(&self) -> DemandStats {
        self.stats
    }

    /// What the last adjustment aimed at, seats.
    pub fn target(&self) -> f64 {
        self.target
    }

    /// Whether it is only kept until its requests are done.
    pub fn is_quiescing(&self) -> bool {
        self.state == Presence::Quiescing
    }
}

/// Why there is no server, or why a configuration was not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerError {
    /// The configuration cannot be digested.
    Plan(PlanError),
    /// A level cannot be made.
    Level(String, LevelError),
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ServerError::Plan(error) => error.fmt(f),
            ServerError::Level(name, error) => write!(f, "PriorityLevelConfiguration {name:?}: {error}"),
        }
    }
}

impl std::error::Error for ServerError {}

/// A server. See the [module documentation](self).
#[derive(Debug, Clone)]
pub struct Server {
    options: ServerOptions,
    objects: Objects,
    plan: Plan,
    /// Every level there ever was; a key is an index here.
    levels: Vec<ServerLevel>,
    /// By index of the plan's levels.
    keys: Vec<LevelKey>,
    generation: u64,
}

impl Server {
    /// A server of `seats` seats with this configuration, whose first adjustment has taken place.
    ///
    /// # Errors
    ///
    /// The configuration cannot be digested; 0 seats is one reason.
    pub fn new(
        options: ServerOptions,
        objects: Objects,
        seats: u32,
        now: u64,
    ) -> Result<Server, ServerError> {
        let plan = Plan::compile(&objects, seats, options.flow_hash).map_err(ServerError::Plan)?;
        let mut server =
            Server { options, objects, plan, levels: Vec::new(), keys: Vec::new(), generation: 0 };
        server.install(now)?;
        server.adjust(now, &mut apf_core::TakeAll)?;
        Ok(server)
    }

    /// Where a request goes.
    pub fn classify<'a>(&self, request: &RequestAttributes<'a>) -> Destination<'a> {
        let found = self.plan.classify(request);
        Destination {
            level: self.keys[found.level],
            schema: found.schema,
            distinguisher: found.distinguisher,
            flow_hash: found.flow_hash,
        }
    }

    /// A request arrives at its level.
    ///
    /// # Errors
    ///
    /// An estimate out of range.
    pub fn arrive(
        &mut self,
        now: u64,
        level: LevelKey,
        arrival: Arrival,
        sink: &mut impl Sink,
    ) -> Result<Arrived, ArriveError> {
        self.level_mut(level).level.arrive(now, arrival, sink)
    }

    /// An executing request has been served.
    ///
    /// # Errors
    ///
    /// [`StaleRequest`] when it is not executing.
    pub fn finish(
        &mut self,
        now: u64,
        level: LevelKey,
        id: RequestId,
        sink: &mut impl Sink,
    ) -> Result<Finished, StaleRequest> {
        let finished = self.level_mut(level).level.finish(now, id, sink)?;
        self.reap(now, level, sink);
        Ok(finished)
    }

    /// A waiting request leaves.
    ///
    /// # Errors
    ///
    /// [`StaleRequest`] when it neither waits nor executes.
    pub fn cancel(
        &mut self,
        now: u64,
        level: LevelKey,
        id: RequestId,
        cause: Cause,
        sink: &mut impl Sink,
    ) -> Result<Cancelled, StaleRequest> {
        let cancelled = self.level_mut(level).level.cancel(now, id, cause, sink)?;
        self.reap(now, level, sink);
        Ok(cancelled)
    }

    /// Lets the delayed releases of a level that are due take place.
    pub fn tick(&mut self, now: u64, level: LevelKey, sink: &mut impl Sink) {
        self.level_mut(level).level.tick(now, sink);
    }

    /// The configuration in force.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Grows whenever another plan is in force, also when a level that was being removed has gone: destinations found before
    /// hold no longer.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// The options it was made with.
    pub fn options(&self) -> ServerOptions {
        self.options
    }

    /// Every level that is configured or quiescing, by name.
    pub fn levels(&self) -> impl Iterator<Item = &ServerLevel> {
        self.keys.iter().map(|&key| self.level(key))
    }

    /// The keys of [`levels`](Self::levels), in the same order.
    pub fn keys(&self) -> &[LevelKey] {
        &self.keys
    }

    /// One level, also when it has been removed.
    pub fn level(&self, key: LevelKey) -> &ServerLevel {
        &self.levels[key.0 as usize]
    }

    /// Every level there ever was, in the order of their keys.
    pub(crate) fn all_levels(&self) -> impl Iterator<Item = &ServerLevel> {
        self.levels.iter()
    }

    /// The level of this name, unless there is none or it has been removed.
    pub fn level_named(&self, name: &str) -> Option<LevelKey> {
        self.plan.level_index(name).map(|index| self.keys[index])
    }

    /// Widest estimate that a level allows one request, seats; 0 when it has no bound of its own.
    pub fn max_seats(&self, key: LevelKey) -> u64 {
        let planned = self.plan.levels().iter().zip(&self.keys).find(|(_, other)| **other == key);
        planned.map_or(0, |(planned, _)| u64::from(planned.max_seats))
    }

    fn level_mut(&mut self, key: LevelKey) -> &mut ServerLevel {
        &mut self.levels[key.0 as usize]
    }
}
