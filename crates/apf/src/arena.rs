//! Things that are added while others are in use, and live until all of them go.
//!
//! Permits and waiting requests refer to levels and schemas by reference for as long as the dispatcher
//! lives, so that no request counts references.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Slots in the first chunk; chunk k has this many times 2^k.
const FIRST: usize = 16;

#[derive(Debug)]
pub(crate) struct Arena<T> {
    chunks: [OnceLock<Box<[OnceLock<T>]>>; 24],
    len: AtomicUsize,
}

impl<T> Arena<T> {
    pub(crate) fn new() -> Self {
        Self { chunks: [const { OnceLock::new() }; 24], len: AtomicUsize::new(0) }
    }

    const fn locate(index: usize) -> (usize, usize) {
        let shifted = index + FIRST;
        let chunk = (shifted / FIRST).ilog2() as usize;
        (chunk, shifted - (FIRST << chunk))
    }

    /// Adds an element and returns its index. Callers take turns (the configuration lock).
    pub(crate) fn push(&self, value: T) -> usize {
        let index = self.len.load(Ordering::Relaxed);
        let (chunk, place) = Self::locate(index);
        let slots = self.chunks[chunk]
            .get_or_init(|| (0..FIRST << chunk).map(|_| OnceLock::new()).collect::<Vec<_>>().into());
        let set = slots[place].set(value);
        debug_assert!(set.is_ok(), "pushes take turns");
        // Release: whoever reads the length finds the elements; an index that travels in a snapshot needs no help.
        self.len.store(index + 1, Ordering::Release);
        index
    }

    /// The index of the next push. Callers take turns, as for that.
    pub(crate) fn next_index(&self) -> usize {
        self.len.load(Ordering::Relaxed)
    }

    pub(crate) fn get(&self, index: usize) -> Option<&T> {
        let (chunk, place) = Self::locate(index);
        self.chunks.get(chunk)?.get()?.get(place)?.get()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        (0..self.len.load(Ordering::Acquire)).filter_map(|index| self.get(index))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_stay_where_they_are() {
        let arena = Arena::new();
        let first = arena.push(0);
        let address = std::ptr::from_ref(arena.get(first).unwrap());
        for value in 1..500 {
            assert_eq!(arena.push(value), value);
        }
        assert_eq!(std::ptr::from_ref(arena.get(first).unwrap()), address);
        assert!(arena.iter().copied().eq(0..500));
        assert_eq!(arena.get(500), None);
    }
}
