//! `apf-conformance`: compares apf-core with the Kubernetes reference. See `conformance/README.md`.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command-line program")]

use std::path::PathBuf;
use std::process::ExitCode;

use apf_conformance::check::{self, Outcome, Plan};
use apf_conformance::diff::{self, Difference};
use apf_conformance::reference::Reference;
use apf_conformance::{Failure, driver, generate, mutate, read};
use apf_core::Mode;
use clap::{Parser, Subcommand, ValueEnum};

/// Runs traces through apf-core and through the Kubernetes reference, and compares.
///
/// Exit codes: 0 the same, 1 a difference or a missed minimum, 2 a run that could not be made.
#[derive(Parser)]
#[command(name = "apf-conformance", version)]
struct Arguments {
    /// The reference program, built from conformance/reference.
    #[arg(long, global = true)]
    reference: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Print apf-core's line for each event of a file's traces.
    Run {
        /// The file.
        trace: PathBuf,
        /// Also print the whole state after this event.
        #[arg(long, default_value_t = 0)]
        full: usize,
        /// Also print the whole state after every event.
        #[arg(long)]
        verbose: bool,
        /// Run in this mode rather than the trace's own.
        #[arg(long)]
        mode: Option<ModeName>,
    },
    /// Run a file's traces on both sides and stop at the first difference, with both states.
    Diff {
        /// The file.
        trace: PathBuf,
    },
    /// Print a generated trace.
    Generate {
        /// Seed of the run.
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// Number of the configuration.
        #[arg(long, default_value_t = 0)]
        config: u64,
        /// Part of the configuration: 0 unless an earlier part ended early.
        #[arg(long, default_value_t = 0)]
        part: u64,
        /// Events at most.
        #[arg(long, default_value_t = 1000)]
        events: usize,
    },
    /// Generate traces, run them on both sides, compare every event.
    Check {
        /// Events in all.
        #[arg(long, default_value_t = 1_000_000)]
        events: u64,
        /// Configurations; without it one for each 3,333 events, at least 10.
        #[arg(long)]
        configs: Option<u64>,
        /// Seed.
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// Neither run nor save regressions.
        #[arg(long)]
        no_regressions: bool,
    },
    /// Put each known fault into a copy of apf-core and show that a check finds it.
    Mutate {
        /// Events within which it must be found.
        #[arg(long, default_value_t = 50_000)]
        events: u64,
        /// Seed.
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// Only the faults whose name contains this.
        #[arg(long)]
        only: Option<String>,
    },
}

#[derive(Clone, Copy, ValueEnum)]
enum ModeName {
    Exact,
    Default,
}

fn main() -> ExitCode {
    match run(Arguments::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(failure) => {
            eprintln!("apf-conformance: {failure}");
            ExitCode::from(2)
        }
    }
}

fn run(arguments: Arguments) -> Result<bool, Failure> {
    let program = arguments.reference.unwrap_or_else(Reference::default_program);
    match arguments.command {
        Command::Run { trace, full, verbose, mode } => {
            for mut trace in read::read_file(&trace)? {
                if let Some(mode) = mode {
                    trace.mode = match mode {
                        ModeName::Exact => Mode::Exact,
                        ModeName::Default => Mode::Default,
                    };
                }
                for line in driver::run(&trace, |event| verbose || event == full)? {
                    println!("{line}");
                }
                println!("end");
            }
            Ok(true)
        }
        Command::Diff { trace: file } => {
            let mut reference = Reference::start(&program, &[])?;
            for trace in read::read_file(&file)? {
                let compared = diff::our_lines(&trace)?.len();
                if let Some(found) = diff::compare(&trace, &mut reference)? {
                    print_difference(&found);
                    print!("{}", diff::states(&trace, found.event, &program)?);
                    return Ok(false);
                }
                println!(
                    "{}: {compared} of {} events compared, 0 differences",
                    file.display(),
                    trace.events.len()
                );
            }
            Ok(true)
        }
        Command::Generate { seed, config, part, events } => {
            print!("{}", generate::generate(seed, config, part, events)?.trace);
            Ok(true)
        }
        Command::Check { events, configs, seed, no_regressions } => {
            let configs = configs.unwrap_or_else(|| (events / 3_333).max(10));
            let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../regressions");
            let regressions = (!no_regressions).then_some(folder);
            run_check(&Plan { events, configs, seed, program, regressions })
        }
        Command::Mutate { events, seed, only } => {
            mutate::mutate(&program, events, seed, only.as_deref(), |line| println!("{line}"))
        }
    }
}

fn run_check(plan: &Plan) -> Result<bool, Failure> {
    if let Some(folder) = &plan.regressions {
        let mut reference = Reference::start(&plan.program, &[])?;
        let (count, different) = check::regressions(folder, &mut reference)?;
        if let Some((file, trace, found)) = different {
            println!("regression {}:", file.display());
            print_difference(&found);
            print!("{}", diff::states(&trace, found.event, &plan.program)?);
            return Ok(false);
        }
        println!("regressions: {count} traces, 0 differences");
    }
    match check::check(plan)? {
        Outcome::Same { exercised, traces } => {
            println!(
                "{} events, {} configurations, {traces} traces, seed {}: 0 differences",
                exercised.events, plan.configs, plan.seed
            );
            print!("{exercised}");
            let missed = exercised.missed();
            if missed.is_empty() {
                return Ok(true);
            }
            println!("too little of: {}", missed.join(", "));
            Ok(false)
        }
        Outcome::Different { trace, place: (config, part), same_before, found, saved } => {
            println!(
                "1 difference, after {same_before} events that were the same (seed {}, configuration {config}, part {part})",
                plan.seed
            );
            print_difference(&found);
            print!("{}", diff::states(&trace, found.event, &plan.program)?);
            if let Some(path) = saved {
                println!("shortened to {} events and saved as {}", trace.events.len(), path.display());
            }
            Ok(false)
        }
    }
}

fn print_difference(found: &Difference) {
    println!("first difference at event {}:", found.event);
    println!("  ours:      {}", found.ours);
    println!("  reference: {}", found.theirs);
}
