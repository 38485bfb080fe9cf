//! Two configurations side by side.

use apf_sim::replay::{Comparison, Difference};
use apf_sim::report::Traffic;

use crate::print::{Column, Figures, Table};

const FOR_PEOPLE: [Column; 7] = [
    Column::right("REQUESTS", ""),
    Column::right("QUEUED", ""),
    Column::right("REJECTED", ""),
    Column::right("WAIT P99", ""),
    Column::right("WAIT MAX", ""),
    Column::right("SEATS AVG", ""),
    Column::right("SEATS MAX", ""),
];

const FOR_PROGRAMS: [Column; 14] = [
    Column::right("", "requests_before"),
    Column::right("", "requests_after"),
    Column::right("", "queued_before"),
    Column::right("", "queued_after"),
    Column::right("", "rejected_before"),
    Column::right("", "rejected_after"),
    Column::right("", "wait_p99_s_before"),
    Column::right("", "wait_p99_s_after"),
    Column::right("", "wait_max_s_before"),
    Column::right("", "wait_max_s_after"),
    Column::right("", "seats_avg_before"),
    Column::right("", "seats_avg_after"),
    Column::right("", "seats_max_before"),
    Column::right("", "seats_max_after"),
];

/// Each figure before and after.
fn figures(row: &Difference, Figures { time, number, absent }: Figures) -> [[String; 2]; 7] {
    let figures: [&dyn Fn(&Traffic) -> String; 7] = [
        &|traffic| traffic.requests.to_string(),
        &|traffic| traffic.queued.to_string(),
        &|traffic| traffic.rejected().to_string(),
        &|traffic| time(traffic.wait_p99_s),
        &|traffic| time(traffic.wait_max_s),
        &|traffic| number(traffic.seats_avg),
        &|traffic| traffic.seats_max.to_string(),
    ];
    let sides = [row.before.as_ref(), row.after.as_ref()];
    figures.map(|figure| sides.map(|side| side.map_or_else(|| absent.to_owned(), figure)))
}

/// One value where nothing changed, else both.
fn change([before, after]: [String; 2]) -> String {
    if before == after { before } else { format!("{before} -> {after}") }
}

fn changes(row: &Difference) -> Vec<String> {
    figures(row, Figures::FOR_PEOPLE).map(change).to_vec()
}

fn rows_for_people(rows: &[&Difference], name: &'static str) -> Table {
    let mut table = Table::new(&[&[Column::left(name, "name")], FOR_PEOPLE.as_slice()].concat());
    for row in rows {
        table.row([vec![row.name.clone()], changes(row)].concat());
    }
    table
}

pub(super) fn levels(comparison: &Comparison) -> Table {
    rows_for_people(&comparison.levels.iter().collect::<Vec<_>>(), "LEVEL")
}

/// The schemas whose requests fared differently.
pub(super) fn schemas(comparison: &Comparison) -> String {
    let differing: Vec<&Difference> = comparison.schemas.iter().filter(|row| !row.is_same()).collect();
    if differing.is_empty() {
        return "none\n".to_owned();
    }
    rows_for_people(&differing, "FLOW SCHEMA").aligned()
}

/// Levels and schemas in one table; `scope` tells them apart.
pub(super) fn everything(comparison: &Comparison, people: bool) -> Table {
    let names = [Column::left("SCOPE", "scope"), Column::left("NAME", "name")];
    let figures_columns = if people { FOR_PEOPLE.as_slice() } else { FOR_PROGRAMS.as_slice() };
    let mut table = Table::new(&[names.as_slice(), figures_columns].concat());
    for (scope, rows) in [("level", &comparison.levels), ("schema", &comparison.schemas)] {
        for row in rows {
            let cells = if people {
                changes(row)
            } else {
                figures(row, Figures::FOR_PROGRAMS).into_iter().flatten().collect()
            };
            table.row([vec![scope.to_owned(), row.name.clone()], cells].concat());
        }
    }
    table
}
