//! `apf explain`: where a request goes, and why not elsewhere.

mod request;
mod why;

use apf_config::explain::{Explanation, Outcome as Match, explain};
use apf_config::objects::DistinguisherMethod;
use apf_config::plan::{Plan, PlannedSchema};
use apf_core::{FlowHash, Queuing};
use serde::Serialize;

use crate::args::{Explain, Hash};
use crate::failure::{Failure, Outcome};
use crate::input;
use crate::print::{self, Column, Format, Label, Table, json, visible};
use request::Request;

/// Classification does not depend on how many seats there are.
const ANY_SEATS: u32 = 600;

#[derive(Debug, Serialize)]
struct Report {
    request: Request,
    flow_schema: String,
    matching_precedence: Option<i32>,
    /// Whether no schema matched, so that `catch-all` serves regardless.
    fallback: bool,
    priority_level: String,
    response: &'static str,
    queues: Option<u32>,
    hand_size: Option<u32>,
    queue_length_limit: Option<u32>,
    distinguisher_method: Option<String>,
    flow_distinguisher: String,
    flow_hash: String,
    flow_hash_function: &'static str,
    /// Queue numbers, in the order they are dealt.
    hand: Vec<u32>,
    tried: Vec<Tried>,
}

#[derive(Debug, Serialize)]
struct Tried {
    matching_precedence: i32,
    flow_schema: String,
    priority_level: String,
    matched: bool,
    /// The rule that matched, or else the one that came closest; null where the schema has none.
    rule: Option<String>,
    /// The parts of that rule that did not match.
    missed: Vec<&'static str>,
    /// The same in words, with what the rule asks for.
    why: String,
}

pub(super) fn run(args: &Explain) -> Result<Outcome, Failure> {
    let request = Request::from_args(args)?;
    let objects = input::configuration(&args.manifests)?;
    let hash = match args.flow_hash {
        Hash::Sha256 => FlowHash::Sha256,
        Hash::Xxh3 => FlowHash::Xxh3,
    };
    let plan = Plan::compile(&objects, ANY_SEATS, hash).map_err(Failure::refused)?;
    let explanation = explain(&plan, &request.attributes());
    let report = report(request, &plan, explanation, args.flow_hash);
    print::result(&match args.output.output {
        Format::Json => json(&report)?,
        Format::Csv => csv_table(&report.tried).csv()?,
        Format::Table => text(&report),
    });
    if report.request.has_no_authentication_group() {
        let text = "a server puts every user into system:authenticated or system:unauthenticated; --groups has neither";
        print::message(Label::Note, text);
    }
    Ok(Outcome::Good)
}

fn report(request: Request, plan: &Plan, explanation: Explanation, hash: Hash) -> Report {
    let schema = plan.schemas().iter().find(|schema| schema.name == explanation.schema);
    let level = plan.levels().iter().find(|level| level.name == explanation.level);
    let (response, queuing) = match level.map(|level| level.queuing) {
        Some(Queuing::Queue { queues, hand_size, queue_length_limit }) => {
            ("Queue", Some((queues, hand_size, queue_length_limit)))
        }
        Some(Queuing::Reject) => ("Reject", None),
        Some(Queuing::Exempt) | None => ("Exempt", None),
    };
    let tried = explanation.tried.iter().enumerate().map(|(at, tried)| {
        let schema = plan.schemas().get(at);
        Tried {
            matching_precedence: tried.matching_precedence,
            flow_schema: tried.schema.clone(),
            priority_level: tried.level.clone(),
            matched: matches!(tried.outcome, Match::Matched { .. }),
            rule: why::rule_path(tried.outcome, request.is_for_resource()),
            missed: why::missed(tried.outcome),
            why: why::why(tried.outcome, schema, request.is_for_resource()),
        }
    });
    Report {
        flow_schema: explanation.schema,
        matching_precedence: schema.map(|schema| schema.spec.matching_precedence),
        fallback: explanation.fallback,
        priority_level: explanation.level,
        response,
        queues: queuing.map(|(queues, ..)| queues),
        hand_size: queuing.map(|(_, hand_size, _)| hand_size),
        queue_length_limit: queuing.map(|(.., limit)| limit),
        distinguisher_method: schema.and_then(method),
        flow_distinguisher: explanation.distinguisher,
        flow_hash: format!("{:016x}", explanation.flow_hash),
        flow_hash_function: match hash {
            Hash::Sha256 => "sha256",
            Hash::Xxh3 => "xxh3",
        },
        hand: explanation.hand,
        tried: tried.collect(),
        request,
    }
}

