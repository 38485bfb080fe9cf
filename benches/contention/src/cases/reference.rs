//! The Kubernetes reference on the same work, in turns with ours.
//!
//! It is a program that `go test -c` makes of `benches/peers/reference`. A round is some slices of ours, the
//! reference's benchmarks, and some slices of ours again.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use apf::clock::Clock;
use apf::gate::Gate;
use apf::locked::Locked;

use crate::peers::crowd::OneCrowd;
use crate::peers::dispatcher::{Way, Whole, schemas};
use crate::peers::futures::{Crowd, OfDispatcher, OfLevel, OfSemaphore};
use crate::peers::one_by_one::OneByOne;
use crate::report::Report;
use crate::rounds::{Effort, Lanes, median};

/// The reference's benchmark, ours, and how many times faster ours has to be.
const PAIRS: [(&str, &str, Option<f64>); 9] = [
    ("Uncontended/queues=64", "reference/gate/64", Some(25.0)),
    ("Uncontended/queues=128", "reference/gate/128", Some(40.0)),
    ("Uncontended/queues=1024", "reference/gate/1024", None),
    ("Crowded/queues=64", "reference/gate-futures/64", Some(15.0)),
    ("Crowded/queues=128", "reference/gate-futures/128", Some(15.0)),
    ("Saturated/queues=64", "reference/gate-driven/64", None),
    ("Saturated/queues=128", "reference/gate-driven/128", None),
    ("Controller/schemas=0", "reference/dispatcher/11", None),
    ("Controller/schemas=1000", "reference/dispatcher/1011", None),
];

/// Slices of ours before and after the reference's turn.
const SLICES: u32 = 5;

fn ours(clock: &Clock) -> Lanes {
    let mut lanes = Lanes::default();
    for queues in [64, 128, 1024] {
        lanes.add(format!("reference/gate/{queues}"), OneByOne::<Gate>::new(queues, clock.clone()));
    }
    for queues in [64, 128] {
        let futures = Crowd::new(OfLevel::<Gate>::new(queues, clock.clone()));
        lanes.add(format!("reference/gate-futures/{queues}"), futures);
        // Two waiting a queue, as in the reference's benchmark.
        let driven = OneCrowd::<Gate>::new(queues, 2 * queues, clock.clone());
        lanes.add(format!("reference/gate-driven/{queues}"), driven);
    }
    lanes.add("reference/std-mutex-futures/64", Crowd::new(OfLevel::<Locked>::new(64, clock.clone())));
    lanes.add("reference/tokio-semaphore-futures/1", Crowd::new(OfSemaphore::new()));
    lanes.add("reference/dispatcher-futures/64", Crowd::new(OfDispatcher::new(clock.clone())));
    lanes.add("reference/dispatcher/11", Whole::built_in(Way::Try, clock.clone()));
    let alice = vec!["alice".to_owned()];
    let many = Whole::new(schemas(1000, "catch-all"), Way::Try, clock.clone(), alice);
    lanes.add("reference/dispatcher/1011", many);
    lanes
}

/// `BenchmarkCrowded/queues=64-2   3000   5852 ns/op ...`: the benchmark without the number of processors, and its time.
fn line(line: &str) -> Option<(String, f64)> {
    let mut words = line.strip_prefix("Benchmark")?.split_whitespace();
    let name = words.next()?;
    let time = words.nth(1)?.parse().ok()?;
    (words.next()? == "ns/op").then(|| (name.strip_suffix("-2").unwrap_or(name).to_owned(), time))
}

/// One run of all its benchmarks: nanoseconds a request, the better of one processor and two.
fn theirs(program: &Path, requests: u32) -> Result<BTreeMap<String, f64>, String> {
    let output = Command::new(program)
        .args(["-test.run", "^$", "-test.bench", "Uncontended|Crowded|Controller|Saturated/queues=(64|128)$"])
        .args(["-test.benchtime", &format!("{requests}x"), "-test.cpu", "1,2"])
        .output()
        .map_err(|error| format!("{}: {error}", program.display()))?;
    let printed = String::from_utf8_lossy(&output.stdout);
    let mut best = BTreeMap::new();
    for (name, time) in printed.lines().filter_map(line) {
        best.entry(name).and_modify(|best: &mut f64| *best = best.min(time)).or_insert(time);
    }
    let missing = PAIRS.iter().find(|(name, ..)| !best.contains_key(*name));
    match missing {
        Some((name, ..)) => Err(format!("the reference has not printed {name}:\n{printed}")),
        None => Ok(best),
    }
}

/// Rounds of both; `program` is the reference's.
///
/// # Errors
///
/// Says what was wrong with the program.
pub fn case(report: &mut Report, effort: Effort, clock: &Clock, program: &Path) -> Result<(), String> {
    let (rounds, requests) = if effort.runs > 3 { (7, 20_000) } else { (3, 3_000) };
    let mut lanes = ours(clock);
    lanes.calibrate(effort.slice);
    let mut ratios: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    let mut times: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for round in 0..rounds {
        (0..SLICES).for_each(|slice| lanes.round(round + slice));
        let theirs = theirs(program, requests)?;
        (0..SLICES).for_each(|slice| lanes.round(round + slice));
        for (name, own, _) in PAIRS {
            let own = lanes.rounds(own);
            let own = median(own.get(own.len().saturating_sub(2 * SLICES as usize)..).unwrap_or_default());
            let time = theirs.get(name).copied().unwrap_or(f64::NAN);
            times.entry(name).or_default().push(time);
            ratios.entry(name).or_default().push(time / own);
        }
    }
    lanes.check();
    lanes.report(report, "reference/gate/64");
    for (name, own, least) in PAIRS {
        let (time, ratio) = (median(&times[name]), median(&ratios[name]));
        let shown = name.to_lowercase().replace("/queues=", "/").replace("/schemas=", "/schemas-");
        report.compared(&format!("reference/k8s-{shown}"), time, "ns/request", own, ratio);
        if let Some(least) = least {
            report.aim(
                ratio >= least,
                &format!(
                    "{own}: at least {least} times as fast as the reference's {name}; measured {ratio:.1}"
                ),
            );
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_one_and_of_two_processors_are_of_the_same_benchmark() {
        let two = line("BenchmarkCrowded/queues=64-2  \t 20000\t 68492 ns/op\t 1.000 queued/op\t 9493 B/op");
        assert_eq!(two, Some(("Crowded/queues=64".to_owned(), 68492.0)));
        let one = line("BenchmarkUncontended/queues=1024  \t 20000\t 98997.5 ns/op");
        assert_eq!(one, Some(("Uncontended/queues=1024".to_owned(), 98997.5)));
        assert_eq!(line("cpu: AMD EPYC"), None);
    }
}
