//! The dispatcher that people embed.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use apf_config::plan::{Plan, PlanError, total_seats};
use apf_config::{Objects, bootstrap};
use apf_core::{FlowHash, Mode};
use arc_swap::ArcSwap;

use crate::admit::{self, Admit, AnyAdmit, OwnedAdmit};
use crate::arena::Arena;
use crate::clock::Clock;
use crate::configure::{ADJUSTMENT_PERIOD, Configuration};
use crate::details::{Details, LevelCopy};
use crate::engine::{Begun, Engine, EngineRef, Request, Snapshot};
use crate::permit::{AnyPermit, OwnedPermit, Permit};
use crate::rejected::AdmitError;
use crate::stats::Stats;
use crate::timers::Timers;

/// Admits requests by the rules of API Priority and Fairness. Clones share one engine.
///
/// Every method may be called from any number of threads at once. To start when seats are free, to finish and to give up never
/// wait for another thread; see [`gate`](crate::gate) for what that means exactly. Beside the gates there is one list of timers
/// behind a short lock: for futures that wait, and for seats that are kept after a request's end.
///
/// # Fork
///
/// A forked child has the memory but not the thread that serves timers, and perhaps a level in the middle of an event:
/// use no dispatcher of the parent there, make a new one. A request that would wait in a child is answered
/// [`AdmitError::Forked`].
#[derive(Debug, Clone)]
pub struct Dispatcher {
    engine: Arc<Engine>,
}

/// Settings of a [`Dispatcher`].
#[derive(Debug, Clone)]
pub struct Builder {
    seats: i64,
    objects: Option<Objects>,
    mode: Mode,
    flow_hash: Option<FlowHash>,
    clock: Option<Clock>,
    wait_limit: Duration,
    wait_limits: HashMap<String, u64>,
    keep_details: bool,
}

/// Why there is no dispatcher.
#[derive(Debug)]
pub enum BuildError {
    /// The configuration or the number of seats is refused.
    Plan(PlanError),
    /// The thread that serves timers cannot be started; without it nothing would ever time out.
    Thread(std::io::Error),
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plan(error) => error.fmt(f),
            Self::Thread(error) => write!(f, "the thread for timers: {error}"),
        }
    }
}

impl std::error::Error for BuildError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Plan(error) => Some(error),
            Self::Thread(error) => Some(error),
        }
    }
}

impl From<PlanError> for BuildError {
    fn from(error: PlanError) -> Self {
        Self::Plan(error)
    }
}

pub(crate) fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

impl Builder {
    /// Total seats of the server, 1..=2147483647; 600 unless set, as kube-apiserver's flags add up to.
    #[must_use]
    pub const fn seats(mut self, seats: i64) -> Self {
        self.seats = seats;
        self
    }

    /// The configuration; the mandatory and suggested objects unless set. Mandatory ones that are missing are imagined,
    /// suggested ones are not: [`bootstrap::with_own`] puts own objects over both.
    #[must_use]
    pub fn objects(mut self, objects: Objects) -> Self {
        self.objects = Some(objects);
        self
    }

    /// [`Mode::Exact`] for kube-apiserver's behaviour to the letter.
    #[must_use]
    pub const fn mode(mut self, mode: Mode) -> Self {
        self.mode = mode;
        self
    }

    /// The flow hash; the mode's unless set.
    #[must_use]
    pub const fn flow_hash(mut self, hash: FlowHash) -> Self {
        self.flow_hash = Some(hash);
        self
    }

    /// The clock; [`Clock::fastest`] unless set. With a manual clock the host calls [`Dispatcher::run_timers`].
    #[must_use]
    pub fn clock(mut self, clock: Clock) -> Self {
        self.clock = Some(clock);
        self
    }

    /// How long a request may wait in a queue; 15 s unless set.
    #[must_use]
    pub const fn queue_wait_limit(mut self, limit: Duration) -> Self {
        self.wait_limit = limit;
        self
    }

    /// How long a request may wait in the queues of one level, instead of [`Builder::queue_wait_limit`]. It applies to
    /// whatever level has this name, now or later.
    #[must_use]
    pub fn queue_wait_limit_of(mut self, level: &str, limit: Duration) -> Self {
        self.wait_limits.insert(level.to_owned(), nanoseconds(limit));
        self
    }

