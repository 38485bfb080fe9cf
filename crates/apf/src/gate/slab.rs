//! Nodes in slots that are never freed while the level lives, and the pool of free ones.
//!
//! Chunk k holds 64 x 2^k nodes, so 26 chunks hold every index and no node ever moves: a stale index
//! reads a node, never freed memory. The pool is a stack of indices whose head carries a count against
//! the ABA problem. A node is pushed by whoever saw its last use, and popped by the next owner.
//!
//! # Orderings
//!
//! The stack's head is the only synchronisation. A push releases what was done to the node, and for the nodes of
//! a new chunk the chunk itself; reading the head acquires it (every change of the head is a read-modify-write, so each
//! push is seen through later ones). Whoever has an index got it from the head, or from a thread that did and handed
//! it on, so the pointers to the chunks are read and written relaxed.

#![allow(unsafe_code, reason = "chunks are shared by pointer for the life of the slab")]

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ptr;

use super::Line;
use super::node::Node;
use crate::sync::{AtomicPtr, AtomicU64, Ordering, load_to_exchange};

/// Nodes in the first chunk; a model needs few, but explores growing.
const FIRST: usize = if cfg!(any(loom, shuttle)) { 4 } else { 64 };
const CHUNKS: usize = if cfg!(loom) { 2 } else { 25 };

const INDEX: u64 = 0xFFFF_FFFF;

pub(super) struct Slab {
    /// Of chunk k not its first node but the place FIRST x 2^k nodes before it, from where [`Slab::locate`] counts.
    chunks: [AtomicPtr<Node>; CHUNKS],
    /// Bits 0..=31: index + 1 of the first free node, 0 for none. Bits 32..=63: how often it has changed.
    free: Line<AtomicU64>,
}

impl Slab {
    pub(super) fn new() -> Self {
        Self {
            chunks: core::array::from_fn(|_| AtomicPtr::new(ptr::null_mut())),
            free: Line(AtomicU64::new(0)),
        }
    }

    const fn chunk_len(chunk: usize) -> usize {
        FIRST << chunk
    }

    /// The chunk of an index, and its place counted from FIRST x 2^k before the chunk: chunk k starts at index
    /// FIRST x (2^k - 1).
    const fn locate(index: u32) -> (usize, usize) {
        let place = index as usize + FIRST;
        ((place / FIRST).ilog2() as usize, place)
    }

    /// The node of an index that [`Slab::take`] has given out at some time; otherwise `None`.
    #[inline(always)]
    pub(super) fn get(&self, index: u32) -> Option<&Node> {
        let (chunk, place) = Self::locate(index);
        let before = self.chunks.get(chunk)?.load(Ordering::Relaxed);
        if before.is_null() {
            return None;
        }
        // SAFETY: a published chunk has `chunk_len(chunk)` initialised nodes, `locate` keeps `place` between that length
        // and twice that, and chunks are freed only when the slab is dropped, which outlives the returned borrow.
        Some(unsafe { &*before.wrapping_add(place) })
    }

    /// Takes a free node. `None` when memory or indices have run out.
    pub(super) fn take(&self) -> Option<(u32, &Node)> {
        // Acquire: pairs with the release of `give`, so that the last user's accesses happen before this owner's.
        let mut free = load_to_exchange(&self.free, Ordering::Acquire);
        loop {
            let Some(index) = (free as u32).checked_sub(1) else {
                self.grow()?;
                free = load_to_exchange(&self.free, Ordering::Acquire);
                continue;
            };
            let node = self.get(index)?;
            // If the node has been taken meanwhile, this reads a link of its next life, and the count makes the exchange fail.
            let next = node.next_free.load(Ordering::Relaxed);
            // Relaxed: on success it finds the value, count and all, that has been acquired.
            match self.free.compare_exchange_weak(
                free,
                bump(free, next),
                Ordering::Relaxed,
                Ordering::Acquire,
            ) {
                Ok(_) => return Some((index, node)),
                Err(now) => free = now,
            }
        }
    }

