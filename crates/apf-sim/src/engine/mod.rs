//! The event loop that scenarios and replays share: a server, a queue of events, and the requests in flight.

mod limits;
mod tally;

use apf_config::objects::Objects;
use apf_core::{Answer, Arrival, Arrived, Cancelled, Cause, Grant, Reason, RequestId, Sink, WorkEstimate};

use crate::error::Error;
use crate::event_queue::EventQueue;
use crate::progress::Progress;
use crate::recording::Recording;
use crate::report::{Adjustment, ClientRow, LevelRow, SchemaRow, Traffic};
use crate::server::{ADJUSTMENT_PERIOD, LevelKey, Server};
use limits::Limits;
use tally::Tally;

/// Events between two reports of progress.
const EVENTS_PER_PROGRESS: u64 = 1 << 16;

/// Where requests come from: the clients of a scenario, or a log.
pub(crate) trait Source {
    /// A timer of the source is due.
    fn due(&mut self, now: u64, timer: u64, engine: &mut Engine) -> Result<(), Error>;

    /// A request that was not refused at its arrival is over.
    fn over(&mut self, now: u64, tag: u64, end: End, engine: &mut Engine);

    /// Another plan is in force: destinations found before hold no longer.
    fn replanned(&mut self, server: &Server);
}

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Served,
    Rejected,
}

/// A request as a source submits it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Submission {
    pub(crate) level: LevelKey,
    /// Index of its schema in the plan in force.
    pub(crate) schema: usize,
    pub(crate) flow_hash: u64,
    pub(crate) work: WorkEstimate,
    /// How long it executes, nanoseconds.
    pub(crate) exec: u64,
    /// When it stops waiting, and why.
    pub(crate) give_up: (u64, Cause),
    /// Index of its client's counts.
    pub(crate) client: u32,
    /// The source's own number, handed back at its end.
    pub(crate) tag: u64,
}

#[derive(Debug, Clone, Copy)]
enum Event {
    Timer(u64),
    Finish(u32),
    Release(u32),
    GiveUp { flight: u32, serial: u32, cause: Cause },
    Adjust,
}

/// A request in flight; its index is its token.
#[derive(Debug, Clone, Copy)]
struct Flight {
    state: FlightState,
    serial: u32,
    id: Option<RequestId>,
    level: LevelKey,
    schema: u32,
    client: u32,
    /// Its place in the recording, if there is one.
    record: u32,
    tag: u64,
    initial_seats: u64,
    exec: u64,
    arrival: u64,
    /// Known once it has started.
    seats: u64,
    additional_latency: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FlightState {
    Free,
    Waiting,
    Executing,
    Lingering,
}

/// The counts of levels, schemas and clients.
#[derive(Debug, Clone, Default)]
struct Tallies {
    /// By level key.
    levels: Vec<Tally>,
    schemas: Vec<(String, String, Tally)>,
    clients: Vec<Tally>,
}

impl Tallies {
    fn each(&mut self, flight: &Flight, mut count: impl FnMut(&mut Tally)) {
        count(&mut self.levels[flight.level.0 as usize]);
        count(&mut self.schemas[flight.schema as usize].2);
        count(&mut self.clients[flight.client as usize]);
    }
}

/// See the [module documentation](self).
#[derive(Debug)]
pub(crate) struct Engine {
    server: Server,
    events: EventQueue<Event>,
    flights: Vec<Flight>,
    free: Vec<u32>,
    tallies: Tallies,
    /// By index of the plan's schemas: their tally.
    schema_tallies: Vec<u32>,
    limits: Limits,
    recording: Option<Recording>,
    generation: u64,
    /// Timers of the source and requests in flight: without any, nothing more will happen.
    live: u64,
}

/// Takes every grant: schedules its end and counts it.
struct Starts<'a> {
    flights: &'a mut [Flight],
    events: &'a mut EventQueue<Event>,
    tallies: &'a mut Tallies,
    recording: &'a mut Option<Recording>,
}

