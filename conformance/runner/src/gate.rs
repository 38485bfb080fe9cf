//! Runs a trace through the gate beside the bare core: what can be seen from outside, and every state digest, must be equal.
//!
//! The gate's clock does not go back. Where a trace's does, both sides get the latest time so far.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::task::{Wake, Waker};

use apf::gate::{Decision, Gate, Held, NoTimers, Request, Started, Ticket, Withdrawn};
use apf_core::{Cause, DemandPeriod, Level, Mode, Reason, WorkEstimate};

use crate::Failure;
use crate::driver::{Driver, demand_word};
use crate::state;
use crate::trace::{Event, EventKind, LevelSpec, Trace};

/// A gate under a trace.
struct Gated {
    gate: Gate,
    waiting: HashMap<u64, Waiting>,
    running: HashMap<u64, Ticket>,
    words: Vec<String>,
}

struct Waiting {
    ticket: Ticket,
    woken: Arc<Woken>,
}

#[derive(Default)]
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// How much of a trace was compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Compared {
    /// Events that gave the same.
    pub events: usize,
    /// Those of them whose time was moved, for the clock had gone back.
    pub moved: usize,
}

/// Runs a trace on both.
///
/// # Errors
///
/// [`Failure::Core`] with the first event after which they differ, or what one side refused.
pub fn compare(trace: &Trace) -> Result<Compared, Failure> {
    let mut bare = Driver::new(trace.mode, trace.level, trace.start)?;
    let mut gated = Gated::new(trace.mode, trace.level, trace.start)?;
    let mut compared = Compared { events: 0, moved: 0 };
    let mut now = trace.start;
    for (number, event) in (1..).zip(&trace.events) {
        compared.moved += usize::from(event.at < now);
        now = now.max(event.at);
        let event = Event { at: now, ..*event };
        bare.apply(&event)?;
        if bare.counters().removals_refused > 0 {
            break;
        }
        gated.apply(&event)?;
        let ours = format!("{} = {:016x}", sorted(bare.decisions()), state::digest(bare.level()));
        let theirs = gated.line()?;
        if ours != theirs {
            return Err(Failure::Core(format!("event {number}: `{ours}`, through the gate `{theirs}`")));
        }
        compared.events += 1;
    }
    gated.end(now)?;
    Ok(compared)
}

/// The words of a line in an order that does not depend on who saw what first, without the queues, which the gate does not tell.
fn sorted(decisions: &str) -> String {
    let mut words: Vec<_> = decisions
        .split_whitespace()
        .map(|word| word.split_once('@').map_or(word, |(word, _)| word))
        .collect();
    words.sort_unstable();
    words.join(" ")
}

impl Gated {
    fn new(mode: Mode, spec: LevelSpec, start: u64) -> Result<Self, Failure> {
        let level = Level::new(mode, spec.queuing, spec.limit, start)
            .map_err(|e| Failure::Core(format!("level {spec}: {e}")))?;
        Ok(Self {
            gate: Gate::new(level, Arc::new(NoTimers)),
            waiting: HashMap::new(),
            running: HashMap::new(),
            words: Vec::new(),
        })
    }

    /// Has something done in the level's turn. At time 0 nothing moves: the latest time counts.
    fn control<R: Send + 'static>(
        &self,
        now: u64,
        operation: impl FnOnce(&mut Held<'_>) -> R + Send + 'static,
    ) -> Result<R, Failure> {
        let (send, receive) = mpsc::channel();
        let ticket = self
            .gate
            .control(now, move |held| _ = send.send(operation(held)))
            .map_err(|e| Failure::Core(format!("control: {e:?}")))?;
        self.gate.forget(ticket);
        receive.recv().map_err(|_| Failure::Core("a control operation was not carried out".to_owned()))
    }

