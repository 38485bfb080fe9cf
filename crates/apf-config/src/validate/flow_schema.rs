//! `FlowSchema.spec`.

use super::{Findings, shown_list};
use crate::bootstrap;
use crate::diagnostic::{Rule, quote};
use crate::issue::Issue;
use crate::names;
use crate::objects::{
    DistinguisherMethod, FlowSchema, NonResourceRule, ResourceRule, Rule as PolicyRule, Subject,
};
use crate::path::FieldPath;
use crate::write;

/// Highest (least urgent) `matchingPrecedence`.
const MAX_PRECEDENCE: i32 = 10_000;

const VERBS: [&str; 9] =
    ["create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch"];

pub(super) fn check(findings: &mut Findings, schema: &FlowSchema) {
    let path = FieldPath::of(&["spec"]);
    let spec = &schema.spec;
    precedence(findings, path.field("matchingPrecedence"), spec.matching_precedence, &schema.metadata.name);
    if let Some(DistinguisherMethod::Unknown(kind)) = &spec.distinguisher_method {
        // The whole method is the value here, spelled as Kubernetes spells its internal type.
        let value = format!("{{\"Type\":{}}}", write::json_string(kind));
        findings.not_supported(
            path.field("distinguisherMethod").field("type"),
            value,
            &["ByNamespace", "ByUser"],
        );
    }
    let level = path.field("priorityLevelConfiguration").field("name");
    if spec.priority_level.is_empty() {
        findings.required(level, "must reference a priority level");
    } else {
        findings.invalid_each(&level, &spec.priority_level, names::dns_subdomain(&spec.priority_level));
    }
    for (index, rule) in spec.rules.iter().enumerate() {
        policy_rule(findings, &path.field("rules").index(index), rule);
    }
    if bootstrap::mandatory_schema(&schema.metadata.name).is_some_and(|fixed| fixed.spec != *spec) {
        let detail = format!("spec of '{}' must equal the fixed value", schema.metadata.name);
        findings.0.push(Issue::error(path, Rule::Invalid, None, detail));
    }
}

fn precedence(findings: &mut Findings, path: FieldPath, precedence: i32, name: &str) {
    let shown = precedence.to_string();
    if precedence <= 0 {
        findings.invalid(path, shown, "must be a positive value");
    } else if precedence > MAX_PRECEDENCE {
        findings.invalid(path, shown, format!("must not be greater than {MAX_PRECEDENCE}"));
    } else if precedence == 1 && name != bootstrap::EXEMPT {
        findings.invalid(path, shown, "only the schema named 'exempt' may have matchingPrecedence 1");
    }
}

fn policy_rule(findings: &mut Findings, path: &FieldPath, rule: &PolicyRule) {
    if rule.subjects.is_empty() {
        findings.required(path.field("subjects"), "subjects must contain at least one value");
    }
    for (index, of) in rule.subjects.iter().enumerate() {
        subject(findings, &path.field("subjects").index(index), of);
    }
    if rule.resource_rules.is_empty() && rule.non_resource_rules.is_empty() {
        findings
            .required(path.clone(), "at least one of resourceRules and nonResourceRules has to be non-empty");
    }
    for (index, of) in rule.resource_rules.iter().enumerate() {
        resource_rule(findings, &path.field("resourceRules").index(index), of);
    }
    for (index, of) in rule.non_resource_rules.iter().enumerate() {
        non_resource_rule(findings, &path.field("nonResourceRules").index(index), of);
    }
}

fn subject(findings: &mut Findings, path: &FieldPath, subject: &Subject) {
    // Order of the members as messages list them.
    let members = [
        ("ServiceAccount", "serviceAccount", subject.service_account.is_some()),
        ("User", "user", subject.user.is_some()),
        ("Group", "group", subject.group.is_some()),
    ];
    if !members.iter().any(|(kind, ..)| *kind == subject.kind) {
        let supported = ["Group", "ServiceAccount", "User"];
        findings.not_supported(path.field("kind"), quote(&subject.kind), &supported);
        return;
    }
    for (kind, member, present) in members {
        if kind == subject.kind {
            if !present {
                let detail = format!("{member} is required when subject kind is '{kind}'");
                findings.required(path.field(member), &detail);
            }
            subject_member(findings, &path.field(member), subject, kind);
        } else if present {
            let detail = format!("{member} is forbidden when subject kind is not '{kind}'");
            findings.forbidden(path.field(member), &detail);
        }
    }
}