fn method(schema: &PlannedSchema) -> Option<String> {
    Some(match schema.spec.distinguisher_method.as_ref()? {
        DistinguisherMethod::ByUser => "ByUser".to_owned(),
        DistinguisherMethod::ByNamespace => "ByNamespace".to_owned(),
        DistinguisherMethod::Unknown(other) => other.clone(),
    })
}

fn text(report: &Report) -> String {
    let mut lines = vec![
        ("request", report.request.in_words()),
        ("user", report.request.user_in_words()),
        ("flow schema", schema_in_words(report)),
        ("priority level", level_in_words(report)),
    ];
    if report.queues.is_some() {
        let method = report.distinguisher_method.as_deref().unwrap_or("none: the schema is one flow");
        lines.push(("distinguisher", format!("{method}: \"{}\"", report.flow_distinguisher)));
        lines.push(("flow hash", format!("0x{} ({})", report.flow_hash, report.flow_hash_function)));
        let hand: Vec<String> = report.hand.iter().map(u32::to_string).collect();
        lines.push((
            "hand",
            format!("{}: waits in the one of these queues with the least work", hand.join(" ")),
        ));
    }
    let mut text = String::new();
    for (what, value) in lines {
        text.push_str(&format!("{what:<16}{}\n", visible(&value)));
    }
    text.push('\n');
    text.push_str(&people_table(&report.tried).aligned());
    text
}

fn schema_in_words(report: &Report) -> String {
    let precedence =
        report.matching_precedence.map_or(String::new(), |number| format!(" (precedence {number})"));
    let fallback = if report.fallback { ", although it does not match: nothing does" } else { "" };
    format!("{}{precedence}{fallback}", report.flow_schema)
}

fn level_in_words(report: &Report) -> String {
    let what = match (report.queues, report.hand_size, report.queue_length_limit) {
        (Some(queues), Some(hand), Some(length)) => {
            format!("queues {queues}, handSize {hand}, queueLengthLimit {length}")
        }
        _ if report.response == "Reject" => "Reject: no queues, refused when no seat is free".to_owned(),
        _ => "Exempt: always admitted at once".to_owned(),
    };
    format!("{} ({what})", report.priority_level)
}

fn people_table(tried: &[Tried]) -> Table {
    let mut table = Table::new(&[
        Column::right("PRECEDENCE", "matching_precedence"),
        Column::left("FLOW SCHEMA", "flow_schema"),
        Column::left("LEVEL", "priority_level"),
        Column::left("MATCH", "matched"),
        Column::left("BECAUSE", "why"),
    ]);
    for row in tried {
        table.row([
            row.matching_precedence.to_string(),
            row.flow_schema.clone(),
            row.priority_level.clone(),
            if row.matched { "yes" } else { "no" }.to_owned(),
            row.why.clone(),
        ]);
    }
    table
}

fn csv_table(tried: &[Tried]) -> Table {
    let keys = ["matching_precedence", "flow_schema", "priority_level", "matched", "rule", "missed", "why"];
    let mut table = Table::new(&keys.map(|key| Column::left(key, key)));
    for row in tried {
        table.row([
            row.matching_precedence.to_string(),
            row.flow_schema.clone(),
            row.priority_level.clone(),
            row.matched.to_string(),
            row.rule.clone().unwrap_or_default(),
            row.missed.join(";"),
            row.why.clone(),
        ]);
    }
    table
}
