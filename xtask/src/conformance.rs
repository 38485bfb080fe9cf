//! Runs the reference beside `apf-core`: see `conformance/README.md`.

use crate::setup;
use crate::shell::{Program, Stop, cargo};
use lexopt::prelude::*;

/// The runner with one of its commands.
fn runner(command: &str) -> Program {
    cargo(["run", "--quiet", "--release", "--locked", "--package", "apf-conformance", "--", command])
}

pub(crate) fn command(mut args: lexopt::Parser) -> Result<(), Stop> {
    let (mut events, mut configs, mut seed) = (1_000_000_u64, 300_u64, 1_u64);
    let (mut mutate, mut server) = (false, false);
    while let Some(arg) = args.next()? {
        match arg {
            Long("events") => events = args.value()?.parse()?,
            Long("configs") => configs = args.value()?.parse()?,
            Long("seed") => seed = args.value()?.parse()?,
            Long("mutate") => mutate = true,
            Long("server") => server = true,
            other => return Err(other.unexpected().into()),
        }
    }
    setup::go()?;
    let (events, configs, seed) = (events.to_string(), configs.to_string(), seed.to_string());
    if mutate {
        return runner("mutate").args(["--seed", &seed]).run();
    }
    if server {
        return runner("server").args(["--configs", &configs, "--seed", &seed]).run();
    }
    runner("check").args(["--events", &events, "--configs", &configs, "--seed", &seed]).run()
}

pub(crate) fn vectors() -> Result<(), Stop> {
    runner("vectors").run()
}

pub(crate) fn short() -> Result<(), Stop> {
    setup::go()?;
    runner("check").args(["--events", "50000", "--configs", "30", "--seed", "1"]).run()
}

pub(crate) fn server_short() -> Result<(), Stop> {
    setup::go()?;
    runner("server").args(["--configs", "20", "--seed", "1"]).run()
}

pub(crate) fn mutations_apply() -> Result<(), Stop> {
    runner("mutate").args(["--list"]).run()
}
