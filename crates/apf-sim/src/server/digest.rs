//! A configuration is put in force: levels are made, changed, set aside until idle, and dropped (spec of KEP-1040, "Reaction to
//! Configuration Changes").

use apf_config::objects::Objects;
use apf_config::plan::PlannedLevel;
use apf_core::{DemandStats, Level, Sink};

use super::{LevelKey, Presence, Server, ServerError, ServerLevel};

impl Server {
    /// Puts another configuration in force while requests are in flight, and adjusts all limits at once. Levels that it does not
    /// have stay until they are idle.
    ///
    /// # Errors
    ///
    /// The configuration cannot be digested, and nothing has changed; or there is no memory for the queues of a level.
    pub fn reconfigure(
        &mut self,
        now: u64,
        objects: Objects,
        seats: u32,
        sink: &mut impl Sink,
    ) -> Result<(), ServerError> {
        let at_work = |planned: &PlannedLevel| {
            self.plan
                .level_index(&planned.name)
                .is_some_and(|index| !self.level(self.keys[index]).level.is_idle())
        };
        let plan = self.plan.succeed(&objects, seats, at_work).map_err(ServerError::Plan)?;
        self.plan = plan;
        self.objects = objects;
        self.generation += 1;
        self.install(now)?;
        self.adjust(now, sink).map(|_| ())
    }

    /// Brings the levels in line with the plan: new ones are made, others get their limits, the rest is removed. Queues and
    /// current limits follow with the adjustment, which is due at once.
    pub(super) fn install(&mut self, now: u64) -> Result<(), ServerError> {
        let mut keys = Vec::with_capacity(self.plan.levels().len());
        for planned in self.plan.levels() {
            let known = self.levels.iter().position(|level| level.name == planned.name);
            let state = if planned.is_quiescing() { Presence::Quiescing } else { Presence::Configured };
            let key = match known {
                Some(key) if self.levels[key].state != Presence::Removed => {
                    let level = &mut self.levels[key];
                    level.limits = planned.limits;
                    level.is_exempt = planned.shares.exempt;
                    level.state = state;
                    key
                }
                _ => {
                    let initial = planned.limits.initial;
                    let level = Level::new(self.options.mode, planned.queuing, initial, now)
                        .map_err(|error| ServerError::Level(planned.name.clone(), error))?;
                    let made = ServerLevel {
                        name: planned.name.clone(),
                        level,
                        limits: planned.limits,
                        is_exempt: planned.shares.exempt,
                        current: initial,
                        stats: DemandStats::default(),
                        target: 0.0,
                        state,
                    };
                    match known {
                        Some(key) => {
                            self.levels[key] = made;
                            key
                        }
                        None => {
                            self.levels.push(made);
                            self.levels.len() - 1
                        }
                    }
                }
            };
            keys.push(LevelKey(key as u32));
        }
        for (index, level) in (0..).zip(&mut self.levels) {
            if !keys.contains(&LevelKey(index)) {
                level.state = Presence::Removed;
            }
        }
        self.keys = keys;
        Ok(())
    }

    /// Drops a quiescing level once it is idle, which gives its seats to the others.
    pub(super) fn reap(&mut self, now: u64, key: LevelKey, sink: &mut impl Sink) {
        let level = self.level(key);
        if level.state != Presence::Quiescing || !level.level.is_idle() {
            return;
        }
        let (objects, seats) = (self.objects.clone(), self.plan.server_limit());
        // The same configuration was digested before.
        let digested = self.reconfigure(now, objects, seats, sink);
        debug_assert!(digested.is_ok());
    }
}
