//! The gate: one priority level that many threads share without a lock.
//!
//! Every operation passes through one 64-bit word with one successful compare-exchange. If nobody is in the *role*, the
//! operation takes it and applies itself to the sequential core. If somebody is, it is published and left behind: a
//! finish or a cancel returns at once, a start that fits the free seats is granted by that very exchange, and a start
//! that does not fit becomes a waiter. See [`word`](self) for the bits and `node` for a request's states.
//!
//! # Progress
//!
//! A start that fits, a finish and a cancel never wait for another thread, even if the one in the role is suspended: they
//! are lock-free (a failed exchange means that another one succeeded). Queueing and dispatch are *combining*: they need the
//! holder of the role to run. Work done for others is bounded, see `role`.
//!
//! # Order and time
//!
//! Decisions are those of the sequential core fed with the same operations in the order of their successful exchanges.
//! The caller reads the clock before it calls; an event counts at the latest time read by any event up to it, which lies
//! within its own call. (A clock read after taking the role would let a suspended holder push the others forward in time.)
//!
//! # Without `std`
//!
//! The gate needs `alloc` and 64-bit compare-exchange, no 128-bit one, no thread identity. Wakers must not use the gate
//! there, and neither they nor control operations may panic; with `std` both may: a panic ends where it began and does not
//! reach the operation that happened to call them.

#[cfg(feature = "fault-injection")]
pub mod fault;
#[cfg(not(feature = "fault-injection"))]
mod fault;
mod node;
mod quiet;
mod role;
mod slab;
mod waking;
mod word;

#[cfg(feature = "history")]
pub mod history;

use core::fmt;
use core::task::Waker;

use alloc::boxed::Box;
use alloc::sync::Arc;
use apf_core::{Arrived, Cause, Level, Reason, WorkEstimate};

pub use node::{Decision, Request};
pub use role::Held;

use crate::sync::{AtomicU64, Ordering, ProtocolCell, load_to_exchange};
use fault::Point;
use node::{Kind, Node};
use quiet::Way;
use role::{ControlFn, Core, Wakes};
use slab::Slab;
use word::{CLOSED, HELD, OFFER, RETIRED, Word};

/// What a gate asks of its host.
pub trait Host: Send + Sync {
    /// Call [`Gate::tick`] at this time or later; earlier requests stay in force. Called outside of the role, but it
    /// must return before the tick comes: a tick that is not due asks again.
    fn alarm(&self, at: u64);
}

/// A host without timers: for levels whose requests have no additional latency.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoTimers;

impl Host for NoTimers {
    fn alarm(&self, _: u64) {}
}

/// A priority level for many threads. See the [module documentation](self).
pub struct Gate {
    word: Line<AtomicU64>,
    core: ProtocolCell<Core>,
    slab: Slab,
    host: Arc<dyn Host>,
    /// Told apart from every other gate's, so that a ticket that goes astray is ignored.
    number: u32,
}

/// A new gate's number; they come round after 2^32 gates. Not one of the facade's: no protocol depends on it.
fn next_number() -> u32 {
    static GATES: core::sync::atomic::AtomicU32 = core::sync::atomic::AtomicU32::new(0);
    GATES.fetch_add(1, Ordering::Relaxed)
}

/// Alone on its cache lines: every thread writes it.
#[repr(align(128))]
struct Line<T>(T);

impl<T> core::ops::Deref for Line<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

#[allow(unsafe_code, reason = "the core is guarded by the role")]
mod sharing {
    use super::Gate;
    // SAFETY: the core is reached in the role alone, which one thread has at a time and which hands it on with
    // release and acquire; everything in it is `Send`.
    unsafe impl Sync for Gate {}
    // SAFETY: as above.
    unsafe impl Send for Gate {}
}

/// A request between its start and its end. To be given back exactly once, to its own gate, by [`Gate::finish`] or
/// [`Gate::cancel`] (or after a refusal by [`Gate::forget`]). Another gate ignores it.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Ticket {
    /// Its node.
    index: u32,
    /// Its gate's number.
    gate: u32,
}

