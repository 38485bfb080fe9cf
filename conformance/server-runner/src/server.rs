//! A whole server put together from `apf-config` and `apf-core` in exact mode, one step at a time.

use std::collections::BTreeMap;

use apf_config::attributes::{RequestAttributes, Resource, Target};
use apf_config::objects::Objects;
use apf_config::plan::{Plan, PlannedLevel};
use apf_core::{
    Adjusted, Arrival, Arrived, Borrower, Cancelled, Cause, Dealer, DemandStats, FlowHash, Level, Mode,
    Outcome, Queuing, RequestId, RequestState, TakeAll, WorkEstimate, adjust,
};

use crate::coverage::Coverage;
use crate::objects::{FlowSchema, PriorityLevel};
use crate::wire::{
    Answer, Attributes, Case, Class, ConditionUpdate, ConfigState, EndState, Ended, LevelState, Occupied,
    StartState, Started, Step, Work,
};

/// An allocation this close to a half may be rounded either way: the reference sums in random order.
const NEAR_HALF: f64 = 1e-6;

/// Our side of a case.
#[derive(Debug, Default)]
pub struct Run {
    /// An answer for each step that was run.
    pub answers: Vec<Answer>,
    /// By step: the levels whose new limit was within rounding error of a half.
    pub near_half: Vec<Vec<String>>,
    /// Whether the case ended before its last step, where the reference would remove a queue twice.
    pub ended_early: bool,
    /// What was met.
    pub coverage: Coverage,
}

/// Runs a case until its end, or until the step at which the reference can no longer be followed.
///
/// # Errors
///
/// Says what went wrong where our side cannot go on at all: that is a finding of its own.
pub fn run(case: &Case) -> Result<Run, String> {
    let mut server = Server::new(case.server_limit)?;
    let mut run = Run::default();
    for step in &case.steps {
        let answer = server.step(step, &mut run.coverage)?;
        if server.refused_a_removal() {
            run.ended_early = true;
            break;
        }
        run.answers.push(answer);
        run.near_half.push(std::mem::take(&mut server.near_half));
    }
    Ok(run)
}

struct Running {
    level: Level,
    stats: DemandStats,
    current: u32,
}

struct Server {
    objects: Objects,
    plan: Plan,
    levels: BTreeMap<String, Running>,
    in_flight: BTreeMap<u64, (String, RequestId)>,
    near_half: Vec<String>,
}

impl Server {
    fn new(server_limit: u32) -> Result<Self, String> {
        let objects = Objects::default();
        let plan =
            Plan::compile(&objects, server_limit, FlowHash::Sha256).map_err(|error| error.to_string())?;
        let mut server = Self {
            objects,
            plan,
            levels: BTreeMap::new(),
            in_flight: BTreeMap::new(),
            near_half: Vec::new(),
        };
        server.digest(0, &mut Coverage::default())?;
        Ok(server)
    }

    fn step(&mut self, step: &Step, coverage: &mut Coverage) -> Result<Answer, String> {
        self.release_until(step.at());
        match step {
            Step::Replace { at, priority_levels, flow_schemas } => {
                self.replace(priority_levels, flow_schemas);
                let config = self.digest(*at, coverage)?;
                Ok(Answer { config: Some(config), ..Answer::default() })
            }
            Step::Digest { at } => {
                let config = self.digest(*at, coverage)?;
                Ok(Answer { config: Some(config), ..Answer::default() })
            }
            Step::Classify { request, .. } => {
                let class = self.classify(request, coverage)?;
                Ok(Answer { class: Some(class), ..Answer::default() })
            }
            Step::Start { at, handle, request, work } => self.start(*at, *handle, request, *work, coverage),
            Step::Finish { at, handle } => self.end(*at, *handle, false, coverage),
            Step::Cancel { at, handle } => self.end(*at, *handle, true, coverage),
            Step::Adjust { at } => {
                self.adjust(*at, coverage)?;
                Ok(Answer { adjusted: Some(self.states()), ..Answer::default() })
            }
        }
    }

    /// Lets each delayed release take place at its own time, as the reference's clock does.
    fn release_until(&mut self, now: u64) {
        for running in self.levels.values_mut() {
            while let Some(due) = running.level.next_release().filter(|due| *due <= now) {
                running.level.tick(due, &mut TakeAll);
            }
        }
    }

    fn refused_a_removal(&self) -> bool {
        self.levels.values().any(|running| running.level.counters().removals_refused > 0)
    }

    fn replace(&mut self, priority_levels: &[PriorityLevel], flow_schemas: &[FlowSchema]) {
        self.objects = Objects {
            priority_levels: priority_levels.iter().map(Into::into).collect(),
            flow_schemas: flow_schemas.iter().map(Into::into).collect(),
        };
    }

