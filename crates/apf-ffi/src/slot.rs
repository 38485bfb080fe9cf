//! A request between its start and its end, in a place that is used again and never moves.
//!
//! One word says whose request it is and what may be done with it: the generation, which every end moves on, and a
//! phase. A ticket holds the generation, so one exchange of the word checks the ticket and claims the request for
//! exactly one caller.
//!
//! # Phases
//!
//! | phase | the body is | moves to |
//! | --- | --- | --- |
//! | `FREE` | nobody's | `TAKEN`, by whoever has it as a free one |
//! | `TAKEN` | the submitter's | `RUNNING`, `POLLING`, or `FREE` when it is refused |
//! | `RUNNING` | nobody's, holds a permit | `ENDING` (finish), `RELEASING` (finish early) |
//! | `RELEASING` | finish early's | `RELEASED` |
//! | `RELEASED` | nobody's, empty | `ENDING` (finish) |
//! | `WAITING` | nobody's, holds a future | `POLLING` (wake), `ENDING` (cancel) |
//! | `POLLING` | the poller's | `WAITING`, `DECIDED`, or `FREE` when it was cancelled meanwhile |
//! | `DECIDED` | nobody's, holds the result; it is on its queue's list | `HANDING` (drain), `REVOKING` (cancel) |
//! | `HANDING` | the drainer's | `RUNNING`, or `FREE` after a refusal |
//! | `REVOKING` | the canceller's | `VOID`, or `FREE` when it was drained meanwhile |
//! | `VOID` | nobody's, empty; it is on its queue's list | `FREE` (drain) |
//! | `ENDING` | that of whoever ends it | `FREE` |
//!
//! Flags are added by others than the body's owner: `NOTIFIED` and `CANCELLED` in `POLLING`, `DRAINED` in `REVOKING`.

#![allow(unsafe_code, reason = "the body is guarded by the state word")]

use std::cell::UnsafeCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

use apf::{Admit, AdmitError, Permit};

use crate::completions::apf_completions;
use crate::engine::apf_engine;
use crate::magazine;
use crate::pointers::Checked;
use crate::status::apf_status::{self, *};

/// What a request is up to: see the module documentation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Phase {
    Free,
    Taken,
    Running,
    Releasing,
    Released,
    Waiting,
    Polling,
    Decided,
    Handing,
    Revoking,
    Void,
    Ending,
}

const PHASES: [Phase; 12] = [
    Phase::Free,
    Phase::Taken,
    Phase::Running,
    Phase::Releasing,
    Phase::Released,
    Phase::Waiting,
    Phase::Polling,
    Phase::Decided,
    Phase::Handing,
    Phase::Revoking,
    Phase::Void,
    Phase::Ending,
];

const PHASE: u64 = 0xf;
/// The future may have something new: poll it again.
const NOTIFIED: u64 = 1 << 4;
/// The request was cancelled while it was being polled: whoever polls it ends it.
const CANCELLED: u64 = 1 << 5;
/// The list has let go of the slot while it was being cancelled: whoever cancels it frees it.
const DRAINED: u64 = 1 << 6;
const GENERATION_SHIFT: u32 = 8;

/// The state word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct State(u64);

impl State {
    const fn new(generation: u64, phase: Phase) -> Self {
        Self(generation << GENERATION_SHIFT | phase as u64)
    }

    pub(crate) const fn generation(self) -> u64 {
        self.0 >> GENERATION_SHIFT
    }

    pub(crate) fn phase(self) -> Phase {
        PHASES.get((self.0 & PHASE) as usize).copied().unwrap_or(Phase::Ending)
    }

    /// The same request in another phase, without flags.
    const fn to(self, phase: Phase) -> Self {
        Self::new(self.generation(), phase)
    }
}

/// What a request that does not run holds.
#[derive(Debug, Default)]
pub(crate) enum Holding {
    #[default]
    Nothing,
    Future(Admit<'static>),
    Refusal(AdmitError),
}

/// What belongs to whoever has claimed the slot. What every request needs comes first.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct Body {
    /// Of a request that was admitted, until its seats are given back.
    pub(crate) permit: Option<Permit<'static>>,
    pub(crate) user_data: u64,
    /// When it was submitted, and after its decision how long it waited: nanoseconds.
    pub(crate) time: u64,
    /// Where its completion goes, while it waits or its completion has not been taken.
    pub(crate) queue: Option<Arc<apf_completions>>,
    pub(crate) holding: Holding,
}