impl Ticket {
    /// The token of its request in the level's views.
    pub fn token(&self) -> u64 {
        u64::from(self.index)
    }
}

/// What became of a start.
#[derive(Debug, PartialEq, Eq)]
pub enum Started {
    /// It runs; finish it.
    Running(Ticket),
    /// It is undecided or waits; poll or cancel it.
    Pending(Ticket),
    /// It is rejected and holds nothing.
    Refused(Reason),
    /// The level has been removed: classify again.
    Retired,
    /// A number of seats that no request may have, or no memory for it.
    Invalid(StartError),
}

/// A start that was not even tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartError {
    /// Initial seats 0, or a width above [`apf_core::MAX_SEATS`], or a latency above `i64::MAX` nanoseconds.
    Estimate,
    /// There is no memory for another request.
    OutOfMemory,
}

/// A control operation that was not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ControlError {
    /// The level has been removed.
    Retired,
    /// There is no memory for the operation.
    OutOfMemory,
}

/// How a cancellation ended.
#[derive(Debug, PartialEq, Eq)]
pub enum Withdrawn {
    /// It is gone and holds nothing.
    Gone,
    /// It had been granted: it runs and must be finished.
    Running(Ticket),
    /// It had been rejected.
    Refused(Reason),
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = Word(self.word.load(Ordering::Relaxed));
        f.debug_struct("Gate")
            .field("closed", &word.has(CLOSED))
            .field("held", &word.has(HELD))
            .field("available", &word.avail())
            .finish_non_exhaustive()
    }
}

impl Gate {
    /// A gate in front of `level`.
    pub fn new(level: Level, host: Arc<dyn Host>) -> Self {
        let gate = Self {
            word: Line(AtomicU64::new(HELD)),
            core: ProtocolCell::new(Core::new(level)),
            slab: Slab::new(),
            host,
            number: next_number(),
        };
        gate.leave_role(&mut Wakes::new()); // computes the first word
        gate
    }

    /// A request arrives. `now` was read before the call.
    #[inline]
    pub fn start(&self, now: u64, request: Request) -> Started {
        let WorkEstimate { initial_seats, final_seats, additional_latency } = request.work;
        self.start_parts(now, request.flow_hash, initial_seats, final_seats, additional_latency)
    }

    /// The parts of the request come in registers: as one value they would be written to memory and at once read in other
    /// pieces, which the processor waits for.
    fn start_parts(
        &self,
        now: u64,
        flow_hash: u64,
        initial_seats: u64,
        final_seats: u64,
        additional_latency: u64,
    ) -> Started {
        let work = WorkEstimate { initial_seats, final_seats, additional_latency };
        let request = Request { flow_hash, work };
        if !request.is_valid() {
            return Started::Invalid(StartError::Estimate);
        }
        match self.start_quietly(now, &request) {
            Way::Runs(ticket) => Started::Running(ticket),
            Way::InRole => self.start_in_role(now, request, true, None),
            Way::Blocked => self.arrive(now, request),
        }
    }

    #[inline(never)]
    fn arrive(&self, now: u64, request: Request) -> Started {
        let seats = request.work.max_seats();
        // Only what is published needs a node before its exchange.
        let mut taken = None;
        let mut word = Word(load_to_exchange(&self.word, Ordering::Relaxed));
        loop {
            fault::reached(Point::Attempt);
            if word.has(RETIRED) {
                self.give_back(taken);
                return Started::Retired;
            }
            let fits = word.fits(seats);
            if word.is_quiet() {
                match self.take_role(word, word.started(seats)) {
                    Ok(_) => return self.start_in_role(now, request, fits, taken),
                    Err(changed) => word = changed,
                }
                continue;
            }
            let Some((index, node)) = taken.or_else(|| self.slab.take()) else {
                return Started::Invalid(StartError::OutOfMemory);
            };
            if taken.is_none() {
                node.prepare(request);
                taken = Some((index, node));
            }
            node.set_unpublished(fits);
            let kind = if fits { Kind::StartGranted } else { Kind::Start };
            match self.publish(word, word.started(seats), index, node, 0, kind, now) {
                Ok(took_role) => {
                    if took_role {
                        fault::reached(Point::TookRole);
                        self.leave_role(&mut Wakes::new());
                    }
                    return if fits {
                        Started::Running(self.ticket(index))
                    } else {
                        self.started(index, node)
                    };
                }
                Err(changed) => word = changed,
            }
        }
    }