impl Sink for Starts<'_> {
    fn grant(&mut self, grant: Grant) -> Answer {
        let flight = &mut self.flights[grant.token as usize];
        flight.state = FlightState::Executing;
        flight.id = Some(grant.id);
        flight.seats = flight.initial_seats.max(grant.final_seats);
        flight.additional_latency = grant.additional_latency;
        self.events.push(grant.start.saturating_add(flight.exec), Event::Finish(grant.token as u32));
        let (wait, seats) = (grant.start.saturating_sub(grant.arrival), flight.seats);
        self.tallies.each(flight, |tally| tally.started(grant.start, wait, seats));
        if let Some(recording) = self.recording {
            recording.started(flight.record, grant.start, seats);
        }
        Answer::Taken
    }
}

impl Engine {
    /// An engine at time 0 that counts for this many clients.
    pub(crate) fn new(server: Server, clients: usize) -> Engine {
        let mut engine = Engine {
            limits: Limits::new(&server),
            recording: None,
            generation: server.generation(),
            server,
            events: EventQueue::new(),
            flights: Vec::new(),
            free: Vec::new(),
            tallies: Tallies { clients: vec![Tally::new(); clients], ..Tallies::default() },
            schema_tallies: Vec::new(),
            live: 0,
        };
        engine.replan();
        engine.events.push(ADJUSTMENT_PERIOD, Event::Adjust);
        engine
    }

    pub(crate) fn server(&self) -> &Server {
        &self.server
    }

    /// Keeps what becomes of each request from now on.
    pub(crate) fn record(&mut self) {
        self.recording = Some(Recording::default());
    }

    /// What has been kept.
    pub(crate) fn take_recording(&mut self) -> Option<Recording> {
        let mut recording = self.recording.take()?;
        recording.levels = self.server.all_levels().map(|level| level.name().to_owned()).collect();
        recording.schemas = self.tallies.schemas.iter().map(|(name, ..)| name.clone()).collect();
        Some(recording)
    }

    /// Calls [`Source::due`] at `time`.
    pub(crate) fn set_timer(&mut self, time: u64, timer: u64) {
        self.live += 1;
        self.events.push(time, Event::Timer(timer));
    }