    /// Keeps of each request what debug dumps show, at the price of a lock and several allocations a request.
    #[must_use]
    pub const fn keep_details(mut self) -> Self {
        self.keep_details = true;
        self
    }

    /// Makes the dispatcher and, unless its clock is manual, the thread that serves its timers.
    ///
    /// # Errors
    ///
    /// [`BuildError`]: the number of seats is out of range, an object is there twice, or there is no thread to be had.
    pub fn build(self) -> Result<Dispatcher, BuildError> {
        let server_limit = total_seats(self.seats)?;
        let objects = self.objects.unwrap_or_else(bootstrap::all);
        let hash = self.flow_hash.unwrap_or(self.mode.flow_hash());
        // An empty plan first: the configuration then takes effect as any later one does.
        let empty = Plan::compile(&Objects::default(), server_limit, hash)?;
        let engine = Arc::new(Engine {
            clock: self.clock.unwrap_or_else(Clock::fastest),
            mode: self.mode,
            server_limit,
            wait_limit: nanoseconds(self.wait_limit),
            wait_limits: self.wait_limits,
            levels: Arena::new(),
            schemas: Arena::new(),
            snapshot: ArcSwap::from_pointee(Snapshot { plan: empty, flows: Vec::new() }),
            generation: AtomicU64::new(0),
            configuration: Mutex::new(Configuration::default()),
            timers: Arc::new(Timers::default()),
            details: self.keep_details.then(Details::default),
            fair_fraction: AtomicU64::new(0),
            process: std::process::id(),
        });
        engine.configure(objects)?;
        engine.timers.adjust_at(engine.clock.now().saturating_add(ADJUSTMENT_PERIOD));
        if engine.clock.runs() {
            let (timers, clock) = (Arc::clone(&engine.timers), engine.clock.clone());
            let engine = Arc::downgrade(&engine);
            std::thread::Builder::new()
                .name("apf-timers".to_owned())
                .spawn(move || serve(&timers, &clock, &engine))
                .map_err(BuildError::Thread)?;
        }
        Ok(Dispatcher { engine })
    }
}

/// The timer thread: ends with its engine.
fn serve(timers: &Timers, clock: &Clock, engine: &Weak<Engine>) {
    while timers.sleep(|| clock.now()) {
        let Some(engine) = engine.upgrade() else { return };
        engine.serve_timers(clock.now());
    }
}

fn try_admit<E: EngineRef>(engine: E, request: &Request<'_>) -> Result<AnyPermit<E>, AdmitError> {
    match engine.begin(request, false)? {
        Begun::Running(admitted, ticket) => Ok(AnyPermit::new(engine, admitted, ticket)),
        Begun::Waiting(waiting) => {
            engine.abandon(waiting);
            Err(AdmitError::OutOfMemory)
        }
    }
}

impl Dispatcher {
    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Settings to start from: 600 seats, the mandatory and suggested objects, the default mode.
    pub fn builder() -> Builder {
        Builder {
            seats: 600,
            objects: None,
            mode: Mode::default(),
            flow_hash: None,
            clock: None,
            wait_limit: Duration::from_secs(15),
            wait_limits: HashMap::new(),
            keep_details: false,
        }
    }