    fn digest(&mut self, at: u64, coverage: &mut Coverage) -> Result<ConfigState, String> {
        let before = self.plan.clone();
        let at_work = |level: &PlannedLevel| {
            self.levels.get(&level.name).is_some_and(|running| !running.level.is_idle())
        };
        self.plan = before
            .succeed(&self.objects, before.server_limit(), at_work)
            .map_err(|error| error.to_string())?;

        let mut kept = std::mem::take(&mut self.levels);
        for level in self.plan.levels() {
            let running = match kept.remove(&level.name) {
                Some(running) => running,
                None => Running {
                    level: Level::new(Mode::Exact, level.queuing, level.limits.initial, at)
                        .map_err(|error| format!("level {}: {error}", level.name))?,
                    stats: DemandStats::default(),
                    current: level.limits.initial,
                },
            };
            self.levels.insert(level.name.clone(), running);
        }
        coverage.digested(&before, &self.plan);
        self.adjust(at, coverage)?;
        Ok(ConfigState {
            schemas: self.plan.schemas().iter().map(|schema| schema.name.clone()).collect(),
            condition_updates: self.condition_updates(),
            levels: self.states(),
        })
    }

    /// Only a condition that would change is written.
    fn condition_updates(&self) -> Vec<ConditionUpdate> {
        let mut updates: Vec<ConditionUpdate> = self
            .plan
            .statuses()
            .iter()
            .zip(&self.objects.flow_schemas)
            .filter_map(|(status, schema)| {
                let wanted = status.condition();
                let current = schema.conditions.iter().find(|condition| condition.kind == wanted.kind);
                let same = current.is_some_and(|current| {
                    (&current.status, &current.reason, &current.message)
                        == (&wanted.status, &wanted.reason, &wanted.message)
                });
                (!same).then(|| ConditionUpdate {
                    schema: status.name.clone(),
                    kind: wanted.kind,
                    status: wanted.status,
                    reason: wanted.reason,
                    message: wanted.message,
                })
            })
            .collect();
        updates.sort_by(|a, b| a.schema.cmp(&b.schema));
        updates
    }

    fn adjust(&mut self, at: u64, coverage: &mut Coverage) -> Result<(), String> {
        let mut borrowers = Vec::new();
        for level in self.plan.levels() {
            let running = self.levels.get_mut(&level.name).ok_or("a planned level does not run")?;
            let period = running.level.close_demand_period(at, &mut TakeAll);
            running.stats.update(&period);
            borrowers.push(Borrower {
                exempt: level.shares.exempt,
                limits: level.limits,
                stats: running.stats,
                current: running.current,
            });
        }
        let mut adjusted = vec![Adjusted::default(); borrowers.len()];
        let outcome = adjust(Mode::Exact, &borrowers, &mut adjusted);
        coverage.adjusted(outcome);
        self.near_half = self
            .plan
            .levels()
            .iter()
            .zip(&borrowers)
            .zip(&adjusted)
            .filter(|((_, borrower), adjusted)| near_half(outcome, borrower, adjusted))
            .map(|((level, _), _)| level.name.clone())
            .collect();
        for (level, adjusted) in self.plan.levels().iter().zip(adjusted) {
            let running = self.levels.get_mut(&level.name).ok_or("a planned level does not run")?;
            running.current = adjusted.current;
            running
                .level
                .reconfigure(at, level.queuing, adjusted.current, &mut TakeAll)
                .map_err(|error| format!("level {}: {error}", level.name))?;
        }
        Ok(())
    }

    fn states(&self) -> Vec<LevelState> {
        self.plan
            .levels()
            .iter()
            .filter_map(|planned| self.levels.get(&planned.name).map(|running| state(planned, running)))
            .collect()
    }

    fn classify(&self, request: &Attributes, coverage: &mut Coverage) -> Result<Class, String> {
        let groups: Vec<&str> = request.groups.iter().map(String::as_str).collect();
        let target = if request.is_resource {
            Target::Resource(Resource {
                api_group: &request.api_group,
                resource: &request.resource,
                subresource: &request.subresource,
                namespace: &request.namespace,
                ..Resource::default()
            })
        } else {
            Target::NonResource { path: &request.path }
        };
        let attributes = RequestAttributes {
            user: &request.user,
            groups: groups.as_slice().into(),
            verb: &request.verb,
            target,
        };
        let found = self.plan.classify(&attributes);
        let schema =
            self.plan.schemas().get(found.schema).ok_or("classified to a schema that is not there")?;
        let level = self.plan.levels().get(found.level).ok_or("classified to a level that is not there")?;
        coverage.classified(&found, schema, level, request);
        let hand = match level.queuing {
            Queuing::Queue { queues, hand_size, .. } => {
                let dealer = Dealer::new(queues, hand_size).map_err(|error| error.to_string())?;
                Some(dealer.deal(found.flow_hash).to_vec())
            }
            Queuing::Exempt | Queuing::Reject => None,
        };
        Ok(Class {
            schema: schema.name.clone(),
            schema_uid: schema.uid.clone(),
            level: level.name.clone(),
            level_uid: level.uid.clone(),
            distinguisher: found.distinguisher.to_owned(),
            flow_hash: found.flow_hash,
            hand,
        })
    }

