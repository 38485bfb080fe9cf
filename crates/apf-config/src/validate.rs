//! The rules a server checks on a defaulted object, with Kubernetes' paths and messages.
//!
//! Every rule is checked whatever the others say, and all findings are returned.

mod flow_schema;
mod level;
mod metadata;

use std::collections::HashSet;

use crate::diagnostic::{Rule, quote};
use crate::issue::Issue;
use crate::objects::{Condition, FlowSchema, PriorityLevelConfiguration};
use crate::path::FieldPath;
use crate::value::Value;
use crate::version::Version;

/// What a server would refuse the schema for.
pub(crate) fn flow_schema(schema: &FlowSchema) -> Vec<Issue> {
    let mut findings = Findings(Vec::new());
    metadata::check(&mut findings, &schema.metadata);
    flow_schema::check(&mut findings, schema);
    conditions(&mut findings, &schema.conditions);
    findings.0
}

/// What a server would refuse the level for; `version` decides the name of the shares field.
pub(crate) fn priority_level(level: &PriorityLevelConfiguration, version: Version) -> Vec<Issue> {
    let mut findings = Findings(Vec::new());
    metadata::check(&mut findings, &level.metadata);
    level::check(&mut findings, level, version);
    conditions(&mut findings, &level.conditions);
    findings.0
}

/// Collects errors.
struct Findings(Vec<Issue>);

impl Findings {
    fn required(&mut self, path: FieldPath, detail: &str) {
        self.0.push(Issue::error(path, Rule::Required, None, detail));
    }

    fn forbidden(&mut self, path: FieldPath, detail: &str) {
        self.0.push(Issue::error(path, Rule::Forbidden, None, detail));
    }

    fn invalid(&mut self, path: FieldPath, value: String, detail: impl Into<String>) {
        self.0.push(Issue::error(path, Rule::Invalid, Some(value), detail));
    }

    fn invalid_each(&mut self, path: &FieldPath, text: &str, complaints: Vec<String>) {
        for complaint in complaints {
            self.invalid(path.clone(), quote(text), complaint);
        }
    }

    /// `supported` must be sorted.
    fn not_supported(&mut self, path: FieldPath, value: String, supported: &[&str]) {
        let supported: Vec<String> = supported.iter().map(|name| quote(name)).collect();
        let detail = format!("supported values: {}", supported.join(", "));
        self.0.push(Issue::error(path, Rule::NotSupported, Some(value), detail));
    }
}

/// A list of strings as messages show it.
fn shown_list(items: &[String]) -> String {
    crate::write::json_text(&Value::from(items))
}

fn conditions(findings: &mut Findings, conditions: &[Condition]) {
    let path = FieldPath::of(&["status", "conditions"]);
    let mut seen = HashSet::new();
    for (index, condition) in conditions.iter().enumerate() {
        let path = path.index(index).field("type");
        if !seen.insert(condition.kind.as_str()) {
            findings.0.push(Issue::error(path.clone(), Rule::Duplicate, Some(quote(&condition.kind)), ""));
        }
        if condition.kind.is_empty() {
            findings.required(path, "must not be empty");
        }
    }
}
