//! Cases with the reference's answers, for machines without Go.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::wire::{Case, CaseResult};

/// One line of a vector file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Vector {
    /// The case.
    pub case: Case,
    /// What the reference did with it.
    pub expected: CaseResult,
}

/// Reads a file of vectors, one a line.
///
/// # Errors
///
/// Names the file and the line.
pub fn read(path: &Path) -> Result<Vec<Vector>, String> {
    lines(path)
}

/// Reads a file of cases without answers, one a line.
///
/// # Errors
///
/// Names the file and the line.
pub fn read_cases(path: &Path) -> Result<Vec<Case>, String> {
    lines(path)
}

fn lines<T: for<'a> Deserialize<'a>>(path: &Path) -> Result<Vec<T>, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    text.lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty())
        .map(|(number, line)| {
            serde_json::from_str(line).map_err(|error| format!("{}:{}: {error}", path.display(), number + 1))
        })
        .collect()
}

/// The committed files, by name.
///
/// # Errors
///
/// The folder cannot be read.
pub fn committed() -> Result<Vec<PathBuf>, String> {
    let folder = crate::reference::folder().join("vectors");
    let entries = std::fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
        .collect();
    files.sort();
    Ok(files)
}
