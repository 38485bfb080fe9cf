//! Every dependency's licence expression, checked against the allow-list of `deny.toml`.

use crate::shell::{Stop, cargo, fail, root};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

const MANIFESTS: &[&str] =
    &["Cargo.toml", "fuzz/Cargo.toml", "conformance/no-std-proof/Cargo.toml", "python/Cargo.toml"];

pub(crate) fn check() -> Result<(), Stop> {
    let list = std::fs::read_to_string(root().join("deny.toml")).map_err(fail("reading deny.toml"))?;
    let allowed = allow_list(&list);
    let mut refused = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for manifest in MANIFESTS {
        let text = cargo(["metadata", "--format-version", "1", "--locked", "--manifest-path", manifest])
            .args(["--filter-platform", "x86_64-unknown-linux-gnu"])
            .read()?;
        let metadata: Value = serde_json::from_str(&text).map_err(fail("reading cargo metadata"))?;
        for package in metadata["packages"].as_array().into_iter().flatten() {
            let name = format!("{} {}", text_of(&package["name"]), text_of(&package["version"]));
            let licence = text_of(&package["license"]);
            if !permits(licence, &allowed) {
                refused.insert(name.clone(), licence.to_owned());
            }
            seen.insert(name);
        }
    }
    if refused.is_empty() {
        println!("{} packages, all with an allowed licence", seen.len());
        return Ok(());
    }
    let lines: Vec<String> = refused
        .iter()
        .map(|(name, licence)| format!("{name}: `{licence}` is not allowed by deny.toml"))
        .collect();
    Err(Stop::Fail(lines.join("\n")))
}

fn text_of(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// The quoted names between `allow = [` and `]`.
fn allow_list(toml: &str) -> BTreeSet<String> {
    toml.lines()
        .skip_while(|line| !line.starts_with("allow = ["))
        .skip(1)
        .take_while(|line| !line.starts_with(']'))
        .filter_map(|line| line.trim().strip_prefix('"')?.split('"').next())
        .map(str::to_owned)
        .collect()
}

/// Whether an SPDX expression can be met with allowed licences alone; an empty or malformed one cannot.
fn permits(expression: &str, allowed: &BTreeSet<String>) -> bool {
    // Some old manifests separate alternatives by a slash.
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let mut words = spaced.split_whitespace().peekable();
    any(&mut words, allowed) == Some(true) && words.next().is_none()
}

type Words<'a> = std::iter::Peekable<std::str::SplitWhitespace<'a>>;

fn any(words: &mut Words<'_>, allowed: &BTreeSet<String>) -> Option<bool> {
    let mut met = all(words, allowed)?;
    while words.next_if(|word| word.eq_ignore_ascii_case("OR")).is_some() {
        met |= all(words, allowed)?;
    }
    Some(met)
}

fn all(words: &mut Words<'_>, allowed: &BTreeSet<String>) -> Option<bool> {
    let mut met = one(words, allowed)?;
    while words.next_if(|word| word.eq_ignore_ascii_case("AND")).is_some() {
        met &= one(words, allowed)?;
    }
    Some(met)
}

fn one(words: &mut Words<'_>, allowed: &BTreeSet<String>) -> Option<bool> {
    match words.next()? {
        "(" => {
            let met = any(words, allowed)?;
            words.next_if_eq(&")").map(|_| met)
        }
        name if words.next_if_eq(&"WITH").is_some() => {
            Some(allowed.contains(&format!("{name} WITH {}", words.next()?)))
        }
        name => Some(allowed.contains(name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list() -> BTreeSet<String> {
        allow_list(
            "[licenses]\nallow = [\n    \"MIT\",\n    \"Unicode-3.0\", # why\n]\nother = [\n\"GPL-3.0\",\n]\n",
        )
    }

    #[test]
    fn the_list_ends_where_its_bracket_closes() {
        assert_eq!(list().into_iter().collect::<Vec<_>>(), ["MIT", "Unicode-3.0"]);
    }

    #[test]
    fn alternatives_need_one_and_conjunctions_need_all() {
        for (expression, expected) in [
            ("MIT", true),
            ("GPL-3.0", false),
            ("MIT OR GPL-3.0", true),
            ("GPL-3.0/MIT", true),
            ("GPL-3.0 or MIT", true),
            ("MIT AND GPL-3.0", false),
            ("(MIT OR GPL-3.0) AND Unicode-3.0", true),
            ("(GPL-3.0) OR Apache-2.0", false),
            ("MIT WITH Exception", false),
            ("MIT )", false),
            ("(MIT", false),
            ("", false),
        ] {
            assert_eq!(permits(expression, &list()), expected, "{expression}");
        }
    }
}
