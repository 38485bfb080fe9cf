//! A comparison of one schema with the request, in words.

use apf_config::explain::Outcome;
use apf_config::objects::{Rule, Subject};
use apf_config::plan::{Part, PlannedSchema};

/// So many values of a list are shown.
const SHOWN: usize = 3;

/// The path of the rule that matched or came closest.
pub(super) fn rule_path(outcome: Outcome, for_resource: bool) -> Option<String> {
    let list = if for_resource { "resourceRules" } else { "nonResourceRules" };
    match outcome {
        Outcome::Matched { rule, entry } | Outcome::Missed { rule, entry: Some(entry), .. } => {
            Some(format!("rules[{rule}].{list}[{entry}]"))
        }
        Outcome::Missed { rule, entry: None, .. } => Some(format!("rules[{rule}]")),
        Outcome::NoRules => None,
    }
}

/// The names of the parts that did not match.
pub(super) fn missed(outcome: Outcome) -> Vec<&'static str> {
    match outcome {
        Outcome::Missed { parts, .. } => parts.iter().map(Part::as_str).collect(),
        Outcome::Matched { .. } | Outcome::NoRules => Vec::new(),
    }
}

/// The sentence: which rule, and for each part that did not match what it asks for.
pub(super) fn why(outcome: Outcome, schema: Option<&PlannedSchema>, for_resource: bool) -> String {
    let Some(path) = rule_path(outcome, for_resource) else {
        return "it has no rules".to_owned();
    };
    match outcome {
        Outcome::Missed { rule, entry, parts } => {
            let rule = schema.and_then(|schema| schema.spec.rules.get(rule));
            let wanted: Vec<String> =
                parts.iter().map(|part| wanted(part, rule, entry.unwrap_or(0))).collect();
            format!("{path}: {}", wanted.join("; "))
        }
        Outcome::Matched { .. } | Outcome::NoRules => path,
    }
}

fn wanted(part: Part, rule: Option<&Rule>, entry: usize) -> String {
    let Some(rule) = rule else { return part.as_str().to_owned() };
    let resource = rule.resource_rules.get(entry);
    let other = rule.non_resource_rules.get(entry);
    let verbs = || resource.map(|entry| &entry.verbs).or(other.map(|entry| &entry.verbs));
    match part {
        Part::Subject => {
            let subjects: Vec<String> = rule.subjects.iter().map(subject).collect();
            format!("subject is not {}", one_of(&subjects))
        }
        Part::ResourceRules => "it has no resourceRules".to_owned(),
        Part::NonResourceRules => "it has no nonResourceRules".to_owned(),
        Part::Verb => format!("verb is not {}", listed(verbs())),
        Part::ApiGroup => format!("API group is not {}", listed(resource.map(|entry| &entry.api_groups))),
        Part::Resource => format!("resource is not {}", listed(resource.map(|entry| &entry.resources))),
        Part::Namespace => format!("namespace is not {}", listed(resource.map(|entry| &entry.namespaces))),
        Part::ClusterScope => "the request has no namespace and clusterScope is false".to_owned(),
        Part::Url => format!("path is not under {}", listed(other.map(|entry| &entry.non_resource_urls))),
    }
}

fn subject(subject: &Subject) -> String {
    let name = match (&subject.user, &subject.group, &subject.service_account) {
        (Some(name), _, _) | (_, Some(name), _) => name.clone(),
        (_, _, Some(account)) => format!("{}:{}", account.namespace, account.name),
        (None, None, None) => String::new(),
    };
    format!("{} {name}", subject.kind)
}

fn listed(values: Option<&Vec<String>>) -> String {
    let quoted = |value: &String| if value.is_empty() { "\"\"".to_owned() } else { value.clone() };
    one_of(&values.map(|values| values.iter().map(quoted).collect::<Vec<_>>()).unwrap_or_default())
}

/// `a`, `a or b`, `a, b, c or 4 more`.
fn one_of(values: &[String]) -> String {
    match values {
        [] => "anything: the list is empty".to_owned(),
        [only] => only.clone(),
        _ if values.len() > SHOWN + 1 => {
            let shown: Vec<&str> = values.iter().take(SHOWN).map(String::as_str).collect();
            format!("{} or {} more", shown.join(", "), values.len() - SHOWN)
        }
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_stay_short() {
        let values = |count: usize| (0..count).map(|number| number.to_string()).collect::<Vec<_>>();
        for (count, text) in [
            (0, "anything: the list is empty"),
            (1, "0"),
            (2, "0 or 1"),
            (4, "0, 1, 2 or 3"),
            (6, "0, 1, 2 or 3 more"),
        ] {
            assert_eq!(one_of(&values(count)), text);
        }
    }
}
