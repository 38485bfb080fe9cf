//! The figures of `benches/contention`: many threads, other limiters, and the reference in turns with ours.

use super::{Effort, Figure};
use crate::setup;
use crate::shell::{Stop, cargo, program, target_dir};

const PACKAGE: &str = "apf-contention";
const REFERENCE: &str = "benches/peers/reference";
/// The units that it prints.
const UNITS: [&str; 6] =
    ["ns/request", "ns", "requests/s", "changes/s", "allocations/request", "bytes/request"];

/// What a run has printed.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Contention {
    pub(super) figures: Vec<Figure>,
    /// Bars, and whether they were met.
    pub(super) aims: Vec<(String, bool)>,
    /// What there is to know about the figures.
    pub(super) notes: Vec<String>,
}

/// Builds the reference's program, counts allocations, and runs every case.
pub(super) fn run(effort: Effort) -> Result<Contention, Stop> {
    setup::go()?;
    let reference = target_dir().join("apf-reference.test");
    program("go").args(["test", "-c", "-o"]).args([&reference]).args(["."]).within(REFERENCE).run()?;
    let mut printed = cargo(["test", "--quiet", "--release", "--locked", "--package", PACKAGE])
        .args(["--test", "allocations"])
        .read()?;
    let run = cargo(["run", "--quiet", "--release", "--locked", "--package", PACKAGE, "--", "--reference"]);
    let run = run.args([&reference]).args((effort == Effort::Quick).then_some("--quick"));
    printed += &run.read()?;
    parse(&printed)
}

/// `measured NAME VALUE UNIT [PEER RATIO]`, `aim met|missed TEXT`, `note TEXT`.
fn parse(printed: &str) -> Result<Contention, Stop> {
    let mut contention = Contention::default();
    for line in printed.lines() {
        let (kind, rest) = line.split_once(' ').unwrap_or((line, ""));
        match kind {
            "measured" => {
                let figure = figure(rest).ok_or_else(|| Stop::Fail(format!("not a figure: `{line}`")))?;
                contention.figures.push(figure);
            }
            "aim" => {
                let (met, text) = rest.split_once(' ').unwrap_or((rest, ""));
                contention.aims.push((text.to_owned(), met == "met"));
            }
            "note" => contention.notes.push(rest.to_owned()),
            _ => {}
        }
    }
    // Its name says so: one allocation a request, made on purpose to see that they are counted.
    contention.figures.retain(|figure| figure.name != "contention-allocations/control");
    if contention.figures.is_empty() {
        return Err(Stop::Fail(format!("no figure was printed:\n{printed}")));
    }
    Ok(contention)
}

fn figure(text: &str) -> Option<Figure> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let (name, value, unit, compared) = match *words.as_slice() {
        [name, value, unit] => (name, value, unit, None),
        [name, value, unit, peer, ratio] => (name, value, unit, Some((peer, ratio))),
        _ => return None,
    };
    let ratio = match compared {
        Some((_, ratio)) => Some(ratio.parse().ok()?),
        None => None,
    };
    Some(Figure {
        name: name.to_owned(),
        value: value.parse().ok()?,
        unit: UNITS.into_iter().find(|known| *known == unit)?,
        peer: compared.map(|(peer, _)| peer.to_owned()),
        ratio,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_aims_and_notes_are_told_apart() {
        let contention = parse(
            "note clock: tsc\nmeasured a/gate/64 50.5 ns/request\nmeasured a/std/64 40 ns/request a/gate/64 0.8\n\
             aim missed at most 3 times; measured 4\nwarning: nothing to do with it\n",
        )
        .unwrap();
        assert_eq!(contention.notes, ["clock: tsc"]);
        assert_eq!(contention.aims, [("at most 3 times; measured 4".to_owned(), false)]);
        let [gate, std] = contention.figures.as_slice() else { panic!("{contention:?}") };
        assert_eq!((gate.value, gate.unit, gate.ratio), (50.5, "ns/request", None));
        assert_eq!((std.peer.as_deref(), std.ratio), (Some("a/gate/64"), Some(0.8)));
    }

    #[test]
    fn a_figure_that_is_none_stops_the_run() {
        for line in ["measured a 1", "measured a x ns", "measured a 1 furlongs", "measured a 1 ns b", ""] {
            assert!(parse(line).is_err(), "{line}");
        }
    }
}
