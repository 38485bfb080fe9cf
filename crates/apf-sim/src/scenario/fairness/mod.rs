//! One-level fairness scenarios: closed-loop clients, and the average seats that each must hold.

mod file;
mod oracle;
mod run;

use apf_core::{Mode, Queuing};
use serde::Serialize;

use crate::error::Error;
use crate::progress::Progress;
use file::{Client, Expectation, Scenario};
use run::Outcome;

/// A file of fairness scenarios.
#[derive(Debug, Clone)]
pub struct Fairness {
    scenarios: Vec<Scenario>,
}

/// What the runs gave, evaluation by evaluation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FairnessReport {
    /// `exact` or `default`.
    pub mode: &'static str,
    /// One row an evaluation.
    pub rows: Vec<FairnessRow>,
}

/// One evaluation of one scenario.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FairnessRow {
    /// Name of the scenario; `NAME[ROW]` for a row of a table.
    pub scenario: String,
    /// Which evaluation of the scenario, from 1.
    pub evaluation: u32,
    /// Whether everything expected of this evaluation holds.
    pub holds: bool,
    /// Whether the clients must be treated fairly.
    pub fair_wanted: bool,
    /// How far an average may be from the expected one, relative.
    pub margin: f64,
    /// Each client's expected average of initial seats in use.
    pub expected: Vec<f64>,
    /// Each client's average of initial seats in use.
    pub averages: Vec<f64>,
    /// Largest relative deviation of an average from the expected one.
    pub worst_deviation: f64,
    /// Calls of the whole run.
    pub calls: u64,
    /// Rejected calls of the whole run.
    pub rejected: u64,
    /// How often the progress meter was wound back in the whole run.
    pub epoch_advances: u64,
    /// Why it does not hold; empty when it does.
    pub failures: Vec<String>,
}

impl FairnessReport {
    /// Whether every row holds.
    pub fn holds(&self) -> bool {
        self.failed() == 0
    }

    /// Number of rows that do not hold.
    pub fn failed(&self) -> usize {
        self.rows.iter().filter(|row| !row.holds).count()
    }
}

impl Fairness {
    pub(super) fn parse(text: &str, name: &str) -> Result<Fairness, Error> {
        Ok(Fairness { scenarios: file::read(text, name)? })
    }

    pub(super) fn run(
        &self,
        mode: Mode,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<FairnessReport, Error> {
        let mut rows = Vec::new();
        let total = self.scenarios.len() as u64;
        for (done, scenario) in (1..).zip(&self.scenarios) {
            let outcome = run::run(scenario, mode)?;
            rows.extend(evaluate(scenario, &outcome));
            progress(Progress { done, total });
        }
        Ok(FairnessReport { mode: crate::mode_name(mode), rows })
    }
}

fn evaluate(scenario: &Scenario, outcome: &Outcome) -> Vec<FairnessRow> {
    let evaluations = scenario.expectations.iter().zip(&outcome.averages).zip(1..);
    let mut rows: Vec<FairnessRow> = evaluations
        .map(|((expectation, averages), number)| row(scenario, outcome, expectation, averages, number))
        .collect();
    // What holds for the whole run is told with its last evaluation.
    if let Some(last) = rows.last_mut() {
        last.failures.extend(whole_run_failures(scenario, outcome));
        last.holds = last.failures.is_empty();
    }
    rows
}

fn row(
    scenario: &Scenario,
    outcome: &Outcome,
    expectation: &Expectation,
    averages: &[f64],
    evaluation: u32,
) -> FairnessRow {
    let is_first_of_two = evaluation == 1 && scenario.expectations.len() > 1;
    let expected = expectation.averages.clone().unwrap_or_else(|| {
        let demands: Vec<f64> = scenario.clients.iter().map(|c| demand(c, is_first_of_two)).collect();
        oracle::max_min_fair(capacity(scenario), &demands)
    });
    let deviations: Vec<f64> =
        averages.iter().zip(&expected).map(|(average, want)| ((average - want) / want).abs()).collect();
    let worst_deviation = deviations.iter().copied().fold(0.0, f64::max);
    let least_deviation = deviations.iter().copied().fold(f64::INFINITY, f64::min);

    let mut failures = Vec::new();
    if expectation.fair && worst_deviation > expectation.margin {
        failures.push(format!(
            "an average is {worst_deviation} away from its fair value, must be within {}",
            expectation.margin
        ));
    }
    let unfair_at = if expectation.fair { expectation.not_fair_at } else { Some(expectation.margin) };
    if let Some(margin) = unfair_at.filter(|&margin| least_deviation <= margin) {
        failures.push(format!(
            "an average is only {least_deviation} away from its fair value, all must be outside {margin}"
        ));
    }
    FairnessRow {
        scenario: scenario.name.clone(),
        evaluation,
        holds: failures.is_empty(),
        fair_wanted: expectation.fair,
        margin: expectation.margin,
        expected,
        averages: averages.to_vec(),
        worst_deviation,
        calls: outcome.calls,
        rejected: outcome.rejected,
        epoch_advances: outcome.epoch_advances,
        failures,
    }
}

fn whole_run_failures(scenario: &Scenario, outcome: &Outcome) -> Vec<String> {
    let mut failures = Vec::new();
    let Outcome { rejected, rejected_otherwise, unfinished, .. } = *outcome;
    if scenario.all_requests && rejected > 0 {
        failures.push(format!("{rejected} calls were rejected, none may be"));
    }
    if let Some(reason) = scenario.reject_reason {
        if rejected == 0 {
            failures.push(format!("no call was rejected, some must be with reason {reason}"));
        } else if rejected_otherwise > 0 {
            failures
                .push(format!("{rejected_otherwise} calls were rejected for another reason than {reason}"));
        }
    }
    if unfinished > 0 {
        failures.push(format!("{unfinished} calls never ended"));
    }
    if let Some(expected) = scenario.epoch_advances.filter(|&expected| expected != outcome.epoch_advances) {
        failures.push(format!(
            "the progress meter was wound back {} times, must be {expected}",
            outcome.epoch_advances
        ));
    }
    failures
}

fn capacity(scenario: &Scenario) -> f64 {
    match scenario.queuing {
        Queuing::Exempt => f64::INFINITY,
        Queuing::Reject | Queuing::Queue { .. } => f64::from(scenario.concurrency_limit),
    }
}

/// Seats that a client would hold on average if nothing limited it. A split client starts with half its threads.
fn demand(client: &Client, is_first_of_two: bool) -> f64 {
    let threads = if client.split && is_first_of_two { client.threads / 2 } else { client.threads };
    let exec = client.exec as f64;
    f64::from(threads) * client.initial_seats as f64 * exec / (exec + client.think as f64)
}
