//! One JSON document to the audit events in it.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::ObjectRef;
use crate::duration::GoDuration;

/// An audit event of any version, reduced to what replay needs.
#[derive(Debug, Default)]
pub(super) struct Event {
    pub(super) audit_id: String,
    pub(super) stage: Stage,
    pub(super) user: String,
    pub(super) groups: Vec<String>,
    pub(super) verb: String,
    pub(super) uri: String,
    pub(super) object: Option<ObjectRef>,
    pub(super) code: u16,
    /// Nanoseconds since the Unix epoch.
    pub(super) received: i64,
    /// When the stage was reached, if the event says.
    pub(super) stage_time: Option<i64>,
    pub(super) queue_wait: u64,
    pub(super) repairs: Repairs,
}

/// How far the request was when the line was written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Stage {
    Received,
    Started,
    #[default]
    Complete,
    Panic,
}

/// What was unusual about an event that could be used all the same.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Repairs {
    pub(super) in_list: bool,
    pub(super) wrapped: bool,
    pub(super) no_api_version: bool,
    pub(super) old_version: bool,
    pub(super) impersonated: bool,
    pub(super) old_timestamp: bool,
    pub(super) whole_seconds: bool,
    pub(super) no_stage: bool,
    pub(super) bad_annotation: bool,
}

/// Why something is not replayed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Skip {
    /// Not JSON.
    NotJson(String),
    /// JSON, but no audit event.
    NotAnEvent(String),
    /// A GKE Cloud Logging entry.
    CloudLogging,
    /// An audit event that lacks what replay needs.
    Incomplete(&'static str),
}

