//! A logged request made ready to be sent again: what it asks for, how long it executes, how long it may wait.

use apf_config::request_info::RequestInfo;

use super::Options;
use crate::audit::Request;
use crate::duration::GoDuration;

/// kube-apiserver's cap on the part of a request's time that it may wait.
const LONGEST_WAIT_LIMIT: u64 = 60_000_000_000;
/// A logged execution that takes longer, an hour, is a wrong clock: kube-apiserver ends these requests after its request timeout,
/// a minute unless configured otherwise.
const LONGEST_EXECUTION: u64 = 3_600_000_000_000;

/// A request that can be sent again.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) info: RequestInfo,
    pub(super) kind: Kind,
    /// The URI could not be used: `objectRef` was.
    pub(super) by_object: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Queued and executed.
    Ordinary,
    /// Queued, and executed until it is initialised.
    Watch,
    /// Exec, attach, port-forward, proxy, log: priority and fairness never sees it.
    LongRunning,
}

/// Where an execution time comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Timing {
    Log,
    Model,
    /// From the model, because the logged server had refused the request.
    ModelAsRefused,
}

/// What the request asks for; `None` when neither its URI nor its `objectRef` says.
pub(super) fn prepare(request: &Request) -> Option<Prepared> {
    // The verb of the log is the one that counts: only it knows that a GET was a watch, or a PATCH an apply.
    let by_uri = RequestInfo::new("GET", &request.uri).ok();
    let (info, by_object) = match (by_uri, &request.object) {
        (Some(info), None) => (info, false),
        (Some(info), Some(_)) if info.is_resource_request => (info, false),
        (_, Some(object)) => {
            let info = RequestInfo {
                is_resource_request: true,
                api_group: object.api_group.clone(),
                api_version: object.api_version.clone(),
                resource: object.resource.clone(),
                subresource: object.subresource.clone(),
                namespace: object.namespace.clone(),
                name: object.name.clone(),
                ..RequestInfo::default()
            };
            (info, true)
        }
        (None, None) => return None,
    };
    let info = RequestInfo { verb: request.verb.clone(), ..info };
    let kind = kind(&info, &request.uri);
    Some(Prepared { info, kind, by_object })
}

/// kube-apiserver's predicate for long-running requests.
fn kind(info: &RequestInfo, uri: &str) -> Kind {
    if info.verb == "watch" {
        return Kind::Watch;
    }
    let is_long = if info.is_resource_request {
        info.verb == "proxy"
            || matches!(info.subresource.as_str(), "attach" | "exec" | "proxy" | "log" | "portforward")
    } else {
        uri.starts_with("/debug/pprof/")
    };
    if is_long { Kind::LongRunning } else { Kind::Ordinary }
}

/// Execution time in nanoseconds, at least 1.
pub(super) fn execution(request: &Request, kind: Kind, options: &Options) -> (u64, Timing) {
    // What a refused request took is the time it waited.
    if request.code == 429 {
        return (options.durations.of(&request.verb).max(1), Timing::ModelAsRefused);
    }
    let end = if kind == Kind::Watch { request.started } else { request.completed };
    let took = end
        .and_then(|end| u64::try_from(end.saturating_sub(request.received)).ok())
        .and_then(|took| took.checked_sub(request.queue_wait))
        .filter(|&took| (1..=LONGEST_EXECUTION).contains(&took));
    match took {
        Some(took) => (took, Timing::Log),
        None => (options.durations.of(&request.verb).max(1), Timing::Model),
    }
}

/// How long the request may wait: a quarter of its time, which is the server's request timeout or its own shorter one. Watches have
/// no timeout of their own.
pub(super) fn wait_limit(request: &Request, kind: Kind, options: &Options) -> u64 {
    let own = (kind == Kind::Ordinary).then(|| timeout_parameter(&request.uri)).flatten();
    let time = own.filter(|&own| own < options.request_timeout).unwrap_or(options.request_timeout);
    (time / 4).min(LONGEST_WAIT_LIMIT)
}

/// The query parameter `timeout`, when it is a duration above 0.
fn timeout_parameter(uri: &str) -> Option<u64> {
    let (_, query) = uri.split_once('?')?;
    let value = query.split('&').find_map(|pair| pair.strip_prefix("timeout="))?;
    GoDuration::parse(value).ok()?.unsigned().filter(|&ns| ns > 0)
}

#[cfg(test)]
mod tests {
    use apf_core::Mode;

    use super::{Kind, Timing, execution, prepare, wait_limit};
    use crate::audit::{ObjectRef, Request};
    use crate::replay::Options;

    fn request(verb: &str, uri: &str) -> Request {
        Request {
            identity: 0,
            received: 1_000,
            started: None,
            completed: None,
            queue_wait: 0,
            code: 200,
            verb: verb.into(),
            uri: uri.into(),
            object: None,
        }
    }

    fn options() -> Options {
        Options::new(600, Mode::Exact)
    }

