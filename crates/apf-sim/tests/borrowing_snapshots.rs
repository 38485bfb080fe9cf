//! The adjustments of 28 real API servers, v1.26 to v1.35, reproduced from the demand that they saw.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeMap;

use apf_core::{Adjusted, Borrower, DemandStats, LevelLimits, Mode, Outcome, adjust};

#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct Snapshot {
    git_version: String,
    seat_fair_frac: f64,
    priority_levels: BTreeMap<String, BTreeMap<String, f64>>,
}

fn snapshots() -> Vec<Snapshot> {
    let lines = include_str!("data/borrowing-snapshots-a.jsonl").lines();
    lines.map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// From v1.28 to v1.30 the exempt level took part in the allocation like the others.
fn exempt_takes_part(version: &str) -> bool {
    ["v1.28.", "v1.29.", "v1.30."].iter().any(|minor| version.starts_with(minor))
}

fn borrower(snapshot: &Snapshot, name: &str) -> Borrower {
    let gauges = &snapshot.priority_levels[name];
    let seats = |gauge: &str| gauges[gauge] as u32;
    Borrower {
        exempt: name == "exempt" && !exempt_takes_part(&snapshot.git_version),
        limits: LevelLimits {
            nominal: seats("nominal_limit_seats"),
            min: seats("lower_limit_seats"),
            max: seats("upper_limit_seats"),
            initial: 0,
        },
        stats: DemandStats {
            average: gauges["demand_seats_average"],
            deviation: gauges["demand_seats_stdev"],
            smoothed: gauges["demand_seats_smoothed"],
            high_watermark: seats("demand_seats_high_watermark"),
        },
        // Only kept where no allocation exists, so a wrong value shows.
        current: 9_999,
    }
}

#[test]
fn exact_mode_reproduces_every_limit_that_real_servers_gave_their_levels() {
    let (mut limited, mut exempt) = (0, 0);
    for snapshot in snapshots() {
        let has_limits = |gauges: &BTreeMap<String, f64>| gauges.contains_key("nominal_limit_seats");
        let names: Vec<&String> = snapshot
            .priority_levels
            .iter()
            .filter(|(_, gauges)| has_limits(gauges))
            .map(|(name, _)| name)
            .collect();
        let borrowers: Vec<Borrower> = names.iter().map(|name| borrower(&snapshot, name)).collect();
        let mut adjusted = vec![Adjusted::default(); borrowers.len()];
        let outcome = adjust(Mode::Exact, &borrowers, &mut adjusted);

        let Outcome::Fair { proportion } = outcome else { panic!("{}: {outcome:?}", snapshot.git_version) };
        let relative = proportion / snapshot.seat_fair_frac - 1.0;
        assert!(relative.abs() < 1e-9, "{}: {proportion}", snapshot.git_version);
        for ((name, borrower), adjusted) in names.iter().zip(&borrowers).zip(&adjusted) {
            let reported = snapshot.priority_levels[*name]["current_limit_seats"];
            assert_eq!(f64::from(adjusted.current), reported, "{} {name}", snapshot.git_version);
            if name.as_str() != "exempt" {
                limited += 1;
                let target = snapshot.priority_levels[*name]["target_seats"];
                assert_eq!(adjusted.target, target, "{} {name}", snapshot.git_version);
            } else if borrower.exempt {
                exempt += 1;
            }
        }
    }
    assert_eq!(limited, 196);
    assert_eq!(exempt, 12, "every exempt level from v1.31 on");
}