/// See the module documentation.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Slot {
    state: AtomicU64,
    /// Link in the list of free slots.
    pub(crate) next_free: AtomicU32,
    /// Its number in the slab.
    pub(crate) index: u32,
    /// Link in the list of its queue.
    pub(crate) next_decided: AtomicPtr<Slot>,
    /// The engine, in whose slab it is: alive as long as the slot.
    pub(crate) engine: *const apf_engine,
    body: UnsafeCell<Body>,
}

// SAFETY: the body is reached through a `Claim` alone, of which there is one at a time, handed on by the release and
// acquire of the state word; its parts may change threads. The engine is only pointed to.
unsafe impl Sync for Slot {}
// SAFETY: as above.
unsafe impl Send for Slot {}

impl Slot {
    pub(crate) fn new(index: u32, engine: *const apf_engine) -> Self {
        Self {
            state: AtomicU64::new(State::new(1, Phase::Free).0),
            next_free: AtomicU32::new(0),
            index,
            next_decided: AtomicPtr::new(std::ptr::null_mut()),
            engine,
            body: UnsafeCell::new(Body::default()),
        }
    }

    pub(crate) fn state(&self) -> State {
        State(self.state.load(Ordering::Relaxed))
    }

    /// Claims a free slot that belongs to the caller.
    #[inline]
    pub(crate) fn take(&self) -> Claim<'_> {
        let state = self.state().to(Phase::Taken);
        // Relaxed: whoever frees a slot hands it on through the list of free ones; others only learn that it is in use.
        self.state.store(state.0, Ordering::Relaxed);
        Claim { slot: self, generation: state.generation() }
    }

    /// Claims the request of this generation if it is in phase `from`, which then is `to`. Otherwise the state that it is in.
    pub(crate) fn claim(&self, generation: u64, from: Phase, to: Phase) -> Result<Claim<'_>, State> {
        let (from, to) = (State::new(generation, from), State::new(generation, to));
        // Acquire: pairs with the release of the last owner of the body.
        match self.state.compare_exchange(from.0, to.0, Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => Ok(Claim { slot: self, generation }),
            Err(state) => Err(State(state)),
        }
    }

    /// Claims a waiting request in order to poll it; one that is being polled is polled again by its poller.
    pub(crate) fn claim_to_poll(&self) -> Option<Claim<'_>> {
        let mut state = self.state();
        loop {
            let next = match state.phase() {
                Phase::Waiting => state.to(Phase::Polling),
                Phase::Polling => State(state.0 | NOTIFIED),
                _ => return None,
            };
            // Acquire: as in `claim`. Release: what is new happened before the poller sees that there is something.
            match self.state.compare_exchange_weak(state.0, next.0, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) if state.phase() == Phase::Waiting => {
                    return Some(Claim { slot: self, generation: state.generation() });
                }
                Ok(_) => return None,
                Err(now) => state = State(now),
            }
        }
    }

    /// Tells the poller of this generation that it is to end the request.
    ///
    /// # Errors
    ///
    /// The state that it is in, when nobody polls it or it has been told already.
    pub(crate) fn cancel_polled(&self, generation: u64) -> Result<(), State> {
        let mut state = self.state();
        while state.generation() == generation && state.phase() == Phase::Polling && state.0 & CANCELLED == 0
        {
            // Relaxed: the poller reads nothing else of the canceller.
            let next = state.0 | CANCELLED;
            match self.state.compare_exchange_weak(state.0, next, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return Ok(()),
                Err(now) => state = State(now),
            }
        }
        Err(state)
    }

    /// A list has let go of a slot that is being cancelled, or has been.
    pub(crate) fn drained(&self) {
        let mut state = self.state();
        loop {
            match state.phase() {
                Phase::Void => match self.claim(state.generation(), Phase::Void, Phase::Ending) {
                    Ok(claim) => return drop(claim),
                    Err(now) => state = now,
                },
                Phase::Revoking => {
                    // Release: this side's use of the slot happens before the canceller frees it.
                    let next = state.0 | DRAINED;
                    match self.state.compare_exchange_weak(
                        state.0,
                        next,
                        Ordering::Release,
                        Ordering::Relaxed,
                    ) {
                        Ok(_) => return,
                        Err(now) => state = State(now),
                    }
                }
                _ => return,
            }
        }
    }

    /// Why there is nothing to finish or to release early in this state, for a ticket of this generation.
    pub(crate) fn why_not_running(state: State, generation: u64) -> apf_status {
        if state.generation() != generation {
            return APF_ERROR_STALE_TICKET;
        }
        match state.phase() {
            Phase::Waiting | Phase::Polling | Phase::Decided | Phase::Handing => APF_ERROR_NOT_ADMITTED,
            Phase::Released => APF_ERROR_ALREADY_RELEASED,
            Phase::Releasing | Phase::Running => APF_ERROR_BUSY,
            _ => APF_ERROR_STALE_TICKET,
        }
    }

    /// Why there is nothing to cancel in this state, for a ticket of this generation.
    pub(crate) fn why_not_waiting(state: State, generation: u64) -> apf_status {
        if state.generation() != generation {
            return APF_ERROR_STALE_TICKET;
        }
        match state.phase() {
            Phase::Running | Phase::Releasing | Phase::Released | Phase::Handing => {
                APF_ERROR_ALREADY_ADMITTED
            }
            _ => APF_ERROR_STALE_TICKET,
        }
    }
}

