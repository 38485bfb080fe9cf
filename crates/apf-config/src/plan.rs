//! A configuration made ready for use: levels with their limits, schemas in matching order, and an index that
//! classifies a request without trying the schemas one after another.
//!
//! Follows `pkg/util/flowcontrol/apf_controller.go` and `rule.go` of kube-apiserver. A plan never changes; a new
//! configuration makes a new plan.
//!
//! # Matching
//!
//! The first schema with a rule that matches wins, by ascending `matchingPrecedence` and then by name. A rule
//! matches when one of its subjects is the user and one of its resource rules (for a resource request) or
//! non-resource rules (for any other) accepts the rest. `*` accepts anything where it is the only entry of a
//! list; in `namespaces` it accepts any namespace but not a request without one, which `clusterScope` is for. A
//! URL accepts the path itself and all paths below it; `/a/*` accepts only those below.

mod index;
mod levels;
mod line_sets;
pub(crate) mod matching;
mod schemas;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use apf_core::{FlowHash, LevelLimits, LevelShares, Queuing, level_limits, max_seats};

pub use levels::{LevelDefect, LevelOrigin, PlannedLevel};
pub use matching::{Part, Parts};
pub use schemas::{PlannedSchema, SchemaDefect, SchemaStatus};

use crate::attributes::RequestAttributes;
use crate::bootstrap::{self, CATCH_ALL, EXEMPT};
use crate::objects::{DistinguisherMethod, FlowSchema, Objects, PriorityLevelSpec};
use index::{Answer, Index};

/// Why there is no plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlanError {
    /// The total number of seats is not in 1..=2147483647.
    TotalSeats(i64),
    /// Two PriorityLevelConfigurations have this name.
    LevelTwice(String),
    /// Two FlowSchemas have this name.
    SchemaTwice(String),
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TotalSeats(seats) => {
                write!(f, "the server's total number of seats must be from 1 to {}, not {seats}", i32::MAX)
            }
            Self::LevelTwice(name) => {
                write!(f, "PriorityLevelConfiguration {name:?}: metadata.name: there is another of this name")
            }
            Self::SchemaTwice(name) => {
                write!(f, "FlowSchema {name:?}: metadata.name: there is another of this name")
            }
        }
    }
}

impl std::error::Error for PlanError {}

/// Checks a total number of seats that a user gave.
///
/// # Errors
/// [`PlanError::TotalSeats`] when it is not in 1..=2147483647: with 0 seats nothing would ever run.
pub fn total_seats(seats: i64) -> Result<u32, PlanError> {
    match u32::try_from(seats) {
        Ok(total @ 1..=0x7fff_ffff) => Ok(total),
        _ => Err(PlanError::TotalSeats(seats)),
    }
}

/// A priority level object that is treated as if it did not exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IgnoredLevel {
    /// Its name.
    pub name: String,
    /// What is wrong with it.
    pub defect: LevelDefect,
}

/// Where a request goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Classified<'a> {
    /// Index of the schema among [`Plan::schemas`].
    pub schema: usize,
    /// Index of the level among [`Plan::levels`].
    pub level: usize,
    /// Flow distinguisher: user name, namespace or `""`; always `""` where the level has fewer than two queues.
    pub distinguisher: &'a str,
    /// Hash of schema name and distinguisher; 0 where the level has fewer than two queues.
    pub flow_hash: u64,
    /// Whether a schema matched; otherwise the schema is `catch-all` regardless.
    pub matched: bool,
}

/// A configuration made ready for use.
#[derive(Debug, Clone)]
pub struct Plan {
    server_limit: u32,
    flow_hash: FlowHash,
    levels: Vec<PlannedLevel>,
    schemas: Vec<PlannedSchema>,
    /// By schema, in the same order.
    flows: Vec<Flow>,
    catch_all: usize,
    statuses: Vec<SchemaStatus>,
    ignored_levels: Vec<IgnoredLevel>,
    index: Index,
}

