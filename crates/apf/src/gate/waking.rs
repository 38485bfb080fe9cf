//! Which gates the current thread is calling wakers for, so that wakers that come back to their gate do not nest
//! without bound. Without `std` there is no thread to ask: wakers must not use the gate there.

#![allow(unsafe_code, reason = "frames on one thread's stack are linked by pointer")]

use super::Gate;

/// Calls `wakers`, which wake waiters of `gate`.
#[cfg(not(any(feature = "std", loom, shuttle)))]
pub(super) fn within(_: &Gate, wakers: impl FnOnce()) {
    wakers();
}

/// Whether the current thread is within a call of [`within`] for `gate`.
#[cfg(not(any(feature = "std", loom, shuttle)))]
pub(super) const fn is_in(_: &Gate) -> bool {
    false
}

#[cfg(any(feature = "std", loom, shuttle))]
pub(super) use threads::{is_in, within};

#[cfg(any(feature = "std", loom, shuttle))]
mod threads {
    use core::cell::Cell;
    use core::ptr;

    use super::Gate;
    use crate::sync::per_thread;

    /// One call of `within`, linked to the one around it. Nothing is allocated, and nothing is destroyed
    /// when the thread ends: requests may end there too.
    struct Frame {
        gate: *const Gate,
        outer: *const Frame,
    }

    per_thread! {
        static INNERMOST: Cell<*const Frame> = const { Cell::new(ptr::null()) };
    }

    pub(in super::super) fn within(gate: &Gate, wakers: impl FnOnce()) {
        /// Unlinks the frame, also when a waker unwinds.
        struct Unlink(*const Frame);
        impl Drop for Unlink {
            fn drop(&mut self) {
                let _ = INNERMOST.try_with(|innermost| innermost.set(self.0));
            }
        }
        let outer = INNERMOST.try_with(Cell::get).unwrap_or(ptr::null());
        let frame = Frame { gate: ptr::from_ref(gate), outer };
        let _unlink = Unlink(outer);
        let _ = INNERMOST.try_with(|innermost| innermost.set(&frame));
        wakers();
    }

    pub(in super::super) fn is_in(gate: &Gate) -> bool {
        let mut frame = INNERMOST.try_with(Cell::get).unwrap_or(ptr::null());
        // SAFETY: every linked frame lives further down this thread's stack until it has been unlinked.
        while let Some(Frame { gate: of, outer }) = unsafe { frame.as_ref() } {
            if ptr::eq(*of, gate) {
                return true;
            }
            frame = *outer;
        }
        false
    }
}
