//! The life of an engine.

#![allow(unsafe_code, reason = "exported functions")]

use std::sync::Arc;

use apf::BuildError;
use apf::config::Diagnostic;

use crate::configuration;
use crate::engine::apf_engine;
use crate::guard::guard;
use crate::pointers::{Checked, reference, text, writable};
use crate::problems::{Finding, apf_problems};
use crate::status::apf_status::{self, *};
use crate::types::{apf_configuration, apf_engine_options, apf_str};

/// Makes an engine.
///
/// `options`: NULL for the defaults: 600 seats, the built-in objects of kube-apiserver, a clock that runs by itself.
/// `engine`: where the new engine goes; free it by apf_engine_free().
/// `problems`: NULL, or where the problems found go, also when the call fails: warnings, and what was refused. NULL is
/// written when there are none. Free them by apf_problems_free().
///
/// APF_ERROR_CONFIGURATION: an object is refused; every problem names file, line, object, field and rule.
/// APF_ERROR_SEATS: the seats are not in 1..=2147483647. APF_ERROR_SYSTEM: there is no thread for timers.
///
/// Blocks: reads files if told so, and compares two clocks for 10 ms unless the options name another one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn apf_engine_new(
    options: *const apf_engine_options,
    engine: *mut *mut apf_engine,
    problems: *mut *mut apf_problems,
) -> apf_status {
    guard("apf_engine_new", || {
        let engine = writable(engine)?;
        // SAFETY: the conventions of the header.
        let (builder, manual, configuration) = unsafe { configuration::settings(options)? };
        // SAFETY: as above.
        let read = unsafe { configuration::read(configuration)? };
        let Some(objects) = read.objects else {
            // SAFETY: as above.
            unsafe { report(problems, read.diagnostics, Vec::new()) };
            return Err(APF_ERROR_CONFIGURATION);
        };
        match builder.objects(objects).build() {
            Ok(dispatcher) => {
                let left_out = dispatcher.objects_left_out().into_iter().map(Finding::LeftOut).collect();
                let new = apf_engine::new(dispatcher, manual);
                // SAFETY: as above.
                unsafe {
                    report(problems, read.diagnostics, left_out);
                    engine.put(Arc::into_raw(new).cast_mut());
                }
                Ok(())
            }
            Err(error) => {
                let (field, status) = match &error {
                    BuildError::Plan(apf::config::plan::PlanError::TotalSeats(_)) => {
                        ("seats", APF_ERROR_SEATS)
                    }
                    BuildError::Plan(_) => ("configuration", APF_ERROR_CONFIGURATION),
                    BuildError::Thread(_) => ("clock", APF_ERROR_SYSTEM),
                };
                let found = vec![Finding::Setting(field, error.to_string())];
                // SAFETY: as above.
                unsafe { report(problems, read.diagnostics, found) };
                Err(status)
            }
        }
    })
}

/// Hands problems out, if they are wanted.
///
/// # Safety
///
/// NULL, or valid for a write.
unsafe fn report(problems: *mut *mut apf_problems, diagnostics: Vec<Diagnostic>, findings: Vec<Finding>) {
    if let Ok(place) = writable(problems) {
        let found = apf_problems::new(diagnostics, findings);
        let found = if found.len() == 0 { std::ptr::null_mut() } else { Box::into_raw(Box::new(found)) };
        // SAFETY: the caller's promise.
        unsafe { place.put(found) };
    }
}

/// Frees an engine. NULL is allowed. Requests that wait are cancelled, those that run are finished, and their tickets
/// and all names in outcomes are void. Its queues give no more completions; they are still to be freed, before or after.
///
/// No other call may use the engine or one of its queues meanwhile or later. A callback that runs in the engine's own
/// timer thread is no such call: then the answer is APF_ERROR_BUSY, no more callbacks begin, and the engine is to be
/// freed again later. That is also the answer within a callback.
///
/// APF_ERROR_FORKED: in a fork of the process that made it; nothing is freed. Does not block.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn apf_engine_free(engine: *mut apf_engine) -> apf_status {
    guard("apf_engine_free", || {
        if engine.is_null() {
            return Ok(());
        }
        // SAFETY: the conventions of the header.
        let shared = unsafe { reference(engine)? };
        shared.check_process()?;
        shared.end_all()?;
        // SAFETY: it came from `Arc::into_raw`, and is not used again, by the conventions of the header.
        drop(unsafe { Arc::from_raw(engine.cast_const()) });
        Ok(())
    })
}

/// Replaces the whole configuration while requests are in flight: running ones keep their seats and waiting ones their
/// places; a level that is gone takes no new requests and goes when it is empty. NULL for the built-in objects. The number
/// of seats, the mode and the wait limits stay.
///
/// `problems`: as in apf_engine_new(). APF_ERROR_CONFIGURATION: an object is refused and nothing has changed.
///
/// Blocks: reads files if told so, and waits for its turn at each level. Admission does not wait for it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn apf_engine_reconfigure(
    engine: *const apf_engine,
    configuration: *const apf_configuration,
    problems: *mut *mut apf_problems,
) -> apf_status {
    guard("apf_engine_reconfigure", || {
        // SAFETY: the conventions of the header.
        let engine = unsafe { reference(engine)? };
        engine.check_process()?;
        // SAFETY: as above.
        let read = unsafe { configuration::read(configuration)? };
        let Some(objects) = read.objects else {
            // SAFETY: as above.
            unsafe { report(problems, read.diagnostics, Vec::new()) };
            return Err(APF_ERROR_CONFIGURATION);
        };
        let (status, found) = match engine.dispatcher().reconfigure(objects) {
            Ok(()) => {
                (Ok(()), engine.dispatcher().objects_left_out().into_iter().map(Finding::LeftOut).collect())
            }
            Err(error) => {
                (Err(APF_ERROR_CONFIGURATION), vec![Finding::Setting("configuration", error.to_string())])
            }
        };
        // SAFETY: as above.
        unsafe { report(problems, read.diagnostics, found) };
        status
    })
}

