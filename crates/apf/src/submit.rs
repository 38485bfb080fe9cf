//! Requests for hosts that do not wait in a thread or a future at once: submitted singly or in batches, classified here
//! or by the host.

use std::sync::Arc;
use std::time::Duration;

use apf_config::attributes::RequestAttributes;
use apf_core::{FlowHash, WorkEstimate};
use arc_swap::Guard;

use crate::admit::{Admit, AnyAdmit};
use crate::dispatcher::Dispatcher;
use crate::engine::{Begun, Classification, Engine, Flow, Request, Snapshot};
use crate::permit::{AnyPermit, Permit};
use crate::rejected::AdmitError;
use crate::tally::Tally;

/// What became of a submission.
#[derive(Debug)]
pub enum Submitted<'a> {
    /// It runs.
    Admitted(Permit<'a>),
    /// It waits; poll it or drop it, as any [`Admit`].
    Waits(Admit<'a>),
    /// It does not run.
    Refused(AdmitError),
}

/// The FlowSchema that requests classified by their host are counted under: no object can have this name.
const HOST: &str = "(host)";

/// A request whose host knows its level and its flow.
#[derive(Debug, Clone, Copy)]
pub struct Preclassified {
    /// Its level, as [`Dispatcher::level_number`] gives it.
    pub level: u32,
    /// Its flow: requests of one flow share queues. Any well-mixed number.
    pub flow_hash: u64,
    /// What it costs.
    pub work: WorkEstimate,
    /// How long it may wait at most; the level's queue-wait limit applies besides.
    pub wait_limit: Option<Duration>,
}

#[inline(always)]
fn submitted(engine: &Engine, begun: Result<Begun, AdmitError>) -> Submitted<'_> {
    match begun {
        Ok(Begun::Running(admitted, ticket)) => Submitted::Admitted(AnyPermit::new(engine, admitted, ticket)),
        Ok(waits) => Submitted::Waits(AnyAdmit::of(engine, Ok(waits))),
        Err(error) => Submitted::Refused(error),
    }
}

impl Dispatcher {
    /// Submits a request. With `may_wait` as [`Dispatcher::admit`], otherwise as [`Dispatcher::try_admit`].
    #[inline]
    pub fn submit(&self, request: &Request<'_>, may_wait: bool) -> Submitted<'_> {
        submitted(self.engine(), self.engine().begin_here(request, may_wait))
    }

    /// As [`Dispatcher::submit`], without classification. `None` when there is no such level any more.
    pub fn submit_preclassified(&self, request: &Preclassified, may_wait: bool) -> Option<Submitted<'_>> {
        self.batch().submit_preclassified(request, may_wait)
    }

    /// Begins a batch.
    pub fn batch(&self) -> Batch<'_> {
        let engine = self.engine();
        Batch { engine, now: engine.clock.now(), look: None, tally: Tally::default() }
    }

    /// The number of a level, for [`Preclassified`]. It is good until the level is removed; one that comes back has another.
    ///
    /// # Blocking
    ///
    /// For as long as a change of the configuration takes.
    pub fn level_number(&self, name: &str) -> Option<u32> {
        let engine = self.engine();
        let configuration = engine.configuration();
        let state = configuration.levels.get(name).filter(|state| !state.quiescing)?;
        // A place for the counts of the host's requests at this level stands for the level.
        u32::try_from(engine.flow(HOST, state.slot).schema).ok()
    }

    /// How flows are hashed.
    pub fn flow_hash(&self) -> FlowHash {
        self.engine().snapshot.load().plan.flow_hash()
    }
}

/// Requests that begin and end in a row: with one look at the clock, one at the configuration, and counted together.
/// Each takes effect at once, at the time when the batch began; statistics show them when it is dropped.
pub struct Batch<'a> {
    engine: &'a Engine,
    now: u64,
    /// Taken when a request has to be classified.
    look: Option<Look>,
    tally: Tally,
}

/// A configuration with its number.
struct Look {
    generation: u64,
    snapshot: Guard<Arc<Snapshot>>,
}

impl std::fmt::Debug for Batch<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Batch").field("now", &self.now).finish_non_exhaustive()
    }
}

impl<'a> Batch<'a> {
    /// As [`Dispatcher::submit`].
    #[inline]
    pub fn submit(&mut self, request: &Request<'_>, may_wait: bool) -> Submitted<'a> {
        let engine = self.engine;
        loop {
            let look = self.look.get_or_insert_with(|| {
                let (generation, snapshot) = engine.look();
                Look { generation, snapshot }
            });
            let Some(class) = engine.classify_by(look.generation, &look.snapshot, request) else {
                return Submitted::Refused(AdmitError::OutOfMemory);
            };
            let tally = &mut self.tally;
            let count = |flow, wanted, seats| tally.admitted(engine, flow, wanted, seats);
            match engine.enter(self.now, class, request, may_wait, count) {
                Some(begun) => return submitted(engine, begun),
                // The level has been retired: so has this configuration.
                None => self.look = None,
            }
        }
    }

    /// As [`Batch::submit`], without classification. `None` when there is no such level any more.
    #[inline]
    pub fn submit_preclassified(&mut self, request: &Preclassified, may_wait: bool) -> Option<Submitted<'a>> {
        let engine = self.engine;
        let schema = request.level as usize;
        let slot = engine.schemas.get(schema).filter(|slot| &*slot.name == HOST)?;
        let class = Classification {
            flow: Flow { level: slot.level, schema },
            flow_hash: request.flow_hash,
            distinguisher: "",
        };
        let asked = Request {
            wait_limit: request.wait_limit,
            ..Request::from(RequestAttributes::non_resource("", "")).with_work(request.work)
        };
        let tally = &mut self.tally;
        let count = |flow, wanted, seats| tally.admitted(engine, flow, wanted, seats);
        engine.enter(self.now, class, &asked, may_wait, count).map(|begun| submitted(engine, begun))
    }

    /// Finishes a request, as dropping its permit does; at once also if it is another dispatcher's.
    #[inline]
    pub fn finish(&mut self, permit: Permit<'a>) {
        if let Some((admitted, ticket)) = permit.into_parts(self.engine) {
            self.engine.end(self.now, &admitted, ticket);
            self.tally.finished(self.engine, self.now, &admitted);
        }
    }
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        self.tally.settle(self.engine);
    }
}
