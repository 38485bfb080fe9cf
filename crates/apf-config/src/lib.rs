//! FlowSchema and PriorityLevelConfiguration: parse, default, validate, convert, classify.

pub mod attributes;
pub mod objects;
pub mod request_info;
