//! Runs one fairness scenario on one level.

use apf_core::{Answer, Arrival, Arrived, Grant, Level, Mode, Reason, RequestId, Sink, WorkEstimate};

use super::file::{Client, Scenario};
use crate::error::Error;
use crate::event_queue::EventQueue;

/// What a run gave.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Outcome {
    /// For each evaluation, each client's average of initial seats in use.
    pub(super) averages: Vec<Vec<f64>>,
    /// Rejected calls.
    pub(super) rejected: u64,
    /// Of those, rejected for another reason than the expected one.
    pub(super) rejected_otherwise: u64,
    /// Calls made, rejected ones too.
    pub(super) calls: u64,
    /// Calls that neither ended nor were rejected: none, unless the level is stuck.
    pub(super) unfinished: u64,
    pub(super) epoch_advances: u64,
}

#[derive(Debug, Clone, Copy)]
enum Event {
    Call { client: u32, calls_left: u32 },
    End { client: u32, id: RequestId },
    Release,
    Evaluate,
}

/// Initial seats that a client's executing calls hold, integrated over time.
#[derive(Debug, Clone, Copy, Default)]
struct SeatMeter {
    seats: u64,
    since: u64,
    seat_ns: u128,
}

impl SeatMeter {
    fn set(&mut self, now: u64, seats: u64) {
        self.seat_ns += u128::from(self.seats) * u128::from(now - self.since);
        self.since = now;
        self.seats = seats;
    }

    /// The average since the last call of this, over `elapsed`.
    fn take_average(&mut self, now: u64, elapsed: u64) -> f64 {
        self.set(now, self.seats);
        std::mem::take(&mut self.seat_ns) as f64 / elapsed as f64
    }
}

/// Starts the calls that the level grants.
struct Starting<'a> {
    clients: &'a [Client],
    meters: &'a mut [SeatMeter],
    events: &'a mut EventQueue<Event>,
}

/// A call's token: its client, and the calls that its thread has left.
fn token(client: u32, calls_left: u32) -> u64 {
    u64::from(client) << 32 | u64::from(calls_left)
}

impl Sink for Starting<'_> {
    fn grant(&mut self, grant: Grant) -> Answer {
        let (client_index, calls_left) = ((grant.token >> 32) as u32, grant.token as u32);
        let client = &self.clients[client_index as usize];
        let end = grant.start + client.exec;
        // The next call comes first: at equal times it must be made before this one ends.
        if calls_left > 0 {
            let next = end.saturating_add_signed(client.think);
            self.events.push(next, Event::Call { client: client_index, calls_left });
        }
        self.events.push(end, Event::End { client: client_index, id: grant.id });
        let meter = &mut self.meters[client_index as usize];
        meter.set(grant.start, meter.seats + client.initial_seats);
        Answer::Taken
    }
}

/// Runs a scenario until its last call has ended.
pub(super) fn run(scenario: &Scenario, mode: Mode) -> Result<Outcome, Error> {
    let refuse = |why: &dyn std::fmt::Display| Error::new(format!("scenario {:?}: {why}", scenario.name));
    let mut level =
        Level::new(mode, scenario.queuing, scenario.concurrency_limit, 0).map_err(|e| refuse(&e))?;
    let mut events = EventQueue::new();
    let mut meters = vec![SeatMeter::default(); scenario.clients.len()];
    let mut outcome = Outcome {
        averages: Vec::new(),
        rejected: 0,
        rejected_otherwise: 0,
        calls: 0,
        unfinished: 0,
        epoch_advances: 0,
    };

    let half = scenario.evaluation / 2;
    for (index, client) in (0_u32..).zip(&scenario.clients) {
        for thread in 0..client.threads {
            let late = client.split && thread >= client.threads / 2;
            let start = 90 * u64::from(thread) + 20 * u64::from(index) + if late { half } else { 0 };
            let calls = if late { client.calls / 2 } else { client.calls };
            events.push(start, Event::Call { client: index, calls_left: calls });
        }
    }
    let evaluations = scenario.expectations.len() as u64;
    for evaluation in 1..=evaluations {
        events.push(scenario.evaluation / evaluations * evaluation, Event::Evaluate);
    }

    while let Some((now, event)) = events.pop() {
        match event {
            Event::Call { client: client_index, calls_left } => {
                let client = &scenario.clients[client_index as usize];
                outcome.calls += 1;
                let arrival = Arrival {
                    flow_hash: client.hash,
                    work: WorkEstimate {
                        initial_seats: client.initial_seats,
                        final_seats: client.final_seats,
                        additional_latency: client.pad,
                    },
                    token: token(client_index, calls_left - 1),
                };
                let mut sink =
                    Starting { clients: &scenario.clients, meters: &mut meters, events: &mut events };
                match level.arrive(now, arrival, &mut sink).map_err(|e| refuse(&e))? {
                    Arrived::Rejected(reason) => {
                        outcome.rejected += 1;
                        let expected: Option<Reason> = scenario.reject_reason;
                        outcome.rejected_otherwise += u64::from(expected.is_some_and(|e| e != reason));
                    }
                    Arrived::Executing(_) | Arrived::Waiting(_) | Arrived::Gone => {}
                }
            }
            Event::End { client: client_index, id } => {
                let client = &scenario.clients[client_index as usize];
                let meter = &mut meters[client_index as usize];
                meter.set(now, meter.seats - client.initial_seats);
                let mut sink =
                    Starting { clients: &scenario.clients, meters: &mut meters, events: &mut events };
                let finished = level.finish(now, id, &mut sink).map_err(|e| refuse(&e))?;
                if let Some(due) = finished.release_at {
                    events.push(due, Event::Release);
                }
            }
            Event::Release => {
                let mut sink =
                    Starting { clients: &scenario.clients, meters: &mut meters, events: &mut events };
                level.tick(now, &mut sink);
            }
            Event::Evaluate => {
                let elapsed = scenario.evaluation / evaluations;
                let averages = meters.iter_mut().map(|meter| meter.take_average(now, elapsed)).collect();
                outcome.averages.push(averages);
            }
        }
    }
    outcome.unfinished = level.requests_waiting() + level.requests_executing();
    outcome.epoch_advances = level.counters().epoch_advances;
    Ok(outcome)
}
