//! What one classification costs, with the 11 built-in schemas and with 1,000.
//!
//! `cargo run --release -p apf-config --example classify_cost`
#![allow(clippy::print_stdout, reason = "it prints what it measured")]

use std::hint::black_box;
use std::time::Instant;

use apf_config::attributes::RequestAttributes;
use apf_config::bootstrap;
use apf_config::objects::{
    DistinguisherMethod, FlowSchema, FlowSchemaSpec, NonResourceRule, ObjectMeta, Objects, ResourceRule,
    Rule, ServiceAccountSubject, Subject,
};
use apf_config::plan::{Plan, PlanError};
use apf_core::FlowHash;

const ROUNDS: u32 = 9;
const REQUESTS: u32 = 200_000;

fn main() -> Result<(), PlanError> {
    println!("{:<38} {:>9} {:>9}", "schemas", "xxh3 ns", "sha256 ns");
    let few = measure("11 built-in", &bootstrap::all())?;
    for (name, kind) in [
        ("1000, a user each", Shape::User),
        ("1000, a service account namespace each", Shape::Account),
        ("1000, everyone, a namespace each", Shape::Namespace),
        ("1000, everyone, a resource each", Shape::Resource),
        ("1000, everyone, a URL each", Shape::Url),
    ] {
        let many = measure(name, &thousand(kind))?;
        println!("{:<38} {:>8.2}x", "", many / few);
    }
    Ok(())
}

/// Prints the cost of a mixed load and returns it for XXH3, in nanoseconds a request.
fn measure(name: &str, objects: &Objects) -> Result<f64, PlanError> {
    let [fast, exact] =
        [FlowHash::Xxh3, FlowHash::Sha256].map(|hash| Plan::compile(objects, 600, hash).map(cost));
    let (fast, exact) = (fast?, exact?);
    println!("{name:<38} {fast:>9.1} {exact:>9.1}");
    Ok(fast)
}

fn cost(plan: Plan) -> f64 {
    let node = ["system:nodes", "system:authenticated"];
    let account = ["system:serviceaccounts", "system:serviceaccounts:dev", "system:authenticated"];
    let leases = |verb| RequestAttributes::resource(verb, "leases").in_group("coordination.k8s.io");
    let load = [
        RequestAttributes::resource("list", "pods")
            .by("system:kube-controller-manager", &["system:authenticated"]),
        leases("update").in_namespace("kube-system").by("system:kube-scheduler", &["system:authenticated"]),
        leases("update").in_namespace("kube-node-lease").by("system:node:node-1", &node),
        RequestAttributes::resource("patch", "nodes")
            .with_subresource("status")
            .by("system:node:node-1", &node),
        RequestAttributes::resource("get", "secrets").in_namespace("dev").by("system:node:node-1", &node),
        RequestAttributes::resource("create", "pods")
            .in_namespace("dev")
            .by("system:serviceaccount:dev:bot", &account),
        RequestAttributes::resource("get", "deployments")
            .in_group("apps")
            .by("alice", &["dev", "system:authenticated"]),
        RequestAttributes::non_resource("get", "/healthz")
            .by("system:anonymous", &["system:unauthenticated"]),
    ];
    let round = |_| {
        let start = Instant::now();
        for _ in 0..REQUESTS / 8 {
            for request in &load {
                black_box(plan.classify(black_box(request)));
            }
        }
        start.elapsed().as_secs_f64() * 1e9 / f64::from(REQUESTS)
    };
    (0..ROUNDS).map(round).fold(f64::INFINITY, f64::min)
}

#[derive(Clone, Copy)]
enum Shape {
    User,
    Account,
    Namespace,
    Resource,
    Url,
}

/// The built-in schemas and 989 more, all tried before them.
fn thousand(shape: Shape) -> Objects {
    let mut objects = bootstrap::all();
    objects.flow_schemas.extend((0..989).map(|number| {
        let text = |part: &str| vec![format!("{part}-{number}")];
        let any = || vec!["*".to_owned()];
        let mut subject =
            Subject { kind: "Group".to_owned(), group: Some("*".to_owned()), ..Subject::default() };
        let mut resources = ResourceRule {
            verbs: any(),
            api_groups: any(),
            resources: any(),
            cluster_scope: true,
            namespaces: any(),
        };
        let mut urls = NonResourceRule { verbs: any(), non_resource_urls: vec![format!("/path-{number}/*")] };
        match shape {
            Shape::User => {
                subject = Subject { kind: "User".to_owned(), user: text("user").pop(), ..Subject::default() };
                urls.non_resource_urls = any();
            }
            Shape::Account => {
                let account =
                    ServiceAccountSubject { namespace: format!("team-{number}"), name: "*".to_owned() };
                subject = Subject {
                    kind: "ServiceAccount".to_owned(),
                    service_account: Some(account),
                    ..Subject::default()
                };
                urls.non_resource_urls = any();
            }
            Shape::Namespace => (resources.namespaces, resources.cluster_scope) = (text("team"), false),
            Shape::Resource => resources.resources = text("things"),
            Shape::Url => resources.verbs = Vec::new(),
        }
        let rule =
            Rule { subjects: vec![subject], resource_rules: vec![resources], non_resource_rules: vec![urls] };
        FlowSchema {
            metadata: ObjectMeta { name: format!("schema-{number:04}"), ..ObjectMeta::default() },
            spec: FlowSchemaSpec {
                priority_level: "workload-low".to_owned(),
                matching_precedence: 1,
                distinguisher_method: Some(DistinguisherMethod::ByUser),
                rules: vec![rule],
            },
            conditions: Vec::new(),
        }
    }));
    objects
}
