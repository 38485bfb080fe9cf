//! Whether earlier schemas match everything that a schema matches.
//!
//! The answer is sure when it is yes; a no may be wrong, because requests are covered one entry at a time: an
//! entry whose requests are spread over several earlier entries counts as not covered.

use apf_config::objects::{FlowSchema, NonResourceRule, ResourceRule, Rule, Subject};

/// Group of every user that authenticated.
const AUTHENTICATED: &str = "system:authenticated";
/// Group of every user that did not.
const UNAUTHENTICATED: &str = "system:unauthenticated";
/// Group of every service account; with `:` and a namespace, of those in it.
const SERVICE_ACCOUNTS: &str = "system:serviceaccounts";

/// The names of earlier schemas that together match whatever `schema` matches, in their order; `None` when
/// something may be left for it.
pub(super) fn covering<'a>(schema: &FlowSchema, earlier: &[&'a FlowSchema]) -> Option<Vec<&'a str>> {
    let mut used = Vec::new();
    let mut entries = 0;
    for rule in &schema.spec.rules {
        for subject in &rule.subjects {
            for entry in &rule.resource_rules {
                entries += 1;
                used.push(first(earlier, |other| {
                    covers_subject(other, subject)
                        && other.resource_rules.iter().any(|theirs| covers_resources(theirs, entry))
                })?);
            }
            for entry in &rule.non_resource_rules {
                entries += 1;
                used.push(first(earlier, |other| {
                    covers_subject(other, subject)
                        && other.non_resource_rules.iter().any(|theirs| covers_urls(theirs, entry))
                })?);
            }
        }
    }
    used.sort_unstable();
    used.dedup();
    let names = used.into_iter().filter_map(|at| earlier.get(at)).map(|schema| schema.metadata.name.as_str());
    (entries > 0).then(|| names.collect())
}

fn first(earlier: &[&FlowSchema], covers: impl Fn(&Rule) -> bool) -> Option<usize> {
    earlier.iter().position(|schema| schema.spec.rules.iter().any(&covers))
}

fn covers_subject(rule: &Rule, subject: &Subject) -> bool {
    let has_group = |name: &str| {
        rule.subjects
            .iter()
            .any(|theirs| theirs.group.as_deref().is_some_and(|group| group == name || group == "*"))
    };
    let everybody = has_group("*")
        || has_group(AUTHENTICATED) && has_group(UNAUTHENTICATED)
        || rule.subjects.iter().any(|theirs| theirs.user.as_deref() == Some("*"));
    if everybody || rule.subjects.contains(subject) {
        return true;
    }
    let Some(account) = &subject.service_account else {
        let group = subject.group.as_deref().unwrap_or_default();
        return group.starts_with(SERVICE_ACCOUNTS)
            && (has_group(SERVICE_ACCOUNTS) || has_group(AUTHENTICATED));
    };
    has_group(SERVICE_ACCOUNTS)
        || has_group(AUTHENTICATED)
        || has_group(&format!("{SERVICE_ACCOUNTS}:{}", account.namespace))
        || rule.subjects.iter().any(|theirs| {
            theirs.service_account.as_ref().is_some_and(|theirs| {
                theirs.namespace == account.namespace && (theirs.name == "*" || theirs.name == account.name)
            })
        })
}

fn covers_resources(theirs: &ResourceRule, entry: &ResourceRule) -> bool {
    covers_list(&theirs.verbs, &entry.verbs)
        && covers_list(&theirs.api_groups, &entry.api_groups)
        && covers_list(&theirs.resources, &entry.resources)
        && covers_list(&theirs.namespaces, &entry.namespaces)
        && (theirs.cluster_scope || !entry.cluster_scope)
}

fn covers_urls(theirs: &NonResourceRule, entry: &NonResourceRule) -> bool {
    covers_list(&theirs.verbs, &entry.verbs)
        && entry
            .non_resource_urls
            .iter()
            .all(|url| theirs.non_resource_urls.iter().any(|by| by == "*" || by == url))
}

fn covers_list(theirs: &[String], entry: &[String]) -> bool {
    matches!(theirs, [only] if only == "*") || entry.iter().all(|value| theirs.contains(value))
}

#[cfg(test)]
mod tests {
    use apf_config::{Strictness, load_str};

    use super::*;

    fn schema(name: &str, subject: &str, resources: &str) -> FlowSchema {
        let text = format!(
            "apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: FlowSchema
metadata: {{name: {name}}}
spec:
  priorityLevelConfiguration: {{name: exempt}}
  rules:
  - subjects: [{subject}]
    resourceRules: [{resources}]
"
        );
        let loaded = load_str("test", &text, Strictness::Strict);
        assert!(loaded.diagnostics.is_empty(), "{:?}", loaded.diagnostics);
        loaded.objects.flow_schemas.into_iter().next().unwrap()
    }

    const BOT: &str = "{kind: ServiceAccount, serviceAccount: {namespace: demo, name: bot}}";
    const ALL_BOTS: &str = "{kind: ServiceAccount, serviceAccount: {namespace: demo, name: '*'}}";
    const GROUP: &str = "{kind: Group, group: {name: 'system:serviceaccounts:demo'}}";
    const ALICE: &str = "{kind: User, user: {name: alice}}";
    const PODS: &str = "{verbs: [list], apiGroups: [''], resources: [pods], namespaces: [demo]}";
    const WIDE: &str = "{verbs: ['*'], apiGroups: ['*'], resources: ['*'], namespaces: ['*']}";

    #[test]
    fn a_wider_schema_in_front_covers() {
        let narrow = schema("narrow", BOT, PODS);
        for subject in [BOT, ALL_BOTS, GROUP] {
            let wide = schema("wide", subject, WIDE);
            assert_eq!(covering(&narrow, &[&wide]), Some(vec!["wide"]), "{subject}");
        }
        assert_eq!(covering(&narrow, &[]), None);
    }

    #[test]
    fn what_is_left_over_keeps_a_schema_reachable() {
        let narrow = schema("narrow", BOT, PODS);
        assert_eq!(covering(&narrow, &[&schema("other", ALICE, WIDE)]), None);
        let wide = schema("wide", ALL_BOTS, WIDE);
        assert_eq!(covering(&wide, &[&narrow]), None);
        let cluster = PODS.replace("namespaces: [demo]", "clusterScope: true");
        assert_eq!(covering(&schema("cluster", BOT, &cluster), &[&wide]), None);
        let authenticated =
            schema("authenticated", "{kind: Group, group: {name: 'system:authenticated'}}", WIDE);
        assert_eq!(
            covering(&schema("alice", ALICE, PODS), &[&authenticated]),
            None,
            "alice need not have authenticated"
        );
    }
}
