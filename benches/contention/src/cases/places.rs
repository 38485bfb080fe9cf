//! The same load with its threads close together and far apart.

use std::path::Path;

use apf::clock::Clock;

use super::threads::{Load, Pace, compare};
use crate::placement::sweep;
use crate::report::Report;
use crate::rounds::Effort;
use crate::topology::{SYSTEM, Topology};

/// Between two operations of a thread, nanoseconds.
const THINK: u64 = 200;

/// Every placement that the machine has.
///
/// # Errors
///
/// When its topology cannot be read.
pub fn case(report: &mut Report, effort: Effort, clock: &Clock) -> Result<(), String> {
    let topology = Topology::read(Path::new(SYSTEM)).map_err(|error| error.to_string())?;
    report.note(&format!("topology: {topology}"));
    if topology.nodes_with_cpus() == 1 {
        report.note("placement: the processors are all in one memory node, so no NUMA effect was measured");
    }
    for placement in sweep(&topology) {
        report.note(&format!(
            "placement {}: a thread on each of processors {:?}",
            placement.name, placement.threads
        ));
        let load = Load { places: placement.threads, pace: Pace::Think(THINK), run: effort.run };
        compare(&load, effort.runs, clock).report(report, &format!("placement/{}", placement.name));
    }
    Ok(())
}
