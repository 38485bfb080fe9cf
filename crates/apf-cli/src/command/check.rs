//! `apf check`: every error and warning of the files, and notes on what the objects lead to.

use std::collections::BTreeMap;

use apf_config::objects::{Objects, PriorityLevelConfiguration};
use apf_config::{Item, Kind, Loaded, Rule, bootstrap};
use serde::Serialize;

use crate::args::Check;
use crate::failure::{Failure, Outcome};
use crate::finding::{Finding, Level};
use crate::input;
use crate::notes;
use crate::print::{self, Column, Format, Label, Table, json, visible};

#[derive(Debug, Serialize)]
struct Report {
    findings: Vec<Finding>,
    objects: Vec<Checked>,
    /// Objects of other kinds, by `apiVersion/kind`.
    skipped: BTreeMap<String, usize>,
    summary: Summary,
}

#[derive(Debug, Serialize)]
struct Checked {
    file: String,
    line: u32,
    column: u32,
    api_version: String,
    kind: &'static str,
    name: String,
    accepted: bool,
}

#[derive(Debug, Serialize)]
struct Summary {
    flow_schemas: usize,
    priority_levels: usize,
    accepted: usize,
    errors: usize,
    warnings: usize,
    notes: usize,
    /// Shares of the accepted levels of these files.
    shares_here: i64,
    /// Shares of all levels of a server that has these and the built-in ones.
    shares_total: i64,
}

pub(super) fn run(args: &Check) -> Result<Outcome, Failure> {
    let loaded = input::load_all(&args.paths, input::strictness(args.lenient));
    let unreadable = loaded.errors().any(|error| error.rule == Rule::Unreadable);
    let report = report(loaded);
    if unreadable {
        // Nobody should take this for the verdict on all that was named.
        return Err(Failure::Usage(text_of(&report.findings)));
    }
    match args.output.output {
        Format::Json => print::result(&json(&report)?),
        Format::Csv => print::result(&table(&report.findings).csv()?),
        Format::Table => print::coloured_result(&lines(&report)),
    }
    if report.summary.flow_schemas + report.summary.priority_levels == 0 {
        print::message(Label::Warning, "there is no FlowSchema and no PriorityLevelConfiguration to check");
    }
    Ok(if report.summary.errors > 0 { Outcome::Findings } else { Outcome::Good })
}

fn report(loaded: Loaded) -> Report {
    let notes = notes::notes(&loaded.items, &loaded.objects);
    let (shares_here, shares_total) = shares(&loaded.objects);
    let findings: Vec<Finding> = loaded.diagnostics.into_iter().map(Finding::from).chain(notes).collect();
    let how_many = |level| findings.iter().filter(|finding| finding.level == level).count();
    let of_kind = |kind| loaded.items.iter().filter(|item| item.object.kind() == kind).count();
    let summary = Summary {
        flow_schemas: of_kind(Kind::FlowSchema),
        priority_levels: of_kind(Kind::PriorityLevelConfiguration),
        accepted: loaded.items.iter().filter(|item| item.accepted).count(),
        errors: how_many(Level::Error),
        warnings: how_many(Level::Warning),
        notes: how_many(Level::Note),
        shares_here,
        shares_total,
    };
    Report { findings, objects: loaded.items.iter().map(checked).collect(), skipped: loaded.skipped, summary }
}

fn checked(item: &Item) -> Checked {
    Checked {
        file: item.origin.source.clone(),
        line: item.origin.line,
        column: item.origin.column,
        api_version: item.version.api_version(),
        kind: item.object.kind().as_str(),
        name: item.object.metadata().name.clone(),
        accepted: item.accepted,
    }
}

fn shares(own: &Objects) -> (i64, i64) {
    let of = |level: &PriorityLevelConfiguration| {
        let limited = level.spec.limited.as_ref().and_then(|limited| limited.nominal_concurrency_shares);
        let exempt = level.spec.exempt.as_ref().and_then(|exempt| exempt.nominal_concurrency_shares);
        i64::from(limited.or(exempt).unwrap_or(0))
    };
    let sum = |objects: &Objects| objects.priority_levels.iter().map(of).sum();
    (sum(own), sum(&bootstrap::with_own(own)))
}

fn lines(report: &Report) -> String {
    let mut text = String::new();
    for finding in &report.findings {
        text.push_str(&finding.shown());
        text.push('\n');
    }
    let summary = &report.summary;
    let plural = |count: usize, word: &str| format!("{count} {word}{}", if count == 1 { "" } else { "s" });
    text.push_str(&format!(
        "{}, {}, {} accepted: {}, {}, {}\n",
        plural(summary.flow_schemas, "FlowSchema"),
        plural(summary.priority_levels, "PriorityLevelConfiguration"),
        summary.accepted,
        plural(summary.errors, "error"),
        plural(summary.warnings, "warning"),
        plural(summary.notes, "note"),
    ));
    if !report.skipped.is_empty() {
        let kinds: Vec<String> =
            report.skipped.iter().map(|(kind, count)| format!("{kind} {count}")).collect();
        text.push_str(&format!("other kinds passed over: {}\n", visible(&kinds.join(", "))));
    }
    if summary.shares_here > 0 {
        text.push_str(&format!(
            "shares: {} in these files, {} with the built-in levels\n",
            summary.shares_here, summary.shares_total
        ));
    }
    text
}

fn text_of(findings: &[Finding]) -> String {
    let errors = findings.iter().filter(|finding| finding.level == Level::Error);
    errors.map(Finding::without_level).collect::<Vec<_>>().join("\n")
}

fn table(findings: &[Finding]) -> Table {
    let keys = ["level", "file", "line", "column", "kind", "name", "field", "rule", "message"];
    let mut table = Table::new(&keys.map(|key| Column::left(key, key)));
    let number = |value: Option<u32>| value.map_or(String::new(), |value| value.to_string());
    for finding in findings {
        table.row([
            finding.level.label().as_str().to_owned(),
            finding.file.clone(),
            number(finding.line),
            number(finding.column),
            finding.kind.clone(),
            finding.name.clone(),
            finding.field.clone(),
            finding.rule.clone(),
            finding.message.clone(),
        ]);
    }
    table
}
