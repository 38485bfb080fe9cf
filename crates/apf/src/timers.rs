//! One list of things to do later for a whole dispatcher: delayed releases, wait limits, the next adjustment.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::Duration;

/// What to do.
#[derive(Debug)]
pub(crate) enum Task {
    /// Tick the gate of this level.
    Tick(u32),
    /// Wake a waiter.
    Wake(Waker),
    /// Adjust the limits.
    Adjust,
}

/// A waiter's place on the list: to be given back by [`Timers::forget`], whether it has been woken or not.
#[derive(Debug)]
pub(crate) struct TimerId(u32);

/// What is due at one time, in this order: ticks may grant what would time out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
enum Kind {
    Tick,
    Wake,
    Adjust,
}

/// An entry of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Due {
    at: u64,
    kind: Kind,
    /// The level to tick, or the slot of the waiter.
    number: u32,
}

/// A waiter's.
#[derive(Debug)]
struct Slot {
    /// `None` once it has been woken, and in a free slot.
    waker: Option<Waker>,
    /// Its place in `due`; of a free slot the next free one.
    place: u32,
}

// A waiting future with a wait limit costs one of each.
const _: () = assert!(size_of::<Slot>() + size_of::<Due>() <= 40);

/// No slot.
const NONE: u32 = u32::MAX;

#[derive(Debug)]
struct Lists {
    /// A binary heap. Waiters know their places in it, so that one that leaves takes its entry along: entries that stayed
    /// until their time would be there for every request of the last quarter of a minute.
    due: Vec<Due>,
    slots: Vec<Slot>,
    free: u32,
    /// Set to end the thread that serves the list.
    stopped: bool,
}

impl Default for Lists {
    fn default() -> Self {
        Self { due: Vec::new(), slots: Vec::new(), free: NONE, stopped: false }
    }
}

impl Lists {
    /// Puts an entry on the heap; answers whether it is the earliest.
    fn push(&mut self, due: Due) -> bool {
        self.due.push(due);
        self.rise(self.due.len() - 1) == 0
    }

    fn take_slot(&mut self, waker: Waker) -> u32 {
        let used = Slot { waker: Some(waker), place: NONE };
        match self.slots.get_mut(self.free as usize) {
            Some(free) => {
                let next = std::mem::replace(free, used).place;
                std::mem::replace(&mut self.free, next)
            }
            None => {
                self.slots.push(used);
                self.slots.len() as u32 - 1
            }
        }
    }

    /// Takes the entry at `place` off the heap.
    fn remove(&mut self, place: usize) {
        self.due.swap_remove(place);
        if place < self.due.len() && self.rise(place) == place {
            self.sink(place);
        }
    }

    /// Lets an entry change places with later ones above it; answers where it ends up.
    fn rise(&mut self, mut place: usize) -> usize {
        while place > 0 && self.due[place] < self.due[(place - 1) / 2] {
            self.due.swap(place, (place - 1) / 2);
            self.note(place);
            place = (place - 1) / 2;
        }
        self.note(place);
        place
    }

    /// Lets an entry change places with earlier ones below it.
    fn sink(&mut self, mut place: usize) {
        loop {
            let earliest = (2 * place + 1..2 * place + 3)
                .filter(|child| *child < self.due.len())
                .min_by_key(|child| self.due[*child]);
            match earliest {
                Some(child) if self.due[child] < self.due[place] => {
                    self.due.swap(place, child);
                    self.note(place);
                    place = child;
                }
                _ => break,
            }
        }
        self.note(place);
    }

    /// Tells a waiter where its entry is.
    fn note(&mut self, place: usize) {
        let Due { kind, number, .. } = self.due[place];
        if kind == Kind::Wake {
            self.slots[number as usize].place = place as u32;
        }
    }
}

/// Sorted by time; whoever serves it sleeps until the earliest.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    lists: Mutex<Lists>,
    changed: Condvar,
}

impl Timers {
    fn lists(&self) -> MutexGuard<'_, Lists> {
        self.lists.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has a level ticked.
    pub(crate) fn tick_at(&self, at: u64, level: u32) {
        self.put(Due { at, kind: Kind::Tick, number: level });
    }

    /// Has the limits adjusted.
    pub(crate) fn adjust_at(&self, at: u64) {
        self.put(Due { at, kind: Kind::Adjust, number: 0 });
    }

    fn put(&self, due: Due) {
        if self.lists().push(due) {
            self.changed.notify_one();
        }
    }

    /// Wakes `waker` at the given time, unless the returned handle is given back before.
    pub(crate) fn wake_at(&self, at: u64, waker: Waker) -> TimerId {
        let mut lists = self.lists();
        let slot = lists.take_slot(waker);
        let is_earliest = lists.push(Due { at, kind: Kind::Wake, number: slot });
        drop(lists);
        if is_earliest {
            self.changed.notify_one();
        }
        TimerId(slot)
    }

