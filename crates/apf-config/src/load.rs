//! Texts to objects: read, decode, default, validate, and say everything that is wrong on the way.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};

use crate::decode;
use crate::defaults;
use crate::diagnostic::{Diagnostic, Rule, Severity, quote};
use crate::fields::Reader;
use crate::issue::Issue;
use crate::objects::{Object, Objects};
use crate::path::FieldPath;
use crate::text;
use crate::tree::{Node, SyntaxError};
use crate::validate;
use crate::version::{Kind, Version};
use crate::walk::{self, Found, What};

/// What unknown fields and fields written twice are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Strictness {
    /// Errors, as `kubectl apply` treats them by default.
    #[default]
    Strict,
    /// Warnings: an unknown field is dropped, of a field written twice the last counts.
    Lenient,
}

/// A text to read, with the name that diagnostics give it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Name of the file or stream.
    pub name: String,
    /// Its content, meant to be UTF-8.
    pub content: Vec<u8>,
}

impl Source {
    /// A text under a name.
    pub fn new(name: impl Into<String>, content: impl Into<Vec<u8>>) -> Source {
        Source { name: name.into(), content: content.into() }
    }
}

/// Where an object is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// Name of the file or stream.
    pub source: String,
    /// Line from 1.
    pub line: u32,
    /// Column in characters from 1.
    pub column: u32,
}

/// One FlowSchema or PriorityLevelConfiguration that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// The object in canonical form; of one that is not accepted, what could be read of it.
    pub object: Object,
    /// The version it is written in.
    pub version: Version,
    /// Where it is written.
    pub origin: Origin,
    /// Whether a server that serves its version would store it: it has no error.
    pub accepted: bool,
}

/// What came out of a set of sources.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Loaded {
    /// The accepted objects, in the order they were read.
    pub objects: Objects,
    /// Every object of the two kinds in a known version, accepted or not, in the order they were read.
    pub items: Vec<Item>,
    /// Every finding, in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
    /// How many objects of other kinds were passed over, by `apiVersion/kind`.
    pub skipped: BTreeMap<String, usize>,
}

impl Loaded {
    /// Whether any finding is an error.
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(Diagnostic::is_error)
    }

    /// The findings that are errors.
    pub fn errors(&self) -> impl Iterator<Item = &Diagnostic> {
        self.diagnostics.iter().filter(|diagnostic| diagnostic.is_error())
    }
}

/// Reads, defaults and validates every object of the sources.
///
/// Kinds, versions and rules are those of `flowcontrol.apiserver.k8s.io` in Kubernetes 1.37; older versions
/// are judged as a server that serves them would. No input makes it panic.
pub fn load(sources: &[Source], strictness: Strictness) -> Loaded {
    run(sources, strictness, Stage::Validate)
}

/// [`load`] for one text.
pub fn load_str(name: &str, content: &str, strictness: Strictness) -> Loaded {
    load(&[Source::new(name, content)], strictness)
}

/// [`load`] for any bytes, strictly: the whole of the reading side behind one call, as fuzzers want it.
pub fn load_bytes(content: &[u8]) -> Loaded {
    load(&[Source::new("input", content)], Strictness::Strict)
}

/// Reads the objects as they are written: nothing is defaulted or validated, only the conversion to the
/// canonical form takes place, and an object is accepted when its fields can be read.
pub fn load_as_written(sources: &[Source], strictness: Strictness) -> Loaded {
    run(sources, strictness, Stage::Decode)
}

/// How far objects are taken.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Decode,
    Validate,
}

fn run(sources: &[Source], strictness: Strictness, stage: Stage) -> Loaded {
    let mut loader = Loader { strictness, stage, loaded: Loaded::default(), places: HashMap::new() };
    for source in sources {
        loader.source(source);
    }
    let Loaded { objects, items, .. } = &mut loader.loaded;
    for item in items.iter().filter(|item| item.accepted) {
        objects.push(item.object.clone());
    }
    loader.loaded
}

struct Loader {
    strictness: Strictness,
    stage: Stage,
    loaded: Loaded,
    /// Where each kind and name was first written.
    places: HashMap<(Kind, String), String>,
}

impl Loader {
    fn source(&mut self, source: &Source) {
        let text = text::read(&source.content);
        if let Some(error) = &text.encoding_error {
            self.syntax_error(&source.name, error);
        }
        let first_item = self.loaded.items.len();
        for document in text.documents {
            match document {
                Ok(root) => {
                    for found in walk::objects(&root) {
                        self.found(&source.name, found);
                    }
                }
                Err(error) => self.syntax_error(&source.name, &error),
            }
        }
        if text.encoding_error.is_some() {
            for item in self.loaded.items.iter_mut().skip(first_item) {
                item.accepted = false;
            }
        }
    }

