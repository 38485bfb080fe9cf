//! The C interface: every function of `include/apf.h`, over the public interface of the crate [`apf`].
//!
//! The documentation of what is exported here is that of the header, which is made from it; it begins with the conventions
//! (in `cbindgen.toml`). The page `docs/c.md` shows how to use it. The shared and the static library
//! are built by the crate `libapf`.

mod api;
mod bell;
mod completions;
mod configuration;
mod engine;
mod guard;
mod magazine;
mod outcome;
mod pointers;
mod problems;
mod request;
mod slab;
mod slot;
mod stats;
mod status;
mod types;
mod waiting;

pub use api::*;
pub use completions::{apf_completion_callback, apf_completions};
pub use engine::apf_engine;
pub use problems::apf_problems;
pub use stats::{APF_DURATION_BUCKETS, apf_histogram, apf_level_stats, apf_schema_stats, apf_stats};
pub use status::{apf_reason, apf_status};
pub use types::*;
