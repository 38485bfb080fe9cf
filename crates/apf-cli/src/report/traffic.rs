//! What became of the requests, by level, schema and client.

use apf_sim::report::{Report, Traffic};

use crate::print::{Column, Figures, Table};

/// So many clients are shown to people; CSV and JSON have them all.
const SHOWN: usize = 10;

const COLUMNS: [Column; 15] = [
    Column::right("REQUESTS", "requests"),
    Column::right("AT ONCE", "admitted_at_once"),
    Column::right("QUEUED", "queued"),
    Column::right("REJECTED", "rejected"),
    Column::right("WAIT P50", "wait_p50_s"),
    Column::right("P90", "wait_p90_s"),
    Column::right("P99", "wait_p99_s"),
    Column::right("MAX", "wait_max_s"),
    Column::right("QUEUE-FULL", "rejected_queue_full").if_any(),
    Column::right("CONCURRENCY-LIMIT", "rejected_concurrency_limit").if_any(),
    Column::right("TIME-OUT", "rejected_time_out").if_any(),
    Column::right("CANCELLED", "rejected_cancelled").if_any(),
    Column::right("UNFINISHED", "unfinished").if_any(),
    Column::right("SEATS AVG", "seats_avg"),
    Column::right("SEATS MAX", "seats_max"),
];

fn columns(names: &[Column]) -> Vec<Column> {
    names.iter().chain(&COLUMNS).copied().collect()
}

fn cells(traffic: &Traffic, Figures { time, number, .. }: Figures) -> Vec<String> {
    vec![
        traffic.requests.to_string(),
        traffic.admitted_at_once.to_string(),
        traffic.queued.to_string(),
        traffic.rejected().to_string(),
        time(traffic.wait_p50_s),
        time(traffic.wait_p90_s),
        time(traffic.wait_p99_s),
        time(traffic.wait_max_s),
        traffic.rejected_queue_full.to_string(),
        traffic.rejected_concurrency_limit.to_string(),
        traffic.rejected_time_out.to_string(),
        traffic.rejected_cancelled.to_string(),
        traffic.unfinished.to_string(),
        number(traffic.seats_avg),
        traffic.seats_max.to_string(),
    ]
}

pub(super) fn levels(report: &Report) -> Table {
    let mut table = Table::new(&columns(&[Column::left("LEVEL", "level")]));
    for row in &report.levels {
        table.row([vec![row.level.clone()], cells(&row.traffic, Figures::FOR_PEOPLE)].concat());
    }
    table
}

pub(super) fn schemas(report: &Report) -> Table {
    let names = [Column::left("FLOW SCHEMA", "schema"), Column::left("LEVEL", "level")];
    let mut table = Table::new(&columns(&names));
    for row in &report.schemas {
        table.row(
            [vec![row.schema.clone(), row.level.clone()], cells(&row.traffic, Figures::FOR_PEOPLE)].concat(),
        );
    }
    table
}

pub(super) fn clients(report: &Report) -> String {
    let mut table = Table::new(&columns(&[Column::left("NAME", "client")]));
    for row in report.clients.iter().take(SHOWN) {
        table.row([vec![row.client.clone()], cells(&row.traffic, Figures::FOR_PEOPLE)].concat());
    }
    let mut text = table.aligned();
    if report.clients.len() > SHOWN {
        text.push_str(&format!("... and {} more: -o csv or -o json\n", report.clients.len() - SHOWN));
    }
    text
}

/// Levels, schemas and clients in one table; `scope` tells them apart.
pub(super) fn everything(report: &Report, figures: Figures) -> Table {
    let names =
        [Column::left("SCOPE", "scope"), Column::left("NAME", "name"), Column::left("LEVEL", "level")];
    let mut table = Table::new(&columns(&names));
    let mut row = |scope: &str, name: &str, level: &str, traffic: &Traffic| {
        let names = vec![scope.to_owned(), name.to_owned(), level.to_owned()];
        table.row([names, cells(traffic, figures)].concat());
    };
    for level in &report.levels {
        row("level", &level.level, &level.level, &level.traffic);
    }
    for schema in &report.schemas {
        row("schema", &schema.schema, &schema.level, &schema.traffic);
    }
    for client in &report.clients {
        row("client", &client.client, "", &client.traffic);
    }
    table
}
