//! Runs traces through `apf_core` and through the Kubernetes reference and compares every state.
//!
//! The trace format, the lines and the digest are described in `conformance/TRACES.md`.
//! A run goes through the modules in this order: [`generate`] makes a [`trace`] closed-loop on our
//! own core, [`driver`] applies each event to the core, [`state`] digests what it left,
//! [`reference`](mod@reference) does the same in the Go program, [`check`] and [`diff`] compare, [`minimise`]
//! shortens what differed. [`mutate`] proves that faults in the core are found. [`gate`] runs traces through the gate.

pub mod check;
pub mod diff;
pub mod driver;
pub mod exercised;
pub mod failure;
pub mod gate;
pub mod generate;
pub mod minimise;
pub mod mutate;
pub mod mutations;
pub mod profile;
pub mod read;
pub mod reference;
pub mod rng;
pub mod roster;
pub mod state;
pub mod trace;

pub use failure::Failure;
