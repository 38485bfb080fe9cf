//! Random requests, most of them cut to fit some rule, and then perhaps changed in one place.

use super::names::{
    API_GROUPS, API_VERBS, CROWD, GROUPS, NAMESPACES, PATHS, RESOURCES, URL_VERBS, USERS, crowd,
};
use super::random::Random;
use crate::objects::{FlowSchema, NonResourceRule, ResourceRule, Subject};
use crate::wire::{Attributes, Work};

/// A request for `schemas`.
pub(crate) fn request(random: &mut Random, schemas: &[FlowSchema]) -> Attributes {
    let mut request = anything(random);
    if schemas.is_empty() || random.chance(20) {
        return request;
    }
    let schema = random.pick(schemas);
    let Some(rule) = pick(random, &schema.spec.rules) else { return request };
    if let Some(subject) = pick(random, &rule.subjects) {
        become_subject(random, &mut request, subject);
    }
    let (resource, url) = (pick(random, &rule.resource_rules), pick(random, &rule.non_resource_rules));
    match (resource, url) {
        (Some(entry), url) if url.is_none() || random.chance(50) => ask_resource(random, &mut request, entry),
        (_, Some(entry)) => ask_url(random, &mut request, entry),
        _ => {}
    }
    if random.chance(25) {
        change(random, &mut request);
    }
    request
}

/// A request by the driver of a level, for whatever.
pub(crate) fn request_by(random: &mut Random, user: String) -> Attributes {
    let mut request = anything(random);
    request.user = user;
    request.groups.retain(|group| group == "system:authenticated");
    request
}

/// A work estimate: narrow, wide, wider than the level, and sometimes with seats after the end.
pub(crate) fn work(random: &mut Random, server_limit: u32) -> Work {
    let limit = u64::from(server_limit.min(1 << 20));
    let initial_seats = match random.below(20) {
        0..10 => 1,
        10..16 => random.between(2, 10),
        16..19 => random.between(1, 1 + limit / 4),
        _ => random.between(1, 1 + limit * 2),
    };
    let mut work = Work { initial_seats, final_seats: 0, additional_latency: 0 };
    if random.chance(15) {
        work.final_seats = random.between(0, 20);
        work.additional_latency = *random.pick(&[0, 1, 5_000_000, 999_999_999, 12_000_000_000]);
    }
    work
}

fn pick<'a, T>(random: &mut Random, list: &'a [T]) -> Option<&'a T> {
    if list.is_empty() { None } else { Some(random.pick(list)) }
}

fn anything(random: &mut Random) -> Attributes {
    let text = |choice: &&str| (*choice).to_owned();
    let mut request = Attributes {
        user: text(random.pick(USERS)),
        groups: random.some(&GROUPS.iter().map(text).collect::<Vec<_>>(), 0, 3),
        ..Attributes::default()
    };
    if random.chance(60) && !request.groups.iter().any(|group| group == "system:authenticated") {
        request.groups.push("system:authenticated".to_owned());
    }
    if random.chance(4) {
        request.groups.extend((0..CROWD).map(crowd));
    }
    if random.chance(65) {
        request.is_resource = true;
        request.verb = text(random.pick(API_VERBS));
        request.api_group = text(random.pick(API_GROUPS));
        if random.chance(60) {
            request.namespace = text(random.pick(NAMESPACES));
        }
        let resource = *random.pick(RESOURCES);
        set_resource(&mut request, resource);
        request.path = "/apis/somewhere".to_owned();
    } else {
        request.verb = text(random.pick(URL_VERBS));
        request.path = text(random.pick(PATHS));
    }
    request
}

fn set_resource(request: &mut Attributes, entry: &str) {
    let (resource, subresource) = entry.split_once('/').unwrap_or((entry, ""));
    request.resource = resource.to_owned();
    request.subresource = subresource.to_owned();
}

fn become_subject(random: &mut Random, request: &mut Attributes, subject: &Subject) {
    if let Some(user) = &subject.user
        && user.name != "*"
    {
        request.user.clone_from(&user.name);
    }
    if let Some(group) = &subject.group
        && group.name != "*"
    {
        request.groups.push(group.name.clone());
    }
    if let Some(account) = &subject.service_account {
        let name = if account.name == "*" { *random.pick(&["bot", "gc", ""]) } else { account.name.as_str() };
        request.user = format!("system:serviceaccount:{}:{name}", account.namespace);
    }
}

/// A value that the list accepts where it is not a wildcard.
fn accepted<'a>(random: &mut Random, list: &'a [String]) -> Option<&'a str> {
    pick(random, list).map(String::as_str).filter(|value| *value != "*")
}

fn ask_resource(random: &mut Random, request: &mut Attributes, entry: &ResourceRule) {
    if !request.is_resource {
        *request = Attributes {
            is_resource: true,
            path: String::new(),
            verb: (*random.pick(API_VERBS)).to_owned(),
            resource: "pods".to_owned(),
            ..request.clone()
        };
    }
    if let Some(verb) = accepted(random, &entry.verbs) {
        request.verb = verb.to_owned();
    }
    if let Some(group) = accepted(random, &entry.api_groups) {
        request.api_group = group.to_owned();
    }
    if let Some(resource) = accepted(random, &entry.resources) {
        set_resource(request, resource);
    }
    request.namespace.clear();
    if !entry.cluster_scope || random.chance(60) {
        request.namespace = accepted(random, &entry.namespaces).unwrap_or("dev").to_owned();
    }
}

fn ask_url(random: &mut Random, request: &mut Attributes, entry: &NonResourceRule) {
    *request =
        Attributes { user: request.user.clone(), groups: request.groups.clone(), ..Attributes::default() };
    request.verb = accepted(random, &entry.verbs).unwrap_or("get").to_owned();
    request.path = (*random.pick(PATHS)).to_owned();
    if let Some(url) = accepted(random, &entry.urls) {
        let end = *random.pick(&["", "/", "/x", "x"]);
        request.path = format!("{}{end}", url.trim_end_matches('*'));
    }
}

fn change(random: &mut Random, request: &mut Attributes) {
    let other = anything(random);
    match random.below(6) {
        0 => request.user = other.user,
        1 => request.groups = other.groups,
        2 => request.verb = other.verb,
        3 => request.path.push_str("/more"),
        // Only a request for a resource can have the rest.
        _ if !request.is_resource => {}
        4 => request.namespace = other.namespace,
        _ => (request.resource, request.subresource) = (other.resource, other.subresource),
    }
}
