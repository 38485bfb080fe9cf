//! The index that finds the first matching schema without trying them one after another.
//!
//! Every entry of every rule is a line, numbered in matching order. For each part of a request there is a map from
//! values to the lines that accept this value, and a set of the lines that accept any. A request matches a
//! line when the line is in the sets of all its parts, so the first common line is the answer, exactly:
//! nothing has to be tried afterwards.

use std::collections::HashMap;

use rustc_hash::FxBuildHasher;

use super::line_sets::{LineSets, Lines, SetId};
use super::matching::{SERVICE_ACCOUNT_PREFIX, is_any, names};
use crate::attributes::{RequestAttributes, Resource, Target};
use crate::objects::{FlowSchemaSpec, Rule, Subject};

type Map<V> = HashMap<Box<str>, V, FxBuildHasher>;

/// How many sets one part of a request may fall into before the index gives up and the caller walks.
const MOST_SETS: usize = 24;

/// What the index says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    /// The first schema that matches, by position in matching order.
    Schema(usize),
    /// No schema matches.
    None,
    /// The user's groups or the path fall into more sets than fit on the stack.
    Walk,
}

/// The index over the schemas of a plan.
#[derive(Debug, Clone)]
pub(super) struct Index {
    resources: ResourceLines,
    non_resources: NonResourceLines,
}

impl Index {
    /// Builds the index over the schemas, given in matching order.
    pub(super) fn new<'a>(schemas: impl Iterator<Item = &'a FlowSchemaSpec> + Clone) -> Self {
        Index {
            resources: ResourceLines::new(schemas.clone()),
            non_resources: NonResourceLines::new(schemas),
        }
    }

    /// The first schema that matches.
    pub(super) fn find(&self, request: &RequestAttributes<'_>) -> Answer {
        match request.target {
            Target::Resource(resource) => self.resources.find(request, &resource),
            Target::NonResource { path } => self.non_resources.find(request, path),
        }
    }
}

/// The lines of `resourceRules`.
#[derive(Debug, Clone)]
struct ResourceLines {
    sets: LineSets,
    schema_of_line: Vec<usize>,
    subjects: Subjects,
    verbs: Values,
    api_groups: Values,
    resources: Resources,
    namespaces: Values,
    cluster_scope: SetId,
}

impl ResourceLines {
    fn new<'a>(schemas: impl Iterator<Item = &'a FlowSchemaSpec>) -> Self {
        let mut subjects = GrowingSubjects::default();
        let [mut verbs, mut api_groups, mut resources, mut namespaces] = <[GrowingValues; 4]>::default();
        let mut cluster_scope = Lines::default();
        let mut schema_of_line = Vec::new();
        let mut line = 0;
        for (schema, spec) in schemas.enumerate() {
            for rule in &spec.rules {
                let start = line;
                for entry in &rule.resource_rules {
                    verbs.add(&entry.verbs, line);
                    api_groups.add(&entry.api_groups, line);
                    resources.add(&entry.resources, line);
                    namespaces.add(&entry.namespaces, line);
                    if entry.cluster_scope {
                        cluster_scope.add(line..line + 1);
                    }
                    schema_of_line.push(schema);
                    line += 1;
                }
                subjects.add(rule, start..line);
            }
        }
        let mut sets = LineSets::new(line);
        ResourceLines {
            schema_of_line,
            subjects: subjects.keep(&mut sets),
            verbs: verbs.keep(&mut sets),
            api_groups: api_groups.keep(&mut sets),
            resources: Resources::new(resources.keep(&mut sets)),
            namespaces: namespaces.keep(&mut sets),
            cluster_scope: sets.keep(&cluster_scope),
            sets,
        }
    }

    fn find(&self, request: &RequestAttributes<'_>, resource: &Resource<'_>) -> Answer {
        let mut subjects = Found::new();
        self.subjects.find(request, &mut subjects);
        let mut resources = Found::new();
        self.resources.find(resource, &mut resources);
        let (Some(subjects), Some(resources)) = (subjects.get(), resources.get()) else {
            return Answer::Walk;
        };
        let place = match resource.namespace {
            "" => [self.cluster_scope, SetId::EMPTY],
            namespace => self.namespaces.find(namespace),
        };
        let verb = self.verbs.find(request.verb);
        let api_group = self.api_groups.find(resource.api_group);
        let line = self.sets.first_in_all([subjects, &verb, resources, &api_group, &place]);
        schema_of(line, &self.schema_of_line)
    }
}

/// The lines of `nonResourceRules`.
#[derive(Debug, Clone)]
struct NonResourceLines {
    sets: LineSets,
    schema_of_line: Vec<usize>,
    subjects: Subjects,
    verbs: Values,
    urls: Urls,
}

