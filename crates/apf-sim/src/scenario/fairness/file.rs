//! The file format of one-level fairness scenarios: a YAML list.
//!
//! The format is described in `docs/scenarios.md`.

use apf_core::{Queuing, Reason};
use serde::Deserialize;

use crate::duration::GoDuration;
use crate::error::Error;
use crate::yaml::{self, Placed};

/// One run: a level, its clients, and what each must get. A `table` makes several of one entry.
#[derive(Debug, Clone)]
pub(super) struct Scenario {
    pub(super) name: String,
    pub(super) queuing: Queuing,
    pub(super) concurrency_limit: u32,
    pub(super) clients: Vec<Client>,
    /// Length of the evaluation, nanoseconds.
    pub(super) evaluation: u64,
    /// Two when a client is split: one for each half of the evaluation.
    pub(super) expectations: Vec<Expectation>,
    pub(super) all_requests: bool,
    pub(super) reject_reason: Option<Reason>,
    pub(super) epoch_advances: Option<u64>,
}

/// A closed-loop client.
#[derive(Debug, Clone)]
pub(super) struct Client {
    pub(super) hash: u64,
    pub(super) threads: u32,
    pub(super) calls: u32,
    pub(super) exec: u64,
    /// From the end of an execution to the next call; negative when calls overlap.
    pub(super) think: i64,
    pub(super) pad: u64,
    pub(super) initial_seats: u64,
    pub(super) final_seats: u64,
    pub(super) split: bool,
}

