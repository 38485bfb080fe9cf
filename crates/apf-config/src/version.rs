//! Kinds and API versions, and which Kubernetes releases serve them (spec "Group, versions, kinds").

use std::fmt;

use crate::objects::GROUP;

/// A version of the API group that can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Version {
    /// `v1alpha1`, read only.
    V1Alpha1,
    /// `v1beta1`.
    V1Beta1,
    /// `v1beta2`.
    V1Beta2,
    /// `v1beta3`.
    V1Beta3,
    /// `v1`.
    V1,
}

impl Version {
    /// Every version, preferred first.
    pub const ALL: [Version; 5] =
        [Version::V1, Version::V1Beta3, Version::V1Beta2, Version::V1Beta1, Version::V1Alpha1];

    /// The versions that can be written, preferred first.
    pub const WRITABLE: [Version; 4] = [Version::V1, Version::V1Beta3, Version::V1Beta2, Version::V1Beta1];

    /// The bare name, such as `v1beta3`.
    pub fn as_str(self) -> &'static str {
        match self {
            Version::V1 => "v1",
            Version::V1Beta3 => "v1beta3",
            Version::V1Beta2 => "v1beta2",
            Version::V1Beta1 => "v1beta1",
            Version::V1Alpha1 => "v1alpha1",
        }
    }

    /// The version with this bare name.
    pub fn from_name(name: &str) -> Option<Version> {
        Version::ALL.into_iter().find(|version| version.as_str() == name)
    }

    /// The `apiVersion` of objects, such as `flowcontrol.apiserver.k8s.io/v1`.
    pub fn api_version(self) -> String {
        format!("{GROUP}/{}", self.as_str())
    }

    /// The version with this `apiVersion`.
    pub fn from_api_version(text: &str) -> Option<Version> {
        let (group, name) = text.split_once('/')?;
        if group == GROUP { Version::from_name(name) } else { None }
    }

    /// The field of `spec.limited` that holds the shares.
    pub fn shares_field(self) -> &'static str {
        match self {
            Version::V1 | Version::V1Beta3 => "nominalConcurrencyShares",
            Version::V1Beta2 | Version::V1Beta1 | Version::V1Alpha1 => "assuredConcurrencyShares",
        }
    }

    /// What the deprecation warning of a server says about the version, nothing for `v1`.
    pub fn deprecation(self) -> Option<String> {
        let (when, replacement) = match self {
            Version::V1 => return None,
            Version::V1Beta3 => ("deprecated in v1.29+, unavailable in v1.32+", Version::V1),
            Version::V1Beta2 => ("deprecated in v1.26+, unavailable in v1.29+", Version::V1Beta3),
            Version::V1Beta1 => ("deprecated in v1.23+, unavailable in v1.26+", Version::V1Beta3),
            Version::V1Alpha1 => ("unavailable in v1.23+", Version::V1),
        };
        Some(format!("{when}; use {}", replacement.api_version()))
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One of the two kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// `FlowSchema`.
    FlowSchema,
    /// `PriorityLevelConfiguration`.
    PriorityLevelConfiguration,
}

impl Kind {
    /// The name in `kind`.
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::FlowSchema => "FlowSchema",
            Kind::PriorityLevelConfiguration => "PriorityLevelConfiguration",
        }
    }

    /// The kind with this name.
    pub fn from_name(name: &str) -> Option<Kind> {
        [Kind::FlowSchema, Kind::PriorityLevelConfiguration].into_iter().find(|kind| kind.as_str() == name)
    }

    /// The kind whose list kind has this name.
    pub fn from_list_name(name: &str) -> Option<Kind> {
        Kind::from_name(name.strip_suffix("List")?)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
