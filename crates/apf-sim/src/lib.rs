//! Deterministic simulation and audit-log replay of API Priority and Fairness.

pub mod audit;
pub mod configuration;
pub mod duration;
mod engine;
pub mod error;
pub mod event_queue;
pub mod progress;
pub mod random;
pub mod recording;
pub mod replay;
pub mod report;
pub mod saturation;
pub mod scenario;
pub mod server;
pub mod trace;
mod yaml;

pub use duration::GoDuration;
pub use error::Error;
pub use progress::Progress;

/// The mode's name in reports.
pub(crate) fn mode_name(mode: apf_core::Mode) -> &'static str {
    match mode {
        apf_core::Mode::Exact => "exact",
        apf_core::Mode::Default => "default",
    }
}
