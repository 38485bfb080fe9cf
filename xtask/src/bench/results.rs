//! The figures as a table, as JSON, and as `benches/RESULTS.md`.

use super::{Effort, Figure};
use crate::shell::{Stop, fail, root};
use serde_json::{Map, Value, json};
use std::fmt::Write;

/// How much more a request may cost at 4096 queues than at 64.
const MOST_AT_4096: f64 = 1.5;
/// Simulated requests a second, at least.
const LEAST_SIMULATED: f64 = 2e6;

pub(super) fn json(machine: &[(&'static str, String)], figures: &[Figure]) -> Value {
    let measured: Vec<Value> = figures
        .iter()
        .map(|figure| {
            json!({
                "name": figure.name, "value": figure.value, "unit": figure.unit,
                "peer": figure.peer, "ratio": figure.ratio,
            })
        })
        .collect();
    let machine: Map<String, Value> =
        machine.iter().map(|(name, value)| ((*name).to_owned(), Value::from(value.as_str()))).collect();
    json!({ "machine": machine, "measured": measured })
}

/// Four digits are more than the wall clock can promise.
fn short(value: f64) -> String {
    match value {
        _ if value == 0.0 => "0".to_owned(),
        _ if value.abs() >= 1000.0 => format!("{value:.0}"),
        _ if value.abs() >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.3}"),
    }
}

/// One Markdown table for each kind of figure.
pub(super) fn tables(figures: &[Figure]) -> String {
    let mut text = String::new();
    let mut kind = "";
    for figure in figures {
        let this = figure.name.split('/').next().unwrap_or_default();
        if this != kind {
            kind = this;
            let _ = write!(
                text,
                "\n| {kind} | {} | compared with | ratio |\n| --- | ---: | --- | ---: |\n",
                figure.unit
            );
        }
        let name = figure.name.split_once('/').map_or(figure.name.as_str(), |(_, rest)| rest);
        let ratio = figure.ratio.map(short).unwrap_or_default();
        let peer = figure.peer.as_deref().unwrap_or_default();
        let _ = writeln!(text, "| {name} | {} | {peer} | {ratio} |", short(figure.value));
    }
    text
}

/// Each aim, and whether it was met.
fn aims(figures: &[Figure]) -> String {
    let mut text = String::new();
    let mut say = |aim: String, met: bool| {
        let _ = writeln!(text, "- {aim}: {}.", if met { "met" } else { "**missed**" });
    };
    for work in ["idle", "saturated"] {
        for kind in ["instructions", "time"] {
            let name = format!("{kind}/{work}/4096");
            let ratio = figures.iter().find(|figure| figure.name == name).and_then(|figure| figure.ratio);
            let ratio = ratio.unwrap_or(f64::INFINITY);
            say(
                format!(
                    "{kind}, {work}: at 4096 queues at most {MOST_AT_4096} times that at 64, measured {}",
                    short(ratio)
                ),
                ratio <= MOST_AT_4096,
            );
        }
    }
    let most = figures.iter().filter(|figure| figure.name.starts_with("allocations/"));
    let most = most.map(|figure| figure.value).fold(0.0, f64::max);
    say(format!("allocations per request after warm-up: 0, measured {}", short(most)), most == 0.0);
    for figure in figures.iter().filter(|figure| figure.name.starts_with("simulator/")) {
        say(
            format!(
                "{}: at least {LEAST_SIMULATED} requests a second of one core, measured {}",
                figure.name,
                short(figure.value)
            ),
            figure.value >= LEAST_SIMULATED,
        );
    }
    text
}

pub(super) fn write(
    machine: &[(&'static str, String)],
    figures: &[Figure],
    effort: Effort,
) -> Result<(), Stop> {
    let mut text = String::from(
        "# What a request costs\n\nWritten by `cargo xtask bench`; do not edit. A request is its start and its finish together.\n\n",
    );
    for (name, value) in machine {
        let _ = writeln!(text, "- {name}: {value}");
    }
    let effort = match effort {
        Effort::Quick => "`--quick`: short measurements, for a first impression",
        Effort::Full => "full",
    };
    let _ =
        write!(text, "- effort: {effort}\n\n## Aims\n\n{}\n## Figures\n{}", aims(figures), tables(figures));
    text.push_str(READ_WITH_CARE);
    std::fs::write(root().join("benches/RESULTS.md"), text).map_err(fail("writing benches/RESULTS.md"))
}

const READ_WITH_CARE: &str = "
## What is measured

| name | work |
| --- | --- |
| idle | a request arrives at a level where nothing waits, executes and finishes |
| saturated | 16 seats, all taken; two requests wait per queue on average; the oldest executing request finishes, which starts another one, and a new one arrives and waits |
| host-idle, host-saturated | the same with a mutex and a reading of the clock for each of the two events, as a host has them |
| rejected | a request arrives at a level with full queues |
| cancelled | a request arrives at a saturated level, waits and is cancelled |
| deal | a hand of 5 is dealt |
| classify | a request is classified by a configuration of so many flow schemas |
| adjust | the limits of so many levels are computed anew |
| reference | the same work in the queue set of `k8s.io/apiserver`, with its real clock and its metrics registered |
| simulator | requests through one saturated level in `apf-sim` |

Hands are of 5 queues everywhere, the widest that the API allows with 4096 queues. Times are medians.

## What the figures do not show

- Contention. Everything runs on one thread: neither the instruction counts nor the times say what several cores would do.
- Like for like with the reference. It counts metrics and copies a context for every request, and wakes a goroutine through a
  promise; the engine measured here leaves metrics and waiting to its host. The ratio says what the decision costs in both, not what
  a server would gain.
- The cost of a cold cache. A level's queues are in the cache here because nothing else runs between the requests.
- Variation between machines. Instruction counts repeat exactly on the same compiler; times do not.
";

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(name: &str, value: f64, ratio: Option<f64>) -> Figure {
        Figure { name: name.to_owned(), value, unit: "x", peer: ratio.map(|_| "peer".to_owned()), ratio }
    }

    #[test]
    fn a_missed_aim_is_named() {
        let mut figures = vec![
            figure("instructions/idle/4096", 1.0, Some(1.4)),
            figure("instructions/saturated/4096", 1.0, Some(1.6)),
            figure("time/idle/4096", 1.0, Some(1.4)),
            figure("time/saturated/4096", 1.0, Some(1.4)),
            figure("simulator/one-level", 3e6, None),
        ];
        assert_eq!(aims(&figures).matches("missed").count(), 1);
        figures.push(figure("allocations/queued", 0.001, None));
        assert_eq!(aims(&figures).matches("missed").count(), 2);
    }

    #[test]
    fn json_has_every_figure_with_its_five_fields() {
        let value = json(&[("cores", "2".to_owned())], &[figure("a/1", 2.0, Some(0.5))]);
        let expected = json!({"name": "a/1", "value": 2.0, "unit": "x", "peer": "peer", "ratio": 0.5});
        assert_eq!(value["measured"], json!([expected]));
    }
}
