//! A request that runs: it owns its seats.

use std::fmt;
use std::sync::Arc;

use crate::engine::{Admitted, Engine, EngineRef};
use crate::gate::Ticket;

/// Seats in use. Dropping it finishes the request: its seats come back now, or after its additional latency.
///
/// # Leaks
///
/// A permit that is never dropped (`mem::forget`, a reference cycle, a thread that never ends) keeps its seats.
#[must_use = "dropping a permit finishes the request"]
pub struct AnyPermit<E: EngineRef> {
    engine: E,
    admitted: Admitted,
    /// `None` once it has been given back.
    ticket: Option<Ticket>,
}

/// A permit that borrows its dispatcher.
pub type Permit<'a> = AnyPermit<&'a Engine>;

/// A permit that keeps its dispatcher alive, for tasks that outlive the scope they were admitted in.
pub type OwnedPermit = AnyPermit<Arc<Engine>>;

impl<E: EngineRef> fmt::Debug for AnyPermit<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Permit")
            .field("level", &self.level())
            .field("flow_schema", &self.flow_schema())
            .field("seats", &self.admitted.seats)
            .field("held", &self.ticket.is_some())
            .finish()
    }
}

impl<E: EngineRef> AnyPermit<E> {
    pub(crate) fn new(engine: E, admitted: Admitted, ticket: Ticket) -> Self {
        Self { engine, admitted, ticket: Some(ticket) }
    }

    /// The name of its priority level.
    pub fn level(&self) -> &str {
        self.engine.level_name(self.admitted.flow)
    }

    /// The name of its FlowSchema.
    pub fn flow_schema(&self) -> &str {
        self.engine.schema_name(self.admitted.flow)
    }

    /// The seats it holds: the larger of its initial and final ones.
    pub const fn seats(&self) -> u64 {
        self.admitted.seats
    }

    /// How long it waited, nanoseconds; 0 when it was admitted at once.
    pub const fn waited_ns(&self) -> u64 {
        self.admitted.start.saturating_sub(self.admitted.arrival)
    }

    /// Finishes the request, as dropping does.
    pub fn finish(self) {}

    /// Gives the seats back although the caller goes on: for watches, whose cost ends with their initialisation.
    /// Doing so twice changes nothing.
    pub fn release_early(&mut self) {
        if let Some(ticket) = self.ticket.take() {
            self.engine.finish(&self.admitted, ticket);
        }
    }
}

impl Permit<'_> {
    /// What ends it, if it is this engine's and has not been given back; otherwise it is given back now.
    #[inline]
    pub(crate) fn into_parts(mut self, engine: &Engine) -> Option<(Admitted, Ticket)> {
        if !std::ptr::eq(self.engine, engine) {
            return None;
        }
        Some((self.admitted, self.ticket.take()?))
    }
}

impl<E: EngineRef> Drop for AnyPermit<E> {
    fn drop(&mut self) {
        self.release_early();
    }
}
