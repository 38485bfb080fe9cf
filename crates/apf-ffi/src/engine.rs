//! An engine: the dispatcher, the slots of its requests, and what tells it from others.

#![allow(unsafe_code, reason = "requests in slots borrow the dispatcher beside them")]

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use apf::Dispatcher;
use apf::clock::ManualClock;

use crate::magazine;
use crate::pointers::Checked;
use crate::slab::Slab;
use crate::slot::{Claim, Phase, Slot, generation_of};
use crate::status::apf_status::*;
use crate::types::apf_ticket;

/// An engine: admits requests by the rules of API Priority and Fairness. Every function may use it from any number of
/// threads at once, except that nobody may use it while or after it is freed.
#[allow(non_camel_case_types, reason = "names of the C interface")]
#[derive(Debug)]
pub struct apf_engine {
    /// Itself: what the wakers of its slots count.
    pub(crate) this: Weak<Self>,
    pub(crate) slab: Arc<Slab>,
    dispatcher: Dispatcher,
    /// Of no other engine of this process: part of every ticket.
    number: u32,
    /// The process that made it.
    process: u32,
    pub(crate) manual: Option<ManualClock>,
    /// Set when the host frees it.
    gone: AtomicBool,
    /// Threads that are in a callback.
    calling: AtomicUsize,
}

impl apf_engine {
    pub(crate) fn new(dispatcher: Dispatcher, manual: Option<ManualClock>) -> Arc<Self> {
        /// Engines made in this process, and in those it was forked from.
        static ENGINES: AtomicU32 = AtomicU32::new(1);
        let number = ENGINES.fetch_add(1, Ordering::Relaxed).max(1);
        Arc::new_cyclic(|this| Self {
            this: Weak::clone(this),
            slab: Arc::new(Slab::new(number)),
            dispatcher,
            number,
            process: std::process::id(),
            manual,
            gone: AtomicBool::new(false),
            calling: AtomicUsize::new(0),
        })
    }

    /// The dispatcher, for calls.
    pub(crate) fn dispatcher(&self) -> &Dispatcher {
        &self.dispatcher
    }

