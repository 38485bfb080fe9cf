//! A request (or control operation) as the gate sees it, in a slot that is reused and never freed.
//!
//! A node has two cells, so that its end can be published while its start is still unapplied.
//!
//! # States
//!
//! | bits of `state` | set by | when |
//! | --- | --- | --- |
//! | `GRANTED` | the owner in its own start, or the holder | it runs; for a control operation: it has been carried out |
//! | `REFUSED` (+ reason) | the holder | it is rejected |
//! | `ABANDONED` | the owner | it will not take a grant any more |
//! | `WAKER` | the owner sets and clears it | the waker slot is filled and the holder may take from it |
//! | `OWNER_DONE`, `HOLDER_DONE` | each its own | after `REFUSED` and control: whoever comes second frees the node |
//!
//! Of `GRANTED` and `ABANDONED` the first wins; the loser sees the winner's bit in what its `fetch_or` returns.
//!
//! # Who touches what
//!
//! - `request`, `stamp`: written by the owner before it publishes, read by the holder afterwards.
//! - `next` of a cell: written by the owner before its publishing compare-exchange, read by the holder after draining;
//!   rewritten by the holder when it reverses the list.
//! - `queue_length`: written by the holder when it applies the start, read by the owner when the request is decided or given up.
//! - `waker`: the owner's while `WAKER` is clear and the node undecided; the holder's from the decision that saw `WAKER`
//!   (and no `ABANDONED`) until it is done; the owner's again after `ABANDONED`.
//! - `core`: the holder's alone.

#![allow(unsafe_code, reason = "the waker slot and the payloads are guarded by the state word")]

use core::task::Waker;

use alloc::boxed::Box;
use apf_core::{Cause, MAX_SEATS, Reason, RequestId, WorkEstimate};

use super::role::ControlFn;
use crate::sync::{AtomicU32, AtomicU64, Ordering, ProtocolCell};

pub(super) const GRANTED: u32 = 1;
pub(super) const REFUSED: u32 = 1 << 1;
pub(super) const ABANDONED: u32 = 1 << 3;
const WAKER: u32 = 1 << 4;
const OWNER_DONE: u32 = 1 << 5;
const HOLDER_DONE: u32 = 1 << 6;
/// The cause of an abandonment: the caller is gone, rather than out of time.
const BY_CALLER: u32 = 1 << 7;
const REASON_SHIFT: u32 = 8;
const DECIDED: u32 = GRANTED | REFUSED;

/// What the holder made of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// It runs.
    Granted,
    /// It is rejected.
    Refused(Reason),
}

/// What a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Request {
    /// Its flow.
    pub flow_hash: u64,
    /// Its cost.
    pub work: WorkEstimate,
}

impl Request {
    /// Whether a level may be asked for it at all.
    #[inline(always)]
    pub(super) const fn is_valid(&self) -> bool {
        self.work.initial_seats > 0
            && self.work.max_seats() <= MAX_SEATS
            && self.work.additional_latency <= i64::MAX as u64
    }
}

/// What kind of event a published cell stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum Kind {
    /// A start that is not decided yet.
    Start,
    /// A start that was granted by the gate word.
    StartGranted,
    /// The end of a running request.
    Finish,
    /// The departure of an abandoned request.
    Cancel,
    /// A delayed release may be due.
    Tick,
    /// Something else to be done to the level.
    Control,
}

const KINDS: [Kind; 6] =
    [Kind::Start, Kind::StartGranted, Kind::Finish, Kind::Cancel, Kind::Tick, Kind::Control];

/// One published event.
#[derive(Debug)]
pub(super) struct Cell {
    /// The cell published before this one; 0 for none.
    pub(super) next: AtomicU32,
    kind: AtomicU32,
    stamp: AtomicU64,
}

impl Cell {
    fn new() -> Self {
        Self { next: AtomicU32::new(0), kind: AtomicU32::new(0), stamp: AtomicU64::new(0) }
    }

