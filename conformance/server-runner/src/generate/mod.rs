//! Random cases from a seed.

mod levels;
mod names;
mod random;
mod requests;
mod schemas;

use crate::objects::{FlowSchema, PriorityLevel};
use crate::wire::{Attributes, Case, Step, Work};
use levels::{Flavour, levels};
use random::Random;
use requests::{request, request_by, work};
use schemas::{driver, schemas};

/// Length of an adjustment period of a running server, in nanoseconds.
const PERIOD: u64 = 10_000_000_000;

/// How large a configuration may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    /// Up to 40 levels and 240 schemas.
    Full,
    /// Up to 6 levels and 15 schemas: for vectors that are kept.
    Small,
}

/// The case `number` of the run with this seed, with at least `requests` requests.
pub fn case(seed: u64, number: u64, requests: u64, size: Size) -> Case {
    let mut random = Random::new(seed, number);
    let flavour = *random.pick(&[
        Flavour::Plain,
        Flavour::Plain,
        Flavour::Plain,
        Flavour::ExemptPressure,
        Flavour::ExemptPressure,
        Flavour::NoBorrowing,
        Flavour::Huge,
    ]);
    let server_limit = match flavour {
        Flavour::Huge => *random.pick(&[1_000_000, 400_000_001, i32::MAX as u32]),
        Flavour::ExemptPressure => *random.pick(&[20, 100, 600, 601, 3000]),
        _ => *random.pick(&[1, 2, 3, 5, 10, 17, 100, 600, 601, 3000, 12_345]),
    };
    let steps = Steps {
        random,
        flavour,
        size,
        server_limit,
        now: 0,
        steps: Vec::new(),
        names: Vec::new(),
        schemas: Vec::new(),
        handles: 0,
        in_flight: Vec::new(),
    };
    Case { name: format!("seed {seed}, configuration {number}"), server_limit, steps: steps.of(requests) }
}

/// A case as it grows.
struct Steps {
    random: Random,
    flavour: Flavour,
    size: Size,
    server_limit: u32,
    now: u64,
    steps: Vec<Step>,
    /// Names of the levels that the current configuration was made of.
    names: Vec<String>,
    schemas: Vec<FlowSchema>,
    handles: u64,
    /// Requests that have not been ended. Which of them execute, wait or were turned away only the run shows.
    in_flight: Vec<u64>,
}

impl Steps {
    fn of(mut self, requests: u64) -> Vec<Step> {
        if self.random.chance(10) {
            self.steps.push(Step::Digest { at: 0 });
        }
        let mut asked = 0;
        let phases = 8;
        for phase in 0..phases {
            match self.random.below(4) {
                _ if phase == 0 => self.replace(),
                0 | 1 => self.replace(),
                2 => self.steps.push(Step::Digest { at: self.now }),
                _ => {}
            }
            let share = requests * (phase + 1) / phases;
            while asked < share {
                self.pass_time();
                self.ask();
                asked += 1;
                if self.random.chance(35) {
                    self.end_one();
                }
            }
            if self.random.chance(25) {
                while !self.in_flight.is_empty() {
                    self.end_one();
                }
                self.steps.push(Step::Digest { at: self.now });
            }
            self.adjust();
        }
        self.steps
    }

    fn pass_time(&mut self) {
        if self.random.chance(80) {
            let most = *self.random.pick(&[10, 1_000_000, 300_000_000]);
            self.now += self.random.below(most);
        }
    }

    /// Some of the levels go, some come back; the rest may change.
    fn replace(&mut self) {
        let (sizes, counts): (&[u64], &[u64]) = match self.size {
            Size::Full => (&[0, 2, 6, 12, 38], &[0, 1, 5, 20, 60, 200]),
            Size::Small => (&[0, 2, 4], &[0, 1, 5, 7]),
        };
        let largest = sizes.last().copied().unwrap_or(0) as usize;
        let pool: Vec<String> = (0..largest + 2).map(|number| format!("level-{number}")).collect();
        let most = *self.random.pick(sizes);
        let mut names = self.random.some(&pool, 0, most);
        let stay = self.random.between(0, self.names.len() as u64);
        for name in self.random.some(&self.names, stay, stay) {
            if !names.contains(&name) && names.len() < largest {
                names.push(name);
            }
        }
        let priority_levels: Vec<PriorityLevel> = levels(&mut self.random, self.flavour, &names);
        let count = *self.random.pick(counts);
        self.names = names;
        let mut targets = self.names.clone();
        targets.push("exempt".to_owned());
        self.schemas = schemas(&mut self.random, &targets, count);
        self.steps.push(Step::Replace { at: self.now, priority_levels, flow_schemas: self.schemas.clone() });
    }

    fn ask(&mut self) {
        let at = self.now;
        if self.random.chance(40) {
            let request = request(&mut self.random, &self.schemas);
            self.steps.push(Step::Classify { at, request });
            return;
        }
        let work = work(&mut self.random, self.server_limit);
        let pressed = self.flavour == Flavour::ExemptPressure && self.random.chance(15);
        let (request, work) = if pressed {
            let limit = u64::from(self.server_limit);
            let wide = self.random.between(limit / 4, limit + limit / 4);
            (self.drive("exempt"), Work { initial_seats: wide, ..work })
        } else if self.names.is_empty() || self.random.chance(30) {
            (request(&mut self.random, &self.schemas), work)
        } else {
            let level = self.random.pick(&self.names).clone();
            (self.drive(&level), work)
        };
        self.handles += 1;
        self.in_flight.push(self.handles);
        self.steps.push(Step::Start { at, handle: self.handles, request, work });
    }

    fn drive(&mut self, level: &str) -> Attributes {
        request_by(&mut self.random, driver(level))
    }

    fn end_one(&mut self) {
        if self.in_flight.is_empty() {
            return;
        }
        self.pass_time();
        let place = self.random.below(self.in_flight.len() as u64) as usize;
        let (at, handle) = (self.now, self.in_flight[place]);
        if self.random.chance(75) {
            self.in_flight.swap_remove(place);
            self.steps.push(Step::Finish { at, handle });
        } else {
            self.steps.push(Step::Cancel { at, handle });
        }
    }

    /// At the end of a period, at once, a second time for a period without length, or after idle ones.
    fn adjust(&mut self) {
        match self.random.below(4) {
            0 => {}
            _ => self.now = (self.now / PERIOD + 1) * PERIOD,
        }
        self.steps.push(Step::Adjust { at: self.now });
        for _ in 0..self.random.below(3) {
            if self.random.chance(60) {
                self.now += *self.random.pick(&[PERIOD, PERIOD, 1, 3_333_333_333, 300 * PERIOD]);
            }
            self.steps.push(Step::Adjust { at: self.now });
        }
    }
}
