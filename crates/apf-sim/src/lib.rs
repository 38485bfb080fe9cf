//! Deterministic simulation and audit-log replay of API Priority and Fairness.

pub mod audit;
pub mod duration;
pub mod error;
pub mod event_queue;
pub mod progress;
pub mod random;

pub use duration::GoDuration;
pub use error::Error;
pub use progress::Progress;
