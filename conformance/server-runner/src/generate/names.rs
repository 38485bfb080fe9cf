//! What users, namespaces, verbs and so on are called: few of each, so that requests meet rules.

pub(crate) const USERS: &[&str] = &[
    "alice",
    "bob",
    "",
    "*",
    "system:anonymous",
    "system:kube-scheduler",
    "system:node:n1",
    "system:serviceaccount:dev:bot",
    "system:serviceaccount:dev:",
    "system:serviceaccount:dev:bot:x",
    "system:serviceaccount:devel:bot",
    "system:serviceaccount:kube-system:gc",
    "system:serviceaccount:dev",
];

pub(crate) const GROUPS: &[&str] = &[
    "system:authenticated",
    "system:unauthenticated",
    "system:masters",
    "system:nodes",
    "system:serviceaccounts",
    "system:serviceaccounts:dev",
    "team-a",
    "*",
];

/// How many groups there are beside those: some users are in all of them.
pub(crate) const CROWD: u64 = 40;

/// One of the crowd's groups.
pub(crate) fn crowd(number: u64) -> String {
    format!("crowd-{number}")
}

pub(crate) const NAMESPACES: &[&str] = &["dev", "devel", "kube-system", "team-a"];

pub(crate) const ACCOUNTS: &[&str] = &["bot", "gc", "default"];

pub(crate) const API_VERBS: &[&str] =
    &["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "proxy"];

pub(crate) const URL_VERBS: &[&str] = &["get", "head", "post", "put"];

pub(crate) const API_GROUPS: &[&str] = &["", "apps", "coordination.k8s.io"];

/// As in a rule; a request has the part before the slash and the part after it.
pub(crate) const RESOURCES: &[&str] = &[
    "pods",
    "pods/status",
    "pods/log",
    "nodes",
    "nodes/proxy",
    "leases",
    "deployments",
    "pods/*",
    "*/status",
];

pub(crate) const URLS: &[&str] = &[
    "/healthz",
    "/healthz/*",
    "/healthz/etcd",
    "/",
    "/*",
    "/api",
    "/apis/",
    "/apis/apps",
    "/hea*",
    "/metrics",
    "/logs/*/x",
    "",
    "**",
];

pub(crate) const PATHS: &[&str] = &[
    "/healthz",
    "/healthz/",
    "/healthz/etcd",
    "/healthzz",
    "/hea/x",
    "/",
    "/api",
    "/api/v1",
    "/apis",
    "/apis/apps",
    "/apis/apps/v1",
    "/metrics",
    "/metrics/x",
    "/logs/*/x/y",
    "healthz",
    "",
];
