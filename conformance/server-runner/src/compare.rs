//! Whether two answers are the same, and how to show that they are not.

use std::fmt;

use crate::server::{LooseLimit, Run};
use crate::wire::{Answer, Case, CaseResult, LevelState};

/// What a comparison found.
#[derive(Debug)]
pub enum Verdict {
    /// Every answer is the same.
    Same,
    /// The same up to this step, where a limit was rounded the other way: from here on the two go different
    /// ways, and both are right.
    RoundedApart(usize),
    /// They differ.
    Different(Box<Difference>),
}

/// The first difference of a case.
#[derive(Debug)]
pub struct Difference {
    /// Name of the case.
    pub case: String,
    /// The step, counted from 0.
    pub step: usize,
    /// The step itself, in JSON.
    pub what: String,
    /// The members that differ, ours and theirs.
    pub members: Vec<(String, String, String)>,
}

/// Compares our answers with the reference's.
pub fn compare(case: &Case, ours: &Run, theirs: &CaseResult) -> Verdict {
    for (step, our_answer) in ours.answers.iter().enumerate() {
        let absent = Answer { panic: "no answer".to_owned(), ..Answer::default() };
        let their_answer = theirs.results.get(step).unwrap_or(&absent);
        if our_answer == their_answer {
            continue;
        }
        let loose = ours.loose.get(step).map(Vec::as_slice).unwrap_or_default();
        if !loose.is_empty() && same_but_for_rounding(our_answer, their_answer, loose) {
            return Verdict::RoundedApart(step);
        }
        let what = case.steps.get(step).map(|step| serde_json::to_string(step).unwrap_or_default());
        return Verdict::Different(Box::new(Difference {
            case: case.name.clone(),
            step,
            what: what.unwrap_or_default(),
            members: members(our_answer, their_answer),
        }));
    }
    Verdict::Same
}

fn same_but_for_rounding(ours: &Answer, theirs: &Answer, loose: &[LooseLimit]) -> bool {
    let mut ours = ours.clone();
    let pairs = levels_mut(&mut ours).into_iter().flatten().zip(levels(theirs).into_iter().flatten());
    for (our, their) in pairs {
        let difference = (our.current - their.current).abs();
        if loose.iter().any(|loose| loose.level == our.name && difference <= loose.by) {
            our.current = their.current;
            our.applied = their.applied;
            our.occupied = their.occupied;
        }
    }
    ours == *theirs
}

fn levels(answer: &Answer) -> Option<&Vec<LevelState>> {
    answer.adjusted.as_ref().or(answer.config.as_ref().map(|config| &config.levels))
}

fn levels_mut(answer: &mut Answer) -> Option<&mut Vec<LevelState>> {
    answer.adjusted.as_mut().or(answer.config.as_mut().map(|config| &mut config.levels))
}

/// The paths at which two answers differ.
fn members(ours: &Answer, theirs: &Answer) -> Vec<(String, String, String)> {
    let tree = |answer: &Answer| serde_json::to_value(answer).unwrap_or_default();
    let mut found = Vec::new();
    descend("", &tree(ours), &tree(theirs), &mut found);
    found
}

fn descend(
    path: &str,
    ours: &serde_json::Value,
    theirs: &serde_json::Value,
    found: &mut Vec<(String, String, String)>,
) {
    use serde_json::Value::{Array, Object};
    match (ours, theirs) {
        (left, right) if left == right => {}
        (Object(left), Object(right)) => {
            let nothing = serde_json::Value::Null;
            let mut keys: Vec<&String> = left.keys().chain(right.keys()).collect();
            keys.sort();
            keys.dedup();
            for key in keys {
                let (left, right) = (left.get(key).unwrap_or(&nothing), right.get(key).unwrap_or(&nothing));
                descend(&format!("{path}.{key}"), left, right, found);
            }
        }
        (Array(left), Array(right)) if left.len() == right.len() => {
            for (index, (left, right)) in left.iter().zip(right).enumerate() {
                let name = left.get("name").and_then(serde_json::Value::as_str);
                let label = name.map_or_else(|| index.to_string(), str::to_owned);
                descend(&format!("{path}[{label}]"), left, right, found);
            }
        }
        _ => found.push((path.trim_start_matches('.').to_owned(), ours.to_string(), theirs.to_string())),
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "difference in {}, step {}", self.case, self.step)?;
        writeln!(f, "  step: {}", self.what)?;
        for (path, ours, theirs) in &self.members {
            writeln!(f, "  {path}\n    ours:      {ours}\n    reference: {theirs}")?;
        }
        Ok(())
    }
}
