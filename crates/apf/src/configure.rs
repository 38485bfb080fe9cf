//! A configuration takes effect while requests are in flight, and limits follow demand.
//!
//! Levels that are new or stay are configured first, then the snapshot is swapped, and only then do levels
//! that are gone begin to quiesce: a request that was classified by the old snapshot always meets a level that
//! takes it or, once that is empty, sends it back to be classified again.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, MutexGuard, PoisonError};

use apf_config::Objects;
use apf_config::plan::{Plan, PlanError, PlannedLevel};
use apf_core::{Adjusted, Borrower, DemandStats, Level, LevelLimits, Outcome};

use crate::engine::{Engine, Flow, SchemaSlot, Snapshot};
use crate::level::LevelSlot;

/// Time between adjustments, nanoseconds (KEP-1040).
pub(crate) const ADJUSTMENT_PERIOD: u64 = 10_000_000_000;

/// The number of the next snapshot of any dispatcher.
static GENERATIONS: AtomicU64 = AtomicU64::new(1);

/// What only configuration and adjustment touch.
#[derive(Debug, Default)]
pub(crate) struct Configuration {
    pub(crate) objects: Objects,
    /// The levels of the current plan, by name.
    pub(crate) levels: BTreeMap<String, LevelState>,
}

/// One level between adjustments.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LevelState {
    pub(crate) slot: usize,
    pub(crate) limits: LevelLimits,
    pub(crate) stats: DemandStats,
    pub(crate) current: u32,
    pub(crate) target: f64,
    pub(crate) quiescing: bool,
}

impl Engine {
    pub(crate) fn configuration(&self) -> MutexGuard<'_, Configuration> {
        self.configuration.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Replaces the configuration.
    pub(crate) fn configure(&self, objects: Objects) -> Result<(), PlanError> {
        let mut configuration = self.configuration();
        let plan = {
            let snapshot = self.snapshot.load();
            let levels = &configuration.levels;
            snapshot.plan.succeed(&objects, self.server_limit, |level| self.is_at_work(levels, level))?
        };
        configuration.objects = objects;
        self.take_effect(&mut configuration, plan);
        Ok(())
    }

    /// A level that has been removed stays in the plan until its gate has found it empty.
    fn is_at_work(&self, levels: &BTreeMap<String, LevelState>, level: &PlannedLevel) -> bool {
        let slot = levels.get(&level.name).and_then(|state| self.levels.get(state.slot));
        slot.is_some_and(|slot| !slot.is_retired())
    }

    pub(crate) fn take_effect(&self, configuration: &mut Configuration, plan: Plan) {
        let now = self.clock.now();
        let mut levels = BTreeMap::new();
        for planned in plan.levels() {
            let kept = configuration.levels.get(&planned.name).copied();
            let kept =
                kept.filter(|state| self.levels.get(state.slot).is_some_and(|slot| !slot.is_retired()));
            let Some(mut state) = kept.or_else(|| self.create(planned, now)) else { continue };
            state.limits = planned.limits;
            state.quiescing = planned.is_quiescing();
            levels.insert(planned.name.clone(), state);
        }
        self.rebalance(&plan, &mut levels, now);

        let flows = plan
            .schemas()
            .iter()
            .map(|schema| {
                let level = plan.levels().get(schema.level).and_then(|level| levels.get(&level.name));
                // A level that memory did not suffice for: its requests are answered so.
                level.map_or(Flow::NOWHERE, |level| self.flow(&schema.name, level.slot))
            })
            .collect();
        self.snapshot.store(Arc::new(Snapshot { plan, flows }));
        self.generation.store(GENERATIONS.fetch_add(1, Ordering::Relaxed), Ordering::Release);

        for (name, before) in &configuration.levels {
            if levels.get(name).is_none_or(|state| state.quiescing)
                && let Some(slot) = self.levels.get(before.slot)
            {
                slot.control(now, |held| held.quiesce());
            }
        }
        configuration.levels = levels;
    }

    fn create(&self, planned: &PlannedLevel, now: u64) -> Option<LevelState> {
        let mut level = Level::new(self.mode, planned.queuing, planned.limits.initial, now).ok()?;
        level.measure_utilization(self.spare_seats());
        let index = self.levels.next_index();
        let slot = self.levels.push(LevelSlot::new(&planned.name, level, index, &self.timers));
        Some(LevelState {
            slot,
            limits: planned.limits,
            stats: DemandStats::default(),
            current: planned.limits.initial,
            target: 0.0,
            quiescing: false,
        })
    }

    /// What stands for the limit of a level that has none: a tenth of the server's seats, at least 1.
    pub(crate) fn spare_seats(&self) -> u32 {
        (f64::from(self.server_limit) / 10.0).round().max(1.0) as u32
    }

    /// The slots of a schema at a level: the ones it had before, so that its counts go on.
    pub(crate) fn flow(&self, schema: &str, level: usize) -> Flow {
        let known = self.schemas.iter().position(|slot| &*slot.name == schema && slot.level == level);
        let schema = known.unwrap_or_else(|| {
            self.schemas.push(SchemaSlot { name: schema.into(), level, counters: Default::default() })
        });
        Flow { level, schema }
    }

    /// Recomputes the current limits from the demand since last time, and gives every level its own.
    fn rebalance(&self, plan: &Plan, levels: &mut BTreeMap<String, LevelState>, now: u64) {
        for state in levels.values_mut() {
            if let Some(period) = self.levels.get(state.slot).and_then(|slot| slot.close_demand_period(now)) {
                state.stats.update(&period);
            }
        }
        let exempt = |name: &str| {
            plan.level_index(name).and_then(|at| plan.levels().get(at)).is_some_and(|l| l.shares.exempt)
        };
        let borrowers: Vec<Borrower> = levels
            .iter()
            .map(|(name, state)| Borrower {
                exempt: exempt(name),
                limits: state.limits,
                stats: state.stats,
                current: state.current,
            })
            .collect();
        let mut adjusted = vec![Adjusted::default(); borrowers.len()];
        let outcome: Outcome = apf_core::adjust(self.mode, &borrowers, &mut adjusted);
        self.fair_fraction.store(outcome.fair_fraction().to_bits(), Ordering::Relaxed);
        for ((name, state), Adjusted { current, target }) in levels.iter_mut().zip(adjusted) {
            (state.current, state.target) = (current, target);
            let Some(slot) = self.levels.get(state.slot) else { continue };
            let planned = plan.level_index(name).and_then(|at| plan.levels().get(at));
            match planned.filter(|_| !state.quiescing) {
                Some(planned) => drop(slot.reconfigure(now, planned.queuing, current)),
                None => drop(slot.control(now, move |held| held.set_limit(current))),
            }
        }
    }

    /// The periodic adjustment. A level that has become empty since it was removed leaves the plan first.
    pub(crate) fn adjust_on_time(&self, now: u64) {
        self.timers.adjust_at(now.saturating_add(ADJUSTMENT_PERIOD));
        let mut configuration = self.configuration();
        let retired = |state: &LevelState| self.levels.get(state.slot).is_none_or(LevelSlot::is_retired);
        if configuration.levels.values().any(retired) {
            let snapshot = self.snapshot.load_full();
            let levels = &configuration.levels;
            let at_work = |level: &PlannedLevel| self.is_at_work(levels, level);
            // The same objects gave a plan before.
            if let Ok(plan) = snapshot.plan.succeed(&configuration.objects, self.server_limit, at_work) {
                self.take_effect(&mut configuration, plan);
                return;
            }
        }
        let snapshot = self.snapshot.load_full();
        self.rebalance(&snapshot.plan, &mut configuration.levels, now);
    }
}
