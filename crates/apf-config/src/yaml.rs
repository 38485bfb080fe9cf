//! YAML text to documents. The only module that knows the YAML parser.
//!
//! Anchors and merge keys are expanded here, within a budget; a broken document is given up and reading
//! goes on with the next one.

use std::collections::{HashMap, HashSet};

use granit_parser::{Event, Marker, Parser, ScalarStyle, Tag};

use crate::scalar;
use crate::tree::{Data, Document, Entry, MAX_DEPTH, Node, Position, SyntaxError};

/// Bytes that anchors and aliases may add to a stream, so that nested aliases cannot fill the memory.
const ALIAS_BUDGET: usize = 16 << 20;

/// What one node weighs in the budget, on top of its text.
const NODE_WEIGHT: usize = 128;

/// Reads every document; an empty one gives a null.
pub(crate) fn documents(text: &str) -> Vec<Document> {
    let options = granit_parser::options! { block_nesting_limit: MAX_DEPTH, flow_nesting_limit: MAX_DEPTH };
    let mut parser = Parser::new_from_str_with_options(text, options);
    let mut builder = Builder::new();
    let mut documents = Vec::new();
    while let Some(next) = parser.next_event() {
        let result = match next {
            Ok((event, span)) => builder.accept(event, place(&span.start)),
            Err(error) => Err(SyntaxError { position: place(error.marker()), detail: error.info() }),
        };
        match result {
            Ok(None) => {}
            Ok(Some(node)) => documents.push(Ok(node)),
            Err(error) => {
                documents.push(Err(error));
                builder.abandon();
                if !matches!(parser.proceed_next_document(), Ok(true)) {
                    break;
                }
            }
        }
    }
    documents
}

fn place(marker: &Marker) -> Position {
    let clamp = |value: usize| u32::try_from(value).unwrap_or(u32::MAX);
    Position { line: clamp(marker.line().max(1)), column: clamp(marker.col().saturating_add(1)) }
}

/// A collection that is not closed yet.
struct Open {
    position: Position,
    anchor: usize,
    content: Content,
}

enum Content {
    List(Vec<Node>),
    Map { entries: Vec<Entry>, key: Option<Key>, merged: Vec<Node> },
}

/// A key that waits for its value.
struct Key {
    text: String,
    position: Position,
    merge: bool,
}

struct Anchored {
    node: Node,
    weight: usize,
    height: usize,
}

struct Builder {
    open: Vec<Open>,
    root: Option<Node>,
    anchors: HashMap<usize, Anchored>,
    budget: usize,
}

impl Builder {
    fn new() -> Builder {
        Builder { open: Vec::new(), root: None, anchors: HashMap::new(), budget: ALIAS_BUDGET }
    }

    /// Drops what was read of a broken document.
    fn abandon(&mut self) {
        self.open.clear();
        self.root = None;
        self.anchors.clear();
    }

    /// Takes one event; the end of a document gives its tree.
    fn accept(&mut self, event: Event<'_>, position: Position) -> Result<Option<Node>, SyntaxError> {
        match event {
            Event::DocumentStart(..) => self.abandon(),
            Event::DocumentEnd => {
                let root = self.root.take();
                self.abandon();
                return Ok(root);
            }
            Event::Scalar(text, style, anchor, tag) => {
                self.scalar(&text, style, anchor, tag.as_deref(), position)?;
            }
            Event::SequenceStart(_, anchor, _) => {
                self.begin(anchor, Content::List(Vec::new()), position)?;
            }
            Event::MappingStart(_, anchor, _) => {
                let content = Content::Map { entries: Vec::new(), key: None, merged: Vec::new() };
                self.begin(anchor, content, position)?;
            }
            Event::SequenceEnd | Event::MappingEnd => self.end()?,
            Event::Alias(anchor) => self.alias(anchor, position)?,
            _ => {}
        }
        Ok(None)
    }

    /// Whether the next node is the key of an open map.
    fn expects_key(&self) -> bool {
        matches!(self.open.last(), Some(Open { content: Content::Map { key: None, .. }, .. }))
    }

    fn begin(&mut self, anchor: usize, content: Content, position: Position) -> Result<(), SyntaxError> {
        if self.expects_key() {
            return Err(SyntaxError { position, detail: "a mapping key must be a scalar".to_owned() });
        }
        if self.open.len() >= MAX_DEPTH {
            return Err(too_deep(position));
        }
        self.open.push(Open { position, anchor, content });
        Ok(())
    }

    fn end(&mut self) -> Result<(), SyntaxError> {
        let Some(Open { position, anchor, content }) = self.open.pop() else { return Ok(()) };
        let data = match content {
            Content::List(items) => Data::List(items),
            Content::Map { mut entries, merged, .. } => {
                merge(&mut entries, merged)?;
                Data::Map(entries)
            }
        };
        self.place_node(Node { position, data }, anchor)
    }

    fn scalar(
        &mut self,
        text: &str,
        style: ScalarStyle,
        anchor: usize,
        tag: Option<&Tag>,
        position: Position,
    ) -> Result<(), SyntaxError> {
        let data = scalar_data(text, style, tag).map_err(|detail| SyntaxError { position, detail })?;
        if self.expects_key() {
            let merge = text == "<<" && style == ScalarStyle::Plain && tag.is_none();
            self.remember(&Node { position, data: data.clone() }, anchor)?;
            return self.key(data, position, merge);
        }
        self.place_node(Node { position, data }, anchor)
    }

