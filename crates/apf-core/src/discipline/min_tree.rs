//! A tournament tree over places: the smallest key, and the first place from a given one that has it.

use alloc::vec::Vec;

use crate::reserved::push_reserved;

/// The key of a place with nothing to offer.
pub(super) const EMPTY: u64 = u64::MAX;

/// Keys at the leaves, the smaller of two children above them; the root is node 1.
#[derive(Debug, Clone, Default)]
pub(super) struct MinTree {
    nodes: Vec<u64>,
    leaves: usize,
}

impl MinTree {
    fn node(&self, index: usize) -> u64 {
        self.nodes.get(index).copied().unwrap_or(EMPTY)
    }

    pub(super) fn reserve(&mut self, places: u32) -> bool {
        let nodes = (places as usize).max(1).next_power_of_two().saturating_mul(2);
        self.nodes.try_reserve_exact(nodes.saturating_sub(self.nodes.len())).is_ok()
    }

    /// Empties every place and makes `places` of them, within what was reserved.
    pub(super) fn clear(&mut self, places: u32) {
        let leaves = (places as usize).max(1).next_power_of_two();
        self.nodes.clear();
        while self.nodes.len() < leaves.saturating_mul(2) && push_reserved(&mut self.nodes, EMPTY) {}
        self.leaves = leaves;
    }

    /// Gives `place` the key, and every node above it its new minimum.
    pub(super) fn set(&mut self, place: u32, key: u64) {
        let mut index = self.leaves.wrapping_add(place as usize);
        let mut smallest = key;
        while let Some(node) = self.nodes.get_mut(index) {
            if *node == smallest {
                return; // nothing above depends on more than this value
            }
            *node = smallest;
            if index <= 1 {
                return;
            }
            smallest = smallest.min(self.node(index ^ 1));
            index /= 2;
        }
    }

    /// The first place at or after `start`, wrapping, whose key is the smallest of all.
    pub(super) fn first_smallest(&self, start: u32) -> Option<u32> {
        let smallest = self.node(1);
        if smallest == EMPTY {
            return None;
        }
        let mut index = self.leaves.wrapping_add(start as usize);
        if (start as usize) < self.leaves && self.node(index) != smallest {
            // Climb until the sibling to the right holds it.
            loop {
                if index <= 1 {
                    break;
                }
                if index.is_multiple_of(2) && self.node(index | 1) == smallest {
                    index |= 1;
                    break;
                }
                index /= 2;
            }
        } else if start as usize >= self.leaves {
            index = 1;
        }
        // Here `index` is the root (nothing at or after `start`) or a subtree that holds it.
        while index < self.leaves {
            index = index.wrapping_mul(2);
            if self.node(index) != smallest {
                index |= 1;
            }
        }
        Some(index.wrapping_sub(self.leaves) as u32)
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::vec;

    #[test]
    fn the_smallest_key_is_found_from_every_start_as_by_a_walk() {
        let mut seed = 9u64;
        let mut random = move || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            seed >> 33
        };
        for places in [1u32, 2, 3, 5, 8, 64, 100] {
            let mut tree = MinTree::default();
            assert!(tree.reserve(places));
            tree.clear(places);
            let mut keys = vec![EMPTY; places as usize];
            assert_eq!(tree.first_smallest(0), None);
            for _ in 0..400 {
                let place = random() % u64::from(places);
                let key = if random() % 4 == 0 { EMPTY } else { random() % 5 };
                keys[place as usize] = key;
                tree.set(place as u32, key);
                let start = (random() % u64::from(places + 1)) as u32;
                let by_walk = (0..places)
                    .map(|i| (start + i) % places)
                    .filter(|p| keys[*p as usize] != EMPTY)
                    .min_by_key(|p| keys[*p as usize]);
                assert_eq!(tree.first_smallest(start), by_walk, "{keys:?} from {start}");
            }
        }
    }
}
