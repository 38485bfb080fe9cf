//! The gate and the dispatcher measured beside locks, other limiters and the Kubernetes reference.
//!
//! Peers are driven in turns in one process, so that what else the machine does falls on all of them alike; only
//! ratios within one run mean anything. Every peer says how many requests it has served, and the harness compares.

pub mod cases;
pub mod latency;
pub mod peers;
pub mod placement;
pub mod report;
pub mod rounds;
pub mod topology;
