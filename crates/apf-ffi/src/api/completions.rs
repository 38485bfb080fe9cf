//! Queues of completions.

#![allow(unsafe_code, reason = "exported functions")]

use std::ffi::{c_int, c_void};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::completions::{Callback, apf_completion_callback, apf_completions};
use crate::engine::apf_engine;
use crate::guard::guard;
use crate::pointers::{Checked, Out, places, reference, writable};
use crate::status::apf_status::{self, *};
use crate::types::{APF_NO_LIMIT, apf_completion};
use crate::waiting;

/// # Safety
///
/// `engine` came from [`Arc::into_raw`] and has not been freed, or is NULL; `queue` is valid for a write.
unsafe fn make(
    engine: *const apf_engine,
    queue: Out<*mut apf_completions>,
    callback: Option<Callback>,
) -> Checked<()> {
    if engine.is_null() {
        return Err(APF_ERROR_NULL_ARGUMENT);
    }
    // SAFETY: the caller's promise; the count is the queue's own.
    let engine = unsafe {
        Arc::increment_strong_count(engine);
        Arc::from_raw(engine)
    };
    let made = apf_completions::new(engine, callback);
    // SAFETY: the caller's promise.
    unsafe { queue.put(Arc::into_raw(made).cast_mut()) };
    Ok(())
}

/// Makes a queue for the completions of requests of this engine, to be polled, waited for or watched. An engine may have
/// any number of them, such as one for each event loop. Free it by apf_completions_free(). Does not block.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn apf_completions_new(
    engine: *const apf_engine,
    queue: *mut *mut apf_completions,
) -> apf_status {
    guard("apf_completions_new", || {
        let queue = writable(queue)?;
        // SAFETY: the conventions of the header.
        unsafe { make(engine, queue, None) }
    })
}

/// Makes a queue that hands its completions to a callback: see apf_completion_callback. `context` is passed on and may be
/// NULL; it must live until the queue or the engine has been freed. Does not block.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn apf_completions_new_callback(
    engine: *const apf_engine,
    callback: apf_completion_callback,
    context: *mut c_void,
    queue: *mut *mut apf_completions,
) -> apf_status {
    guard("apf_completions_new_callback", || {
        let queue = writable(queue)?;
        let function = callback.ok_or(APF_ERROR_NULL_ARGUMENT)?;
        // SAFETY: the conventions of the header.
        unsafe { make(engine, queue, Some(Callback { function, context })) }
    })
}

/// Frees a queue. NULL is allowed. Requests that wait for a completion here are cancelled, and what was granted but not
/// taken is given back. Its file descriptor is closed. No other call may use the queue meanwhile or later.
///
/// APF_ERROR_BUSY: its callback is running; no more calls begin, and the queue is to be freed again later. That is
/// also the answer within the callback. Does not block.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn apf_completions_free(queue: *mut apf_completions) -> apf_status {
    guard("apf_completions_free", || {
        if queue.is_null() {
            return Ok(());
        }
        // SAFETY: the conventions of the header.
        let shared = unsafe { reference(queue)? };
        shared.engine.check_process()?;
        shared.close()?;
        waiting::poll_all(&shared.engine);
        // SAFETY: it came from `Arc::into_raw`, and is not used again, by the conventions of the header.
        drop(unsafe { Arc::from_raw(queue.cast_const()) });
        Ok(())
    })
}

fn checked(queue: &apf_completions) -> Checked<&apf_completions> {
    if queue.callback.is_some() {
        return Err(APF_ERROR_CALLBACK_QUEUE);
    }
    if queue.engine.is_gone() {
        return Err(APF_ERROR_FOREIGN_QUEUE);
    }
    Ok(queue)
}

/// Takes completions, in the order of the decisions: at most `capacity` of them into `completions`, and their number
/// into `count`, which may be 0. From now on an admitted request is to be finished, not cancelled.
///
/// Does not wait for a completion. Threads that take from one queue at the same time wait for each other.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn apf_completions_poll(
    queue: *mut apf_completions,
    completions: *mut apf_completion,
    capacity: usize,
    count: *mut usize,
) -> apf_status {
    guard("apf_completions_poll", || {
        let count = writable(count)?;
        // SAFETY: the conventions of the header.
        let queue = checked(unsafe { reference(queue)? })?;
        // SAFETY: as above.
        let taken = unsafe { take(queue, completions, capacity)? };
        // SAFETY: as above.
        unsafe { count.put(taken) };
        Ok(())
    })
}

/// # Safety
///
/// `completions` is NULL or valid for writes of `capacity` of them.
unsafe fn take(queue: &apf_completions, completions: *mut apf_completion, capacity: usize) -> Checked<usize> {
    // SAFETY: the caller's promise.
    let places = unsafe { places(completions, capacity)? };
    let mut places = places.iter_mut();
    queue.drain(capacity, |completion| {
        if let Some(place) = places.next() {
            place.write(completion);
        }
    })
}

/// As apf_completions_poll(), but while there is none it waits: for at most `timeout_ns` nanoseconds of real time, for
/// good if that is APF_NO_LIMIT. `count` is 0 when the time is up, or apf_completions_wake() was called.
///
/// Blocks. APF_ERROR_SYSTEM: no file descriptor is to be had. Several threads may wait at one queue.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn apf_completions_wait(
    queue: *mut apf_completions,
    timeout_ns: u64,
    completions: *mut apf_completion,
    capacity: usize,
    count: *mut usize,
) -> apf_status {
    guard("apf_completions_wait", || {
        let count = writable(count)?;
        if capacity == 0 {
            return Err(APF_ERROR_INVALID_ARGUMENT);
        }
        // SAFETY: the conventions of the header.
        let queue = checked(unsafe { reference(queue)? })?;
        queue.engine.check_process()?;
        let deadline = match timeout_ns {
            APF_NO_LIMIT => None,
            timeout => Instant::now().checked_add(Duration::from_nanos(timeout)),
        };
        loop {
            // SAFETY: as above.
            let taken = unsafe { take(queue, completions, capacity)? };
            let rang = taken == 0
                && !queue.bell.is_woken()
                && queue.bell.wait(deadline).map_err(|_| APF_ERROR_SYSTEM)?;
            if !rang {
                // SAFETY: as above.
                unsafe { count.put(taken) };
                return Ok(());
            }
        }
    })
}

/// Has one thread that waits at the queue, now or next, come back without completions: to end its loop. Does not block.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn apf_completions_wake(queue: *mut apf_completions) -> apf_status {
    guard("apf_completions_wake", || {
        // SAFETY: the conventions of the header.
        checked(unsafe { reference(queue)? })?.bell.wake();
        Ok(())
    })
}

/// The file descriptor of a queue, for poll, epoll and the like: readable while there are completions, now and then also
/// when there are none (a poll of the queue then finds none and quietens it). It belongs to the queue: do not read,
/// write or close it. An eventfd on Linux, the end of a pipe elsewhere; not inherited through exec.
///
/// Does not block. APF_ERROR_SYSTEM: none is to be had.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn apf_completions_fd(queue: *mut apf_completions, fd: *mut c_int) -> apf_status {
    guard("apf_completions_fd", || {
        let fd = writable(fd)?;
        // SAFETY: the conventions of the header.
        let queue = checked(unsafe { reference(queue)? })?;
        let descriptor = queue.bell.descriptor().map_err(|_| APF_ERROR_SYSTEM)?;
        // SAFETY: as above.
        unsafe { fd.put(descriptor) };
        Ok(())
    })
}
