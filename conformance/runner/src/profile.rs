//! What a generated trace is like: level, requests, times, and how often each kind of event comes.

use apf_core::{Dealer, Queuing};

use crate::rng::Rng;
use crate::trace::LevelSpec;

/// Nanoseconds in a millisecond, a second and a day.
pub const MILLISECOND: u64 = 1_000_000;
/// A second.
pub const SECOND: u64 = 1_000 * MILLISECOND;
/// A day.
pub const DAY: u64 = 86_400 * SECOND;

/// The families of traces. A run takes them in turn, so that a dozen configurations exercise everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Family {
    Mixed,
    Shrinking,
    Years,
    WideHeads,
    Reject,
    Lingering,
    ClockSteps,
    ManyQueues,
    Exempt,
    Bursts,
}

const FAMILIES: [Family; 12] = [
    Family::Mixed,
    Family::Shrinking,
    Family::Years,
    Family::WideHeads,
    Family::Reject,
    Family::Lingering,
    Family::ClockSteps,
    Family::ManyQueues,
    Family::Exempt,
    Family::Bursts,
    // Twice: what these two are for is rare even in them.
    Family::Lingering,
    Family::Years,
];

/// The parameters of one trace. Rates are in 1000ths of events.
#[derive(Debug, Clone)]
pub struct Profile {
    /// Queues that a level with queues has, least and most.
    pub queues: (u64, u64),
    /// Largest hand.
    pub hand: u32,
    /// Seats, least and most.
    pub limit: (u64, u64),
    /// Queue length limit, least and most.
    pub queue_length_limit: (u64, u64),
    /// The widest request.
    pub width: u64,
    /// How many requests are wider than one seat.
    pub wide: u64,
    /// How many requests have final seats.
    pub lingering: u64,
    /// Additional latency, least and most, nanoseconds.
    pub latency: (u64, u64),
    /// Steps of the clock, least and most, nanoseconds.
    pub step: (u64, u64),
    /// How many steps have no length.
    pub zero_steps: u64,
    /// How many steps go back.
    pub backward_steps: u64,
    /// How many events change the configuration.
    pub reconfigure: u64,
    /// Weights of the levels that a change leads to: queues, reject, exempt.
    pub kinds: [u64; 3],
    /// How many changes take another number of queues, rather than only other limits.
    pub requeue: u64,
    /// How many waiting requests give up, as a weight against the other events.
    pub cancel: u64,
    /// Number of different flows.
    pub flows: u64,
    /// Whether, with more queues than wanted and queue 0 served last, its requests leave first: its
    /// removal then takes the robin index to -1 while others wait.
    pub empties_first_queue: bool,
    /// Whether the level now and then shrinks to one queue while another has nothing but lingering
    /// requests: their releases then remove it more than once.
    pub removes_twice: bool,
}