    /// Admits a request now or not at all. It is never queued, and a refusal counts as any other, also for
    /// `Retry-After`. While another thread is at work in its level, this may
    /// refuse although a delayed release that has just fallen due would have made room.
    ///
    /// # Errors
    ///
    /// [`AdmitError`]; `concurrency-limit` is the reason when it would have had to wait.
    pub fn try_admit<'a, 'r>(&'a self, request: impl Into<Request<'r>>) -> Result<Permit<'a>, AdmitError> {
        try_admit(&*self.engine, &request.into())
    }

    /// As [`Dispatcher::try_admit`], for permits that outlive this handle.
    ///
    /// # Errors
    ///
    /// As there.
    pub fn try_admit_owned<'r>(&self, request: impl Into<Request<'r>>) -> Result<OwnedPermit, AdmitError> {
        try_admit(Arc::clone(&self.engine), &request.into())
    }

    /// Admits a request, waiting in its queue if it must. It takes its place now, not when the future is first polled;
    /// nothing of `request` is kept. Works on any executor.
    ///
    /// It may hold seats from then on, whether or not it is polled: poll it or drop it. From its first poll on it is
    /// woken when its time is up.
    ///
    /// # Errors
    ///
    /// The future gives [`AdmitError`]: refused at once, or `time-out` when the wait limit passes.
    pub fn admit<'a, 'r>(&'a self, request: impl Into<Request<'r>>) -> Admit<'a> {
        AnyAdmit::new(&*self.engine, &request.into())
    }

    /// As [`Dispatcher::admit`], for tasks that outlive this handle.
    pub fn admit_owned<'r>(&self, request: impl Into<Request<'r>>) -> OwnedAdmit {
        AnyAdmit::new(Arc::clone(&self.engine), &request.into())
    }

    /// Admits a request, blocking the thread while it waits in its queue.
    ///
    /// # Errors
    ///
    /// [`AdmitError`]: refused at once, or `time-out` when the wait limit (the level's or the request's own) passes.
    pub fn admit_blocking<'a, 'r>(
        &'a self,
        request: impl Into<Request<'r>>,
    ) -> Result<Permit<'a>, AdmitError> {
        admit::block(&*self.engine, &request.into())
    }

    /// As [`Dispatcher::admit_blocking`], for permits that outlive this handle.
    ///
    /// # Errors
    ///
    /// As there.
    pub fn admit_blocking_owned<'r>(
        &self,
        request: impl Into<Request<'r>>,
    ) -> Result<OwnedPermit, AdmitError> {
        admit::block(Arc::clone(&self.engine), &request.into())
    }

    /// Replaces the whole configuration while requests are in flight; validate it first, by
    /// [`load`](apf_config::load()). As in kube-apiserver, a FlowSchema without its level matches nothing, and a level that
    /// cannot be set up is taken as absent, both without an error. Running requests keep their seats and waiting ones
    /// their places; a level that is gone takes no new requests and goes when it is empty.
    ///
    /// # Errors
    ///
    /// [`PlanError`]: an object is there twice; nothing has changed.
    ///
    /// # Blocking
    ///
    /// Waits for its turn at each level, and for other configuration changes; admission does not wait for it.
    pub fn reconfigure(&self, objects: Objects) -> Result<(), PlanError> {
        self.engine.configure(objects)
    }

    /// Every number that the reference's metrics and dumps show, as values.
    ///
    /// # Blocking
    ///
    /// Waits for its turn at each level.
    pub fn stats(&self) -> Stats {
        Stats::read(&self.engine)
    }

    /// Copies of all levels, by name, to make debug dumps from.
    ///
    /// # Blocking
    ///
    /// Waits for its turn at each level, and keeps the level's role while it copies: not for busy monitoring.
    pub fn copy_levels(&self) -> Vec<LevelCopy> {
        self.engine.copy_levels()
    }

    /// Does what is due by the clock's time: for hosts with a manual clock. Others have a thread for it.
    pub fn run_timers(&self) {
        self.engine.serve_timers(self.engine.clock.now());
    }

    /// When something is due next, nanoseconds since the clock's origin, for hosts with a manual clock. There is always
    /// something: the next adjustment of the limits, if nothing else.
    pub fn next_timer(&self) -> Option<u64> {
        self.engine.timers.next()
    }

    /// Requests and operations that have not given their place in a level back yet. Only meaningful while nothing is
    /// under way: for leak checks.
    #[doc(hidden)]
    pub fn nodes_in_use(&self) -> usize {
        self.engine.levels.iter().map(|level| level.gate.nodes_in_use()).sum()
    }

    /// The clock it runs on.
    pub fn clock(&self) -> &Clock {
        &self.engine.clock
    }

    /// The proportion of its target that every level has (`seat_fair_frac`).
    pub fn seat_fair_fraction(&self) -> f64 {
        f64::from_bits(self.engine.fair_fraction.load(Ordering::Relaxed))
    }
}
