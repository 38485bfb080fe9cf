//! Requests that their host has classified by itself.

use std::time::Duration;

use apf_core::{FlowHash, WorkEstimate};

use crate::admit::{Admit, AnyAdmit};
use crate::dispatcher::Dispatcher;
use crate::engine::{Begun, Engine, Flow, Request};
use crate::permit::{AnyPermit, Permit};
use crate::rejected::AdmitError;
use apf_config::attributes::RequestAttributes;

/// The FlowSchema that these requests are counted under: no object can have this name.
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

impl Engine {
    /// `None` when there is no such level any more.
    fn begin_preclassified(
        &self,
        request: &Preclassified,
        may_wait: bool,
    ) -> Option<Result<Begun, AdmitError>> {
        let schema = request.level as usize;
        let slot = self.schemas.get(schema).filter(|slot| &*slot.name == HOST)?;
        let flow = Flow { level: slot.level, schema };
        let asked = Request {
            wait_limit: request.wait_limit,
            ..Request::from(RequestAttributes::non_resource("", "")).with_work(request.work)
        };
        self.enter(self.clock.now(), flow, request.flow_hash, &asked, "", may_wait)
    }
}

impl Dispatcher {
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

    /// As [`Dispatcher::admit`], without classification. `None` when there is no such level any more.
    pub fn admit_preclassified(&self, request: &Preclassified) -> Option<Admit<'_>> {
        let engine = self.engine();
        engine.begin_preclassified(request, true).map(|begun| AnyAdmit::of(engine, begun))
    }

    /// As [`Dispatcher::try_admit`], without classification. `None` when there is no such level any more.
    ///
    /// # Errors
    ///
    /// As there.
    pub fn try_admit_preclassified(&self, request: &Preclassified) -> Option<Result<Permit<'_>, AdmitError>> {
        let engine = self.engine();
        Some(match engine.begin_preclassified(request, false)? {
            Ok(Begun::Running(admitted, ticket)) => Ok(AnyPermit::new(engine, admitted, ticket)),
            Ok(Begun::Waiting(waiting)) => {
                engine.abandon(waiting);
                Err(AdmitError::OutOfMemory)
            }
            Err(error) => Err(error),
        })
    }

    /// How flows are hashed.
    pub fn flow_hash(&self) -> FlowHash {
        self.engine().snapshot.load().plan.flow_hash()
    }
}
