//! The short-lock shell: the same core behind an ordinary lock.
//!
//! It decides exactly as the [gate](crate::gate) does with one thread, and is what the gate is measured against and
//! compared with. Its operations wait for whoever has the lock, which is what the gate is for.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::task::Waker;

use apf_core::{
    Answer, Arrival, ArriveError, Arrived, Cancelled, Cause, Grant, Level, Reason, RequestId, Sink,
    StaleRequest,
};

use crate::gate::Request;

/// A lock to put the core behind: any that can run a closure on its value.
pub trait Lock<T>: Send + Sync {
    /// A lock around `value`.
    fn around(value: T) -> Self;
    /// Runs `f` on the value, alone.
    fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R;
}

impl<T: Send> Lock<T> for Mutex<T> {
    fn around(value: T) -> Self {
        Self::new(value)
    }

    fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        f(&mut self.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A level behind a lock.
#[derive(Debug)]
pub struct Locked<L = Mutex<Shell>> {
    shell: L,
}

/// What the lock guards.
#[derive(Debug)]
pub struct Shell {
    level: Level,
    waiting: HashMap<RequestId, Option<Waker>>,
}

/// What became of a start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Started {
    /// It runs; finish it.
    Running(RequestId),
    /// It waits; poll or cancel it.
    Waiting(RequestId),
    /// It is rejected and holds nothing.
    Refused(Reason),
}

/// Takes every grant: whoever waits has a place in `waiting` until it is granted or cancelled under the lock.
struct Grants<'a> {
    waiting: &'a mut HashMap<RequestId, Option<Waker>>,
    wake: Vec<Waker>,
}

impl Sink for Grants<'_> {
    fn grant(&mut self, grant: Grant) -> Answer {
        if !self.waiting.is_empty() {
            self.wake.extend(self.waiting.remove(&grant.id).flatten());
        }
        Answer::Taken
    }
}

impl<L: Lock<Shell>> Locked<L> {
    /// A lock around `level`.
    pub fn new(level: Level) -> Self {
        Self { shell: L::around(Shell { level, waiting: HashMap::new() }) }
    }

    /// Runs an event under the lock and wakes, after it, whom the event granted.
    fn event<R>(&self, event: impl FnOnce(&mut Level, &mut Grants<'_>) -> R) -> R {
        let (result, wake) = self.shell.with(|shell| {
            let mut grants = Grants { waiting: &mut shell.waiting, wake: Vec::new() };
            let result = event(&mut shell.level, &mut grants);
            (result, grants.wake)
        });
        wake.into_iter().for_each(Waker::wake);
        result
    }

    /// A request arrives.
    ///
    /// # Errors
    ///
    /// As [`Level::arrive`].
    pub fn start(&self, now: u64, request: Request) -> Result<Started, ArriveError> {
        let arrival = Arrival { flow_hash: request.flow_hash, work: request.work, token: 0 };
        self.event(|level, grants| {
            let now = now.max(level.now());
            Ok(match level.arrive(now, arrival, grants)? {
                Arrived::Executing(id) => Started::Running(id),
                Arrived::Waiting(id) => {
                    grants.waiting.insert(id, None);
                    Started::Waiting(id)
                }
                Arrived::Rejected(reason) => Started::Refused(reason),
                Arrived::Gone => Started::Refused(Reason::Cancelled),
            })
        })
    }

    /// A running request has been served.
    ///
    /// # Errors
    ///
    /// As [`Level::finish`].
    pub fn finish(&self, now: u64, id: RequestId) -> Result<(), StaleRequest> {
        self.event(|level, grants| level.finish(now.max(level.now()), id, grants).map(drop))
    }

    /// Gives up waiting.
    ///
    /// # Errors
    ///
    /// As [`Level::cancel`].
    pub fn cancel(&self, now: u64, id: RequestId, cause: Cause) -> Result<Cancelled, StaleRequest> {
        self.event(|level, grants| {
            let cancelled = level.cancel(now.max(level.now()), id, cause, grants)?;
            if cancelled != Cancelled::Executing {
                grants.waiting.remove(&id);
            }
            Ok(cancelled)
        })
    }

    /// Whether a waiting request runs now; if not, `waker` is woken when it does.
    pub fn poll(&self, id: RequestId, waker: &Waker) -> bool {
        self.shell.with(|shell| match shell.waiting.get_mut(&id) {
            Some(slot) => {
                *slot = Some(waker.clone());
                false
            }
            None => true,
        })
    }

    /// Lets releases that are due take place.
    pub fn tick(&self, now: u64) {
        self.event(|level, grants| level.tick(now.max(level.now()), grants));
    }

    /// Looks at the level.
    pub fn look<R>(&self, look: impl FnOnce(&Level) -> R) -> R {
        self.shell.with(|shell| look(&shell.level))
    }
}
