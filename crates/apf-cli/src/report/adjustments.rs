//! How the current limits moved over time.

use std::collections::HashMap;

use apf_sim::report::{AdjustedLevel, Adjustment, Report};

use crate::print::{Column, Figures, Table};

/// So many rows are shown to people unless they ask for this part.
const SHOWN: usize = 20;

const COLUMNS: [Column; 11] = [
    Column::right("AT", "at_s"),
    Column::left("CAUSE", "cause"),
    Column::left("LEVEL", "level"),
    Column::right("NOMINAL", "nominal"),
    Column::right("CURRENT", "current"),
    Column::right("BORROWED", "borrowed"),
    Column::right("LENT", "lent"),
    Column::right("IN USE", "seats_in_use"),
    Column::right("DEMAND AVG", "demand_avg"),
    Column::right("DEMAND MAX", "demand_max"),
    Column::left("QUIESCING", "quiescing"),
];

fn cells(adjustment: &Adjustment, level: &AdjustedLevel, figures: Figures) -> [String; 11] {
    [
        (figures.time)(adjustment.at_s),
        adjustment.cause.to_owned(),
        level.level.clone(),
        level.nominal.to_string(),
        level.current.to_string(),
        level.borrowed.to_string(),
        level.lent.to_string(),
        level.seats_in_use.to_string(),
        (figures.number)(level.demand_avg),
        level.demand_max.to_string(),
        level.quiescing.to_string(),
    ]
}

/// Every level after every adjustment.
pub(super) fn table(report: &Report, figures: Figures) -> Table {
    let mut table = Table::new(&COLUMNS);
    for adjustment in &report.adjustments {
        for level in &adjustment.levels {
            table.row(cells(adjustment, level, figures));
        }
    }
    table
}

/// The levels whose current limit an adjustment after the start changed; empty when there are none.
pub(super) fn moved(report: &Report) -> String {
    let mut current: HashMap<&str, u32> = HashMap::new();
    let mut rows = Vec::new();
    for adjustment in &report.adjustments {
        for level in &adjustment.levels {
            let before = current.insert(&level.level, level.current);
            if before.is_some_and(|before| before != level.current) {
                rows.push(cells(adjustment, level, Figures::FOR_PEOPLE));
            }
        }
    }
    if rows.is_empty() {
        return String::new();
    }
    let mut table = Table::new(&COLUMNS);
    let hidden = rows.len().saturating_sub(SHOWN);
    for row in rows.into_iter().take(SHOWN) {
        table.row(row);
    }
    let mut text = table.aligned();
    if hidden > 0 {
        text.push_str(&format!("... and {hidden} more: --section adjustments\n"));
    }
    text
}
