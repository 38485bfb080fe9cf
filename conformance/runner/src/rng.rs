//! The generator's random numbers: xoshiro256** seeded by splitmix64, so that a seed gives the same
//! traces on every machine and with every release of every library.

/// A seeded stream of random numbers.
#[derive(Debug, Clone)]
pub struct Rng([u64; 4]);

impl Rng {
    /// The stream of a seed.
    pub fn new(seed: u64) -> Self {
        let mut state = seed;
        Self(std::array::from_fn(|_| splitmix(&mut state)))
    }

    /// The stream of one part of something bigger: different parts give unrelated streams.
    pub fn part(seed: u64, parts: &[u64]) -> Self {
        let mut state = seed;
        for part in parts {
            state = splitmix(&mut state) ^ part.wrapping_mul(0xd6e8_feb8_6659_fd93);
        }
        Self::new(state)
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        let [a, b, c, d] = &mut self.0;
        let result = b.wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        let shifted = *b << 17;
        *c ^= *a;
        *d ^= *b;
        *b ^= *c;
        *a ^= *d;
        *c ^= shifted;
        *d = d.rotate_left(45);
        result
    }

    /// A number from `low` to `high`, both included.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        let width = u128::from(high.saturating_sub(low)) + 1;
        low + ((u128::from(self.bits()) * width) >> 64) as u64
    }

    /// True `permille` times of 1000.
    pub fn permille(&mut self, permille: u64) -> bool {
        self.between(0, 999) < permille
    }

    /// A number from `low` to `high`, small ones as likely as large ones: its magnitude is uniform.
    pub fn magnitude(&mut self, low: u64, high: u64) -> u64 {
        let (first, last) = (u64::from(low.max(1).ilog2()), u64::from(high.max(1).ilog2()));
        let power = self.between(first, last);
        let bottom = 1u64 << power;
        let top = bottom.saturating_mul(2).saturating_sub(1);
        self.between(bottom.max(low), top.min(high).max(bottom.max(low)))
    }

    /// One of the choices, weighted; the last one when all weights are 0.
    pub fn weighted<T: Copy>(&mut self, choices: &[(u64, T)]) -> Option<T> {
        let total: u64 = choices.iter().map(|(weight, _)| weight).sum();
        let mut left = self.between(0, total.saturating_sub(1));
        for (weight, choice) in choices {
            if left < *weight {
                return Some(*choice);
            }
            left -= weight;
        }
        choices.last().map(|(_, choice)| *choice)
    }
}

fn splitmix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_kept_and_both_ends_reached() {
        let mut rng = Rng::new(1);
        let seen: std::collections::HashSet<_> = (0..1000).map(|_| rng.between(3, 7)).collect();
        assert_eq!(seen, (3..=7).collect());
        assert!((0..1000).map(|_| rng.magnitude(5, 900)).all(|n| (5..=900).contains(&n)));
        assert_eq!(rng.between(u64::MAX, u64::MAX), u64::MAX);
    }

    #[test]
    fn parts_of_one_seed_differ() {
        assert_ne!(Rng::part(1, &[2, 0]).bits(), Rng::part(1, &[2, 1]).bits());
        assert_eq!(Rng::part(1, &[2, 1]).bits(), Rng::part(1, &[2, 1]).bits());
    }
}
