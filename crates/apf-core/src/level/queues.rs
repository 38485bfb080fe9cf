//! The queues of a level: an arena of queues, and their order.
//!
//! A queue is named in three ways. Its *arena index* never changes. Its *place* is its position in
//! the order; a removed queue leaves its place empty, so that removal moves nothing. Its *index*,
//! which hands and dumps speak of, is the number of queues at earlier places: the same number as the
//! place until a queue has been removed, and a look-up in O(log places) from then to the next
//! reconfiguration, which closes the gaps.

use alloc::vec::Vec;

use super::requests::{NONE, Request, Requests};
use crate::SeatSeconds;
use crate::discipline::Head;
use crate::reserved::push_reserved;

#[derive(Debug, Clone, Copy)]
pub(super) struct Queue<Q> {
    pub(super) tag: Q,
    /// Its place; `NONE` once it has been removed, while lingering requests still point to it.
    pub(super) place: u32,
    pub(super) first: u32,
    pub(super) last: u32,
    pub(super) waiting: u32,
    pub(super) executing: u32,
    pub(super) seats_in_use: u64,
    /// Sums over the waiting requests.
    pub(super) initial_seats: u64,
    pub(super) max_seats: u64,
    pub(super) total_work: SeatSeconds,
}

impl<Q> Queue<Q> {
    pub(super) const fn is_active(&self) -> bool {
        self.waiting > 0 || self.executing > 0
    }

    /// The head, as the discipline sees it.
    pub(super) fn head<T: Copy>(&self, requests: &Requests<T>) -> Option<Head<T>> {
        requests.at(self.first).map(|r| Head { tag: r.tag, work: r.total_work })
    }

    /// Appends a request to the list and to the sums.
    pub(super) fn append<T: Copy>(&mut self, requests: &mut Requests<T>, index: u32) {
        let last = self.last;
        let Some(request) = requests.at_mut(index) else { return };
        request.previous = last;
        request.next = NONE;
        let (work, total_work) = (request.work(), request.total_work);
        match requests.at_mut(last) {
            Some(before) => before.next = index,
            None => self.first = index,
        }
        self.last = index;
        self.waiting = self.waiting.wrapping_add(1);
        self.initial_seats = self.initial_seats.wrapping_add(work.initial_seats);
        self.max_seats = self.max_seats.wrapping_add(work.max_seats());
        self.total_work = self.total_work.plus(total_work);
    }

    /// Takes a request out of the list and out of the sums.
    pub(super) fn unlink<T: Copy>(&mut self, requests: &mut Requests<T>, index: u32) {
        let Some(request) = requests.at(index) else { return };
        let Request { previous, next, total_work, .. } = *request;
        let work = request.work();
        match requests.at_mut(previous) {
            Some(before) => before.next = next,
            None => self.first = next,
        }
        match requests.at_mut(next) {
            Some(after) => after.previous = previous,
            None => self.last = previous,
        }
        self.waiting = self.waiting.wrapping_sub(1);
        self.initial_seats = self.initial_seats.wrapping_sub(work.initial_seats);
        self.max_seats = self.max_seats.wrapping_sub(work.max_seats());
        self.total_work = self.total_work.minus(total_work);
    }
}

#[derive(Debug, Clone)]
pub(super) struct Queues<Q> {
    arena: Vec<Queue<Q>>,
    /// First free arena slot, linked by `first`.
    free: u32,
    /// The arena index at each place, `NONE` for a gap.
    order: Vec<u32>,
    /// Fenwick tree over places: how many queues they hold. Node `i` is at `i - 1`.
    counts: Vec<u32>,
    live: u32,
    /// The lowest place with a queue; the number of places when there is none.
    first_place: u32,
}

impl<Q: Copy + Default> Queues<Q> {
    pub(super) const fn new() -> Self {
        Self { arena: Vec::new(), free: NONE, order: Vec::new(), counts: Vec::new(), live: 0, first_place: 0 }
    }

    /// Number of queues.
    pub(super) const fn len(&self) -> u32 {
        self.live
    }

    /// Number of places, gaps included.
    pub(super) fn places(&self) -> u32 {
        self.order.len() as u32
    }

    pub(super) const fn first_place(&self) -> u32 {
        self.first_place
    }

    pub(super) fn get(&self, arena_index: u32) -> Option<&Queue<Q>> {
        self.arena.get(arena_index as usize)
    }

    pub(super) fn get_mut(&mut self, arena_index: u32) -> Option<&mut Queue<Q>> {
        self.arena.get_mut(arena_index as usize)
    }

    /// The arena index of the queue at a place.
    pub(super) fn at_place(&self, place: u32) -> u32 {
        self.order.get(place as usize).copied().unwrap_or(NONE)
    }

    /// The arena index of the queue with the given index.
    #[inline(always)]
    pub(super) fn at_index(&self, index: u32) -> u32 {
        if self.live == self.places() { self.at_place(index) } else { self.at_index_among_gaps(index) }
    }

    fn at_index_among_gaps(&self, index: u32) -> u32 {
        // Descend the Fenwick tree to the first place with more than `index` queues up to it.
        let mut place = 0usize;
        let mut left = index;
        let mut step = self.counts.len().checked_next_power_of_two().unwrap_or(0);
        while step > 0 {
            let next = place.saturating_add(step);
            if let Some(&count) = self.counts.get(next.wrapping_sub(1))
                && count <= left
            {
                left -= count;
                place = next;
            }
            step /= 2;
        }
        self.at_place(place as u32)
    }

