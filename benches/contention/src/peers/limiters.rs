//! Limiters without fair queues: what counting alone costs.

use std::future::{Future, Ready, ready};
use std::num::NonZeroU32;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};
use tokio::sync::Semaphore;
use tower::limit::ConcurrencyLimit;
use tower::{Service, ServiceExt};

use super::SEATS;
use crate::rounds::Peer;

/// The value of a future that is ready at once.
///
/// # Panics
///
/// When it is not.
pub fn now_or_never<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("nothing else holds a permit"),
    }
}

/// tokio's semaphore: a permit is acquired and dropped.
pub struct Semaphores {
    semaphore: Semaphore,
    /// `acquire().await` rather than `try_acquire()`.
    awaits: bool,
    served: u64,
}

impl Semaphores {
    /// `acquire().await` and drop, or `try_acquire()` and drop.
    ///
    /// # Panics
    ///
    /// When the semaphore does not limit.
    pub fn new(awaits: bool) -> Self {
        let semaphore = Semaphore::new(SEATS as usize);
        let all: Vec<_> = (0..SEATS).map(|_| semaphore.try_acquire().expect("permits are left")).collect();
        assert!(semaphore.try_acquire().is_err(), "it limits");
        drop(all);
        Self { semaphore, awaits, served: 0 }
    }
}

impl Peer for Semaphores {
    fn serve(&mut self, requests: u64) {
        for _ in 0..requests {
            let permit = if self.awaits {
                now_or_never(self.semaphore.acquire()).expect("it is open")
            } else {
                self.semaphore.try_acquire().expect("permits are left")
            };
            self.served += 1;
            drop(std::hint::black_box(permit));
        }
        assert_eq!(self.semaphore.available_permits(), SEATS as usize, "every permit came back");
    }

    fn served(&self) -> u64 {
        self.served
    }
}

/// A service that counts its calls.
#[derive(Debug, Default)]
pub struct Counted(u64);

impl Service<u64> for Counted {
    type Response = u64;
    type Error = std::convert::Infallible;
    type Future = Ready<Result<u64, Self::Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: u64) -> Self::Future {
        self.0 += 1;
        ready(Ok(request))
    }
}

/// tower's concurrency limit: ready, call, and the response awaited.
pub struct Tower(ConcurrencyLimit<Counted>);

impl Tower {
    /// Around a service that only counts.
    pub fn new() -> Self {
        Self(ConcurrencyLimit::new(Counted::default(), SEATS as usize))
    }
}

impl Default for Tower {
    fn default() -> Self {
        Self::new()
    }
}

impl Peer for Tower {
    fn serve(&mut self, requests: u64) {
        for request in 0..requests {
            let called = now_or_never(async { self.0.ready().await?.call(request).await });
            assert_eq!(called, Ok(request));
        }
    }

    fn served(&self) -> u64 {
        self.0.get_ref().0
    }
}

/// governor's direct rate limiter: one check. It reads its own clock.
pub struct Governor {
    limiter: DefaultDirectRateLimiter,
    admitted: u64,
}

impl Governor {
    /// A quota that is never used up here.
    ///
    /// # Panics
    ///
    /// When the limiter does not limit.
    pub fn new() -> Self {
        let once = RateLimiter::direct(Quota::per_hour(NonZeroU32::MIN));
        assert!(once.check().is_ok() && once.check().is_err(), "it limits");
        Self { limiter: RateLimiter::direct(Quota::per_second(NonZeroU32::MAX)), admitted: 0 }
    }
}

impl Default for Governor {
    fn default() -> Self {
        Self::new()
    }
}

impl Peer for Governor {
    fn serve(&mut self, requests: u64) {
        for _ in 0..requests {
            self.admitted += u64::from(self.limiter.check().is_ok());
        }
    }

    fn served(&self) -> u64 {
        self.admitted
    }
}
