//! The simulator's whole server in exact mode, one step at a time.

use std::collections::BTreeMap;

use apf_config::attributes::{RequestAttributes, Resource, Target};
use apf_config::objects::Objects;
use apf_config::plan::PlannedLevel;
use apf_core::{
    Adjusted, Arrival, Arrived, Borrower, Cancelled, Cause, Dealer, Level, Mode, Outcome, Queuing, RequestId,
    RequestState, TakeAll, WorkEstimate, adjust,
};
use apf_sim::server::{LevelKey, ServerLevel, ServerOptions};

use crate::coverage::Coverage;
use crate::objects::{FlowSchema, PriorityLevel};
use crate::wire::{
    Answer, Attributes, Case, Class, ConditionUpdate, ConfigState, EndState, Ended, LevelState, Occupied,
    StartState, Started, Step, Work,
};

/// An allocation this close to a half may be rounded either way: the reference sums in random order.
const LEAST_ERROR: f64 = 1e-6;

/// A target below this counts as this, on both sides.
const LEAST_TARGET: f64 = 0.001;

/// A current limit that the order of a sum may change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LooseLimit {
    /// Name of the level.
    pub level: String,
    /// By how many seats at most.
    pub by: i64,
}

/// Our side of a case.
#[derive(Debug, Default)]
pub struct Run {
    /// An answer for each step that was run.
    pub answers: Vec<Answer>,
    /// By step: the current limits that are within rounding error of another one.
    pub loose: Vec<Vec<LooseLimit>>,
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
        server.note_refused_removals();
        if server.refused_a_removal {
            run.ended_early = true;
            break;
        }
        run.answers.push(answer);
        run.loose.push(std::mem::take(&mut server.loose));
    }
    Ok(run)
}

struct Server {
    objects: Objects,
    inner: apf_sim::server::Server,
    in_flight: BTreeMap<u64, (LevelKey, RequestId)>,
    loose: Vec<LooseLimit>,
    /// Whether a level has refused to remove a queue twice, where the reference goes on and breaks.
    refused_a_removal: bool,
}

impl Server {
    fn new(server_limit: u32) -> Result<Self, String> {
        let objects = Objects::default();
        let options = ServerOptions::new(Mode::Exact);
        let inner = apf_sim::server::Server::new(options, objects.clone(), server_limit, 0)
            .map_err(|error| error.to_string())?;
        Ok(Self { objects, inner, in_flight: BTreeMap::new(), loose: Vec::new(), refused_a_removal: false })
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
                self.inner.adjust(*at, &mut TakeAll).map_err(|error| error.to_string())?;
                self.note_adjustment(coverage);
                Ok(Answer { adjusted: Some(self.states()), ..Answer::default() })
            }
        }
    }

    /// Lets each delayed release take place at its own time, as the reference's clock does.
    fn release_until(&mut self, now: u64) {
        for key in self.inner.keys().to_vec() {
            while let Some(due) = self.inner.level(key).level().next_release().filter(|due| *due <= now) {
                self.inner.tick(due, key, &mut TakeAll);
            }
        }
        self.note_refused_removals();
    }

    fn note_refused_removals(&mut self) {
        let refused = |level: &ServerLevel| level.level().counters().removals_refused > 0;
        self.refused_a_removal |= self.inner.levels().any(refused);
    }

    fn replace(&mut self, priority_levels: &[PriorityLevel], flow_schemas: &[FlowSchema]) {
        self.objects = Objects {
            priority_levels: priority_levels.iter().map(Into::into).collect(),
            flow_schemas: flow_schemas.iter().map(Into::into).collect(),
        };
    }

    fn digest(&mut self, at: u64, coverage: &mut Coverage) -> Result<ConfigState, String> {
        let before = self.inner.plan().clone();
        self.inner
            .reconfigure(at, self.objects.clone(), before.server_limit(), &mut TakeAll)
            .map_err(|error| error.to_string())?;
        coverage.digested(&before, self.inner.plan());
        Ok(self.digested(coverage))
    }

    /// What a digestion has left behind.
    fn digested(&mut self, coverage: &mut Coverage) -> ConfigState {
        self.note_adjustment(coverage);
        ConfigState {
            schemas: self.inner.plan().schemas().iter().map(|schema| schema.name.clone()).collect(),
            condition_updates: self.condition_updates(),
            levels: self.states(),
        }
    }

    /// Only a condition that would change is written.
    fn condition_updates(&self) -> Vec<ConditionUpdate> {
        let mut updates: Vec<ConditionUpdate> = self
            .inner
            .plan()
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

    /// Notes how the adjustment that has just taken place came about. Its input is still there, but for the
    /// limits before it, which decide nothing here.
    fn note_adjustment(&mut self, coverage: &mut Coverage) {
        let borrowers: Vec<Borrower> = self
            .planned()
            .map(|(planned, level)| Borrower {
                exempt: planned.shares.exempt,
                limits: planned.limits,
                stats: level.demand(),
                current: level.current(),
            })
            .collect();
        let mut adjusted = vec![Adjusted::default(); borrowers.len()];
        let outcome = adjust(Mode::Exact, &borrowers, &mut adjusted);
        coverage.adjusted(outcome, &borrowers, &adjusted);
        self.loose.extend(loose_limits(outcome, &borrowers, &adjusted, self.inner.plan().levels()));
    }

    /// The levels, by name.
    fn planned(&self) -> impl Iterator<Item = (&PlannedLevel, &ServerLevel)> {
        self.inner.plan().levels().iter().zip(self.inner.levels())
    }

    fn states(&self) -> Vec<LevelState> {
        self.planned().map(|(planned, level)| state(planned, level)).collect()
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
        let plan = self.inner.plan();
        let found = plan.classify(&attributes);
        let schema = plan.schemas().get(found.schema).ok_or("classified to a schema that is not there")?;
        let level = plan.levels().get(found.level).ok_or("classified to a level that is not there")?;
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
        let key = self.inner.level_named(&class.level).ok_or("a planned level does not run")?;
        let work = WorkEstimate {
            initial_seats: work.initial_seats,
            final_seats: work.final_seats,
            additional_latency: work.additional_latency,
        };
        let arrival = Arrival { flow_hash: class.flow_hash, work, token: handle };
        let arrived = self
            .inner
            .arrive(at, key, arrival, &mut TakeAll)
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
            let level = self.inner.level(key).level();
            let view = level.request(id).ok_or("a request is gone that has just arrived")?;
            queue = view.queue.map_or(-1, i64::from);
            self.in_flight.insert(handle, (key, id));
        }
        let level = Some(occupied(self.inner.level(key).level()));
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
        let Some(&(key, id)) = self.in_flight.get(&handle) else {
            return Ok(Answer { ended: ended(EndState::None), ..Answer::default() });
        };
        let (before, generation) = (self.inner.plan().clone(), self.inner.generation());
        let level = self.inner.level(key).level();
        let view = level.request(id).ok_or("a request is gone that has not ended")?;
        let was = match view.state {
            RequestState::Waiting => match self.inner.cancel(at, key, id, Cause::TimeOut, &mut TakeAll) {
                Ok(Cancelled::Removed(_)) => EndState::Ejected,
                other => return Err(format!("request {handle}: cancelling one that waits gave {other:?}")),
            },
            RequestState::Executing if only_if_waiting => EndState::Executing,
            RequestState::Executing => {
                self.inner
                    .finish(at, key, id, &mut TakeAll)
                    .map_err(|error| format!("request {handle}: {error}"))?;
                EndState::Executed
            }
            RequestState::Lingering => return Err(format!("request {handle} lingers without having ended")),
        };
        coverage.ended(was);
        if was != EndState::Executing {
            self.in_flight.remove(&handle);
        }
        let level = Some(occupied(self.inner.level(key).level()));
        let mut config = None;
        if self.inner.generation() != generation {
            coverage.reaped(&before, self.inner.plan());
            config = Some(self.digested(coverage));
        }
        Ok(Answer { ended: ended(was), level, config, ..Answer::default() })
    }
}

