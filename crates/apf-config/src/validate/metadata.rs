//! `metadata` of both kinds.

use super::Findings;
use crate::diagnostic::Rule;
use crate::issue::Issue;
use crate::names;
use crate::objects::ObjectMeta;
use crate::path::FieldPath;

/// Keys and values of all annotations together.
const ANNOTATIONS_MAX: usize = 256 << 10;

pub(super) fn check(findings: &mut Findings, meta: &ObjectMeta) {
    let path = FieldPath::of(&["metadata"]);
    if meta.name.is_empty() {
        findings.required(path.field("name"), "name or generateName is required");
    } else {
        findings.invalid_each(&path.field("name"), &meta.name, names::dns_subdomain(&meta.name));
    }
    if !meta.namespace.is_empty() {
        findings.forbidden(path.field("namespace"), "not allowed on this type");
    }
    if meta.generation < 0 {
        findings.invalid(
            path.field("generation"),
            meta.generation.to_string(),
            "must be greater than or equal to 0",
        );
    }
    for (key, value) in &meta.labels {
        findings.invalid_each(&path.field("labels"), key, names::label_key(key));
        findings.invalid_each(&path.field("labels"), value, names::label_value(value));
    }
    let annotations = path.field("annotations");
    let mut size = 0;
    for (key, value) in &meta.annotations {
        findings.invalid_each(&annotations, key, names::label_key(&key.to_lowercase()));
        size += key.len() + value.len();
    }
    if size > ANNOTATIONS_MAX {
        let detail = format!("may not be more than {ANNOTATIONS_MAX} bytes");
        findings.0.push(Issue::error(annotations, Rule::TooLong, None, detail));
    }
}