    /// Relaxed: the compare-exchange that publishes the cell is the release.
    pub(super) fn write(&self, kind: Kind, stamp: u64, next: u32) {
        self.kind.store(kind as u32, Ordering::Relaxed);
        self.stamp.store(stamp, Ordering::Relaxed);
        self.next.store(next, Ordering::Relaxed);
    }

    /// Relaxed: the drain was the acquire.
    pub(super) fn read(&self) -> (Kind, u64) {
        let kind = KINDS.get(self.kind.load(Ordering::Relaxed) as usize).copied().unwrap_or(Kind::Tick);
        (kind, self.stamp.load(Ordering::Relaxed))
    }
}

/// The holder's notes on a request.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct InCore {
    /// Its handle in the core, while it waits or executes there.
    pub(super) id: Option<RequestId>,
}

/// See the module documentation.
pub(super) struct Node {
    pub(super) state: AtomicU32,
    /// Requests in its queue when it joined that, itself included; 0 if it has not. For its owner's statistics.
    pub(super) queue_length: AtomicU32,
    /// Link in the pool of free nodes.
    pub(super) next_free: AtomicU32,
    pub(super) cells: [Cell; 2],
    request: ProtocolCell<Request>,
    in_core: ProtocolCell<InCore>,
    waker: ProtocolCell<Option<Waker>>,
    control: ProtocolCell<Option<Box<ControlFn>>>,
}

// SAFETY: the cells are followed only under the protocol in the module documentation, which hands each from one
// thread to the other through `state` or the gate word; what they hold (`Waker`, a `Send` box, plain data) may change threads.
unsafe impl Sync for Node {}
// SAFETY: as above.
unsafe impl Send for Node {}

impl Node {
    pub(super) fn new() -> Self {
        Self {
            state: AtomicU32::new(0),
            queue_length: AtomicU32::new(0),
            next_free: AtomicU32::new(0),
            cells: [Cell::new(), Cell::new()],
            request: ProtocolCell::new(Request::default()),
            in_core: ProtocolCell::new(InCore::default()),
            waker: ProtocolCell::new(None),
            control: ProtocolCell::new(None),
        }
    }

    /// The owner of a node that is not published yet makes it a request.
    #[inline]
    pub(super) fn prepare(&self, request: Request) {
        self.state.store(0, Ordering::Relaxed);
        // SAFETY: the node was just taken from the pool or in the role, whose acquire ordered the last user's accesses
        // before this one, and is not published: the owner is its only user.
        self.request.with_mut(|slot| unsafe { *slot = request });
        self.queue_length.store(0, Ordering::Relaxed);
        self.in_core(|core| core.id = None);
    }

    /// As [`Node::prepare`], in the role, for a request that runs in the core already.
    #[inline(always)]
    pub(super) fn prepare_running(&self, request: &Request, id: RequestId) {
        // Relaxed: only its owner looks, and whoever gets the ticket from it.
        self.state.store(GRANTED, Ordering::Relaxed);
        self.request.with_mut(|slot| {
            // SAFETY: as in `prepare`.
            let slot = unsafe { &mut *slot };
            // One by one: a copy of the whole would read in wide pieces what has just been written in narrow ones.
            slot.flow_hash = request.flow_hash;
            slot.work.initial_seats = request.work.initial_seats;
            slot.work.final_seats = request.work.final_seats;
            slot.work.additional_latency = request.work.additional_latency;
        });
        self.in_core(|core| core.id = Some(id));
    }

    /// The owner of a node that is not published yet makes it a control operation.
    pub(super) fn prepare_control(&self, control: Box<ControlFn>) {
        self.prepare(Request::default()); // should its ticket be finished like a request's, no seats come back
        // SAFETY: as in `prepare`.
        self.control.with_mut(|slot| unsafe { *slot = Some(control) });
    }

    /// What the request asks for. For the owner from `GRANTED` until it has published its end, and for the
    /// holder from the start's application until the end's; the holder's one write (`trim`) precedes `GRANTED`.
    pub(super) fn request(&self) -> Request {
        // SAFETY: the writes (`prepare`, `trim`) happen before: through the publishing compare-exchange and the
        // drain for the holder, in program order or through the acquire of `GRANTED` for the owner.
        self.request.with(|slot| unsafe { *slot })
    }

