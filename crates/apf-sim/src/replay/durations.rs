//! How long requests execute when the log does not say.

use std::fmt;

use crate::duration::GoDuration;
use crate::error::Error;

/// Mean execution time by verb.
///
/// The defaults are the means of six API servers (v1.26 to v1.35, 12,800 requests, single-node clusters shortly after their start):
/// GET 1.6 ms, LIST 1.9, POST 4.7, PUT 5.7, PATCH 5.8, DELETE 2.2. Loaded clusters are slower: give the means of yours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DurationModel {
    /// Nanoseconds, in the order of [`VERBS`].
    ns: [u64; VERBS.len()],
}

/// Verb and default in microseconds. `other` is every verb that is not named.
const VERBS: [(&str, u64); 9] = [
    ("get", 1_600),
    ("list", 1_900),
    // Until its initial events are sent, a watch does what a list does.
    ("watch", 1_900),
    ("create", 4_700),
    ("update", 5_700),
    ("patch", 5_800),
    ("delete", 2_200),
    ("deletecollection", 2_200),
    ("other", 4_700),
];

impl Default for DurationModel {
    fn default() -> Self {
        DurationModel { ns: VERBS.map(|(_, us)| us * 1_000) }
    }
}

impl DurationModel {
    /// Reads `VERB=DURATION,...`; verbs that are not named keep their defaults.
    ///
    /// # Errors
    ///
    /// An unknown verb, or a duration that is malformed or not above 0.
    pub fn parse(text: &str) -> Result<DurationModel, Error> {
        let mut model = DurationModel::default();
        for part in text.split(',').filter(|part| !part.trim().is_empty()) {
            let refuse = |why: &str| Error::new(format!("durations: {part:?}: {why}"));
            let (verb, duration) =
                part.split_once('=').ok_or_else(|| refuse("must be VERB=DURATION, like list=50ms"))?;
            let index = VERBS.iter().position(|(name, _)| *name == verb.trim()).ok_or_else(|| {
                refuse(&format!("the verb must be one of {}", VERBS.map(|(name, _)| name).join(", ")))
            })?;
            let duration = GoDuration::parse(duration).map_err(|why| refuse(&why))?;
            model.ns[index] = duration
                .unsigned()
                .filter(|&ns| ns > 0)
                .ok_or_else(|| refuse("the duration must be longer than 0"))?;
        }
        Ok(model)
    }

    /// Every verb with its mean, nanoseconds.
    pub fn rows(&self) -> impl Iterator<Item = (&'static str, u64)> {
        VERBS.iter().zip(self.ns).map(|(&(verb, _), ns)| (verb, ns))
    }

    /// The mean of a verb as an audit log spells it: an API verb, or a lower-case HTTP method.
    pub(super) fn of(&self, verb: &str) -> u64 {
        let verb = match verb {
            "head" => "get",
            "post" => "create",
            "put" => "update",
            verb => verb,
        };
        let index = VERBS.iter().position(|(name, _)| *name == verb).unwrap_or(VERBS.len() - 1);
        self.ns[index]
    }
}

/// `get 1.6ms, list 1.9ms, ...`
impl fmt::Display for DurationModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (verb, ns)) in self.rows().enumerate() {
            let separator = if index == 0 { "" } else { ", " };
            write!(f, "{separator}{verb} {}", GoDuration(i64::try_from(ns).unwrap_or(i64::MAX)))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::DurationModel;

    #[test]
    fn methods_of_non_resource_requests_take_the_mean_of_their_verb() {
        let model = DurationModel::default();
        for (verb, us) in [
            ("get", 1600),
            ("head", 1600),
            ("post", 4700),
            ("put", 5700),
            ("deletecollection", 2200),
            ("x", 4700),
        ] {
            assert_eq!(model.of(verb), us * 1000, "{verb}");
        }
    }

    #[test]
    fn own_means_replace_the_defaults_and_nonsense_is_refused() {
        let model = DurationModel::parse("list=50ms, get=2ms").unwrap();
        assert_eq!(
            (model.of("list"), model.of("get"), model.of("patch")),
            (50_000_000, 2_000_000, 5_800_000)
        );
        for (text, why) in [
            ("list", "must be VERB=DURATION"),
            ("read=1s", "must be one of"),
            ("get=0", "longer than 0"),
            ("get=1", "unit"),
        ] {
            let error = DurationModel::parse(text).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