/// The engine's time: nanoseconds since an origin of its own. Does not block.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn apf_engine_now(engine: *const apf_engine, now_ns: *mut u64) -> apf_status {
    guard("apf_engine_now", || {
        let now = writable(now_ns)?;
        // SAFETY: the conventions of the header.
        let engine = unsafe { reference(engine)? };
        // SAFETY: as above.
        unsafe { now.put(engine.now()) };
        Ok(())
    })
}

/// Later times are none: what is due every 10 seconds would be due for ever.
const END_OF_TIME: u64 = 1 << 63;
/// The limits are adjusted a quarter of a million times on the way.
const LONGEST_STEP: u64 = 30 * 86_400 * 1_000_000_000;

/// Moves the time of an engine with APF_CLOCK_MANUAL on, and does what becomes due on the way, each at its time:
/// delayed releases, time-outs of waiting requests, the adjustment of limits every 10 seconds. Time does not go back: an
/// earlier time than the engine's changes nothing, but what is due is done.
///
/// APF_ERROR_CLOCK: the engine's clock runs by itself. APF_ERROR_INVALID_ARGUMENT: the time is 2^63 or more, or more
/// than 30 days ahead: go there in several steps.
///
/// Blocks: waits for its turn at each level. Callbacks run within it. To be called by one thread at a time; others may
/// use the engine meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn apf_engine_set_time(engine: *const apf_engine, now_ns: u64) -> apf_status {
    guard("apf_engine_set_time", || {
        // SAFETY: the conventions of the header.
        let engine = unsafe { reference(engine)? };
        engine.check_process()?;
        let clock = engine.manual.as_ref().ok_or(APF_ERROR_CLOCK)?;
        let dispatcher = engine.dispatcher();
        if now_ns >= END_OF_TIME || now_ns.saturating_sub(clock.now()) > LONGEST_STEP {
            return Err(APF_ERROR_INVALID_ARGUMENT);
        }
        while let Some(due) = dispatcher.next_timer().filter(|due| *due <= now_ns) {
            clock.set(due);
            dispatcher.run_timers();
        }
        clock.set(now_ns);
        Ok(())
    })
}

/// When something is due next, nanoseconds since the engine's origin: apf_engine_set_time() to that time does it. There
/// is always something: the next adjustment of the limits, if nothing else. Blocks for no longer than another
/// thread needs to note a timer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn apf_engine_next_timer(engine: *const apf_engine, due_ns: *mut u64) -> apf_status {
    guard("apf_engine_next_timer", || {
        let due = writable(due_ns)?;
        // SAFETY: the conventions of the header.
        let engine = unsafe { reference(engine)? };
        engine.check_process()?;
        let next = engine.dispatcher().next_timer().unwrap_or(u64::MAX);
        // SAFETY: as above.
        unsafe { due.put(next) };
        Ok(())
    })
}

/// The number of a priority level, for apf_submit_classified(). It stays the level's until the level is removed from the
/// configuration; one that comes back has another. APF_ERROR_LEVEL: there is none of this name.
///
/// Blocks for as long as a change of the configuration takes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn apf_level_find(
    engine: *const apf_engine,
    name: apf_str,
    level: *mut u32,
) -> apf_status {
    guard("apf_level_find", || {
        let level = writable(level)?;
        // SAFETY: the conventions of the header.
        let engine = unsafe { reference(engine)? };
        engine.check_process()?;
        // SAFETY: as above.
        let name = unsafe { text(name)? };
        let number = find(engine, name)?;
        // SAFETY: as above.
        unsafe { level.put(number) };
        Ok(())
    })
}

fn find(engine: &apf_engine, name: &str) -> Checked<u32> {
    engine.dispatcher().level_number(name).ok_or(APF_ERROR_LEVEL)
}

/// The hash of a flow, as the engine computes it from the name of a FlowSchema and a flow distinguisher (a user or a
/// namespace; may be empty). Does not block.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn apf_flow_hash(
    engine: *const apf_engine,
    flow_schema: apf_str,
    distinguisher: apf_str,
    hash: *mut u64,
) -> apf_status {
    guard("apf_flow_hash", || {
        let hash = writable(hash)?;
        // SAFETY: the conventions of the header.
        let engine = unsafe { reference(engine)? };
        // SAFETY: as above.
        let (schema, distinguisher) = unsafe { (text(flow_schema)?, text(distinguisher)?) };
        let value = engine.dispatcher().flow_hash().hash(schema, distinguisher);
        // SAFETY: as above.
        unsafe { hash.put(value) };
        Ok(())
    })
}