    fn give_back(&self, taken: Option<(u32, &Node)>) {
        if let Some((index, _)) = taken {
            self.slab.give(index);
        }
    }

    /// A request arrives that will not wait: it runs now or not at all.
    ///
    /// While another thread is in the role this answers from the word alone: it takes no part in the queues' rotation,
    /// and may refuse although a delayed release that is due would have made room.
    pub fn try_start(&self, now: u64, request: Request) -> Started {
        let mut refreshed = false;
        loop {
            let word = Word(load_to_exchange(&self.word, Ordering::Relaxed));
            if word.has(RETIRED) {
                return Started::Retired;
            }
            // Where nobody waits, the word is exact after a tick, but for requests that are wider than the limit: they
            // run alone, and the core alone knows whether they may.
            let may_be_alone = refreshed && word.is_quiet() && !word.has(CLOSED);
            if word.fits(request.work.max_seats()) || may_be_alone {
                // Should it be overtaken between here and its exchange, it waits for no time at all: it is withdrawn.
                return match self.start(now, request) {
                    Started::Pending(ticket) => match self.cancel(now, ticket, Cause::Caller) {
                        Withdrawn::Running(ticket) => Started::Running(ticket),
                        Withdrawn::Refused(reason) => Started::Refused(reason),
                        Withdrawn::Gone => Started::Refused(Reason::ConcurrencyLimit),
                    },
                    decided => decided,
                };
            }
            if refreshed || !word.is_quiet() {
                return Started::Refused(Reason::ConcurrencyLimit);
            }
            refreshed = true;
            self.tick(now);
        }
    }

    /// A running request has been served. (One that is not running is withdrawn.)
    #[inline]
    pub fn finish(&self, now: u64, ticket: Ticket) {
        if !self.finish_quietly(now, &ticket) {
            self.end_request(now, ticket);
        }
    }

    #[inline(never)]
    fn end_request(&self, now: u64, ticket: Ticket) {
        let Some((index, node)) = self.node_of(&ticket) else { return };
        match node.decision() {
            Some(Decision::Granted) => self.end(now, index, node, Kind::Finish, node.seats_at_end()),
            Some(Decision::Refused(_)) => self.forget(ticket),
            None => {
                if let Withdrawn::Running(ticket) = self.cancel(now, ticket, Cause::Caller) {
                    self.finish(now, ticket);
                }
            }
        }
    }

    /// Gives up waiting.
    pub fn cancel(&self, now: u64, ticket: Ticket, cause: Cause) -> Withdrawn {
        let Some((index, node)) = self.node_of(&ticket) else { return Withdrawn::Gone };
        match node.abandon(cause) {
            None => {
                self.end(now, index, node, Kind::Cancel, 0);
                Withdrawn::Gone
            }
            Some(Decision::Granted) => Withdrawn::Running(ticket),
            Some(Decision::Refused(reason)) => {
                self.forget(ticket);
                Withdrawn::Refused(reason)
            }
        }
    }

    /// Whether a pending request has been decided; if not, `waker` is woken when it is, and no earlier one.
    ///
    /// After [`Decision::Refused`] the ticket is to be given to [`Gate::forget`]. Takes the ticket alone, for two threads
    /// cannot fill one slot at a time.
    pub fn poll(&self, ticket: &mut Ticket, waker: &Waker) -> Option<Decision> {
        self.node_of(ticket)?.1.register(waker)
    }

    /// Whether a pending request has been decided.
    pub fn decision(&self, ticket: &Ticket) -> Option<Decision> {
        self.node_of(ticket)?.1.decision()
    }

    /// Gives back the ticket of a request that was refused, or of a control operation (done or not).
    pub fn forget(&self, ticket: Ticket) {
        let Some((index, node)) = self.node_of(&ticket) else { return };
        if node.owner_done() {
            self.slab.give(index);
        }
    }

