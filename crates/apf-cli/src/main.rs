//! `apf`: what Kubernetes API Priority and Fairness does with a configuration, a request, a recorded log.

mod args;
mod command;
mod failure;
mod finding;
mod input;
mod notes;
mod print;
mod report;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let args = args::Args::parse();
    match command::run(args.command) {
        Ok(outcome) => outcome.exit_code(),
        Err(failure) => {
            print::message(print::Label::Error, &failure.to_string());
            failure.exit_code()
        }
    }
}
