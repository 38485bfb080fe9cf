//! Waiting for a grant: as a future on any executor, or by blocking the thread.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

use apf_core::Cause;

use crate::engine::{Begun, Engine, EngineRef, Request, Waiting};
use crate::permit::AnyPermit;
use crate::rejected::AdmitError;
use crate::timers::TimerId;

/// A request that was admitted, waits, or was refused. It entered its queue when it was made; polling waits for
/// the grant.
///
/// # Cancel safety
///
/// Dropping it gives the place in the queue up; a grant that has come meanwhile is passed on to the next request.
#[must_use = "a request that nobody waits for is cancelled at once"]
pub struct AnyAdmit<E: EngineRef> {
    engine: E,
    state: State,
    timer: Option<TimerId>,
}

/// The future of a dispatcher that outlives it.
pub type Admit<'a> = AnyAdmit<&'a Engine>;

/// The future that keeps its dispatcher alive.
pub type OwnedAdmit = AnyAdmit<Arc<Engine>>;

enum State {
    Begun(Result<Begun, AdmitError>),
    Done,
}

impl<E: EngineRef> std::fmt::Debug for AnyAdmit<E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match &self.state {
            State::Begun(Ok(Begun::Running(..))) => "Admit(admitted)",
            State::Begun(Ok(Begun::Waiting(_))) => "Admit(waiting)",
            State::Begun(Err(_)) => "Admit(refused)",
            State::Done => "Admit(done)",
        })
    }
}

impl<E: EngineRef + Unpin> AnyAdmit<E> {
    pub(crate) fn new(engine: E, request: &Request<'_>) -> Self {
        let begun = engine.begin(request, true);
        Self::of(engine, begun)
    }

    pub(crate) const fn of(engine: E, begun: Result<Begun, AdmitError>) -> Self {
        Self { engine, state: State::Begun(begun), timer: None }
    }

    /// What is already known of a request: its permit or its refusal, unless it has to wait. For hosts that poll only then.
    ///
    /// # Errors
    ///
    /// The request itself, when it has to wait.
    pub fn at_once(mut self) -> Result<Result<AnyPermit<E>, AdmitError>, Self> {
        match std::mem::replace(&mut self.state, State::Done) {
            State::Begun(Ok(Begun::Running(admitted, ticket))) => {
                Ok(Ok(AnyPermit::new(self.engine.clone(), admitted, ticket)))
            }
            State::Begun(Err(error)) => Ok(Err(error)),
            waits => {
                self.state = waits;
                Err(self)
            }
        }
    }

    fn forget_timer(&mut self) {
        if let Some(timer) = self.timer.take() {
            self.engine.timers.forget(timer);
        }
    }
}

impl<E: EngineRef + Unpin> Future for AnyAdmit<E> {
    type Output = Result<AnyPermit<E>, AdmitError>;

    /// # Panics
    ///
    /// When polled again after it has completed.
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        let begun = match std::mem::replace(&mut this.state, State::Done) {
            State::Begun(begun) => begun,
            State::Done => panic!("a request was polled after it had been decided"),
        };
        let mut waiting = match begun {
            Ok(Begun::Running(admitted, ticket)) => {
                return Poll::Ready(Ok(AnyPermit::new(this.engine.clone(), admitted, ticket)));
            }
            Ok(Begun::Waiting(waiting)) => waiting,
            Err(error) => return Poll::Ready(Err(error)),
        };
        let decision = this
            .engine
            .level(waiting.flow)
            .and_then(|level| level.gate.poll(&mut waiting.ticket, context.waker()));
        let decided = match decision {
            Some(decision) => this.engine.settle(waiting, decision),
            None if this.engine.clock.now() >= waiting.deadline => {
                this.engine.withdraw(waiting, Cause::TimeOut)
            }
            None => {
                match &this.timer {
                    Some(timer) => this.engine.timers.update(timer, context.waker()),
                    None => {
                        let waker = context.waker().clone();
                        this.timer = Some(this.engine.timers.wake_at(waiting.deadline, waker));
                    }
                }
                this.state = State::Begun(Ok(Begun::Waiting(waiting)));
                return Poll::Pending;
            }
        };
        this.forget_timer();
        Poll::Ready(decided.map(|(admitted, ticket)| AnyPermit::new(this.engine.clone(), admitted, ticket)))
    }
}

impl<E: EngineRef> Drop for AnyAdmit<E> {
    fn drop(&mut self) {
        if let Some(timer) = self.timer.take() {
            self.engine.timers.forget(timer);
        }
        match std::mem::replace(&mut self.state, State::Done) {
            State::Begun(Ok(Begun::Running(admitted, ticket))) => self.engine.finish(&admitted, ticket),
            State::Begun(Ok(Begun::Waiting(waiting))) => self.engine.abandon(waiting),
            State::Begun(Err(_)) | State::Done => {}
        }
    }
}

/// Wakes a thread from its park.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.unpark();
    }
}

std::thread_local! {
    static THIS_THREAD: Waker = Waker::from(Arc::new(Unpark(thread::current())));
}

/// How often a blocked thread looks at a clock that does not run by itself.
const GLANCE: Duration = Duration::from_millis(1);

/// Ends the wait if the blocked thread unwinds.
struct Blocked<'a> {
    engine: &'a Engine,
    waiting: Option<Waiting>,
}

impl Drop for Blocked<'_> {
    fn drop(&mut self) {
        if let Some(waiting) = self.waiting.take() {
            self.engine.abandon(waiting);
        }
    }
}

/// Waits for a grant by parking the thread.
pub(crate) fn block<E: EngineRef>(engine: E, request: &Request<'_>) -> Result<AnyPermit<E>, AdmitError> {
    let waiting = match engine.begin(request, true)? {
        Begun::Running(admitted, ticket) => return Ok(AnyPermit::new(engine, admitted, ticket)),
        Begun::Waiting(waiting) => waiting,
    };
    let deadline = waiting.deadline;
    let decided = {
        let mut blocked = Blocked { engine: &engine, waiting: Some(waiting) };
        let waker = THIS_THREAD.try_with(Waker::clone);
        let waker = waker.unwrap_or_else(|_| Waker::from(Arc::new(Unpark(thread::current()))));
        loop {
            let Some(waiting) = &mut blocked.waiting else { return Err(AdmitError::OutOfMemory) };
            let level = engine.level(waiting.flow);
            let decision = level.and_then(|level| level.gate.poll(&mut waiting.ticket, &waker));
            let now = engine.clock.now();
            match decision {
                Some(decision) => {
                    if let Some(waiting) = blocked.waiting.take() {
                        break engine.settle(waiting, decision);
                    }
                }
                None if now >= deadline => {
                    if let Some(waiting) = blocked.waiting.take() {
                        break engine.withdraw(waiting, Cause::TimeOut);
                    }
                }
                None if engine.clock.runs() => {
                    thread::park_timeout(Duration::from_nanos(deadline.saturating_sub(now)));
                }
                None => thread::park_timeout(GLANCE),
            }
        }
    };
    decided.map(|(admitted, ticket)| AnyPermit::new(engine, admitted, ticket))
}
