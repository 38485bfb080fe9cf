//! The committed answers of the reference, held against our side: needs no Go.

use apf_conformance_server::compare::{Verdict, compare};
use apf_conformance_server::coverage::Coverage;
use apf_conformance_server::server::{self, LooseLimit};
use apf_conformance_server::vectors::{self, Vector};
use apf_conformance_server::wire;

fn all() -> Vec<Vector> {
    let files = vectors::committed().unwrap_or_else(|error| panic!("{error}"));
    assert!(!files.is_empty());
    files.iter().flat_map(|file| vectors::read(file).unwrap_or_else(|error| panic!("{error}"))).collect()
}

#[test]
fn whole_servers_do_what_the_reference_did() {
    let mut met = Coverage::default();
    for vector in all() {
        let ours = server::run(&vector.case).unwrap();
        assert_eq!(ours.answers.len(), vector.expected.results.len(), "{}", vector.case.name);
        match compare(&vector.case, &ours, &vector.expected) {
            Verdict::Same => {}
            Verdict::RoundedApart(step) => {
                panic!("{}: step {step} is within rounding error", vector.case.name)
            }
            Verdict::Different(difference) => panic!("{difference}"),
        }
        met.add(&ours.coverage);
    }
    let missed: Vec<_> = met.rows().into_iter().filter(|(_, met, _)| *met == 0).collect();
    assert!(missed.is_empty(), "the vectors never meet {missed:?}");
}

/// A comparison that overlooks a changed answer would make every other check worthless.
#[test]
fn every_changed_number_is_a_difference() {
    let vector = &all()[0];
    let ours = server::run(&vector.case).unwrap();
    let changes: [fn(&mut wire::LevelState); 12] = [
        |level| level.nominal += 1,
        |level| level.min -= 1,
        |level| level.max += 1,
        |level| level.current += 1,
        |level| level.applied += 1,
        |level| level.max_seats += 1,
        |level| level.quiescing ^= true,
        |level| level.high_watermark += 1,
        |level| level.average = f64::from_bits(level.average.to_bits() + 1),
        |level| level.deviation = f64::from_bits(level.deviation.to_bits() + 1),
        |level| level.smoothed = f64::from_bits(level.smoothed.to_bits() + 1),
        |level| level.occupied.seats_in_use += 1,
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let mut theirs = vector.expected.clone();
        let config = theirs.results.iter_mut().find_map(|answer| answer.config.as_mut()).unwrap();
        change(&mut config.levels[0]);
        assert!(matches!(compare(&vector.case, &ours, &theirs), Verdict::Different(_)), "change {number}");
    }
    let mut shorter = vector.expected.clone();
    shorter.results.pop();
    assert!(matches!(compare(&vector.case, &ours, &shorter), Verdict::Different(_)));
}

#[test]
fn a_limit_next_to_a_half_may_be_rounded_apart_but_no_further() {
    let vector = &all()[0];
    let mut ours = server::run(&vector.case).unwrap();
    let step = vector.expected.results.iter().position(|answer| answer.adjusted.is_some()).unwrap();
    let mut theirs = vector.expected.clone();
    let name = {
        let level = &mut theirs.results[step].adjusted.as_mut().unwrap()[0];
        level.current += 1;
        level.applied += 1;
        level.name.clone()
    };
    assert!(matches!(compare(&vector.case, &ours, &theirs), Verdict::Different(_)));
    ours.loose[step].push(LooseLimit { level: name, by: 1 });
    assert!(matches!(compare(&vector.case, &ours, &theirs), Verdict::RoundedApart(at) if at == step));
    let level = &mut theirs.results[step].adjusted.as_mut().unwrap()[0];
    level.current += 1;
    level.applied += 1;
    assert!(matches!(compare(&vector.case, &ours, &theirs), Verdict::Different(_)));
}
