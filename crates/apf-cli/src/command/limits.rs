//! `apf limits`: what every priority level gets of a server's seats.

use apf_config::plan::{Plan, PlannedLevel};
use apf_core::{FlowHash, Queuing};
use serde::Serialize;

use crate::args::Limits;
use crate::failure::{Failure, Outcome};
use crate::input;
use crate::print::{self, Column, Format, Table, json};

#[derive(Debug, Serialize)]
struct Report {
    seats: u32,
    shares: u64,
    nominal_sum: u64,
    levels: Vec<Row>,
}

/// Seats, except where the name says otherwise; null where the level has no such figure.
#[derive(Debug, Serialize)]
struct Row {
    level: String,
    kind: String,
    response: Option<&'static str>,
    shares: u32,
    lendable_percent: u32,
    borrowing_limit_percent: Option<u32>,
    nominal: u32,
    min: u32,
    max: u32,
    initial: u32,
    width_cap: Option<u32>,
    queues: Option<u32>,
    hand_size: Option<u32>,
    queue_length_limit: Option<u32>,
}

pub(super) fn run(args: &Limits) -> Result<Outcome, Failure> {
    let objects = input::configuration(&args.manifests)?;
    let seats = args.seats.seats;
    let plan = Plan::compile(&objects, seats, FlowHash::Sha256).map_err(Failure::refused)?;
    let levels: Vec<Row> = plan.levels().iter().map(row).collect();
    let shares = levels.iter().map(|row| u64::from(row.shares)).sum();
    let report = Report { seats, shares, nominal_sum: plan.nominal_sum(), levels };
    print::result(&match args.output.output {
        Format::Json => json(&report)?,
        Format::Csv => table(&report, "").csv()?,
        Format::Table => table(&report, "-").aligned(),
    });
    Ok(Outcome::Good)
}

fn row(level: &PlannedLevel) -> Row {
    let (response, queuing) = match level.queuing {
        Queuing::Exempt => (None, None),
        Queuing::Reject => (Some("Reject"), None),
        Queuing::Queue { queues, hand_size, queue_length_limit } => {
            (Some("Queue"), Some((queues, hand_size, queue_length_limit)))
        }
    };
    Row {
        level: level.name.clone(),
        kind: level.spec.kind.clone(),
        response,
        shares: level.shares.shares,
        lendable_percent: level.shares.lendable_percent,
        borrowing_limit_percent: level.shares.borrowing_limit_percent,
        nominal: level.limits.nominal,
        min: level.limits.min,
        max: level.limits.max,
        initial: level.limits.initial,
        width_cap: queuing.map(|_| level.max_seats),
        queues: queuing.map(|(queues, ..)| queues),
        hand_size: queuing.map(|(_, hand_size, _)| hand_size),
        queue_length_limit: queuing.map(|(.., limit)| limit),
    }
}

fn table(report: &Report, absent: &str) -> Table {
    let mut table = Table::new(&[
        Column::left("LEVEL", "level"),
        Column::left("TYPE", "kind"),
        Column::left("RESPONSE", "response"),
        Column::right("SHARES", "shares"),
        Column::right("LENDABLE%", "lendable_percent"),
        Column::right("BORROW%", "borrowing_limit_percent"),
        Column::right("NOMINAL", "nominal"),
        Column::right("MIN", "min"),
        Column::right("MAX", "max"),
        Column::right("INITIAL", "initial"),
        Column::right("WIDTH CAP", "width_cap"),
        Column::right("QUEUES", "queues"),
        Column::right("HAND", "hand_size"),
        Column::right("QUEUE LENGTH", "queue_length_limit"),
    ]);
    let number = |value: Option<u32>| value.map_or(absent.to_owned(), |value| value.to_string());
    for row in &report.levels {
        table.row([
            row.level.clone(),
            row.kind.clone(),
            row.response.unwrap_or(absent).to_owned(),
            row.shares.to_string(),
            row.lendable_percent.to_string(),
            number(row.borrowing_limit_percent),
            row.nominal.to_string(),
            row.min.to_string(),
            row.max.to_string(),
            row.initial.to_string(),
            number(row.width_cap),
            number(row.queues),
            number(row.hand_size),
            number(row.queue_length_limit),
        ]);
    }
    table
}