impl NonResourceLines {
    fn new<'a>(schemas: impl Iterator<Item = &'a FlowSchemaSpec>) -> Self {
        let mut subjects = GrowingSubjects::default();
        let mut verbs = GrowingValues::default();
        let mut urls = GrowingUrls::default();
        let mut schema_of_line = Vec::new();
        let mut line = 0;
        for (schema, spec) in schemas.enumerate() {
            for rule in &spec.rules {
                let start = line;
                for entry in &rule.non_resource_rules {
                    verbs.add(&entry.verbs, line);
                    urls.add(&entry.non_resource_urls, line);
                    schema_of_line.push(schema);
                    line += 1;
                }
                subjects.add(rule, start..line);
            }
        }
        let mut sets = LineSets::new(line);
        NonResourceLines {
            schema_of_line,
            subjects: subjects.keep(&mut sets),
            verbs: verbs.keep(&mut sets),
            urls: urls.keep(&mut sets),
            sets,
        }
    }

    fn find(&self, request: &RequestAttributes<'_>, path: &str) -> Answer {
        let mut subjects = Found::new();
        self.subjects.find(request, &mut subjects);
        let mut urls = Found::new();
        self.urls.find(path, &mut urls);
        let (Some(subjects), Some(urls)) = (subjects.get(), urls.get()) else {
            return Answer::Walk;
        };
        let verb = self.verbs.find(request.verb);
        let line = self.sets.first_in_all([subjects, &verb, urls]);
        schema_of(line, &self.schema_of_line)
    }
}

fn schema_of(line: Option<u32>, schema_of_line: &[usize]) -> Answer {
    line.and_then(|line| schema_of_line.get(line as usize))
        .map_or(Answer::None, |schema| Answer::Schema(*schema))
}

/// The sets that one part of a request falls into, on the stack.
struct Found {
    sets: [SetId; MOST_SETS],
    count: usize,
}

impl Found {
    fn new() -> Self {
        Found { sets: [SetId::EMPTY; MOST_SETS], count: 0 }
    }

    fn push(&mut self, set: SetId) {
        if set != SetId::EMPTY {
            if let Some(slot) = self.sets.get_mut(self.count) {
                *slot = set;
            }
            self.count += 1;
        }
    }

    /// The sets, or `None` when there were more than fit.
    fn get(&self) -> Option<&[SetId]> {
        self.sets.get(..self.count)
    }
}

/// Lines by the value that they accept.
#[derive(Debug, Clone)]
struct Values {
    by_value: Map<SetId>,
    any: SetId,
}

impl Values {
    fn find(&self, value: &str) -> [SetId; 2] {
        [look_up(&self.by_value, value), self.any]
    }
}

fn look_up(map: &Map<SetId>, key: &str) -> SetId {
    map.get(key).copied().unwrap_or(SetId::EMPTY)
}

/// [`Values`] while they are put together.
#[derive(Debug, Default)]
struct GrowingValues {
    by_value: Map<Lines>,
    any: Lines,
}

impl GrowingValues {
    fn add(&mut self, list: &[String], line: u32) {
        if is_any(list) {
            return self.any.add(line..line + 1);
        }
        for value in list {
            self.by_value.entry(value.as_str().into()).or_default().add(line..line + 1);
        }
    }

    fn keep(self, sets: &mut LineSets) -> Values {
        Values { by_value: keep_all(self.by_value, sets), any: sets.keep(&self.any) }
    }
}

fn keep_all(map: Map<Lines>, sets: &mut LineSets) -> Map<SetId> {
    map.into_iter().map(|(value, lines)| (value, sets.keep(&lines))).collect()
}

/// Lines by the resource, or resource and subresource, that they accept.
#[derive(Debug, Clone)]
struct Resources {
    /// By resource, of the entries without `/`.
    plain: Map<SetId>,
    /// By what is before the first `/` and by what is after it, so that a request's two strings need not be joined.
    nested: Map<Map<SetId>>,
    /// The entries of `nested` as written.
    with_slash: Vec<(Box<str>, SetId)>,
    any: SetId,
}

impl Resources {
    fn new(values: Values) -> Self {
        let (with_slash, plain): (Vec<_>, Vec<_>) =
            values.by_value.into_iter().partition(|(entry, _)| entry.contains('/'));
        let mut nested: Map<Map<SetId>> = Map::default();
        for (entry, set) in &with_slash {
            if let Some((resource, subresource)) = entry.split_once('/') {
                nested.entry(resource.into()).or_default().insert(subresource.into(), *set);
            }
        }
        Resources { plain: plain.into_iter().collect(), nested, with_slash, any: values.any }
    }

    fn find(&self, request: &Resource<'_>, found: &mut Found) {
        found.push(self.any);
        if request.resource.contains('/') {
            return self.find_oddly_named(request, found);
        }
        found.push(match request.subresource {
            "" => look_up(&self.plain, request.resource),
            subresource => {
                self.nested.get(request.resource).map_or(SetId::EMPTY, |inner| look_up(inner, subresource))
            }
        });
    }

