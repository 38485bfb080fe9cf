//! Random FlowSchemas: wildcards of all kinds, odd rules, references to nothing.

use super::names::{
    ACCOUNTS, API_GROUPS, API_VERBS, CROWD, GROUPS, NAMESPACES, RESOURCES, URL_VERBS, URLS, USERS, crowd,
};
use super::random::Random;
use crate::objects::{
    Condition, FlowSchema, FlowSchemaSpec, Metadata, Method, NonResourceRule, Reference, ResourceRule, Rule,
    ServiceAccount, Status, Subject,
};

/// The user that [`schemas`] sends straight to a level.
pub(crate) fn driver(level: &str) -> String {
    format!("driver:{level}")
}

/// A configuration's schemas: one for the driver of each level, and `count` others.
pub(crate) fn schemas(random: &mut Random, levels: &[String], count: u64) -> Vec<FlowSchema> {
    let mut schemas: Vec<FlowSchema> = Vec::new();
    for level in levels {
        if random.chance(95) {
            schemas.push(to_level(random, level));
        }
    }
    for number in 0..count {
        // Names whose order differs as text and as numbers, for the ties of precedence.
        let name = format!("{}{}", random.pick(&["s-", "s", "s.", "a-"]), number);
        schemas.push(any(random, name, levels));
    }
    for name in ["exempt", "catch-all"] {
        match random.below(10) {
            0..4 => {}
            4..9 => schemas.push(mandatory(name)),
            _ => schemas.push(any(random, name.to_owned(), levels)),
        }
    }
    for schema in &mut schemas {
        schema.metadata.uid = format!("schema-{}", schema.metadata.name);
        if random.chance(15) {
            schema.status.conditions =
                earlier_conditions(random, &schema.spec.priority_level_configuration.name);
        }
    }
    random.some(&schemas, schemas.len() as u64, schemas.len() as u64)
}

fn object(name: String, spec: FlowSchemaSpec) -> FlowSchema {
    FlowSchema { metadata: Metadata { name, uid: String::new() }, spec, status: Status::default() }
}

