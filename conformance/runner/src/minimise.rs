//! Shortens a trace on which the two sides differ.

use crate::Failure;
use crate::diff::{self, Difference};
use crate::reference::Reference;
use crate::trace::Trace;

/// Drops ever smaller runs of events for as long as a difference remains, within a number of attempts.
/// An event whose request has been dropped is skipped by both sides, so every part of a trace is a trace.
///
/// # Errors
///
/// When the reference breaks.
pub fn minimise(
    trace: &Trace,
    found: Difference,
    reference: &mut Reference,
    mut attempts: usize,
) -> Result<(Trace, Difference), Failure> {
    let mut best = (diff::up_to(trace, found.event), found);
    let mut run = best.0.events.len() / 2;
    while run > 0 {
        let mut start = 0;
        while start < best.0.events.len() {
            if attempts == 0 {
                return Ok(best);
            }
            attempts -= 1;
            let mut shorter = best.0.clone();
            shorter.events.drain(start..(start + run).min(best.0.events.len()));
            match diff::compare(&shorter, reference)? {
                Some(found) => best = (diff::up_to(&shorter, found.event), found),
                None => start += run,
            }
        }
        run /= 2;
    }
    Ok(best)
}
