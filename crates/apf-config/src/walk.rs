//! A document to the objects in it: what kind and version each is, with lists taken apart.

use crate::diagnostic::{Rule, quote};
use crate::issue::Issue;
use crate::objects::GROUP;
use crate::path::FieldPath;
use crate::tree::{Data, Node};
use crate::version::{Kind, Version};

/// An object of a document.
pub(crate) struct Found<'n> {
    pub(crate) node: &'n Node,
    pub(crate) api_version: &'n str,
    pub(crate) kind: &'n str,
    pub(crate) what: What,
}

/// What an object turned out to be.
pub(crate) enum What {
    /// A FlowSchema or PriorityLevelConfiguration in a known version.
    Own { kind: Kind, version: Version },
    /// An object of another kind, not ours to read; with a warning when it pretends to be.
    Other { issue: Option<Issue> },
    /// Not an object that can be told what it is.
    Wrong { issues: Vec<Issue> },
}

impl<'n> Found<'n> {
    /// `metadata.name` as far as it can be read.
    pub(crate) fn name(&self) -> &'n str {
        let metadata = self.node.entry("metadata").map(|entry| &entry.value);
        metadata.and_then(|metadata| metadata.string_at("name")).unwrap_or("")
    }
}

/// Every object of a document. An empty document has none.
pub(crate) fn objects(root: &Node) -> Vec<Found<'_>> {
    let mut found = Vec::new();
    if !matches!(root.data, Data::Null) {
        collect(root, ("", ""), &mut found);
    }
    found
}

/// `outer` is the version and kind that a typed list gives to items without their own.
fn collect<'n>(node: &'n Node, outer: (&'n str, &'n str), found: &mut Vec<Found<'n>>) {
    let api_version = node.string_at("apiVersion").unwrap_or(outer.0);
    let kind = node.string_at("kind").unwrap_or(outer.1);
    let what = match classify(node, api_version, kind) {
        Ok(what) => what,
        Err(items) => {
            let inherited = match Kind::from_list_name(kind) {
                Some(kind) => (api_version, kind.as_str()),
                None => ("", ""),
            };
            for item in items {
                collect(item, inherited, found);
            }
            return;
        }
    };
    found.push(Found { node, api_version, kind, what });
}

/// Says what the object is, or gives the items of a list.
fn classify<'n>(node: &'n Node, api_version: &str, kind: &str) -> Result<What, &'n [Node]> {
    if !matches!(node.data, Data::Map(_)) {
        let detail = format!("a Kubernetes object must be a mapping, not {}", node.type_name());
        return Ok(wrong(FieldPath::default(), Rule::Type, node.shown(), detail));
    }
    let missing: Vec<Issue> = [("apiVersion", api_version), ("kind", kind)]
        .into_iter()
        .filter(|(_, value)| value.is_empty())
        .map(|(field, _)| {
            Issue::error(FieldPath::of(&[field]), Rule::Required, None, format!("{field} not set"))
        })
        .collect();
    if !missing.is_empty() {
        return Ok(What::Wrong { issues: missing });
    }
    let version = Version::from_api_version(api_version);
    let list_of = Kind::from_list_name(kind);
    if (api_version == "v1" && kind == "List") || (list_of.is_some() && version.is_some()) {
        return items(node);
    }
    if let (Some(kind), Some(version)) = (Kind::from_name(kind), version) {
        return Ok(What::Own { kind, version });
    }
    if Kind::from_name(kind).is_some() || list_of.is_some() {
        let supported: Vec<String> =
            Version::ALL.iter().map(|version| quote(&version.api_version())).collect();
        let detail = format!(
            "no matches for kind {} in version {}; supported values: {}",
            quote(kind),
            quote(api_version),
            supported.join(", ")
        );
        return Ok(wrong(
            FieldPath::of(&["apiVersion"]),
            Rule::NotSupported,
            Some(quote(api_version)),
            detail,
        ));
    }
    let ours = api_version.split('/').next() == Some(GROUP);
    let issue = ours.then(|| {
        let detail = "not read; the kinds of this group are \"FlowSchema\", \"PriorityLevelConfiguration\"";
        Issue::warning(FieldPath::of(&["kind"]), Rule::NotSupported, Some(quote(kind)), detail)
    });
    Ok(What::Other { issue })
}

fn items(list: &Node) -> Result<What, &[Node]> {
    let Some(entry) = list.entry("items") else { return Err(&[]) };
    match &entry.value.data {
        Data::List(items) => Err(items),
        Data::Null => Err(&[]),
        _ => {
            let detail = format!("cannot unmarshal {} into a field of type array", entry.value.type_name());
            Ok(wrong(FieldPath::of(&["items"]), Rule::Type, entry.value.shown(), detail))
        }
    }
}

fn wrong(path: FieldPath, rule: Rule, value: Option<String>, detail: String) -> What {
    What::Wrong { issues: vec![Issue::error(path, rule, value, detail)] }
}
