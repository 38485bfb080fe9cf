//! Applies a trace's events to our core and writes the same lines as the reference program.

use std::collections::HashMap;
use std::fmt::Write;

use apf_core::{
    Answer, Arrival, Arrived, Cancelled, Counters, DemandPeriod, Grant, Level, Mode, Reason, RequestId,
    RequestState, Sink, WorkEstimate,
};

use crate::Failure;
use crate::roster::Roster;
use crate::state;
use crate::trace::{Event, EventKind, LevelSpec, Trace};

/// A level of our core under a trace.
#[derive(Debug)]
pub struct Driver {
    level: Level,
    requests: Requests,
    /// Words of the current event's line.
    decisions: String,
    /// Events that named a request in the wrong state.
    skipped: u64,
}

/// The trace's requests by state; requests that are over are forgotten.
#[derive(Debug, Default)]
struct Requests {
    handles: HashMap<u64, RequestId>,
    waiting: Roster,
    executing: Roster,
}

/// Notes grants as words and keeps the rosters.
struct Recorder<'a> {
    requests: &'a mut Requests,
    decisions: &'a mut String,
}

impl Sink for Recorder<'_> {
    fn grant(&mut self, grant: Grant) -> Answer {
        word(self.decisions, "run", grant.token, grant.queue);
        self.requests.waiting.remove(grant.token);
        self.requests.executing.add(grant.token);
        self.requests.handles.insert(grant.token, grant.id);
        Answer::Taken
    }
}

fn word(line: &mut String, what: &str, id: u64, queue: Option<u32>) {
    // Writing to a string cannot fail.
    let _ = write!(line, " {what}:{id}");
    if let Some(queue) = queue {
        let _ = write!(line, "@{queue}");
    }
}

/// The word for a period of seat demand.
pub(crate) fn demand_word(period: &DemandPeriod) -> String {
    let (average, deviation) =
        if period.duration > 0.0 { (period.average, period.deviation) } else { (0.0, 0.0) };
    let mut word = "demand".to_owned();
    for x in [period.duration, average, deviation, period.high_watermark] {
        let bits = if x.is_nan() { 0 } else { x.to_bits() };
        let _ = write!(word, ":{bits:016x}");
    }
    word
}

impl Driver {
    /// A new level at time `start`.
    ///
    /// # Errors
    ///
    /// When the core refuses the configuration.
    pub fn new(mode: Mode, spec: LevelSpec, start: u64) -> Result<Self, Failure> {
        let level = Level::new(mode, spec.queuing, spec.limit, start)
            .map_err(|e| Failure::Core(format!("level {spec}: {e}")))?;
        Ok(Self { level, requests: Requests::default(), decisions: String::new(), skipped: 0 })
    }

    /// The level as it is after the latest event.
    pub fn level(&self) -> &Level {
        &self.level
    }

    /// The requests that wait.
    pub fn waiting(&self) -> &Roster {
        &self.requests.waiting
    }

    /// The requests that execute.
    pub fn executing(&self) -> &Roster {
        &self.requests.executing
    }

    /// The first request, waiting or executing, of the queue with index 0, if its queue has one.
    pub fn in_first_queue(&self) -> Option<(u64, RequestState)> {
        let waiting = self.level.waiting(0).next();
        let request = waiting.or_else(|| self.level.executing().find(|request| request.queue == Some(0)))?;
        Some((request.token, request.state))
    }

    /// Events so far that named a request in the wrong state.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// What the level has counted.
    pub fn counters(&self) -> Counters {
        self.level.counters()
    }

