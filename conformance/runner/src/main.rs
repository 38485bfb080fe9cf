//! `apf-conformance`: compares apf-core with the Kubernetes reference. See `conformance/README.md`.

#![allow(clippy::print_stderr, reason = "a command-line program")]

use std::fmt::Display;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use apf_conformance::check::{self, Outcome, Plan, Stored};
use apf_conformance::diff::{self, Difference};
use apf_conformance::reference::Reference;
use apf_conformance::trace::Trace;
use apf_conformance::{Failure, driver, gate, generate, mutate, read};
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
        /// Configurations; without it one for each 3,333 events, at least 20.
        #[arg(long)]
        configs: Option<u64>,
        /// Seed.
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// Generated traces only: run no stored ones, save none.
        #[arg(long)]
        no_regressions: bool,
    },
    /// Run generated traces, in both modes, through the gate and through the bare core, and compare every event.
    Gate {
        /// Events in all, for each mode.
        #[arg(long, default_value_t = 100_000)]
        events: u64,
        /// Seed.
        #[arg(long, default_value_t = 1)]
        seed: u64,
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
    match run(Arguments::parse(), &mut Output(io::stdout().lock())) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        // Whoever read the output has seen enough of it.
        Err(Failure::Io { cause, .. }) if cause.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("apf-conformance: {failure}");
            ExitCode::from(2)
        }
    }
}

/// Standard output, whose failures are errors and not panics.
struct Output(io::StdoutLock<'static>);

impl Output {
    fn line(&mut self, text: impl Display) -> Result<(), Failure> {
        writeln!(self.0, "{text}").map_err(Failure::io("writing the output"))
    }

    fn difference(&mut self, trace: &Trace, found: &Difference, program: &Path) -> Result<(), Failure> {
        self.line(format!("first difference at event {}:", found.event))?;
        self.line(format!("  ours:      {}", found.ours))?;
        self.line(format!("  reference: {}", found.theirs))?;
        self.line(diff::states(trace, found.event, program)?.trim_end())
    }
}

fn run(arguments: Arguments, out: &mut Output) -> Result<bool, Failure> {
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
                    out.line(line)?;
                }
                out.line("end")?;
            }
            Ok(true)
        }
        Command::Diff { trace: file } => {
            let mut reference = Reference::start(&program, &[])?;
            for trace in read::read_file(&file)? {
                if let Some(found) = diff::compare(&trace, &mut reference)? {
                    out.difference(&trace, &found, &program)?;
                    return Ok(false);
                }
                let compared = diff::our_lines(&trace)?.len();
                let all = trace.events.len();
                out.line(format!("{}: {compared} of {all} events compared, 0 differences", file.display()))?;
            }
            Ok(true)
        }
        Command::Generate { seed, config, part, events } => {
            let generated = generate::generate(seed, config, part, events)?;
            out.line(generated.trace.to_string().trim_end())?;
            Ok(true)
        }
        Command::Check { events, configs, seed, no_regressions } => {
            let configs = configs.unwrap_or_else(|| (events / 3_333).max(20));
            let regressions = (!no_regressions).then(|| conformance_folder("regressions"));
            run_check(&Plan { events, configs, seed, program, regressions }, out)
        }
        Command::Gate { events, seed } => {
            let (mut config, mut compared, mut moved) = (0, 0, 0);
            while compared < 2 * events {
                let mut trace = generate::generate(seed, config, 0, 3_333)?.trace;
                for mode in [Mode::Exact, Mode::Default] {
                    trace.mode = mode;
                    let same = gate::compare(&trace)?;
                    compared += same.events as u64;
                    moved += same.moved;
                }
                config += 1;
            }
            out.line(format!(
                "{compared} events, {config} configurations in 2 modes, seed {seed}: 0 differences ({moved} events at a later time)"
            ))?;
            Ok(true)
        }
        Command::Mutate { events, seed, only } => {
            mutate::mutate(&program, events, seed, only.as_deref(), |line| out.line(line))
        }
    }
}

fn conformance_folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name(name)
}

fn run_check(plan: &Plan, out: &mut Output) -> Result<bool, Failure> {
    if plan.regressions.is_some() {
        for folder in ["vectors", "regressions"] {
            let mut reference = Reference::start(&plan.program, &[])?;
            match check::stored(&conformance_folder(folder), &mut reference)? {
                Stored::Same(count) => out.line(format!("{folder}: {count} traces, 0 differences"))?,
                Stored::Different(file, trace, found) => {
                    out.line(format!("{}:", file.display()))?;
                    out.difference(&trace, &found, &plan.program)?;
                    return Ok(false);
                }
                Stored::Outdated(file) => {
                    out.line(format!("{} is not what the reference says", file.display()))?;
                    return Ok(false);
                }
            }
        }
    }
    match check::check(plan)? {
        Outcome::Same { exercised, traces } => {
            out.line(format!(
                "{} events, {} configurations, {traces} traces, seed {}: 0 differences",
                exercised.events, plan.configs, plan.seed
            ))?;
            out.line(exercised.to_string().trim_end())?;
            let missed = exercised.missed();
            if missed.is_empty() {
                return Ok(true);
            }
            out.line(format!("too little of: {}", missed.join(", ")))?;
            Ok(false)
        }
        Outcome::Different { trace, place: (config, part), same_before, found, saved } => {
            out.line(format!(
                "1 difference, after {same_before} events that were the same (seed {}, configuration {config}, part {part})",
                plan.seed
            ))?;
            out.difference(&trace, &found, &plan.program)?;
            if let Some(path) = saved {
                let events = trace.events.len();
                out.line(format!("shortened to {events} events and saved as {}", path.display()))?;
            }
            Ok(false)
        }
    }
}
