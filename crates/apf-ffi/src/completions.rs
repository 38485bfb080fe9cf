//! The decisions on queued requests, on their way to the host.
//!
//! Slots are linked into a list by whoever learns of a decision, with one exchange, and taken off it all together. A
//! thread that finds the list empty rings the bell; in the callback form it becomes the one that calls, until the list is
//! empty again: calls do not nest and do not overlap, whatever the callback does.

#![allow(unsafe_code, reason = "slots are linked by pointer, and the callback is the host's")]

use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError, Weak};

use crate::bell::Bell;
use crate::engine::apf_engine;
use crate::outcome;
use crate::pointers::Checked;
use crate::slot::{Holding, Phase, Slot};
use crate::status::apf_status::*;
use crate::types::{apf_completion, apf_outcome};

/// What a host is called with when a queued request has been decided: its own `context`, and the completion, which
/// lives as long as the call.
///
/// No lock of the engine is held: it may call every function of the engine, except to free this queue or the engine. It
/// runs in whichever thread has caused the decision, in the middle of its call (of apf_finish, say) or in the engine's
/// timer thread. Calls for one queue do not overlap and do not nest. It must not unwind (C++ exceptions, longjmp).
#[allow(non_camel_case_types, reason = "names of the C interface")]
pub type apf_completion_callback =
    Option<unsafe extern "C" fn(context: *mut c_void, completion: *const apf_completion)>;

/// A callback with its context.
#[derive(Debug)]
pub(crate) struct Callback {
    pub(crate) function: unsafe extern "C" fn(*mut c_void, *const apf_completion),
    pub(crate) context: *mut c_void,
}

/// A queue of completions: where the decisions on queued requests arrive. Every function may use it from several
/// threads at once, except that nobody may use it while or after it is freed.
#[allow(non_camel_case_types, reason = "names of the C interface")]
#[derive(Debug)]
pub struct apf_completions {
    /// Itself: what the requests that wait for a completion here count.
    this: Weak<Self>,
    pub(crate) engine: Arc<apf_engine>,
    /// The slot that was linked last; in the callback form also `CALLING`.
    head: AtomicPtr<Slot>,
    /// What was taken off the list and not handed out yet, in the order of the decisions.
    taken: Mutex<Taken>,
    pub(crate) bell: Bell,
    /// Set when the host frees it: what is decided from now on is given up.
    closed: AtomicBool,
    pub(crate) callback: Option<Callback>,
}

#[derive(Debug)]
struct Taken(*mut Slot);

// SAFETY: linked slots live in the slab of the engine, which `engine` keeps; the callback's context is the host's, who has
// been told that it is used from any thread.
unsafe impl Sync for apf_completions {}
// SAFETY: as above.
unsafe impl Send for apf_completions {}

/// The end of a list in the callback form, while a thread is calling.
fn calling() -> *mut Slot {
    ptr::without_provenance_mut(align_of::<Slot>())
}

impl apf_completions {
    pub(crate) fn new(engine: Arc<apf_engine>, callback: Option<Callback>) -> Arc<Self> {
        Arc::new_cyclic(|this| Self {
            this: Weak::clone(this),
            engine,
            head: AtomicPtr::new(ptr::null_mut()),
            taken: Mutex::new(Taken(ptr::null_mut())),
            bell: Bell::default(),
            closed: AtomicBool::new(false),
            callback,
        })
    }

