//! Events on simulated time, in the order (time, insertion).
//!
//! The order of equal times is part of every result, so it is the order of insertion and nothing else.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// A queue of future events. Times are nanoseconds of simulated time.
#[derive(Debug, Clone)]
pub struct EventQueue<E> {
    heap: BinaryHeap<Entry<E>>,
    inserted: u64,
}

#[derive(Debug, Clone)]
struct Entry<E> {
    time: u64,
    sequence: u64,
    event: E,
}

impl<E> Entry<E> {
    fn key(&self) -> u128 {
        (u128::from(self.time) << 64) | u128::from(self.sequence)
    }
}

// The heap gives the greatest first, so the order is turned round.
impl<E> Ord for Entry<E> {
    fn cmp(&self, other: &Self) -> Ordering {
        other.key().cmp(&self.key())
    }
}

impl<E> PartialOrd for Entry<E> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> PartialEq for Entry<E> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl<E> Eq for Entry<E> {}

impl<E> Default for EventQueue<E> {
    fn default() -> Self {
        EventQueue { heap: BinaryHeap::new(), inserted: 0 }
    }
}

impl<E> EventQueue<E> {
    /// An empty queue.
    pub fn new() -> Self {
        EventQueue::default()
    }

    /// Adds an event that is due at `time`.
    pub fn push(&mut self, time: u64, event: E) {
        self.inserted += 1;
        self.heap.push(Entry { time, sequence: self.inserted, event });
    }

    /// Takes the earliest event; of equal times the one inserted first.
    pub fn pop(&mut self) -> Option<(u64, E)> {
        self.heap.pop().map(|entry| (entry.time, entry.event))
    }

    /// When the earliest event is due.
    pub fn next_time(&self) -> Option<u64> {
        self.heap.peek().map(|entry| entry.time)
    }

    /// Number of events to come.
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// Whether no event is to come.
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::EventQueue;

    #[test]
    fn equal_times_come_out_in_the_order_of_insertion() {
        let mut queue = EventQueue::new();
        for event in 0..50 {
            queue.push(7, event);
        }
        queue.push(3, 100);
        queue.push(9, 101);
        let order: Vec<_> = std::iter::from_fn(|| queue.pop()).collect();
        assert_eq!(order.first(), Some(&(3, 100)));
        assert_eq!(order.last(), Some(&(9, 101)));
        assert!(order[1..51].iter().map(|&(_, event)| event).eq(0..50));
    }

    #[test]
    fn times_come_out_ascending_whatever_the_order_of_insertion() {
        let mut queue = EventQueue::new();
        for i in 0..1000_u64 {
            queue.push(i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 50, i);
        }
        let mut last = 0;
        while let Some((time, _)) = queue.pop() {
            assert!(time >= last);
            last = time;
        }
    }
}
