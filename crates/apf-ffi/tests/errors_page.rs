//! One table of errors for every language: `docs/errors.md` has every status and every reason, by the names that the
//! library gives them.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::collections::BTreeSet;

use apf_ffi::{apf_reason_name, apf_status_name};
use common::name;

#[test]
fn every_number_has_its_row_and_every_row_its_number() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/errors.md")).unwrap();
    // | `name` | number in C | ...
    let rows: BTreeSet<(String, String)> = page
        .lines()
        .filter_map(|line| {
            let mut cells = line.strip_prefix("| `")?.split('|').map(str::trim);
            let name = cells.next()?.trim_end_matches('`').to_owned();
            let in_c = cells.find(|cell| cell.starts_with("`APF_"))?;
            Some((name, in_c.split('`').nth(1)?.to_owned()))
        })
        .collect();
    let named = |prefix: &str, name: &str| {
        (name.to_owned(), format!("{prefix}{}", name.to_uppercase().replace('-', "_")))
    };
    let statuses = (1..1_000).map(|number| name(apf_status_name(number))).filter(|name| name != "unknown");
    let statuses = statuses.map(|name| named("APF_ERROR_", &name));
    let reasons = (1..100).map(|number| name(apf_reason_name(number))).filter(|name| !name.is_empty());
    let expected: BTreeSet<_> = reasons.map(|name| named("APF_REASON_", &name)).chain(statuses).collect();
    let differences: Vec<_> = rows.symmetric_difference(&expected).collect();
    assert!(differences.is_empty(), "{differences:?}");
    assert_eq!(rows.len(), 27);
}