    /// The seats that come back at once when the request has been served; for its owner, as [`Node::request`].
    #[inline(always)]
    pub(super) fn seats_at_end(&self) -> u64 {
        self.request.with(|slot| {
            // SAFETY: as in `request`.
            let work = unsafe { &(*slot).work };
            if work.additional_latency == 0 { work.max_seats() } else { 0 }
        })
    }

    /// The holder writes back what dispatch clipped, before it grants.
    pub(super) fn trim(&self, final_seats: u64, additional_latency: u64) {
        self.request.with_mut(|slot| {
            // SAFETY: the node is published and undecided: the owner does not read it before `GRANTED`.
            let request = unsafe { &mut *slot };
            request.work.final_seats = final_seats;
            request.work.additional_latency = additional_latency;
        });
    }

    /// Runs `f` on the holder's notes. Only for the holder of the role, or the owner before publication.
    pub(super) fn in_core<R>(&self, f: impl FnOnce(&mut InCore) -> R) -> R {
        // SAFETY: the role is exclusive, and taking it acquires what the last holder wrote.
        self.in_core.with_mut(|slot| f(unsafe { &mut *slot }))
    }

    /// The holder takes the control operation out.
    pub(super) fn take_control(&self) -> Option<Box<ControlFn>> {
        // SAFETY: the node has been drained, so its owner wrote this before; nobody else touches it.
        self.control.with_mut(|slot| unsafe { (*slot).take() })
    }

    fn take_waker(&self) -> Option<Waker> {
        // SAFETY: the caller owns the slot (see the module documentation): the holder through the decision that
        // saw `WAKER`, the owner while it is undecided and `WAKER` is clear, or after `ABANDONED`.
        self.waker.with_mut(|slot| unsafe { (*slot).take() })
    }

    fn put_waker(&self, waker: Waker) -> Option<Waker> {
        // SAFETY: as in `take_waker`; called by the owner alone.
        self.waker.with_mut(|slot| unsafe { (*slot).replace(waker) })
    }

    // ---- the owner's side ----

    /// Notes whether the gate word grants the start. No arbitration is needed, for its owner has not shown it to
    /// anyone; to be noted anew before each exchange, for the word may have changed.
    pub(super) fn set_unpublished(&self, granted: bool) {
        self.state.store(if granted { GRANTED } else { 0 }, Ordering::Relaxed);
    }

    /// The decision, if there is one. Acquire: pairs with the holder's deciding `fetch_or`, so that what it wrote
    /// before (clipped seats) is seen. Whoever reads that asks here first, however it learned of the decision.
    pub(super) fn decision(&self) -> Option<Decision> {
        decode(self.state.load(Ordering::Acquire))
    }

    /// Leaves a waker for the decision, in place of an earlier one; the decision if it has been made.
    pub(super) fn register(&self, waker: &Waker) -> Option<Decision> {
        let state = self.state.load(Ordering::Relaxed);
        if let Some(decision) = decode(state) {
            return Some(decision);
        }
        if state & WAKER != 0 {
            // Whoever comes first, this or the decision, has the slot; the other sees it. Relaxed: the holder that sees
            // `WAKER` clear leaves the slot alone.
            let before = self.state.fetch_and(!WAKER, Ordering::Relaxed);
            if let Some(decision) = decode(before) {
                return Some(decision); // the holder has taken the waker, or is about to
            }
        }
        let earlier = self.put_waker(waker.clone());
        // Release: the holder that sees `WAKER` sees the slot filled.
        let before = self.state.fetch_or(WAKER, Ordering::Release);
        drop(earlier);
        let decision = decode(before)?;
        drop(self.take_waker()); // decided while the slot was the owner's
        Some(decision)
    }

