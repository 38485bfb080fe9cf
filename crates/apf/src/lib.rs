//! Kubernetes API Priority and Fairness as an embeddable dispatcher.

#![cfg_attr(not(feature = "std"), no_std)]

extern crate alloc;

pub mod gate;
mod sync;