/// What a document holds.
pub(super) enum Item {
    Event(Box<Event>),
    Skipped(Skip),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
struct Raw {
    kind: Option<String>,
    api_version: Option<String>,
    #[serde(rename = "auditID")]
    audit_id: Option<String>,
    stage: Option<String>,
    #[serde(rename = "requestURI")]
    request_uri: Option<String>,
    verb: Option<String>,
    user: Option<RawUser>,
    impersonated_user: Option<RawUser>,
    object_ref: Option<ObjectRefOrNulls>,
    response_status: Option<RawStatus>,
    request_received_timestamp: Option<String>,
    stage_timestamp: Option<String>,
    timestamp: Option<String>,
    metadata: Option<RawMetadata>,
    annotations: Option<RawAnnotations>,
    items: Option<Vec<Box<RawValue>>>,
    properties: Option<Box<RawValue>>,
    proto_payload: Option<serde::de::IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct RawUser {
    username: Option<String>,
    groups: Option<Vec<String>>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct RawStatus {
    code: Option<i64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
struct RawMetadata {
    creation_timestamp: Option<String>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct RawAnnotations {
    #[serde(rename = "apiserver.latency.k8s.io/apf-queue-wait")]
    queue_wait: Option<String>,
}

/// `properties` of an AKS diagnostic record; an event has no such field.
#[derive(Deserialize)]
struct RawProperties {
    log: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
struct ObjectRefOrNulls {
    resource: Option<String>,
    namespace: Option<String>,
    name: Option<String>,
    api_group: Option<String>,
    api_version: Option<String>,
    subresource: Option<String>,
}

/// Calls `found` for everything in a document.
pub(super) fn items(text: &[u8], found: &mut dyn FnMut(Item)) {
    document(text, Repairs::default(), Nesting::Document, found);
}

/// Lists hold events and wrappers hold one; neither holds another of its kind.
#[derive(Clone, Copy, PartialEq)]
enum Nesting {
    Document,
    Inner,
}

fn document(text: &[u8], repairs: Repairs, nesting: Nesting, found: &mut dyn FnMut(Item)) {
    if text.trim_ascii_start().starts_with(b"[") && nesting == Nesting::Document {
        match serde_json::from_slice::<Vec<Box<RawValue>>>(text) {
            Ok(list) => inner_list(&list, repairs, found),
            Err(e) => found(Item::Skipped(Skip::NotJson(complaint(&e)))),
        }
        return;
    }
    let raw = match serde_json::from_slice::<Raw>(text) {
        Ok(raw) => raw,
        Err(e) if e.is_data() => return found(Item::Skipped(Skip::NotAnEvent(complaint(&e)))),
        Err(e) => return found(Item::Skipped(Skip::NotJson(complaint(&e)))),
    };
    if nesting == Nesting::Document {
        if let Some(list) = &raw.items {
            return inner_list(list, repairs, found);
        }
        let properties = raw.properties.as_ref();
        let log = properties.and_then(|p| serde_json::from_str::<RawProperties>(p.get()).ok()?.log);
        if let Some(log) = log {
            return document(log.as_bytes(), Repairs { wrapped: true, ..repairs }, Nesting::Inner, found);
        }
    }
    if raw.proto_payload.is_some() {
        return found(Item::Skipped(Skip::CloudLogging));
    }
    found(match event(raw, repairs) {
        Ok(event) => Item::Event(Box::new(event)),
        Err(skip) => Item::Skipped(skip),
    });
}

/// What the JSON reader says, with the place in the document where it is one line: that line's number is the file's to say.
fn complaint(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let (line, column) = (error.line(), error.column());
    let Some(what) = text.strip_suffix(&format!(" at line {line} column {column}")) else { return text };
    match (line, column) {
        (1, 1..) => format!("{what} at column {column}"),
        (0 | 2, 0) => format!("{what} at the end of the line"),
        _ => format!("{what} at line {line} column {column} of it"),
    }
}

fn inner_list(list: &[Box<RawValue>], repairs: Repairs, found: &mut dyn FnMut(Item)) {
    for item in list {
        document(item.get().as_bytes(), Repairs { in_list: true, ..repairs }, Nesting::Inner, found);
    }
}

fn event(raw: Raw, mut repairs: Repairs) -> Result<Event, Skip> {
    match raw.kind.as_deref() {
        Some("Event") => {}
        Some(other) => return Err(Skip::NotAnEvent(format!("kind is {other:?}, not \"Event\""))),
        // Lists leave the kind of their items out.
        None if raw.audit_id.is_some() => {}
        None => return Err(Skip::NotAnEvent("no kind and no auditID".into())),
    }
    match raw.api_version.as_deref() {
        Some("audit.k8s.io/v1") => {}
        Some("audit.k8s.io/v1beta1" | "audit.k8s.io/v1alpha1") => repairs.old_version = true,
        Some(other) => {
            return Err(Skip::NotAnEvent(format!("apiVersion is {other:?}, not one of audit.k8s.io")));
        }
        None => repairs.no_api_version = true,
    }
    let stage = match raw.stage.as_deref() {
        Some("RequestReceived") => Stage::Received,
        Some("ResponseStarted") => Stage::Started,
        Some("ResponseComplete") => Stage::Complete,
        Some("Panic") => Stage::Panic,
        Some(_) => return Err(Skip::Incomplete("its stage is none that an API server writes")),
        None => {
            repairs.no_stage = true;
            Stage::Complete
        }
    };
    let impersonated = raw.impersonated_user.filter(|user| user.username.is_some());
    repairs.impersonated = impersonated.is_some();
    let user = impersonated.or(raw.user).ok_or(Skip::Incomplete("it has no user"))?;
    let verb = raw.verb.filter(|verb| !verb.is_empty()).ok_or(Skip::Incomplete("it has no verb"))?;
    if raw.request_uri.is_none() && raw.object_ref.is_none() {
        return Err(Skip::Incomplete("it has neither requestURI nor objectRef"));
    }

    let stage_time = raw.stage_timestamp.as_deref().and_then(nanoseconds);
    let received = match raw.request_received_timestamp.as_deref().and_then(nanoseconds) {
        Some(time) => time,
        None => {
            repairs.old_timestamp = true;
            let old = raw.timestamp.or(raw.metadata.and_then(|m| m.creation_timestamp));
            let at_arrival = stage_time.filter(|_| stage == Stage::Received);
            repairs.whole_seconds = at_arrival.is_none();
            let time = at_arrival.or_else(|| old.as_deref().and_then(nanoseconds));
            time.ok_or(Skip::Incomplete("it has no time of arrival"))?
        }
    };
    let queue_wait = match raw.annotations.and_then(|a| a.queue_wait) {
        None => 0,
        Some(text) => GoDuration::parse(&text).ok().and_then(GoDuration::unsigned).unwrap_or_else(|| {
            repairs.bad_annotation = true;
            0
        }),
    };

    Ok(Event {
        audit_id: raw.audit_id.unwrap_or_default(),
        stage,
        user: user.username.unwrap_or_default(),
        groups: user.groups.unwrap_or_default(),
        verb,
        uri: raw.request_uri.unwrap_or_default(),
        object: raw.object_ref.map(ObjectRef::from),
        code: raw
            .response_status
            .and_then(|status| status.code)
            .and_then(|code| u16::try_from(code).ok())
            .unwrap_or(0),
        received,
        stage_time,
        queue_wait,
        repairs,
    })
}

impl From<ObjectRefOrNulls> for ObjectRef {
    fn from(raw: ObjectRefOrNulls) -> ObjectRef {
        ObjectRef {
            resource: raw.resource.unwrap_or_default(),
            namespace: raw.namespace.unwrap_or_default(),
            name: raw.name.unwrap_or_default(),
            api_group: raw.api_group.unwrap_or_default(),
            api_version: raw.api_version.unwrap_or_default(),
            subresource: raw.subresource.unwrap_or_default(),
        }
    }
}

/// RFC 3339 to nanoseconds since the Unix epoch. Times before it stand for "unset", as in `0001-01-01T00:00:00Z`.
fn nanoseconds(text: &str) -> Option<i64> {
    let time: jiff::Timestamp = text.parse().ok()?;
    i64::try_from(time.as_nanosecond()).ok().filter(|&ns| ns > 0)
}

#[cfg(test)]
mod tests {
    use super::{Item, Skip, Stage, items};

    fn all(text: &str) -> Vec<Result<super::Event, Skip>> {
        let mut found = Vec::new();
        items(text.as_bytes(), &mut |item| {
            found.push(match item {
                Item::Event(event) => Ok(*event),
                Item::Skipped(skip) => Err(skip),
            })
        });
        found
    }

    fn one(text: &str) -> Result<super::Event, Skip> {
        let mut found = all(text);
        assert_eq!(found.len(), 1, "{text}");
        found.remove(0)
    }

    const EVENT: &str = r#"{"kind":"Event","apiVersion":"audit.k8s.io/v1","auditID":"a","stage":"ResponseComplete","requestURI":"/healthz","verb":"get","user":{"username":"u","groups":["g"]},"requestReceivedTimestamp":"2024-01-01T00:00:00.000001Z","stageTimestamp":"2024-01-01T00:00:00.005Z"}"#;

    #[test]
    fn the_impersonated_user_is_the_one_that_counts() {
        let text = EVENT.replace(
            r#""stage""#,
            r#""impersonatedUser":{"username":"bob","groups":["system:authenticated"]},"stage""#,
        );
        let event = one(&text).unwrap();
        assert_eq!(
            (event.user.as_str(), event.groups.as_slice()),
            ("bob", &["system:authenticated".to_owned()][..])
        );
        assert!(event.repairs.impersonated);
        assert_eq!(one(EVENT).unwrap().user, "u");
    }

    #[test]
    fn a_2017_event_takes_its_time_from_the_old_field_or_the_metadata() {
        let new = r#""requestReceivedTimestamp":"2024-01-01T00:00:00.000001Z","stageTimestamp":"2024-01-01T00:00:00.005Z""#;
        for old in [
            r#""timestamp":"2017-09-11T19:55:05Z""#,
            r#""metadata":{"creationTimestamp":"2017-09-11T19:55:05Z"}"#,
        ] {
            let event = one(&EVENT.replace(new, old)).unwrap();
            assert_eq!(event.received, 1_505_159_705_000_000_000);
            assert!(event.repairs.old_timestamp && event.repairs.whole_seconds);
            assert_eq!(event.stage_time, None);
        }
        let none = one(&EVENT.replace(new, r#""requestReceivedTimestamp":null"#));
        assert_eq!(none.unwrap_err(), Skip::Incomplete("it has no time of arrival"));
    }

    #[test]
    fn lists_and_wrapped_events_are_opened() {
        for list in [
            format!(r#"{{"kind":"EventList","apiVersion":"audit.k8s.io/v1","items":[{EVENT},{EVENT}]}}"#),
            format!(r#"{{"kind":"List","apiVersion":"v1","items":[{EVENT},{EVENT}]}}"#),
            format!("[{EVENT},{EVENT}]"),
        ] {
            let events = all(&list);
            assert_eq!(events.len(), 2);
            assert!(events.iter().all(|event| event.as_ref().unwrap().repairs.in_list));
        }
        let escaped = serde_json::to_string(EVENT).unwrap();
        let event =
            one(&format!(r#"{{"category":"kube-audit","properties":{{"log":{escaped},"pod":"p"}}}}"#))
                .unwrap();
        assert!(event.repairs.wrapped);
        assert_eq!(event.uri, "/healthz");
    }

    #[test]
    fn what_is_not_an_audit_event_is_skipped_with_its_reason() {
        assert!(matches!(one("not json").unwrap_err(), Skip::NotJson(_)));
        assert!(matches!(one("{\"kind\":\"Event\"").unwrap_err(), Skip::NotJson(_)));
        assert!(matches!(one("{\"kind\": 0}").unwrap_err(), Skip::NotAnEvent(_)));
        assert!(matches!(one("17").unwrap_err(), Skip::NotAnEvent(_)));
        assert!(matches!(one(r#"{"kind":"Pod"}"#).unwrap_err(), Skip::NotAnEvent(_)));
        let core = EVENT.replace("audit.k8s.io/v1", "v1");
        assert!(matches!(one(&core).unwrap_err(), Skip::NotAnEvent(_)));
        let cloud = r#"{"protoPayload":{"methodName":"io.k8s.core.v1.pods.status.patch"},"timestamp":"2025-07-13T08:38:39Z"}"#;
        assert_eq!(one(cloud).unwrap_err(), Skip::CloudLogging);
        assert_eq!(
            one(&EVENT.replace(r#""verb":"get","#, "")).unwrap_err(),
            Skip::Incomplete("it has no verb")
        );
    }

    #[test]
    fn what_is_wrong_with_a_line_is_said_in_terms_of_the_line() {
        let why = |text: &str| match one(text).unwrap_err() {
            Skip::NotJson(why) | Skip::NotAnEvent(why) => why,
            other => panic!("{other:?}"),
        };
        assert_eq!(why("17"), "invalid type: integer `17`, expected an object at column 2");
        assert_eq!(
            why("{\"a\n"),
            "control character (\\u0000-\\u001F) found while parsing a string at the end of the line"
        );
        let text = EVENT.replace(r#""stage""#, r#""impersonatedUser":"bob","stage""#);
        assert!(why(&text).starts_with("invalid type: string \"bob\", expected an object at column "));
        assert_eq!(why("{\n\n x}"), "key must be a string at line 3 column 2 of it");
    }

    #[test]
    fn events_without_api_version_and_with_unknown_fields_are_read() {
        let text = EVENT
            .replace(r#""apiVersion":"audit.k8s.io/v1","#, r#""job":"kube","#)
            .replace(r#""stage":"ResponseComplete""#, r#""stage":"ResponseStarted""#);
        let event = one(&text).unwrap();
        assert!(event.repairs.no_api_version);
        assert_eq!(event.stage, Stage::Started);
    }

    #[test]
    fn time_in_a_queue_of_the_logged_server_is_read_from_its_annotation() {
        let with = |value: &str| {
            one(&EVENT.replace(
                r#""stage""#,
                &format!(r#""annotations":{{"apiserver.latency.k8s.io/apf-queue-wait":"{value}","apiserver.latency.k8s.io/etcd":"17.5µs"}},"stage""#),
            ))
            .unwrap()
        };
        assert_eq!(with("1.5ms").queue_wait, 1_500_000);
        assert!(!with("1.5ms").repairs.bad_annotation);
        assert!(with("soon").repairs.bad_annotation);
    }
}
