//! Kubernetes API Priority and Fairness as an embeddable dispatcher.
//!
//! ```
//! use apf::{Dispatcher, RequestAttributes};
//!
//! let dispatcher = Dispatcher::builder().seats(600).build()?;
//! let request = RequestAttributes::resource("list", "pods")
//!     .in_namespace("dev")
//!     .by("alice", &["system:authenticated"]);
//!
//! let permit = dispatcher.admit_blocking(request)?; // waits in a fair queue if it must
//! assert_eq!(permit.level(), "global-default");
//! assert_eq!(permit.flow_schema(), "global-default");
//! drop(permit); // the seat comes back
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`Dispatcher`] is where to begin. [`config`] reads manifests and URLs, [`clock`] has a clock for tests, [`stats`] the numbers.
//! [`gate`] is one level alone, also without `std`.

#![cfg_attr(not(any(feature = "std", loom, shuttle)), no_std)]

extern crate alloc;

pub mod gate;
mod sync;

#[cfg(feature = "std")]
mod admit;
#[cfg(feature = "std")]
mod arena;
#[cfg(feature = "std")]
mod classified;
#[cfg(feature = "std")]
pub mod clock;
#[cfg(feature = "std")]
mod configure;
#[cfg(feature = "std")]
mod counters;
#[cfg(feature = "std")]
mod details;
#[cfg(feature = "std")]
mod dispatcher;
#[cfg(feature = "std")]
mod engine;
#[cfg(feature = "std")]
mod left_out;
#[cfg(feature = "std")]
mod level;
#[cfg(feature = "std")]
pub mod locked;
#[cfg(feature = "std")]
mod permit;
#[cfg(feature = "std")]
mod rejected;
#[cfg(feature = "std")]
mod retry_after;
#[cfg(feature = "std")]
pub mod stats;
#[cfg(feature = "std")]
mod submit;
#[cfg(feature = "std")]
mod tally;
#[cfg(feature = "std")]
mod timers;

/// The objects of the configuration and what a URL asks for: the crate `apf-config`, in the version that this one takes.
#[cfg(feature = "std")]
pub use apf_config as config;

#[cfg(feature = "std")]
pub use {
    admit::{Admit, AnyAdmit, OwnedAdmit},
    apf_config::attributes::RequestAttributes,
    apf_core::{FlowHash, Level, Mode, Reason, WorkEstimate},
    classified::Classified,
    details::{LevelCopy, RequestDetails},
    dispatcher::{BuildError, Builder, Dispatcher},
    engine::{Engine, EngineRef, Request},
    left_out::LeftOut,
    permit::{AnyPermit, OwnedPermit, Permit},
    rejected::{AdmitError, Rejected},
    submit::{Batch, Preclassified, Submitted},
};

#[cfg(all(doctest, feature = "std"))]
#[doc = include_str!("../../../docs/rust.md")]
mod rust_page {}