    /// Notes who has been granted, and that it was woken.
    fn grants(&mut self) -> Result<(), Failure> {
        let granted: Vec<_> = self
            .waiting
            .iter()
            .filter(|(_, waiting)| self.gate.decision(&waiting.ticket) == Some(Decision::Granted))
            .map(|(id, _)| *id)
            .collect();
        for id in granted {
            let Some(Waiting { ticket, woken }) = self.waiting.remove(&id) else { continue };
            if !woken.0.load(Ordering::Relaxed) {
                return Err(Failure::Core(format!("{id} was granted and not woken")));
            }
            self.runs(id, ticket);
        }
        Ok(())
    }

    fn runs(&mut self, id: u64, ticket: Ticket) {
        self.words.push(format!("run:{id}"));
        self.running.insert(id, ticket);
    }

    fn apply(&mut self, event: &Event) -> Result<(), Failure> {
        let at = event.at;
        self.words.clear();
        // As the driver: whether the event is skipped depends on the releases before it.
        while let Some(due) = self.control(0, |held| held.level().next_release())?.filter(|due| *due <= at) {
            self.gate.tick(due);
        }
        self.grants()?;
        match event.kind {
            EventKind::Arrive { id, hash, initial_seats, final_seats, latency } => {
                let work = WorkEstimate { initial_seats, final_seats, additional_latency: latency };
                match self.gate.start(at, Request { flow_hash: hash, work }) {
                    Started::Running(ticket) => self.runs(id, ticket),
                    Started::Pending(mut ticket) => {
                        let woken = Arc::new(Woken::default());
                        if self.gate.poll(&mut ticket, &Waker::from(woken.clone())).is_some() {
                            return Err(Failure::Core(format!("arrival of {id}: pending and decided")));
                        }
                        self.words.push(format!("wait:{id}"));
                        self.waiting.insert(id, Waiting { ticket, woken });
                    }
                    Started::Refused(reason @ (Reason::QueueFull | Reason::ConcurrencyLimit)) => {
                        self.words.push(format!("reject-{reason}:{id}"));
                    }
                    other => return Err(Failure::Core(format!("arrival of {id} ended as {other:?}"))),
                }
            }
            EventKind::Finish { id } => match self.running.remove(&id) {
                Some(ticket) => self.gate.finish(at, ticket),
                None => self.words.push(format!("skip:{id}")),
            },
            EventKind::Cancel { id, cause } => match self.waiting.remove(&id) {
                Some(Waiting { ticket, .. }) => match self.gate.cancel(at, ticket, cause) {
                    Withdrawn::Gone => self.words.push(format!("cancel:{id}")),
                    other => return Err(Failure::Core(format!("cancel of {id} ended as {other:?}"))),
                },
                None => self.words.push(format!("skip:{id}")),
            },
            EventKind::Reconfigure(spec) => self
                .control(at, move |held| held.reconfigure(spec.queuing, spec.limit))?
                .map_err(|e| Failure::Core(format!("reconfigure {spec}: {e}")))?,
            EventKind::Touch => self.gate.tick(at),
            EventKind::Demand => {
                let period: DemandPeriod = self.control(at, |held| held.close_demand_period())?;
                self.words.push(demand_word(&period));
            }
        }
        self.grants()
    }

    fn line(&self) -> Result<String, Failure> {
        let digest = self.control(0, |held| state::digest(held.level()))?;
        Ok(format!("{} = {digest:016x}", sorted(&self.words.join(" "))))
    }

    /// Everybody leaves, and nothing is left.
    fn end(mut self, now: u64) -> Result<(), Failure> {
        for (_, waiting) in std::mem::take(&mut self.waiting) {
            if let Withdrawn::Running(ticket) = self.gate.cancel(now, waiting.ticket, Cause::Caller) {
                self.gate.finish(now, ticket);
            }
        }
        for (_, ticket) in std::mem::take(&mut self.running) {
            self.gate.finish(now, ticket);
        }
        match self.gate.nodes_in_use() {
            0 => Ok(()),
            nodes => Err(Failure::Core(format!("{nodes} nodes of the gate are lost"))),
        }
    }
}
