//! Points of a thread's way through the gate at which tests may suspend it.

#![cfg_attr(not(feature = "fault-injection"), allow(unreachable_pub, reason = "public with the feature"))]

/// A point between two steps that other threads can see.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Point {
    /// Before an operation's next attempt at the gate word.
    Attempt,
    /// The role has been taken; nothing is applied yet.
    TookRole,
    /// Published operations have been taken off the word, and are not in order yet.
    Drained,
    /// A published operation is about to be applied.
    Apply,
    /// The core starts a request whose node does not say so yet.
    Grant,
    /// The node says so; its waker has not been called.
    Granted,
    /// Nothing is left to do; the role has not been given up.
    HandBack,
    /// The role has been given up; nobody has been woken yet.
    HandedBack,
    /// Work is left; the role is not on offer yet.
    HandOff,
    /// The role is on offer; nobody has been woken yet.
    HandedOff,
    /// Everybody has been woken; the role may be on offer.
    Woken,
}

/// All of them, in the order of a hold.
#[cfg(feature = "fault-injection")]
pub const POINTS: [Point; 11] = [
    Point::Attempt,
    Point::TookRole,
    Point::Drained,
    Point::Apply,
    Point::Grant,
    Point::Granted,
    Point::HandBack,
    Point::HandedBack,
    Point::HandOff,
    Point::HandedOff,
    Point::Woken,
];

/// The current thread is at this point.
#[cfg(not(feature = "fault-injection"))]
#[inline(always)]
pub(super) const fn reached(_: Point) {}

#[cfg(feature = "fault-injection")]
pub(super) use hooks::reached;

#[cfg(feature = "fault-injection")]
pub use hooks::on_this_thread;

#[cfg(feature = "fault-injection")]
mod hooks {
    use super::Point;
    use alloc::rc::Rc;
    use core::cell::RefCell;

    type Hook = Rc<dyn Fn(Point)>;

    std::thread_local! {
        static HOOK: RefCell<Option<Hook>> = const { RefCell::new(None) };
    }

    /// Calls `hook` at every point that the current thread reaches from now on.
    pub fn on_this_thread(hook: impl Fn(Point) + 'static) {
        HOOK.with(|slot| *slot.borrow_mut() = Some(Rc::new(hook)));
    }

    pub(in super::super) fn reached(point: Point) {
        let hook = HOOK.try_with(|slot| slot.borrow().clone()).ok().flatten();
        if let Some(hook) = hook {
            hook(point);
        }
    }
}