fn subject_member(findings: &mut Findings, path: &FieldPath, subject: &Subject, kind: &str) {
    let name = match kind {
        "User" => &subject.user,
        "Group" => &subject.group,
        _ => {
            let Some(account) = &subject.service_account else { return };
            if account.name.is_empty() {
                findings.required(path.field("name"), "");
            } else if account.name != "*" {
                findings.invalid_each(
                    &path.field("name"),
                    &account.name,
                    names::dns_subdomain(&account.name),
                );
            }
            if account.namespace.is_empty() {
                findings.required(path.field("namespace"), "must specify namespace for service account");
            } else {
                findings.invalid_each(
                    &path.field("namespace"),
                    &account.namespace,
                    names::dns_label(&account.namespace),
                );
            }
            return;
        }
    };
    if name.as_ref().is_some_and(String::is_empty) {
        findings.required(path.field("name"), "");
    }
}

fn has_wildcard(items: &[String]) -> bool {
    items.iter().any(|item| item == "*")
}

/// A list that needs an entry and in which `*` stands alone.
fn entries(findings: &mut Findings, path: FieldPath, items: &[String], missing: &str, others: &str) {
    if items.is_empty() {
        findings.required(path, missing);
    } else if items.len() > 1 && has_wildcard(items) {
        let detail = format!("if '*' is present, must not specify other {others}");
        findings.invalid(path, shown_list(items), detail);
    }
}

fn verbs(findings: &mut Findings, path: FieldPath, verbs: &[String]) {
    entries(findings, path.clone(), verbs, "verbs must contain at least one value", "verbs");
    if !has_wildcard(verbs) && !verbs.iter().all(|verb| VERBS.contains(&verb.as_str())) {
        findings.not_supported(path, shown_list(verbs), &VERBS);
    }
}

fn resource_rule(findings: &mut Findings, path: &FieldPath, rule: &ResourceRule) {
    verbs(findings, path.field("verbs"), &rule.verbs);
    entries(
        findings,
        path.field("apiGroups"),
        &rule.api_groups,
        "resource rules must supply at least one api group",
        "api groups",
    );
    entries(
        findings,
        path.field("resources"),
        &rule.resources,
        "resource rules must supply at least one resource",
        "resources",
    );
    let path = path.field("namespaces");
    if rule.namespaces.is_empty() && rule.cluster_scope {
        return;
    }
    entries(
        findings,
        path.clone(),
        &rule.namespaces,
        "resource rules that are not cluster scoped must supply at least one namespace",
        "namespaces",
    );
    if !has_wildcard(&rule.namespaces) {
        for (index, namespace) in rule.namespaces.iter().enumerate() {
            for complaint in names::dns_label(namespace) {
                let detail = format!("each member of this list must be '*' or a DNS-1123 label; {complaint}");
                findings.invalid(path.index(index), quote(namespace), detail);
            }
        }
    }
}

fn non_resource_rule(findings: &mut Findings, path: &FieldPath, rule: &NonResourceRule) {
    verbs(findings, path.field("verbs"), &rule.verbs);
    let path = path.field("nonResourceURLs");
    entries(
        findings,
        path.clone(),
        &rule.non_resource_urls,
        "nonResourceURLs must contain at least one value",
        "non-resource URLs",
    );
    if !has_wildcard(&rule.non_resource_urls) {
        for (index, url) in rule.non_resource_urls.iter().enumerate() {
            if let Some(complaint) = url_complaint(url) {
                findings.invalid(path.index(index), quote(url), complaint);
            }
        }
    }
}

/// The first thing wrong with a path pattern.
fn url_complaint(url: &str) -> Option<&'static str> {
    if url.is_empty() {
        Some("must not be empty")
    } else if url == "/" {
        None
    } else if !url.starts_with('/') {
        Some("must start with slash")
    } else if url.contains(' ') {
        Some("must not contain white-space")
    } else if url.contains("//") {
        Some("must not contain double slash")
    } else if url.contains('*') && (url.matches('*').count() > 1 || !url.ends_with("/*")) {
        Some("wildcard can only do suffix matching")
    } else {
        None
    }
}