    /// Gives a node back. The caller must be its last user.
    pub(super) fn give(&self, index: u32) {
        let Some(node) = self.get(index) else { return };
        self.push(index, node);
    }

    /// Puts a linked run of nodes on the stack.
    fn push(&self, first_index: u32, last: &Node) {
        let mut free = load_to_exchange(&self.free, Ordering::Relaxed);
        loop {
            last.next_free.store(free as u32, Ordering::Relaxed);
            // Release: pairs with the acquire of `take`; what was done to the nodes happens before their next life.
            match self.free.compare_exchange_weak(
                free,
                bump(free, first_index.wrapping_add(1)),
                Ordering::Release,
                Ordering::Relaxed,
            ) {
                Ok(_) => return,
                Err(now) => free = now,
            }
        }
    }

    /// Adds the next chunk, unless another thread has just done so.
    #[cold]
    fn grow(&self) -> Option<()> {
        for (chunk, slot) in self.chunks.iter().enumerate() {
            if !slot.load(Ordering::Relaxed).is_null() {
                continue; // its nodes are in use, or about to be pushed by a thread that nobody waits for
            }
            let len = Self::chunk_len(chunk);
            let mut nodes: Vec<Node> = Vec::new();
            nodes.try_reserve_exact(len).ok()?;
            let base = (len - FIRST) as u32;
            for place in 0..len as u32 {
                nodes.push(Node::new());
                if let Some(node) = nodes.last() {
                    // Linked to the next one of the chunk; the last link is set when the run is pushed.
                    node.next_free.store(base.wrapping_add(place).wrapping_add(2), Ordering::Relaxed);
                }
            }
            let nodes = Box::into_raw(nodes.into_boxed_slice()).cast::<Node>();
            let before = nodes.wrapping_sub(len);
            let published =
                slot.compare_exchange(ptr::null_mut(), before, Ordering::Relaxed, Ordering::Relaxed);
            if published.is_err() {
                // SAFETY: `nodes` came from `Box::into_raw` of a slice of `len` just above and was not shared.
                drop(unsafe { Box::from_raw(ptr::slice_from_raw_parts_mut(nodes, len)) });
                return Some(()); // another thread grew it: look at the stack again
            }
            let last_index = base.wrapping_add(len as u32).wrapping_sub(1);
            if let Some(last) = self.get(last_index) {
                self.push(base, last);
            }
            return Some(());
        }
        None
    }

    /// Nodes that are on the stack. Only meaningful while nobody else uses the slab.
    pub(super) fn free_nodes(&self) -> usize {
        let mut count = 0;
        let mut index = self.free.load(Ordering::Acquire) as u32;
        while let Some(node) = index.checked_sub(1).and_then(|index| self.get(index)) {
            count += 1;
            index = node.next_free.load(Ordering::Relaxed);
        }
        count
    }

    /// Nodes that exist.
    pub(super) fn capacity(&self) -> usize {
        let published = |slot: &&AtomicPtr<Node>| !slot.load(Ordering::Relaxed).is_null();
        (0..self.chunks.iter().take_while(published).count()).map(Self::chunk_len).sum()
    }
}

/// The stack's head with another first node and the count moved on.
const fn bump(free: u64, first: u32) -> u64 {
    (free & !INDEX).wrapping_add(1 << 32) | first as u64
}

impl Drop for Slab {
    fn drop(&mut self) {
        for (chunk, slot) in self.chunks.iter().enumerate() {
            let before = slot.load(Ordering::Relaxed);
            if !before.is_null() {
                let len = Self::chunk_len(chunk);
                // SAFETY: published by `grow` from a boxed slice of this length; `&mut self` means that no borrow is left.
                drop(unsafe { Box::from_raw(ptr::slice_from_raw_parts_mut(before.wrapping_add(len), len)) });
            }
        }
    }
}