    /// The dispatcher, for what is put into slots of this engine alone.
    pub(crate) fn dispatcher_for_slots(&self) -> &'static Dispatcher {
        // SAFETY: what borrows it is in a slot of this engine, or on its way from or to one in a call that has borrowed
        // `self`; the engine empties its slots before it goes, and does not move, for it is only made in an `Arc`.
        unsafe { &*std::ptr::from_ref(&self.dispatcher) }
    }

    pub(crate) fn now(&self) -> u64 {
        self.dispatcher.clock().now()
    }

    /// Refuses what would wait for threads that a forked child does not have.
    pub(crate) fn check_process(&self) -> Checked<()> {
        if std::process::id() == self.process { Ok(()) } else { Err(APF_ERROR_FORKED) }
    }

    pub(crate) fn is_gone(&self) -> bool {
        // Sequentially consistent: see `free`.
        self.gone.load(Ordering::SeqCst)
    }

    /// While the returned value lives, a callback may be running.
    pub(crate) fn enter_callback(&self) -> impl Drop {
        struct During<'a>(&'a AtomicUsize);
        impl Drop for During<'_> {
            fn drop(&mut self) {
                self.0.fetch_sub(1, Ordering::Release);
            }
        }
        // Sequentially consistent: either `free` sees the count, or the caller sees that the engine is gone.
        self.calling.fetch_add(1, Ordering::SeqCst);
        During(&self.calling)
    }

    pub(crate) fn ticket(&self, index: u32, generation: u64) -> apf_ticket {
        apf_ticket { bits: [u64::from(self.number) << 32 | u64::from(index), generation] }
    }

    /// The slot and the generation of a ticket.
    #[inline]
    pub(crate) fn locate(&self, ticket: apf_ticket) -> Checked<(&Slot, u64)> {
        let [place, generation] = ticket.bits;
        if (place >> 32) as u32 != self.number {
            return Err(if place == 0 && generation == 0 {
                APF_ERROR_NULL_TICKET
            } else {
                APF_ERROR_FOREIGN_TICKET
            });
        }
        let slot = self.slab.get(place as u32).ok_or(APF_ERROR_STALE_TICKET)?;
        Ok((slot, generation_of(generation)?))
    }

    /// A free slot; `None` when there is no memory for another.
    #[inline]
    pub(crate) fn take_slot(&self) -> Option<Claim<'_>> {
        loop {
            if let Some(index) = magazine::take(&self.slab) {
                return self.slab.get(index).map(Slot::take);
            }
            self.slab.grow(self)?;
        }
    }

    /// Ends a running request.
    #[inline]
    pub(crate) fn finish(&self, ticket: apf_ticket) -> Checked<()> {
        self.claim_running(ticket).map(|claim| drop(claim.end()))
    }

    /// Claims a request that runs, or whose seats have been released early, in order to end it.
    #[inline]
    pub(crate) fn claim_running(&self, ticket: apf_ticket) -> Checked<Claim<'_>> {
        let (slot, generation) = self.locate(ticket)?;
        let mut found = match slot.claim(generation, Phase::Running, Phase::Ending) {
            Ok(claim) => return Ok(claim),
            Err(state) => state,
        };
        if found.generation() == generation && found.phase() == Phase::Released {
            match slot.claim(generation, Phase::Released, Phase::Ending) {
                Ok(claim) => return Ok(claim),
                Err(state) => found = state,
            }
        }
        Err(Slot::why_not_running(found, generation))
    }

    /// Gives the seats of a running request back; its ticket stays.
    pub(crate) fn finish_early(&self, ticket: apf_ticket) -> Checked<()> {
        let (slot, generation) = self.locate(ticket)?;
        let mut claim = slot
            .claim(generation, Phase::Running, Phase::Releasing)
            .map_err(|state| Slot::why_not_running(state, generation))?;
        let permit = claim.body().permit.take();
        claim.leave(Phase::Released);
        drop(permit);
        Ok(())
    }

    /// Ends a request that waits, or whose completion has not been taken.
    pub(crate) fn cancel(&self, ticket: apf_ticket) -> Checked<()> {
        let (slot, generation) = self.locate(ticket)?;
        loop {
            let state = match slot.claim(generation, Phase::Waiting, Phase::Ending) {
                Ok(claim) => {
                    drop(claim);
                    return Ok(());
                }
                Err(state) => state,
            };
            if state.generation() != generation {
                return Err(APF_ERROR_STALE_TICKET);
            }
            match state.phase() {
                Phase::Waiting => {} // it has just gone back to it
                Phase::Polling => match slot.cancel_polled(generation) {
                    Ok(()) => return Ok(()),
                    Err(now) if now == state => return Err(APF_ERROR_STALE_TICKET),
                    Err(_) => {}
                },
                Phase::Decided => {
                    if let Ok(mut claim) = slot.claim(generation, Phase::Decided, Phase::Revoking) {
                        let body = std::mem::take(claim.body());
                        claim.leave_void();
                        drop(body);
                        return Ok(());
                    }
                }
                _ => return Err(Slot::why_not_waiting(state, generation)),
            }
        }
    }

    /// Ends whatever is in the engine, and calls no callback any more. `BUSY` while one is running: free it again later.
    pub(crate) fn end_all(&self) -> Checked<()> {
        // Sequentially consistent: see `enter_callback`.
        self.gone.store(true, Ordering::SeqCst);
        if self.calling.load(Ordering::SeqCst) != 0 {
            return Err(APF_ERROR_BUSY);
        }
        self.end_requests();
        Ok(())
    }

    fn end_requests(&self) {
        for slot in self.slab.iter() {
            let generation = slot.state().generation();
            let ticket = self.ticket(slot.index, generation);
            // One of the two, or neither where the slot is free.
            if self.cancel(ticket).is_err() {
                let _ = self.finish(ticket);
            }
        }
    }
}

impl Drop for apf_engine {
    fn drop(&mut self) {
        // Nothing is left after `end_all`, but the slots may outlive the dispatcher: threads' magazines look at them.
        self.end_requests();
    }
}

impl Slot {
    pub(crate) fn ticket(&self, generation: u64) -> apf_ticket {
        // SAFETY: a slot lives in the slab of its engine.
        unsafe { &*self.engine }.ticket(self.index, generation)
    }
}
