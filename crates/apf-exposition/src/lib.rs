//! The metrics and debug dumps of API Priority and Fairness, as kube-apiserver prints them.
//!
//! ```
//! use apf_exposition::Table;
//!
//! let dispatcher = apf::Dispatcher::builder().keep_details().build()?;
//! let permit = dispatcher.admit_blocking(apf::RequestAttributes::resource("list", "pods").by("alice", &["dev"]))?;
//!
//! let metrics = apf_exposition::prometheus(&dispatcher);
//! assert!(metrics.contains("apiserver_flowcontrol_current_executing_requests{flow_schema=\"catch-all\",priority_level=\"catch-all\"} 1\n"));
//! let dump = apf_exposition::dump(&dispatcher, Table::Requests { details: true });
//! assert!(dump.contains("alice"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The metrics are those of `k8s.io/apiserver/pkg/util/flowcontrol/metrics`, the dumps those of `apf_controller_debug.go`, both of
//! version 0.37. Which metrics there are and which there are not is written in `docs/metrics.md` of the repository.

pub mod duration;
pub mod tables;

#[cfg(feature = "dispatcher")]
mod live;
#[cfg(feature = "dispatcher")]
mod metrics;
mod tabstops;
#[cfg(feature = "dispatcher")]
mod text;

#[cfg(all(doctest, feature = "dispatcher"))]
#[doc = include_str!("../../../docs/metrics.md")]
mod metrics_page {}

#[cfg(feature = "dispatcher")]
pub use {
    live::{Table, dump, dump_copies},
    metrics::{CONTENT_TYPE, prometheus, prometheus_of},
};
