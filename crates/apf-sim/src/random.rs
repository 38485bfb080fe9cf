//! Seeded random numbers: the same seed gives the same run on every machine.
//!
//! xoshiro256++ (Blackman, Vigna; public domain algorithm), seeded through splitmix64. Logarithm, exponential and cosine
//! come from `libm`, which is the same code everywhere; the system's may differ in the last bit.

/// A stream of random numbers.
#[derive(Debug, Clone)]
pub struct Random {
    state: [u64; 4],
}

fn splitmix64(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

impl Random {
    /// Stream number `stream` of a seed. Each client has its own, so that adding one does not change the others.
    pub fn new(seed: u64, stream: u64) -> Self {
        let mut of_stream = stream;
        let mut mixer = seed ^ splitmix64(&mut of_stream);
        Random { state: std::array::from_fn(|_| splitmix64(&mut mixer)) }
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        let [a, b, c, d] = self.state;
        let result = a.wrapping_add(d).rotate_left(23).wrapping_add(a);
        let (c, d) = (c ^ a, d ^ b);
        let (b, a) = (b ^ c, a ^ d);
        self.state = [a, b, c ^ (self.state[1] << 17), d.rotate_left(45)];
        result
    }

    /// Uniform in (0, 1]: never 0, so that its logarithm is finite.
    pub fn unit(&mut self) -> f64 {
        ((self.bits() >> 11) + 1) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// Exponential with the given mean.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -libm::log(self.unit()) * mean
    }

    /// Normal with mean 0 and standard deviation 1 (Box and Muller).
    pub fn normal(&mut self) -> f64 {
        let radius = libm::sqrt(-2.0 * libm::log(self.unit()));
        radius * libm::cos(2.0 * std::f64::consts::PI * self.unit())
    }
}

#[cfg(test)]
mod tests {
    use super::Random;

    #[test]
    fn a_seed_always_gives_the_same_numbers() {
        let first: Vec<u64> = (0..4).map(|_| 0).scan(Random::new(1, 0), |r, _: u64| Some(r.bits())).collect();
        let again: Vec<u64> = (0..4).map(|_| 0).scan(Random::new(1, 0), |r, _: u64| Some(r.bits())).collect();
        assert_eq!(first, again);
        assert_ne!(first[0], Random::new(2, 0).bits());
        assert_ne!(first[0], Random::new(1, 1).bits());
    }

    #[test]
    fn the_generator_is_xoshiro256_plus_plus() {
        // First outputs from the state (1, 2, 3, 4), as in the published test vector.
        let mut random = Random { state: [1, 2, 3, 4] };
        let outputs: Vec<u64> = (0..6).map(|_| random.bits()).collect();
        assert_eq!(outputs[..4], [41943041, 58720359, 3588806011781223, 3591011842654386]);
    }

    #[test]
    fn distributions_have_their_moments() {
        let mut random = Random::new(7, 0);
        let n = 200_000;
        let mean = (0..n).map(|_| random.exponential(3.0)).sum::<f64>() / f64::from(n);
        assert!((mean - 3.0).abs() < 0.05, "{mean}");
        let normals: Vec<f64> = (0..n).map(|_| random.normal()).collect();
        let mean = normals.iter().sum::<f64>() / f64::from(n);
        let variance = normals.iter().map(|x| x * x).sum::<f64>() / f64::from(n);
        assert!(mean.abs() < 0.02 && (variance - 1.0).abs() < 0.02, "{mean} {variance}");
    }
}
