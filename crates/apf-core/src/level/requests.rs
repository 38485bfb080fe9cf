//! The requests of a level, in reused slots with checked handles.

use alloc::vec::Vec;
use core::fmt;

use crate::reserved::push_reserved;
use crate::{SeatSeconds, WorkEstimate};

/// No slot: the end of a list.
pub(super) const NONE: u32 = u32::MAX;

/// Names a request of one level, from its arrival to its end. A handle that is used after its
/// request has ended is recognised, for 2^32 reuses of the same slot.
///
/// One word, so that it is copied as it was written: two halves read as one would wait for both stores.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RequestId(u64);

impl RequestId {
    pub(super) const fn new(index: u32, generation: u32) -> Self {
        Self((generation as u64) << 32 | index as u64)
    }

    pub(super) const fn index(self) -> u32 {
        self.0 as u32
    }

    pub(super) const fn generation(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// Slot and generation in one word, the slot in the lower 32 bits: for hosts that keep handles as integers.
    pub const fn to_bits(self) -> u64 {
        self.0
    }

    /// The reverse of [`RequestId::to_bits`]. Any word is safe: a handle that never was is stale.
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index(), self.generation())
    }
}

impl fmt::Debug for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RequestId({self})")
    }
}

/// Where a request is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestState {
    /// In a queue.
    Waiting,
    /// Started, not finished.
    Executing,
    /// Finished, its seats still held for the additional latency.
    Lingering,
}

/// One slot. `state` is `None` while it is free; a free slot's `next` is the next free one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Request<T> {
    pub(super) state: Option<RequestState>,
    pub(super) generation: u32,
    /// The arena index of its queue, `NONE` where it needed none.
    pub(super) queue: u32,
    pub(super) previous: u32,
    pub(super) next: u32,
    pub(super) tag: T,
    pub(super) token: u64,
    pub(super) arrival: u64,
    /// When it started or, while it lingers, when it gives its seats back.
    pub(super) start: u64,
    initial_seats: u32,
    final_seats: u32,
    additional_latency: u64,
    /// Total work as charged; trimming does not change it.
    pub(super) total_work: SeatSeconds,
}

impl<T> Request<T> {
    /// A request that arrives now; it is given its slot by [`Requests::insert`].
    pub(super) fn arriving(now: u64, token: u64, work: WorkEstimate, tag: T, queue: u32) -> Self {
        let mut request = Self {
            state: Some(RequestState::Waiting),
            generation: 0,
            queue,
            previous: NONE,
            next: NONE,
            tag,
            token,
            arrival: now,
            start: 0,
            initial_seats: 0,
            final_seats: 0,
            additional_latency: 0,
            total_work: work.total_work(),
        };
        request.set_work(work);
        request
    }

    /// The estimate, clipped once the request has started.
    pub(super) fn work(&self) -> WorkEstimate {
        WorkEstimate {
            initial_seats: u64::from(self.initial_seats),
            final_seats: u64::from(self.final_seats),
            additional_latency: self.additional_latency,
        }
    }

    /// Widths are below 2^22: `arrive` has checked them, and clipping only lowers them.
    pub(super) fn set_work(&mut self, work: WorkEstimate) {
        self.initial_seats = work.initial_seats as u32;
        self.final_seats = work.final_seats as u32;
        self.additional_latency = work.additional_latency;
    }
}

/// All slots. Memory grows with the largest number of requests ever held and is then reused.
#[derive(Debug, Clone)]
pub(super) struct Requests<T> {
    slots: Vec<Request<T>>,
    first_free: u32,
    /// Requests that will linger, or do.
    with_latency: usize,
}

impl<T: Copy> Requests<T> {
    pub(super) const fn new() -> Self {
        Self { slots: Vec::new(), first_free: NONE, with_latency: 0 }
    }

    /// Makes sure that the next [`Requests::insert`] has a slot. `false` when memory, or 2^32 - 1 slots, ran out.
    pub(super) fn reserve(&mut self) -> bool {
        self.first_free != NONE
            || self.slots.len() < self.slots.capacity()
            || (self.slots.len() < NONE as usize && self.slots.try_reserve(1).is_ok())
    }

    /// How many requests will linger, or do.
    pub(super) const fn with_latency(&self) -> usize {
        self.with_latency
    }

    /// Takes a slot for `request`, whose generation is replaced by the slot's.
    pub(super) fn insert(&mut self, mut request: Request<T>) -> Option<RequestId> {
        self.with_latency = self.with_latency.wrapping_add(usize::from(request.additional_latency > 0));
        let index = self.first_free;
        if let Some(slot) = self.slots.get_mut(index as usize) {
            self.first_free = slot.next;
            request.generation = slot.generation;
            request.next = NONE;
            *slot = request;
            return Some(RequestId::new(index, request.generation));
        }
        let index = self.slots.len() as u32;
        request.generation = 0;
        push_reserved(&mut self.slots, request).then_some(RequestId::new(index, 0))
    }

    /// Whether the next insertion finds a slot that has been used before.
    #[inline(always)]
    pub(super) const fn has_free_slot(&self) -> bool {
        self.first_free != NONE
    }

    /// As [`Requests::insert`] for a request that starts as it arrives. Its links are not used.
    #[inline(always)]
    pub(super) fn insert_started(
        &mut self,
        now: u64,
        token: u64,
        work: WorkEstimate,
        tag: T,
        total_work: SeatSeconds,
        queue: u32,
    ) -> Option<RequestId> {
        let index = self.first_free;
        let Some(slot) = self.slots.get_mut(index as usize) else {
            let mut request = Request::arriving(now, token, work, tag, queue);
            (request.state, request.start) = (Some(RequestState::Executing), now);
            return self.insert(request);
        };
        self.first_free = slot.next;
        slot.state = Some(RequestState::Executing);
        slot.queue = queue;
        slot.tag = tag;
        slot.token = token;
        slot.arrival = now;
        slot.start = now;
        slot.set_work(work);
        slot.total_work = total_work;
        self.with_latency = self.with_latency.wrapping_add(usize::from(work.additional_latency > 0));
        Some(RequestId::new(index, slot.generation))
    }

    /// Frees the slot; every handle to it is stale from now on.
    #[inline(always)]
    pub(super) fn remove(&mut self, index: u32) {
        if let Some(slot) = self.slots.get_mut(index as usize) {
            self.with_latency = self.with_latency.wrapping_sub(usize::from(slot.additional_latency > 0));
            slot.state = None;
            slot.generation = slot.generation.wrapping_add(1);
            slot.next = self.first_free;
            self.first_free = index;
        }
    }

    pub(super) fn at(&self, index: u32) -> Option<&Request<T>> {
        self.slots.get(index as usize)
    }

    pub(super) fn at_mut(&mut self, index: u32) -> Option<&mut Request<T>> {
        self.slots.get_mut(index as usize)
    }

    /// The request of a handle, unless it is stale.
    pub(super) fn find(&self, id: RequestId) -> Option<&Request<T>> {
        self.at(id.index()).filter(|request| request.state.is_some() && request.generation == id.generation())
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (RequestId, &Request<T>)> {
        self.slots
            .iter()
            .enumerate()
            .filter(|(_, request)| request.state.is_some())
            .map(|(index, request)| (RequestId::new(index as u32, request.generation), request))
    }
}

// A waiting request costs what this and the host's own handle cost.
const _: () = assert!(size_of::<Request<SeatSeconds>>() <= 80);
