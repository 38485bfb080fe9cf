//! The exported functions. Each goes through [`guard`](crate::guard) and says in the header what it does.

#![allow(
    clippy::missing_safety_doc,
    reason = "the conventions of the header are the conditions of every function; each names what it adds"
)]

// In the order of the header.
mod version;

mod engine;

mod requests;

mod completions;

mod problems;

mod stats;

mod text;

pub use completions::*;
pub use engine::*;
pub use problems::*;
pub use requests::*;
pub use stats::*;
pub use text::*;
pub use version::*;
