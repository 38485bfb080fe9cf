//! What a method and a URL ask for, as kube-apiserver would see it.

use apf_config::request_info::{RequestInfo, RequestInfoError};

fn info(method: &str, target: &str) -> RequestInfo {
    RequestInfo::new(method, target).unwrap_or_else(|error| panic!("{method} {target}: {error}"))
}

/// method, target, verb, resource?, namespace, resource[/subresource][.group], name
type Row = (&'static str, &'static str, &'static str, bool, &'static str, &'static str, &'static str);

fn check(rows: &[Row]) {
    for (method, target, verb, is_resource, namespace, resource, name) in rows {
        let info = info(method, target);
        let mut written = info.resource.clone();
        if !info.subresource.is_empty() {
            written = format!("{written}/{}", info.subresource);
        }
        if !info.api_group.is_empty() {
            written = format!("{written}.{}", info.api_group);
        }
        assert_eq!(
            (
                info.verb.as_str(),
                info.is_resource_request,
                info.namespace.as_str(),
                written.as_str(),
                info.name.as_str()
            ),
            (*verb, *is_resource, *namespace, *resource, *name),
            "{method} {target}"
        );
    }
}

#[test]
fn the_derivation_follows_the_table_of_the_specification() {
    check(&[
        ("GET", "/healthz", "get", false, "", "", ""),
        ("HEAD", "/healthz", "head", false, "", "", ""),
        ("GET", "/apis/apps/v1", "get", false, "", "", ""),
        ("GET", "/api/v1", "get", false, "", "", ""),
        ("GET", "/api/v1/nodes", "list", true, "", "nodes", ""),
        ("GET", "/api/v1/pods?watch=true", "watch", true, "", "pods", ""),
        ("GET", "/api/v1/namespaces/foo", "get", true, "foo", "namespaces", "foo"),
        ("PUT", "/api/v1/namespaces/foo/finalize", "update", true, "foo", "namespaces/finalize", "foo"),
        ("POST", "/api/v1/namespaces", "create", true, "", "namespaces", ""),
        ("GET", "/api/v1/namespaces/foo/pods/p/log", "get", true, "foo", "pods/log", "p"),
        (
            "GET",
            "/api/v1/namespaces/foo/pods?fieldSelector=metadata.name=p",
            "list",
            true,
            "foo",
            "pods",
            "p",
        ),
        (
            "DELETE",
            "/apis/apps/v1/namespaces/foo/deployments",
            "deletecollection",
            true,
            "foo",
            "deployments.apps",
            "",
        ),
        ("GET", "/api/v1/watch/namespaces/foo/pods", "watch", true, "foo", "pods", ""),
        ("HEAD", "/api/v1/namespaces/foo/pods/p", "get", true, "foo", "pods", "p"),
        ("OPTIONS", "/api/v1/pods", "", true, "", "pods", ""),
    ]);
}

#[test]
fn odd_paths_are_read_as_the_reference_reads_them() {
    check(&[
        ("GET", "/", "get", false, "", "", ""),
        ("GET", "/apis", "get", false, "", "", ""),
        ("GET", "/apis/apps/v1/", "get", false, "", "", ""),
        ("GET", "/other/v1/pods/x", "get", false, "", "", ""),
        ("get", "/api/v1/pods", "", true, "", "pods", ""),
        ("PATCH", "/api/v1/namespaces/foo/status", "patch", true, "foo", "namespaces/status", "foo"),
        ("GET", "/api/v1/namespaces/foo/finalizers", "list", true, "foo", "finalizers", ""),
        ("DELETE", "/api/v1/namespaces", "deletecollection", true, "", "namespaces", ""),
        ("POST", "/api/v1/proxy/namespaces/foo/services/s/rest", "proxy", true, "foo", "services", "s"),
        ("POST", "/api/v1/watch/pods/p/log", "watch", true, "", "pods/log", "p"),
        ("GET", "/api/v1/pods//log", "list", true, "", "pods/log", ""),
        ("GET", "/api/v1/namespaces//pods", "list", true, "", "pods", ""),
        ("GET", "/api/v1/namespaces/foo/pods/a/b/c/d", "get", true, "foo", "pods/b", "a"),
        ("GET", "/api/v1/namespaces/f%6Fo/pods?", "list", true, "foo", "pods", ""),
        ("GET", "/api/v1/pods%2Fp", "get", true, "", "pods", "p"),
        ("GET", "/api/v1/a+b", "list", true, "", "a+b", ""),
        ("GET", "/api//v1/pods", "get", true, "", "v1", "pods"),
    ]);
    assert_eq!(info("GET", "/healthz/et%63d?verbose").path, "/healthz/etcd");
    assert_eq!(info("GET", "/apis/apps/v1/deployments").api_version, "v1");
}

