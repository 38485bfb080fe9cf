//! The role: whoever is in it runs the core, for itself and for what others have published meanwhile.
//!
//! A holder applies its own event, drains and applies the published ones in their order, and hands the
//! role back when nothing is left. After [`EVENTS_BETWEEN_OFFERS`] events or [`WAKES`] wake-ups it offers the role
//! instead, does its wake-ups, and goes on only if nobody has taken it: so an operation works for others only for a
//! bounded time, and wakers run outside of the role.

#![allow(unsafe_code, reason = "the core is followed only in the role")]

use alloc::collections::VecDeque;
use core::mem::MaybeUninit;
use core::task::Waker;

use apf_core::{Answer, Arrival, ArriveError, Arrived, Cancelled, Grant, Level, Queuing, RequestId, Sink};

use super::Gate;
use super::fault::{Point, reached};
#[cfg(feature = "history")]
use super::history::{Entry, History, Outcome};
use super::node::{GRANTED, Kind, Node, Request, refusal};
use super::slab::Slab;
use super::waking;
use super::word::{CLOSED, HEAD, HELD, OFFER, RETIRED, Word};
use crate::sync::{Ordering, load_to_exchange};

/// Events that a holder applies before it offers the role. Measured with 2, 4, 8 and 32: few make the longest finishes of
/// crowded threads shorter and let more through; many make saturated starts shorter.
///
/// One in a model, so that every hand-off is explored.
const EVENTS_BETWEEN_OFFERS: u32 = if cfg!(any(loom, shuttle)) { 1 } else { 2 };
/// Wake-ups that a holder does before it goes on; one in a model.
const WAKES: usize = if cfg!(any(loom, shuttle)) { 1 } else { 8 };

/// Something else to be done to a level, in its turn among the events.
pub(super) type ControlFn = dyn FnOnce(&mut Held<'_>) + Send;

/// A level in the hands of a control operation.
pub struct Held<'a> {
    level: &'a mut Level,
    now: u64,
    quiescing: &'a mut bool,
    sink: &'a mut dyn HeldSink,
}

/// The sink of a control operation.
trait HeldSink: Sink {
    /// Notes what it does to the level.
    #[cfg(feature = "history")]
    fn note(&mut self, entry: Entry);
}

impl HeldSink for HolderSink<'_> {
    #[cfg(feature = "history")]
    fn note(&mut self, entry: Entry) {
        self.history.begin(entry);
    }
}

impl Held<'_> {
    /// The level as the latest event has left it, to look at.
    pub fn level(&self) -> &Level {
        self.level
    }

    /// [`Level::tick`]: brings the level up to now.
    pub fn tick(&mut self) {
        #[cfg(feature = "history")]
        self.sink.note(Entry::Tick { now: self.now });
        self.level.tick(self.now, &mut self.sink);
    }

    /// The time of this operation.
    pub const fn now(&self) -> u64 {
        self.now
    }

    /// [`Level::reconfigure`]. Also ends quiescing.
    ///
    /// # Errors
    ///
    /// As there; nothing has changed then.
    pub fn reconfigure(
        &mut self,
        queuing: Queuing,
        concurrency_limit: u32,
    ) -> Result<(), apf_core::LevelError> {
        self.change(queuing, concurrency_limit)?;
        *self.quiescing = false;
        Ok(())
    }

    /// [`Level::close_demand_period`].
    pub fn close_demand_period(&mut self) -> apf_core::DemandPeriod {
        #[cfg(feature = "history")]
        self.sink.note(Entry::CloseDemandPeriod { now: self.now });
        self.level.close_demand_period(self.now, &mut self.sink)
    }

    /// Sets the current limit and nothing else; a quiescing level goes on quiescing.
    ///
    /// # Errors
    ///
    /// As [`Level::reconfigure`].
    pub fn set_limit(&mut self, concurrency_limit: u32) -> Result<(), apf_core::LevelError> {
        self.change(self.level.queuing(), concurrency_limit)
    }

    fn change(&mut self, queuing: Queuing, concurrency_limit: u32) -> Result<(), apf_core::LevelError> {
        #[cfg(feature = "history")]
        self.sink.note(Entry::Reconfigure { now: self.now, queuing, concurrency_limit });
        self.level.reconfigure(self.now, queuing, concurrency_limit, &mut self.sink)
    }

    /// The level has been removed from the configuration: it is retired once nothing is in it.
    pub fn quiesce(&mut self) {
        *self.quiescing = true;
    }
}

