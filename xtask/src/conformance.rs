//! Runs the reference beside `apf-core` and beside whole servers: see `conformance/README.md`.

use crate::setup;
use crate::shell::{Program, Stop, cargo, program};
use lexopt::prelude::*;

const REFERENCE: &str = "conformance/reference";

/// A command of the runner for one level.
fn level(command: &str) -> Program {
    cargo(["run", "--quiet", "--release", "--locked", "--package", "apf-conformance", "--", command])
}

/// A command of the runner for whole servers, which builds its own reference.
fn server(command: &str) -> Program {
    cargo(["run", "--quiet", "--release", "--locked", "--package", "apf-conformance-server", "--", command])
}

fn build_reference() -> Result<(), Stop> {
    setup::go()?;
    program("go").args(["build", "-o", "bin/reference", "."]).within(REFERENCE).run()
}

pub(crate) fn command(mut args: lexopt::Parser) -> Result<(), Stop> {
    let (mut events, mut configs, mut seed) = (None, 300_u64, 1_u64);
    let (mut mutate, mut whole_servers) = (false, false);
    while let Some(arg) = args.next()? {
        match arg {
            Long("events") => events = Some(args.value()?.parse::<u64>()?),
            Long("configs") => configs = args.value()?.parse()?,
            Long("seed") => seed = args.value()?.parse()?,
            Long("mutate") => mutate = true,
            Long("server") => whole_servers = true,
            other => return Err(other.unexpected().into()),
        }
    }
    if mutate && whole_servers {
        return Err(Stop::Usage("--mutate and --server are two runs".to_owned()));
    }
    let (configs, seed) = (configs.to_string(), seed.to_string());
    if whole_servers {
        setup::go()?;
        return server("check").args(["--configs", &configs, "--seed", &seed]).run();
    }
    build_reference()?;
    if mutate {
        let events = events.unwrap_or(50_000).to_string();
        return level("mutate").args(["--events", &events, "--seed", &seed]).run();
    }
    let events = events.unwrap_or(1_000_000).to_string();
    level("check").args(["--events", &events, "--configs", &configs, "--seed", &seed]).run()
}

pub(crate) fn level_short() -> Result<(), Stop> {
    build_reference()?;
    level("check").args(["--events", "50000", "--seed", "1"]).run()
}

pub(crate) fn server_short() -> Result<(), Stop> {
    setup::go()?;
    server("check").args(["--configs", "20", "--requests", "2000", "--seed", "1", "--small"]).run()
}
