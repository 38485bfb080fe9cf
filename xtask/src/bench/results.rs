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
        _ if value.abs() >= 0.1 => format!("{value:.3}"),
        _ => format!("{value:.5}"),
    }
}

/// One Markdown table for each kind of figure.
pub(super) fn tables(figures: &[Figure]) -> String {
    let (latencies, figures): (Vec<&Figure>, Vec<&Figure>) =
        figures.iter().partition(|figure| percentile(figure).is_some());
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
    text + &latency_table(&latencies)
}

/// The parts of a distribution that have a figure of their own.
const PERCENTILES: [&str; 5] = ["p50", "p99", "p99.9", "p99.99", "max"];

/// What a figure is a part of, and which.
fn percentile(figure: &Figure) -> Option<(&str, &str)> {
    figure.name.rsplit_once('/').filter(|(_, part)| PERCENTILES.contains(part))
}

/// One line for every distribution, with the ratio to its peer beside each part.
fn latency_table(figures: &[&Figure]) -> String {
    let mut text = String::new();
    let mut open = "";
    for figure in figures {
        let Some((of, _)) = percentile(figure) else { continue };
        if open.is_empty() {
            text.push_str(
                "\n| latency, ns (times the peer's) | p50 | p99 | p99.9 | p99.99 | max | compared with |\n",
            );
            text.push_str("| --- | ---: | ---: | ---: | ---: | ---: | --- |\n");
        }
        if of == open {
            continue;
        }
        open = of;
        let _ = write!(text, "| {of} |");
        let mut peer = "";
        for part in PERCENTILES {
            let name = format!("{of}/{part}");
            let cell = figures.iter().find(|figure| figure.name == name).map_or_else(String::new, |figure| {
                let ratio = figure.ratio.map(|ratio| format!(" ({})", short(ratio))).unwrap_or_default();
                let with = figure.peer.as_deref().and_then(|peer| peer.rsplit_once('/'));
                peer = with.map_or(peer, |(peer, _)| peer);
                format!("{:.0}{ratio}", figure.value)
            });
            let _ = write!(text, " {cell} |");
        }
        let _ = writeln!(text, " {peer} |");
    }
    text
}

fn say(text: &mut String, aim: &str, met: bool) {
    let _ = writeln!(text, "- {aim}: {}.", if met { "met" } else { "**missed**" });
}

/// Each aim, and whether it was met.
fn aims(figures: &[Figure]) -> String {
    let mut text = String::new();
    let mut say = |aim: String, met: bool| say(&mut text, &aim, met);
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
    more_aims: &[(String, bool)],
    notes: &[String],
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
    let mut aims = aims(figures);
    for (aim, met) in more_aims {
        say(&mut aims, aim, *met);
    }
    let notes: String = notes.iter().map(|note| format!("- {note}\n")).collect();
    let _ = write!(
        text,
        "- effort: {effort}\n\n## Aims\n\n{aims}\n## Figures\n{}\n## Notes of the run with threads\n\n{notes}",
        tables(figures)
    );
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
| uncontended | start and finish of one request at a time in a level of so many queues, each with a reading of the clock: through the gate, through a mutex around the same core, in the core alone; and what limiters without fair queues need for a request |
| dispatcher | the whole way: classified by so many schemas, admitted, counted, finished, counted |
| gate-futures, k8s-crowded | 216 tasks of tokio's runtime of one thread, or goroutines, share 16 seats, so that 200 wait; whoever executes lets the others run once |
| gate-driven, k8s-saturated | as saturated above, with wakers or callbacks |
| k8s-controller | `Handle` of the reference's controller, with so many schemas besides the built-in ones |
| saturated, waiting | 16 seats taken and 200 (or so many) requests waiting, driven by a thread that finishes what was granted and starts another; saturated-2-threads: by two |
| queues, levels, schemas | the same work as the configuration grows |
| threads, placement | as uncontended, with so many threads: `think` with a pause of that length between two operations (2 threads: operations on a schedule of that pause and 200 ns), `scheduled` with one meant for every so many ns |
| reconfiguration | `try_admit` every 2000 ns by 1000 schemas, which another thread changes every 50 ms: from the intended time, and the call alone |
| contention-memory | the engine's bytes for each of so many waiting requests, the future that the caller keeps by itself |

Hands are of 5 queues in the core's figures, the widest that the API allows with 4096 queues; with threads, beside other limiters and beside
`k8s-` they are of 8 up to 128 queues. Times are medians; ratios are medians of the ratios of rounds that were run in turns. With
threads, percentiles are medians over the runs. Latencies of `think` with 8 threads (and of 2 without a pause) count from the call: a
thread that the system has taken off its processor between two operations is not in them. All others count from the intended time.

## What the figures do not show

- More than the processors at hand, or a second memory node: see the notes of the run, and `docs/scaling-estimate.md`.
- Like for like with the reference, where the gate or the core is compared. It counts metrics and copies a context for every request; the
  gate leaves metrics to its host, as the dispatcher counts them. `dispatcher` against `k8s-controller` compares the whole way in both.
- Like for like with limiters that know no queues, no clock and no flows: the ratio says what fair queueing costs on top.
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

    #[test]
    fn the_parts_of_a_distribution_share_a_line() {
        let part = |name: &str, value: f64, ratio| Figure {
            name: name.to_owned(),
            value,
            unit: "ns",
            peer: Some("b/finish/p99".to_owned()),
            ratio,
        };
        let figures = [
            figure("a/rate", 7.0, None),
            part("a/finish/p50", 20.0, None),
            part("a/finish/p99", 80.0, Some(0.5)),
        ];
        let text = tables(&figures);
        assert!(text.contains("| a/finish | 20 | 80 (0.500) |  |  |  | b/finish |"), "{text}");
        assert_eq!(text.matches("a/finish").count(), 1, "{text}");
    }
}
