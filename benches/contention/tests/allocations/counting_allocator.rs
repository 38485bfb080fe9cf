//! The system's allocator, counting what the whole process asks of it. The only `unsafe` of the package.

#![allow(unsafe_code, reason = "an allocator cannot be written without it")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

static ASKED: AtomicU64 = AtomicU64::new(0);
static HELD: AtomicI64 = AtomicI64::new(0);

/// How often any thread has asked for memory.
pub(crate) fn asked() -> u64 {
    ASKED.load(Ordering::Relaxed)
}

/// Bytes that have been asked for and not been given back.
pub(crate) fn held() -> i64 {
    HELD.load(Ordering::Relaxed)
}

fn count(bytes: i64) {
    if bytes > 0 {
        ASKED.fetch_add(1, Ordering::Relaxed);
    }
    HELD.fetch_add(bytes, Ordering::Relaxed);
}

struct Counting;

#[global_allocator]
static COUNTING: Counting = Counting;

// SAFETY: every call is passed on to the system's allocator with the arguments it came with, so its promises and
// demands are the system allocator's. Counting does not allocate.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as i64);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        count(-(layout.size() as i64));
        // SAFETY: the caller's promises are passed on.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(-(layout.size() as i64));
        count(size as i64);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.realloc(block, layout, size) }
    }
}
