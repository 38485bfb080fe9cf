//! `apf-conformance-server`: whole servers against the Kubernetes controller.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command line prints")]

use std::path::PathBuf;
use std::process::ExitCode;

use apf_conformance_server::compare::{Verdict, compare};
use apf_conformance_server::coverage::Coverage;
use apf_conformance_server::generate::{self, Size};
use apf_conformance_server::reference::Reference;
use apf_conformance_server::server;
use apf_conformance_server::vectors;
use apf_conformance_server::wire::Case;
use lexopt::prelude::*;

const USAGE: &str = "\
usage: apf-conformance-server COMMAND

  check [--configs N] [--requests N] [--seed N] [--small] [--only CONFIG]
          random servers on both sides, until the first difference (needs Go)
  record [--configs N] [--requests N] [--seed N] [--small] [--only CONFIG] [FILE...]
          prints vectors: those cases, or the cases in the files, with the reference's answers (needs Go)
  vectors [FILE...]
          holds our side to vectors, the committed ones by default
";

struct Options {
    configs: u64,
    requests: u64,
    seed: u64,
    only: Option<u64>,
    size: Size,
    files: Vec<PathBuf>,
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("apf-conformance-server: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), String> {
    let (command, options) = arguments().map_err(|error| format!("{error}\n{USAGE}"))?;
    match command.as_str() {
        "check" => check(&options),
        "record" => record(&options),
        "vectors" => replay(&options),
        "help" => {
            print!("{USAGE}");
            Ok(())
        }
        other => Err(format!("unknown command {other:?}\n{USAGE}")),
    }
}

fn arguments() -> Result<(String, Options), lexopt::Error> {
    let mut options =
        Options { configs: 300, requests: 20_000, seed: 1, only: None, size: Size::Full, files: Vec::new() };
    let mut command = None;
    let mut parser = lexopt::Parser::from_env();
    while let Some(argument) = parser.next()? {
        match argument {
            Long("configs") => options.configs = parser.value()?.parse()?,
            Long("requests") => options.requests = parser.value()?.parse()?,
            Long("seed") => options.seed = parser.value()?.parse()?,
            Long("only") => options.only = Some(parser.value()?.parse()?),
            Long("small") => options.size = Size::Small,
            Long("help") | Short('h') => command = Some("help".to_owned()),
            Value(value) if command.is_none() => command = Some(value.string()?),
            Value(value) => options.files.push(value.into()),
            other => return Err(other.unexpected()),
        }
    }
    if options.configs == 0 {
        return Err("--configs must be at least 1".into());
    }
    Ok((command.unwrap_or_else(|| "help".to_owned()), options))
}

/// The cases that the options ask for. A case depends on its number and on the requests a configuration gets.
fn cases(options: &Options) -> impl Iterator<Item = Case> {
    let numbers = match options.only {
        Some(number) => number..number + 1,
        None => 0..options.configs,
    };
    let requests = options.requests.div_ceil(options.configs);
    let (seed, size) = (options.seed, options.size);
    numbers.map(move |number| generate::case(seed, number, requests, size))
}

fn check(options: &Options) -> Result<(), String> {
    let mut reference = Reference::start()?;
    let mut coverage = Coverage::default();
    let (mut configurations, mut steps, mut rounded, mut early) = (0_u64, 0_u64, 0_u64, 0_u64);
    for mut case in cases(options) {
        let ours = server::run(&case).map_err(|error| format!("{}: {error}", case.name))?;
        case.steps.truncate(ours.answers.len());
        let theirs = reference.run(&case)?;
        match compare(&case, &ours, &theirs) {
            Verdict::Same => {}
            Verdict::RoundedApart(step) => {
                rounded += 1;
                println!("{}: ended at step {step}, where a limit was rounded apart", case.name);
            }
            Verdict::Different(difference) => {
                let number = configurations + options.only.unwrap_or(0);
                return Err(format!(
                    "{difference}  again: check --seed {} --configs {} --requests {}{} --only {number}",
                    options.seed,
                    options.configs,
                    options.requests,
                    if options.size == Size::Small { " --small" } else { "" }
                ));
            }
        }
        configurations += 1;
        steps += ours.answers.len() as u64;
        early += u64::from(ours.ended_early);
        coverage.add(&ours.coverage);
    }
    println!("{coverage}");
    println!(
        "{configurations} configurations, {} requests, {steps} steps: 0 differences",
        coverage.resource_requests + coverage.url_requests
    );
    println!(
        "{rounded} cases ended where a limit was rounded apart, {early} where the reference would remove a queue twice"
    );
    if options.only.is_some() {
        return Ok(());
    }
    let mut missed = coverage.missed(options.configs);
    let most = (options.configs / 20).max(1);
    for (what, ended) in [("rounded apart", rounded), ("ended before their last step", early)] {
        if ended > most {
            missed.push(format!("cases {what}: {ended}, must be at most {most}"));
        }
    }
    if missed.is_empty() {
        Ok(())
    } else {
        Err(format!("the run met too little:\n  {}", missed.join("\n  ")))
    }
}

fn record(options: &Options) -> Result<(), String> {
    let mut reference = Reference::start()?;
    let mut of_files = Vec::new();
    for file in &options.files {
        of_files.extend(vectors::read_cases(file)?);
    }
    let chosen: Box<dyn Iterator<Item = Case>> =
        if options.files.is_empty() { Box::new(cases(options)) } else { Box::new(of_files.into_iter()) };
    for mut case in chosen {
        // Our side says where the reference can no longer be followed.
        let ours = server::run(&case).map_err(|error| format!("{}: {error}", case.name))?;
        case.steps.truncate(ours.answers.len());
        let expected = reference.ask(&case)?;
        let case = serde_json::to_string(&case).map_err(|error| error.to_string())?;
        println!("{{\"case\":{case},\"expected\":{expected}}}");
    }
    Ok(())
}

fn replay(options: &Options) -> Result<(), String> {
    let files = if options.files.is_empty() { vectors::committed()? } else { options.files.clone() };
    let mut count = 0;
    for file in files {
        for vector in vectors::read(&file)? {
            let ours = server::run(&vector.case).map_err(|error| format!("{}: {error}", vector.case.name))?;
            match compare(&vector.case, &ours, &vector.expected) {
                Verdict::Same => count += 1,
                Verdict::RoundedApart(step) => {
                    return Err(format!(
                        "{}: step {step} was rounded apart: not fit for a vector",
                        vector.case.name
                    ));
                }
                Verdict::Different(difference) => return Err(difference.to_string()),
            }
        }
    }
    println!("{count} server vectors: 0 differences");
    Ok(())
}
