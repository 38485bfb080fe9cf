//! `apf completions`: the script that a shell loads.

use clap::CommandFactory;

use crate::args::Args;
use crate::failure::{Failure, Outcome};
use crate::print;

pub(super) fn run(shell: clap_complete::Shell) -> Result<Outcome, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "apf", &mut script);
    print::result(&String::from_utf8_lossy(&script));
    Ok(Outcome::Good)
}
