//! Two configurations side by side.

use apf_sim::replay::{Comparison, Difference};
use apf_sim::report::Traffic;

use crate::print::{Column, Table, csv_number, quantity, seconds};

const FIGURES: [Column; 14] = [
    Column::right("REQUESTS", "requests_before"),
    Column::right("", "requests_after"),
    Column::right("QUEUED", "queued_before"),
    Column::right("", "queued_after"),
    Column::right("REJECTED", "rejected_before"),
    Column::right("", "rejected_after"),
    Column::right("WAIT P99", "wait_p99_s_before"),
    Column::right("", "wait_p99_s_after"),
    Column::right("WAIT MAX", "wait_max_s_before"),
    Column::right("", "wait_max_s_after"),
    Column::right("SEATS AVG", "seats_avg_before"),
    Column::right("", "seats_avg_after"),
    Column::right("SEATS MAX", "seats_max_before"),
    Column::right("", "seats_max_after"),
];

fn columns(names: &[Column]) -> Vec<Column> {
    names.iter().chain(&FIGURES).copied().collect()
}

/// Each figure before and after; where the configuration does not have the row, `absent`.
fn figures(
    row: &Difference,
    absent: &str,
    time: fn(f64) -> String,
    number: fn(f64) -> String,
) -> Vec<String> {
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
    figures
        .iter()
        .flat_map(|figure| sides.map(|side| side.map_or_else(|| absent.to_owned(), figure)))
        .collect()
}

fn for_people(rows: &[&Difference], name: &'static str) -> Table {
    let mut table = Table::new(&columns(&[Column::left(name, "name")]));
    for row in rows {
        table.row([vec![row.name.clone()], figures(row, "-", seconds, quantity)].concat());
    }
    table
}

pub(super) fn levels(comparison: &Comparison) -> Table {
    for_people(&comparison.levels.iter().collect::<Vec<_>>(), "LEVEL")
}

/// The schemas whose requests fared differently.
pub(super) fn schemas(comparison: &Comparison) -> String {
    let differing: Vec<&Difference> = comparison.schemas.iter().filter(|row| !row.is_same()).collect();
    if differing.is_empty() {
        return "none\n".to_owned();
    }
    for_people(&differing, "FLOW SCHEMA").aligned()
}

/// Levels and schemas in one table; `scope` tells them apart.
pub(super) fn everything(comparison: &Comparison, people: bool) -> Table {
    let names = [Column::left("SCOPE", "scope"), Column::left("NAME", "name")];
    let mut table = Table::new(&columns(&names));
    for (scope, rows) in [("level", &comparison.levels), ("schema", &comparison.schemas)] {
        for row in rows {
            let names = vec![scope.to_owned(), row.name.clone()];
            let figures = if people {
                figures(row, "-", seconds, quantity)
            } else {
                figures(row, "", csv_number, csv_number)
            };
            table.row([names, figures].concat());
        }
    }
    table
}
