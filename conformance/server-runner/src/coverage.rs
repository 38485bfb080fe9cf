//! What a run has met: a check that meets nothing checks nothing.

use std::fmt;

use apf_config::objects::DistinguisherMethod;
use apf_config::plan::{Classified, LevelDefect, Plan, PlannedLevel, PlannedSchema};
use apf_core::{Adjusted, Borrower, Outcome, Queuing};

use crate::wire::{Attributes, EndState, StartState};

/// Declares the counters with what they count and how many of them a run must meet for every 100
/// configurations.
macro_rules! counters {
    ($($field:ident: $least:literal, $what:literal;)*) => {
        /// Counts of what was met.
        #[derive(Debug, Clone, Default, PartialEq, Eq)]
        pub struct Coverage {
            $(#[doc = $what] pub $field: u64,)*
        }

        impl Coverage {
            /// Adds the counts of another run.
            pub fn add(&mut self, other: &Self) {
                $(self.$field += other.$field;)*
            }

            /// What was counted, how often it was met, and the least for a run of 100 configurations.
            pub fn rows(&self) -> Vec<(&'static str, u64, u64)> {
                vec![$(($what, self.$field, $least),)*]
            }
        }
    };
}

counters! {
    digestions: 100, "digestions";
    ignored_levels: 20, "levels ignored";
    null_exempt: 5, "exempt level ignored for a null spec.exempt";
    dangling: 100, "dangling schemas";
    schemas_twice_a_precedence: 100, "schemas of equal precedence";
    imagined_schemas: 20, "mandatory schemas imagined";
    retained_mandatory: 10, "mandatory levels kept without an object";
    quiescing: 20, "quiescing levels";
    reaped: 10, "quiescing levels dropped as soon as they were idle";
    back_from_quiescing: 2, "quiescing levels that came back";
    carried_max_seats: 20, "width bounds kept after a level lost its queues";
    adjusted_fair: 100, "adjustments: fair";
    adjusted_squeezed: 5, "adjustments: squeezed";
    adjusted_minimums: 20, "adjustments: minimums only";
    adjusted_impossible: 20, "adjustments: impossible";
    at_upper_limit: 20, "fair limits: at the upper limit";
    at_recent_demand: 50, "fair limits: at recent demand or the lower limit";
    in_proportion: 100, "fair limits: in proportion";
    resource_requests: 500, "resource requests";
    cluster_requests: 100, "resource requests without a namespace";
    subresource_requests: 100, "requests for a subresource";
    url_requests: 200, "non-resource requests";
    subtree_matches: 20, "URLs matched above the path";
    groupless_requests: 20, "users without groups";
    crowded_requests: 20, "users of more than 40 groups";
    matched_user: 50, "matched by a user";
    matched_any_user: 5, "matched by user *";
    matched_group: 50, "matched by a group";
    matched_any_group: 5, "matched by group *";
    matched_account: 5, "matched by a service account";
    matched_any_account: 5, "matched by service account *";
    fallback: 20, "fell back to catch-all";
    by_user: 50, "flows by user";
    by_namespace: 50, "flows by namespace";
    by_nothing: 50, "flows by schema alone";
    without_flow: 50, "levels without flows";
    executing: 100, "arrivals that execute";
    waiting: 50, "arrivals that wait";
    rejected: 20, "arrivals turned away";
    executed: 50, "requests finished";
    ejected: 10, "requests cancelled while waiting";
    cancelled_late: 10, "cancels that came too late";
}

impl Coverage {
    pub(crate) fn digested(&mut self, before: &Plan, after: &Plan) {
        self.digestions += 1;
        self.ignored_levels += after.ignored_levels().len() as u64;
        let null_exempt = |level: &&apf_config::plan::IgnoredLevel| {
            level.name == "exempt" && level.defect == LevelDefect::ExemptMismatch
        };
        self.null_exempt += after.ignored_levels().iter().filter(null_exempt).count() as u64;
        self.dangling += after.statuses().iter().filter(|status| status.dangling).count() as u64;
        let equal = |pair: &&[PlannedSchema]| matches!(pair, [a, b] if a.spec.matching_precedence == b.spec.matching_precedence);
        self.schemas_twice_a_precedence += after.schemas().windows(2).filter(equal).count() as u64;
        self.imagined_schemas += after.schemas().iter().filter(|schema| schema.imagined).count() as u64;
        for level in after.levels() {
            self.quiescing += u64::from(level.is_quiescing());
            let was = before.level_index(&level.name).and_then(|index| before.levels().get(index));
            let retained = level.origin == apf_config::plan::LevelOrigin::Retained && !level.is_quiescing();
            self.retained_mandatory += u64::from(retained);
            let returned = was.is_some_and(PlannedLevel::is_quiescing) && !level.is_quiescing();
            self.back_from_quiescing += u64::from(returned);
            let has_queues = matches!(level.queuing, Queuing::Queue { .. });
            self.carried_max_seats += u64::from(!has_queues && level.max_seats > 0);
        }
    }

    pub(crate) fn reaped(&mut self, before: &Plan, after: &Plan) {
        self.reaped += before.levels().len().saturating_sub(after.levels().len()) as u64;
    }

    pub(crate) fn adjusted(&mut self, outcome: Outcome, borrowers: &[Borrower], adjusted: &[Adjusted]) {
        match outcome {
            Outcome::Fair { proportion } => {
                self.adjusted_fair += 1;
                for (borrower, adjusted) in borrowers.iter().zip(adjusted).filter(|(b, _)| !b.exempt) {
                    let share = adjusted.target * proportion;
                    if share >= f64::from(borrower.limits.max) {
                        self.at_upper_limit += 1;
                    } else if share < f64::from(adjusted.current) - 0.5 {
                        self.at_recent_demand += 1;
                    } else {
                        self.in_proportion += 1;
                    }
                }
            }
            Outcome::Squeezed => self.adjusted_squeezed += 1,
            Outcome::MinimumsOnly => self.adjusted_minimums += 1,
            Outcome::Impossible => self.adjusted_impossible += 1,
            Outcome::OutOfMemory => {}
        }
    }

    pub(crate) fn classified(
        &mut self,
        found: &Classified<'_>,
        schema: &PlannedSchema,
        level: &PlannedLevel,
        request: &Attributes,
    ) {
        if request.is_resource {
            self.resource_requests += 1;
            self.cluster_requests += u64::from(request.namespace.is_empty());
            self.subresource_requests += u64::from(!request.subresource.is_empty());
        } else {
            self.url_requests += 1;
        }
        self.crowded_requests += u64::from(request.groups.len() > 40);
        self.groupless_requests += u64::from(request.groups.is_empty());
        match (level.queuing, &schema.spec.distinguisher_method) {
            (Queuing::Queue { queues: 2.., .. }, Some(DistinguisherMethod::ByUser)) => self.by_user += 1,
            (Queuing::Queue { queues: 2.., .. }, Some(DistinguisherMethod::ByNamespace)) => {
                self.by_namespace += 1
            }
            (Queuing::Queue { queues: 2.., .. }, _) => self.by_nothing += 1,
            _ => self.without_flow += 1,
        }
        if !found.matched {
            self.fallback += 1;
            return;
        }
        self.matched(schema, request);
    }

    /// Counts the kinds of subjects that fit, in whichever rule; which rule decided is not known here.
    fn matched(&mut self, schema: &PlannedSchema, request: &Attributes) {
        for rule in &schema.spec.rules {
            for subject in &rule.subjects {
                match (subject.kind.as_str(), &subject.user, &subject.group, &subject.service_account) {
                    ("User", Some(name), ..) if name == "*" => self.matched_any_user += 1,
                    ("User", Some(name), ..) if *name == request.user => self.matched_user += 1,
                    ("Group", _, Some(name), _) if name == "*" => self.matched_any_group += 1,
                    ("Group", _, Some(name), _) if request.groups.contains(name) => self.matched_group += 1,
                    ("ServiceAccount", .., Some(account)) => {
                        let prefix = format!("system:serviceaccount:{}:", account.namespace);
                        match request.user.strip_prefix(&prefix) {
                            Some(_) if account.name == "*" => self.matched_any_account += 1,
                            Some(name) if name == account.name => self.matched_account += 1,
                            _ => {}
                        }
                    }
                    _ => {}
                }
            }
            let above = |url: &String| {
                url != "*" && *url != request.path && request.path.starts_with(url.trim_end_matches('*'))
            };
            if !request.is_resource
                && rule.non_resource_rules.iter().any(|entry| entry.non_resource_urls.iter().any(above))
            {
                self.subtree_matches += 1;
            }
        }
    }

    pub(crate) fn started(&mut self, state: StartState) {
        match state {
            StartState::Executing => self.executing += 1,
            StartState::Waiting => self.waiting += 1,
            StartState::Rejected => self.rejected += 1,
        }
    }

    pub(crate) fn ended(&mut self, was: EndState) {
        match was {
            EndState::Executed => self.executed += 1,
            EndState::Ejected => self.ejected += 1,
            EndState::Executing => self.cancelled_late += 1,
            EndState::None => {}
        }
    }

    /// What a run of `configurations` met too rarely.
    pub fn missed(&self, configurations: u64) -> Vec<String> {
        self.rows()
            .into_iter()
            .filter_map(|(what, met, least)| {
                let least = least * configurations / 100;
                (met < least).then(|| format!("{what}: {met}, must be at least {least}"))
            })
            .collect()
    }
}

impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (what, met, _) in self.rows() {
            writeln!(f, "{met:>9}  {what}")?;
        }
        Ok(())
    }
}