    fn start(
        &mut self,
        at: u64,
        handle: u64,
        request: &Attributes,
        work: Work,
        coverage: &mut Coverage,
    ) -> Result<Answer, String> {
        let class = self.classify(request, coverage)?;
        let running = self.levels.get_mut(&class.level).ok_or("a planned level does not run")?;
        let work = WorkEstimate {
            initial_seats: work.initial_seats,
            final_seats: work.final_seats,
            additional_latency: work.additional_latency,
        };
        let arrival = Arrival { flow_hash: class.flow_hash, work, token: handle };
        let arrived = running
            .level
            .arrive(at, arrival, &mut TakeAll)
            .map_err(|error| format!("request {handle}: {error}"))?;
        let (state, id) = match arrived {
            Arrived::Executing(id) => (StartState::Executing, Some(id)),
            Arrived::Waiting(id) => (StartState::Waiting, Some(id)),
            Arrived::Rejected(_) => (StartState::Rejected, None),
            Arrived::Gone => return Err(format!("request {handle}: its grant was not taken")),
        };
        coverage.started(state);
        let mut queue = -1;
        if let Some(id) = id {
            let view = running.level.request(id).ok_or("a request is gone that has just arrived")?;
            queue = view.queue.map_or(-1, i64::from);
            self.in_flight.insert(handle, (class.level.clone(), id));
        }
        let level = Some(occupied(&running.level));
        Ok(Answer { started: Some(Started { class, state, queue }), level, ..Answer::default() })
    }

    fn end(
        &mut self,
        at: u64,
        handle: u64,
        only_if_waiting: bool,
        coverage: &mut Coverage,
    ) -> Result<Answer, String> {
        let ended = |was| Some(Ended { was });
        let Some((name, id)) = self.in_flight.get(&handle).cloned() else {
            return Ok(Answer { ended: ended(EndState::None), ..Answer::default() });
        };
        let running = self.levels.get_mut(&name).ok_or("a level is gone that has a request")?;
        let view = running.level.request(id).ok_or("a request is gone that has not ended")?;
        let was = match view.state {
            RequestState::Waiting => match running.level.cancel(at, id, Cause::TimeOut, &mut TakeAll) {
                Ok(Cancelled::Removed(_)) => EndState::Ejected,
                other => return Err(format!("request {handle}: cancelling one that waits gave {other:?}")),
            },
            RequestState::Executing if only_if_waiting => EndState::Executing,
            RequestState::Executing => {
                running
                    .level
                    .finish(at, id, &mut TakeAll)
                    .map_err(|error| format!("request {handle}: {error}"))?;
                EndState::Executed
            }
            RequestState::Lingering => return Err(format!("request {handle} lingers without having ended")),
        };
        coverage.ended(was);
        if was != EndState::Executing {
            self.in_flight.remove(&handle);
        }
        Ok(Answer { ended: ended(was), level: Some(occupied(&running.level)), ..Answer::default() })
    }
}

/// Whether the level's exact allocation is so near a half that the order of a sum decides.
fn near_half(outcome: Outcome, borrower: &Borrower, adjusted: &Adjusted) -> bool {
    let Outcome::Fair { proportion } = outcome else { return false };
    if borrower.exempt {
        return false;
    }
    let allocation = proportion * adjusted.target.max(0.001);
    (allocation.fract() - 0.5).abs() <= NEAR_HALF.max(allocation * 1e-12)
}

fn state(planned: &PlannedLevel, running: &Running) -> LevelState {
    let (queues, hand_size, queue_length_limit) = match running.level.queuing() {
        Queuing::Exempt => (-1, 0, 0),
        Queuing::Reject => (0, 0, 0),
        Queuing::Queue { queues, hand_size, queue_length_limit } => {
            (queues.into(), hand_size.into(), queue_length_limit.into())
        }
    };
    LevelState {
        name: planned.name.clone(),
        quiescing: planned.is_quiescing(),
        nominal: planned.limits.nominal.into(),
        min: planned.limits.min.into(),
        max: planned.limits.max.into(),
        current: running.current.into(),
        max_seats: planned.max_seats.into(),
        applied: running.level.concurrency_limit() as i64,
        queues,
        hand_size,
        queue_length_limit,
        high_watermark: running.stats.high_watermark.into(),
        average: running.stats.average,
        deviation: running.stats.deviation,
        smoothed: running.stats.smoothed,
        occupied: occupied(&running.level),
    }
}

fn occupied(level: &Level) -> Occupied {
    Occupied {
        waiting: level.requests_waiting(),
        seats_waiting: level.seats_waiting() as i64,
        executing: level.requests_executing(),
        seats_in_use: level.seats_in_use() as i64,
    }
}
