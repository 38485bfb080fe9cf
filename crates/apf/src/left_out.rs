//! What of a configuration takes no part.

use std::fmt;

use apf_config::plan::Plan;

use crate::dispatcher::Dispatcher;

/// An object of the current configuration that takes no part. `Display` is a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// `FlowSchema` or `PriorityLevelConfiguration`.
    pub kind: &'static str,
    /// Its name.
    pub name: String,
    /// Why.
    pub why: String,
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, name, why } = self;
        write!(f, "{kind} {name:?}: {why}")
    }
}

impl LeftOut {
    fn of(plan: &Plan) -> Vec<Self> {
        let levels = plan.ignored_levels().iter().map(|level| Self {
            kind: "PriorityLevelConfiguration",
            name: level.name.clone(),
            why: level.defect.to_string(),
        });
        let schemas = plan.statuses().iter().filter(|schema| schema.ignored.is_some());
        let schemas = schemas.map(|schema| Self {
            kind: "FlowSchema",
            name: schema.name.clone(),
            why: match &schema.ignored {
                Some(defect) if !schema.dangling => defect.to_string(),
                _ => schema.condition().message,
            },
        });
        levels.chain(schemas).collect()
    }
}

impl Dispatcher {
    /// What of the current configuration takes no part: levels that are not acceptable, and schemas whose level is
    /// missing or not acceptable. Empty when everything does.
    pub fn objects_left_out(&self) -> Vec<LeftOut> {
        LeftOut::of(&self.engine().snapshot.load().plan)
    }

    /// As [`Dispatcher::objects_left_out`], one sentence an object.
    pub fn left_out(&self) -> Vec<String> {
        self.objects_left_out().iter().map(LeftOut::to_string).collect()
    }
}
