//! What was met in the audit logs.

use apf_sim::audit::Counts;

use crate::print::{Column, Table};

pub(super) fn table(counts: &Counts) -> Table {
    let mut table = Table::new(&[
        Column::right("COUNT", "count"),
        Column::left("REPLAYED", "replayed"),
        Column::left("WHAT", "what"),
    ]);
    for row in counts.rows() {
        let replayed = if row.skipped { "no" } else { "" };
        table.row([row.count.to_string(), replayed.to_owned(), row.what.to_owned()]);
    }
    table
}
