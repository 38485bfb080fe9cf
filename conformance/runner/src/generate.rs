//! Makes traces: closed-loop on our own core, whose state decides which event can come next.

use apf_core::{Cause, Mode, QueueView, Queuing, RequestState};

use crate::Failure;
use crate::driver::Driver;
use crate::exercised::Exercised;
use crate::profile::{DAY, Profile};
use crate::rng::Rng;
use crate::trace::{Event, EventKind, LevelSpec, Trace};

/// The latest time of a generated trace (45 years): 60 seats over all of it stay below 2^63 units of
/// work, beyond which the conversion from a float differs between languages.
const LAST: u64 = 45 * 365 * DAY;

/// A trace, what our core said to each of its events, and what that exercised.
#[derive(Debug)]
pub struct Generated {
    /// The trace.
    pub trace: Trace,
    /// Our line for each event.
    pub lines: Vec<String>,
    /// What happened in it.
    pub exercised: Exercised,
}

/// Makes a trace of up to `events` events. A configuration that ends early continues as its next part.
///
/// # Errors
///
/// When our core refuses the level; an event that it refuses becomes the last line.
pub fn generate(seed: u64, config: u64, part: u64, events: usize) -> Result<Generated, Failure> {
    let mut rng = Rng::part(seed, &[config, part]);
    let profile = Profile::of(config, &mut rng);
    let level = profile.level(None, &mut rng);
    let start = rng.between(0, profile.step.1);
    let flows = (0..profile.flows).map(|_| rng.bits()).collect();
    let driver = Driver::new(Mode::Exact, level, start)?;
    let mut maker =
        Maker { rng, profile, driver, level, flows, now: start, next_id: 1, phase: Phase::Fill, left: 0 };
    Ok(maker.run(seed, events))
}

/// What the load does for a while.
#[derive(Clone, Copy)]
enum Phase {
    Fill,
    Steady,
    Drain,
}

#[derive(Clone, Copy)]
enum Choice {
    Arrive,
    Finish,
    Cancel,
    Reconfigure,
    Touch,
    Demand,
    Mistake,
}

struct Maker {
    rng: Rng,
    profile: Profile,
    driver: Driver,
    level: LevelSpec,
    flows: Vec<u64>,
    now: u64,
    next_id: u64,
    phase: Phase,
    /// Events left of the phase.
    left: u64,
}

impl Maker {
    fn run(&mut self, seed: u64, wanted: usize) -> Generated {
        let mut trace = Trace {
            seed: Some(seed),
            mode: Mode::Exact,
            start: self.now,
            level: self.level,
            events: Vec::new(),
        };
        let mut lines = Vec::with_capacity(wanted);
        let mut exercised = Exercised::default();
        let mut before = (self.driver.counters(), self.now, self.driver.level().robin_index());
        while trace.events.len() < wanted {
            let event = self.next_event();
            if let Err(failure) = self.driver.apply(&event) {
                // The reference's answer to the event goes beside it.
                trace.events.push(event);
                lines.push(format!("{} error {failure}", trace.events.len()));
                break;
            }
            let counters = self.driver.counters();
            if counters.removals_refused > before.0.removals_refused {
                // From here on the reference has lost a live queue, or crashed.
                exercised.ended_early = 1;
                break;
            }
            trace.events.push(event);
            lines.push(self.driver.line(trace.events.len()));

            let robin = self.driver.level().robin_index();
            exercised.events += 1;
            exercised.backward_steps += u64::from(event.at < before.1);
            exercised.zero_steps += u64::from(event.at == before.1);
            exercised.robin_at_minus_one += u64::from(robin == -1 && before.2 != -1);
            let last = self.driver.level().queues().count() as i64 - 1;
            exercised.robin_turned += u64::from(
                before.2 <= 0
                    && robin == last
                    && last > 0
                    && counters.no_accommodation > before.0.no_accommodation
                    && !self.driver.decisions().contains(" run:"),
            );
            if counters.epoch_advances > before.0.epoch_advances {
                let idle = |queue: QueueView| queue.waiting == 0 && queue.executing == 0;
                exercised.idle_epochs += u64::from(self.driver.level().queues().any(idle));
            }
            exercised.queued += u64::from(self.driver.decisions().contains(" wait:"));
            exercised.demands += u64::from(event.kind == EventKind::Demand);
            exercised.time_out += u64::from(self.driver.decisions().contains(" cancel:"));
            before = (counters, event.at, robin);
        }
        let counters = before.0;
        exercised.queue_full = counters.rejected_queue_full;
        exercised.concurrency_limit = counters.rejected_concurrency_limit;
        exercised.cancelled = counters.cancelled;
        exercised.trimmed = counters.final_seats_trimmed;
        exercised.no_accommodation = counters.no_accommodation;
        exercised.queues_removed = counters.queues_removed;
        exercised.epochs = counters.epoch_advances;
        exercised.failed_epochs = counters.failed_epoch_advances;
        exercised.skipped = self.driver.skipped();
        Generated { trace, lines, exercised }
    }

    fn next_event(&mut self) -> Event {
        self.step_clock();
        Event { at: self.now, kind: self.next_kind() }
    }