    fn syntax_error(&mut self, source: &str, error: &SyntaxError) {
        self.loaded.diagnostics.push(Diagnostic {
            source: source.to_owned(),
            line: error.position.line,
            column: error.position.column,
            kind: String::new(),
            name: String::new(),
            path: String::new(),
            rule: Rule::Syntax,
            value: None,
            detail: error.detail.clone(),
            severity: Severity::Error,
        });
    }

    fn found(&mut self, source: &str, found: Found<'_>) {
        let name = found.name();
        let issues = match found.what {
            What::Own { kind, version } => self.object(source, found.node, kind, version, name),
            What::Other { issue } => {
                *self.loaded.skipped.entry(format!("{}/{}", found.api_version, found.kind)).or_default() += 1;
                issue.into_iter().collect()
            }
            What::Wrong { issues } => issues,
        };
        let mut diagnostics: Vec<Diagnostic> = issues
            .into_iter()
            .map(|issue| issue.into_diagnostic(source, found.node, found.kind, name))
            .collect();
        diagnostics.sort_by_key(|diagnostic| (diagnostic.line, diagnostic.column));
        self.loaded.diagnostics.append(&mut diagnostics);
    }

    fn object(&mut self, source: &str, node: &Node, kind: Kind, version: Version, name: &str) -> Vec<Issue> {
        let mut reader = Reader::new(self.strictness);
        let mut object = match kind {
            Kind::FlowSchema => Object::FlowSchema(decode::flow_schema(&mut reader, node)),
            Kind::PriorityLevelConfiguration => {
                Object::PriorityLevelConfiguration(decode::priority_level(&mut reader, node, version))
            }
        };
        let mut issues = reader.issues;
        if self.stage == Stage::Validate {
            let more = complete(&mut object, version, &issues);
            issues.extend(more);
            issues.extend(self.second_of_its_name(
                kind,
                name,
                &format!("{source}:{}:{}", node.position.line, node.position.column),
            ));
        }
        self.loaded.items.push(Item {
            object,
            version,
            origin: Origin {
                source: source.to_owned(),
                line: node.position.line,
                column: node.position.column,
            },
            accepted: issues.iter().all(|issue| issue.severity == Severity::Warning),
        });
        issues
    }

    /// The error for a kind and name that the sources hold twice.
    fn second_of_its_name(&mut self, kind: Kind, name: &str, place: &str) -> Option<Issue> {
        if name.is_empty() {
            return None;
        }
        match self.places.entry((kind, name.to_owned())) {
            Entry::Vacant(vacant) => {
                vacant.insert(place.to_owned());
                None
            }
            Entry::Occupied(first) => {
                let detail = format!("the {kind} is already defined at {}", first.get());
                let path = FieldPath::of(&["metadata", "name"]);
                Some(Issue::error(path, Rule::Duplicate, Some(quote(name)), detail))
            }
        }
    }
}

/// Defaults an object and gives what a server would say to it. Fields that could not be read are not
/// judged again: their zero values say nothing about what was meant.
fn complete(object: &mut Object, version: Version, unread: &[Issue]) -> Vec<Issue> {
    let mut issues = Vec::new();
    if let Some(detail) = version.deprecation() {
        let path = FieldPath::of(&["apiVersion"]);
        issues.push(Issue::warning(path, Rule::Deprecated, Some(quote(&version.api_version())), detail));
    }
    let namespace = std::mem::take(&mut object.metadata_mut().namespace);
    if !namespace.is_empty() {
        let detail = "not allowed on this type; a server clears it";
        let path = FieldPath::of(&["metadata", "namespace"]);
        issues.push(Issue::warning(path, Rule::Ignored, Some(quote(&namespace)), detail));
    }
    let judged = match object {
        Object::FlowSchema(schema) => {
            defaults::default_flow_schema(schema);
            validate::flow_schema(schema)
        }
        Object::PriorityLevelConfiguration(level) => {
            defaults::default_priority_level(level);
            validate::priority_level(level, version)
        }
    };
    let unread: Vec<&FieldPath> =
        unread.iter().filter(|issue| issue.rule == Rule::Type).map(|issue| &issue.path).collect();
    issues.extend(judged.into_iter().filter(|issue| !unread.iter().any(|path| hangs_on(issue, path))));
    issues
}

/// Whether a finding may only come from the zero value of the field at `unread`.
fn hangs_on(issue: &Issue, unread: &FieldPath) -> bool {
    issue.path.is_within(unread)
        || issue.path.is_parent_of(unread)
        || *unread == issue.path.sibling("clusterScope") && issue.path == unread.sibling("namespaces")
        || issue.path == FieldPath::of(&["spec"]) && unread.is_within(&issue.path)
}
