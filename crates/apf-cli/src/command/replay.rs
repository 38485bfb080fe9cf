//! `apf replay`: recorded audit logs through one configuration, or through two.

use std::path::{Path, PathBuf};

use apf_config::Objects;
use apf_core::Mode;
use apf_sim::audit::{self, Input, Log};
use apf_sim::configuration::{BuiltIn, Configuration};
use apf_sim::replay::{self, Comparison, DurationModel, Options, ReplayReport};
use serde::Serialize;

use crate::args::Replay;
use crate::failure::{Failure, Outcome};
use crate::input;
use crate::print::{self, Bar, Format, Label, json, visible};
use crate::report::{self, Parts};

/// With `--against`.
#[derive(Debug, Serialize)]
struct Both<'a> {
    before: &'a ReplayReport,
    after: &'a ReplayReport,
    difference: &'a Comparison,
}

pub(super) fn run(args: &Replay) -> Result<Outcome, Failure> {
    refuse_stdin_twice(args)?;
    let options = options(args)?;
    let own = |paths: &[PathBuf]| input::own_objects(paths, args.manifests.lenient);
    let before = own(&args.manifests.filename)?;
    let after = if args.against.is_empty() { None } else { Some(own(&args.against)?) };
    let log = read(&args.logs)?;
    let first = replay_one(&log, &before, &options)?;
    let second = after.map(|objects| replay_one(&log, &objects, &options)).transpose()?;
    let comparison = second.as_ref().map(|second| replay::compare(&first, second));

    // With two configurations, what is not their difference is shown of the second.
    let shown = second.as_ref().unwrap_or(&first);
    let parts = Parts {
        report: &shown.report,
        input: Some((&shown.counts, &shown.replayed)),
        comparison: comparison.as_ref(),
    };
    let text = match (args.output.output, &second, &comparison) {
        (Format::Json, Some(after), Some(difference)) => json(&Both { before: &first, after, difference })?,
        (Format::Json, ..) => json(&first)?,
        (Format::Csv, ..) => parts.csv(args.section)?,
        (Format::Table, ..) => parts.text(args.section)?,
    };
    print::result(&text);
    report_skipped(&log);
    report::explain_assumptions(&shown.report);
    Ok(Outcome::Good)
}

fn options(args: &Replay) -> Result<Options, Failure> {
    let mode = if args.exact { Mode::Exact } else { Mode::Default };
    let mut options = Options::new(args.seats.seats, mode);
    options.request_timeout = args.request_timeout.0;
    options.list_seats = args.list_seats;
    if let Some(text) = &args.durations {
        options.durations =
            DurationModel::parse(text).map_err(|error| Failure::usage(format!("--{error}")))?;
    }
    Ok(options)
}

fn refuse_stdin_twice(args: &Replay) -> Result<(), Failure> {
    let named = [&args.logs, &args.manifests.filename, &args.against];
    let times = named.into_iter().flatten().filter(|path| path.as_path() == Path::new("-")).count();
    if times > 1 {
        return Err(Failure::usage("standard input is named twice and can be read only once"));
    }
    Ok(())
}

fn read(paths: &[PathBuf]) -> Result<Log, Failure> {
    let mut inputs = Vec::new();
    for path in paths {
        input::must_open(path)?;
        inputs.push(match path.to_str() {
            Some("-") => Input::Stdin,
            _ => Input::File(path.clone(), path.display().to_string()),
        });
    }
    let mut bar = Bar::new("reading");
    audit::read(&inputs, &mut |progress| bar.report(progress)).map_err(Failure::refused)
}

fn replay_one(log: &Log, own: &Objects, options: &Options) -> Result<ReplayReport, Failure> {
    let configuration = Configuration::from_objects(BuiltIn::Suggested, own);
    let mut bar = Bar::new("replaying");
    replay::run(log, &configuration, options, &mut |progress| bar.report(progress)).map_err(Failure::refused)
}

/// Names the first lines that are not replayed.
fn report_skipped(log: &Log) {
    let skipped = log.counts.skipped();
    for example in &log.counts.examples {
        print::message(Label::Warning, &format!("{}: not replayed", visible(example)));
    }
    let named = log.counts.examples.len() as u64;
    if skipped > named {
        print::message(Label::Warning, &format!("{} more lines are not replayed", skipped - named));
    }
}