    /// Gives up waiting. `None` when that was in time: a grant will not be taken from now on. Otherwise the
    /// decision that came first.
    pub(super) fn abandon(&self, cause: Cause) -> Option<Decision> {
        let by_caller = if cause == Cause::Caller { BY_CALLER } else { 0 };
        // Relaxed: the holder that is told `ABANDONED` finds the cause in the same word and leaves the waker slot to
        // the owner.
        let before = self.state.fetch_or(ABANDONED | by_caller, Ordering::Relaxed);
        let decision = decode(before);
        if decision.is_none() {
            drop(self.take_waker());
        }
        decision
    }

    /// The owner has read a refusal, or wants to know no more of a control operation. `true`: it must free the node.
    pub(super) fn owner_done(&self) -> bool {
        // Acquire: if the holder was done first, its use of the node happens before the node is reused. Release:
        // if the holder comes second and frees the node, this side's use does.
        self.state.fetch_or(OWNER_DONE, Ordering::AcqRel) & HOLDER_DONE != 0
    }

    // ---- the holder's side ----

    /// Grants the request. `Err` when its owner has abandoned it; otherwise the waker to wake, if it left one.
    pub(super) fn grant(&self) -> Result<Option<Waker>, Cause> {
        // Release: the owner that sees `GRANTED` sees the clipped seats. Acquire: the waker slot is seen filled.
        let before = self.state.fetch_or(GRANTED, Ordering::AcqRel);
        if before & ABANDONED != 0 {
            return Err(if before & BY_CALLER != 0 { Cause::Caller } else { Cause::TimeOut });
        }
        // The owner cannot free the node before its end has been applied under this role: the slot stays.
        Ok(if before & WAKER != 0 { self.take_waker() } else { None })
    }

    /// Why the request was abandoned. Only after its cancellation has been drained.
    pub(super) fn cause(&self) -> Cause {
        if self.state.load(Ordering::Relaxed) & BY_CALLER != 0 { Cause::Caller } else { Cause::TimeOut }
    }

    /// Refuses the request, or reports a control operation done. Returns the waker to wake, and
    /// whether the node must be freed by the holder.
    pub(super) fn conclude(&self, bits: u32) -> (Option<Waker>, bool) {
        let mut state = self.state.load(Ordering::Relaxed);
        loop {
            if state & ABANDONED != 0 {
                return (None, false); // its cancellation is on the way and frees it
            }
            let done = if state & WAKER == 0 { HOLDER_DONE } else { 0 };
            // Release: everything the holder did with the node happens before its owner frees it. Acquire: the
            // waker slot is seen filled, and the owner's use is over if it is done. Fails only when the owner
            // registers, abandons or is done.
            match self.state.compare_exchange_weak(
                state,
                state | bits | done,
                Ordering::AcqRel,
                Ordering::Relaxed,
            ) {
                Ok(_) => break,
                Err(now) => state = now,
            }
        }
        if state & WAKER == 0 {
            return (None, state & OWNER_DONE != 0); // the owner of a control operation may be done before it is
        }
        let waker = self.take_waker();
        // Release: the slot's use happens before the owner frees the node. Acquire: the owner's, before this side does.
        let owner_was_done = self.state.fetch_or(HOLDER_DONE, Ordering::AcqRel) & OWNER_DONE != 0;
        (waker, owner_was_done)
    }
}

pub(super) const fn refusal(reason: Reason) -> u32 {
    let code = match reason {
        Reason::QueueFull => 0,
        Reason::ConcurrencyLimit => 1,
        Reason::TimeOut => 2,
        Reason::Cancelled => 3,
    };
    REFUSED | code << REASON_SHIFT
}

fn decode(state: u32) -> Option<Decision> {
    if state & DECIDED == 0 {
        return None;
    }
    if state & GRANTED != 0 && state & REFUSED == 0 {
        return Some(Decision::Granted);
    }
    Some(Decision::Refused(match state >> REASON_SHIFT & 3 {
        0 => Reason::QueueFull,
        1 => Reason::ConcurrencyLimit,
        2 => Reason::TimeOut,
        _ => Reason::Cancelled,
    }))
}