/// The limits that may come out differently when sums are taken in another order. An allocation is a proportion
/// of the level's target; the proportion is what is left over a sum of targets from which the targets of levels that
/// have reached their upper limit were taken out again, and so inherits the rounding errors of the larger sum.
fn loose_limits(
    outcome: Outcome,
    borrowers: &[Borrower],
    adjusted: &[Adjusted],
    levels: &[PlannedLevel],
) -> Vec<LooseLimit> {
    let Outcome::Fair { proportion } = outcome else { return Vec::new() };
    let limited = || borrowers.iter().zip(adjusted).zip(levels).filter(|((borrower, _), _)| !borrower.exempt);
    let target = |adjusted: &Adjusted| adjusted.target.max(LEAST_TARGET);
    let sum: f64 = limited().map(|((_, adjusted), _)| target(adjusted)).sum();
    let growing: f64 = limited()
        .filter(|((borrower, adjusted), _)| proportion * target(adjusted) < f64::from(borrower.limits.max))
        .map(|((_, adjusted), _)| target(adjusted))
        .sum();
    let error = borrowers.len() as f64 * f64::EPSILON * sum / growing.max(LEAST_TARGET);
    limited()
        .filter_map(|((_, adjusted), level)| {
            let allocation = proportion * target(adjusted);
            let error = LEAST_ERROR.max(allocation * error);
            ((allocation.fract() - 0.5).abs() <= error)
                .then(|| LooseLimit { level: level.name.clone(), by: 1 + (2.0 * error) as i64 })
        })
        .collect()
}

fn state(planned: &PlannedLevel, level: &ServerLevel) -> LevelState {
    let (inner, demand) = (level.level(), level.demand());
    let (queues, hand_size, queue_length_limit) = match inner.queuing() {
        Queuing::Exempt => (-1, 0, 0),
        Queuing::Reject => (0, 0, 0),
        Queuing::Queue { queues, hand_size, queue_length_limit } => {
            (queues.into(), hand_size.into(), queue_length_limit.into())
        }
    };
    LevelState {
        name: planned.name.clone(),
        quiescing: level.is_quiescing(),
        nominal: level.limits().nominal.into(),
        min: level.limits().min.into(),
        max: level.limits().max.into(),
        current: level.current().into(),
        max_seats: planned.max_seats.into(),
        applied: inner.concurrency_limit() as i64,
        queues,
        hand_size,
        queue_length_limit,
        high_watermark: demand.high_watermark.into(),
        average: demand.average,
        deviation: demand.deviation,
        smoothed: demand.smoothed,
        occupied: occupied(inner),
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
