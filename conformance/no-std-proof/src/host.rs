//! The three things the program needs from outside: to write, to end, and nothing to call on a panic.

use core::ffi::{c_int, c_void};
use core::panic::PanicInfo;

#[link(name = "c")]
unsafe extern "C" {
    safe fn exit(code: c_int) -> !;
    fn write(descriptor: c_int, bytes: *const c_void, count: usize) -> isize;
}

#[cfg(not(feature = "show-panics"))]
unsafe extern "C" {
    // Defined nowhere: a path to a panic that is left in the program is an error of the linker.
    safe fn apf_core_has_a_path_to_a_panic() -> !;
}

#[cfg(feature = "show-panics")]
#[inline(never)]
fn apf_core_has_a_path_to_a_panic() -> ! {
    end(101)
}

#[panic_handler]
fn panic(_: &PanicInfo) -> ! {
    apf_core_has_a_path_to_a_panic()
}

/// Writes to standard output; what cannot be written is lost.
pub(crate) fn print(bytes: &[u8]) {
    // SAFETY: pointer and length come from one live slice.
    unsafe { write(1, bytes.as_ptr().cast(), bytes.len()) };
}

/// Ends the program.
pub(crate) fn end(code: c_int) -> ! {
    exit(code)
}