/// How the requests of a schema are told apart.
#[derive(Debug, Clone, Copy)]
enum Flow {
    /// Not at all, under this hash.
    One(u64),
    ByUser,
    ByNamespace,
}

impl Plan {
    /// Digests a configuration for a server of `server_limit` seats.
    ///
    /// Broken objects are left out and reported by [`ignored_levels`](Self::ignored_levels) and
    /// [`statuses`](Self::statuses); mandatory objects that are missing are imagined.
    ///
    /// # Errors
    /// The limit is not in 1..=2147483647, or two objects of a kind have the same name.
    pub fn compile(objects: &Objects, server_limit: u32, flow_hash: FlowHash) -> Result<Self, PlanError> {
        Self::compile_retaining(objects, &[], server_limit, flow_hash)
    }

    /// Digests the configuration that replaces this one. Levels that it has no acceptable object for stay where
    /// `at_work` says that they have requests, until a later digestion finds them idle; mandatory ones stay in
    /// any case, as they were last specified. A level without queues keeps the width bound that it had with them.
    ///
    /// # Errors
    /// As [`compile`](Self::compile).
    pub fn succeed(
        &self,
        objects: &Objects,
        server_limit: u32,
        at_work: impl Fn(&PlannedLevel) -> bool,
    ) -> Result<Self, PlanError> {
        let retained: Vec<&PlannedLevel> =
            self.levels.iter().filter(|level| levels::is_mandatory(&level.name) || at_work(level)).collect();
        let mut plan = Self::compile_retaining(objects, &retained, server_limit, self.flow_hash)?;
        for level in plan.levels.iter_mut().filter(|level| level.max_seats == 0) {
            if let Some(before) = self.level_index(&level.name).and_then(|at| self.levels.get(at)) {
                level.max_seats = before.max_seats;
            }
        }
        Ok(plan)
    }

    fn compile_retaining(
        objects: &Objects,
        retained: &[&PlannedLevel],
        server_limit: u32,
        flow_hash: FlowHash,
    ) -> Result<Self, PlanError> {
        total_seats(i64::from(server_limit))?;
        refuse_twins(objects)?;

        let mut ignored_levels = Vec::new();
        let mut levels = BTreeMap::new();
        let mut accept = |name: &str, uid: &str, spec: &PriorityLevelSpec, origin| match planned_level(
            name, uid, spec, origin,
        ) {
            Ok(level) => {
                levels.entry(name.to_owned()).or_insert(level);
            }
            Err(defect) => ignored_levels.push(IgnoredLevel { name: name.to_owned(), defect }),
        };
        for level in &objects.priority_levels {
            accept(&level.metadata.name, &level.metadata.uid, &level.spec, LevelOrigin::Object);
        }
        for level in retained {
            let origin = match level.origin {
                LevelOrigin::Imagined => LevelOrigin::Imagined,
                LevelOrigin::Object | LevelOrigin::Retained => LevelOrigin::Retained,
            };
            accept(&level.name, &level.uid, &level.spec, origin);
        }
        let mandatory = bootstrap::mandatory();
        for level in &mandatory.priority_levels {
            accept(&level.metadata.name, "", &level.spec, LevelOrigin::Imagined);
        }

        let mut levels: Vec<PlannedLevel> = levels.into_values().collect();
        set_limits(&mut levels, server_limit);

        let statuses: Vec<SchemaStatus> =
            objects.flow_schemas.iter().map(|schema| schema_status(schema, &levels)).collect();
        let schemas = matching_order(&objects.flow_schemas, &statuses, &mandatory.flow_schemas, &levels);
        let flows = schemas.iter().map(|schema| flow(schema, &levels, flow_hash)).collect();
        let catch_all = schemas.iter().position(|schema| schema.name == CATCH_ALL).unwrap_or(0);
        let index = Index::new(schemas.iter().map(|schema| &schema.spec));
        Ok(Plan {
            server_limit,
            flow_hash,
            levels,
            schemas,
            flows,
            catch_all,
            statuses,
            ignored_levels,
            index,
        })
    }