#[test]
fn only_a_present_watch_parameter_that_is_not_false_makes_a_watch() {
    for query in [
        "watch=true",
        "watch",
        "watch=",
        "watch=1",
        "watch=no",
        "a=b&watch=true",
        "w%61tch=t",
        "watch=true&watch=0",
    ] {
        assert_eq!(info("GET", &format!("/api/v1/pods?{query}")).verb, "watch", "{query}");
    }
    for query in [
        "",
        "watch=false",
        "watch=FALSE",
        "watch=0",
        "watch=0&watch=true",
        "x=watch",
        "watch=true;",
        "watch=%zz",
    ] {
        assert_eq!(info("GET", &format!("/api/v1/pods?{query}")).verb, "list", "{query}");
    }
    // A named object is got, whatever the parameter says.
    assert_eq!(info("GET", "/api/v1/namespaces/foo/pods/p?watch=true").verb, "get");
}

#[test]
fn a_field_selector_that_pins_the_name_names_the_object() {
    let name = |query: &str| info("GET", &format!("/api/v1/pods?{query}")).name;
    assert_eq!(name("fieldSelector=metadata.name==p"), "p");
    assert_eq!(name("fieldSelector=metadata.name%3Dp"), "p");
    assert_eq!(name("fieldSelector=spec.nodeName=n,metadata.name=p"), "p");
    assert_eq!(name("fieldSelector=metadata.name=b,metadata.name=a"), "a");
    assert_eq!(name("fieldSelector=metadata.name=a\\,b"), "a,b");
    assert_eq!(name("fieldSelector=metadata.name=a+b"), "a b");
    assert_eq!(name("watch=true&fieldSelector=metadata.name=p"), "p");
    assert_eq!(name("fieldSelector=metadata.name=p&labelSelector=app+in+(a,b),!x,k8s.io/y=z,n>3"), "p");
    // Not a path segment, not an equality, or not parsable.
    for query in [
        "fieldSelector=metadata.name=..",
        "fieldSelector=metadata.name=a/b",
        "fieldSelector=metadata.name=a%25b",
        "fieldSelector=metadata.name!=p",
        "fieldSelector=metadata.name",
        "fieldSelector=metadata.name=p,broken",
        "fieldSelector=metadata.name=p\\q",
        "fieldSelector=metadata.name=p=q",
    ] {
        assert_eq!(name(query), "", "{query}");
    }
    assert_eq!(info("DELETE", "/api/v1/pods?fieldSelector=metadata.name=p").verb, "deletecollection");
}

#[test]
fn when_any_list_option_is_undecodable_only_watch_counts() {
    for broken in [
        "limit=ten",
        "limit=",
        "timeoutSeconds=1.5",
        "limit=9223372036854775808",
        "labelSelector=a+b",
        "labelSelector=a,",
        "labelSelector=-a",
        "labelSelector=a=-b",
        "labelSelector=a+in+x",
        "labelSelector=a+in+(x+y)",
        "labelSelector=A/b=c",
        "labelSelector=a>x",
        "fieldSelector=x",
    ] {
        let info = info("GET", &format!("/api/v1/pods?watch=true&fieldSelector=metadata.name=p&{broken}"));
        assert_eq!(info.verb, "watch", "{broken}");
        if !broken.starts_with("fieldSelector") {
            assert_eq!(info.name, "", "{broken}");
        }
    }
    for fine in [
        "limit=-5",
        "limit=%2B5",
        "limit=1&limit=x",
        "labelSelector=",
        "labelSelector=a+in+()",
        "labelSelector=in=in",
        "labelSelector=a%00=%00b",
        "labelSelector=%00,",
    ] {
        let info = info("GET", &format!("/api/v1/pods?fieldSelector=metadata.name=p&{fine}"));
        assert_eq!(info.name, "p", "{fine}");
    }
}

#[test]
fn targets_that_no_server_would_accept_are_refused_by_name() {
    let refusal = |target: &str| RequestInfo::new("GET", target).expect_err(target);
    assert_eq!(refusal("healthz"), RequestInfoError::NotAPath("healthz".to_owned()));
    assert_eq!(refusal(""), RequestInfoError::NotAPath(String::new()));
    assert_eq!(refusal("/api/%zz"), RequestInfoError::BadEscape("/api/%zz".to_owned()));
    assert_eq!(refusal("/api/%4"), RequestInfoError::BadEscape("/api/%4".to_owned()));
    assert_eq!(refusal("/a\nb"), RequestInfoError::ControlCharacter("/a\nb".to_owned()));
    for target in ["/api/v1/watch", "/api/v1/proxy/", "/apis/apps/v1/watch"] {
        assert_eq!(refusal(target), RequestInfoError::NothingAfterVerb(target.to_owned()));
    }
}

/// The file's first lines say where it comes from.
#[test]
fn random_requests_are_read_as_the_reference_read_them() {
    let mut read = 0;
    for line in include_str!("request_info_vectors.tsv").lines().filter(|line| !line.starts_with('#')) {
        let (method, rest) = line.split_once('\t').unwrap();
        let (target, expected) = rest.split_once('\t').unwrap();
        let actual = match RequestInfo::new(method, target) {
            Err(_) => "ERR".to_owned(),
            Ok(info) => [
                &info.is_resource_request.to_string(),
                &info.path,
                &info.verb,
                &info.api_group,
                &info.api_version,
                &info.namespace,
                &info.resource,
                &info.subresource,
                &info.name,
            ]
            .map(String::as_str)
            .join("\t"),
        };
        assert_eq!(actual, expected, "{method} {target}");
        read += 1;
    }
    assert!(read > 500, "{read} vectors");
}
