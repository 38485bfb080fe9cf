//! The gate and the lock shells under one name each, for threads that drive them alike.

use std::sync::{Arc, Mutex, mpsc};
use std::task::Waker;

use apf::gate::{Decision, Gate, NoTimers, Request, Started, Ticket};
use apf::locked::{self, Lock, Locked, Shell};
use apf_core::{Level, RequestId};

/// A level that threads share.
pub trait Admission: Send + Sync {
    /// A request under way.
    type Handle: Send;

    /// What it is called in figures.
    const NAME: &'static str;

    /// That shell around `level`.
    fn around(level: Level) -> Self;

    /// A request arrives: `true` when it runs.
    fn start(&self, now: u64, request: Request) -> (Self::Handle, bool);

    /// Whether it runs now; if not, `waker` is woken when it does.
    fn poll(&self, handle: &mut Self::Handle, waker: &Waker) -> bool;

    /// A running request has been served.
    fn finish(&self, now: u64, handle: Self::Handle);

    /// Requests that the core has let run.
    fn dispatched(&self) -> u64;

    /// Requests that wait in the core.
    fn waiting(&self) -> u64;
}

impl Admission for Gate {
    type Handle = Ticket;

    const NAME: &'static str = "gate";

    fn around(level: Level) -> Self {
        Self::new(level, Arc::new(NoTimers))
    }

    #[inline]
    fn start(&self, now: u64, request: Request) -> (Ticket, bool) {
        match Self::start(self, now, request) {
            Started::Running(ticket) => (ticket, true),
            Started::Pending(ticket) => (ticket, false),
            other => panic!("a level without limits answers {other:?}"),
        }
    }

    #[inline]
    fn poll(&self, handle: &mut Ticket, waker: &Waker) -> bool {
        Self::poll(self, handle, waker) == Some(Decision::Granted)
    }

    #[inline]
    fn finish(&self, now: u64, handle: Ticket) {
        Self::finish(self, now, handle);
    }

    fn dispatched(&self) -> u64 {
        look(self, |level| level.counters().dispatched)
    }

    fn waiting(&self) -> u64 {
        look(self, Level::requests_waiting)
    }
}

/// Looks at a gate's core in its turn.
fn look<R: Send + 'static>(gate: &Gate, look: impl FnOnce(&Level) -> R + Send + 'static) -> R {
    let (send, receive) = mpsc::sync_channel(1);
    let ticket = gate
        .control(0, move |held| drop(send.try_send(look(held.level()))))
        .expect("the level has not been removed");
    let seen = receive.recv().expect("a control operation is carried out");
    gate.forget(ticket);
    seen
}

/// `parking_lot`'s mutex in the place of the standard one.
#[derive(Debug)]
pub struct ParkingLot<T>(parking_lot::Mutex<T>);

impl<T: Send> Lock<T> for ParkingLot<T> {
    fn around(value: T) -> Self {
        Self(parking_lot::Mutex::new(value))
    }

    #[inline]
    fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        f(&mut self.0.lock())
    }
}

/// A lock with a name for figures.
pub trait NamedLock: Lock<Shell> {
    /// The name.
    const NAME: &'static str;
}

impl NamedLock for Mutex<Shell> {
    const NAME: &'static str = "std-mutex";
}

impl NamedLock for ParkingLot<Shell> {
    const NAME: &'static str = "parking_lot";
}

impl<L: NamedLock> Admission for Locked<L> {
    type Handle = RequestId;

    const NAME: &'static str = L::NAME;

    fn around(level: Level) -> Self {
        Self::new(level)
    }

    #[inline]
    fn start(&self, now: u64, request: Request) -> (RequestId, bool) {
        match Self::start(self, now, request) {
            Ok(locked::Started::Running(id)) => (id, true),
            Ok(locked::Started::Waiting(id)) => (id, false),
            other => panic!("a level without limits answers {other:?}"),
        }
    }

    #[inline]
    fn poll(&self, handle: &mut RequestId, waker: &Waker) -> bool {
        Self::poll(self, *handle, waker)
    }

    #[inline]
    fn finish(&self, now: u64, handle: RequestId) {
        Self::finish(self, now, handle).expect("it runs");
    }

    fn dispatched(&self) -> u64 {
        self.look(|level| level.counters().dispatched)
    }

    fn waiting(&self) -> u64 {
        self.look(Level::requests_waiting)
    }
}
