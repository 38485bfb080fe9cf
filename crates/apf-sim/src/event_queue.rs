//! Events on simulated time, in the order (time, insertion).
//!
//! The order of equal times is part of every result, so it is the order of insertion and nothing else.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, VecDeque};

/// A queue of future events. Times are nanoseconds of simulated time.
///
/// Events of a constant delay, such as time limits, come in ascending order: [`push_late`](Self::push_late) keeps those out of the
/// heap, however many there are.
#[derive(Debug, Clone)]
pub struct EventQueue<E> {
    heap: BinaryHeap<Entry<E>>,
    /// Ascending.
    late: VecDeque<Entry<E>>,
    inserted: u64,
}

/// Set in the sequence of everything that does not go before its equals.
const USUAL: u64 = 1 << 63;

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
        EventQueue { heap: BinaryHeap::new(), late: VecDeque::new(), inserted: 0 }
    }
}

impl<E> EventQueue<E> {
    /// An empty queue.
    pub fn new() -> Self {
        EventQueue::default()
    }

    /// Adds an event that is due at `time`.
    pub fn push(&mut self, time: u64, event: E) {
        let sequence = USUAL | self.next_sequence();
        self.heap.push(Entry { time, sequence, event });
    }

    /// Adds an event that goes before all others of its time, except those added by this before it.
    pub fn push_first(&mut self, time: u64, event: E) {
        let sequence = self.next_sequence();
        self.heap.push(Entry { time, sequence, event });
    }

    /// Adds an event that is likely to be due after all that were added by this before it; in its usual place if it is not.
    pub fn push_late(&mut self, time: u64, event: E) {
        if self.late.back().is_some_and(|last| last.time > time) {
            return self.push(time, event);
        }
        let sequence = USUAL | self.next_sequence();
        self.late.push_back(Entry { time, sequence, event });
    }

    /// Drops late events from the front for as long as `stale` says so.
    pub fn drop_late_while(&mut self, mut stale: impl FnMut(&E) -> bool) {
        while self.late.front().is_some_and(|entry| stale(&entry.event)) {
            self.late.pop_front();
        }
    }

    /// Takes the earliest event; of equal times the one inserted first.
    pub fn pop(&mut self) -> Option<(u64, E)> {
        let entry = match (self.heap.peek(), self.late.front()) {
            (Some(usual), Some(late)) if late.key() < usual.key() => self.late.pop_front(),
            (None, _) => self.late.pop_front(),
            _ => self.heap.pop(),
        };
        entry.map(|entry| (entry.time, entry.event))
    }

    /// Takes the earliest event if it is due at `time` and `wanted` says so.
    pub fn pop_if(&mut self, time: u64, wanted: impl FnOnce(&E) -> bool) -> Option<E> {
        let is_next = |entry: &Entry<E>| self.late.front().is_none_or(|late| entry.key() < late.key());
        let next = self.heap.peek().filter(|entry| entry.time == time && is_next(entry))?;
        if wanted(&next.event) { self.heap.pop().map(|entry| entry.event) } else { None }
    }

    /// When the earliest event is due.
    pub fn next_time(&self) -> Option<u64> {
        let usual = self.heap.peek().map(|entry| entry.time);
        let late = self.late.front().map(|entry| entry.time);
        match (usual, late) {
            (Some(usual), Some(late)) => Some(usual.min(late)),
            (usual, late) => usual.or(late),
        }
    }

    /// Number of events to come.
    pub fn len(&self) -> usize {
        self.heap.len() + self.late.len()
    }

    /// Whether no event is to come.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn next_sequence(&mut self) -> u64 {
        self.inserted += 1;
        self.inserted
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
    fn first_events_go_before_their_equals_and_late_ones_in_their_place() {
        let mut queue = EventQueue::new();
        queue.push(5, "usual");
        queue.push_late(5, "late");
        queue.push_late(4, "late but out of order");
        queue.push_late(6, "later");
        queue.push(5, "usual again");
        queue.push_first(5, "first");
        queue.push_first(5, "first again");
        assert_eq!(queue.next_time(), Some(4));
        let order: Vec<_> = std::iter::from_fn(|| queue.pop()).map(|(_, event)| event).collect();
        let expected =
            ["late but out of order", "first", "first again", "usual", "late", "usual again", "later"];
        assert_eq!(order, expected);
    }

    #[test]
    fn stale_late_events_go_without_being_popped() {
        let mut queue = EventQueue::new();
        for event in 0..5 {
            queue.push_late(event, event);
        }
        queue.drop_late_while(|event| *event < 3);
        assert_eq!(queue.pop(), Some((3, 3)));
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