/// What the role guards.
pub(super) struct Core {
    pub(super) level: Level,
    /// The time of the latest event. (The level's own stays behind where a period of demand ends.)
    now: u64,
    /// First of the drained cells that are not applied yet, linked in order; 0 for none.
    pub(super) left_over: u32,
    /// Wakers of granted requests beyond what the holder can wake at once.
    pub(super) to_wake: VecDeque<Waker>,
    /// A node that is free, for the next start that takes the role: it need not go through the pool, which costs two
    /// exchanges. 1 more than its index; 0 for none.
    pub(super) spare: u32,
    /// Seats of requests that run by the word alone, for want of memory to have them in the core. The word counts
    /// them; what the core decides by itself exceeds the limit by so many.
    pub(super) uncounted: u64,
    pub(super) quiescing: bool,
    #[cfg(feature = "history")]
    pub(super) history: History,
}

impl Core {
    pub(super) fn new(level: Level) -> Self {
        Self {
            now: level.now(),
            level,
            left_over: 0,
            to_wake: VecDeque::new(),
            spare: 0,
            uncounted: 0,
            quiescing: false,
            #[cfg(feature = "history")]
            history: History::default(),
        }
    }
}

impl Core {
    /// Gives a node back, in the role. Its next owner takes it in the role too, or from the pool.
    #[inline(always)]
    pub(super) fn free(&mut self, slab: &Slab, index: u32) {
        if self.spare == 0 {
            self.spare = index.wrapping_add(1);
        } else {
            slab.give(index);
        }
    }

    /// The time that an event counts at: the latest that any event up to it has read.
    #[inline(always)]
    pub(super) fn passes(&mut self, stamp: u64) -> u64 {
        self.now = self.now.max(stamp);
        self.now
    }
}

/// Wakers taken under the role, to be woken after it. Dropping wakes the rest: a waker that panics
/// must not keep the others asleep.
pub(super) struct Wakes {
    /// The first `len` are there; making room for them costs an operation that wakes nobody nothing.
    wakers: [MaybeUninit<Waker>; WAKES],
    len: usize,
}

impl Wakes {
    pub(super) const fn new() -> Self {
        Self { wakers: [const { MaybeUninit::uninit() }; WAKES], len: 0 }
    }

    const fn is_full(&self) -> bool {
        self.len == WAKES
    }

    fn push(&mut self, waker: Waker) -> Result<(), Waker> {
        match self.wakers.get_mut(self.len) {
            Some(slot) => {
                slot.write(waker);
                self.len += 1;
                Ok(())
            }
            None => Err(waker),
        }
    }

    fn pop(&mut self) -> Option<Waker> {
        self.len = self.len.checked_sub(1)?;
        // SAFETY: it was below `len`, so `push` has written it; it is not any more, so nobody reads it again.
        Some(unsafe { self.wakers.get(self.len)?.assume_init_read() })
    }

    fn wake(&mut self) {
        // None twice if one unwinds: those after it are leaked then.
        let len = core::mem::take(&mut self.len);
        // In the order of the grants.
        for slot in self.wakers.iter().take(len) {
            // SAFETY: it was below `len`, so `push` has written it; `len` is 0 now, so nobody reads it again.
            let waker = unsafe { slot.assume_init_read() };
            contained(|| waker.wake());
        }
    }
}

impl Drop for Wakes {
    #[inline]
    fn drop(&mut self) {
        if self.len > 0 {
            self.wake();
        }
    }
}

/// Calls something of somebody else's. With `std` a panic ends here: the operation that happens to call it, perhaps
/// while unwinding itself, has a result of its own to hand back.
fn contained(call: impl FnOnce()) {
    #[cfg(feature = "std")]
    drop(std::panic::catch_unwind(core::panic::AssertUnwindSafe(call)));
    #[cfg(not(feature = "std"))]
    call();
}

