//! Borrowing: the current limits of all levels follow their demand (KEP-1040, "Dispatching").

use apf_core::{Adjusted, Borrower, Outcome, Queuing, Sink, adjust};

use super::{Server, ServerError, ServerLevel};

impl Server {
    /// Ends the demand period of every level, recomputes every current limit, and reconfigures every level with its own, whether
    /// it has changed or not: a dispatch is tried everywhere.
    ///
    /// # Errors
    ///
    /// A level whose new queues there is no memory for; it keeps those it had, and every other level is adjusted.
    pub fn adjust(&mut self, now: u64, sink: &mut impl Sink) -> Result<Outcome, ServerError> {
        for &key in &self.keys {
            let level = &mut self.levels[key.0 as usize];
            let period = level.level.close_demand_period(now, sink);
            level.stats.update(&period);
        }
        let borrowers: Vec<Borrower> = self.levels().map(ServerLevel::borrower).collect();
        let mut adjusted = vec![Adjusted::default(); borrowers.len()];
        let outcome = adjust(self.options.mode, &borrowers, &mut adjusted);
        let queuing: Vec<Queuing> = self.plan.levels().iter().map(|level| level.queuing).collect();
        let mut refused = None;
        for ((&key, adjusted), queuing) in self.keys.iter().zip(adjusted).zip(queuing) {
            let level = &mut self.levels[key.0 as usize];
            level.current = adjusted.current;
            level.target = adjusted.target;
            if let Err(error) = level.level.reconfigure(now, queuing, adjusted.current, sink) {
                refused = Some(ServerError::Level(level.name.clone(), error));
            }
        }
        refused.map_or(Ok(outcome), Err)
    }
}

impl ServerLevel {
    fn borrower(&self) -> Borrower {
        Borrower { exempt: self.is_exempt, limits: self.limits, stats: self.stats, current: self.current }
    }
}