    /// A resource that contains `/` cannot come from a URL but may come from a host.
    fn find_oddly_named(&self, request: &Resource<'_>, found: &mut Found) {
        for (entry, set) in &self.with_slash {
            if names(entry, request.resource, request.subresource) {
                found.push(*set);
            }
        }
    }
}

/// Lines by the URL that they accept.
#[derive(Debug, Clone)]
struct Urls {
    exact: Map<SetId>,
    /// By a path that ends in `/`; accepts everything below it.
    below: Map<SetId>,
    /// Length of the longest key of `below`.
    longest: usize,
    any: SetId,
}

impl Urls {
    fn find(&self, path: &str, found: &mut Found) {
        found.push(self.any);
        found.push(look_up(&self.exact, path));
        for (slash, _) in path.match_indices('/') {
            if slash >= self.longest {
                break;
            }
            found.push(path.get(..=slash).map_or(SetId::EMPTY, |above| look_up(&self.below, above)));
        }
    }
}

/// [`Urls`] while they are put together.
#[derive(Debug, Default)]
struct GrowingUrls {
    exact: Map<Lines>,
    below: Map<Lines>,
    any: Lines,
}

impl GrowingUrls {
    fn add(&mut self, list: &[String], line: u32) {
        for url in list {
            if url == "*" {
                self.any.add(line..line + 1);
                continue;
            }
            self.exact.entry(url.as_str().into()).or_default().add(line..line + 1);
            let mut above = url.strip_suffix('*').unwrap_or(url).to_owned();
            if !above.ends_with('/') {
                above.push('/');
            }
            self.below.entry(above.into()).or_default().add(line..line + 1);
        }
    }

    fn keep(self, sets: &mut LineSets) -> Urls {
        let longest = self.below.keys().map(|path| path.len()).max().unwrap_or(0);
        Urls {
            exact: keep_all(self.exact, sets),
            below: keep_all(self.below, sets),
            longest,
            any: sets.keep(&self.any),
        }
    }
}

/// Lines by whom they are for.
#[derive(Debug, Clone)]
struct Subjects {
    /// By user name, service accounts with a name among them.
    users: Map<SetId>,
    groups: Map<SetId>,
    /// By namespace, of the subjects that stand for all service accounts of one.
    namespaces: Map<SetId>,
    /// The most colons in a key of `namespaces`: none in a valid object.
    colons: usize,
    anyone: SetId,
}

impl Subjects {
    fn find(&self, request: &RequestAttributes<'_>, found: &mut Found) {
        found.push(self.anyone);
        found.push(look_up(&self.users, request.user));
        if !self.namespaces.is_empty()
            && let Some(account) = request.user.strip_prefix(SERVICE_ACCOUNT_PREFIX)
        {
            for (colon, _) in account.match_indices(':').take(self.colons + 1) {
                found.push(
                    account
                        .get(..colon)
                        .map_or(SetId::EMPTY, |namespace| look_up(&self.namespaces, namespace)),
                );
            }
        }
        if !self.groups.is_empty() {
            for group in request.groups.iter() {
                found.push(look_up(&self.groups, group));
            }
        }
    }
}

/// [`Subjects`] while they are put together.
#[derive(Debug, Default)]
struct GrowingSubjects {
    users: Map<Lines>,
    groups: Map<Lines>,
    namespaces: Map<Lines>,
    anyone: Lines,
}

impl GrowingSubjects {
    fn add(&mut self, rule: &Rule, lines: std::ops::Range<u32>) {
        for subject in &rule.subjects {
            if let Some(set) = self.lines_of(subject) {
                set.add(lines.clone());
            }
        }
    }

    /// The set that the subject's lines belong to; `None` when the subject matches nobody.
    fn lines_of(&mut self, subject: &Subject) -> Option<&mut Lines> {
        match subject.kind.as_str() {
            "User" => match subject.user.as_deref()? {
                "*" => Some(&mut self.anyone),
                name => Some(self.users.entry(name.into()).or_default()),
            },
            "Group" => match subject.group.as_deref()? {
                "*" => Some(&mut self.anyone),
                name => Some(self.groups.entry(name.into()).or_default()),
            },
            "ServiceAccount" => {
                let account = subject.service_account.as_ref()?;
                if account.name == "*" {
                    return Some(self.namespaces.entry(account.namespace.as_str().into()).or_default());
                }
                let user = format!("{SERVICE_ACCOUNT_PREFIX}{}:{}", account.namespace, account.name);
                Some(self.users.entry(user.into()).or_default())
            }
            _ => None,
        }
    }

    fn keep(self, sets: &mut LineSets) -> Subjects {
        let colons = self.namespaces.keys().map(|name| name.matches(':').count()).max().unwrap_or(0);
        Subjects {
            users: keep_all(self.users, sets),
            groups: keep_all(self.groups, sets),
            namespaces: keep_all(self.namespaces, sets),
            colons,
            anyone: sets.keep(&self.anyone),
        }
    }
}
