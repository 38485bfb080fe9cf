//! Scenario files: one-level fairness scenarios.

mod fairness;

use std::path::Path;

use apf_core::Mode;

use crate::error::Error;
use crate::progress::Progress;
pub use fairness::{Fairness, FairnessReport, FairnessRow};

/// A scenario file.
#[derive(Debug, Clone)]
pub enum Scenario {
    /// A list of one-level scenarios with known answers.
    Fairness(Fairness),
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
        let _ = folder;
        Fairness::parse(text, name).map(Scenario::Fairness)
    }

    /// Evaluates every row of a fairness scenario.
    ///
    /// # Errors
    ///
    /// A level or request that the engine refuses.
    pub fn check(
        &self,
        options: &RunOptions,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<FairnessReport, Error> {
        match self {
            Scenario::Fairness(fairness) => fairness.run(options.mode.unwrap_or(Mode::Exact), progress),
        }
    }
}
