//! Who is in the levels, for debug dumps: kept only where the host has asked for it, for it allocates for each request.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use apf_config::attributes::{RequestAttributes, Target};
use apf_core::Level;

use crate::engine::{Engine, Flow};
use crate::gate::{Held, Ticket};

/// What a dump says of a request beyond its level's own account.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequestDetails {
    /// Its FlowSchema.
    pub flow_schema: String,
    /// Its flow distinguisher.
    pub distinguisher: String,
    /// User name.
    pub user: String,
    /// Verb.
    pub verb: String,
    /// Path of a non-resource request.
    pub path: String,
    /// Namespace.
    pub namespace: String,
    /// Name of the object.
    pub name: String,
    /// `group/version`, or `version` for the core group.
    pub api_version: String,
    /// Resource.
    pub resource: String,
    /// Subresource.
    pub subresource: String,
}

impl RequestDetails {
    fn of(attributes: &RequestAttributes<'_>, flow_schema: &str, distinguisher: &str) -> Self {
        let mut details = Self {
            flow_schema: flow_schema.to_owned(),
            distinguisher: distinguisher.to_owned(),
            user: attributes.user.to_owned(),
            verb: attributes.verb.to_owned(),
            ..Self::default()
        };
        match attributes.target {
            Target::Resource(target) => {
                details.namespace = target.namespace.to_owned();
                details.name = target.name.to_owned();
                details.api_version = match target.api_group {
                    "" => target.api_version.to_owned(),
                    group => format!("{group}/{}", target.api_version),
                };
                details.resource = target.resource.to_owned();
                details.subresource = target.subresource.to_owned();
            }
            Target::NonResource { path } => details.path = path.to_owned(),
        }
        details
    }
}

/// The requests under way, by level and place in it.
#[derive(Debug, Default)]
pub(crate) struct Details(Mutex<HashMap<(usize, u64), RequestDetails>>);

impl Details {
    pub(crate) fn note(
        &self,
        flow: Flow,
        ticket: &Ticket,
        attributes: &RequestAttributes<'_>,
        flow_schema: &str,
        distinguisher: &str,
    ) {
        let details = RequestDetails::of(attributes, flow_schema, distinguisher);
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert((flow.level, ticket.token()), details);
    }

    /// Before the ticket is given up: its place may be taken by another at once.
    pub(crate) fn forget(&self, flow: Flow, ticket: &Ticket) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&(flow.level, ticket.token()));
    }

    fn of_level(&self, level: usize) -> HashMap<u64, RequestDetails> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().filter(|((of, _), _)| *of == level).map(|((_, token), d)| (*token, d.clone())).collect()
    }
}

/// A level as it was at one moment, to make dumps from.
#[derive(Debug)]
pub struct LevelCopy {
    /// Its name.
    pub name: String,
    /// Whether it has been removed and is running empty.
    pub quiescing: bool,
    /// Its state.
    pub level: Level,
    /// By the tokens of its requests; empty unless the dispatcher keeps details.
    pub details: HashMap<u64, RequestDetails>,
}

impl Engine {
    pub(crate) fn copy_levels(&self) -> Vec<LevelCopy> {
        let states: Vec<_> = {
            let configuration = self.configuration();
            configuration.levels.iter().map(|(name, state)| (name.clone(), *state)).collect()
        };
        let now = self.clock.now();
        let copy = |(name, state): (String, crate::configure::LevelState)| {
            let look = |held: &mut Held<'_>| {
                held.tick();
                held.level().clone()
            };
            let level = self.levels.get(state.slot)?.control(now, look)?;
            let details = self.details.as_ref().map(|details| details.of_level(state.slot));
            Some(LevelCopy { name, quiescing: state.quiescing, level, details: details.unwrap_or_default() })
        };
        states.into_iter().filter_map(copy).collect()
    }
}
