//! A level on a simulated clock, with a sink that records grants and can refuse them.

#![allow(dead_code, unreachable_pub, reason = "each test file uses its own part")]

use std::collections::{HashMap, HashSet};

use apf_core::{
    Answer, Arrival, Arrived, Cancelled, Cause, Grant, Level, Mode, Queuing, Reason, RequestId, RequestState,
    Sink, WorkEstimate,
};

pub const MS: u64 = 1_000_000;
pub const SECOND: u64 = 1000 * MS;

/// Records every grant by the request's token.
#[derive(Default)]
pub struct Recorder {
    /// Tokens in the order of their grants, with the time.
    pub grants: Vec<(u64, u64)>,
    /// Requests whose callers have left unnoticed: their grants are not taken.
    pub gone: HashSet<u64>,
}

impl Sink for Recorder {
    fn grant(&mut self, grant: Grant) -> Answer {
        if self.gone.contains(&grant.token) {
            return Answer::Gone(Cause::Caller);
        }
        self.grants.push((grant.token, grant.start));
        Answer::Taken
    }
}

/// A level whose requests are named by numbers.
pub struct Bench {
    pub level: Level,
    pub sink: Recorder,
    pub ids: HashMap<u64, RequestId>,
}

pub fn queues(queues: u32, hand_size: u32, queue_length_limit: u32) -> Queuing {
    Queuing::Queue { queues, hand_size, queue_length_limit }
}

pub fn both() -> [Mode; 2] {
    [Mode::Exact, Mode::Default]
}

pub fn padded(initial_seats: u64, final_seats: u64, additional_latency: u64) -> WorkEstimate {
    WorkEstimate { initial_seats, final_seats, additional_latency }
}

impl Bench {
    pub fn new(mode: Mode, queuing: Queuing, limit: u32) -> Self {
        let level = Level::new(mode, queuing, limit, 0).unwrap();
        Self { level, sink: Recorder::default(), ids: HashMap::new() }
    }

    /// Request `name` of flow `flow` arrives.
    pub fn arrive(&mut self, now: u64, name: u64, flow: u64, work: WorkEstimate) -> Arrived {
        let arrival = Arrival { flow_hash: flow, work, token: name };
        let arrived = self.level.arrive(now, arrival, &mut self.sink).unwrap();
        if let Arrived::Executing(id) | Arrived::Waiting(id) = arrived {
            self.ids.insert(name, id);
        }
        arrived
    }

    pub fn seats(&mut self, now: u64, name: u64, flow: u64, seats: u64) -> Arrived {
        self.arrive(now, name, flow, WorkEstimate::seats(seats))
    }

    pub fn finish(&mut self, now: u64, name: u64) {
        self.level.finish(now, self.ids[&name], &mut self.sink).unwrap();
    }

    pub fn cancel(&mut self, now: u64, name: u64, cause: Cause) -> Cancelled {
        self.level.cancel(now, self.ids[&name], cause, &mut self.sink).unwrap()
    }

    pub fn tick(&mut self, now: u64) {
        self.level.tick(now, &mut self.sink);
    }

    pub fn reconfigure(&mut self, now: u64, queuing: Queuing, limit: u32) {
        self.level.reconfigure(now, queuing, limit, &mut self.sink).unwrap();
    }

    /// Whether request `name` has been granted.
    pub fn granted(&self, name: u64) -> bool {
        self.sink.grants.iter().any(|(token, _)| *token == name)
    }

    pub fn granted_at(&self, name: u64) -> Option<u64> {
        self.sink.grants.iter().find(|(token, _)| *token == name).map(|(_, at)| *at)
    }

    /// Per queue: (waiting, executing, seats in use).
    pub fn shape(&self) -> Vec<(u64, u64, u64)> {
        self.level.queues().map(|q| (q.waiting, q.executing, q.seats_in_use)).collect()
    }

    /// The sums that the level keeps against what its requests add up to.
    pub fn audit(&self) {
        let level = &self.level;
        let waiting: u64 = level.queues().map(|q| q.waiting).sum();
        assert_eq!(level.requests_waiting(), waiting);
        assert_eq!(level.requests_executing(), level.executing().count() as u64);
        let held: u64 =
            level.requests().filter(|r| r.state != RequestState::Waiting).map(|r| r.work.max_seats()).sum();
        assert_eq!(level.seats_in_use(), held);
        for queue in level.queues() {
            let (mut count, mut initial, mut max) = (0, 0, 0);
            for request in level.waiting(queue.index) {
                count += 1;
                initial += request.work.initial_seats;
                max += request.work.max_seats();
            }
            assert_eq!((queue.waiting, queue.initial_seats_sum, queue.max_seats_sum), (count, initial, max));
        }
    }
}

pub fn rejected(arrived: Arrived) -> Option<Reason> {
    if let Arrived::Rejected(reason) = arrived { Some(reason) } else { None }
}