    /// Runs until `end`, or, without one, until nothing more can happen. Returns the time it ended.
    pub(crate) fn run(
        &mut self,
        source: &mut impl Source,
        end: Option<u64>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<u64, Error> {
        let mut now = 0;
        let mut handled: u64 = 0;
        while end.is_some() || self.live > 0 {
            let Some(time) = self.events.next_time().filter(|&time| end.is_none_or(|end| time <= end)) else {
                break;
            };
            let Some((_, event)) = self.events.pop() else { break };
            now = time;
            self.handle(now, event, source)?;
            if self.generation != self.server.generation() {
                self.generation = self.server.generation();
                self.replan();
                self.limits.note(&self.server, now, "configuration");
                source.replanned(&self.server);
            }
            handled += 1;
            if handled.is_multiple_of(EVENTS_PER_PROGRESS) {
                progress(Progress { done: now, total: end.unwrap_or(0) });
            }
        }
        Ok(end.unwrap_or(now))
    }

    fn handle(&mut self, now: u64, event: Event, source: &mut impl Source) -> Result<(), Error> {
        match event {
            Event::Timer(timer) => {
                self.live -= 1;
                source.due(now, timer, self)?;
            }
            Event::Finish(flight) => {
                let tag = self.finish(now, flight);
                source.over(now, tag, End::Served, self);
            }
            Event::Release(flight) => self.release(now, flight),
            Event::GiveUp { flight, serial, cause } => {
                let of = self.flights[flight as usize];
                let is_waiting = of.serial == serial && of.state == FlightState::Waiting;
                if is_waiting && self.cancel(now, flight, cause).is_some() {
                    source.over(now, of.tag, End::Rejected, self);
                }
            }
            Event::Adjust => self.adjust(now)?,
        }
        Ok(())
    }

    /// A request arrives. The answer is the reason when it is refused at once.
    pub(crate) fn submit(&mut self, now: u64, submission: Submission) -> Result<Option<Reason>, Error> {
        let index = self.place(now, &submission);
        let flight = self.flights[index as usize];
        self.tallies.each(&flight, Tally::arrived);
        let arrival =
            Arrival { flow_hash: submission.flow_hash, work: submission.work, token: u64::from(index) };
        let (server, mut starts) = self.split();
        let arrived = server
            .arrive(now, submission.level, arrival, &mut starts)
            .map_err(|error| Error::new(error.to_string()))?;
        match arrived {
            Arrived::Executing(_) | Arrived::Gone => {
                self.tallies.each(&flight, Tally::admitted_at_once);
                Ok(None)
            }
            Arrived::Waiting(id) => {
                self.flights[index as usize].id = Some(id);
                self.tallies.each(&flight, Tally::queued);
                let (time, cause) = submission.give_up;
                if time <= now {
                    return Ok(self.cancel(now, index, cause));
                }
                let flights = &self.flights;
                self.events.drop_late_while(|event| match event {
                    Event::GiveUp { flight, serial, .. } => {
                        let of = &flights[*flight as usize];
                        of.serial != *serial || of.state != FlightState::Waiting
                    }
                    _ => false,
                });
                self.events.push_late(time, Event::GiveUp { flight: index, serial: flight.serial, cause });
                Ok(None)
            }
            Arrived::Rejected(reason) => {
                self.tallies.each(&flight, |tally| tally.rejected(reason));
                if let Some(recording) = &mut self.recording {
                    recording.refused(flight.record, now, reason);
                }
                self.clear(index);
                Ok(Some(reason))
            }
        }
    }

    /// Puts another configuration in force.
    pub(crate) fn reconfigure(&mut self, now: u64, objects: Objects, seats: u32) -> Result<(), Error> {
        let (server, mut starts) = self.split();
        server.reconfigure(now, objects, seats, &mut starts).map_err(|error| Error::new(error.to_string()))
    }

    fn place(&mut self, now: u64, submission: &Submission) -> u32 {
        self.live += 1;
        let index = self.free.pop().unwrap_or(self.flights.len() as u32);
        let serial = self.flights.get(index as usize).map_or(0, |old| old.serial.wrapping_add(1));
        let schema = self.schema_tallies[submission.schema];
        let record = self.recording.as_mut().map_or(0, |recording| {
            recording.arrived(now, submission.level.0, schema, submission.client, submission.work.max_seats())
        });
        let flight = Flight {
            state: FlightState::Waiting,
            serial,
            id: None,
            level: submission.level,
            schema,
            client: submission.client,
            record,
            tag: submission.tag,
            initial_seats: submission.work.initial_seats,
            exec: submission.exec,
            arrival: now,
            seats: 0,
            additional_latency: 0,
        };
        match self.flights.get_mut(index as usize) {
            Some(slot) => *slot = flight,
            None => self.flights.push(flight),
        }
        index
    }

    fn clear(&mut self, index: u32) {
        self.live -= 1;
        self.flights[index as usize].state = FlightState::Free;
        self.free.push(index);
    }

    /// Its seats count as free before the level hands them on, so that no maximum counts them twice.
    fn finish(&mut self, now: u64, index: u32) -> u64 {
        let flight = self.flights[index as usize];
        let lingers = flight.additional_latency > 0;
        self.tallies.each(&flight, |tally| {
            tally.finished();
            if !lingers {
                tally.released(now, flight.seats);
            }
        });
        let (server, mut starts) = self.split();
        let finished = flight.id.and_then(|id| server.finish(now, flight.level, id, &mut starts).ok());
        match finished.and_then(|finished| finished.release_at) {
            Some(due) => {
                self.flights[index as usize].state = FlightState::Lingering;
                // A level releases what is due before anything else of that time.
                self.events.push_first(due, Event::Release(index));
            }
            None => self.clear(index),
        }
        if let Some(recording) = self.recording.as_mut().filter(|_| !lingers) {
            recording.released(flight.record, now);
        }
        flight.tag
    }

    /// All releases of one instant are counted before any level hands the seats on.
    fn release(&mut self, now: u64, first: u32) {
        let mut levels = Vec::new();
        let mut next = Some(first);
        while let Some(index) = next {
            let flight = self.flights[index as usize];
            self.tallies.each(&flight, |tally| tally.released(now, flight.seats));
            if let Some(recording) = &mut self.recording {
                recording.released(flight.record, now);
            }
            self.clear(index);
            if !levels.contains(&flight.level) {
                levels.push(flight.level);
            }
            next = match self.events.pop_if(now, |event| matches!(event, Event::Release(_))) {
                Some(Event::Release(index)) => Some(index),
                _ => None,
            };
        }
        let (server, mut starts) = self.split();
        for level in levels {
            server.tick(now, level, &mut starts);
        }
    }

    /// Ends a wait; the answer is the reason, unless the request executes.
    fn cancel(&mut self, now: u64, index: u32, cause: Cause) -> Option<Reason> {
        let flight = self.flights[index as usize];
        let (server, mut starts) = self.split();
        match server.cancel(now, flight.level, flight.id?, cause, &mut starts) {
            Ok(Cancelled::Removed(reason)) => {
                self.tallies.each(&flight, |tally| {
                    tally.waited(now - flight.arrival);
                    tally.rejected(reason);
                });
                if let Some(recording) = &mut self.recording {
                    recording.refused(flight.record, now, reason);
                }
                self.clear(index);
                Some(reason)
            }
            Ok(Cancelled::Executing) | Err(_) => None,
        }
    }

    fn adjust(&mut self, now: u64) -> Result<(), Error> {
        let before = limits::state(&self.server);
        let (server, mut starts) = self.split();
        server.adjust(now, &mut starts).map_err(|error| Error::new(error.to_string()))?;
        self.limits.note(&self.server, now, "period");
        let mut next = now.saturating_add(ADJUSTMENT_PERIOD);
        // While nothing is in flight and an adjustment changes nothing at all, all further ones do not either.
        let is_settled = self.flights.len() == self.free.len() && before == limits::state(&self.server);
        if let Some(event) = self.events.next_time().filter(|&event| is_settled && event > next) {
            next += (event - next) / ADJUSTMENT_PERIOD * ADJUSTMENT_PERIOD;
        }
        self.events.push(next, Event::Adjust);
        Ok(())
    }

    fn split(&mut self) -> (&mut Server, Starts<'_>) {
        let Engine { server, events, flights, tallies, recording, .. } = self;
        (server, Starts { flights, events, tallies, recording })
    }

    /// Makes a tally for each level and schema that has none, and finds those of the schemas in force.
    fn replan(&mut self) {
        let Engine { server, tallies, schema_tallies, .. } = self;
        for key in server.keys() {
            while tallies.levels.len() <= key.0 as usize {
                tallies.levels.push(Tally::new());
            }
        }
        *schema_tallies = server
            .plan()
            .schemas()
            .iter()
            .map(|schema| {
                let level = &server.plan().levels()[schema.level].name;
                let known = tallies.schemas.iter_mut().position(|(name, _, _)| *name == schema.name);
                let index = known.unwrap_or_else(|| {
                    tallies.schemas.push((schema.name.clone(), String::new(), Tally::new()));
                    tallies.schemas.len() - 1
                });
                tallies.schemas[index].1.clone_from(level);
                index as u32
            })
            .collect();
    }

    /// The rows of a report over `0..end`; `names` are those of the clients.
    pub(crate) fn rows(self, end: u64, names: Vec<String>) -> Rows {
        let traffic = |tally: Tally| tally.traffic(end);
        let Engine { server, tallies, limits, .. } = self;
        let (mut levels, adjustments) = limits.rows(&server, end, tallies.levels.into_iter().map(traffic));
        levels.sort_by(|a, b| a.level.cmp(&b.level));
        let schemas = tallies.schemas.into_iter();
        let schemas =
            schemas.map(|(schema, level, tally)| SchemaRow { schema, level, traffic: traffic(tally) });
        let clients = names.into_iter().zip(tallies.clients);
        let clients = clients.map(|(client, tally)| ClientRow { client, traffic: traffic(tally) });
        Rows { levels, schemas: schemas.collect(), clients: clients.collect(), adjustments }
    }

    /// The counts of a client so far.
    pub(crate) fn client_traffic(&self, client: usize, now: u64) -> Traffic {
        self.tallies.clients.get(client).map(|tally| tally.clone().traffic(now)).unwrap_or_default()
    }

    /// The client of a request in flight.
    pub(crate) fn client_of(&self, token: u64) -> Option<u32> {
        self.flights.get(token as usize).map(|flight| flight.client)
    }
}

/// The rows of a report.
pub(crate) struct Rows {
    pub(crate) levels: Vec<LevelRow>,
    pub(crate) schemas: Vec<SchemaRow>,
    pub(crate) clients: Vec<ClientRow>,
    pub(crate) adjustments: Vec<Adjustment>,
}
