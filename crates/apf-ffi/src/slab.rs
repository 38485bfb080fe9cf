//! Slots that are made in chunks, used again, and freed with their engine alone: a stale ticket always meets a slot.

#![allow(unsafe_code, reason = "chunks are published by pointer")]

use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use crate::engine::apf_engine;
use crate::slot::Slot;

/// Slots in the first chunk; each further one has twice as many.
const FIRST: usize = 64;
const CHUNKS: usize = 24;
const INDEX: u64 = u32::MAX as u64;

/// See the module documentation.
#[derive(Debug)]
pub(crate) struct Slab {
    /// That of its engine.
    pub(crate) number: u32,
    chunks: [AtomicPtr<Slot>; CHUNKS],
    free: Line,
}

/// A stack of free slots: the first one's index + 1, and in the upper half a count of changes, so that an exchange
/// notices a stack that has changed and come back. Alone on its cache lines.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Line(AtomicU64);

impl Slab {
    pub(crate) fn new(number: u32) -> Self {
        Self { number, chunks: [const { AtomicPtr::new(ptr::null_mut()) }; CHUNKS], free: Line::default() }
    }

    const fn chunk_len(chunk: usize) -> usize {
        FIRST << chunk
    }

    #[inline]
    pub(crate) fn get(&self, index: u32) -> Option<&Slot> {
        let shifted = index as usize + FIRST;
        let chunk = (shifted / FIRST).ilog2() as usize;
        let slots = self.chunks.get(chunk)?.load(Ordering::Acquire);
        if slots.is_null() {
            return None;
        }
        // SAFETY: a chunk that is published has `chunk_len` slots, lives as long as the slab, and the place is below that.
        Some(unsafe { &*slots.add(shifted - Self::chunk_len(chunk)) })
    }

    /// Takes up to `most` slots off the stack, with one exchange.
    pub(crate) fn take_some(&self, most: usize, mut each: impl FnMut(u32)) {
        // Acquire: pairs with the release of whoever gave the slots back, also for their links.
        let mut free = self.free.0.load(Ordering::Acquire);
        while free & INDEX != 0 {
            let mut rest = free as u32;
            // Should the stack have been changed meanwhile, the links are any numbers, and the exchange fails.
            for _ in 0..most {
                let Some(slot) = rest.checked_sub(1).and_then(|index| self.get(index)) else { break };
                rest = slot.next_free.load(Ordering::Relaxed);
            }
            let next = bump(free, rest);
            match self.free.0.compare_exchange_weak(free, next, Ordering::Acquire, Ordering::Acquire) {
                Ok(_) => {
                    let mut taken = free as u32;
                    while taken != rest {
                        let Some(index) = taken.checked_sub(1) else { return };
                        let Some(slot) = self.get(index) else { return };
                        taken = slot.next_free.load(Ordering::Relaxed);
                        each(index);
                    }
                    return;
                }
                Err(now) => free = now,
            }
        }
    }

    /// Puts slots on the stack, with one exchange.
    pub(crate) fn give_all(&self, slots: impl Iterator<Item = u32>) {
        let (mut first, mut last) = (0, None);
        for index in slots {
            if let Some(slot) = self.get(index) {
                slot.next_free.store(first, Ordering::Relaxed);
                first = index.wrapping_add(1);
                last.get_or_insert(slot);
            }
        }
        if let Some(last) = last {
            self.push(first, last);
        }
    }

    /// Pushes a run of linked slots that ends with `last`; `first` is an index + 1.
    fn push(&self, first: u32, last: &Slot) {
        let mut free = self.free.0.load(Ordering::Relaxed);
        loop {
            last.next_free.store(free as u32, Ordering::Relaxed);
            // Release: whoever takes the slots sees their bodies and links as they were left.
            match self.free.0.compare_exchange_weak(
                free,
                bump(free, first),
                Ordering::Release,
                Ordering::Relaxed,
            ) {
                Ok(_) => return,
                Err(now) => free = now,
            }
        }
    }

    /// Adds the next chunk, unless another thread has just done so. `None` when there is no memory for it.
    #[cold]
    pub(crate) fn grow(&self, engine: &apf_engine) -> Option<()> {
        for (chunk, place) in self.chunks.iter().enumerate() {
            if !place.load(Ordering::Relaxed).is_null() {
                continue;
            }
            let len = Self::chunk_len(chunk);
            let base = len - FIRST;
            let mut slots = Vec::new();
            slots.try_reserve_exact(len).ok()?;
            for index in base..base + len {
                let slot = Slot::new(index as u32, engine.this.as_ptr());
                slot.next_free.store(index as u32 + 2, Ordering::Relaxed); // the last one's is set when it is pushed
                slots.push(slot);
            }
            let slots = Box::into_raw(slots.into_boxed_slice()).cast::<Slot>();
            // Release: whoever loads the chunk sees its slots.
            if place.compare_exchange(ptr::null_mut(), slots, Ordering::Release, Ordering::Relaxed).is_err() {
                // SAFETY: `slots` came from `Box::into_raw` of a slice of `len` just above and was not shared.
                drop(unsafe { Box::from_raw(ptr::slice_from_raw_parts_mut(slots, len)) });
                return Some(());
            }
            let last = self.get((base + len - 1) as u32)?;
            self.push(base as u32 + 1, last);
            return Some(());
        }
        None
    }

    /// Every slot that exists.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Slot> {
        (0..).map_while(|index| self.get(index))
    }
}

/// The stack's head with another first slot and the count moved on.
const fn bump(free: u64, first: u32) -> u64 {
    (free & !INDEX).wrapping_add(1 << 32) | first as u64
}

impl Drop for Slab {
    fn drop(&mut self) {
        for (chunk, place) in self.chunks.iter().enumerate() {
            let slots = place.load(Ordering::Relaxed);
            if !slots.is_null() {
                // SAFETY: published by `grow` from a boxed slice of this length; `&mut self` means that no borrow is left.
                drop(unsafe { Box::from_raw(ptr::slice_from_raw_parts_mut(slots, Self::chunk_len(chunk))) });
            }
        }
    }
}
