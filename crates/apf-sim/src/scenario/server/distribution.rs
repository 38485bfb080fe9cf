//! Random durations of a scenario.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor};

use crate::duration::GoDuration;
use crate::random::Random;

/// A duration, or a distribution of durations, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Distribution {
    Constant(u64),
    Uniform { least: u64, most: u64 },
    Exponential { mean: f64 },
    Lognormal { median: f64, sigma: f64 },
}

impl Distribution {
    /// One duration. Whole numbers take no random number.
    pub(super) fn sample(self, random: &mut Random) -> u64 {
        match self {
            Distribution::Constant(ns) => ns,
            Distribution::Uniform { least, most } => least + ((most - least) as f64 * random.unit()) as u64,
            Distribution::Exponential { mean } => random.exponential(mean) as u64,
            Distribution::Lognormal { median, sigma } => (median * libm::exp(sigma * random.normal())) as u64,
        }
    }

    /// Whether it can only give 0.
    pub(super) fn is_zero(self) -> bool {
        self == Distribution::Constant(0)
    }
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct LognormalFields {
    median: GoDuration,
    sigma: f64,
}

impl<'de> Deserialize<'de> for Distribution {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(DistributionVisitor)
    }
}

struct DistributionVisitor;

const KINDS: &[&str] = &["uniform", "exponential", "lognormal"];

impl<'de> Visitor<'de> for DistributionVisitor {
    type Value = Distribution;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a duration like 20ms, or one of {uniform: [10ms, 30ms]}, {exponential: 20ms}, {lognormal: {median: 20ms, sigma: 0.5}}")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Distribution, E> {
        let duration = GoDuration::parse(text).map_err(E::custom)?;
        unsigned(duration).map(Distribution::Constant)
    }

    /// A plain `0` is the one number without a unit.
    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Distribution, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Distribution, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Distribution, A::Error> {
        let Some(kind) = map.next_key::<String>()? else {
            return Err(de::Error::custom("a distribution must be one of uniform, exponential, lognormal"));
        };
        let distribution = match kind.as_str() {
            "uniform" => {
                let (least, most): (GoDuration, GoDuration) = map.next_value()?;
                let (least, most) = (unsigned(least)?, unsigned(most)?);
                if least > most {
                    return Err(de::Error::custom("uniform: the first bound must not be above the second"));
                }
                Distribution::Uniform { least, most }
            }
            "exponential" => Distribution::Exponential { mean: unsigned(map.next_value()?)? as f64 },
            "lognormal" => {
                let LognormalFields { median, sigma } = map.next_value()?;
                // Above this the mean is more than 10^21 times the median.
                if !(0.0..=10.0).contains(&sigma) {
                    return Err(de::Error::custom("lognormal.sigma must be between 0 and 10"));
                }
                Distribution::Lognormal { median: unsigned(median)? as f64, sigma }
            }
            other => return Err(de::Error::unknown_variant(other, KINDS)),
        };
        if map.next_key::<String>()?.is_some() {
            return Err(de::Error::custom("a distribution is of one kind only"));
        }
        Ok(distribution)
    }
}

fn unsigned<E: de::Error>(duration: GoDuration) -> Result<u64, E> {
    duration.unsigned().ok_or_else(|| E::custom(format!("{duration} is negative: it must be 0 or longer")))
}

#[cfg(test)]
mod tests {
    use super::Distribution;
    use crate::random::Random;
    use crate::yaml;

    fn read(text: &str) -> Result<Distribution, String> {
        yaml::read(text, "").map_err(|error| error.message().to_owned())
    }

    #[test]
    fn every_distribution_has_the_mean_it_was_given() {
        for (text, mean) in [
            ("20ms", 20e6),
            ("{uniform: [10ms, 30ms]}", 20e6),
            ("{exponential: 20ms}", 20e6),
            ("{lognormal: {median: 20ms, sigma: 0.5}}", 20e6 * (0.125_f64).exp()),
        ] {
            let distribution = read(text).unwrap();
            let mut random = Random::new(3, 0);
            let n = 100_000;
            let sum: f64 = (0..n).map(|_| distribution.sample(&mut random) as f64).sum();
            let measured = sum / f64::from(n);
            assert!((measured / mean - 1.0).abs() < 0.01, "{text}: {measured}");
        }
        assert_eq!(read("0").unwrap(), Distribution::Constant(0));
    }

    #[test]
    fn a_malformed_distribution_says_what_is_allowed() {
        for (text, why) in [
            ("20", "the unit is missing"),
            ("-1s", "-1s is negative"),
            ("{uniform: [3s, 1s]}", "must not be above the second"),
            ("{uniform: [-3s, 1s]}", "negative"),
            ("{normal: 3s}", "unknown"),
            ("{exponential: 3s, uniform: [1s, 2s]}", "of one kind only"),
            ("{lognormal: {median: 1s, sigma: -1}}", "between 0 and 10"),
            ("{}", "must be one of"),
            ("[1s]", "a duration like 20ms"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
