//! The commands a developer and CI run: `cargo xtask test` is everything, the others are its longer relatives.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command line tool: printing is its job")]

mod abi;
mod bench;
mod c;
mod c_package;
mod conformance;
mod fuzz;
mod go_binding;
mod install;
mod licences;
mod loom;
mod no_std;
mod parts;
mod python;
mod readme;
mod sanitize;
mod setup;
mod shell;

use lexopt::prelude::*;
use shell::Stop;
use std::process::ExitCode;

const HELP: &str = "\
cargo xtask COMMAND

  test [--only NAME]... [--list]   everything that CI checks, or the named parts of it
  conformance [--events N] [--configs N] [--seed N] [--mutate] [--server]
                                   the reference beside apf-core, on random traces
  bench [--quick] [--json]         instruction counts, wall clock, allocations, peers; writes benches/RESULTS.md
  fuzz [--target NAME] [--seconds N]
                                   the fuzz targets, each for N seconds (default 600)
  loom [--bound N] [--all-loads] [--mutations [--only NAME]] [--schedules N]
                                   every interleaving of the gate's models; or the faults that they must find;
                                   or random schedules of more threads
  header [--write]                 compares include/apf.h with what crates/apf-ffi makes, or writes it
  install --prefix DIR             libapf as a C library: header, both libraries, pkg-config, CMake, licences
  abi [--write]                    compares the binary interface with its committed description, or writes that
  sanitize [--only NAME]...        the C and C++ tests under sanitizers and valgrind, libapf instrumented too
  go-archive                       builds libapf.a and puts it where bindings/go links it from
  readme [--write]                 compares the outputs shown in README.md with what the commands print now
  demo [ARGUMENTS]                 the story of a noisy list client on the real engine and the real clock, 48 s
  stress [--minutes N] [--seed N]  8 threads, 64 levels, everything at random; the books must balance (default 10)

Exit codes: 0 all held, 1 something failed, 2 the command line was not understood.
";

fn main() -> ExitCode {
    let mut args = lexopt::Parser::from_env();
    let command = match args.next() {
        Ok(Some(Value(name))) => name.to_string_lossy().into_owned(),
        Ok(Some(Short('h') | Long("help"))) | Ok(None) => {
            print!("{HELP}");
            return ExitCode::SUCCESS;
        }
        Ok(Some(other)) => return usage(&other.unexpected().to_string()),
        Err(error) => return usage(&error.to_string()),
    };
    let result = match command.as_str() {
        "test" => parts::command(args),
        "conformance" => conformance::command(args),
        "bench" => bench::command(args),
        "fuzz" => fuzz::command(args),
        "loom" => loom::command(args),
        "header" => c::header_command(args),
        "install" => install::command(args),
        "abi" => abi::command(args),
        "sanitize" => sanitize::command(args),
        "go-archive" => go_binding::archive(),
        "readme" => readme::command(args),
        "demo" => demo(args),
        "stress" => stress(args),
        other => return usage(&format!("no command `{other}`")),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(Stop::Usage(message)) => usage(&message),
        Err(Stop::Fail(message)) => {
            eprintln!("xtask: {message}");
            ExitCode::FAILURE
        }
        Err(Stop::Skip(message)) => {
            eprintln!("xtask: cannot run here: {message}");
            ExitCode::FAILURE
        }
    }
}

fn usage(message: &str) -> ExitCode {
    eprintln!("xtask: {message}\n\n{HELP}");
    ExitCode::from(2)
}

/// The demo is a command of the command line; this is the short way to it.
fn demo(mut args: lexopt::Parser) -> Result<(), Stop> {
    let rest = args.raw_args().map_err(|error| Stop::Usage(error.to_string()))?;
    shell::cargo(["run", "--quiet", "--release", "--package", "apf-cli", "--", "demo", "--live"])
        .args(rest)
        .run()
}

/// The stress run is an example of the dispatcher's crate.
fn stress(mut args: lexopt::Parser) -> Result<(), Stop> {
    let (mut minutes, mut seed) = (10, 1);
    while let Some(argument) = args.next()? {
        match argument {
            Long("minutes") => minutes = args.value()?.parse::<u32>()?,
            Long("seed") => seed = args.value()?.parse::<u64>()?,
            other => return Err(other.unexpected().into()),
        }
    }
    let seconds = minutes.saturating_mul(60).to_string();
    let run = ["run", "--quiet", "--release", "--package", "apf", "--example", "stress", "--"];
    shell::cargo(run).args(["--seconds", &seconds, "--seed", &seed.to_string()]).run()
}
