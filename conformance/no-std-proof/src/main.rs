//! Proves that `apf-core` needs no `std` and keeps no path to a panic.
//!
//! This program has its own allocator and panic handler, and the panic handler calls a symbol that nobody
//! defines: if the optimizer cannot rule out every panic in every public function of the core, the linker
//! fails. What it prints is compared with `expected.txt`. `cargo xtask test --only no-std` does both, and
//! shows with the feature `plant-a-panic` that the proof can fail.

#![no_std]
#![no_main]

mod heap;
mod host;
mod line;
mod server;
mod story;
mod texts;

use apf_core::Mode;
use core::ffi::{c_char, c_int};
use core::hint::black_box;
use story::Refused;

// SAFETY: the C runtime calls this symbol once; no other item of the program has the name.
#[unsafe(no_mangle)]
extern "C" fn main(arguments: c_int, _: *const *const c_char) -> c_int {
    planted(arguments);
    match run() {
        Ok(()) => host::end(0),
        Err(Refused) => {
            host::print(b"the core refused a call that it must take\n");
            host::end(1)
        }
    }
}

fn run() -> Result<(), Refused> {
    story::hashes();
    server::arithmetic()?;
    texts::print()?;
    for mode in [Mode::Exact, Mode::Default] {
        let mode = black_box(mode);
        story::tell(mode)?;
        story::years(mode)?;
        server::borrowing(mode)?;
    }
    server::without_memory()
}

#[cfg(not(feature = "plant-a-panic"))]
fn planted(_: c_int) {}

/// An index that the optimizer cannot see to be in range.
#[cfg(feature = "plant-a-panic")]
fn planted(arguments: c_int) {
    let numbers = black_box([1, 2, 3]);
    black_box(numbers[arguments as usize]);
}