    /// Classifies a request. Total: whatever the request, it has a schema and a level. Allocates nothing.
    pub fn classify<'a>(&self, request: &RequestAttributes<'a>) -> Classified<'a> {
        let found = match self.index.find(request) {
            Answer::Schema(schema) => Some(schema),
            Answer::None => None,
            Answer::Walk => self.first_match(request),
        };
        self.classified(found, request)
    }

    /// The levels, by name.
    pub fn levels(&self) -> &[PlannedLevel] {
        &self.levels
    }

    /// The index of the level of this name among [`levels`](Self::levels).
    pub fn level_index(&self, name: &str) -> Option<usize> {
        self.levels.binary_search_by(|level| level.name.as_str().cmp(name)).ok()
    }

    /// The schemas, in matching order.
    pub fn schemas(&self) -> &[PlannedSchema] {
        &self.schemas
    }

    /// What became of each FlowSchema object, in the order given.
    pub fn statuses(&self) -> &[SchemaStatus] {
        &self.statuses
    }

    /// The PriorityLevelConfiguration objects that are treated as if they did not exist.
    pub fn ignored_levels(&self) -> &[IgnoredLevel] {
        &self.ignored_levels
    }

    /// Total seats of the server, 1..=2147483647.
    pub fn server_limit(&self) -> u32 {
        self.server_limit
    }

    /// The hash that flows are told apart by.
    pub fn flow_hash(&self) -> FlowHash {
        self.flow_hash
    }

    /// Sum of all nominal limits in seats; more than the server has where shares do not divide evenly.
    pub fn nominal_sum(&self) -> u64 {
        self.levels.iter().map(|level| u64::from(level.limits.nominal)).sum()
    }

    fn first_match(&self, request: &RequestAttributes<'_>) -> Option<usize> {
        self.schemas.iter().position(|schema| matching::schema_matches(&schema.spec, request))
    }

    pub(crate) fn classified<'a>(
        &self,
        found: Option<usize>,
        request: &RequestAttributes<'a>,
    ) -> Classified<'a> {
        let schema = found.unwrap_or(self.catch_all);
        let (name, level) =
            self.schemas.get(schema).map_or(("", 0), |schema| (schema.name.as_str(), schema.level));
        let (distinguisher, flow_hash) = match self.flows.get(schema) {
            Some(Flow::ByUser) => (request.user, self.flow_hash.hash(name, request.user)),
            Some(Flow::ByNamespace) => {
                let namespace = request.namespace();
                (namespace, self.flow_hash.hash(name, namespace))
            }
            Some(Flow::One(hash)) => ("", *hash),
            None => ("", 0),
        };
        Classified { schema, level, distinguisher, flow_hash, matched: found.is_some() }
    }
}

fn refuse_twins(objects: &Objects) -> Result<(), PlanError> {
    let mut names = BTreeSet::new();
    for level in &objects.priority_levels {
        if !names.insert(&level.metadata.name) {
            return Err(PlanError::LevelTwice(level.metadata.name.clone()));
        }
    }
    names.clear();
    for schema in &objects.flow_schemas {
        if !names.insert(&schema.metadata.name) {
            return Err(PlanError::SchemaTwice(schema.metadata.name.clone()));
        }
    }
    Ok(())
}

fn planned_level(
    name: &str,
    uid: &str,
    spec: &PriorityLevelSpec,
    origin: LevelOrigin,
) -> Result<PlannedLevel, LevelDefect> {
    let (queuing, shares) = levels::digest(name, spec)?;
    Ok(PlannedLevel {
        name: name.to_owned(),
        uid: uid.to_owned(),
        spec: spec.clone(),
        origin,
        queuing,
        shares,
        limits: LevelLimits::default(),
        max_seats: 0,
    })
}

