//! How far a long run has come.

/// Reported now and then during long work; the unit is bytes while reading and simulated nanoseconds while running.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Done so far.
    pub done: u64,
    /// All of it; 0 when that is not known, as for standard input.
    pub total: u64,
}