/// A slot whose body is the holder's alone. Dropping it ends the request and frees the slot.
#[derive(Debug)]
pub(crate) struct Claim<'a> {
    pub(crate) slot: &'a Slot,
    pub(crate) generation: u64,
}

/// How a poller leaves a request that is still undecided.
#[derive(Debug)]
pub(crate) enum Left<'a> {
    /// It waits on.
    Waiting,
    /// Something new has come: poll it again.
    Again(Claim<'a>),
    /// It was cancelled, and has been ended.
    Cancelled,
}

impl<'a> Claim<'a> {
    pub(crate) fn body(&mut self) -> &mut Body {
        // SAFETY: there is one claim at a time, and this borrows it.
        unsafe { &mut *self.slot.body.get() }
    }

    fn forget(self) -> &'a Slot {
        let slot = self.slot;
        std::mem::forget(self);
        slot
    }

    /// Leaves the body to whoever claims it next from `phase`. Not from a phase in which others set flags.
    pub(crate) fn leave(self, phase: Phase) {
        let state = State::new(self.generation, phase);
        // Release: pairs with the acquire of the next claim.
        self.forget().state.store(state.0, Ordering::Release);
    }

    /// The submitter of a request that has to wait becomes its poller.
    pub(crate) fn begin_polling(self) -> Self {
        let state = State::new(self.generation, Phase::Polling);
        // Relaxed: the body stays where it is.
        self.slot.state.store(state.0, Ordering::Relaxed);
        self
    }

    /// The poller has found no decision.
    pub(crate) fn leave_waiting(self) -> Left<'a> {
        let polling = State::new(self.generation, Phase::Polling);
        // Release: pairs with the acquire of the next claim.
        match self.slot.state.compare_exchange(
            polling.0,
            polling.to(Phase::Waiting).0,
            Ordering::Release,
            Ordering::Relaxed,
        ) {
            Ok(_) => {
                self.forget();
                Left::Waiting
            }
            Err(state) if state & CANCELLED != 0 => {
                drop(self);
                Left::Cancelled
            }
            Err(_) => {
                // Acquire: pairs with the release of whoever notified.
                self.slot.state.fetch_and(!NOTIFIED, Ordering::Acquire);
                Left::Again(self)
            }
        }
    }

    /// The poller has found the decision and put it into the body. The claim again when the request was cancelled.
    pub(crate) fn leave_decided(self) -> Result<&'a Slot, Self> {
        let mut state = self.slot.state();
        loop {
            if state.0 & CANCELLED != 0 {
                return Err(self);
            }
            let next = state.to(Phase::Decided);
            // Release: pairs with the acquire of the next claim.
            match self.slot.state.compare_exchange_weak(state.0, next.0, Ordering::Release, Ordering::Relaxed)
            {
                Ok(_) => return Ok(self.forget()),
                Err(now) => state = State(now),
            }
        }
    }

    /// The canceller of a decided request, which is on a list, has emptied the body.
    pub(crate) fn leave_void(self) {
        let revoking = State::new(self.generation, Phase::Revoking);
        let void = revoking.to(Phase::Void);
        // Release: pairs with the drainer's claim. Acquire: the drainer's use of the slot is over before it is freed.
        if self.slot.state.compare_exchange(revoking.0, void.0, Ordering::AcqRel, Ordering::Acquire).is_ok() {
            self.forget();
        } // else the list has let go of it: it is freed here
    }
}

