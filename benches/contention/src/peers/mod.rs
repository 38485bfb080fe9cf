//! What is measured and what it is measured against.

pub mod admission;
pub mod crowd;
pub mod dispatcher;
pub mod futures;
pub mod limiters;
pub mod one_by_one;

use apf_core::{Level, Mode, Queuing, WorkEstimate};

/// Seats of a level, as in the reference's benchmarks.
pub const SEATS: u32 = 16;

/// The hand that a level of so many queues deals: 8 where the API allows it.
pub const fn hand(queues: u32) -> u32 {
    match queues {
        ..=128 => 8,
        129..=1024 => 6,
        _ => 5,
    }
}

/// A level of so many queues that never refuses a request for the length of its queue.
///
/// # Panics
///
/// When there is no such level.
pub fn level(queues: u32, seats: u32) -> Level {
    let queuing = Queuing::Queue { queues, hand_size: hand(queues), queue_length_limit: 1 << 20 };
    Level::new(Mode::Default, queuing, seats, 0).expect("a valid level")
}

/// A request of one seat.
pub const fn request(flow_hash: u64) -> apf::gate::Request {
    apf::gate::Request { flow_hash, work: WorkEstimate::seats(1) }
}
