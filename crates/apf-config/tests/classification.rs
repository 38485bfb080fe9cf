//! Where requests go: the published vectors, and what went wrong for people.

mod common;

use apf_config::attributes::{Groups, RequestAttributes};
use apf_config::bootstrap;
use apf_config::objects::{DistinguisherMethod, Objects};
use apf_config::plan::Plan;
use apf_core::FlowHash;
use common::*;

const A: &str = "system:authenticated";
const U: &str = "system:unauthenticated";
const LEASES: &str = "coordination.k8s.io";

#[test]
fn the_built_in_objects_classify_as_published() {
    let plan = plan(&bootstrap::all());
    let list = RequestAttributes::resource;
    let path = RequestAttributes::non_resource;
    let gc = "system:serviceaccount:kube-system:gc";
    let gc_groups = ["system:serviceaccounts", "system:serviceaccounts:kube-system", A];
    let bot = "system:serviceaccount:dev:bot";
    let bot_groups = ["system:serviceaccounts", "system:serviceaccounts:dev", A];
    let impostor = "system:serviceaccount:kube-systemx:bot";
    let impostor_groups = ["system:serviceaccounts", "system:serviceaccounts:kube-systemx", A];
    let node = |request: RequestAttributes<'static>| {
        request.by("system:node:n1", Groups::Borrowed(&["system:nodes", A]))
    };
    let scheduler = "system:kube-scheduler";
    let manager = "system:kube-controller-manager";
    let anonymous = "system:anonymous";
    let lease = |verb| list(verb, "leases").in_group(LEASES);

    for (request, schema, level, distinguisher) in [
        (list("list", "pods").by("admin", &["system:masters", A]), "exempt", "exempt", ""),
        (path("get", "/healthz").by(anonymous, &[U]), "probes", "exempt", ""),
        (path("get", "/livez/etcd").by(anonymous, &[U]), "probes", "exempt", ""),
        (path("head", "/healthz").by(anonymous, &[U]), "global-default", "global-default", anonymous),
        (path("get", "/healthzz").by(anonymous, &[U]), "global-default", "global-default", anonymous),
        (
            lease("update").in_namespace("kube-system").by(scheduler, &[A]),
            "system-leader-election",
            "leader-election",
            scheduler,
        ),
        (
            lease("list").in_namespace("kube-system").by(scheduler, &[A]),
            "kube-scheduler",
            "workload-high",
            "kube-system",
        ),
        (lease("get").by(scheduler, &[A]), "kube-scheduler", "workload-high", ""),
        (list("list", "pods").by(manager, &[A]), "kube-controller-manager", "workload-high", ""),
        (
            lease("get").in_namespace("dev").by(gc, &gc_groups),
            "system-leader-election",
            "leader-election",
            gc,
        ),
        (
            lease("patch").in_namespace("dev").by(gc, &gc_groups),
            "kube-system-service-accounts",
            "workload-high",
            "dev",
        ),
        (
            node(list("patch", "nodes").with_subresource("status")),
            "system-node-high",
            "node-high",
            "system:node:n1",
        ),
        (node(list("get", "nodes").with_subresource("proxy")), "system-nodes", "system", "system:node:n1"),
        (
            node(lease("update").in_namespace("kube-node-lease")),
            "system-node-high",
            "node-high",
            "system:node:n1",
        ),
        (node(list("get", "secrets").in_namespace("dev")), "system-nodes", "system", "system:node:n1"),
        (node(path("get", "/version")), "system-nodes", "system", "system:node:n1"),
        (
            list("create", "pods").in_namespace("dev").by(bot, &bot_groups),
            "service-accounts",
            "workload-low",
            bot,
        ),
        (
            list("create", "pods").in_namespace("dev").by(impostor, &impostor_groups),
            "service-accounts",
            "workload-low",
            impostor,
        ),
        (path("post", "/foo").by("alice", &[A]), "global-default", "global-default", "alice"),
        (list("get", "pods").in_namespace("dev").by("nobody", &[]), "catch-all", "catch-all", ""),
    ] {
        assert_eq!(route(&plan, &request), (schema, level), "{request:?}");
        let classified = plan.classify(&request);
        assert_eq!(classified.distinguisher, distinguisher, "{request:?}");
        assert_eq!(classified.matched, request.user != "nobody", "{request:?}");
        let queued = !matches!(level, "exempt" | "catch-all");
        let hash = if queued { FlowHash::Sha256.hash(schema, distinguisher) } else { 0 };
        assert_eq!(classified.flow_hash, hash, "{request:?}");
    }
}