impl Claim<'_> {
    /// Frees the slot of a request that runs, or ran. The permit, if it still has one, is for the caller to end.
    #[inline]
    pub(crate) fn end(mut self) -> Option<Permit<'static>> {
        let permit = self.body().permit.take();
        self.free();
        std::mem::forget(self);
        permit
    }

    #[inline]
    fn free(&self) {
        let free = State::new(self.generation.wrapping_add(1), Phase::Free);
        // Release: for those who only look at the state; the list of free slots hands the body on.
        self.slot.state.store(free.0, Ordering::Release);
        // SAFETY: a slot is that of its engine, which whoever has a claim keeps.
        let engine = unsafe { &*self.slot.engine };
        magazine::give(&engine.slab, self.slot.index);
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        let body = std::mem::take(self.body());
        self.free();
        // Last: to give up a permit or a place may call wakers, which may use this slot for the next request.
        drop(body);
    }
}

/// The generation of a ticket for a slot, or why it can be none.
pub(crate) fn generation_of(bits: u64) -> Checked<u64> {
    if bits == 0 || bits >> (64 - GENERATION_SHIFT) != 0 { Err(APF_ERROR_STALE_TICKET) } else { Ok(bits) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use apf::clock::{Clock, ManualClock};

    fn engine() -> Option<Arc<apf_engine>> {
        let clock = Clock::Manual(ManualClock::default());
        Some(apf_engine::new(apf::Dispatcher::builder().clock(clock).build().ok()?, None))
    }

    /// A slot on a list whose request is being cancelled.
    fn revoking(engine: &apf_engine) -> Option<Claim<'_>> {
        let claim = engine.take_slot()?;
        let (slot, generation) = (claim.slot, claim.generation);
        claim.leave(Phase::Decided);
        slot.claim(generation, Phase::Decided, Phase::Revoking).ok()
    }

    #[test]
    fn of_canceller_and_drainer_whoever_comes_second_frees_the_slot() {
        let Some(engine) = engine() else { panic!("no engine") };
        for drained_first in [false, true] {
            let Some(claim) = revoking(&engine) else { panic!("no slot") };
            let (slot, generation) = (claim.slot, claim.generation);
            if drained_first {
                slot.drained();
                assert_eq!((slot.state().phase(), slot.state().generation()), (Phase::Revoking, generation));
                claim.leave_void();
            } else {
                claim.leave_void();
                assert_eq!((slot.state().phase(), slot.state().generation()), (Phase::Void, generation));
                slot.drained();
            }
            assert_eq!((slot.state().phase(), slot.state().generation()), (Phase::Free, generation + 1));
        }
    }

    #[test]
    fn a_ticket_of_an_earlier_generation_claims_nothing_in_any_phase() {
        let Some(engine) = engine() else { panic!("no engine") };
        for phase in PHASES.into_iter().filter(|phase| *phase != Phase::Free) {
            let Some(claim) = engine.take_slot() else { panic!("no slot") };
            let (slot, generation) = (claim.slot, claim.generation);
            claim.leave(phase);
            for generation in [generation - 1, generation + 1] {
                for from in PHASES {
                    assert!(slot.claim(generation, from, Phase::Ending).is_err());
                }
                assert!(slot.cancel_polled(generation).is_err());
                assert_eq!(Slot::why_not_running(slot.state(), generation), APF_ERROR_STALE_TICKET);
                assert_eq!(Slot::why_not_waiting(slot.state(), generation), APF_ERROR_STALE_TICKET);
            }
            assert_eq!((slot.state().phase(), slot.state().generation()), (phase, generation));
            drop(slot.claim(generation, phase, Phase::Ending));
        }
    }
}
