//! The faults that the conformance check must find.

/// A text replacement in one file of the core.
#[derive(Debug, Clone, Copy)]
pub struct Mutation {
    /// What the fault is.
    pub name: &'static str,
    /// File, from the core's `src` folder.
    pub file: &'static str,
    /// Text that occurs exactly once in it.
    pub from: &'static str,
    /// What it becomes.
    pub to: &'static str,
}

/// All of them, of different kinds.
pub const MUTATIONS: &[Mutation] = &[];