#[test]
fn a_url_covers_itself_and_what_is_below_it() {
    for (url, path, matches) in [
        ("/healthz", "/healthz", true),
        ("/healthz", "/healthz/etcd", true),
        ("/healthz", "/healthz/", true),
        ("/healthz", "/healthzx", false),
        ("/healthz/*", "/healthz", false),
        ("/healthz/*", "/healthz/etcd", true),
        ("/hea*", "/healthz", false),
        ("/hea*", "/hea/x", true),
        ("/", "/metrics", true),
        ("/apis/", "/apis", false),
        ("/apis/", "/apis/x", true),
        ("/api", "/api/v1", true),
        ("/*", "/", true),
        ("*", "/anything", true),
    ] {
        let rules = vec![rule(vec![group("*")], vec![], vec![urls(&["get"], &[url])])];
        let plan = plan(&config(vec![schema("s", "l", 5, rules)]));
        let request = RequestAttributes::non_resource("get", path).by("u", &[A]);
        assert_eq!(route(&plan, &request).0 == "s", matches, "{url} {path}");
    }
}

#[test]
fn the_wildcard_url_works_beside_others_and_no_other_wildcard_does() {
    let beside = |list: &[&str]| {
        let rules = vec![rule(
            vec![user("u")],
            vec![resources(list, &[""], &["pods"], &["x"], false)],
            vec![urls(&["get"], list)],
        )];
        plan(&config(vec![schema("s", "l", 5, rules)]))
    };
    let plan = beside(&["/a", "*"]);
    assert_eq!(route(&plan, &RequestAttributes::non_resource("get", "/b").by("u", &[])).0, "s");
    assert_eq!(
        route(&plan, &RequestAttributes::resource("get", "pods").in_namespace("x").by("u", &[])).0,
        "catch-all"
    );
    assert_eq!(route(&plan, &RequestAttributes::resource("*", "pods").in_namespace("x").by("u", &[])).0, "s");
}

#[test]
fn every_kind_of_subject_matches_as_the_reference_says() {
    let matches = |subject, name: &str, groups: &[&str]| {
        let plan =
            plan(&config(vec![schema("s", "l", 5, vec![rule(vec![subject], vec![], vec![all_urls()])])]));
        route(&plan, &RequestAttributes::non_resource("get", "/").by(name, groups)).0 == "s"
    };
    assert!(matches(user("*"), "", &[]));
    assert!(matches(user("alice"), "alice", &[]));
    assert!(!matches(user("alice"), "Alice", &["alice"]));
    assert!(matches(group("*"), "", &[]));
    assert!(matches(group("g"), "u", &["f", "g"]));
    assert!(!matches(group("g"), "g", &["f"]));
    assert!(matches(service_account("n", "a"), "system:serviceaccount:n:a", &[]));
    assert!(!matches(service_account("n", "a"), "system:serviceaccount:n:ab", &[]));
    assert!(!matches(service_account("n", "a"), "system:serviceaccount:nx:a", &[]));
    assert!(matches(service_account("n", "*"), "system:serviceaccount:n:", &[]));
    assert!(matches(service_account("n", "*"), "system:serviceaccount:n:a:b", &[]));
    assert!(!matches(service_account("n", "*"), "system:serviceaccount:n", &[]));
    assert!(!matches(service_account("*", "*"), "system:serviceaccount:n:a", &[]));
    let mut memberless = user("u");
    memberless.user = None;
    assert!(!matches(memberless, "u", &["u"]));
    let mut unknown = user("u");
    unknown.kind = "Robot".into();
    assert!(!matches(unknown, "u", &[]));
}

/// Kubernetes pull request 94204: a user in one custom group alone crashed the server.
#[test]
fn a_request_that_no_schema_matches_goes_to_catch_all() {
    let mandatory = plan(&Objects::default());
    let built_in = plan(&bootstrap::all());
    for plan in [&mandatory, &built_in] {
        for (name, groups) in [("test", &["mygroup"][..]), ("test", &[]), ("", &[])] {
            for request in [
                RequestAttributes::resource("get", "pods").in_namespace("dev"),
                RequestAttributes::resource("list", "nodes"),
                RequestAttributes::resource("", ""),
                RequestAttributes::non_resource("get", "/healthz"),
                RequestAttributes::non_resource("", ""),
            ] {
                let request = request.by(name, groups);
                assert_eq!(route(plan, &request), ("catch-all", "catch-all"));
                let classified = plan.classify(&request);
                assert_eq!(
                    (classified.matched, classified.distinguisher, classified.flow_hash),
                    (false, "", 0)
                );
            }
        }
    }
    let known = RequestAttributes::resource("get", "pods").by("test", &[A]);
    assert_eq!(route(&mandatory, &known), ("catch-all", "catch-all"));
    assert!(mandatory.classify(&known).matched);
}

