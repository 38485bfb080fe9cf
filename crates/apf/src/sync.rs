//! The atomics and cells of the gate: the standard ones, or loom's or shuttle's when a model runs.

#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

#[cfg(shuttle)]
pub(crate) use shuttle::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

#[cfg(not(any(loom, shuttle)))]
pub(crate) use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

/// Reads a word in order to exchange it.
///
/// In a model it reads the newest value: an older one would only make the exchange fail, as an interleaving where
/// another thread comes in between does anyway, and would multiply what is to be explored. (`loom_all_loads` reads
/// older ones as well.)
pub(crate) fn load_to_exchange(word: &AtomicU64, order: Ordering) -> u64 {
    #[cfg(all(loom, not(loom_all_loads)))]
    return word.compare_exchange(u64::MAX, u64::MAX, order, order).unwrap_or_else(|newest| newest);
    #[cfg(any(not(loom), loom_all_loads))]
    return word.load(order);
}

/// Loom's knows no `const` initialisers.
#[cfg(loom)]
macro_rules! per_thread {
    (static $name:ident: $type:ty = const { $value:expr };) => {
        loom::thread_local! { static $name: $type = $value; }
    };
}
#[cfg(loom)]
pub(crate) use per_thread;

#[cfg(shuttle)]
pub(crate) use shuttle::thread_local as per_thread;

#[cfg(all(feature = "std", not(any(loom, shuttle))))]
pub(crate) use std::thread_local as per_thread;

/// A cell that is read and written under a protocol of its own. Under loom every access is checked
/// against every other.
#[derive(Debug)]
pub(crate) struct ProtocolCell<T>(
    #[cfg(loom)] loom::cell::UnsafeCell<T>,
    #[cfg(not(loom))] core::cell::UnsafeCell<T>,
);

impl<T> ProtocolCell<T> {
    pub(crate) fn new(value: T) -> Self {
        #[cfg(loom)]
        return Self(loom::cell::UnsafeCell::new(value));
        #[cfg(not(loom))]
        return Self(core::cell::UnsafeCell::new(value));
    }

    /// Runs `f` on a pointer to the value. To read through it, nobody may write meanwhile.
    pub(crate) fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
        #[cfg(loom)]
        return self.0.with(f);
        #[cfg(not(loom))]
        return f(self.0.get());
    }

    /// Runs `f` on a pointer to the value. To follow it, the caller must be its only user meanwhile.
    pub(crate) fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
        #[cfg(loom)]
        return self.0.with_mut(f);
        #[cfg(not(loom))]
        return f(self.0.get());
    }

    /// As [`ProtocolCell::with_mut`], for as long as the pointer lives.
    #[inline(always)]
    pub(crate) fn get_mut(&self) -> CellPtr<T> {
        #[cfg(loom)]
        return self.0.get_mut();
        #[cfg(not(loom))]
        return CellPtr(self.0.get());
    }
}

/// A pointer to what a [`ProtocolCell`] holds. Under loom the cell counts as written to while it lives.
#[cfg(loom)]
pub(crate) type CellPtr<T> = loom::cell::MutPtr<T>;

/// A pointer to what a [`ProtocolCell`] holds.
#[cfg(not(loom))]
pub(crate) struct CellPtr<T>(*mut T);

#[cfg(not(loom))]
#[allow(unsafe_code, reason = "the caller promises what following the pointer needs, as with loom's")]
impl<T> CellPtr<T> {
    /// # Safety
    ///
    /// The cell lives, and nobody else uses its value meanwhile.
    #[allow(clippy::mut_from_ref, reason = "it is a pointer, with loom's signature")]
    pub(crate) unsafe fn deref(&self) -> &mut T {
        // SAFETY: the caller's promise.
        unsafe { &mut *self.0 }
    }
}
