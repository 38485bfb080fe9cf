//! What is wrong with a configuration.

#![allow(unsafe_code, reason = "exported functions")]

use crate::guard::guard;
use crate::pointers::{put_sized, reference, writable};
use crate::problems::apf_problems;
use crate::status::apf_status::{self, *};
use crate::types::apf_problem;

/// How many problems there are. Does not block.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn apf_problems_count(problems: *const apf_problems, count: *mut usize) -> apf_status {
    guard("apf_problems_count", || {
        let count = writable(count)?;
        // SAFETY: the conventions of the header.
        unsafe { count.put(reference(problems)?.len()) };
        Ok(())
    })
}

/// One problem, numbered from 0. The caller sets `problem->size` before the call; the texts in it belong to `problems`.
/// APF_ERROR_INVALID_ARGUMENT when there is none of that number. Does not block.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn apf_problems_get(
    problems: *const apf_problems,
    index: usize,
    problem: *mut apf_problem,
) -> apf_status {
    guard("apf_problems_get", || {
        // SAFETY: the conventions of the header.
        let found = unsafe { reference(problems)? }.get(index).ok_or(APF_ERROR_INVALID_ARGUMENT)?;
        // SAFETY: as above.
        unsafe { put_sized(problem, size_of::<apf_problem>(), found) }
    })
}

/// Frees problems. NULL is allowed. Does not block.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn apf_problems_free(problems: *mut apf_problems) -> apf_status {
    guard("apf_problems_free", || {
        if !problems.is_null() {
            // SAFETY: it came from `Box::into_raw`, and is not used again, by the conventions of the header.
            drop(unsafe { Box::from_raw(problems) });
        }
        Ok(())
    })
}