fn named(name: &str) -> Reference {
    Reference { name: name.to_owned() }
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

fn to_level(random: &mut Random, level: &str) -> FlowSchema {
    let spec = FlowSchemaSpec {
        priority_level_configuration: named(level),
        matching_precedence: random.between(1, 60) as i32,
        distinguisher_method: method(random),
        rules: vec![Rule {
            subjects: vec![user(&driver(level))],
            resource_rules: vec![all_resources()],
            non_resource_rules: vec![all_urls()],
        }],
    };
    object(format!("to-{level}"), spec)
}

/// The mandatory schema, as a server would write it.
fn mandatory(name: &str) -> FlowSchema {
    let (precedence, method, groups): (_, _, &[&str]) = match name {
        "exempt" => (1, None, &["system:masters"]),
        _ => (10_000, Some(by("ByUser")), &["system:unauthenticated", "system:authenticated"]),
    };
    let spec = FlowSchemaSpec {
        priority_level_configuration: named(name),
        matching_precedence: precedence,
        distinguisher_method: method,
        rules: vec![Rule {
            subjects: groups.iter().map(|name| group(name)).collect(),
            resource_rules: vec![all_resources()],
            non_resource_rules: vec![all_urls()],
        }],
    };
    object(name.to_owned(), spec)
}

fn any(random: &mut Random, name: String, levels: &[String]) -> FlowSchema {
    let level = match random.below(20) {
        0 => "no-such-level",
        1 => *random.pick(&["Level \"X\"\\\n", "exempt", "catch-all", ""]),
        _ if levels.is_empty() => "catch-all",
        _ => random.pick(levels).as_str(),
    };
    let precedence = match random.below(3) {
        0 => random.between(1, 10_000) as i32,
        1 => *random.pick(&[100, 100, 500, 1000]),
        _ => *random.pick(&[1, 2, 9000, 9999, 10_000]),
    };
    let rules = if random.chance(3) { 0 } else { random.between(1, 3) };
    let spec = FlowSchemaSpec {
        priority_level_configuration: named(level),
        matching_precedence: precedence,
        distinguisher_method: method(random),
        rules: (0..rules).map(|_| rule(random)).collect(),
    };
    object(name, spec)
}

fn by(kind: &str) -> Method {
    Method { kind: kind.to_owned() }
}

fn method(random: &mut Random) -> Option<Method> {
    [Some(by("ByUser")), Some(by("ByNamespace")), None].into_iter().nth(random.below(3) as usize).flatten()
}

fn rule(random: &mut Random) -> Rule {
    let subjects = if random.chance(3) { 0 } else { random.between(1, 3) };
    let (resources, urls) = *random.pick(&[(1, 0), (2, 0), (0, 1), (1, 1), (1, 2), (0, 0)]);
    Rule {
        subjects: (0..subjects).map(|_| subject(random)).collect(),
        resource_rules: (0..resources).map(|_| resource_rule(random)).collect(),
        non_resource_rules: (0..urls).map(|_| url_rule(random)).collect(),
    }
}

fn user(name: &str) -> Subject {
    Subject { kind: "User".to_owned(), user: Some(named(name)), ..Subject::default() }
}

fn group(name: &str) -> Subject {
    Subject { kind: "Group".to_owned(), group: Some(named(name)), ..Subject::default() }
}

fn account(namespace: &str, name: &str) -> Subject {
    let account = ServiceAccount { namespace: namespace.to_owned(), name: name.to_owned() };
    Subject { kind: "ServiceAccount".to_owned(), service_account: Some(account), ..Subject::default() }
}

fn subject(random: &mut Random) -> Subject {
    let name = |random: &mut Random, names: &[&str]| {
        if random.chance(4) { "*".to_owned() } else { (*random.pick(names)).to_owned() }
    };
    match random.below(40) {
        0 => Subject { kind: "Robot".to_owned(), ..user("alice") },
        1 => Subject {
            kind: (*random.pick(&["User", "Group", "ServiceAccount"])).to_owned(),
            ..Subject::default()
        },
        2 => Subject { group: Some(named("system:authenticated")), ..user("bob") },
        3..6 => group(&crowd(random.below(CROWD))),
        6..15 => user(&name(random, USERS)),
        15..28 => group(&name(random, GROUPS)),
        _ => {
            let of_account = if random.chance(40) { "*" } else { *random.pick(ACCOUNTS) };
            account(random.pick::<&str>(&["dev", "devel", "kube-system", "", "*"]), of_account)
        }
    }
}

/// A list of a rule: one or more words, the wildcard alone, or the wildcard beside a word, where it is none.
fn list(random: &mut Random, choices: &[&str], wildcard: u64) -> Vec<String> {
    if random.chance(wildcard) {
        return words(&["*"]);
    }
    let least = if random.chance(2) { 0 } else { 1 };
    let mut list = random.some(&words(choices), least, 4);
    if random.chance(4) {
        list.push("*".to_owned());
    }
    list
}

fn resource_rule(random: &mut Random) -> ResourceRule {
    ResourceRule {
        verbs: list(random, API_VERBS, 40),
        api_groups: list(random, API_GROUPS, 40),
        resources: list(random, RESOURCES, 35),
        cluster_scope: random.chance(50),
        namespaces: if random.chance(15) { Vec::new() } else { list(random, NAMESPACES, 50) },
    }
}

fn url_rule(random: &mut Random) -> NonResourceRule {
    NonResourceRule { verbs: list(random, URL_VERBS, 50), urls: list(random, URLS, 10) }
}

fn all_resources() -> ResourceRule {
    let any = || words(&["*"]);
    ResourceRule { verbs: any(), api_groups: any(), resources: any(), cluster_scope: true, namespaces: any() }
}

fn all_urls() -> NonResourceRule {
    NonResourceRule { verbs: words(&["*"]), urls: words(&["*"]) }
}

/// What an earlier pass may have written: the same as this one would, or not.
fn earlier_conditions(random: &mut Random, level: &str) -> Vec<Condition> {
    let found = random.chance(60);
    let (status, reason, end) = if found {
        ("False", "Found", "and it exists")
    } else {
        ("True", "NotFound", "but there is no such object")
    };
    let condition = |kind: &str| Condition {
        kind: kind.to_owned(),
        status: status.to_owned(),
        reason: reason.to_owned(),
        message: format!(
            "This FlowSchema references the PriorityLevelConfiguration object named \"{level}\" {end}"
        ),
    };
    let mut conditions = vec![condition("Dangling")];
    match random.below(6) {
        0 => conditions[0].reason = "Other".to_owned(),
        1 => conditions[0].message.push('.'),
        2 => conditions.insert(0, condition("Sleeping")),
        _ => {}
    }
    conditions
}
