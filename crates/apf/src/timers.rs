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
    Tick(usize),
    /// Wake the waiter in this slot, if its generation is still this.
    Wake { slot: usize, generation: u64 },
    /// Adjust the limits.
    Adjust,
}

/// The waiter's side of a [`Task::Wake`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct TimerId {
    slot: usize,
    generation: u64,
}

#[derive(Debug, Default)]
struct Slot {
    generation: u64,
    waker: Option<Waker>,
    next_free: Option<usize>,
}

#[derive(Debug, Default)]
struct Lists {
    due: BinaryHeap<Reverse<(u64, Task)>>,
    slots: Vec<Slot>,
    free: Option<usize>,
    /// Set to end the thread that serves the list.
    stopped: bool,
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
        let slot = match lists.free {
            Some(slot) => {
                lists.free = lists.slots[slot].next_free;
                slot
            }
            None => {
                lists.slots.push(Slot::default());
                lists.slots.len() - 1
            }
        };
        lists.slots[slot].waker = Some(waker);
        let generation = lists.slots[slot].generation;
        drop(lists);
        self.add(at, Task::Wake { slot, generation });
        TimerId { slot, generation }
    }

    /// Replaces the waker of a handle whose time has not come.
    pub(crate) fn update(&self, id: TimerId, waker: &Waker) {
        let mut lists = self.lists();
        let slot = &mut lists.slots[id.slot];
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
        let slot = &mut lists.slots[id.slot];
        if slot.generation != id.generation {
            return;
        }
        slot.generation += 1;
        let waker = slot.waker.take();
        slot.next_free = free;
        lists.free = Some(id.slot);
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
                let slot = &mut lists.slots[slot];
                if slot.generation != generation {
                    continue; // its waiter has left
                }
                return Some((task, slot.waker.take()));
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