    fn key(&mut self, data: Data, position: Position, merge: bool) -> Result<(), SyntaxError> {
        let text = match data {
            Data::String(text) | Data::Number(text) => text,
            Data::Bool(value) => value.to_string(),
            Data::Null | Data::List(_) | Data::Map(_) => {
                return Err(SyntaxError {
                    position,
                    detail: "a mapping key must be a string, a number or a boolean".to_owned(),
                });
            }
        };
        if let Some(Open { content: Content::Map { key, .. }, .. }) = self.open.last_mut() {
            *key = Some(Key { text, position, merge });
        }
        Ok(())
    }

    fn alias(&mut self, anchor: usize, position: Position) -> Result<(), SyntaxError> {
        let Some(anchored) = self.anchors.get(&anchor) else {
            return Err(SyntaxError { position, detail: "the anchor contains its own alias".to_owned() });
        };
        if self.open.len().saturating_add(anchored.height) > MAX_DEPTH {
            return Err(too_deep(position));
        }
        self.budget = charge(self.budget, anchored.weight, position)?;
        let mut node = anchored.node.clone();
        node.position = position;
        if self.expects_key() {
            return self.key(node.data, position, false);
        }
        self.place_node(node, 0)
    }

    /// Puts a finished node where it belongs: into the open collection, or at the top.
    fn place_node(&mut self, node: Node, anchor: usize) -> Result<(), SyntaxError> {
        self.remember(&node, anchor)?;
        match self.open.last_mut() {
            None => self.root = Some(node),
            Some(Open { content: Content::List(items), .. }) => items.push(node),
            Some(Open { content: Content::Map { entries, key, merged }, .. }) => {
                if let Some(Key { text, position, merge }) = key.take() {
                    if merge {
                        merged.push(node);
                    } else {
                        entries.push(Entry { key: text, key_position: position, value: node });
                    }
                }
            }
        }
        Ok(())
    }

    fn remember(&mut self, node: &Node, anchor: usize) -> Result<(), SyntaxError> {
        if anchor == 0 {
            return Ok(());
        }
        let (weight, height) = measure(node);
        self.budget = charge(self.budget, weight, node.position)?;
        self.anchors.insert(anchor, Anchored { node: node.clone(), weight, height });
        Ok(())
    }
}

/// The value of a scalar: its tag decides, else a plain one is resolved and a quoted one is a string.
fn scalar_data(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Result<Data, String> {
    let Some(tag) = tag else {
        return if style == ScalarStyle::Plain {
            scalar::resolve_plain(text)
        } else {
            Ok(Data::String(text.to_owned()))
        };
    };
    match tag.core_suffix() {
        Some(wanted @ ("int" | "float" | "bool" | "null")) => {
            let data = scalar::resolve_plain(text)?;
            let fits = match &data {
                Data::Number(_) => wanted == "int" || wanted == "float",
                Data::Bool(_) => wanted == "bool",
                Data::Null => wanted == "null",
                Data::String(_) | Data::List(_) | Data::Map(_) => false,
            };
            if fits { Ok(data) } else { Err(format!("{text:?} is not of the type !!{wanted}")) }
        }
        _ => Ok(Data::String(text.to_owned())),
    }
}

/// Adds the entries of merged maps whose keys the map does not have; earlier merged maps win.
fn merge(entries: &mut Vec<Entry>, merged: Vec<Node>) -> Result<(), SyntaxError> {
    if merged.is_empty() {
        return Ok(());
    }
    let mut keys: HashSet<String> = entries.iter().map(|entry| entry.key.clone()).collect();
    let wrong = |position| SyntaxError {
        position,
        detail: "a merge key needs a mapping or a list of mappings".to_owned(),
    };
    for node in merged {
        let sources = match node.data {
            Data::List(items) => items,
            data => vec![Node { position: node.position, data }],
        };
        for source in sources {
            let Data::Map(additions) = source.data else { return Err(wrong(source.position)) };
            for addition in additions {
                if keys.insert(addition.key.clone()) {
                    entries.push(addition);
                }
            }
        }
    }
    Ok(())
}

fn too_deep(position: Position) -> SyntaxError {
    SyntaxError { position, detail: format!("nested deeper than {MAX_DEPTH} levels") }
}

fn charge(budget: usize, weight: usize, position: Position) -> Result<usize, SyntaxError> {
    budget.checked_sub(weight).ok_or_else(|| SyntaxError {
        position,
        detail: format!("anchors and aliases expand to more than {} MiB", ALIAS_BUDGET >> 20),
    })
}

/// Weight in the budget and height of a tree.
fn measure(node: &Node) -> (usize, usize) {
    let (text, children): (usize, Vec<&Node>) = match &node.data {
        Data::Null | Data::Bool(_) => (0, Vec::new()),
        Data::Number(text) | Data::String(text) => (text.len(), Vec::new()),
        Data::List(items) => (0, items.iter().collect()),
        Data::Map(entries) => (
            entries.iter().map(|entry| entry.key.len()).sum(),
            entries.iter().map(|entry| &entry.value).collect(),
        ),
    };
    let mut weight = NODE_WEIGHT.saturating_add(text);
    let mut height = 0;
    for child in children {
        let (child_weight, child_height) = measure(child);
        weight = weight.saturating_add(child_weight);
        height = height.max(child_height);
    }
    (weight, height.saturating_add(1))
}
