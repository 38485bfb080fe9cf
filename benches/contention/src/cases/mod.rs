//! The cases, each of which prints its figures.

pub mod places;
pub mod reconfiguration;
pub mod reference;
pub mod saturated;
pub mod sizes;
pub mod threads;
pub mod uncontended;