    #[test]
    fn long_running_requests_are_told_apart_as_the_server_does() {
        for (verb, uri, kind) in [
            ("get", "/api/v1/namespaces/a/pods/p", Kind::Ordinary),
            ("watch", "/api/v1/namespaces/a/pods?watch=true", Kind::Watch),
            ("create", "/api/v1/namespaces/a/pods/p/exec?command=sh", Kind::LongRunning),
            ("create", "/api/v1/namespaces/a/pods/p/attach", Kind::LongRunning),
            ("get", "/api/v1/namespaces/a/pods/p/log", Kind::LongRunning),
            ("get", "/api/v1/namespaces/a/services/s/proxy/x", Kind::LongRunning),
            ("create", "/api/v1/namespaces/a/pods/p/portforward", Kind::LongRunning),
            ("get", "/debug/pprof/profile", Kind::LongRunning),
            ("get", "/healthz", Kind::Ordinary),
            ("patch", "/api/v1/namespaces/a/pods/p/status", Kind::Ordinary),
        ] {
            assert_eq!(prepare(&request(verb, uri)).unwrap().kind, kind, "{verb} {uri}");
        }
    }

    #[test]
    fn the_uri_says_what_is_asked_for_and_the_object_reference_stands_in() {
        let list = prepare(&request("list", "/apis/apps/v1/namespaces/a/deployments?limit=5")).unwrap();
        assert_eq!(
            (list.info.verb.as_str(), list.info.api_group.as_str(), list.info.namespace.as_str()),
            ("list", "apps", "a")
        );
        let own = prepare(&request("get", "/api/v1/namespaces/a")).unwrap();
        assert_eq!(own.info.namespace, "a", "a namespace object is in its own namespace");
        let mut without = request("get", "");
        assert!(prepare(&without).is_none());
        without.object =
            Some(ObjectRef { resource: "pods".into(), namespace: "b".into(), ..ObjectRef::default() });
        let without = prepare(&without).unwrap();
        assert!(without.by_object);
        assert_eq!((without.info.resource.as_str(), without.info.namespace.as_str()), ("pods", "b"));
    }

    #[test]
    fn execution_times_come_from_the_log_where_it_has_them() {
        let mut of = request("get", "/api/v1/pods");
        assert_eq!(execution(&of, Kind::Ordinary, &options()), (1_600_000, Timing::Model));
        of.completed = Some(5_001_000);
        assert_eq!(execution(&of, Kind::Ordinary, &options()), (5_000_000, Timing::Log));
        of.queue_wait = 2_000_000;
        assert_eq!(execution(&of, Kind::Ordinary, &options()), (3_000_000, Timing::Log), "without its wait");
        of.queue_wait = 6_000_000;
        assert_eq!(
            execution(&of, Kind::Ordinary, &options()).1,
            Timing::Model,
            "longer in the queue than it took"
        );
        of.queue_wait = 0;
        of.code = 429;
        assert_eq!(execution(&of, Kind::Ordinary, &options()).1, Timing::ModelAsRefused);
        of.completed = Some(500);
        of.code = 200;
        assert_eq!(execution(&of, Kind::Ordinary, &options()).1, Timing::Model, "ended before it began");
    }

    /// Half an hour is believed, a year would keep the simulated server adjusting for a year.
    #[test]
    fn an_execution_of_more_than_an_hour_is_a_wrong_clock() {
        let mut of = request("get", "/api/v1/pods");
        of.completed = Some(1_000 + 1_800_000_000_000);
        assert_eq!(execution(&of, Kind::Ordinary, &options()), (1_800_000_000_000, Timing::Log));
        of.completed = Some(1_000 + 365 * 86_400_000_000_000);
        assert_eq!(execution(&of, Kind::Ordinary, &options()), (1_600_000, Timing::Model));
    }

    #[test]
    fn a_watch_executes_until_it_is_initialised_and_not_until_it_ends() {
        let mut of = request("watch", "/api/v1/pods?watch=true");
        of.completed = Some(600_000_000_000);
        assert_eq!(execution(&of, Kind::Watch, &options()), (1_900_000, Timing::Model));
        of.started = Some(4_001_000);
        assert_eq!(execution(&of, Kind::Watch, &options()), (4_000_000, Timing::Log));
    }

    #[test]
    fn a_request_may_wait_for_a_quarter_of_its_time() {
        let limit =
            |verb: &str, uri: &str, kind| wait_limit(&request(verb, uri), kind, &options()) / 1_000_000;
        assert_eq!(limit("get", "/api/v1/pods", Kind::Ordinary), 15_000);
        assert_eq!(limit("update", "/api/v1/pods?a=b&timeout=10s", Kind::Ordinary), 2_500);
        assert_eq!(
            limit("update", "/api/v1/pods?timeout=8m", Kind::Ordinary),
            15_000,
            "not below the server's"
        );
        assert_eq!(limit("update", "/api/v1/pods?timeout=soon", Kind::Ordinary), 15_000);
        assert_eq!(limit("watch", "/api/v1/pods?watch=true&timeout=10s", Kind::Watch), 15_000);
        let long = Options { request_timeout: 480_000_000_000, ..options() };
        assert_eq!(wait_limit(&request("get", "/x"), Kind::Ordinary, &long), 60_000_000_000, "capped");
    }
}
