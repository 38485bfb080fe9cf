//! A load that keeps one level saturated: what the simulator's speed is measured on.

use apf_config::objects::{
    LimitResponse, Limited, ObjectMeta, Objects, PriorityLevelConfiguration, PriorityLevelSpec,
    QueuingConfiguration,
};
use apf_core::{Cause, Mode, WorkEstimate};

use crate::engine::{End, Engine, Source, Submission};
use crate::error::Error;
use crate::random::Random;
use crate::server::{DEFAULT_WAIT_LIMIT, LevelKey, Server, ServerOptions};

const QUEUES: i32 = 64;
const HAND_SIZE: i32 = 6;
const QUEUE_LENGTH_LIMIT: i32 = 50;
const SEATS: u32 = 100;
/// Closed-loop callers, each a flow of its own: twice what the seats can take at once.
const CALLERS: u64 = 200;
/// Execution takes half to one and a half of this, nanoseconds.
const MEAN_EXECUTION: u64 = 10_000_000;

/// What came of it, so that nothing is optimised away and runs can be compared.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Saturated {
    /// Requests served.
    pub served: u64,
    /// Of those, requests that had to wait.
    pub queued: u64,
    /// Simulated time, seconds.
    pub simulated_s: f64,
    /// Average of seats in use, of 100.
    pub seats_avg: f64,
}

struct Callers {
    level: LevelKey,
    random: Random,
    left: u64,
    served: u64,
}

impl Callers {
    fn call(&mut self, now: u64, caller: u64, engine: &mut Engine) -> Result<(), Error> {
        if self.left == 0 {
            return Ok(());
        }
        self.left -= 1;
        let jitter = self.random.bits() % MEAN_EXECUTION;
        let submission = Submission {
            level: self.level,
            schema: 0,
            flow_hash: caller.wrapping_mul(0x9E37_79B9_7F4A_7C15),
            work: WorkEstimate::seats(1),
            exec: MEAN_EXECUTION / 2 + jitter,
            give_up: (now + DEFAULT_WAIT_LIMIT, Cause::TimeOut),
            client: 0,
            tag: caller,
        };
        engine.submit(now, submission).map(|_| ())
    }
}

impl Source for Callers {
    fn due(&mut self, now: u64, caller: u64, engine: &mut Engine) -> Result<(), Error> {
        self.call(now, caller, engine)
    }

    fn over(&mut self, now: u64, caller: u64, end: End, engine: &mut Engine) {
        self.served += u64::from(end == End::Served);
        // The estimate was accepted the first time.
        let accepted = self.call(now, caller, engine);
        debug_assert!(accepted.is_ok());
    }

    fn replanned(&mut self, _: &Server) {}
}

/// Serves this many requests on one level of 64 queues and 100 seats, with 200 callers that never pause.
///
/// # Errors
///
/// None that can occur: the configuration is fixed.
pub fn run(requests: u64, mode: Mode) -> Result<Saturated, Error> {
    let level = PriorityLevelConfiguration {
        metadata: ObjectMeta { name: "saturated".into(), ..ObjectMeta::default() },
        spec: PriorityLevelSpec {
            kind: "Limited".into(),
            limited: Some(Limited {
                nominal_concurrency_shares: Some(100),
                lendable_percent: Some(0),
                borrowing_limit_percent: Some(0),
                limit_response: LimitResponse {
                    kind: "Queue".into(),
                    queuing: Some(QueuingConfiguration {
                        queues: QUEUES,
                        hand_size: HAND_SIZE,
                        queue_length_limit: QUEUE_LENGTH_LIMIT,
                    }),
                },
            }),
            ..PriorityLevelSpec::default()
        },
        ..PriorityLevelConfiguration::default()
    };
    let objects = Objects { priority_levels: vec![level], ..Objects::default() };
    // 5 shares of 105 belong to the mandatory catch-all level.
    let refuse = |error: &dyn std::fmt::Display| Error::new(error.to_string());
    let server = Server::new(ServerOptions::new(mode), objects, SEATS * 105 / 100, 0)
        .map_err(|error| refuse(&error))?;
    let level = server.level_named("saturated").ok_or_else(|| refuse(&"the level is missing"))?;
    let mut callers = Callers { level, random: Random::new(1, 0), left: requests, served: 0 };
    let mut engine = Engine::new(server, 1);
    for caller in 0..CALLERS {
        engine.set_timer(0, caller);
    }
    let end = engine.run(&mut callers, None, &mut |_| {})?;
    let traffic = engine.client_traffic(0, end);
    Ok(Saturated {
        served: callers.served,
        queued: traffic.queued,
        simulated_s: end as f64 / 1e9,
        seats_avg: traffic.seats_avg,
    })
}

#[cfg(test)]
mod tests {
    use apf_core::Mode;

    use super::{SEATS, run};

    #[test]
    fn the_load_saturates_its_level_and_serves_every_request() {
        let outcome = run(20_000, Mode::Default).unwrap();
        assert_eq!(outcome.served, 20_000);
        assert!(outcome.seats_avg > 0.98 * f64::from(SEATS), "{outcome:?}");
        assert!(outcome.queued > 19_800, "{outcome:?}");
        assert_eq!(outcome, run(20_000, Mode::Default).unwrap());
    }
}
