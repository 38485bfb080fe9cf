//! What all handles of a dispatcher share, and the way of a request through it.

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use apf_config::attributes::RequestAttributes;
use apf_config::plan::Plan;
use apf_core::{Cause, Mode, Reason, WorkEstimate};
use arc_swap::{ArcSwap, Guard};

use crate::arena::Arena;
use crate::classified::Classified;
use crate::clock::Clock;
use crate::configure::Configuration;
use crate::counters::Counters;
use crate::details::Details;
use crate::dispatcher::nanoseconds;
use crate::gate::{Decision, Request as GateRequest, StartError, Started, Ticket, Withdrawn};
use crate::level::LevelSlot;
use crate::rejected::{AdmitError, Rejected};
use crate::timers::{Task, Timers};

/// How a handle reaches its engine: by reference, or by a count of its own.
pub trait EngineRef: Deref<Target = Engine> + Clone {}
impl EngineRef for &Engine {}
impl EngineRef for Arc<Engine> {}

/// The engine behind a [`Dispatcher`](crate::Dispatcher). It has no methods of its own: use the dispatcher's.
#[derive(Debug)]
pub struct Engine {
    pub(crate) clock: Clock,
    pub(crate) mode: Mode,
    pub(crate) server_limit: u32,
    pub(crate) wait_limit: u64,
    pub(crate) wait_limits: HashMap<String, u64>,
    pub(crate) levels: Arena<LevelSlot>,
    pub(crate) schemas: Arena<SchemaSlot>,
    pub(crate) snapshot: ArcSwap<Snapshot>,
    /// Number of the snapshot, unique among all dispatchers of the process: set after it, so that a classification
    /// under this number is by this snapshot or a later one.
    pub(crate) generation: AtomicU64,
    pub(crate) configuration: Mutex<Configuration>,
    pub(crate) timers: Arc<Timers>,
    /// Present where the host has asked for it.
    pub(crate) details: Option<Details>,
    /// Bits of the gauge `seat_fair_frac`.
    pub(crate) fair_fraction: AtomicU64,
    /// The process that serves the timers.
    pub(crate) process: u32,
}

/// One FlowSchema with the level it points to; a schema that is pointed elsewhere gets another.
#[derive(Debug)]
pub(crate) struct SchemaSlot {
    pub(crate) name: Arc<str>,
    pub(crate) level: usize,
    pub(crate) counters: Counters,
}

/// One configuration, whole and unchanging: what admission reads.
#[derive(Debug)]
pub(crate) struct Snapshot {
    pub(crate) plan: Plan,
    /// By index of the plan's schemas.
    pub(crate) flows: Vec<Flow>,
}

/// Where the requests of a schema go: places in the engine's arenas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Flow {
    pub(crate) level: usize,
    pub(crate) schema: usize,
}

impl Flow {
    pub(crate) const NOWHERE: Self = Self { level: usize::MAX - 64, schema: usize::MAX - 64 };
}

/// Where a request goes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Classification<'r> {
    pub(crate) flow: Flow,
    pub(crate) flow_hash: u64,
    pub(crate) distinguisher: &'r str,
}

/// Classifies a request, and keeps the result where its host wants that.
fn classify_anew<'r>(
    generation: u64,
    snapshot: &Snapshot,
    request: &Request<'r>,
) -> Option<Classification<'r>> {
    let classified = snapshot.plan.classify(&request.attributes);
    let flow = *snapshot.flows.get(classified.schema)?;
    if let Some(keep) = request.classified {
        keep.set(generation, flow, classified.flow_hash);
    }
    Some(Classification { flow, flow_hash: classified.flow_hash, distinguisher: classified.distinguisher })
}

/// What an admitted request needs to end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Admitted {
    pub(crate) flow: Flow,
    pub(crate) seats: u64,
    /// How long its seats are held after its end.
    pub(crate) latency: u64,
    pub(crate) arrival: u64,
    pub(crate) start: u64,
    pub(crate) watch: bool,
}

/// A request, as its caller describes it.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// Who asks for what: decides the FlowSchema, the level and the flow.
    pub attributes: RequestAttributes<'a>,
    /// What it costs. Taken as it is: a request wider than its level's limit starts when nothing executes there.
    pub work: WorkEstimate,
    /// How long it may wait at most; the level's queue-wait limit applies besides.
    pub wait_limit: Option<Duration>,
    /// Where its classification is kept, by a host that sends requests with these attributes again and again.
    pub classified: Option<&'a Classified>,
}

impl<'a> From<RequestAttributes<'a>> for Request<'a> {
    /// A request of one seat.
    fn from(attributes: RequestAttributes<'a>) -> Self {
        Self { attributes, work: WorkEstimate::seats(1), wait_limit: None, classified: None }
    }
}

