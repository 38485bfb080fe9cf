//! FlowSchema and PriorityLevelConfiguration: parse, default, validate, convert, classify.
//!
//! [`load()`] takes texts and gives the [`Objects`] a server would store, and a [`Diagnostic`] for everything
//! that is wrong with the others; [`write()`] goes the other way.
//!
//! ```
//! use apf_config::{Strictness, load_str};
//!
//! let loaded = load_str(
//!     "level.yaml",
//!     "apiVersion: flowcontrol.apiserver.k8s.io/v1\n\
//!      kind: PriorityLevelConfiguration\n\
//!      metadata: {name: tight}\n\
//!      spec:\n  type: Limited\n  limited: {lendablePercent: 101, limitResponse: {type: Reject}}\n",
//!     Strictness::Strict,
//! );
//! assert!(loaded.objects.priority_levels.is_empty());
//! assert_eq!(
//!     loaded.diagnostics[0].to_string(),
//!     "level.yaml:6:13: PriorityLevelConfiguration \"tight\": spec.limited.lendablePercent: Invalid value: 101: \
//!      must be between 0 and 100, inclusive"
//! );
//! ```

pub mod attributes;
pub mod bootstrap;
pub mod defaults;
pub mod explain;
pub mod objects;
pub mod plan;
pub mod request_info;
pub mod value;

mod decode;
mod diagnostic;
mod fields;
mod files;
mod issue;
mod json;
mod load;
mod names;
mod path;
mod scalar;
mod text;
mod tree;
mod validate;
mod version;
mod walk;
mod write;
mod yaml;

pub use diagnostic::{Diagnostic, Rule, Severity};
pub use files::{load_paths, read_paths};
pub use load::{Item, Loaded, Origin, Source, Strictness, load, load_as_written, load_bytes, load_str};
pub use objects::{Object, Objects};
pub use value::Value;
pub use version::{Kind, Version};
pub use write::{Format, ReadOnlyVersion, Written, to_value, write};
