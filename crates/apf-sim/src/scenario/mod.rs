//! Scenario files: one-level fairness scenarios, and whole-server scenarios.

mod fairness;
mod server;

use std::path::Path;

use apf_core::Mode;

use crate::error::Error;
use crate::progress::Progress;
use crate::report::Report;
pub use fairness::{Fairness, FairnessReport, FairnessRow};
pub use server::{Observer, ServerScenario, Snapshot};

/// A scenario file.
#[derive(Debug, Clone)]
pub enum Scenario {
    /// A list of one-level scenarios with known answers.
    Fairness(Fairness),
    /// A whole server, its clients, and changes of its configuration.
    Server(Box<ServerScenario>),
}

/// What a scenario gave.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[serde(untagged)]
pub enum ScenarioReport {
    /// Of a fairness scenario.
    Fairness(FairnessReport),
    /// Of a whole-server scenario.
    Server(Box<Report>),
}

/// What the command line may override.
#[derive(Debug, Clone, Copy, Default)]
pub struct RunOptions {
    /// In place of the file's mode; fairness scenarios run in exact mode unless told otherwise.
    pub mode: Option<Mode>,
    /// In place of the file's seed.
    pub seed: Option<u64>,
}

impl Scenario {
    /// Reads a scenario file.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or breaks a rule of the format: with line, column and field.
    pub fn load(path: &Path) -> Result<Scenario, Error> {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(path)
            .map_err(|e| Error::in_file(&name, format!("cannot be read: {e}")))?;
        Scenario::parse(&text, &name, path.parent().unwrap_or(Path::new("")))
    }

    /// Reads a scenario from text. `name` stands for the file in messages; manifests are looked up in `folder`.
    ///
    /// # Errors
    ///
    /// The text breaks a rule of the format: with line, column and field.
    pub fn parse(text: &str, name: &str, folder: &Path) -> Result<Scenario, Error> {
        // What the file begins with tells the formats apart: a list of levels, or a mapping.
        let first = text.lines().map(str::trim_start).find(|line| {
            !(line.is_empty() || line.starts_with('#') || line.starts_with("---") || line.starts_with('%'))
        });
        if first.is_some_and(|line| line.starts_with('-') || line.starts_with('[')) {
            return Fairness::parse(text, name).map(Scenario::Fairness);
        }
        let scenario = ServerScenario::parse(text, name, folder)?;
        Ok(Scenario::Server(Box::new(scenario)))
    }

    /// Runs a scenario.
    ///
    /// # Errors
    ///
    /// A level, request or configuration that the engine refuses.
    pub fn run(
        &self,
        options: &RunOptions,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<ScenarioReport, Error> {
        match self {
            Scenario::Fairness(_) => self.check(options, progress).map(ScenarioReport::Fairness),
            Scenario::Server(scenario) => scenario
                .run(options, &mut (), progress)
                .map(|report| ScenarioReport::Server(Box::new(report))),
        }
    }

    /// Evaluates every row of a fairness scenario.
    ///
    /// # Errors
    ///
    /// A level or request that the engine refuses, or a whole-server scenario: it expects nothing.
    pub fn check(
        &self,
        options: &RunOptions,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<FairnessReport, Error> {
        match self {
            Scenario::Fairness(fairness) => fairness.run(options.mode.unwrap_or(Mode::Exact), progress),
            Scenario::Server(_) => Err(Error::new(
                "a whole-server scenario has no expectations to check; only a list of fairness scenarios does",
            )),
        }
    }
}
