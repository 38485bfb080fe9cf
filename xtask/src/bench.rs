//! `cargo xtask bench`: runs every benchmark, puts the figures side by side and writes them down.

mod contention;
mod measure;
mod results;

use crate::shell::Stop;
use lexopt::prelude::*;

/// One measured figure.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Figure {
    /// What was measured, from the kind of figure to the size: `instructions/saturated/4096`.
    pub(crate) name: String,
    pub(crate) value: f64,
    pub(crate) unit: &'static str,
    /// What it is compared with: another figure of the same run, by name.
    pub(crate) peer: Option<String>,
    /// The figure divided by its peer's.
    pub(crate) ratio: Option<f64>,
}

/// How long to measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effort {
    Quick,
    Full,
}

pub(crate) fn command(mut args: lexopt::Parser) -> Result<(), Stop> {
    let (mut effort, mut json) = (Effort::Full, false);
    while let Some(arg) = args.next()? {
        match arg {
            Long("quick") => effort = Effort::Quick,
            Long("json") => json = true,
            other => return Err(other.unexpected().into()),
        }
    }
    let machine = measure::machine()?;
    let (mut figures, mut failures) = (Vec::new(), Vec::new());
    // One that fails is named, and does not take the figures of the others along.
    let mut take = |name: &str, measured: Result<Vec<Figure>, Stop>| match measured {
        Ok(measured) => figures.extend(measured),
        Err(stop) => failures.push(failure(name, stop)),
    };
    take("instructions", measure::instructions());
    take("time", measure::wall_clock(effort));
    take("allocations", measure::allocations());
    take("simulator", measure::simulator());
    take("reference", measure::reference(effort));
    compare(&mut figures);
    let mut contention = contention::run(effort).unwrap_or_else(|stop| {
        failures.push(failure("threads", stop));
        contention::Contention::default()
    });
    figures.extend(contention.figures);
    contention.notes.extend(failures.iter().map(|failure| first_line(failure).to_owned()));
    results::write(&machine, &figures, &contention.aims, &contention.notes, effort)?;
    if json {
        println!("{}", results::json(&machine, &figures));
    } else {
        print!("{}", results::tables(&figures));
    }
    if failures.is_empty() { Ok(()) } else { Err(Stop::Fail(failures.join("\n"))) }
}

fn failure(name: &str, stop: Stop) -> String {
    let (Stop::Fail(reason) | Stop::Skip(reason) | Stop::Usage(reason)) = stop;
    format!("not measured, {name}: {reason}")
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

/// Names each figure's peer and computes the ratio: the reference's figure for what is measured in a host, the
/// smallest size of the same series for everything else.
fn compare(figures: &mut [Figure]) {
    let all = figures.to_vec();
    for figure in figures {
        let Some((series, size)) = figure.name.rsplit_once('/') else { continue };
        let peer = match series.strip_prefix("time/host-") {
            Some(work) => all.iter().find(|peer| peer.name == format!("reference/{work}/{size}")),
            None => {
                all.iter().find(|peer| peer.name.rsplit_once('/').is_some_and(|(other, _)| other == series))
            }
        };
        if let Some(peer) = peer.filter(|peer| peer.name != figure.name && peer.value > 0.0) {
            figure.ratio = Some(figure.value / peer.value);
            figure.peer = Some(peer.name.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(name: &str, value: f64) -> Figure {
        Figure { name: name.to_owned(), value, unit: "ns", peer: None, ratio: None }
    }

    #[test]
    fn sizes_are_compared_with_the_smallest_and_hosts_with_the_reference() {
        let mut figures = [
            figure("time/idle/64", 50.0),
            figure("time/idle/4096", 60.0),
            figure("time/host-idle/64", 100.0),
            figure("reference/idle/64", 5000.0),
            figure("allocations/queued", 0.0),
        ];
        compare(&mut figures);
        let seen: Vec<_> = figures.iter().map(|figure| (figure.peer.as_deref(), figure.ratio)).collect();
        assert_eq!(
            seen,
            [
                (None, None),
                (Some("time/idle/64"), Some(1.2)),
                (Some("reference/idle/64"), Some(0.02)),
                (None, None),
                (None, None)
            ]
        );
    }
}