    /// What a running request asks for, its final seats clipped to the level's limit. `None` while it is pending.
    pub fn request(&self, ticket: &Ticket) -> Option<Request> {
        let (_, node) = self.node_of(ticket)?;
        // The holder may clip it until it has granted it.
        (node.decision()? == Decision::Granted).then(|| node.request())
    }

    /// How many requests its queue held when it joined that, itself included; 0 if it has not.
    pub fn queue_length(&self, ticket: &Ticket) -> u32 {
        self.node_of(ticket).map_or(0, |(_, node)| node.queue_length.load(Ordering::Relaxed))
    }

    /// Lets releases that are due take place.
    pub fn tick(&self, now: u64) {
        let Some((index, node)) = self.slab.take() else { return };
        node.prepare(Request::default());
        self.end(now, index, node, Kind::Tick, 0);
    }

    /// Has something else done to the level, in its turn among the events. Starts that come after it wait until
    /// it is done. The ticket is decided (`Granted`) when it is; it is to be given to [`Gate::forget`].
    ///
    /// # Errors
    ///
    /// [`ControlError`]; the operation has not been and will not be carried out.
    pub fn control(
        &self,
        now: u64,
        operation: impl FnOnce(&mut Held<'_>) + Send + 'static,
    ) -> Result<Ticket, ControlError> {
        self.operate(now, Box::new(operation), CLOSED)
    }

    /// Has the level looked at as it is now, in turn among the events; like [`Gate::control`], but nobody waits for it.
    ///
    /// # Errors
    ///
    /// As there.
    pub fn look(&self, now: u64, look: impl FnOnce(&Level) + Send + 'static) -> Result<Ticket, ControlError> {
        let operation = move |held: &mut Held<'_>| {
            held.tick();
            look(held.level());
        };
        // Releases that are due make room, so what the word promises stays true.
        self.operate(now, Box::new(operation), 0)
    }

    fn operate(&self, now: u64, operation: Box<ControlFn>, closed: u64) -> Result<Ticket, ControlError> {
        let (index, node) = self.slab.take().ok_or(ControlError::OutOfMemory)?;
        node.prepare_control(operation);
        let mut word = Word(load_to_exchange(&self.word, Ordering::Relaxed));
        loop {
            fault::reached(Point::Attempt);
            if word.has(RETIRED) {
                drop(node.take_control());
                self.slab.give(index);
                return Err(ControlError::Retired);
            }
            let next = word.with(closed);
            if word.is_quiet() {
                match self.take_role(word, next) {
                    Ok(_) => {
                        let mut wakes = Wakes::new();
                        self.apply_control(index, node, now, &mut wakes);
                        self.leave_role(&mut wakes);
                        return Ok(self.ticket(index));
                    }
                    Err(changed) => word = changed,
                }
                continue;
            }
            match self.publish(word, next, index, node, 0, Kind::Control, now) {
                Ok(took_role) => {
                    if took_role {
                        fault::reached(Point::TookRole);
                        self.leave_role(&mut Wakes::new());
                    }
                    return Ok(self.ticket(index));
                }
                Err(changed) => word = changed,
            }
        }
    }

    /// Whether the level has been removed and is empty: starts are sent back from now on.
    pub fn is_retired(&self) -> bool {
        // Relaxed: whoever asks reads nothing else of the level.
        Word(self.word.load(Ordering::Relaxed)).has(RETIRED)
    }

    fn ticket(&self, index: u32) -> Ticket {
        Ticket { index, gate: self.number }
    }

    fn node_of(&self, ticket: &Ticket) -> Option<(u32, &Node)> {
        if ticket.gate != self.number {
            return None;
        }
        Some((ticket.index, self.slab.get(ticket.index)?))
    }

    /// Everything applied so far.
    #[cfg(feature = "history")]
    pub fn into_history(self) -> history::History {
        // Nobody else has the gate, so nobody is in the role.
        self.in_role(|core| core::mem::take(&mut core.history))
    }

    /// Nodes in use. Only meaningful while no operation is under way: for leak checks.
    pub fn nodes_in_use(&self) -> usize {
        self.slab.capacity() - self.slab.free_nodes() - self.spare_nodes()
    }

