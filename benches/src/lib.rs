//! The work that is measured: the same in instruction counts, in time, in allocations, and in the reference
//! (`peers/reference/queueset_test.go`).

pub mod classification;
pub mod dispatch;
pub mod limits;

/// The numbers of queues that everything is measured at.
pub const QUEUES: [u32; 4] = [64, 128, 1024, 4096];

/// The widest hand that the API allows with 4096 queues, dealt at every number of queues.
pub const HAND: u32 = 5;

/// A sequence of flow hashes (splitmix64) that is the same in every run and in the reference.
#[derive(Debug, Clone, Default)]
pub struct Hashes(u64);

impl Hashes {
    /// Another sequence for every `seed`.
    pub const fn beginning_at(seed: u64) -> Self {
        Self(seed)
    }

    /// The next flow.
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}
