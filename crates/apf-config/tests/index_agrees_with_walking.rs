//! The index gives the answer that trying one schema after another gives, on random configurations and requests.
//!
//! The matching here is written from the published rules alone and shares nothing with the crate's.

mod common;

use apf_config::attributes::{Groups, RequestAttributes, Resource, Target};
use apf_config::explain::explain;
use apf_config::objects::*;
use common::*;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

/// The name of the first schema that matches, by walking.
fn walk<'o>(objects: &'o Objects, request: &Request) -> Option<&'o str> {
    let mut schemas: Vec<&FlowSchema> = objects.flow_schemas.iter().collect();
    schemas.sort_by_key(|schema| (schema.spec.matching_precedence, schema.metadata.name.clone()));
    let found =
        schemas.into_iter().find(|schema| schema.spec.rules.iter().any(|rule| rule_matches(rule, request)));
    found.map(|schema| schema.metadata.name.as_str())
}

fn rule_matches(rule: &Rule, request: &Request) -> bool {
    if !rule.subjects.iter().any(|subject| subject_matches(subject, request)) {
        return false;
    }
    if let Some(path) = &request.path {
        return rule.non_resource_rules.iter().any(|entry| {
            in_list(&request.verb, &entry.verbs)
                && entry.non_resource_urls.iter().any(|url| url_matches(url, path))
        });
    }
    let joined = match request.subresource.as_str() {
        "" => request.resource.clone(),
        subresource => format!("{}/{subresource}", request.resource),
    };
    rule.resource_rules.iter().any(|entry| {
        in_list(&request.verb, &entry.verbs)
            && in_list(&joined, &entry.resources)
            && in_list(&request.api_group, &entry.api_groups)
            && match request.namespace.as_str() {
                "" => entry.cluster_scope,
                namespace => in_list(namespace, &entry.namespaces),
            }
    })
}

fn in_list(value: &str, list: &[String]) -> bool {
    list == ["*"] || list.contains(&value.to_owned())
}

fn url_matches(url: &str, path: &str) -> bool {
    let mut prefix = url.strip_suffix('*').unwrap_or(url).to_owned();
    if !prefix.ends_with('/') {
        prefix += "/";
    }
    url == "*" || url == path || path.starts_with(&prefix)
}

fn subject_matches(subject: &Subject, request: &Request) -> bool {
    match (subject.kind.as_str(), &subject.user, &subject.group, &subject.service_account) {
        ("User", Some(name), _, _) => name == "*" || *name == request.user,
        ("Group", _, Some(name), _) => name == "*" || request.groups.contains(name),
        ("ServiceAccount", _, _, Some(account)) => {
            let prefix = format!("system:serviceaccount:{}:", account.namespace);
            match account.name.as_str() {
                "*" => request.user.starts_with(&prefix),
                name => request.user == prefix + name,
            }
        }
        _ => false,
    }
}

#[derive(Debug, Clone)]
struct Request {
    user: String,
    groups: Vec<String>,
    verb: String,
    path: Option<String>,
    api_group: String,
    resource: String,
    subresource: String,
    namespace: String,
}

impl Request {
    fn attributes(&self) -> RequestAttributes<'_> {
        let target = match &self.path {
            Some(path) => Target::NonResource { path },
            None => Target::Resource(Resource {
                api_group: &self.api_group,
                api_version: "v1",
                resource: &self.resource,
                subresource: &self.subresource,
                namespace: &self.namespace,
                name: "",
            }),
        };
        RequestAttributes { user: &self.user, groups: Groups::from(&self.groups), verb: &self.verb, target }
    }
}

const USERS: &[&str] = &[
    "",
    "*",
    "a",
    "b",
    "system:serviceaccount:",
    "system:serviceaccount:n",
    "system:serviceaccount:n:",
    "system:serviceaccount:n:x",
    "system:serviceaccount:n:x:y",
    "system:serviceaccount:m:x",
    "system:serviceaccount::x",
];
const GROUPS: &[&str] = &["", "*", "a", "g", "h", "i"];
const ACCOUNT_NAMESPACES: &[&str] = &["", "*", "n", "m", "n:x", "n:x:y"];
const ACCOUNTS: &[&str] = &["", "*", "x", "y", "x:y"];
const VERBS: &[&str] = &["", "*", "get", "list", "head"];
const API_GROUPS: &[&str] = &["", "*", "apps", "batch"];
const NAMESPACES: &[&str] = &["", "*", "n", "m"];
const RESOURCES: &[&str] = &[
    "",
    "*",
    "/",
    "pods",
    "pods/",
    "pods/status",
    "pods/*",
    "*/status",
    "/status",
    "a/b",
    "a/b/c",
    "a/b/c/d",
];
const PLAIN: &[&str] = &["", "*", "pods", "pods/status", "pods/", "a", "a/b", "/"];
const SUBRESOURCES: &[&str] = &["", "status", "*", "b", "c", "b/c", "/"];
const URLS: &[&str] =
    &["", "*", "/", "/*", "/a", "/a*", "/a/", "/a/*", "/a/b", "/a/b/*", "/ab", "a", "/a/*/c", "//"];
