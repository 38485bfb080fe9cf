//! The clients of a whole-server scenario, at work.

use apf_core::Cause;

use super::file::{Arrivals, Client, Load, Scenario};
use super::{Observer, Snapshot};
use crate::engine::{End, Engine, Source, Submission};
use crate::error::Error;
use crate::random::Random;
use crate::server::{LevelKey, Server};

/// All clients of a scenario, the changes of its configuration, and whoever looks on.
pub(super) struct Clients<'a> {
    scenario: &'a Scenario,
    clients: Vec<Running>,
    observer: &'a mut dyn Observer,
}

/// The state of one client.
#[derive(Debug)]
struct Running {
    random: Random,
    level: LevelKey,
    schema: usize,
    flow_hash: u64,
    /// Closed-loop: calls that each thread has left.
    calls_left: Vec<u64>,
}

/// A timer: one number for the engine.
#[derive(Debug, Clone, Copy)]
enum Timer {
    /// A closed-loop thread makes its next call.
    Call {
        client: u32,
        thread: u32,
    },
    /// An open-loop client sends.
    Arrivals {
        client: u32,
    },
    Change(u32),
    Observe,
}

const ARRIVALS: u32 = u32::MAX;
const CHANGE: u32 = u32::MAX - 1;
const OBSERVE: u32 = u32::MAX - 2;

impl Timer {
    fn number(self) -> u64 {
        let (high, low) = match self {
            Timer::Call { client, thread } => (thread, client),
            Timer::Arrivals { client } => (ARRIVALS, client),
            Timer::Change(change) => (CHANGE, change),
            Timer::Observe => (OBSERVE, 0),
        };
        u64::from(high) << 32 | u64::from(low)
    }

    fn of(number: u64) -> Timer {
        let low = number as u32;
        match (number >> 32) as u32 {
            ARRIVALS => Timer::Arrivals { client: low },
            CHANGE => Timer::Change(low),
            OBSERVE => Timer::Observe,
            thread => Timer::Call { client: low, thread },
        }
    }
}

impl<'a> Clients<'a> {
    pub(super) fn new(
        scenario: &'a Scenario,
        seed: u64,
        server: &Server,
        observer: &'a mut dyn Observer,
    ) -> Clients<'a> {
        let clients = (0..).zip(&scenario.clients).map(|(stream, client)| Running {
            random: Random::new(seed, stream),
            level: LevelKey(0),
            schema: 0,
            flow_hash: 0,
            calls_left: match client.load {
                Load::Closed { threads, calls, .. } => vec![calls; threads as usize],
                Load::Open { .. } => Vec::new(),
            },
        });
        let mut clients = Clients { scenario, clients: clients.collect(), observer };
        clients.replanned(server);
        clients
    }

    /// Sets the first timers.
    pub(super) fn begin(&mut self, engine: &mut Engine) {
        for (change, of) in (0..).zip(&self.scenario.changes) {
            engine.set_timer(of.at, Timer::Change(change).number());
        }
        if self.observer.period() > 0 {
            engine.set_timer(self.observer.period(), Timer::Observe.number());
        }
        for (index, client) in (0..).zip(&self.scenario.clients) {
            match client.load {
                Load::Closed { threads, .. } => {
                    for thread in 0..threads {
                        engine.set_timer(client.start, Timer::Call { client: index, thread }.number());
                    }
                }
                Load::Open { .. } => {
                    let first = client.start.saturating_add(self.gap(index));
                    engine.set_timer(first, Timer::Arrivals { client: index }.number());
                }
            }
        }
    }

    /// Time to the next arrival, or burst of arrivals, of an open-loop client.
    fn gap(&mut self, client: u32) -> u64 {
        let Load::Open { rate, arrivals, burst } = self.scenario.clients[client as usize].load else {
            return 0;
        };
        let mean = 1e9 / rate;
        match arrivals {
            Arrivals::Poisson => self.clients[client as usize].random.exponential(mean) as u64,
            Arrivals::Uniform => mean as u64,
            Arrivals::Bursts => (mean * f64::from(burst)) as u64,
        }
    }

    /// One call. A closed-loop thread that is refused at once comes back after its backoff.
    fn call(&mut self, now: u64, client: u32, thread: u32, engine: &mut Engine) -> Result<(), Error> {
        let of = &self.scenario.clients[client as usize];
        let running = &mut self.clients[client as usize];
        let submission = Submission {
            level: running.level,
            schema: running.schema,
            flow_hash: running.flow_hash,
            work: of.work,
            exec: of.exec.sample(&mut running.random).max(1),
            give_up: give_up(self.scenario, of, now, &mut running.random),
            client,
            tag: Timer::Call { client, thread }.number(),
        };
        if engine.submit(now, submission)?.is_some() {
            self.next_call(now, client, thread, End::Rejected, engine);
        }
        Ok(())
    }

    fn next_call(&mut self, now: u64, client: u32, thread: u32, end: End, engine: &mut Engine) {
        let of = &self.scenario.clients[client as usize];
        let Load::Closed { think, backoff, .. } = of.load else { return };
        let running = &mut self.clients[client as usize];
        let pause = match end {
            End::Served => think.sample(&mut running.random),
            // A pause of 0 would try again for ever without time going by.
            End::Rejected => backoff.sample(&mut running.random).max(1),
        };
        let next = now.saturating_add(pause);
        if running.calls_left[thread as usize] > 0 && next < of.stop {
            engine.set_timer(next, Timer::Call { client, thread }.number());
        }
    }
}