    /// A count of a queue that the host has.
    pub(crate) fn counted(&self) -> Option<Arc<Self>> {
        self.this.upgrade()
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Links a decided slot.
    pub(crate) fn push(&self, slot: &Slot) {
        let pushed = ptr::from_ref(slot).cast_mut();
        let mut head = self.head.load(Ordering::Relaxed);
        loop {
            slot.next_decided.store(head, Ordering::Relaxed);
            // Release: whoever takes the list sees the slot's link. Acquire: with the exchange of `close` before it in the
            // word's order, `closed` is seen set.
            match self.head.compare_exchange_weak(head, pushed, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => break,
                Err(now) => head = now,
            }
        }
        if self.is_closed() {
            if self.callback.is_none() || head.is_null() {
                self.give_up_all();
            }
        } else if self.callback.is_some() {
            if head.is_null() {
                self.call();
            }
        } else if head.is_null() {
            self.bell.ring();
        }
    }

    /// Takes the whole list, leaves `rest` in its place, and puts it into the order of the decisions.
    fn take_list(&self, rest: *mut Slot) -> *mut Slot {
        // Acquire: pairs with the releases of all who pushed. Release: see `push`.
        let mut list = self.head.swap(rest, Ordering::AcqRel);
        let mut first = ptr::null_mut();
        while !list.is_null() && list != calling() {
            // SAFETY: a linked slot is in the slab of the engine, and stays linked until it is handed out.
            let slot = unsafe { &*list };
            let next = slot.next_decided.load(Ordering::Relaxed);
            slot.next_decided.store(first, Ordering::Relaxed);
            first = std::mem::replace(&mut list, next);
        }
        first
    }

    fn taken(&self) -> Checked<MutexGuard<'_, Taken>> {
        match self.taken.try_lock() {
            Ok(taken) => Ok(taken),
            Err(TryLockError::Poisoned(poisoned)) => Ok(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => {
                // In a forked child its holder may not exist.
                self.engine.check_process()?;
                Ok(self.taken.lock().unwrap_or_else(PoisonError::into_inner))
            }
        }
    }

    /// Hands out completions, in the order of the decisions, until there is none or `each` wants no more.
    pub(crate) fn drain(&self, most: usize, mut each: impl FnMut(apf_completion)) -> Checked<usize> {
        let mut taken = self.taken()?;
        self.bell.hush();
        let mut handed = 0;
        while handed < most {
            if taken.0.is_null() {
                taken.0 = self.take_list(ptr::null_mut());
                if taken.0.is_null() {
                    break;
                }
            }
            // SAFETY: as in `take_list`; the link is read before the slot is let go of.
            let slot = unsafe { &*taken.0 };
            taken.0 = slot.next_decided.load(Ordering::Relaxed);
            if let Some(completion) = hand_out(slot) {
                each(completion);
                handed += 1;
            }
        }
        let more = !taken.0.is_null() || !self.head.load(Ordering::Relaxed).is_null();
        drop(taken);
        if more {
            self.bell.ring();
        }
        Ok(handed)
    }

    /// Calls the host for everything on the list, and for what comes meanwhile.
    fn call(&self) {
        let Some(callback) = &self.callback else { return };
        let _during = self.engine.enter_callback();
        loop {
            let mut list = self.take_list(calling());
            while !list.is_null() {
                // SAFETY: as in `drain`.
                let slot = unsafe { &*list };
                list = slot.next_decided.load(Ordering::Relaxed);
                if self.is_closed() || self.engine.is_gone() {
                    give_up(slot);
                } else if let Some(completion) = hand_out(slot) {
                    // SAFETY: the host has promised a function that may be called with its context from any thread.
                    unsafe { (callback.function)(callback.context, &raw const completion) };
                }
            }
            // Release: see `push`.
            let done =
                self.head.compare_exchange(calling(), ptr::null_mut(), Ordering::Release, Ordering::Relaxed);
            if done.is_ok() {
                return;
            }
        }
    }

    /// No completion is handed out any more, and requests that are decided give up what they were granted. `BUSY` while a
    /// callback runs.
    pub(crate) fn close(&self) -> Checked<()> {
        self.closed.store(true, Ordering::Release);
        if self.callback.is_some() {
            // Whoever calls sees `closed` before its next call, and empties the list itself.
            let idle = self.head.compare_exchange(
                ptr::null_mut(),
                ptr::null_mut(),
                Ordering::AcqRel,
                Ordering::Relaxed,
            );
            return if idle.is_ok() { Ok(()) } else { Err(APF_ERROR_BUSY) };
        }
        self.give_up_all();
        Ok(())
    }

    fn give_up_all(&self) {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if taken.0.is_null() {
                taken.0 = self.take_list(ptr::null_mut());
            }
            if taken.0.is_null() {
                return;
            }
            // SAFETY: as in `drain`.
            let slot = unsafe { &*taken.0 };
            taken.0 = slot.next_decided.load(Ordering::Relaxed);
            give_up(slot);
        }
    }
}

/// The completion of a slot that has just been unlinked; `None` when it was cancelled.
fn hand_out(slot: &Slot) -> Option<apf_completion> {
    let Ok(mut claim) = slot.claim(slot.state().generation(), Phase::Decided, Phase::Handing) else {
        slot.drained();
        return None;
    };
    let ticket = slot.ticket(claim.generation);
    let body = claim.body();
    let (user_data, waited) = (body.user_data, body.time);
    if let Some(permit) = &body.permit {
        let outcome = outcome::admitted(ticket, permit);
        claim.leave(Phase::Running);
        return Some(outcome::completion(user_data, waited, APF_OK, outcome));
    }
    // The slot is freed.
    let Holding::Refusal(error) = &body.holding else { return None };
    let (status, outcome) = outcome::refused(error);
    Some(outcome::completion(user_data, waited, status, apf_outcome { ticket, ..outcome }))
}

/// Ends the request of a slot that has just been unlinked.
fn give_up(slot: &Slot) {
    match slot.claim(slot.state().generation(), Phase::Decided, Phase::Ending) {
        Ok(claim) => drop(claim),
        Err(_) => slot.drained(),
    }
}
