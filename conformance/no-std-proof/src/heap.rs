//! A heap that only grows: one static block, handed out from the front.
//!
//! The newest block can grow and be given back in place; everything else stays taken until the program ends.

use core::alloc::{GlobalAlloc, Layout};
use core::cell::UnsafeCell;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicUsize, Ordering};

const SIZE: usize = 8 << 20;

#[repr(align(64))]
struct Block(UnsafeCell<[u8; SIZE]>);

// SAFETY: the bytes are reached only through the allocator, which hands out each of them once.
unsafe impl Sync for Block {}

static BLOCK: Block = Block(UnsafeCell::new([0; SIZE]));
static USED: AtomicUsize = AtomicUsize::new(0);
static LIMIT: AtomicUsize = AtomicUsize::new(SIZE);

/// Lets every allocation fail from now on that would bring the used bytes over `bytes`.
pub(crate) fn limit(bytes: usize) {
    LIMIT.store(bytes.min(SIZE), Ordering::Relaxed);
}

/// Bytes handed out so far.
pub(crate) fn used() -> usize {
    USED.load(Ordering::Relaxed)
}

struct Heap;

#[global_allocator]
static HEAP: Heap = Heap;

fn base() -> *mut u8 {
    BLOCK.0.get().cast()
}

// SAFETY: the program has one thread. `alloc` answers null or a block of the asked size and alignment inside
// `BLOCK` which overlaps no other live block, since `USED` grows by at least its end.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let align = layout.align();
        let start = used().wrapping_add(align.wrapping_sub(1)) & !align.wrapping_sub(1);
        let Some(end) = start.checked_add(layout.size()) else { return null_mut() };
        if align > 64 || end > LIMIT.load(Ordering::Relaxed) {
            return null_mut();
        }
        USED.store(end, Ordering::Relaxed);
        base().wrapping_add(start)
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if block.wrapping_add(layout.size()) == base().wrapping_add(used()) {
            USED.store(used().wrapping_sub(layout.size()), Ordering::Relaxed);
        }
    }
}
