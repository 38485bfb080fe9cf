//! The configuration of a simulated server: the built-in objects with manifests over them.

use std::path::Path;

use apf_config::objects::Objects;
use apf_config::{Loaded, Strictness, bootstrap, load_paths};

use crate::error::Error;

/// Which built-in objects a server has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BuiltIn {
    /// The mandatory and the suggested ones, as in a new cluster.
    #[default]
    Suggested,
    /// Only those that no server is ever without.
    Mandatory,
}

/// Objects ready for a server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Configuration {
    objects: Objects,
    warnings: Vec<String>,
}

impl Configuration {
    /// The built-in objects alone.
    pub fn built_in(base: BuiltIn) -> Configuration {
        Configuration::from_objects(base, &Objects::default())
    }

    /// The built-in objects with own ones over them: an own object replaces the built-in one of its kind and name.
    pub fn from_objects(base: BuiltIn, own: &Objects) -> Configuration {
        let objects = match base {
            BuiltIn::Suggested => bootstrap::with_own(own),
            BuiltIn::Mandatory => own.clone(),
        };
        Configuration { objects, warnings: Vec::new() }
    }

    /// The built-in objects with the manifests of files and folders over them.
    ///
    /// # Errors
    ///
    /// Every finding of every manifest, a line each.
    pub fn load<P: AsRef<Path>>(base: BuiltIn, paths: &[P]) -> Result<Configuration, Error> {
        let loaded = load_paths(paths, Strictness::Strict);
        let own = accepted(&loaded)?;
        let mut configuration = Configuration::from_objects(base, own);
        configuration.warnings = loaded.diagnostics.iter().map(ToString::to_string).collect();
        Ok(configuration)
    }

    /// The objects.
    pub fn objects(&self) -> &Objects {
        &self.objects
    }

    /// What the manifests do that they had better not, a line each.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }
}

/// The objects of manifests without an error.
pub(crate) fn accepted(loaded: &Loaded) -> Result<&Objects, Error> {
    if loaded.has_errors() {
        let lines: Vec<String> = loaded.errors().map(ToString::to_string).collect();
        return Err(Error::new(lines.join("\n")));
    }
    Ok(&loaded.objects)
}

/// Puts `own` over `objects`, by kind and name; what is new follows at the end.
pub(crate) fn apply(objects: &mut Objects, own: &Objects) {
    for schema in &own.flow_schemas {
        match objects.flow_schemas.iter_mut().find(|old| old.metadata.name == schema.metadata.name) {
            Some(old) => *old = schema.clone(),
            None => objects.flow_schemas.push(schema.clone()),
        }
    }
    for level in &own.priority_levels {
        match objects.priority_levels.iter_mut().find(|old| old.metadata.name == level.metadata.name) {
            Some(old) => *old = level.clone(),
            None => objects.priority_levels.push(level.clone()),
        }
    }
}