fn set_limits(levels: &mut [PlannedLevel], server_limit: u32) {
    let shares: Vec<LevelShares> = levels.iter().map(|level| level.shares).collect();
    let mut limits = vec![LevelLimits::default(); shares.len()];
    // Neither of its errors can occur: the limit was checked, and the slices are equally long.
    let computed = level_limits(server_limit, &shares, &mut limits);
    debug_assert!(computed.is_ok());
    for (level, limits) in levels.iter_mut().zip(limits) {
        level.limits = limits;
        if let Queuing::Queue { hand_size, .. } = level.queuing {
            level.max_seats = max_seats(limits.nominal, hand_size);
        }
    }
}

/// The level that a schema object may use: one that has an acceptable object of its own.
fn usable_level(name: &str, levels: &[PlannedLevel]) -> Option<usize> {
    let at = levels.binary_search_by(|level| level.name.as_str().cmp(name)).ok()?;
    levels.get(at).filter(|level| level.origin == LevelOrigin::Object).map(|_| at)
}

fn schema_status(schema: &FlowSchema, levels: &[PlannedLevel]) -> SchemaStatus {
    let dangling = usable_level(&schema.spec.priority_level, levels).is_none();
    let ignored = match &schema.spec.distinguisher_method {
        _ if dangling => Some(SchemaDefect::Dangling),
        Some(DistinguisherMethod::Unknown(kind)) => Some(SchemaDefect::UnknownDistinguisher(kind.clone())),
        _ => None,
    };
    SchemaStatus {
        name: schema.metadata.name.clone(),
        level: schema.spec.priority_level.clone(),
        dangling,
        ignored,
    }
}

fn matching_order(
    objects: &[FlowSchema],
    statuses: &[SchemaStatus],
    mandatory: &[FlowSchema],
    levels: &[PlannedLevel],
) -> Vec<PlannedSchema> {
    let mut schemas: Vec<PlannedSchema> = objects
        .iter()
        .zip(statuses)
        .filter(|(_, status)| status.ignored.is_none())
        .filter_map(|(schema, _)| {
            Some(PlannedSchema {
                name: schema.metadata.name.clone(),
                uid: schema.metadata.uid.clone(),
                spec: schema.spec.clone(),
                level: usable_level(&schema.spec.priority_level, levels)?,
                imagined: false,
            })
        })
        .collect();
    schemas.sort_by(|a, b| (a.spec.matching_precedence, &a.name).cmp(&(b.spec.matching_precedence, &b.name)));
    for missing in mandatory {
        let name = &missing.metadata.name;
        if schemas.iter().all(|schema| schema.name != *name) {
            // Imagined schemas stand at the ends whatever the precedence of the others.
            let place = if name == EXEMPT { 0 } else { schemas.len() };
            schemas.insert(place, imagined_schema(missing, levels));
        }
    }
    schemas
}

fn imagined_schema(mandatory: &FlowSchema, levels: &[PlannedLevel]) -> PlannedSchema {
    let FlowSchema { metadata, spec, .. } = mandatory.clone();
    let level = levels.iter().position(|level| level.name == spec.priority_level).unwrap_or(0);
    PlannedSchema { name: metadata.name, uid: String::new(), spec, level, imagined: true }
}

fn flow(schema: &PlannedSchema, levels: &[PlannedLevel], hash: FlowHash) -> Flow {
    match levels.get(schema.level).map(|level| level.queuing) {
        Some(Queuing::Queue { queues: 2.., .. }) => match schema.spec.distinguisher_method {
            Some(DistinguisherMethod::ByUser) => Flow::ByUser,
            Some(DistinguisherMethod::ByNamespace) => Flow::ByNamespace,
            _ => Flow::One(hash.hash(&schema.name, "")),
        },
        _ => Flow::One(0),
    }
}
