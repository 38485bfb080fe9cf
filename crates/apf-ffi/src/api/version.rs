//! What this library is, and the names of its numbers.

#![allow(unsafe_code, reason = "exported functions")]

use crate::pointers::lend;
use crate::status::{apf_reason, apf_status};
use crate::types::apf_str;

/// Major part of the version of this header.
pub const APF_VERSION_MAJOR: u32 = 0;
/// Minor part of the version of this header.
pub const APF_VERSION_MINOR: u32 = 1;
/// Patch part of the version of this header.
pub const APF_VERSION_PATCH: u32 = 0;
/// The binary interface that this header describes: the library's must be the same.
pub const APF_ABI_VERSION: u32 = 1;

/// The binary interface of the library that is linked: a program compares it with APF_ABI_VERSION of its header.
/// It is also the number in the name `libapf.so.1`. Never fails.
#[unsafe(no_mangle)]
pub extern "C" fn apf_abi_version() -> u32 {
    APF_ABI_VERSION
}

/// The version of the library that is linked, such as `0.1.0`. The text is constant. Never fails.
#[unsafe(no_mangle)]
pub extern "C" fn apf_version() -> apf_str {
    lend(env!("CARGO_PKG_VERSION"))
}

/// The name of an apf_status in the table of errors (docs/errors.md), the same in every language, such as `stale-ticket`;
/// `unknown` for other numbers. The text is constant. Never fails.
#[unsafe(no_mangle)]
pub extern "C" fn apf_status_name(status: i32) -> apf_str {
    lend(apf_status::of_number(status).map_or("unknown", apf_status::name))
}

/// A sentence on an apf_status, for people. The text is constant. Never fails.
#[unsafe(no_mangle)]
pub extern "C" fn apf_status_text(status: i32) -> apf_str {
    lend(apf_status::of_number(status).map_or("not a status of this library", apf_status::sentence))
}

/// The name of an apf_reason, as the label `reason` of kube-apiserver's metrics has it: `queue-full`,
/// `concurrency-limit`, `time-out`, `cancelled`; empty for other numbers. The text is constant. Never fails.
#[unsafe(no_mangle)]
pub extern "C" fn apf_reason_name(reason: i32) -> apf_str {
    lend(apf_reason::name(reason))
}

#[cfg(feature = "panic-injection")]
mod injection {
    use crate::pointers::text;
    use crate::types::apf_str;

    /// Only in libraries built for tests: the next call of the function of this name panics inside. The text is read
    /// during the call. Answers 0, or 1 when the name is not UTF-8.
    ///
    /// # Safety
    ///
    /// The text is valid.
    #[unsafe(no_mangle)]
    pub unsafe extern "C" fn apf_test_panic_at(function: apf_str) -> i32 {
        // SAFETY: the caller's promise.
        match unsafe { text(function) } {
            Ok(name) => {
                crate::guard::plant(name);
                0
            }
            Err(_) => 1,
        }
    }
}
#[cfg(feature = "panic-injection")]
pub use injection::apf_test_panic_at;