impl Profile {
    /// The profile of a run's configuration number.
    pub fn of(config: u64, rng: &mut Rng) -> Self {
        let family =
            FAMILIES.get((config % FAMILIES.len() as u64) as usize).copied().unwrap_or(Family::Mixed);
        let slow = rng.permille(300);
        let mut profile = Self {
            queues: (1, rng.magnitude(1, 512)),
            hand: 15,
            limit: (1, rng.magnitude(1, 1000)),
            queue_length_limit: (1, rng.magnitude(1, 50)),
            width: rng.magnitude(1, 100),
            wide: rng.between(0, 600),
            lingering: if rng.permille(500) { rng.between(0, 500) } else { 0 },
            latency: (0, rng.magnitude(MILLISECOND, 10 * SECOND)),
            step: if slow { (MILLISECOND, 100 * SECOND) } else { (1, 20 * MILLISECOND) },
            zero_steps: rng.between(0, 300),
            backward_steps: if rng.permille(300) { rng.between(0, 20) } else { 0 },
            reconfigure: rng.between(0, 20),
            kinds: [900, 50, 50],
            requeue: 500,
            cancel: rng.between(0, 15),
            flows: rng.magnitude(1, 200),
            empties_first_queue: false,
            removes_twice: false,
        };
        match family {
            Family::Mixed => {}
            Family::Shrinking => {
                profile.queues = (1, rng.between(3, 24));
                profile.limit = (4, rng.between(10, 40));
                profile.queue_length_limit = (1, 10);
                profile.kinds = [960, 20, 20];
                profile.flows = rng.between(3, 40);
                profile.empties_first_queue = true;
                profile.lingering = 0;
                // Wide heads that block just after a removal: only then does the robin index turn from -1.
                profile.width = rng.between(4, 20);
                profile.wide = rng.between(200, 700);
                profile.reconfigure = rng.between(10, 60);
                profile.requeue = 900;
            }
            Family::Years => {
                profile.queues = (rng.between(2, 5), rng.between(5, 16));
                // Few flows with small hands leave queues inactive, which an epoch resets.
                profile.hand = 2;
                profile.limit = (rng.between(600, 900), 1000);
                // At most 60: so wide a request may run for as long as the longest trace.
                profile.width = rng.between(30, 60);
                profile.wide = 950;
                profile.queue_length_limit = (10, 50);
                profile.step = (SECOND, 92 * DAY);
                profile.flows = rng.between(1, 2);
                profile.latency = (0, 100 * DAY);
                profile.lingering = rng.between(0, 200);
                profile.zero_steps = rng.between(50, 400);
                profile.backward_steps = if rng.permille(500) { rng.between(0, 10) } else { 0 };
                profile.reconfigure = rng.between(0, 4);
                profile.kinds = [1, 0, 0];
            }
            Family::WideHeads => {
                profile.limit = (rng.between(1, 10), rng.between(10, 80));
                profile.width = 100;
                profile.wide = rng.between(200, 700);
                profile.queue_length_limit = (1, 10);
            }
            Family::Reject => {
                profile.kinds = [200, 700, 100];
                profile.limit = (0, rng.magnitude(2, 100));
                profile.reconfigure = rng.between(2, 20);
            }
            Family::Lingering => {
                profile.lingering = rng.between(400, 900);
                profile.width = rng.between(20, 100);
                profile.latency = (0, rng.magnitude(50 * MILLISECOND, 4 * SECOND));
                profile.limit = (1, rng.magnitude(8, 500));
                profile.reconfigure = rng.between(5, 30);
                profile.requeue = 700;
                profile.kinds = [800, 150, 50];
                profile.removes_twice = true;
            }
            Family::ClockSteps => {
                profile.backward_steps = rng.between(20, 150);
                profile.step = (1, rng.magnitude(MILLISECOND, 1000 * SECOND));
            }
            Family::ManyQueues => {
                profile.queues = (64, 512);
                profile.limit = (1, rng.magnitude(8, 300));
                profile.queue_length_limit = (1, 6);
                profile.flows = rng.between(50, 400);
            }
            Family::Exempt => {
                profile.kinds = [300, 100, 600];
                profile.limit = (0, rng.magnitude(1, 50));
                profile.reconfigure = rng.between(2, 30);
            }
            Family::Bursts => {
                profile.zero_steps = rng.between(500, 900);
                profile.limit = (0, 10);
                profile.queue_length_limit = (0, 3);
                profile.reconfigure = rng.between(0, 30);
            }
        }
        profile
    }

    /// A level within the profile. Changed from `before`, it may keep that one's queues.
    pub fn level(&self, before: Option<LevelSpec>, rng: &mut Rng) -> LevelSpec {
        let limit = rng.magnitude(self.limit.0, self.limit.1) as u32;
        let limit = if self.limit.0 == 0 && rng.permille(150) { 0 } else { limit };
        if let Some(before) = before
            && !rng.permille(self.requeue)
        {
            return LevelSpec { limit, ..before };
        }
        let [queues, reject, exempt] = self.kinds;
        let kind = rng.weighted(&[(queues, Kind::Queues), (reject, Kind::Reject), (exempt, Kind::Exempt)]);
        let queuing = match kind {
            Some(Kind::Reject) => Queuing::Reject,
            Some(Kind::Exempt) => Queuing::Exempt,
            Some(Kind::Queues) | None => {
                let queues = rng.magnitude(self.queues.0, self.queues.1) as u32;
                Queuing::Queue {
                    queues,
                    hand_size: hand_size(queues, self.hand, rng),
                    queue_length_limit: rng.between(self.queue_length_limit.0, self.queue_length_limit.1)
                        as u32,
                }
            }
        };
        LevelSpec { queuing, limit }
    }
}

#[derive(Clone, Copy)]
enum Kind {
    Queues,
    Reject,
    Exempt,
}

/// A hand that can be dealt from that many queues.
fn hand_size(queues: u32, largest: u32, rng: &mut Rng) -> u32 {
    let most =
        (1..=queues.min(largest)).take_while(|hand| Dealer::new(queues, *hand).is_ok()).last().unwrap_or(1);
    rng.between(1, u64::from(most)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hands_reach_fifteen_and_are_always_valid() {
        let mut rng = Rng::new(5);
        let mut largest = 0;
        for queues in 1..=512 {
            for _ in 0..20 {
                let hand = hand_size(queues, 15, &mut rng);
                assert!(Dealer::new(queues, hand).is_ok(), "{hand} of {queues}");
                largest = largest.max(hand);
            }
        }
        assert_eq!(largest, 15);
    }
}
