//! Every interleaving of two or three threads on a gate, with one event and one wake-up between offers of the role.
//!
//! Each model ends with all seats and all nodes back; a lost wake-up ends it in a deadlock; the gate's own
//! assertions (its invariants 1 and 2) are on.

#![cfg(loom)]

mod models {
    mod cancels;
    mod controls;
    mod hand_off;
    mod nodes;
    mod seats;
    mod wakers;
}
