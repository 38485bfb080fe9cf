//! FlowSchema and PriorityLevelConfiguration: parse, default, validate, convert, classify.

pub mod attributes;
pub mod explain;
pub mod objects;
pub mod plan;
pub mod request_info;