/// Takes the core's grants to the nodes of their requests.
pub(super) struct HolderSink<'a> {
    slab: &'a Slab,
    wakes: &'a mut Wakes,
    to_wake: &'a mut VecDeque<Waker>,
    /// The node of the request that the gate word has granted already.
    by_word: Option<(u32, &'a Node)>,
    #[cfg(feature = "history")]
    history: &'a mut History,
}

impl HolderSink<'_> {
    fn keep(&mut self, waker: Option<Waker>) {
        if let Some(Err(waker)) = waker.map(|waker| self.wakes.push(waker)) {
            self.to_wake.push_back(waker);
        }
    }
}

impl Sink for HolderSink<'_> {
    #[inline(always)]
    fn grant(&mut self, grant: Grant) -> Answer {
        match self.by_word {
            Some((index, node)) if index == grant.token as u32 => {
                node.in_core(|core| core.id = Some(grant.id));
                reached(Point::Grant);
                reached(Point::Granted);
                #[cfg(feature = "history")]
                self.history.granted(grant.token, None);
                Answer::Taken
            }
            _ => self.ask(&grant),
        }
    }
}

impl HolderSink<'_> {
    /// Grants a request that waits or is undecided, unless its owner has abandoned it.
    fn ask(&mut self, grant: &Grant) -> Answer {
        let Some(node) = self.slab.get(grant.token as u32) else { return Answer::Taken };
        node.in_core(|core| core.id = Some(grant.id));
        reached(Point::Grant);
        let work = node.request().work;
        if (work.final_seats, work.additional_latency) != (grant.final_seats, grant.additional_latency) {
            node.trim(grant.final_seats, grant.additional_latency);
        }
        let answer = node.grant();
        reached(Point::Granted);
        #[cfg(feature = "history")]
        self.history.granted(grant.token, answer.as_ref().err().copied());
        match answer {
            Ok(waker) => {
                self.keep(waker);
                Answer::Taken
            }
            Err(cause) => {
                node.in_core(|core| core.id = None);
                Answer::Gone(cause)
            }
        }
    }
}

/// What a holder does next.
enum Next {
    /// Nothing is left: hand the role back.
    HandBack,
    /// Others wait for work that is not done: offer the role.
    HandOff,
}

impl Gate {
    /// Runs `f` on the core.
    ///
    /// Only in the role: `HELD` was set by this thread, with acquire, and has not been given up.
    pub(super) fn in_role<R>(&self, f: impl FnOnce(&mut Core) -> R) -> R {
        // SAFETY: the caller is in the role, which one thread has at a time; taking it acquired what the last holder wrote.
        self.core.with_mut(|core| f(unsafe { &mut *core }))
    }

    /// Takes the role from a quiet word, which becomes `next`; `Ok` with what it is while the role is held.
    #[inline(always)]
    pub(super) fn take_role(&self, word: Word, next: Word) -> Result<Word, Word> {
        let held = next.with(HELD);
        // Acquire: pairs with the last holder's hand-back.
        match self.word.compare_exchange_weak(word.0, held.0, Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => {
                reached(Point::TookRole);
                Ok(held)
            }
            Err(changed) => Err(Word(changed)),
        }
    }

    /// Hands the role back if the word is still `held`.
    #[inline(always)]
    pub(super) fn give_role_back(&self, held: Word, word: Word) -> bool {
        // Release: the next holder sees the core as it is now.
        self.word.compare_exchange(held.0, word.0, Ordering::Release, Ordering::Relaxed).is_ok()
    }

    /// Takes a node, in the role.
    #[inline]
    pub(super) fn take_in_role(&self) -> Option<(u32, &Node)> {
        match self.in_role(|core| core::mem::take(&mut core.spare)).checked_sub(1) {
            Some(index) => Some((index, self.slab.get(index)?)),
            None => self.slab.take(),
        }
    }

    /// Nodes kept for the next start: 0 or 1. As [`Gate::nodes_in_use`], which it serves.
    pub(super) fn spare_nodes(&self) -> usize {
        // SAFETY: nobody is in the role, as the caller promises.
        self.core.with(|core| usize::from(unsafe { (*core).spare } != 0))
    }