/// Kubernetes pull request 84900.
#[test]
fn the_namespace_wildcard_does_not_cover_requests_without_a_namespace() {
    let with = |namespaces: &[&str], cluster| {
        let resource_rules = vec![resources(&["*"], &["*"], &["*"], namespaces, cluster)];
        plan(&config(vec![schema("s", "l", 5, vec![rule(vec![user("u")], resource_rules, vec![])])]))
    };
    let requests = [
        RequestAttributes::resource("list", "pods").in_namespace("x"),
        RequestAttributes::resource("list", "pods"),
        RequestAttributes::resource("get", "nodes").with_name("n"),
    ];
    let hits = |plan: Plan| requests.map(|request| route(&plan, &request.by("u", &[])).0 == "s");
    assert_eq!(hits(with(&["*"], false)), [true, false, false]);
    assert_eq!(hits(with(&[], true)), [false, true, true]);
    assert_eq!(hits(with(&["*"], true)), [true, true, true]);
    assert_eq!(hits(with(&["y"], true)), [false, true, true]);
}

#[test]
fn of_equal_precedence_the_smaller_name_wins_whatever_the_order_of_loading() {
    let make = |name: &str, precedence| schema(name, name, precedence, vec![anyone_anything()]);
    let mut schemas = vec![make("b", 7), make("a", 7), make("B", 7), make("c", 6), make("a-b", 7)];
    for _ in 0..schemas.len() {
        schemas.rotate_left(1);
        let plan = plan(&config(schemas.clone()));
        let names: Vec<&str> = plan.schemas().iter().map(|schema| schema.name.as_str()).collect();
        assert_eq!(names, ["exempt", "c", "B", "a", "a-b", "b", "catch-all"]);
        assert_eq!(route(&plan, &RequestAttributes::resource("get", "pods").by("u", &[])).0, "c");
    }
    schemas.retain(|schema| schema.metadata.name != "c" && schema.metadata.name != "B");
    assert_eq!(
        route(&plan(&config(schemas)), &RequestAttributes::resource("get", "pods").by("u", &[])).0,
        "a"
    );
}

/// Kubernetes issue 55305: people expect patterns of other policy interfaces.
#[test]
fn a_resource_is_named_exactly_and_a_subresource_is_not_its_resource() {
    let with = |names: &[&str]| {
        let resource_rules = vec![resources(&["*"], &["*"], names, &["*"], true)];
        plan(&config(vec![schema("s", "l", 5, vec![rule(vec![user("u")], resource_rules, vec![])])]))
    };
    let pods = RequestAttributes::resource("get", "pods");
    let requests = [pods, pods.with_subresource("status"), pods.with_subresource("log")];
    let hits = |plan: Plan| requests.map(|request| route(&plan, &request.by("u", &[])).0 == "s");
    assert_eq!(hits(with(&["pods"])), [true, false, false]);
    assert_eq!(hits(with(&["pods/status"])), [false, true, false]);
    assert_eq!(hits(with(&["*"])), [true, true, true]);
    assert_eq!(hits(with(&["pods/*"])), [false, false, false]);
    assert_eq!(hits(with(&["*/status"])), [false, false, false]);
    assert_eq!(hits(with(&["pods", "pods/log"])), [true, false, true]);
}

#[test]
fn probes_stay_exempt_and_cluster_scope_stays_apart_on_a_mandatory_configuration() {
    let built_in = plan(&bootstrap::all());
    let probe = RequestAttributes::non_resource("get", "/readyz").by("system:anonymous", &[U]);
    assert_eq!(route(&built_in, &probe), ("probes", "exempt"));

    let mandatory = plan(&Objects::default());
    assert_eq!(route(&mandatory, &probe), ("catch-all", "catch-all"));
    let admin = RequestAttributes::resource("list", "nodes").by("root", &["system:masters"]);
    assert_eq!(route(&mandatory, &admin), ("exempt", "exempt"));
}

