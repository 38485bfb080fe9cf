//! Peers measured in turns: a short slice of each, round after round.

use std::time::{Duration, Instant};

use crate::report::Report;

/// Something that serves requests one after the other.
pub trait Peer {
    /// Serves that many requests.
    fn serve(&mut self, requests: u64);

    /// Requests served since the beginning, as the peer's own books have it.
    fn served(&self) -> u64;
}

/// A peer and its measurements.
pub struct Lane {
    name: String,
    peer: Box<dyn Peer>,
    /// Requests in one slice.
    slice: u64,
    driven: u64,
    /// Nanoseconds a request, by round.
    rounds: Vec<f64>,
}

/// How long to measure.
#[derive(Debug, Clone, Copy)]
pub struct Effort {
    /// Slices of every peer.
    pub rounds: u32,
    /// About how long a slice takes: so short that few are interrupted.
    pub slice: Duration,
    /// How long a case with threads runs.
    pub run: Duration,
    /// How often it runs.
    pub runs: u32,
}

impl Effort {
    /// For a first impression: the whole takes about two minutes.
    pub const QUICK: Self =
        Self { rounds: 25, slice: Duration::from_millis(1), run: Duration::from_millis(150), runs: 3 };
    /// For figures to write down.
    pub const FULL: Self =
        Self { rounds: 200, slice: Duration::from_millis(2), run: Duration::from_secs(1), runs: 5 };
}

/// The middle of some values; NaN of none.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match (sorted.get(sorted.len() / 2), sorted.get(sorted.len().saturating_sub(1) / 2)) {
        (Some(upper), Some(lower)) => f64::midpoint(*upper, *lower),
        _ => f64::NAN,
    }
}

/// Peers that are compared with one another.
#[derive(Default)]
pub struct Lanes(Vec<Lane>);

impl Lanes {
    /// Adds a peer under `name`.
    pub fn add(&mut self, name: impl Into<String>, peer: impl Peer + 'static) {
        let name = name.into();
        self.0.push(Lane { name, peer: Box::new(peer), slice: 1, driven: 0, rounds: Vec::new() });
    }

    /// Finds how many requests of each peer make a slice, which also warms it up.
    pub fn calibrate(&mut self, slice: Duration) {
        for lane in &mut self.0 {
            loop {
                // The best of three: one that was interrupted says nothing about the peer.
                let took = (0..3).map(|_| lane.turn()).min().unwrap_or_default();
                if took >= slice / 2 || lane.slice >= 1 << 24 {
                    let fit = lane.slice as f64 * slice.as_secs_f64() / took.as_secs_f64().max(1e-9);
                    lane.slice = (fit as u64).max(1);
                    break;
                }
                lane.slice *= 2;
            }
        }
    }

    /// One slice of every peer; who begins changes from round to round.
    pub fn round(&mut self, number: u32) {
        let lanes = self.0.len();
        for place in 0..lanes {
            let lane = &mut self.0[(place + number as usize) % lanes];
            let took = lane.turn();
            lane.rounds.push(took.as_secs_f64() * 1e9 / lane.slice as f64);
        }
    }

    /// All rounds. Every peer must have served what it was asked to.
    pub fn measure(&mut self, effort: Effort) {
        self.calibrate(effort.slice);
        for number in 0..effort.rounds {
            self.round(number);
        }
        self.check();
    }

    /// # Panics
    ///
    /// When a peer has not served every request: its time means nothing.
    pub fn check(&self) {
        for lane in &self.0 {
            assert_eq!(lane.peer.served(), lane.driven, "{} has not served what it was given", lane.name);
        }
    }

    /// The measurements of one peer, by round.
    pub fn rounds(&self, name: &str) -> &[f64] {
        self.0.iter().find(|lane| lane.name == name).map_or(&[], |lane| &lane.rounds)
    }

    /// Median nanoseconds a request.
    pub fn median(&self, name: &str) -> f64 {
        median(self.rounds(name))
    }

    /// Median of the ratios of the rounds: what disturbs a round disturbs both.
    pub fn ratio(&self, name: &str, peer: &str) -> f64 {
        let ratios: Vec<f64> =
            self.rounds(name).iter().zip(self.rounds(peer)).map(|(this, other)| this / other).collect();
        median(&ratios)
    }

    /// Prints every peer's median, and its ratio to `base`.
    pub fn report(&self, report: &mut Report, base: &str) {
        for lane in &self.0 {
            let value = median(&lane.rounds);
            if lane.name == base {
                report.figure(&lane.name, value, "ns/request");
            } else {
                report.compared(&lane.name, value, "ns/request", base, self.ratio(&lane.name, base));
            }
        }
    }
}

impl Lane {
    fn turn(&mut self) -> Duration {
        let began = Instant::now();
        self.peer.serve(self.slice);
        let took = began.elapsed();
        self.driven += self.slice;
        took
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Serves all but the first request.
    struct Lazy(u64);

    impl Peer for Lazy {
        fn serve(&mut self, requests: u64) {
            self.0 += requests;
        }

        fn served(&self) -> u64 {
            self.0.saturating_sub(1)
        }
    }

    #[test]
    fn the_middle_of_an_even_number_of_values_lies_between_two() {
        assert_eq!(median(&[4.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
        assert!(median(&[]).is_nan());
    }

    #[test]
    #[should_panic(expected = "lazy has not served what it was given")]
    fn a_peer_that_does_not_do_its_work_is_found_out() {
        let mut lanes = Lanes::default();
        lanes.add("lazy", Lazy(0));
        lanes.round(0);
        lanes.check();
    }

    #[test]
    fn ratios_are_taken_within_a_round() {
        let lane = |name: &str, rounds: &[f64]| Lane {
            name: name.into(),
            peer: Box::new(Lazy(0)),
            slice: 1,
            driven: 0,
            rounds: rounds.to_vec(),
        };
        // The machine is ten times slower in the second round and a hundred times in the third.
        let lanes = Lanes(vec![lane("a", &[2.0, 20.0, 200.0]), lane("b", &[1.0, 10.0, 100.0])]);
        assert_eq!(lanes.ratio("a", "b"), 2.0);
    }
}