    /// The end of a request, or a tick: applied in the role if that is free, published otherwise.
    fn end(&self, now: u64, index: u32, node: &Node, kind: Kind, seats: u64) {
        let mut word = Word(load_to_exchange(&self.word, Ordering::Relaxed));
        loop {
            fault::reached(Point::Attempt);
            let next = word.released(seats);
            if word.is_quiet() {
                match self.take_role(word, next) {
                    Ok(_) => {
                        let mut wakes = Wakes::new();
                        self.apply_end(index, node, kind, now, &mut wakes);
                        self.leave_role(&mut wakes);
                        return;
                    }
                    Err(changed) => word = changed,
                }
                continue;
            }
            match self.publish(word, next, index, node, 1, kind, now) {
                Ok(took_role) => {
                    if took_role {
                        fault::reached(Point::TookRole);
                        self.leave_role(&mut Wakes::new());
                    }
                    return;
                }
                Err(changed) => word = changed,
            }
        }
    }

    /// Publishes a cell in one exchange, taking the role with it if that is on offer. `Ok(true)`: it was taken.
    #[allow(clippy::too_many_arguments, reason = "one exchange carries all of it")]
    fn publish(
        &self,
        word: Word,
        next: Word,
        index: u32,
        node: &Node,
        cell: u32,
        kind: Kind,
        stamp: u64,
    ) -> Result<bool, Word> {
        let Some(slot) = node.cells.get(cell as usize) else { return Err(word) };
        slot.write(kind, stamp, word.head());
        let mut next = next.with_head(index.wrapping_mul(2).wrapping_add(cell).wrapping_add(1));
        let took_role = word.has(OFFER);
        let order = if took_role {
            next = next.without(OFFER).with(HELD);
            // Acquire: pairs with the hand-off's release, as the role is taken too. Nothing is released: whoever drains
            // the cell is this thread, or takes the role from it.
            Ordering::Acquire
        } else {
            // Release: the drain that finds the cell sees it, and the node, written.
            Ordering::Release
        };
        match self.word.compare_exchange_weak(word.0, next.0, order, Ordering::Relaxed) {
            Ok(_) => Ok(took_role),
            Err(changed) => Err(Word(changed)),
        }
    }

    #[inline(never)]
    fn start_in_role(
        &self,
        now: u64,
        request: Request,
        granted: bool,
        taken: Option<(u32, &Node)>,
    ) -> Started {
        let mut wakes = Wakes::new();
        let taken = taken.or_else(|| self.take_in_role());
        let started = match taken {
            Some((index, node)) => {
                node.prepare(request);
                node.set_unpublished(granted);
                match self.apply_start(index, node, request, now, granted, &mut wakes) {
                    Ok(Arrived::Executing(_)) => Started::Running(self.ticket(index)),
                    Ok(Arrived::Waiting(_)) => Started::Pending(self.ticket(index)),
                    Ok(Arrived::Rejected(reason)) => Started::Refused(reason),
                    Ok(Arrived::Gone) | Err(_) => Started::Invalid(StartError::OutOfMemory),
                }
            }
            // The seats that the word has lent come back with the role.
            None => Started::Invalid(StartError::OutOfMemory),
        };
        if matches!(started, Started::Refused(_) | Started::Invalid(_)) {
            self.give_back(taken); // nobody else knows the node
        }
        self.leave_role(&mut wakes);
        started
    }

    #[cold]
    fn finish_in_role(&self, now: u64, index: u32, node: &Node) {
        let mut wakes = Wakes::new();
        self.apply_end(index, node, Kind::Finish, now, &mut wakes);
        self.leave_role(&mut wakes);
    }

    /// The answer for a start that was published undecided, which this thread may have decided meanwhile.
    fn started(&self, index: u32, node: &Node) -> Started {
        match node.decision() {
            None => Started::Pending(self.ticket(index)),
            Some(Decision::Granted) => Started::Running(self.ticket(index)),
            Some(Decision::Refused(reason)) => {
                self.forget(self.ticket(index));
                Started::Refused(reason)
            }
        }
    }
}
