//! `PriorityLevelConfiguration.spec`.

use super::Findings;
use crate::bootstrap;
use crate::diagnostic::{Rule, quote};
use crate::issue::Issue;
use crate::objects::{
    Exempt, LimitResponse, Limited, PRESERVE_ZERO_ANNOTATION, PriorityLevelConfiguration, PriorityLevelSpec,
    QueuingConfiguration,
};
use crate::path::FieldPath;
use crate::version::Version;

/// Most queues of one level.
const MAX_QUEUES: i32 = 10_000_000;

/// Bits of a flow hash that dealing a hand may use (spec "Entropy estimate and dealer validity").
const MAX_ENTROPY_BITS: u32 = 60;

const NOT_NEGATIVE: &str = "must be a non-negative integer";
const PERCENT: &str = "must be between 0 and 100, inclusive";
const POSITIVE: &str = "must be positive";

pub(super) fn check(findings: &mut Findings, level: &PriorityLevelConfiguration, version: Version) {
    if level.metadata.annotations.contains_key(PRESERVE_ZERO_ANNOTATION) {
        let detail = format!("annotation '{PRESERVE_ZERO_ANNOTATION}' is forbidden");
        findings.forbidden(FieldPath::of(&["metadata", "annotations"]), &detail);
    }
    let path = FieldPath::of(&["spec"]);
    let name = level.metadata.name.as_str();
    let spec = &level.spec;
    if (name == bootstrap::EXEMPT) != (spec.kind == "Exempt") {
        findings.invalid(
            path.field("type"),
            quote(&spec.kind),
            "type must be 'Exempt' if and only if name is 'exempt'",
        );
    }
    match spec.kind.as_str() {
        "Exempt" => {
            if spec.limited.is_some() {
                findings.forbidden(path.field("limited"), "must be nil if the type is not Limited");
            }
            if let Some(of) = &spec.exempt {
                exempt(findings, &path.field("exempt"), of);
            }
        }
        "Limited" => {
            if spec.exempt.is_some() {
                findings.forbidden(path.field("exempt"), "must be nil if the type is Limited");
            }
            match &spec.limited {
                None => findings.required(path.field("limited"), "must not be empty when type is Limited"),
                Some(of) => limited(findings, &path.field("limited"), of, version),
            }
        }
        other => one_of(findings, path.field("type"), other, &["Exempt", "Limited"]),
    }
    mandatory(findings, path, name, spec);
}

/// A discriminator that is none of the supported values.
fn one_of(findings: &mut Findings, path: FieldPath, value: &str, supported: &[&str]) {
    if value.is_empty() {
        findings.required(path, "");
    } else {
        findings.not_supported(path, quote(value), supported);
    }
}

fn mandatory(findings: &mut Findings, path: FieldPath, name: &str, spec: &PriorityLevelSpec) {
    let Some(fixed) = bootstrap::mandatory_level(name) else { return };
    let detail = if name == bootstrap::EXEMPT {
        // Shares and lending of the exempt level are the operator's to set.
        let comparable = PriorityLevelSpec { exempt: fixed.spec.exempt.clone(), ..spec.clone() };
        if comparable == fixed.spec {
            return;
        }
        "spec of 'exempt' except the 'spec.exempt' field must equal the fixed value".to_owned()
    } else {
        if *spec == fixed.spec {
            return;
        }
        format!("spec of '{name}' must equal the fixed value")
    };
    findings.0.push(Issue::error(path, Rule::Invalid, None, detail));
}

fn at_least_zero(findings: &mut Findings, path: FieldPath, value: Option<i32>, detail: &str) {
    if let Some(value) = value.filter(|value| *value < 0) {
        findings.invalid(path, value.to_string(), detail);
    }
}

fn percent(findings: &mut Findings, path: FieldPath, value: Option<i32>) {
    if let Some(value) = value.filter(|value| !(0..=100).contains(value)) {
        findings.invalid(path, value.to_string(), PERCENT);
    }
}

fn exempt(findings: &mut Findings, path: &FieldPath, exempt: &Exempt) {
    let shares = path.field("nominalConcurrencyShares");
    at_least_zero(findings, shares, exempt.nominal_concurrency_shares, NOT_NEGATIVE);
    percent(findings, path.field("lendablePercent"), exempt.lendable_percent);
}

fn limited(findings: &mut Findings, path: &FieldPath, limited: &Limited, version: Version) {
    let shares = path.field(version.shares_field());
    at_least_zero(findings, shares, limited.nominal_concurrency_shares, NOT_NEGATIVE);
    limit_response(findings, &path.field("limitResponse"), &limited.limit_response);
    percent(findings, path.field("lendablePercent"), limited.lendable_percent);
    at_least_zero(
        findings,
        path.field("borrowingLimitPercent"),
        limited.borrowing_limit_percent,
        "if specified, must be a non-negative integer",
    );
}

fn limit_response(findings: &mut Findings, path: &FieldPath, response: &LimitResponse) {
    let queuing_path = path.field("queuing");
    match response.kind.as_str() {
        "Reject" => {
            if response.queuing.is_some() {
                findings.forbidden(queuing_path, "must be nil if limited.limitResponse.type is not Limited");
            }
        }
        "Queue" => match &response.queuing {
            None => {
                findings.required(queuing_path, "must not be empty if limited.limitResponse.type is Limited")
            }
            Some(of) => queuing(findings, &queuing_path, of),
        },
        other => one_of(findings, path.field("type"), other, &["Queue", "Reject"]),
    }
}

fn queuing(findings: &mut Findings, path: &FieldPath, queuing: &QueuingConfiguration) {
    let QueuingConfiguration { queues, hand_size, queue_length_limit } = *queuing;
    if queue_length_limit <= 0 {
        findings.invalid(path.field("queueLengthLimit"), queue_length_limit.to_string(), POSITIVE);
    }
    if queues <= 0 {
        findings.invalid(path.field("queues"), queues.to_string(), POSITIVE);
    } else if queues > MAX_QUEUES {
        let detail = format!("must not be greater than {MAX_QUEUES}");
        findings.invalid(path.field("queues"), queues.to_string(), detail);
    }
    let detail = if hand_size <= 0 {
        POSITIVE.to_owned()
    } else if hand_size > queues {
        format!("should not be greater than queues ({queues})")
    } else if !fits_entropy(queues, hand_size) {
        format!(
            "required entropy bits of deckSize {queues} and handSize {hand_size} should not be greater than \
             {MAX_ENTROPY_BITS}"
        )
    } else {
        return;
    };
    findings.invalid(path.field("handSize"), hand_size.to_string(), detail);
}

/// Whether log2(queues) · hand is at most 60, which is whether queues^hand is at most 2^60: exact in integers.
fn fits_entropy(queues: i32, hand_size: i32) -> bool {
    let (Ok(queues), Ok(hand)) = (u128::try_from(queues), u32::try_from(hand_size)) else { return false };
    queues.checked_pow(hand).is_some_and(|product| product <= 1 << MAX_ENTROPY_BITS)
}
