//! Field paths such as `spec.rules[0].subjects[1].kind`.

use std::fmt;

/// One step of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    /// Into the field of an object.
    Field(String),
    /// Into the item of a list.
    Index(usize),
}

/// A path from the top of an object to one of its fields.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct FieldPath(Vec<Step>);

impl FieldPath {
    /// The path of these fields, one inside the other.
    pub(crate) fn of(fields: &[&str]) -> FieldPath {
        FieldPath(fields.iter().map(|field| Step::Field((*field).to_owned())).collect())
    }

    /// The path to a field of what this path leads to.
    pub(crate) fn field(&self, name: &str) -> FieldPath {
        let mut path = self.clone();
        path.push(Step::Field(name.to_owned()));
        path
    }

    /// The path to an item of what this path leads to.
    pub(crate) fn index(&self, index: usize) -> FieldPath {
        let mut path = self.clone();
        path.push(Step::Index(index));
        path
    }

    pub(crate) fn push(&mut self, step: Step) {
        self.0.push(step);
    }

    pub(crate) fn pop(&mut self) {
        self.0.pop();
    }

    pub(crate) fn steps(&self) -> &[Step] {
        &self.0
    }

    /// Whether this path is `other` or leads to something inside it.
    pub(crate) fn is_within(&self, other: &FieldPath) -> bool {
        self.0.starts_with(&other.0)
    }

    /// The path to another field of the object that holds what this path leads to.
    pub(crate) fn sibling(&self, name: &str) -> FieldPath {
        let mut path = self.clone();
        path.pop();
        path.field(name)
    }

    /// Whether this path leads to the object or list that directly holds `other`.
    pub(crate) fn is_parent_of(&self, other: &FieldPath) -> bool {
        other.0.split_last().is_some_and(|(_, parent)| parent == self.0.as_slice())
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, step) in self.0.iter().enumerate() {
            match step {
                Step::Field(name) if position == 0 => f.write_str(name)?,
                Step::Field(name) => write!(f, ".{name}")?,
                Step::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}
