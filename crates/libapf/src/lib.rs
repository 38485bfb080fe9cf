//! The shared and the static library: everything that the crate `apf-ffi` exports, and nothing else.

pub use apf_ffi::*;
