//! Fuzz targets as plain functions: each takes any bytes and panics when a promise is broken.
//!
//! `cargo xtask fuzz` lets libFuzzer look for such bytes; the tests run the targets on `seeds/` with any compiler.

pub mod audit_lines;
mod bytes;
pub mod event_trace;
pub mod manifests;
pub mod scenario;
