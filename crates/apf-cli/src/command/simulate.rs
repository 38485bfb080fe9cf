//! `apf simulate`: a scenario file on simulated time.

use apf_core::Mode;
use apf_sim::scenario::{FairnessReport, RunOptions, Scenario, ScenarioReport};

use crate::args::Simulate;
use crate::failure::{Failure, Outcome};
use crate::input;
use crate::print::{self, Bar, Column, Figures, Format, Table, json, visible};
use crate::report::{self, Parts};

pub(super) fn run(args: &Simulate) -> Result<Outcome, Failure> {
    input::must_open(&args.file)?;
    let scenario = Scenario::load(&args.file).map_err(Failure::refused)?;
    let file = args.file.display();
    if args.check && matches!(scenario, Scenario::Server(_)) {
        return Err(Failure::usage(format!(
            "{file}: --check: a scenario of a whole server has no expectations, only a list of fairness scenarios has"
        )));
    }
    if args.section.is_some() && matches!(scenario, Scenario::Fairness(_)) {
        return Err(Failure::usage(format!("{file}: --section: fairness scenarios have one table only")));
    }
    let options = RunOptions { mode: args.exact.then_some(Mode::Exact), seed: args.seed };
    let mut bar = Bar::new("simulating");
    let outcome = scenario.run(&options, &mut |progress| bar.report(progress)).map_err(Failure::refused)?;
    drop(bar);
    match outcome {
        ScenarioReport::Server(server) => {
            let parts = Parts { report: &server, input: None, comparison: None };
            print::result(&match args.output.output {
                Format::Json => json(&server)?,
                Format::Csv => parts.csv(args.section)?,
                Format::Table => parts.text(args.section)?,
            });
            report::explain_assumptions(&server);
            Ok(Outcome::Good)
        }
        ScenarioReport::Fairness(fairness) => {
            print::result(&match args.output.output {
                Format::Json => json(&fairness)?,
                Format::Csv => table(&fairness, Figures::FOR_PROGRAMS).csv()?,
                Format::Table => text(&fairness),
            });
            Ok(if args.check && !fairness.holds() { Outcome::Findings } else { Outcome::Good })
        }
    }
}

fn text(fairness: &FairnessReport) -> String {
    let mut text = table(fairness, Figures::FOR_PEOPLE).aligned();
    let failures = fairness.rows.iter().flat_map(|row| row.failures.iter().map(move |why| (row, why)));
    for (row, why) in failures {
        let scenario = visible(&row.scenario);
        text.push_str(&format!("{scenario} evaluation {}: {why}\n", row.evaluation));
    }
    text.push_str(&format!(
        "{} of {} rows hold, {} mode\n",
        fairness.rows.len() - fairness.failed(),
        fairness.rows.len(),
        fairness.mode
    ));
    text
}

fn table(fairness: &FairnessReport, Figures { number, .. }: Figures) -> Table {
    let mut table = Table::new(&[
        Column::left("SCENARIO", "scenario"),
        Column::right("EVALUATION", "evaluation"),
        Column::left("HOLDS", "holds"),
        Column::left("FAIR WANTED", "fair_wanted"),
        Column::right("MARGIN", "margin"),
        Column::right("DEVIATION", "worst_deviation"),
        Column::left("EXPECTED", "expected"),
        Column::left("AVERAGES", "averages"),
        Column::right("CALLS", "calls"),
        Column::right("REJECTED", "rejected"),
        Column::right("EPOCHS", "epoch_advances"),
    ]);
    let list = |values: &[f64]| values.iter().map(|&value| number(value)).collect::<Vec<_>>().join(" ");
    for row in &fairness.rows {
        table.row([
            row.scenario.clone(),
            row.evaluation.to_string(),
            if row.holds { "yes" } else { "NO" }.to_owned(),
            if row.fair_wanted { "yes" } else { "no" }.to_owned(),
            number(row.margin),
            number(row.worst_deviation),
            list(&row.expected),
            list(&row.averages),
            row.calls.to_string(),
            row.rejected.to_string(),
            row.epoch_advances.to_string(),
        ]);
    }
    table
}