#[test]
fn the_distinguisher_is_only_computed_where_there_is_more_than_one_queue() {
    let with = |response| {
        let mut objects = config(vec![
            by(
                DistinguisherMethod::ByUser,
                schema("users", "l", 5, vec![rule(vec![user("u")], vec![all_resources()], vec![])]),
            ),
            by(
                DistinguisherMethod::ByNamespace,
                schema(
                    "namespaces",
                    "l",
                    6,
                    vec![rule(vec![group("g")], vec![all_resources()], vec![all_urls()])],
                ),
            ),
            schema("one", "l", 7, vec![anyone_anything()]),
        ]);
        objects.priority_levels = vec![level("l", limited(10, 0, response))];
        plan(&objects)
    };
    let pods = RequestAttributes::resource("get", "pods").in_namespace("dev");
    let flow = |plan: &Plan, request| {
        let classified = plan.classify(&request);
        (classified.distinguisher.to_owned(), classified.flow_hash)
    };
    let many = with(queue(2, 1));
    let hash = |schema, distinguisher| FlowHash::Sha256.hash(schema, distinguisher);
    assert_eq!(flow(&many, pods.by("u", &[])), ("u".into(), hash("users", "u")));
    assert_eq!(flow(&many, pods.by("v", &["g"])), ("dev".into(), hash("namespaces", "dev")));
    assert_eq!(
        flow(&many, RequestAttributes::resource("get", "nodes").by("v", &["g"])),
        ("".into(), hash("namespaces", ""))
    );
    assert_eq!(
        flow(&many, RequestAttributes::non_resource("get", "/").by("v", &["g"])),
        ("".into(), hash("namespaces", ""))
    );
    assert_eq!(flow(&many, pods.by("v", &[])), ("".into(), hash("one", "")));
    for plan in [with(queue(1, 1)), with(reject())] {
        for request in [pods.by("u", &[]), pods.by("v", &["g"]), pods.by("v", &[])] {
            assert_eq!(flow(&plan, request), (String::new(), 0));
        }
    }
}

#[test]
fn the_flow_hash_is_the_one_that_the_plan_was_compiled_with() {
    for (name, distinguisher, hash) in [
        ("global-default", "alice", 17_644_606_172_554_983_095),
        ("system-nodes", "system:node:node-1", 11_909_065_898_299_811_039),
        ("service-accounts", "system:serviceaccount:default:default", 13_424_615_363_282_033_023),
        ("fs", "ünï", 4_642_907_840_749_641_442),
    ] {
        let objects =
            config(vec![by(DistinguisherMethod::ByUser, schema(name, "l", 5, vec![anyone_anything()]))]);
        let request = RequestAttributes::resource("get", "pods").by(distinguisher, &[]);
        assert_eq!(plan(&objects).classify(&request).flow_hash, hash);
        let fast = Plan::compile(&objects, 600, FlowHash::Xxh3).unwrap();
        assert_eq!(fast.classify(&request).flow_hash, FlowHash::Xxh3.hash(name, distinguisher));
    }
    let objects = config(vec![by(
        DistinguisherMethod::ByNamespace,
        schema("kube-controller-manager", "l", 5, vec![anyone_anything()]),
    )]);
    let request = RequestAttributes::resource("get", "pods").in_namespace("kube-system").by("u", &[]);
    assert_eq!(plan(&objects).classify(&request).flow_hash, 1_951_360_281_921_618_776);
}

#[test]
fn a_user_in_very_many_configured_groups_is_still_classified_right() {
    let names: Vec<String> = (0..200).map(|number| format!("group-{number:03}")).collect();
    let schemas = names
        .iter()
        .map(|name| {
            let verb = format!("verb-{name}");
            schema(
                name,
                "l",
                5,
                vec![rule(
                    vec![group(name)],
                    vec![resources(&[&verb], &["*"], &["*"], &["*"], true)],
                    vec![],
                )],
            )
        })
        .collect();
    let plan = plan(&config(schemas));
    for name in &names {
        let verb = format!("verb-{name}");
        let request = RequestAttributes::resource(&verb, "pods").by("u", &names);
        assert_eq!(route(&plan, &request).0, name);
        let few = [name.as_str()];
        assert_eq!(route(&plan, &RequestAttributes::resource(&verb, "pods").by("u", &few)).0, name);
    }
}