    /// Replaces the waker of a handle whose time has not come.
    pub(crate) fn update(&self, id: &TimerId, waker: &Waker) {
        let mut lists = self.lists();
        let present = &mut lists.slots[id.0 as usize].waker;
        if present.as_ref().is_some_and(|present| !present.will_wake(waker)) {
            let earlier = present.replace(waker.clone());
            drop(lists);
            drop(earlier); // a waker's drop is foreign code
        }
    }

    /// Gives a handle back.
    pub(crate) fn forget(&self, id: TimerId) {
        let mut lists = self.lists();
        let free = lists.free;
        let slot = &mut lists.slots[id.0 as usize];
        let waker = slot.waker.take();
        let place = std::mem::replace(&mut slot.place, free);
        lists.free = id.0;
        if waker.is_some() {
            lists.remove(place as usize); // it has not been woken: its entry is there
        }
        drop(lists);
        drop(waker);
    }

    /// The next task that is due at `now`.
    pub(crate) fn pop_due(&self, now: u64) -> Option<Task> {
        let mut lists = self.lists();
        let Due { kind, number, .. } = *lists.due.first().filter(|due| due.at <= now)?;
        lists.remove(0);
        match kind {
            Kind::Tick => Some(Task::Tick(number)),
            Kind::Adjust => Some(Task::Adjust),
            Kind::Wake => lists.slots[number as usize].waker.take().map(Task::Wake),
        }
    }

    /// The time of the earliest task.
    pub(crate) fn next(&self) -> Option<u64> {
        self.lists().due.first().map(|due| due.at)
    }

    /// Sleeps until a task may be due by `now()`, or the list is stopped: then `false`.
    pub(crate) fn sleep(&self, now: impl Fn() -> u64) -> bool {
        let mut lists = self.lists();
        loop {
            if lists.stopped {
                return false;
            }
            let wait = lists.due.first().map(|due| due.at.saturating_sub(now()));
            lists = match wait {
                Some(0) => return true,
                Some(wait) => {
                    let (lists, _) = self
                        .changed
                        .wait_timeout(lists, Duration::from_nanos(wait))
                        .unwrap_or_else(PoisonError::into_inner);
                    lists
                }
                None => self.changed.wait(lists).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }

    /// Ends the sleep of whoever serves the list, for good.
    pub(crate) fn stop(&self) {
        self.lists().stopped = true;
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The times of what is due at `now`, taken off; by level for ticks.
    fn due(timers: &Timers, now: u64) -> Vec<u32> {
        std::iter::from_fn(|| timers.pop_due(now))
            .map(|task| if let Task::Tick(level) = task { level } else { u32::MAX })
            .collect()
    }

    #[test]
    fn tasks_come_in_the_order_of_their_times_and_ticks_first() {
        let timers = Timers::default();
        timers.adjust_at(5);
        let waiter = timers.wake_at(5, Waker::noop().clone());
        for (at, level) in [(9, 0), (5, 1), (3, 2), (7, 3)] {
            timers.tick_at(at, level);
        }
        assert_eq!(timers.next(), Some(3));
        assert_eq!(due(&timers, 5), [2, 1, u32::MAX, u32::MAX]);
        assert_eq!(timers.next(), Some(7));
        timers.forget(waiter);
        assert_eq!(due(&timers, 100), [3, 0]);
    }

    #[test]
    fn waiters_that_leave_take_their_entries_along_in_any_order() {
        let timers = Timers::default();
        let mut times: Vec<u64> =
            (0..200).map(|n: u64| n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40 | 1).collect();
        let mut waiters: Vec<_> =
            times.iter().map(|at| (*at, timers.wake_at(*at, Waker::noop().clone()))).collect();
        // Those that stay must come at their times.
        while waiters.len() > 50 {
            let (at, waiter) = waiters.swap_remove(waiters.len() * 7 / 11);
            times.retain(|time| *time != at);
            timers.forget(waiter);
        }
        times.sort_unstable();
        for at in times {
            assert_eq!(timers.next(), Some(at));
            assert_eq!(due(&timers, at - 1), []);
            assert_eq!(due(&timers, at), [u32::MAX]);
        }
        assert_eq!(timers.next(), None);
        waiters.into_iter().for_each(|(_, waiter)| timers.forget(waiter));
        assert_eq!(timers.lists().slots.len(), 200);
        for at in 0..200 {
            let _never_forgotten = timers.wake_at(at, Waker::noop().clone());
        }
        assert_eq!(timers.lists().slots.len(), 200, "slots are used again");
    }
}
