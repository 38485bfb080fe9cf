//! Why a request is classified as it is.

use apf_core::{Dealer, Queuing};

use crate::attributes::{RequestAttributes, Target};
use crate::objects::Rule;
use crate::plan::matching::{non_resource_rule_misses, resource_rule_misses, some_subject_matches};
use crate::plan::{Classified, Part, Parts, Plan, PlannedSchema};

/// The classification of one request, step by step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    /// The schemas that were tried, in matching order. When one matched it is the last.
    pub tried: Vec<Tried>,
    /// Whether no schema matched, so that `catch-all` serves regardless.
    pub fallback: bool,
    /// Name of the schema.
    pub schema: String,
    /// Name of the level.
    pub level: String,
    /// Flow distinguisher.
    pub distinguisher: String,
    /// Flow hash.
    pub flow_hash: u64,
    /// The queues that a request of this flow may wait in, in deal order; empty where the level has none.
    pub hand: Vec<u32>,
}

/// One schema that was tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tried {
    /// Name of the schema.
    pub schema: String,
    /// Its `matchingPrecedence`.
    pub matching_precedence: i32,
    /// Name of its level.
    pub level: String,
    /// Whether it was imagined for want of an object.
    pub imagined: bool,
    /// The rule that came closest to matching, and what of it did not match.
    pub outcome: Outcome,
}

/// How a schema compared with the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// A rule matched.
    Matched {
        /// Index into `spec.rules`.
        rule: usize,
        /// Index into that rule's `resourceRules` or `nonResourceRules`.
        entry: usize,
    },
    /// No rule matched. The first of those that came closest:
    Missed {
        /// Index into `spec.rules`.
        rule: usize,
        /// Index into that rule's `resourceRules` or `nonResourceRules`; `None` where that list is empty.
        entry: Option<usize>,
        /// The parts that did not match; never empty.
        parts: Parts,
    },
    /// The schema has no rules, so it matches nothing.
    NoRules,
}

/// Explains the classification of a request.
pub fn explain(plan: &Plan, request: &RequestAttributes<'_>) -> Explanation {
    let mut tried = Vec::new();
    let mut found = None;
    for (at, schema) in plan.schemas().iter().enumerate() {
        let outcome = compare(schema, request);
        tried.push(Tried {
            schema: schema.name.clone(),
            matching_precedence: schema.spec.matching_precedence,
            level: level_name(plan, schema.level),
            imagined: schema.imagined,
            outcome,
        });
        if matches!(outcome, Outcome::Matched { .. }) {
            found = Some(at);
            break;
        }
    }
    let Classified { schema, level, distinguisher, flow_hash, matched } = plan.classified(found, request);
    Explanation {
        tried,
        fallback: !matched,
        schema: plan.schemas().get(schema).map(|schema| schema.name.clone()).unwrap_or_default(),
        level: level_name(plan, level),
        distinguisher: distinguisher.to_owned(),
        flow_hash,
        hand: hand(plan, level, flow_hash),
    }
}

fn level_name(plan: &Plan, level: usize) -> String {
    plan.levels().get(level).map(|level| level.name.clone()).unwrap_or_default()
}

fn hand(plan: &Plan, level: usize, flow_hash: u64) -> Vec<u32> {
    match plan.levels().get(level).map(|level| level.queuing) {
        Some(Queuing::Queue { queues, hand_size, .. }) => {
            Dealer::new(queues, hand_size).map(|dealer| dealer.deal(flow_hash).to_vec()).unwrap_or_default()
        }
        _ => Vec::new(),
    }
}

fn compare(schema: &PlannedSchema, request: &RequestAttributes<'_>) -> Outcome {
    let mut closest: Option<(usize, Option<usize>, Parts)> = None;
    for (number, rule) in schema.spec.rules.iter().enumerate() {
        for (entry, parts) in misses(rule, request) {
            if let (true, Some(entry)) = (parts.is_empty(), entry) {
                return Outcome::Matched { rule: number, entry };
            }
            if closest.is_none_or(|(_, _, least)| parts.len() < least.len()) {
                closest = Some((number, entry, parts));
            }
        }
    }
    match closest {
        Some((rule, entry, parts)) => Outcome::Missed { rule, entry, parts },
        None => Outcome::NoRules,
    }
}

/// What each entry of the rule misses; one row without an entry where the rule has none for such a request.
fn misses(rule: &Rule, request: &RequestAttributes<'_>) -> Vec<(Option<usize>, Parts)> {
    let (absent, entries): (Part, Vec<Parts>) = match request.target {
        Target::Resource(resource) => (
            Part::ResourceRules,
            rule.resource_rules
                .iter()
                .map(|entry| resource_rule_misses(entry, request.verb, &resource))
                .collect(),
        ),
        Target::NonResource { path } => (
            Part::NonResourceRules,
            rule.non_resource_rules
                .iter()
                .map(|entry| non_resource_rule_misses(entry, request.verb, path))
                .collect(),
        ),
    };
    let stranger = !some_subject_matches(rule, request);
    if entries.is_empty() {
        return vec![(None, Parts::default().with(absent, true).with(Part::Subject, stranger))];
    }
    entries
        .into_iter()
        .enumerate()
        .map(|(entry, parts)| (Some(entry), parts.with(Part::Subject, stranger)))
        .collect()
}