    /// Applies a start, in the role.
    pub(super) fn apply_start(
        &self,
        index: u32,
        node: &Node,
        request: Request,
        stamp: u64,
        granted: bool,
        wakes: &mut Wakes,
    ) -> Result<Arrived, ArriveError> {
        let core = self.core.get_mut();
        // SAFETY: as in `in_role`.
        let core = unsafe { core.deref() };
        let now = core.passes(stamp);
        let Core { level, to_wake, .. } = core;
        let arrival = Arrival { flow_hash: request.flow_hash, work: request.work, token: u64::from(index) };
        #[cfg(feature = "history")]
        core.history.begin(Entry::Start { now, token: arrival.token, request, granted });
        let mut sink = HolderSink {
            slab: &self.slab,
            wakes,
            to_wake,
            by_word: granted.then_some((index, node)),
            #[cfg(feature = "history")]
            history: &mut core.history,
        };
        let arrived = level.arrive(now, arrival, &mut sink);
        debug_assert!(
            !granted || matches!(arrived, Ok(Arrived::Executing(_)) | Err(_)),
            "granted by the word, {arrived:?} by the core"
        );
        #[cfg(feature = "history")]
        core.history.end(outcome(&arrived));
        // One that executes has been granted, which has noted it already.
        if !matches!(arrived, Ok(Arrived::Executing(_))) {
            let waits = match arrived {
                Ok(Arrived::Waiting(id)) => Some(id),
                _ => None,
            };
            node.in_core(|notes| notes.id = waits);
            if let Some(length) = waits.and_then(|id| level.queue_length(id)) {
                // Relaxed: the owner that finds 0 has looked before its request was in a queue.
                node.queue_length.store(length, Ordering::Relaxed);
            }
        }
        arrived
    }

    /// Applies the end of a request, in the role, and frees its node.
    pub(super) fn apply_end(&self, index: u32, node: &Node, kind: Kind, stamp: u64, wakes: &mut Wakes) {
        let core = self.core.get_mut();
        // SAFETY: as in `in_role`.
        let core = unsafe { core.deref() };
        let now = core.passes(stamp);
        let Core { level, to_wake, uncounted, .. } = core;
        let id: Option<RequestId> = node.in_core(|notes| notes.id.take());
        #[cfg(feature = "history")]
        core.history.begin(match kind {
            Kind::Finish => Entry::Finish { now, token: u64::from(index) },
            Kind::Cancel => Entry::Cancel { now, token: u64::from(index), cause: node.cause() },
            _ => Entry::Tick { now },
        });
        let mut sink = HolderSink {
            slab: &self.slab,
            wakes,
            to_wake,
            by_word: None,
            #[cfg(feature = "history")]
            history: &mut core.history,
        };
        match (kind, id) {
            (Kind::Finish, Some(id)) => {
                let finished = level.finish(now, id, &mut sink);
                debug_assert!(finished.is_ok(), "a request that runs here does not execute in the core");
            }
            (Kind::Cancel, Some(id)) => {
                // An error: a release on the way would have started it, and it did not take the grant.
                let cancelled = level.cancel(now, id, node.cause(), &mut sink);
                debug_assert!(cancelled != Ok(Cancelled::Executing), "granted after it was abandoned");
            }
            // A start that was refused, or whose grant was not taken, is not in the core any more.
            _ => level.tick(now, &mut sink),
        }
        if kind == Kind::Finish && id.is_none() {
            *uncounted = uncounted.saturating_sub(node.request().work.max_seats());
        }
        core.free(&self.slab, index);
    }

    /// Carries out a control operation, in the role.
    pub(super) fn apply_control(&self, index: u32, node: &Node, stamp: u64, wakes: &mut Wakes) {
        let Some(control) = node.take_control() else { return };
        let free = self.in_role(|core| {
            let now = core.passes(stamp);
            let Core { level, to_wake, quiescing, .. } = core;
            let mut sink = HolderSink {
                slab: &self.slab,
                wakes,
                to_wake,
                by_word: None,
                #[cfg(feature = "history")]
                history: &mut core.history,
            };
            contained(|| control(&mut Held { level, now, quiescing, sink: &mut sink }));
            let (waker, free) = node.conclude(GRANTED);
            sink.keep(waker);
            free
        });
        if free {
            self.slab.give(index);
        }
    }

