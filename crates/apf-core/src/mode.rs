//! The one switch between the reference's behaviour and the default.

use crate::FlowHash;

/// Whether a level reproduces the reference to the letter or mends ten of its quirks.
///
/// The two differ in the ten points that `docs/differences.md` lists and in nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// Decisions, queues and numbers of `k8s.io/apiserver`, quirks included: for moving over
    /// without a change, and for the conformance tests.
    Exact,
    /// The documented behaviour: what the API text and KEP-1040 promise where the reference errs.
    #[default]
    Default,
}

impl Mode {
    /// The flow hash this mode uses unless the host chooses one.
    pub const fn flow_hash(self) -> FlowHash {
        match self {
            Self::Exact => FlowHash::Sha256,
            Self::Default => FlowHash::Xxh3,
        }
    }

    pub(crate) const fn is_exact(self) -> bool {
        matches!(self, Self::Exact)
    }
}
