//! One list of things to do later for a whole dispatcher: delayed releases, wait limits, the next adjustment.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::Duration;

/// What to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Task {
    /// Tick the gate of this level.
    Tick(u32),
    /// Wake the waiter in this slot, if its generation is still this.
    Wake { slot: u32, generation: u32 },
    /// Adjust the limits.
    Adjust,
}

/// The waiter's side of a [`Task::Wake`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct TimerId {
    slot: u32,
    /// Comes round after 2^32 uses of a slot; an entry for an earlier one is gone long before.
    generation: u32,
}

#[derive(Debug, Default)]
struct Slot {
    generation: u32,
    next_free: u32,
    waker: Option<Waker>,
}

/// No slot: the end of the list of free ones.
const NONE: u32 = u32::MAX;

// A waiting future with a wait limit costs one of each.
const _: () = assert!(size_of::<Slot>() + size_of::<(u64, Task)>() <= 48);

#[derive(Debug)]
struct Lists {
    due: BinaryHeap<Reverse<(u64, Task)>>,
    slots: Vec<Slot>,
    free: u32,
    /// Set to end the thread that serves the list.
    stopped: bool,
}

impl Default for Lists {
    fn default() -> Self {
        Self { due: BinaryHeap::new(), slots: Vec::new(), free: NONE, stopped: false }
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

    /// Adds a task.
    pub(crate) fn add(&self, at: u64, task: Task) {
        let mut lists = self.lists();
        let is_earliest = lists.due.peek().is_none_or(|Reverse((earliest, _))| at < *earliest);
        lists.due.push(Reverse((at, task)));
        if is_earliest {
            drop(lists);
            self.changed.notify_one();
        }
    }

    /// Wakes `waker` at the given time, unless the returned handle is dropped before by [`Timers::forget`].
    pub(crate) fn wake_at(&self, at: u64, waker: Waker) -> TimerId {
        let mut lists = self.lists();
        let slot = lists.free;
        let (slot, generation) = match lists.slots.get_mut(slot as usize) {
            Some(free) => {
                free.waker = Some(waker);
                let (next, generation) = (free.next_free, free.generation);
                lists.free = next;
                (slot, generation)
            }
            None => {
                lists.slots.push(Slot { waker: Some(waker), ..Slot::default() });
                (lists.slots.len() as u32 - 1, 0)
            }
        };
        drop(lists);
        self.add(at, Task::Wake { slot, generation });
        TimerId { slot, generation }
    }

    /// Replaces the waker of a handle whose time has not come.
    pub(crate) fn update(&self, id: TimerId, waker: &Waker) {
        let mut lists = self.lists();
        let Some(slot) = lists.slots.get_mut(id.slot as usize) else { return };
        if slot.generation == id.generation
            && slot.waker.as_ref().is_some_and(|present| !present.will_wake(waker))
        {
            let earlier = slot.waker.replace(waker.clone());
            drop(lists);
            drop(earlier); // a waker's drop is foreign code
        }
    }

    /// Gives a handle back.
    pub(crate) fn forget(&self, id: TimerId) {
        let mut lists = self.lists();
        let free = lists.free;
        let Some(slot) = lists.slots.get_mut(id.slot as usize) else { return };
        if slot.generation != id.generation {
            return;
        }
        slot.generation = slot.generation.wrapping_add(1);
        let waker = slot.waker.take();
        slot.next_free = free;
        lists.free = id.slot;
        drop(lists);
        drop(waker);
    }

    /// The next task that is due at `now`, with the waker of a waiter whose time has come.
    pub(crate) fn pop_due(&self, now: u64) -> Option<(Task, Option<Waker>)> {
        let mut lists = self.lists();
        loop {
            let Reverse((at, task)) = *lists.due.peek()?;
            if at > now {
                return None;
            }
            lists.due.pop();
            if let Task::Wake { slot, generation } = task {
                match lists.slots.get_mut(slot as usize).filter(|slot| slot.generation == generation) {
                    Some(slot) => return Some((task, slot.waker.take())),
                    None => continue, // its waiter has left
                }
            }
            return Some((task, None));
        }
    }

    /// The time of the earliest task.
    pub(crate) fn next(&self) -> Option<u64> {
        self.lists().due.peek().map(|Reverse((at, _))| *at)
    }

    /// Sleeps until a task may be due by `now()`, or the list is stopped: then `false`.
    pub(crate) fn sleep(&self, now: impl Fn() -> u64) -> bool {
        let mut lists = self.lists();
        loop {
            if lists.stopped {
                return false;
            }
            let wait = lists.due.peek().map(|Reverse((at, _))| at.saturating_sub(now()));
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