    fn step_clock(&mut self) {
        if self.rng.permille(self.profile.zero_steps) {
            return;
        }
        let step = self.rng.magnitude(self.profile.step.0, self.profile.step.1);
        if self.rng.permille(self.profile.backward_steps) {
            self.now = self.now.saturating_sub(step);
        } else if self.now + step <= LAST {
            self.now += step;
        } else {
            self.now = LAST.min(self.now + self.rng.between(0, 1));
        }
    }

    fn next_kind(&mut self) -> EventKind {
        if self.left == 0 {
            let turn = self.rng.weighted(&[(4, Phase::Fill), (3, Phase::Steady), (3, Phase::Drain)]);
            self.phase = turn.unwrap_or(Phase::Steady);
            self.left = self.rng.magnitude(5, 300);
        }
        self.left -= 1;
        if let Some(kind) = self.emptying_first_queue() {
            return kind;
        }
        if self.profile.removes_twice && self.rng.permille(4) && self.only_lingering_somewhere() {
            // One queue stays in use, so that the meter's rate shows what the removed ones leave behind.
            self.level.queuing = Queuing::Queue { queues: 1, hand_size: 1, queue_length_limit: 10 };
            return EventKind::Reconfigure(self.level);
        }
        let (arrive, finish, cancel) = match self.phase {
            Phase::Fill => (800, 100, 2),
            Phase::Steady => (450, 450, 3),
            Phase::Drain => (80, 800, 8),
        };
        let executing = !self.driver.executing().is_empty();
        let waiting = !self.driver.waiting().is_empty();
        let choice = self.rng.weighted(&[
            (arrive, Choice::Arrive),
            (if executing { finish } else { 0 }, Choice::Finish),
            (if waiting { cancel * self.profile.cancel } else { 0 }, Choice::Cancel),
            (self.profile.reconfigure, Choice::Reconfigure),
            (8, Choice::Touch),
            (5, Choice::Demand),
            (3, Choice::Mistake),
        ]);
        match choice.unwrap_or(Choice::Touch) {
            Choice::Arrive => self.arrival(),
            Choice::Finish => EventKind::Finish { id: self.executing() },
            Choice::Cancel => EventKind::Cancel { id: self.waiting(), cause: self.cause() },
            Choice::Reconfigure => {
                self.level = self.profile.level(Some(self.level), &mut self.rng);
                EventKind::Reconfigure(self.level)
            }
            Choice::Touch => EventKind::Touch,
            Choice::Demand => EventKind::Demand,
            // The wrong state, or a request that is over or never was.
            Choice::Mistake => match self.rng.between(0, 3) {
                0 => EventKind::Finish { id: self.waiting() },
                1 => EventKind::Cancel { id: self.executing(), cause: self.cause() },
                2 => EventKind::Finish { id: self.rng.between(0, self.next_id) },
                _ => EventKind::Cancel { id: self.rng.between(0, self.next_id), cause: Cause::TimeOut },
            },
        }
    }

    fn cause(&mut self) -> Cause {
        if self.rng.permille(500) { Cause::TimeOut } else { Cause::Caller }
    }

    /// What empties queue 0, when that would take the robin index to -1.
    fn emptying_first_queue(&mut self) -> Option<EventKind> {
        let level = self.driver.level();
        let wanted = match self.level.queuing {
            Queuing::Queue { queues, .. } => queues as usize,
            Queuing::Reject | Queuing::Exempt => 0,
        };
        if !self.profile.empties_first_queue || level.robin_index() != 0 || level.queues().count() <= wanted {
            return None;
        }
        let (id, state) = self.driver.in_first_queue()?;
        Some(match state {
            RequestState::Waiting => EventKind::Cancel { id, cause: self.cause() },
            RequestState::Executing | RequestState::Lingering => EventKind::Finish { id },
        })
    }

    /// Whether some queue has several requests, all lingering.
    fn only_lingering_somewhere(&self) -> bool {
        let level = self.driver.level();
        let lingering: Vec<_> =
            level.requests().filter(|r| r.state == RequestState::Lingering).filter_map(|r| r.queue).collect();
        level.queues().any(|queue| {
            queue.waiting == 0
                && queue.executing == 0
                && lingering.iter().filter(|index| **index == queue.index).count() > 1
        })
    }

    fn executing(&mut self) -> u64 {
        let count = self.driver.executing().len() as u64;
        let place = self.rng.between(0, count.saturating_sub(1));
        self.driver.executing().at(place as usize).unwrap_or(0)
    }

    fn waiting(&mut self) -> u64 {
        let count = self.driver.waiting().len() as u64;
        let place = self.rng.between(0, count.saturating_sub(1));
        self.driver.waiting().at(place as usize).unwrap_or(0)
    }

    fn arrival(&mut self) -> EventKind {
        let id = self.next_id;
        self.next_id += 1;
        // Flows are skewed: the first ones send most.
        let flow = self.rng.magnitude(1, self.flows.len() as u64) - 1;
        let hash = self.flows.get(flow as usize).copied().unwrap_or(0);
        let wide = self.rng.permille(self.profile.wide);
        let initial_seats = if wide { self.rng.magnitude(1, self.profile.width) } else { 1 };
        let (mut final_seats, mut latency) = (0, 0);
        if self.rng.permille(self.profile.lingering) {
            final_seats = self.rng.magnitude(1, self.profile.width);
            if !self.rng.permille(100) {
                latency = self.rng.magnitude(self.profile.latency.0, self.profile.latency.1);
            }
        }
        EventKind::Arrive { id, hash, initial_seats, final_seats, latency }
    }
}
