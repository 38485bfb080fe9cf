//! How long a refused caller is told to stay away: longer while a level keeps refusing.
//!
//! The rule of `dropped_requests_tracker.go` of kube-apiserver: the value doubles while refusals go on at three a
//! second or more, at most once per its own length, and falls by one in a second that has fewer than one per second.

use std::collections::VecDeque;
use std::sync::Mutex;

/// The largest value, seconds.
const MAX: i64 = 32;

/// The refusals of one level.
#[derive(Debug, Default)]
pub(crate) struct RetryAfter(Mutex<Drops>);

#[derive(Debug)]
struct Drops {
    /// Earlier seconds and their refusals, oldest first.
    history: VecDeque<(i64, i64)>,
    current: (i64, i64),
    seconds: i64,
    last_increase: i64,
}

impl Default for Drops {
    fn default() -> Self {
        Self { history: VecDeque::new(), current: (0, 0), seconds: 1, last_increase: 0 }
    }
}

impl RetryAfter {
    /// Notes a refusal in the given second and returns what to tell the caller, in seconds.
    pub(crate) fn record(&self, second: i64) -> u64 {
        let mut drops = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        drops.record(second);
        drops.seconds as u64
    }

    /// The present value, in seconds.
    pub(crate) fn seconds(&self) -> u64 {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner).seconds as u64
    }
}

impl Drops {
    fn record(&mut self, second: i64) {
        if second == self.current.0 {
            self.current.1 += 1;
            return;
        }
        let (ended, _) = self.current;
        self.history.push_back(self.current);
        let kept = (2 * self.seconds).min(MAX);
        while self.history.front().is_some_and(|(at, _)| ended - at > kept) {
            self.history.pop_front();
        }
        self.current = (second, 1);
        let recent: i64 = self
            .history
            .iter()
            .rev()
            .take_while(|(at, _)| second - at <= self.seconds)
            .map(|(_, count)| count)
            .sum();
        if second - self.last_increase >= self.seconds && recent >= 3 * self.seconds {
            self.seconds = (2 * self.seconds).min(MAX);
            self.last_increase = second;
        } else if recent < self.seconds && self.seconds > 1 {
            self.seconds -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_value_follows_the_published_table() {
        let tracker = RetryAfter::default();
        for (second, count, value) in [
            (0, 5, 1),
            (1, 11, 2),
            (2, 1, 2),
            (3, 11, 4),
            (4, 1, 4),
            (7, 1, 8),
            (11, 1, 8),
            (15, 1, 7),
            (17, 1, 6),
            (21, 14, 5),
            (22, 1, 10),
        ] {
            for _ in 0..count {
                tracker.record(second);
            }
            assert_eq!(tracker.seconds(), value, "second {second}");
        }
    }

    /// Kubernetes issue 117734: clients hammered a server that always said 1.
    #[test]
    fn steady_refusals_double_it_up_to_the_maximum_and_a_single_burst_does_not() {
        let tracker = RetryAfter::default();
        let values: Vec<u64> = (0..60)
            .map(|second| {
                (0..100).for_each(|_| _ = tracker.record(second));
                tracker.seconds()
            })
            .collect();
        assert_eq!(values[..8], [1, 2, 2, 4, 4, 4, 4, 8]);
        assert_eq!(values[59], 32);
        let burst = RetryAfter::default();
        (0..50).for_each(|_| _ = burst.record(0));
        burst.record(1);
        assert_eq!(burst.seconds(), 2, "once");
    }
}
