//! Metrics and dumps, as text.

#![allow(unsafe_code, reason = "exported functions")]

use std::ffi::c_char;

use apf_exposition::Table;

use crate::engine::apf_engine;
use crate::guard::guard;
use crate::pointers::{Checked, places, reference, writable};
use crate::status::apf_status::{self, *};
use crate::types::apf_table;

/// Puts a text into the caller's buffer.
///
/// # Safety
///
/// `buffer` is NULL or valid for writes of `capacity` bytes, `size` NULL or valid for a write.
unsafe fn put(text: &str, buffer: *mut c_char, capacity: usize, size: *mut usize) -> Checked<()> {
    // SAFETY: the caller's promise.
    unsafe { writable(size)?.put(text.len()) };
    if text.len() > capacity {
        return Err(APF_ERROR_BUFFER_TOO_SMALL);
    }
    // SAFETY: as above.
    let places = unsafe { places(buffer.cast::<u8>(), capacity)? };
    for (place, byte) in places.iter_mut().zip(text.as_bytes().iter().chain(&[0])) {
        place.write(*byte);
    }
    Ok(())
}

/// The metrics of kube-apiserver's priority and fairness in the text format of Prometheus
/// (`text/plain; version=0.0.4; charset=utf-8`).
///
/// `buffer`: where the text goes, `capacity` bytes; NULL with capacity 0 to ask for the size. `size`: the bytes of the
/// text, without a terminating zero, which is written too where there is room for it; written in any case.
/// APF_ERROR_BUFFER_TOO_SMALL: the text has more bytes than `capacity`, and nothing of it is written. It may have grown by the next
/// call: ask for more than `size`.
///
/// Blocks: waits for its turn at each level. Takes memory for the text during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn apf_prometheus(
    engine: *const apf_engine,
    buffer: *mut c_char,
    capacity: usize,
    size: *mut usize,
) -> apf_status {
    guard("apf_prometheus", || {
        writable(size)?;
        // SAFETY: the conventions of the header.
        let engine = unsafe { reference(engine)? };
        engine.check_process()?;
        let text = apf_exposition::prometheus(engine.dispatcher());
        // SAFETY: as above.
        unsafe { put(&text, buffer, capacity, size) }
    })
}

/// One of the debug dumps that kube-apiserver serves under `/debug/api_priority_and_fairness/`.
///
/// `table`: an apf_table. `buffer`, `capacity`, `size`: as in apf_prometheus(). What a dump of requests says of a request
/// beyond its level's own account is there only with `keep_details` in the engine's options.
///
/// Blocks: waits for its turn at each level, and copies it: not for busy monitoring.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn apf_dump(
    engine: *const apf_engine,
    table: i32,
    buffer: *mut c_char,
    capacity: usize,
    size: *mut usize,
) -> apf_status {
    guard("apf_dump", || {
        writable(size)?;
        let table = match table {
            t if t == apf_table::APF_TABLE_PRIORITY_LEVELS as i32 => Table::PriorityLevels,
            t if t == apf_table::APF_TABLE_QUEUES as i32 => Table::Queues,
            t if t == apf_table::APF_TABLE_REQUESTS as i32 => Table::Requests { details: false },
            t if t == apf_table::APF_TABLE_REQUESTS_WITH_DETAILS as i32 => Table::Requests { details: true },
            _ => return Err(APF_ERROR_INVALID_ARGUMENT),
        };
        // SAFETY: the conventions of the header.
        let engine = unsafe { reference(engine)? };
        engine.check_process()?;
        let text = apf_exposition::dump(engine.dispatcher(), table);
        // SAFETY: as above.
        unsafe { put(&text, buffer, capacity, size) }
    })
}
