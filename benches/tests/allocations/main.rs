//! After warm-up a request allocates nothing, whatever becomes of it.
//!
//! Prints `measured NAME VALUE` lines for `cargo xtask bench`.

mod counting_allocator;

use apf_benches::classification::Classification;
use apf_benches::dispatch::{Full, Idle, Impatient, Saturated};
use counting_allocator::asked;

const REQUESTS: u64 = 10_000;

/// Allocations of [`REQUESTS`] cycles.
fn allocations(name: &str, mut cycle: impl FnMut()) -> u64 {
    let before = asked();
    for _ in 0..REQUESTS {
        cycle();
    }
    let allocations = asked() - before;
    println!("measured allocations/{name} {}", allocations as f64 / REQUESTS as f64);
    allocations
}

#[test]
fn the_counter_counts() {
    let counted = allocations("control", || drop(std::hint::black_box(Box::new(1))));
    assert_eq!(counted, REQUESTS);
}

#[test]
fn an_admitted_request_allocates_nothing() {
    let mut idle = Idle::new(1024);
    assert_eq!(allocations("admitted", || idle.cycle()), 0);
}

#[test]
fn a_queued_request_allocates_nothing() {
    let mut saturated = Saturated::new(1024);
    assert_eq!(allocations("queued", || saturated.cycle()), 0);
    assert_eq!(saturated.waiting(), 2048);
}

#[test]
fn a_rejected_request_allocates_nothing() {
    let mut full = Full::new(1024);
    assert_eq!(allocations("rejected", || full.cycle()), 0);
}

#[test]
fn a_cancelled_request_allocates_nothing() {
    let mut impatient = Impatient::new(1024);
    assert_eq!(allocations("cancelled", || impatient.cycle()), 0);
}

#[test]
fn classifying_a_request_allocates_nothing() {
    let mut classification = Classification::new(1000);
    let counted = allocations("classified", || {
        std::hint::black_box(classification.cycle());
    });
    assert_eq!(counted, 0);
}
