//! Free slots that a thread has at hand, so that a request that begins and ends in one thread meets no other.
//!
//! A thread has a few places, and an engine uses one of them, by its number. When the thread ends, or another engine needs
//! the place, the slots go back to their slab, if that is still there.

use std::cell::{Cell, RefCell};
use std::ptr;
use std::sync::{Arc, Weak};

use crate::slab::Slab;

/// Engines that one thread can use in turn without sending slots back.
const PLACES: usize = 4;
/// Slots in a place at most; half as many come and go at a time.
const SLOTS: usize = 32;

struct Magazine {
    /// The slab that the slots are of, which `owner` keeps from being mistaken for a later one at its address.
    slab: Cell<*const Slab>,
    owner: RefCell<Weak<Slab>>,
    len: Cell<usize>,
    slots: [Cell<u32>; SLOTS],
}

impl Magazine {
    const fn new() -> Self {
        Self {
            slab: Cell::new(ptr::null()),
            owner: RefCell::new(Weak::new()),
            len: Cell::new(0),
            slots: [const { Cell::new(0) }; SLOTS],
        }
    }

    /// Makes the magazine this slab's.
    #[cold]
    fn change(&self, slab: &Arc<Slab>) {
        self.clear();
        if let Ok(mut owner) = self.owner.try_borrow_mut() {
            *owner = Arc::downgrade(slab);
            self.slab.set(Arc::as_ptr(slab));
        }
    }

    /// Sends everything back.
    fn clear(&self) {
        self.slab.set(ptr::null());
        let len = self.len.replace(0);
        let owner = self.owner.try_borrow().ok().and_then(|owner| owner.upgrade());
        if let (Some(owner), Some(slots)) = (owner, self.slots.get(..len)) {
            owner.give_all(slots.iter().map(Cell::get));
        }
    }

    fn pop(&self) -> Option<u32> {
        let last = self.len.get().checked_sub(1)?;
        self.len.set(last);
        self.slots.get(last).map(Cell::get)
    }

    fn push(&self, slot: u32) -> bool {
        let len = self.len.get();
        match self.slots.get(len) {
            Some(place) => {
                place.set(slot);
                self.len.set(len + 1);
                true
            }
            None => false,
        }
    }
}

impl Drop for Magazine {
    fn drop(&mut self) {
        self.clear();
    }
}

std::thread_local! {
    static MAGAZINES: [Magazine; PLACES] = const { [const { Magazine::new() }; PLACES] };
}

/// Runs `with` on the thread's magazine for this slab; `None` when the thread is past having any.
#[inline(always)]
fn magazine<R>(slab: &Arc<Slab>, with: impl FnOnce(&Magazine) -> R) -> Option<R> {
    MAGAZINES
        .try_with(|magazines| {
            let magazine = magazines.get(slab.number as usize % PLACES)?;
            if magazine.slab.get() != Arc::as_ptr(slab) {
                magazine.change(slab);
            }
            Some(with(magazine))
        })
        .ok()
        .flatten()
}

/// A free slot; `None` when the slab has none.
#[inline(always)]
pub(crate) fn take(slab: &Arc<Slab>) -> Option<u32> {
    let taken = magazine(slab, |magazine| {
        magazine.pop().or_else(|| {
            slab.take_some(SLOTS / 2, |slot| _ = magazine.push(slot));
            magazine.pop()
        })
    });
    match taken {
        Some(taken) => taken,
        None => {
            let mut taken = None;
            slab.take_some(1, |slot| taken = Some(slot));
            taken
        }
    }
}

/// Gives a slot back.
#[inline(always)]
pub(crate) fn give(slab: &Arc<Slab>, slot: u32) {
    let kept = magazine(slab, |magazine| {
        if magazine.push(slot) {
            return;
        }
        slab.give_all((0..SLOTS / 2).filter_map(|_| magazine.pop()));
        magazine.push(slot);
    });
    if kept.is_none() {
        slab.give_all(std::iter::once(slot));
    }
}