    /// The number of queues at places before `place`; places beyond the last count as if they held one.
    #[inline(always)]
    pub(super) fn rank(&self, place: u32) -> u32 {
        if self.live == self.places() { place } else { self.rank_among_gaps(place) }
    }

    fn rank_among_gaps(&self, place: u32) -> u32 {
        let beyond = place.saturating_sub(self.places());
        let mut node = (place - beyond) as usize;
        let mut before = beyond;
        while let Some(below) = node.checked_sub(1) {
            before = before.wrapping_add(self.counts.get(below).copied().unwrap_or(0));
            node &= below; // clears the lowest bit
        }
        before
    }

    /// In index order: the arena index and the queue.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &Queue<Q>)> {
        self.order.iter().filter_map(|&arena_index| Some((arena_index, self.get(arena_index)?)))
    }

    /// Removes a queue from the order. Its arena slot stays until [`Queues::forget`].
    pub(super) fn remove(&mut self, arena_index: u32) {
        let Some(queue) = self.arena.get_mut(arena_index as usize) else { return };
        let place = queue.place;
        queue.place = NONE;
        if let Some(slot) = self.order.get_mut(place as usize) {
            *slot = NONE;
        }
        self.live = self.live.saturating_sub(1);
        let mut node = place as usize;
        while let Some(count) = self.counts.get_mut(node) {
            *count = count.wrapping_sub(1);
            node |= node.wrapping_add(1); // the next Fenwick node that covers this place
        }
        while self.order.get(self.first_place as usize) == Some(&NONE) {
            self.first_place = self.first_place.saturating_add(1);
        }
    }

    /// Frees the arena slot of a removed queue that nothing points to any more.
    pub(super) fn forget(&mut self, arena_index: u32) {
        if let Some(queue) = self.arena.get_mut(arena_index as usize) {
            queue.first = self.free;
            self.free = arena_index;
        }
    }

    /// Makes room for `wanted` queues; `false` when memory is short.
    pub(super) fn reserve(&mut self, wanted: u32) -> bool {
        let more = wanted.saturating_sub(self.live) as usize;
        self.arena.try_reserve_exact(more).is_ok()
            && self.order.try_reserve_exact(more).is_ok()
            && self.counts.try_reserve_exact(more).is_ok()
    }

    /// Closes the gaps and appends empty queues until there are `wanted`, within what was reserved.
    pub(super) fn arrange(&mut self, wanted: u32) {
        self.order.retain(|arena_index| *arena_index != NONE);
        while self.places() < wanted {
            let Some(arena_index) = self.create() else { break };
            if !push_reserved(&mut self.order, arena_index) {
                break;
            }
        }
        for (place, &arena_index) in self.order.iter().enumerate() {
            if let Some(queue) = self.arena.get_mut(arena_index as usize) {
                queue.place = place as u32;
            }
        }
        self.live = self.places();
        self.first_place = 0;
        self.counts.clear();
        let mut node: usize = 0;
        while self.counts.len() < self.order.len() {
            node = node.wrapping_add(1);
            let every_place_it_covers = 1 << node.trailing_zeros();
            if !push_reserved(&mut self.counts, every_place_it_covers) {
                break;
            }
        }
    }

    fn create(&mut self) -> Option<u32> {
        let empty = Queue {
            tag: Q::default(),
            place: NONE,
            first: NONE,
            last: NONE,
            waiting: 0,
            executing: 0,
            seats_in_use: 0,
            initial_seats: 0,
            max_seats: 0,
            total_work: SeatSeconds::ZERO,
        };
        let arena_index = self.free;
        if let Some(slot) = self.arena.get_mut(arena_index as usize) {
            self.free = slot.first;
            *slot = empty;
            return Some(arena_index);
        }
        push_reserved(&mut self.arena, empty).then(|| (self.arena.len() as u32).wrapping_sub(1))
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::vec::Vec;

    #[test]
    fn indices_shift_down_as_in_a_list_when_queues_are_removed() {
        for size in [1u32, 2, 3, 7, 8, 9, 64, 100] {
            let mut queues: Queues<SeatSeconds> = Queues::new();
            assert!(queues.reserve(size));
            queues.arrange(size);
            let mut list: Vec<u32> = (0..size).collect();
            let mut seed = 3u64;
            while !list.is_empty() {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let removed = list.remove((seed >> 33) as usize % list.len());
                queues.remove(removed);
                queues.forget(removed);
                for (index, &arena_index) in list.iter().enumerate() {
                    assert_eq!(queues.at_index(index as u32), arena_index);
                    let place = queues.get(arena_index).unwrap().place;
                    assert_eq!(queues.rank(place), index as u32);
                }
                assert_eq!(queues.rank(size), list.len() as u32);
                assert_eq!(queues.rank(size + 1), list.len() as u32 + 1);
                let first = list.first().map_or(size, |arena_index| queues.get(*arena_index).unwrap().place);
                assert_eq!(queues.first_place(), first);
            }
            assert!(queues.reserve(size));
            queues.arrange(size);
            assert_eq!(queues.arena.len(), size as usize, "arena slots are reused");
        }
    }
}