/// What must hold for one evaluation.
#[derive(Debug, Clone)]
pub(super) struct Expectation {
    pub(super) fair: bool,
    /// Relative.
    pub(super) margin: f64,
    /// In place of the max-min fair allocation.
    pub(super) averages: Option<Vec<f64>>,
    /// A smaller margin at which it must not be fair.
    pub(super) not_fair_at: Option<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    level: Placed<LevelFields>,
    eval: Placed<GoDuration>,
    #[serde(default)]
    clients: Vec<Placed<ClientFields>>,
    #[serde(default)]
    expect: Vec<Placed<ExpectFields>>,
    #[serde(default)]
    not_fair_at: Vec<Option<f64>>,
    #[serde(default)]
    all_requests: bool,
    reject_reason: Option<Placed<String>>,
    epoch_advances: Option<u64>,
    margin: Option<f64>,
    table: Option<Vec<Placed<TableRow>>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LevelFields {
    queues: i64,
    queue_length_limit: Option<u32>,
    hand_size: Option<u32>,
    concurrency_limit: Option<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ClientFields {
    hash: u64,
    threads: u32,
    calls: u32,
    exec: GoDuration,
    #[serde(default)]
    think: GoDuration,
    #[serde(default)]
    pad: GoDuration,
    #[serde(default = "one")]
    initial_seats: u64,
    #[serde(default = "one")]
    final_seats: u64,
    #[serde(default)]
    split: bool,
}

fn one() -> u64 {
    1
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ExpectFields {
    fair: bool,
    margin: f64,
    averages: Option<Vec<f64>>,
}

/// `[think, pad, final_seats, concurrency_limit, number of clients, expected averages or null]`.
#[derive(Deserialize)]
struct TableRow(GoDuration, GoDuration, u64, u32, usize, Option<Vec<f64>>);

/// What a `table` leaves out of its clients: one thread of 25 calls of 1 s, and these flow hashes in turn.
const TABLE_HASHES: [u64; 2] = [1_001_001_001, 2_002_002_002];
const TABLE_CALLS: u32 = 25;
const TABLE_EXEC: u64 = 1_000_000_000;

/// More threads are a slip of the pen.
const MOST_THREADS: u32 = 1_000_000;

/// Reads every scenario of a file; a table row is one, named `NAME[ROW]`.
pub(super) fn read(text: &str, name: &str) -> Result<Vec<Scenario>, Error> {
    let entries: Vec<Entry> = yaml::read(text, name)?;
    if entries.is_empty() {
        return Err(Error::in_file(name, "holds no scenario"));
    }
    let mut scenarios = Vec::new();
    for entry in &entries {
        match &entry.table {
            None => scenarios.push(entry.scenario(name)?),
            Some(rows) => {
                for (index, row) in rows.iter().enumerate() {
                    scenarios.push(entry.table_row(name, index, row)?);
                }
            }
        }
    }
    Ok(scenarios)
}

impl Entry {
    fn scenario(&self, file: &str) -> Result<Scenario, Error> {
        let refuse = |message: String| yaml::refuse(&self.level, file, self.named(&message));
        let Some(concurrency_limit) = self.level.value.concurrency_limit else {
            return Err(refuse("level.concurrency_limit is missing".into()));
        };
        if self.clients.is_empty() {
            return Err(refuse("clients: at least one is needed".into()));
        }
        let clients: Vec<Client> =
            self.clients.iter().map(|client| self.client(file, client)).collect::<Result<_, _>>()?;
        let evaluations = if clients.iter().any(|client| client.split) { 2 } else { 1 };
        if self.expect.len() != evaluations {
            return Err(refuse(format!(
                "expect has {} entries, must have {evaluations}: one an evaluation, and a split client makes two",
                self.expect.len()
            )));
        }
        if !self.not_fair_at.is_empty() && self.not_fair_at.len() != evaluations {
            return Err(refuse(format!("not_fair_at must have {evaluations} entries, as expect has")));
        }
        if self.margin.is_some() {
            return Err(refuse("margin belongs to a table; here each entry of expect has its own".into()));
        }
        let mut expectations = Vec::new();
        for (index, placed) in self.expect.iter().enumerate() {
            let expect = &placed.value;
            if expect.averages.as_ref().is_some_and(|averages| averages.len() != clients.len()) {
                return Err(yaml::refuse(
                    placed,
                    file,
                    self.named(&format!("expect.averages must have {} entries: one a client", clients.len())),
                ));
            }
            if !(0.0..=1.0).contains(&expect.margin) {
                return Err(yaml::refuse(
                    placed,
                    file,
                    self.named("expect.margin must be between 0 and 1: it is relative"),
                ));
            }
            expectations.push(Expectation {
                fair: expect.fair,
                margin: expect.margin,
                averages: expect.averages.clone(),
                not_fair_at: self.not_fair_at.get(index).copied().flatten(),
            });
        }
        self.with(file, self.name.clone(), concurrency_limit, clients, expectations)
    }

    fn table_row(&self, file: &str, index: usize, placed: &Placed<TableRow>) -> Result<Scenario, Error> {
        let TableRow(think, pad, final_seats, concurrency_limit, clients, averages) = &placed.value;
        let refuse = |message: &str| yaml::refuse(placed, file, self.named(message));
        if !self.clients.is_empty() || !self.expect.is_empty() || !self.not_fair_at.is_empty() {
            return Err(refuse("an entry with a table has no clients, expect or not_fair_at of its own"));
        }
        if self.level.value.concurrency_limit.is_some() {
            return Err(refuse("level.concurrency_limit is a column of the table"));
        }
        let Some(hashes) = TABLE_HASHES.get(..*clients).filter(|hashes| !hashes.is_empty()) else {
            return Err(refuse("the fifth column, the number of clients, must be 1 or 2"));
        };
        if averages.as_ref().is_some_and(|averages| averages.len() != *clients) {
            return Err(refuse("the sixth column must have one average a client, or be null"));
        }
        let pad =
            pad.unsigned().ok_or_else(|| refuse("the second column, the padding, must not be negative"))?;
        let clients = hashes
            .iter()
            .map(|&hash| Client {
                hash,
                threads: 1,
                calls: TABLE_CALLS,
                exec: TABLE_EXEC,
                think: think.0,
                pad,
                initial_seats: 1,
                final_seats: *final_seats,
                split: false,
            })
            .collect();
        let expectation = Expectation {
            fair: true,
            margin: self.margin.unwrap_or(0.0),
            averages: averages.clone(),
            not_fair_at: None,
        };
        self.with(file, format!("{}[{index}]", self.name), *concurrency_limit, clients, vec![expectation])
    }

    fn with(
        &self,
        file: &str,
        name: String,
        concurrency_limit: u32,
        clients: Vec<Client>,
        expectations: Vec<Expectation>,
    ) -> Result<Scenario, Error> {
        let evaluation = self.eval.value.unsigned().filter(|&ns| ns > 0);
        let reject_reason = match &self.reject_reason {
            None => None,
            Some(text) => Some(reason(&text.value).ok_or_else(|| {
                let known = "queue-full, concurrency-limit, time-out, cancelled";
                yaml::refuse(text, file, self.named(&format!("reject_reason must be one of {known}")))
            })?),
        };
        Ok(Scenario {
            name,
            queuing: self.queuing(file)?,
            concurrency_limit,
            clients,
            evaluation: evaluation
                .ok_or_else(|| yaml::refuse(&self.eval, file, self.named("eval must be longer than 0")))?,
            expectations,
            all_requests: self.all_requests,
            reject_reason,
            epoch_advances: self.epoch_advances,
        })
    }

    fn queuing(&self, file: &str) -> Result<Queuing, Error> {
        let level = &self.level.value;
        let refuse = |message: &str| yaml::refuse(&self.level, file, self.named(message));
        match level.queues {
            -1 => Ok(Queuing::Exempt),
            0 => Ok(Queuing::Reject),
            queues => Ok(Queuing::Queue {
                queues: u32::try_from(queues).map_err(|_| {
                    refuse("level.queues must be -1 (exempt), 0 (reject) or a number of queues")
                })?,
                hand_size: level.hand_size.ok_or_else(|| refuse("level.hand_size is missing"))?,
                queue_length_limit: level
                    .queue_length_limit
                    .ok_or_else(|| refuse("level.queue_length_limit is missing"))?,
            }),
        }
    }

    fn client(&self, file: &str, placed: &Placed<ClientFields>) -> Result<Client, Error> {
        let client = &placed.value;
        let refuse = |message: &str| yaml::refuse(placed, file, self.named(message));
        let exec = client.exec.unsigned().filter(|&ns| ns > 0);
        let exec = exec.ok_or_else(|| refuse("exec must be longer than 0"))?;
        if client.exec.0.checked_add(client.think.0).is_none_or(|cycle| cycle <= 0) {
            return Err(refuse("think must not be so negative that a call starts before the one before it"));
        }
        if !(1..=MOST_THREADS).contains(&client.threads) || client.calls == 0 {
            return Err(refuse(&format!("threads must be 1 to {MOST_THREADS}, calls at least 1")));
        }
        if client.split && (client.threads < 2 || client.calls < 2) {
            return Err(refuse("split needs at least 2 threads and 2 calls: it halves both"));
        }
        if client.initial_seats == 0 {
            return Err(refuse("initial_seats must be at least 1"));
        }
        Ok(Client {
            hash: client.hash,
            threads: client.threads,
            calls: client.calls,
            exec,
            think: client.think.0,
            pad: client.pad.unsigned().ok_or_else(|| refuse("pad must not be negative"))?,
            initial_seats: client.initial_seats,
            final_seats: client.final_seats,
            split: client.split,
        })
    }

    fn named(&self, message: &str) -> String {
        format!("scenario {:?}: {message}", self.name)
    }
}

fn reason(text: &str) -> Option<Reason> {
    [Reason::QueueFull, Reason::ConcurrencyLimit, Reason::TimeOut, Reason::Cancelled]
        .into_iter()
        .find(|reason| reason.as_str() == text)
}