impl<'a> Request<'a> {
    /// The same with another estimate.
    #[must_use]
    pub const fn with_work(mut self, work: WorkEstimate) -> Self {
        self.work = work;
        self
    }

    /// The same with a limit of its own to its wait.
    #[must_use]
    pub const fn with_wait_limit(mut self, limit: Duration) -> Self {
        self.wait_limit = Some(limit);
        self
    }

    /// The same with a place to keep its classification in.
    #[must_use]
    pub const fn with_classified(mut self, kept: &'a Classified) -> Self {
        self.classified = Some(kept);
        self
    }
}

/// What became of an arrival.
pub(crate) enum Begun {
    Running(Admitted, Ticket),
    Waiting(Waiting),
}

/// A request in a queue. Whoever has it must end it: [`Engine::settle`] or [`Engine::withdraw`].
#[derive(Debug)]
pub(crate) struct Waiting {
    pub(crate) flow: Flow,
    pub(crate) wanted: u64,
    pub(crate) latency: u64,
    pub(crate) arrival: u64,
    pub(crate) deadline: u64,
    pub(crate) watch: bool,
    /// Whether its queue's length has been counted.
    pub(crate) joined: bool,
    pub(crate) ticket: Ticket,
}

/// A [`Waiting`] without what ends it.
struct Wait {
    flow: Flow,
    wanted: u64,
    latency: u64,
    arrival: u64,
    watch: bool,
    joined: bool,
}

impl Waiting {
    fn apart(self) -> (Wait, Ticket) {
        let Self { flow, wanted, latency, arrival, watch, joined, ticket, .. } = self;
        (Wait { flow, wanted, latency, arrival, watch, joined }, ticket)
    }
}

impl Engine {
    pub(crate) fn level(&self, flow: Flow) -> Option<&LevelSlot> {
        self.levels.get(flow.level)
    }

    fn counters(&self, flow: Flow) -> Option<&Counters> {
        self.schemas.get(flow.schema).map(|slot| &slot.counters)
    }

    pub(crate) fn level_name(&self, flow: Flow) -> &str {
        self.level(flow).map_or("", |slot| &slot.name)
    }

    pub(crate) fn schema_name(&self, flow: Flow) -> &str {
        self.schemas.get(flow.schema).map_or("", |slot| &slot.name)
    }

    /// The configuration, and a number that was its own or an earlier one's.
    pub(crate) fn look(&self) -> (u64, Guard<Arc<Snapshot>>) {
        let generation = self.generation.load(Ordering::Acquire);
        (generation, self.snapshot.load())
    }

