//! The one door of the border: no panic passes it.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::pointers::Checked;
use crate::status::apf_status::{self, *};

/// Runs an entry point. `name` is its own, for tests that plant a panic in it.
#[inline(always)]
pub(crate) fn guard(name: &'static str, body: impl FnOnce() -> Checked<()>) -> apf_status {
    // Unwind safety: whatever shared state an entry point changes is put right by drops, or is a word that one exchange moves.
    match catch_unwind(AssertUnwindSafe(|| {
        planted(name);
        body()
    })) {
        Ok(Ok(())) => APF_OK,
        Ok(Err(status)) => status,
        Err(payload) => {
            // The payload's own drop may panic.
            let _ = catch_unwind(AssertUnwindSafe(move || drop(payload)));
            APF_ERROR_PANIC
        }
    }
}

#[cfg(not(feature = "panic-injection"))]
#[inline(always)]
fn planted(_: &'static str) {}

#[cfg(feature = "panic-injection")]
pub(crate) use planting::{plant, planted};

#[cfg(feature = "panic-injection")]
mod planting {
    use std::sync::{Mutex, PoisonError};

    static NEXT: Mutex<Option<String>> = Mutex::new(None);

    /// The next call of the entry point of this name panics.
    pub(crate) fn plant(name: &str) {
        *NEXT.lock().unwrap_or_else(PoisonError::into_inner) = Some(name.to_owned());
    }

    pub(crate) fn planted(name: &'static str) {
        let mut next = NEXT.lock().unwrap_or_else(PoisonError::into_inner);
        if next.as_deref() == Some(name) {
            *next = None;
            drop(next);
            panic!("planted in {name}");
        }
    }
}