    /// Applies one published cell and returns the next one in order.
    fn apply_published(&self, cell: u32, wakes: &mut Wakes) -> u32 {
        let position = cell.wrapping_sub(1);
        let index = position / 2;
        let Some((node, cell)) =
            self.slab.get(index).and_then(|node| Some((node, node.cells.get(position as usize % 2)?)))
        else {
            return 0;
        };
        // Before anything that may hand the node back to its owner or to the pool.
        let next = cell.next.load(Ordering::Relaxed);
        let (kind, stamp) = cell.read();
        match kind {
            Kind::Start | Kind::StartGranted => {
                let arrived =
                    self.apply_start(index, node, node.request(), stamp, kind == Kind::StartGranted, wakes);
                let refused = match arrived {
                    Ok(Arrived::Rejected(reason)) => Some(refusal(reason)),
                    // No memory to queue it in: the nearest truth is that the level cannot take it.
                    Err(_) => Some(refusal(apf_core::Reason::ConcurrencyLimit)),
                    Ok(_) => None,
                };
                match refused {
                    Some(bits) if kind == Kind::Start => self.conclude(index, node, bits, wakes),
                    Some(_) => self.in_role(|core| core.uncounted += node.request().work.max_seats()),
                    None => {}
                }
            }
            Kind::Finish | Kind::Cancel | Kind::Tick => self.apply_end(index, node, kind, stamp, wakes),
            Kind::Control => self.apply_control(index, node, stamp, wakes),
        }
        next
    }

    fn conclude(&self, index: u32, node: &Node, bits: u32, wakes: &mut Wakes) {
        let (waker, free) = node.conclude(bits);
        if let Some(Err(waker)) = waker.map(|waker| wakes.push(waker)) {
            self.in_role(|core| core.to_wake.push_back(waker));
        }
        if free {
            self.slab.give(index);
        }
    }

    /// Out of the role, once what others have left is done.
    #[cold]
    pub(super) fn leave_role(&self, wakes: &mut Wakes) {
        let mut budget = EVENTS_BETWEEN_OFFERS;
        loop {
            let next = self.work(&mut budget, wakes);
            if wakes.len > 0 && waking::is_in(self) {
                // A waker of this gate has come back to it: its frame, further down this stack, goes on.
                self.in_role(|core| {
                    while let Some(waker) = wakes.pop() {
                        core.to_wake.push_front(waker);
                    }
                });
                self.word.fetch_xor(HELD | OFFER, Ordering::Release);
                return;
            }
            match next {
                Next::HandBack => {
                    reached(Point::HandBack);
                    let Some(alarm) = self.hand_back() else { continue };
                    reached(Point::HandedBack);
                    self.call_out(alarm, wakes);
                }
                Next::HandOff => {
                    reached(Point::HandOff);
                    // Release: the next holder sees the core as it is now. HELD is set and OFFER is not, so this swaps them.
                    self.word.fetch_xor(HELD | OFFER, Ordering::Release);
                    reached(Point::HandedOff);
                    budget = EVENTS_BETWEEN_OFFERS;
                    self.call_out(None, wakes);
                }
            }
            reached(Point::Woken);
            if !self.take_offer() {
                return;
            }
            reached(Point::TookRole);
        }
    }

    /// Works until nothing is left or it is time to offer the role.
    fn work(&self, budget: &mut u32, wakes: &mut Wakes) -> Next {
        loop {
            let overdue = self.in_role(|core| {
                while !wakes.is_full() {
                    let Some(waker) = core.to_wake.pop_front() else { break };
                    if let Err(waker) = wakes.push(waker) {
                        core.to_wake.push_front(waker);
                    }
                }
                !core.to_wake.is_empty()
            });
            if overdue || wakes.is_full() {
                return Next::HandOff;
            }
            let mut cell = self.in_role(|core| core.left_over);
            if cell == 0 {
                cell = self.drain();
            }
            if cell == 0 {
                return Next::HandBack;
            }
            if *budget == 0 {
                self.in_role(|core| core.left_over = cell);
                return Next::HandOff;
            }
            *budget -= 1;
            reached(Point::Apply);
            let next = self.apply_published(cell, wakes);
            self.in_role(|core| core.left_over = next);
        }
    }

