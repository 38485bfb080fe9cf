//! FlowSchema and PriorityLevelConfiguration: parse, default, validate, convert, classify.

pub mod objects;
