//! Generates traces, runs them on both sides and compares every event.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use crate::Failure;
use crate::diff::{self, Difference};
use crate::exercised::Exercised;
use crate::generate::{Generated, generate};
use crate::minimise::minimise;
use crate::read;
use crate::reference::{Input, Reference};
use crate::trace::Trace;

/// What to check.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Events in all.
    pub events: u64,
    /// Configurations that they are spread over.
    pub configs: u64,
    /// Everything follows from it.
    pub seed: u64,
    /// The reference program.
    pub program: PathBuf,
    /// Where a trace that differs is saved. `None` to save none.
    pub regressions: Option<PathBuf>,
}

/// How a check ended.
#[derive(Debug)]
pub enum Outcome {
    /// No difference.
    Same {
        /// What was exercised.
        exercised: Exercised,
        /// Traces compared.
        traces: u64,
    },
    /// A difference.
    Different {
        /// The trace, shortened.
        trace: Trace,
        /// Where it was generated: configuration and part.
        place: (u64, u64),
        /// How many events had been the same before, over all traces.
        same_before: u64,
        /// What differs first in the shortened trace.
        found: Difference,
        /// Where the trace was saved.
        saved: Option<PathBuf>,
    },
}

/// The traces of a folder, by file name; a folder that is not there has none.
///
/// # Errors
///
/// When it cannot be listed.
pub fn trace_files(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut files = Vec::new();
    if folder.is_dir() {
        let doing = format!("listing {}", folder.display());
        for entry in fs::read_dir(folder).map_err(Failure::io(&*doing))? {
            let path = entry.map_err(Failure::io(&*doing))?.path();
            if path.extension().is_some_and(|extension| extension == "trace") {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

/// What running a folder of stored traces showed.
#[derive(Debug)]
pub enum Stored {
    /// This many traces, no difference.
    Same(usize),
    /// A trace that differs, its file and where.
    Different(PathBuf, Box<Trace>, Difference),
    /// A file whose stored lines (`.expected`) are not what the reference says.
    Outdated(PathBuf),
}

/// Runs the stored traces of a folder on both sides, and compares the stored lines with the reference's.
///
/// # Errors
///
/// When a file cannot be read, or one side cannot run a trace.
pub fn stored(folder: &Path, reference: &mut Reference) -> Result<Stored, Failure> {
    let mut count = 0;
    for file in trace_files(folder)? {
        let expected = file.with_extension("expected");
        let text =
            fs::read_to_string(&expected).map_err(Failure::io(format!("reading {}", expected.display())))?;
        let mut lines = text.lines();
        for trace in read::read_file(&file)? {
            count += 1;
            let ours = diff::our_lines(&trace)?;
            let theirs = reference.run(trace.to_string())?;
            if let Some(found) = diff::first_difference(&ours, &theirs, ours.len()) {
                return Ok(Stored::Different(file, Box::new(trace), found));
            }
            if !theirs.iter().map(String::as_str).eq(lines.by_ref().take_while(|line| *line != "end")) {
                return Ok(Stored::Outdated(expected));
            }
        }
    }
    Ok(Stored::Same(count))
}

/// One generated trace on its way to the comparison.
struct Job {
    config: u64,
    part: u64,
    generated: Generated,
}

/// Generates, runs and compares.
///
/// # Errors
///
/// When one side breaks.
pub fn check(plan: &Plan) -> Result<Outcome, Failure> {
    let mut reference = Reference::start(&plan.program, &[])?;
    let (sender, jobs) = sync_channel(2);
    let input = reference.input();
    let outcome = thread::scope(|scope| {
        let producer = scope.spawn(|| produce(plan, input, sender));
        let outcome = consume(jobs, &mut reference);
        match (producer.join(), outcome) {
            // The consumer's news comes first: the producer only fails because nobody listens any more.
            (_, Ok(Consumed::Different(job, found, same_before))) => {
                Ok(Consumed::Different(job, found, same_before))
            }
            (Ok(Err(failure)), _) | (Ok(Ok(())), Err(failure)) => Err(failure),
            (Ok(Ok(())), same) => same,
            (Err(_), _) => Err(Failure::Core("the generator panicked".to_owned())),
        }
    })?;
    match outcome {
        Consumed::Same { exercised, traces } => Ok(Outcome::Same { exercised, traces }),
        Consumed::Different(job, found, same_before) => {
            let mut reference = Reference::start(&plan.program, &[])?;
            let (trace, found) = minimise(&job.generated.trace, found, &mut reference, 5_000)?;
            let saved = match &plan.regressions {
                Some(folder) => {
                    let name = format!("seed-{}-config-{}-part-{}", plan.seed, job.config, job.part);
                    Some(save(&folder.join(name), &trace, &found, &mut reference)?)
                }
                None => None,
            };
            Ok(Outcome::Different { trace, place: (job.config, job.part), same_before, found, saved })
        }
    }
}

/// Makes each configuration's share of the events, in as many parts as early ends make of it.
fn produce(plan: &Plan, input: Input, jobs: SyncSender<Job>) -> Result<(), Failure> {
    let configs = plan.configs.clamp(1, plan.events.max(1));
    for config in 0..configs {
        // The shares differ by at most one and add up.
        let mut left = plan.events * (config + 1) / configs - plan.events * config / configs;
        let mut part = 0;
        while left > 0 {
            let generated = generate(plan.seed, config, part, left as usize)?;
            // No first event can end a trace early, so each part brings this nearer to 0.
            left -= generated.exercised.events.clamp(1, left);
            input.send(generated.trace.to_string())?;
            if jobs.send(Job { config, part, generated }).is_err() {
                return Ok(());
            }
            part += 1;
        }
    }
    Ok(())
}

enum Consumed {
    Same { exercised: Exercised, traces: u64 },
    Different(Box<Job>, Difference, u64),
}

fn consume(jobs: Receiver<Job>, reference: &mut Reference) -> Result<Consumed, Failure> {
    let mut exercised = Exercised::default();
    let mut traces = 0;
    for job in jobs {
        let mut theirs = Vec::with_capacity(job.generated.lines.len());
        while let Some(line) = reference.line()? {
            theirs.push(line);
        }
        let ours = &job.generated.lines;
        if let Some(found) = diff::first_difference(ours, &theirs, ours.len().max(theirs.len())) {
            let same_before = exercised.events + found.event as u64 - 1;
            return Ok(Consumed::Different(Box::new(job), found, same_before));
        }
        exercised += job.generated.exercised;
        traces += 1;
    }
    Ok(Consumed::Same { exercised, traces })
}

/// Saves a trace with what differed in it, and beside it the reference's lines.
fn save(
    name: &Path,
    trace: &Trace,
    found: &Difference,
    reference: &mut Reference,
) -> Result<PathBuf, Failure> {
    let path = name.with_extension("trace");
    let doing = format!("writing {}", path.display());
    if let Some(folder) = name.parent() {
        fs::create_dir_all(folder).map_err(Failure::io(&*doing))?;
    }
    let Difference { event, ours, theirs } = found;
    let text = format!("# Differed at event {event}.\n# ours:      {ours}\n# reference: {theirs}\n{trace}");
    fs::write(&path, text).map_err(Failure::io(&*doing))?;
    let mut expected = reference.run(trace.to_string())?.join("\n");
    expected.push_str("\nend\n");
    fs::write(name.with_extension("expected"), expected).map_err(Failure::io(doing))?;
    Ok(path)
}