const PATHS: &[&str] = &[
    "", "*", "/", "//", "/a", "/a/", "/a/*", "/a/b", "/a/b/", "/a/b/c/d", "/ab", "/a*", "/a*/x", "a", "a/b",
    "/a/*/c/d",
];

fn one(from: &'static [&'static str]) -> impl Strategy<Value = String> {
    select(from).prop_map(str::to_owned)
}

/// A list: a wildcard half of the time, otherwise some of the entries.
fn some(from: &'static [&'static str]) -> impl Strategy<Value = Vec<String>> {
    prop_oneof![
        Just(strings(&["*"])),
        subsequence(from, 0..=from.len().min(3)).prop_map(|list| strings(&list))
    ]
}

fn subjects() -> impl Strategy<Value = Subject> {
    let named = prop_oneof![
        one(USERS).prop_map(|name| user(&name)),
        one(GROUPS).prop_map(|name| group(&name)),
        (one(ACCOUNT_NAMESPACES), one(ACCOUNTS))
            .prop_map(|(namespace, name)| service_account(&namespace, &name)),
    ];
    (named, 0..20).prop_map(|(mut subject, fault)| {
        match fault {
            0 => subject.kind = "Robot".into(),
            1 => (subject.user, subject.group, subject.service_account) = (None, None, None),
            _ => {}
        }
        subject
    })
}

fn rules() -> impl Strategy<Value = Rule> {
    let resource = (some(VERBS), some(API_GROUPS), some(RESOURCES), any::<bool>(), some(NAMESPACES))
        .prop_map(|(verbs, api_groups, resources, cluster_scope, namespaces)| ResourceRule {
            verbs,
            api_groups,
            resources,
            cluster_scope,
            namespaces,
        });
    let url = (some(VERBS), some(URLS))
        .prop_map(|(verbs, non_resource_urls)| NonResourceRule { verbs, non_resource_urls });
    (
        prop::collection::vec(subjects(), 0..3),
        prop::collection::vec(resource, 0..3),
        prop::collection::vec(url, 0..3),
    )
        .prop_map(|(subjects, resources, urls)| rule(subjects, resources, urls))
}

/// Few precedences, so that ties are common, and now and then a mandatory name at an odd place.
fn configurations() -> impl Strategy<Value = Objects> {
    let schemas = prop::collection::vec((1..4, prop::collection::vec(rules(), 0..3)), 0..120);
    (schemas, 0..240usize, 0..240usize).prop_map(|(schemas, exempt, catch_all)| {
        let name = |at: usize| match at {
            _ if at == exempt => "exempt".to_owned(),
            _ if at == catch_all => "catch-all".to_owned(),
            _ => format!("s{at}"),
        };
        config(
            schemas
                .into_iter()
                .enumerate()
                .map(|(at, (precedence, rules))| schema(&name(at), "l", precedence, rules))
                .collect(),
        )
    })
}

fn requests() -> impl Strategy<Value = Request> {
    (
        one(USERS),
        prop::collection::vec(one(GROUPS), 0..4),
        one(VERBS),
        prop::option::of(one(PATHS)),
        one(API_GROUPS),
        one(PLAIN),
        one(SUBRESOURCES),
        one(NAMESPACES),
    )
        .prop_map(|(user, groups, verb, path, api_group, resource, subresource, namespace)| Request {
            user,
            groups,
            verb,
            path,
            api_group,
            resource,
            subresource,
            namespace,
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn classification_equals_trying_the_schemas_in_order(
        objects in configurations(),
        requests in prop::collection::vec(requests(), 30),
    ) {
        // Only what the objects say: the mandatory schemas match no group that a request here has.
        let plan = plan(&objects);
        for request in &requests {
            let expected = walk(&objects, request);
            let classified = plan.classify(&request.attributes());
            let schema = &plan.schemas()[classified.schema];
            prop_assert_eq!(classified.matched, expected.is_some(), "{:?}", request);
            prop_assert_eq!(&*schema.name, expected.unwrap_or("catch-all"), "{:?}", request);
            prop_assert_eq!(classified.level, schema.level);

            let explanation = explain(&plan, &request.attributes());
            prop_assert_eq!(explanation.fallback, expected.is_none());
            prop_assert_eq!(&explanation.schema, &schema.name);
            prop_assert_eq!(explanation.flow_hash, classified.flow_hash);
        }
    }
}
