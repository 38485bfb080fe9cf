//! Any bytes as a scenario file, and small scenarios made of the bytes, which are run.

use crate::bytes::Bytes;
use apf_core::Mode;
use apf_sim::scenario::{RunOptions, Scenario};
use std::fmt::Write;
use std::path::Path;

/// Inputs that begin so are taken for numbers to make a scenario of, all others for a file.
const MAKE: u8 = b'!';

/// Parses the bytes as a file, or runs the scenario that they stand for in both modes.
pub fn run(data: &[u8]) {
    match data.split_first() {
        Some((&MAKE, numbers)) => run_made(&mut Bytes::new(numbers)),
        _ => parse(&String::from_utf8_lossy(data)),
    }
}

/// Nothing is looked up in this folder: it does not exist.
fn nowhere() -> &'static Path {
    Path::new("/nonexistent")
}

fn parse(text: &str) {
    if let Err(error) = Scenario::parse(text, "input", nowhere()) {
        assert!(error.to_string().contains("input"), "no file in: {error}");
    }
}

fn run_made(numbers: &mut Bytes<'_>) {
    let text = if numbers.below(2) == 0 { fairness(numbers) } else { server(numbers) };
    let scenario = match Scenario::parse(&text, "input", nowhere()) {
        Ok(scenario) => scenario,
        Err(error) => {
            assert!(error.to_string().contains("input"), "no file in: {error}");
            return;
        }
    };
    for mode in [Mode::Exact, Mode::Default] {
        let options = RunOptions { mode: Some(mode), seed: Some(1) };
        let first = scenario.run(&options, &mut |_| {});
        let second = scenario.run(&options, &mut |_| {});
        match (first, second) {
            (Ok(first), Ok(second)) => {
                assert_eq!(first, second, "the same seed gives the same report:\n{text}")
            }
            (Err(error), Err(_)) => assert!(!error.to_string().is_empty()),
            _ => panic!("a scenario runs or does not:\n{text}"),
        }
    }
}

fn fairness(numbers: &mut Bytes<'_>) -> String {
    let mut text = format!(
        "- name: made\n  level: {{queues: {}, queue_length_limit: {}, hand_size: {}, concurrency_limit: {}}}\n  \
         eval: {}s\n  expect: [{{fair: {}, margin: 0.5}}]\n  all_requests: {}\n  clients:\n",
        numbers.pick(&[-1, 0, 1, 2, 9, 64]),
        numbers.below(8),
        numbers.below(5),
        numbers.below(12),
        1 + numbers.below(20),
        numbers.pick(&[true, false]),
        numbers.pick(&[true, false]),
    );
    for client in 0..=numbers.below(3) {
        let _ = writeln!(
            text,
            "    - {{hash: {}, threads: {}, calls: {}, exec: {}ms, think: {}ms, pad: {}ms, initial_seats: {}, final_seats: {}, split: {}}}",
            numbers.byte().wrapping_mul(37),
            1 + numbers.below(9),
            1 + numbers.below(20),
            1 + 100 * numbers.below(20),
            100 * numbers.below(10) as i64 - 300,
            50 * numbers.below(5),
            1 + numbers.below(6),
            numbers.below(6),
            client == 0 && numbers.pick(&[true, false]),
        );
    }
    text
}

fn server(numbers: &mut Bytes<'_>) -> String {
    let mut text = format!(
        "seats: {}\nseed: {}\nduration: {}s\nwait_limit: {}ms\nclients:\n",
        1 + numbers.below(40),
        numbers.byte(),
        1 + numbers.below(40),
        100 * numbers.below(50),
    );
    for client in 0..=numbers.below(3) {
        let user = numbers.pick(&[
            "alice",
            "system:serviceaccount:default:worker",
            "system:kube-scheduler",
            "system:admin",
        ]);
        let group = numbers.pick(&[
            "system:authenticated",
            "system:serviceaccounts",
            "system:masters",
            "system:unauthenticated",
        ]);
        let verb = numbers.pick(&["list", "get", "create", "watch"]);
        let _ = write!(
            text,
            "- name: client-{client}\n  user: '{user}'\n  groups: ['{group}']\n  request: {{verb: {verb}, resource: {}}}\n  \
             exec: {}ms\n  seats: {}\n  final_seats: {}\n  additional_latency: {}ms\n  start: {}ms\n",
            numbers.pick(&["pods", "leases", "endpoints"]),
            1 + 10 * numbers.below(100),
            1 + numbers.below(12),
            numbers.below(12),
            5 * numbers.below(20),
            100 * numbers.below(10),
        );
        if numbers.below(2) == 0 {
            let _ = writeln!(text, "  deadline: {}ms", 1 + 20 * numbers.below(100));
        }
        let _ = match numbers.below(2) {
            0 => writeln!(
                text,
                "  closed: {{threads: {}, calls: {}}}",
                1 + numbers.below(20),
                1 + numbers.below(30)
            ),
            _ => writeln!(
                text,
                "  open: {{rate: {}, arrivals: {}, burst: {}}}",
                1 + numbers.below(20),
                numbers.pick(&["poisson", "uniform", "bursts"]),
                1 + numbers.below(20),
            ),
        };
    }
    if numbers.below(2) == 0 {
        let _ =
            writeln!(text, "changes:\n- {{at: {}s, seats: {}}}", numbers.below(40), 1 + numbers.below(60));
    }
    text
}
