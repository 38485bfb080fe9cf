//! What a set of valid objects leads to: references into nothing, objects that a server puts back or
//! deletes, levels and schemas that no request reaches.

mod cover;

use std::collections::BTreeSet;

use apf_config::objects::{AUTOUPDATE_ANNOTATION, FlowSchema, Objects};
use apf_config::{Item, Object, bootstrap};

use crate::finding::{Finding, Level};

/// Notes on the accepted objects, in the order of the files. They are judged on a server that has the
/// built-in objects too.
pub(crate) fn notes(items: &[Item], own: &Objects) -> Vec<Finding> {
    let accepted: Vec<&Item> = items.iter().filter(|item| item.accepted).collect();
    let all = bootstrap::with_own(own);
    let built_in = bootstrap::all();
    let levels: BTreeSet<&str> =
        all.priority_levels.iter().map(|level| level.metadata.name.as_str()).collect();
    let in_order = matching_order(&all, &levels);
    let mut findings = Vec::new();
    for item in accepted {
        findings.extend(maintained(item, &built_in));
        match &item.object {
            Object::FlowSchema(schema) => {
                findings
                    .extend(dangling(item, schema, &levels).or_else(|| shadowed(item, schema, &in_order)));
            }
            Object::PriorityLevelConfiguration(level) => {
                let name = level.metadata.name.as_str();
                if all.flow_schemas.iter().all(|schema| schema.spec.priority_level != name) {
                    let detail = "no FlowSchema leads to this level, so it only keeps seats from the others";
                    findings.push(Finding::about(item, Level::Warning, "", "level-without-schema", detail));
                }
            }
        }
    }
    findings
}

/// The schemas that take part, as a server tries them.
fn matching_order<'a>(all: &'a Objects, levels: &BTreeSet<&str>) -> Vec<&'a FlowSchema> {
    let mut schemas: Vec<&FlowSchema> = all
        .flow_schemas
        .iter()
        .filter(|schema| levels.contains(schema.spec.priority_level.as_str()))
        .collect();
    schemas.sort_by_key(|schema| (schema.spec.matching_precedence, &schema.metadata.name));
    schemas
}

fn dangling(item: &Item, schema: &FlowSchema, levels: &BTreeSet<&str>) -> Option<Finding> {
    let level = schema.spec.priority_level.as_str();
    if levels.contains(level) {
        return None;
    }
    let detail = format!(
        "\"{level}\" is neither in these files nor built in: until it exists the schema is dangling and matches nothing"
    );
    Some(Finding::about(item, Level::Warning, "spec.priorityLevelConfiguration.name", "dangling", &detail))
}

fn shadowed(item: &Item, schema: &FlowSchema, in_order: &[&FlowSchema]) -> Option<Finding> {
    let before: Vec<&FlowSchema> = in_order
        .iter()
        .copied()
        .take_while(|earlier| earlier.metadata.name != schema.metadata.name)
        .collect();
    let by = cover::covering(schema, &before)?;
    let detail = format!(
        "never reached: everything it matches is matched before by {}",
        by.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ")
    );
    Some(Finding::about(item, Level::Warning, "spec.matchingPrecedence", "unreachable", &detail))
}

/// What a server that maintains the built-in objects does to this one.
fn maintained(item: &Item, built_in: &Objects) -> Option<Finding> {
    let meta = item.object.metadata();
    let annotation = meta.annotations.get(AUTOUPDATE_ANNOTATION).and_then(|text| go_bool(text));
    let field = format!("metadata.annotations[{AUTOUPDATE_ANNOTATION}]");
    let Some(same_spec) = same_as_built_in(&item.object, built_in) else {
        let detail = "true marks an object of the server's own: a server deletes this one within a minute";
        return (annotation == Some(true))
            .then(|| Finding::about(item, Level::Warning, &field, "deleted-by-server", detail));
    };
    if same_spec || [bootstrap::EXEMPT, bootstrap::CATCH_ALL].contains(&meta.name.as_str()) {
        return None;
    }
    Some(if annotation == Some(false) {
        let detail = "replaces the suggested object of this name for good";
        Finding::about(item, Level::Note, "", "suggested-replaced", detail)
    } else {
        let detail = "replaces the suggested object of this name, which a server that maintains it puts back \
                      within a minute: set the annotation to \"false\"";
        Finding::about(item, Level::Warning, &field, "suggested-restored", detail)
    })
}

/// Whether the built-in object of the same kind and name has the same spec; `None` when there is none.
fn same_as_built_in(object: &Object, built_in: &Objects) -> Option<bool> {
    let name = &object.metadata().name;
    match object {
        Object::FlowSchema(own) => {
            let theirs = built_in.flow_schemas.iter().find(|schema| schema.metadata.name == *name)?;
            Some(theirs.spec == own.spec)
        }
        Object::PriorityLevelConfiguration(own) => {
            let theirs = built_in.priority_levels.iter().find(|level| level.metadata.name == *name)?;
            Some(theirs.spec == own.spec)
        }
    }
}

/// A boolean as Go's `strconv.ParseBool` reads it.
fn go_bool(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "TRUE" | "true" | "True" => Some(true),
        "0" | "f" | "F" | "FALSE" | "false" | "False" => Some(false),
        _ => None,
    }
}