/// When a request that waits gives up: at the wait limit, its deadline, or when its caller leaves.
fn give_up(scenario: &Scenario, client: &Client, now: u64, random: &mut Random) -> (u64, Cause) {
    let limit = client.deadline.map_or(scenario.wait_limit, |deadline| deadline.min(scenario.wait_limit));
    match client.cancel_after.map(|after| after.sample(random)) {
        Some(after) if after < limit => (now.saturating_add(after), Cause::Caller),
        _ => (now.saturating_add(limit), Cause::TimeOut),
    }
}

impl Source for Clients<'_> {
    fn due(&mut self, now: u64, timer: u64, engine: &mut Engine) -> Result<(), Error> {
        match Timer::of(timer) {
            Timer::Call { client, thread } => {
                self.clients[client as usize].calls_left[thread as usize] -= 1;
                self.call(now, client, thread, engine)
            }
            Timer::Arrivals { client } => {
                let of = &self.scenario.clients[client as usize];
                let Load::Open { burst, .. } = of.load else { return Ok(()) };
                if now >= of.stop {
                    return Ok(());
                }
                for _ in 0..burst {
                    self.call(now, client, 0, engine)?;
                }
                let next = now.saturating_add(self.gap(client));
                engine.set_timer(next, timer);
                Ok(())
            }
            Timer::Change(change) => {
                let change = &self.scenario.changes[change as usize];
                engine.reconfigure(now, change.objects.clone(), change.seats)
            }
            Timer::Observe => {
                self.observer.observe(&Snapshot { now, engine, scenario: self.scenario });
                engine.set_timer(now.saturating_add(self.observer.period().max(1)), timer);
                Ok(())
            }
        }
    }

    fn over(&mut self, now: u64, tag: u64, end: End, engine: &mut Engine) {
        if let Timer::Call { client, thread } = Timer::of(tag) {
            self.next_call(now, client, thread, end, engine);
        }
    }

    fn replanned(&mut self, server: &Server) {
        for (running, client) in self.clients.iter_mut().zip(&self.scenario.clients) {
            let found = server.classify(&client.request.attributes(&client.user, &client.groups));
            running.level = found.level;
            running.schema = found.schema;
            running.flow_hash = found.flow_hash;
        }
    }
}
