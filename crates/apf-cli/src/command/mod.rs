//! One module a command: each reads, computes, and prints when all of it is known.

mod check;
mod completions;
mod convert;
mod demo;
mod explain;
mod limits;
mod replay;
mod simulate;

use crate::args::Command;
use crate::failure::{Failure, Outcome};

/// Runs the command that was asked for.
pub(crate) fn run(command: Command) -> Result<Outcome, Failure> {
    match command {
        Command::Check(args) => check::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Convert(args) => convert::run(&args),
        Command::Limits(args) => limits::run(&args),
        Command::Simulate(args) => simulate::run(&args),
        Command::Replay(args) => replay::run(&args),
        Command::Demo(args) => demo::run(&args),
        Command::Completions { shell } => completions::run(shell),
    }
}
