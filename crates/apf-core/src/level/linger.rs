//! Seats that are held after the end of their request: a heap of due times.

use alloc::vec::Vec;

use crate::reserved::push_reserved;

/// One release to come. Equal times keep the order of their requests' ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Release {
    due: u64,
    sequence: u64,
    request: u32,
}

/// A binary heap, smallest first. Written out because `BinaryHeap` can panic when it grows.
#[derive(Debug, Clone)]
pub(super) struct Releases {
    heap: Vec<Release>,
    sequence: u64,
}

impl Releases {
    pub(super) const fn new() -> Self {
        Self { heap: Vec::new(), sequence: 0 }
    }

    /// Makes room for `total` releases; `false` when memory is short.
    pub(super) fn reserve(&mut self, total: usize) -> bool {
        total <= self.heap.capacity()
            || self.heap.try_reserve_exact(total.saturating_sub(self.heap.len())).is_ok()
    }

    /// When the earliest is due.
    pub(super) fn next_due(&self) -> Option<u64> {
        self.heap.first().map(|release| release.due)
    }

    /// Adds one, within what was reserved.
    pub(super) fn push(&mut self, due: u64, request: u32) {
        let release = Release { due, sequence: self.sequence, request };
        if !push_reserved(&mut self.heap, release) {
            return;
        }
        self.sequence = self.sequence.wrapping_add(1);
        let mut hole = self.heap.len().saturating_sub(1);
        while hole > 0 {
            let parent = (hole - 1) / 2;
            match self.heap.get(parent).copied() {
                Some(above) if above > release => self.put(hole, above),
                _ => break,
            }
            hole = parent;
        }
        self.put(hole, release);
    }

    /// Takes the earliest out if it is due at `now`.
    pub(super) fn pop_due(&mut self, now: u64) -> Option<(u64, u32)> {
        let earliest = self.heap.first().copied().filter(|release| release.due <= now)?;
        let moved = self.heap.pop()?;
        let mut hole = 0;
        while let Some((child, below)) = self.smaller_child(hole) {
            if below >= moved {
                break;
            }
            self.put(hole, below);
            hole = child;
        }
        self.put(hole, moved);
        Some((earliest.due, earliest.request))
    }

    fn put(&mut self, place: usize, release: Release) {
        if let Some(slot) = self.heap.get_mut(place) {
            *slot = release;
        }
    }

    fn smaller_child(&self, parent: usize) -> Option<(usize, Release)> {
        let left = parent.wrapping_mul(2).wrapping_add(1);
        let right = left.wrapping_add(1);
        let on_left = self.heap.get(left).copied()?;
        match self.heap.get(right).copied() {
            Some(on_right) if on_right < on_left => Some((right, on_right)),
            _ => Some((left, on_left)),
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::vec::Vec;

    #[test]
    fn releases_come_in_order_of_due_time_and_then_of_insertion() {
        let mut releases = Releases::new();
        assert!(releases.reserve(300));
        let mut seed = 5u64;
        let mut expected = Vec::new();
        for request in 0..300u32 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let due = (seed >> 33) % 20;
            releases.push(due, request);
            expected.push((due, request));
        }
        expected.sort();
        let mut popped = Vec::new();
        for now in 0..20 {
            assert_eq!(releases.next_due(), Some(now));
            while let Some(release) = releases.pop_due(now) {
                popped.push(release);
            }
        }
        assert_eq!(popped, expected);
    }
}
