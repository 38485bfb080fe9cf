//! Requests that wait: the engine's futures, polled by whoever wakes them.
//!
//! A waker points to its slot and keeps the engine; no memory is taken for it. Where it wakes, the decision is taken at
//! once: a wait ends when it is decided, however late the host asks for the completion.

#![allow(unsafe_code, reason = "wakers that point to slots")]

use std::future::Future;
use std::mem::ManuallyDrop;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Waker};

use apf::{AdmitError, Permit};

use crate::engine::apf_engine;
use crate::slot::{Claim, Holding, Left, Slot};

/// Wakers are pointers to slots, each with a count of the slot's engine.
static VTABLE: RawWakerVTable = RawWakerVTable::new(clone, wake, wake_by_ref, forget);

unsafe fn clone(slot: *const ()) -> RawWaker {
    // SAFETY: the pointer is a waker's: the slot lives, for its engine is counted or borrowed.
    unsafe { Arc::increment_strong_count((*slot.cast::<Slot>()).engine) };
    RawWaker::new(slot, &VTABLE)
}

unsafe fn wake(slot: *const ()) {
    // SAFETY: as in `clone`; the count of this waker is given up after its last use.
    unsafe {
        wake_by_ref(slot);
        forget(slot);
    }
}

unsafe fn wake_by_ref(slot: *const ()) {
    // SAFETY: as in `clone`.
    let slot = unsafe { &*slot.cast::<Slot>() };
    if let Some(claim) = slot.claim_to_poll() {
        poll(claim);
    }
}

unsafe fn forget(slot: *const ()) {
    // SAFETY: as in `clone`; the waker had a count of its own.
    unsafe { Arc::decrement_strong_count((*slot.cast::<Slot>()).engine) };
}

/// Polls the request's future once. `None` when there is none.
fn poll_once(claim: &mut Claim<'_>) -> Option<Poll<Result<Permit<'static>, AdmitError>>> {
    // SAFETY: the vtable is the one that belongs to pointers to slots. Nobody drops this waker, so it needs no count: the
    // engine is kept by whoever has the claim.
    let waker = ManuallyDrop::new(unsafe {
        Waker::from_raw(RawWaker::new(std::ptr::from_ref(claim.slot).cast(), &VTABLE))
    });
    match &mut claim.body().holding {
        Holding::Future(future) => Some(Pin::new(future).poll(&mut Context::from_waker(&waker))),
        Holding::Nothing | Holding::Refusal(_) => None,
    }
}

/// What became of a request at its first poll.
pub(crate) enum Begun<'a> {
    /// It was decided before it had to wait.
    Decided(Claim<'a>, Result<Permit<'static>, AdmitError>),
    /// It waits, or is over already.
    Waiting,
}

/// Has a request that has just been given to its engine wait.
pub(crate) fn begin(claim: Claim<'_>) -> Begun<'_> {
    let mut claim = claim.begin_polling();
    loop {
        match poll_once(&mut claim) {
            Some(Poll::Ready(decided)) => {
                claim.body().holding = Holding::Nothing;
                return Begun::Decided(claim, decided);
            }
            Some(Poll::Pending) => match claim.leave_waiting() {
                Left::Waiting => return Begun::Waiting,
                Left::Again(again) => claim = again,
                Left::Cancelled => return Begun::Waiting,
            },
            None => return Begun::Waiting,
        }
    }
}

/// Sees whether a request has been decided, and if so puts its completion on its queue. Dropping the claim ends it.
fn poll(mut claim: Claim<'_>) {
    // SAFETY: a slot lives in the slab of its engine, which whoever has the claim keeps.
    let engine: &apf_engine = unsafe { &*claim.slot.engine };
    loop {
        if engine.is_gone() || claim.body().queue.as_ref().is_none_or(|queue| queue.is_closed()) {
            return;
        }
        match poll_once(&mut claim) {
            Some(Poll::Ready(decided)) => {
                let now = engine.now();
                let body = claim.body();
                match decided {
                    Ok(permit) => {
                        body.time = permit.waited_ns();
                        body.permit = Some(permit);
                        body.holding = Holding::Nothing;
                    }
                    Err(error) => {
                        body.time = now.saturating_sub(body.time);
                        body.holding = Holding::Refusal(error);
                    }
                }
                if let Some(queue) = body.queue.take()
                    && let Ok(slot) = claim.leave_decided()
                {
                    queue.push(slot);
                }
                return;
            }
            Some(Poll::Pending) => match claim.leave_waiting() {
                Left::Waiting => return,
                Left::Again(again) => claim = again,
                Left::Cancelled => return,
            },
            None => return,
        }
    }
}

/// Has every waiting request look at itself again: those of a queue that has been closed end.
pub(crate) fn poll_all(engine: &apf_engine) {
    engine.slab.iter().filter_map(Slot::claim_to_poll).for_each(poll);
}
