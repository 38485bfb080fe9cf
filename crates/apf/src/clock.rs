//! What time it is: nanoseconds since an origin that each clock chooses, never going back.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// A source of time for a dispatcher.
#[derive(Debug, Clone)]
pub enum Clock {
    /// The operating system's monotonic clock.
    Monotonic(Instant),
    /// The processor's time stamp counter, where it is invariant: reads in less than half the time.
    #[cfg(target_arch = "x86_64")]
    TimeStampCounter(tsc::Counter),
    /// A clock that stands still until it is told otherwise: for tests and harnesses.
    Manual(ManualClock),
}

impl Clock {
    /// The operating system's clock, starting at 0 now.
    pub fn monotonic() -> Self {
        Self::Monotonic(Instant::now())
    }

    /// The time stamp counter where the processor says that it is invariant, else the operating system's clock.
    /// Takes 10 ms to compare the two.
    pub fn fastest() -> Self {
        #[cfg(target_arch = "x86_64")]
        if let Some(counter) = tsc::Counter::calibrated() {
            return Self::TimeStampCounter(counter);
        }
        Self::monotonic()
    }

    /// Nanoseconds since the clock's origin.
    #[inline]
    pub fn now(&self) -> u64 {
        match self {
            Self::Monotonic(origin) => origin.elapsed().as_nanos() as u64,
            #[cfg(target_arch = "x86_64")]
            Self::TimeStampCounter(counter) => counter.now(),
            Self::Manual(clock) => clock.now(),
        }
    }

    /// Whether time passes by itself.
    pub(crate) const fn runs(&self) -> bool {
        !matches!(self, Self::Manual(_))
    }

    /// `monotonic`, `tsc` or `manual`.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Monotonic(_) => "monotonic",
            #[cfg(target_arch = "x86_64")]
            Self::TimeStampCounter(_) => "tsc",
            Self::Manual(_) => "manual",
        }
    }
}

/// A clock that its holders set; clones share the time.
#[derive(Debug, Clone, Default)]
pub struct ManualClock(Arc<AtomicU64>);

impl ManualClock {
    /// The time it shows, nanoseconds; 0 at first.
    pub fn now(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }

    /// Moves it on to `now`, nanoseconds; it does not go back. What has become due is done by
    /// [`Dispatcher::run_timers`](crate::Dispatcher::run_timers).
    pub fn set(&self, now: u64) {
        self.0.fetch_max(now, Ordering::AcqRel);
    }
}

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code, reason = "reading the time stamp counter is an intrinsic")]
mod tsc {
    use core::arch::x86_64::{__cpuid, _rdtsc};
    use std::time::{Duration, Instant};

    /// An invariant time stamp counter and its rate.
    #[derive(Debug, Clone, Copy)]
    pub struct Counter {
        origin: u64,
        /// Nanoseconds a tick, 32 binary places.
        rate: u64,
    }

    fn ticks() -> u64 {
        // SAFETY: every x86-64 processor has the instruction; operating systems that forbid it to
        // programs do not report the counter as invariant to them.
        unsafe { _rdtsc() }
    }

    /// CPUID leaf 0x8000_0007: the counter runs at one rate in every state of the processor.
    fn is_invariant() -> bool {
        let highest = __cpuid(0x8000_0000).eax;
        highest >= 0x8000_0007 && __cpuid(0x8000_0007).edx & 1 << 8 != 0
    }

    impl Counter {
        pub(super) fn calibrated() -> Option<Self> {
            if !is_invariant() {
                return None;
            }
            let (started, first) = (Instant::now(), ticks());
            std::thread::sleep(Duration::from_millis(10));
            let (elapsed, last) = (started.elapsed(), ticks());
            let passed = u128::from(last.checked_sub(first).filter(|ticks| *ticks > 0)?);
            let rate = u64::try_from((elapsed.as_nanos() << 32) / passed).ok()?;
            Some(Self { origin: last, rate })
        }

        pub(super) fn now(&self) -> u64 {
            // A counter that is a little behind on another core reads as the origin, not as the distant future.
            let passed = ticks().saturating_sub(self.origin);
            ((u128::from(passed) * u128::from(self.rate)) >> 32) as u64
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn the_fast_clock_agrees_with_the_operating_system_within_a_percent() {
        let (fast, slow) = (Clock::fastest(), Clock::monotonic());
        let (fast_start, slow_start) = (fast.now(), slow.now());
        std::thread::sleep(Duration::from_millis(100));
        let (fast, slow) = (fast.now() - fast_start, slow.now() - slow_start);
        assert!(fast.abs_diff(slow) < slow / 100, "{fast} {slow}");
    }

    #[test]
    fn a_manual_clock_does_not_go_back() {
        let clock = ManualClock::default();
        clock.set(5);
        clock.set(3);
        assert_eq!(Clock::Manual(clock).now(), 5);
    }
}