    /// The flow of a request, its hash, and the distinguisher where details are kept.
    fn classify<'r>(&self, request: &Request<'r>) -> Option<Classification<'r>> {
        if request.classified.is_some() {
            let generation = self.generation.load(Ordering::Acquire);
            if let Some(kept) = self.kept(generation, request) {
                return Some(kept);
            }
        }
        let (generation, snapshot) = self.look();
        classify_anew(generation, &snapshot, request)
    }

    /// As [`Engine::classify`], by a configuration and its number.
    #[inline]
    pub(crate) fn classify_by<'r>(
        &self,
        generation: u64,
        snapshot: &Snapshot,
        request: &Request<'r>,
    ) -> Option<Classification<'r>> {
        self.kept(generation, request).or_else(|| classify_anew(generation, snapshot, request))
    }

    /// What the host has kept of an earlier request with these attributes.
    #[inline]
    fn kept<'r>(&self, generation: u64, request: &Request<'r>) -> Option<Classification<'r>> {
        let kept = request.classified.filter(|_| self.details.is_none())?;
        let (flow, flow_hash) = kept.get(generation)?;
        Some(Classification { flow, flow_hash, distinguisher: "" })
    }

    /// A request arrives: it is classified, and granted, queued or refused.
    pub(crate) fn begin(&self, request: &Request<'_>, may_wait: bool) -> Result<Begun, AdmitError> {
        self.begin_here(request, may_wait)
    }

    /// As [`Engine::begin`], for callers that take the result apart at once.
    #[inline(always)]
    pub(crate) fn begin_here(&self, request: &Request<'_>, may_wait: bool) -> Result<Begun, AdmitError> {
        loop {
            let Some(class) = self.classify(request) else { return Err(AdmitError::OutOfMemory) };
            // Before the gate's exchange: the time of an event lies within its call.
            let now = self.clock.now();
            // If the level has been retired, the snapshot was changed before: the next look finds another level.
            let count = |flow, wanted, seats| {
                self.count(flow, |counters| counters.admitted(wanted, seats));
            };
            if let Some(begun) = self.enter(now, class, request, may_wait, count) {
                return begun;
            }
        }
    }

    /// A request arrives at a level; `count` counts it if it is admitted at once, by its flow, what it wanted and what it
    /// got. `None` when the level has been retired.
    #[inline]
    pub(crate) fn enter(
        &self,
        now: u64,
        class: Classification<'_>,
        request: &Request<'_>,
        may_wait: bool,
        count: impl FnOnce(Flow, u64, u64),
    ) -> Option<Result<Begun, AdmitError>> {
        let Classification { flow, flow_hash, distinguisher } = class;
        let Some(level) = self.level(flow) else { return Some(Err(AdmitError::OutOfMemory)) };
        let asked = GateRequest { flow_hash, work: request.work };
        let started = if may_wait { level.gate.start(now, asked) } else { level.gate.try_start(now, asked) };
        let wanted = request.work.max_seats();
        let watch = request.attributes.verb == "watch";
        Some(match started {
            Started::Running(ticket) => {
                self.note(flow, &ticket, request, distinguisher);
                let work = level.gate.request(&ticket).map_or(request.work, |granted| granted.work);
                let (seats, latency) = (work.max_seats(), work.additional_latency);
                count(flow, wanted, seats);
                self.count_clipped(flow, wanted, seats);
                let admitted = Admitted { flow, seats, latency, arrival: now, start: now, watch };
                Ok(Begun::Running(admitted, ticket))
            }
            Started::Pending(ticket) => {
                self.note(flow, &ticket, request, distinguisher);
                // Unless another thread is about to put it there, it is in its queue by now.
                let length = level.gate.queue_length(&ticket);
                self.count(flow, |counters| counters.queued(wanted, length));
                let own = request.wait_limit.map_or(u64::MAX, nanoseconds);
                let limit = self.wait_limits.get(&*level.name).copied().unwrap_or(self.wait_limit).min(own);
                let deadline = now.saturating_add(limit);
                let latency = request.work.additional_latency;
                let joined = length > 0;
                let waiting =
                    Waiting { flow, wanted, latency, arrival: now, deadline, watch, joined, ticket };
                if self.is_forked() {
                    self.abandon(waiting);
                    return Some(Err(AdmitError::Forked));
                }
                Ok(Begun::Waiting(waiting))
            }
            Started::Refused(reason) => {
                self.count(flow, |counters| counters.refused(wanted, reason));
                Err(self.rejected(flow, reason, now))
            }
            Started::Retired => return None,
            Started::Invalid(StartError::Estimate) => Err(AdmitError::Estimate),
            Started::Invalid(StartError::OutOfMemory) => Err(AdmitError::OutOfMemory),
        })
    }

    fn note(&self, flow: Flow, ticket: &Ticket, request: &Request<'_>, distinguisher: &str) {
        if let Some(details) = &self.details {
            details.note(flow, ticket, &request.attributes, self.schema_name(flow), distinguisher);
        }
    }

    fn forget_details(&self, flow: Flow, ticket: &Ticket) {
        if let Some(details) = &self.details {
            details.forget(flow, ticket);
        }
    }

    /// A waiting request has been decided.
    pub(crate) fn settle(
        &self,
        waiting: Waiting,
        decision: Decision,
    ) -> Result<(Admitted, Ticket), AdmitError> {
        let now = self.clock.now();
        match decision {
            Decision::Granted => {
                let (waiting, ticket) = waiting.apart();
                Ok(self.granted(&waiting, ticket, now))
            }
            Decision::Refused(reason) => {
                let Waiting { flow, wanted, arrival, joined, ticket, .. } = waiting;
                self.forget_details(flow, &ticket);
                let length = self.queue_length(flow, &ticket, joined);
                if let Some(level) = self.level(flow) {
                    level.gate.forget(ticket);
                }
                self.count(flow, |c| c.left(wanted, reason, now.saturating_sub(arrival), length));
                Err(self.rejected(flow, reason, now))
            }
        }
    }

    /// The length of the queue of a request that waits no more, or 0 if that has been counted.
    fn queue_length(&self, flow: Flow, ticket: &Ticket, joined: bool) -> u32 {
        if joined { 0 } else { self.level(flow).map_or(0, |level| level.gate.queue_length(ticket)) }
    }

    fn granted(&self, wait: &Wait, ticket: Ticket, now: u64) -> (Admitted, Ticket) {
        let Wait { flow, wanted, latency, arrival, watch, joined } = *wait;
        let granted = self.level(flow).and_then(|level| level.gate.request(&ticket));
        let (seats, latency) = granted
            .map_or((wanted, latency), |request| (request.work.max_seats(), request.work.additional_latency));
        let length = match self.queue_length(flow, &ticket, joined) {
            0 if !joined => 1, // granted as it joined, while this thread thought that it would wait
            length => length,
        };
        self.count(flow, |c| c.dispatched(wanted, seats, now.saturating_sub(arrival), length));
        self.count_clipped(flow, wanted, seats);
        (Admitted { flow, seats, latency, arrival, start: now, watch }, ticket)
    }

    /// A waiting request gives up. `Ok` when it had been granted.
    pub(crate) fn withdraw(&self, waiting: Waiting, cause: Cause) -> Result<(Admitted, Ticket), AdmitError> {
        let now = self.clock.now();
        let Some(level) = self.level(waiting.flow) else { return Err(AdmitError::OutOfMemory) };
        let (wait, ticket) = waiting.apart();
        let Wait { flow, wanted, arrival, joined, .. } = wait;
        self.forget_details(flow, &ticket);
        let length = self.queue_length(flow, &ticket, joined);
        let reason = match level.gate.cancel(now, ticket, cause) {
            Withdrawn::Running(ticket) => {
                return Ok(self.granted(&wait, ticket, now));
            }
            Withdrawn::Refused(reason) => reason,
            Withdrawn::Gone => self.departure(cause),
        };
        self.count(flow, |c| c.left(wanted, reason, now.saturating_sub(arrival), length));
        Err(self.rejected(flow, reason, now))
    }

    /// A waiting request is dropped: a grant that has come meanwhile is passed on.
    pub(crate) fn abandon(&self, waiting: Waiting) {
        let now = self.clock.now();
        let Some(level) = self.level(waiting.flow) else { return };
        let (Wait { flow, wanted, arrival, joined, .. }, ticket) = waiting.apart();
        self.forget_details(flow, &ticket);
        let length = self.queue_length(flow, &ticket, joined);
        let reason = match level.gate.cancel(now, ticket, Cause::Caller) {
            Withdrawn::Running(ticket) => {
                level.gate.finish(now, ticket);
                self.departure(Cause::Caller)
            }
            Withdrawn::Refused(reason) => reason,
            Withdrawn::Gone => self.departure(Cause::Caller),
        };
        self.count(flow, |c| c.left(wanted, reason, now.saturating_sub(arrival), length));
    }

    /// The reason of a request that left its queue: always `time-out` in the exact mode, as in the reference.
    fn departure(&self, cause: Cause) -> Reason {
        if cause == Cause::TimeOut || self.mode == Mode::Exact { Reason::TimeOut } else { Reason::Cancelled }
    }

    /// A running request ends.
    pub(crate) fn finish(&self, admitted: &Admitted, ticket: Ticket) {
        let now = self.clock.now();
        self.end(now, admitted, ticket);
        let executed = now.saturating_sub(admitted.start);
        let Admitted { flow, seats, watch, .. } = *admitted;
        self.count(flow, |counters| counters.finished(seats, executed, watch));
    }

    /// A running request ends; it is to be counted by the caller.
    #[inline]
    pub(crate) fn end(&self, now: u64, admitted: &Admitted, ticket: Ticket) {
        let Admitted { flow, seats, latency, .. } = *admitted;
        self.forget_details(flow, &ticket);
        if let Some(level) = self.level(flow) {
            level.gate.finish(now, ticket);
        }
        if latency > 0 {
            self.count(flow, |counters| counters.lingers(now, now.saturating_add(latency), seats));
        }
    }

    pub(crate) fn count(&self, flow: Flow, with: impl FnOnce(&Counters)) {
        if let Some(counters) = self.counters(flow) {
            with(counters);
        }
    }

    /// The reference takes the clipped width of a request out of its queue, and so leaves the rest in for ever.
    fn count_clipped(&self, flow: Flow, wanted: u64, seats: u64) {
        if seats < wanted && self.mode == Mode::Exact {
            self.count(flow, |counters| counters.clipped(wanted.wrapping_sub(seats)));
        }
    }

    fn rejected(&self, flow: Flow, reason: Reason, now: u64) -> AdmitError {
        let (level, flow_schema) = match (self.level(flow), self.schemas.get(flow.schema)) {
            (Some(level), Some(schema)) => (level, &schema.name),
            _ => return AdmitError::OutOfMemory,
        };
        let seconds = level.retry_after.record((now / 1_000_000_000) as i64);
        AdmitError::Rejected(Rejected {
            reason,
            retry_after: Duration::from_secs(seconds),
            level: Arc::clone(&level.name),
            flow_schema: Arc::clone(flow_schema),
        })
    }

    /// Whether this process is a child of the one that made the engine: nobody serves its timers.
    fn is_forked(&self) -> bool {
        std::process::id() != self.process
    }

    /// Does everything that is due by `now`.
    pub(crate) fn serve_timers(&self, now: u64) {
        while let Some(task) = self.timers.pop_due(now) {
            match task {
                Task::Tick(level) => {
                    if let Some(level) = self.levels.get(level as usize) {
                        level.tick(now);
                    }
                }
                Task::Wake(waker) => waker.wake(),
                Task::Adjust => self.adjust_on_time(now),
            }
        }
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.timers.stop();
    }
}