    /// Applies one event.
    ///
    /// # Errors
    ///
    /// When the core refuses what the trace's rules allow.
    pub fn apply(&mut self, event: &Event) -> Result<(), Failure> {
        let at = event.at;
        self.decisions.clear();
        let Self { level, requests, decisions, .. } = self;
        let mut sink = Recorder { requests, decisions };
        // Releases come first, each at its own time: whether this event is skipped depends on them.
        while let Some(due) = level.next_release().filter(|due| *due <= at) {
            level.tick(due, &mut sink);
        }
        match event.kind {
            EventKind::Arrive { id, hash, initial_seats, final_seats, latency } => {
                let work = WorkEstimate { initial_seats, final_seats, additional_latency: latency };
                let arrival = Arrival { flow_hash: hash, work, token: id };
                let arrived = level
                    .arrive(at, arrival, &mut sink)
                    .map_err(|e| Failure::Core(format!("arrival of {id}: {e}")))?;
                match arrived {
                    Arrived::Executing(_) => {}
                    Arrived::Waiting(handle) => {
                        sink.requests.handles.insert(id, handle);
                        sink.requests.waiting.add(id);
                        let queue = level.request(handle).and_then(|request| request.queue);
                        word(sink.decisions, "wait", id, queue);
                    }
                    Arrived::Rejected(Reason::QueueFull) => {
                        word(sink.decisions, "reject-queue-full", id, None)
                    }
                    Arrived::Rejected(Reason::ConcurrencyLimit) => {
                        word(sink.decisions, "reject-concurrency-limit", id, None);
                    }
                    Arrived::Rejected(_) | Arrived::Gone => {
                        return Err(Failure::Core(format!("arrival of {id} ended as {arrived:?}")));
                    }
                }
            }
            EventKind::Finish { id } => match sink.requests.handles.get(&id).copied() {
                Some(handle) if sink.requests.executing.remove(id) => {
                    sink.requests.handles.remove(&id);
                    level
                        .finish(at, handle, &mut sink)
                        .map_err(|e| Failure::Core(format!("finish of {id}: {e}")))?;
                }
                _ => self.skip(id),
            },
            EventKind::Cancel { id, cause } => match sink.requests.handles.get(&id).copied() {
                Some(handle) if sink.requests.waiting.remove(id) => {
                    sink.requests.handles.remove(&id);
                    // The cancelled request's word comes before those that its leaving lets start.
                    word(sink.decisions, "cancel", id, None);
                    let cancelled = level
                        .cancel(at, handle, cause, &mut sink)
                        .map_err(|e| Failure::Core(format!("cancel of {id}: {e}")))?;
                    if cancelled == Cancelled::Executing {
                        return Err(Failure::Core(format!("cancel of {id}, which waits, came too late")));
                    }
                }
                _ => self.skip(id),
            },
            EventKind::Reconfigure(spec) => level
                .reconfigure(at, spec.queuing, spec.limit, &mut sink)
                .map_err(|e| Failure::Core(format!("reconfigure {spec}: {e}")))?,
            EventKind::Touch => level.tick(at, &mut sink),
            EventKind::Demand => {
                let period = level.close_demand_period(at, &mut sink);
                decisions.push(' ');
                decisions.push_str(&demand_word(&period));
            }
        }
        Ok(())
    }

    fn skip(&mut self, id: u64) {
        self.skipped += 1;
        word(&mut self.decisions, "skip", id, None);
    }

    /// What the latest event decided, each word after a space.
    pub fn decisions(&self) -> &str {
        &self.decisions
    }

    /// The line of the latest event, which is the `number`th, without its end.
    pub fn line(&self, number: usize) -> String {
        format!("{number}{} = {:016x}", self.decisions, state::digest(&self.level))
    }
}

/// Runs a whole trace and returns its lines; after the event `full` also the state.
///
/// # Errors
///
/// When the core refuses what the trace's rules allow.
pub fn run(trace: &Trace, full: impl Fn(usize) -> bool) -> Result<Vec<String>, Failure> {
    let mut driver = Driver::new(trace.mode, trace.level, trace.start)?;
    let mut lines = Vec::with_capacity(trace.events.len());
    for (number, event) in (1..).zip(&trace.events) {
        driver.apply(event)?;
        lines.push(driver.line(number));
        if full(number) {
            lines.extend(state::describe(driver.level()).lines().map(str::to_owned));
        }
    }
    Ok(lines)
}