    /// Takes all published cells and puts them in order, oldest first; 0 for none.
    fn drain(&self) -> u32 {
        if Word(load_to_exchange(&self.word, Ordering::Relaxed)).head() == 0 {
            return 0;
        }
        // Acquire: pairs with every publisher's release; later publishers continue its release sequence. The
        // holder publishes nothing here, and hands the core over by the hand-back or hand-off.
        let mut newest = Word(self.word.fetch_and(!HEAD, Ordering::Acquire)).head();
        reached(Point::Drained);
        let mut oldest = 0;
        while let Some((node, cell)) = newest.checked_sub(1).and_then(|position| {
            let node = self.slab.get(position / 2)?;
            Some((node, position as usize % 2))
        }) {
            let Some(cell) = node.cells.get(cell) else { break };
            let next = cell.next.load(Ordering::Relaxed);
            cell.next.store(oldest, Ordering::Relaxed);
            oldest = newest;
            newest = next;
        }
        oldest
    }

    /// Gives the role up if nothing has been published meanwhile; `Some` with the time of the alarm to set, if any.
    fn hand_back(&self) -> Option<Option<u64>> {
        let (closed, free, alarm, retired) = self.in_role(|core| {
            debug_assert!(
                core.left_over == 0 && core.to_wake.is_empty(),
                "the role is given up with work left"
            );
            let level = &core.level;
            let exempt = level.queuing() == Queuing::Exempt;
            let free = level.concurrency_limit().checked_sub(level.seats_in_use() + core.uncounted);
            let waiting = level.requests_waiting() > 0;
            (
                waiting || (free.is_none() && !exempt),
                if exempt { u64::MAX } else { free.unwrap_or(0) },
                level.next_release().filter(|_| waiting),
                core.quiescing && level.is_idle(),
            )
        });
        let now = Word(load_to_exchange(&self.word, Ordering::Relaxed));
        if now.head() != 0 {
            return None;
        }
        debug_assert!(
            now.has(CLOSED) || !closed && now.avail() <= free,
            "open with {} seats, but {free} are free, closed: {closed}",
            now.avail()
        );
        let mut word = now.without(HELD | CLOSED).with_avail(free);
        if closed {
            word = word.with(CLOSED);
        }
        if retired {
            word = word.with(CLOSED | RETIRED);
        }
        self.give_role_back(now, word).then_some(alarm)
    }

    /// Takes the role if it is on offer.
    fn take_offer(&self) -> bool {
        let mut now = Word(load_to_exchange(&self.word, Ordering::Relaxed));
        while now.has(OFFER) {
            let word = now.without(OFFER).with(HELD);
            // Acquire: pairs with the release of the hand-off.
            match self.word.compare_exchange_weak(now.0, word.0, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(changed) => now = Word(changed),
            }
        }
        false
    }

    /// Sets the alarm and wakes, outside of the role. Both may use the gate again.
    #[inline]
    fn call_out(&self, alarm: Option<u64>, wakes: &mut Wakes) {
        if wakes.len == 0 && alarm.is_none() {
            return;
        }
        self.call(alarm, wakes);
    }

    fn call(&self, alarm: Option<u64>, wakes: &mut Wakes) {
        /// Goes on with the role's work if a waker unwinds, for nobody else may come by.
        struct Resume<'a>(&'a Gate);
        impl Drop for Resume<'_> {
            fn drop(&mut self) {
                if self.0.take_offer() {
                    self.0.leave_role(&mut Wakes::new());
                }
            }
        }
        let resume = Resume(self);
        waking::within(self, || {
            if let Some(at) = alarm {
                contained(|| self.host.alarm(at));
            }
            wakes.wake();
        });
        core::mem::forget(resume);
    }
}

#[cfg(feature = "history")]
fn outcome(arrived: &Result<Arrived, ArriveError>) -> Outcome {
    match arrived {
        Ok(Arrived::Executing(_)) => Outcome::Executing,
        Ok(Arrived::Waiting(_)) => Outcome::Waiting,
        Ok(Arrived::Rejected(reason)) => Outcome::Rejected(*reason),
        Ok(Arrived::Gone) => Outcome::Gone,
        Err(error) => Outcome::Invalid(*error),
    }
}
