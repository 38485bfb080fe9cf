//! Random numbers that a seed fixes for good: a failing case must come back from its seed.

/// The SplitMix64 generator.
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    /// The generator for one case of a run.
    pub(crate) fn new(seed: u64, case: u64) -> Self {
        let mut random = Self(seed);
        let mixed = random.next() ^ case.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Self(mixed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`, 0 when that is 0.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }

    /// A number from `least` to `most`, both included.
    pub(crate) fn between(&mut self, least: u64, most: u64) -> u64 {
        least + self.below(most - least + 1)
    }

    /// True in `percent` of all cases.
    pub(crate) fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// One of the choices, which must not be empty.
    pub(crate) fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.below(choices.len() as u64) as usize]
    }

    /// From `least` to `most` of the choices, each at most once, in a random order.
    pub(crate) fn some<T: Clone>(&mut self, choices: &[T], least: u64, most: u64) -> Vec<T> {
        let mut left = choices.to_vec();
        let count = self.between(least, most).min(left.len() as u64);
        (0..count).map(|_| left.swap_remove(self.below(left.len() as u64) as usize)).collect()
    }
}
