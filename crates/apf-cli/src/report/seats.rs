//! Limits by level, and what was borrowed and lent on average.

use apf_sim::report::Report;

use crate::print::{Column, Figures, Table};

pub(super) fn table(report: &Report, figures: Figures) -> Table {
    let number = figures.number;
    let mut table = Table::new(&[
        Column::left("LEVEL", "level"),
        Column::right("NOMINAL", "nominal"),
        Column::right("MIN", "min"),
        Column::right("MAX", "max"),
        Column::right("CURRENT MIN", "current_min"),
        Column::right("CURRENT MAX", "current_max"),
        Column::right("BORROWED AVG", "borrowed_avg"),
        Column::right("LENT AVG", "lent_avg"),
        Column::right("USED AVG", "seats_avg"),
        Column::right("USED MAX", "seats_max"),
    ]);
    for row in &report.levels {
        table.row([
            row.level.clone(),
            row.nominal.to_string(),
            row.min.to_string(),
            row.max.to_string(),
            row.current_min.to_string(),
            row.current_max.to_string(),
            number(row.borrowed_avg),
            number(row.lent_avg),
            number(row.traffic.seats_avg),
            row.traffic.seats_max.to_string(),
        ]);
    }
    table
}
