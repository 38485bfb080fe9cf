//! Reports of runs as tables: the same columns for people and for CSV, whatever the run was.

mod adjustments;
mod difference;
mod input;
mod seats;
mod traffic;

use apf_sim::audit::Counts;
use apf_sim::replay::{Comparison, Replayed};
use apf_sim::report::Report;

use crate::args::Section;
use crate::failure::Failure;
use crate::print::{self, Figures, Label, Table};

/// What there is to print of a run.
pub(crate) struct Parts<'a> {
    pub(crate) report: &'a Report,
    /// What was read and sent, of a replay.
    pub(crate) input: Option<(&'a Counts, &'a Replayed)>,
    pub(crate) comparison: Option<&'a Comparison>,
}

impl Parts<'_> {
    /// One part as CSV.
    pub(crate) fn csv(&self, section: Option<Section>) -> Result<String, Failure> {
        let default = if self.comparison.is_some() { Section::Difference } else { Section::Traffic };
        self.table(section.unwrap_or(default), false)?.csv()
    }

    /// One part, or all of them under headings, for people.
    pub(crate) fn text(&self, section: Option<Section>) -> Result<String, Failure> {
        if let Some(section) = section {
            return Ok(self.table(section, true)?.aligned());
        }
        let report = self.report;
        let mut parts = Vec::new();
        if let Some((counts, replayed)) = self.input {
            parts.push(("Input", input::table(counts, replayed).aligned()));
        }
        if let Some(comparison) = self.comparison {
            parts.push(("Levels, first and second configuration", difference::levels(comparison).aligned()));
            parts.push(("Flow schemas that differ", difference::schemas(comparison)));
        }
        parts.push(("Levels", traffic::levels(report).aligned()));
        parts.push(("Flow schemas", traffic::schemas(report).aligned()));
        parts.push((if self.input.is_some() { "Users" } else { "Clients" }, traffic::clients(report)));
        parts.push(("Seats", seats::table(report, Figures::FOR_PEOPLE).aligned()));
        parts.push(("Current limits that moved", adjustments::moved(report)));
        let shown = parts.iter().filter(|(_, text)| !text.is_empty());
        Ok(shown.map(|(title, text)| format!("{title}\n\n{text}")).collect::<Vec<_>>().join("\n"))
    }

    fn table(&self, section: Section, people: bool) -> Result<Table, Failure> {
        let figures = if people { Figures::FOR_PEOPLE } else { Figures::FOR_PROGRAMS };
        let absent = |why: &str| Failure::usage(format!("--section: {why}"));
        match section {
            Section::Traffic => Ok(traffic::everything(self.report, figures)),
            Section::Seats => Ok(seats::table(self.report, figures)),
            Section::Adjustments => Ok(adjustments::table(self.report, figures)),
            Section::Input => {
                let (counts, replayed) = self.input.ok_or_else(|| absent("a scenario reads no log"))?;
                Ok(input::table(counts, replayed))
            }
            Section::Difference => self
                .comparison
                .map(|comparison| difference::everything(comparison, people))
                .ok_or_else(|| absent("difference needs --against")),
        }
    }
}

/// Writes the assumptions that a result rests on to standard error.
pub(crate) fn explain_assumptions(report: &Report) {
    for note in &report.notes {
        print::message(Label::Note, note);
    }
}
