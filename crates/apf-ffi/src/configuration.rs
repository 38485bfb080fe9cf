//! Configurations and settings from C.

#![allow(unsafe_code, reason = "structures from C")]

use std::time::Duration;

use apf::clock::{Clock, ManualClock};
use apf::config::{Diagnostic, Objects, Source, Strictness, bootstrap, load, read_paths};
use apf::{Builder, Dispatcher, FlowHash, Mode};

use crate::pointers::{Checked, sized, text};
use crate::status::apf_status::*;
use crate::types::*;

/// The objects of a configuration, with what was found wrong; `None` when they cannot be used.
pub(crate) struct Read {
    pub(crate) objects: Option<Objects>,
    pub(crate) diagnostics: Vec<Diagnostic>,
}

/// Reads a configuration; NULL for the built-in one.
///
/// # Safety
///
/// As the header says of `apf_configuration`.
pub(crate) unsafe fn read(configuration: *const apf_configuration) -> Checked<Read> {
    if configuration.is_null() {
        return Ok(Read { objects: Some(bootstrap::all()), diagnostics: Vec::new() });
    }
    // SAFETY: the caller's promise; every field is a number or a pointer that is looked at later.
    let given = unsafe { sized(configuration, size_of::<apf_configuration>(), apf_configuration::EMPTY)? };
    // SAFETY: as above.
    let (manifest, name, path) = unsafe { (text(given.text)?, text(given.text_name)?, text(given.path)?) };
    let strictness = match given.strictness {
        s if s == apf_strictness::APF_STRICTNESS_STRICT as i32 => Strictness::Strict,
        s if s == apf_strictness::APF_STRICTNESS_LENIENT as i32 => Strictness::Lenient,
        _ => return Err(APF_ERROR_INVALID_ARGUMENT),
    };
    let with_suggested = match given.builtin {
        b if b == apf_builtin::APF_BUILTIN_ALL as i32 => true,
        b if b == apf_builtin::APF_BUILTIN_MANDATORY as i32 => false,
        _ => return Err(APF_ERROR_INVALID_ARGUMENT),
    };
    let (mut sources, mut diagnostics) =
        if path.is_empty() { Default::default() } else { read_paths(&[path]) };
    if !manifest.is_empty() {
        sources.push(Source::new(if name.is_empty() { "configuration" } else { name }, manifest));
    }
    let loaded = load(&sources, strictness);
    diagnostics.extend(loaded.diagnostics);
    let usable = !diagnostics.iter().any(Diagnostic::is_error);
    let objects = if with_suggested { bootstrap::with_own(&loaded.objects) } else { loaded.objects };
    Ok(Read { objects: usable.then_some(objects), diagnostics })
}

/// Settings without a configuration, and the clock if it is the host's.
///
/// # Safety
///
/// As the header says of `apf_engine_options`.
pub(crate) unsafe fn settings(
    options: *const apf_engine_options,
) -> Checked<(Builder, Option<ManualClock>, *const apf_configuration)> {
    let given = if options.is_null() {
        apf_engine_options::DEFAULT
    } else {
        // SAFETY: the caller's promise; every field is a number or a pointer that is looked at later.
        unsafe { sized(options, size_of::<apf_engine_options>(), apf_engine_options::DEFAULT)? }
    };
    let mut builder = Dispatcher::builder()
        .seats(given.seats)
        .queue_wait_limit(Duration::from_nanos(given.queue_wait_limit_ns));
    builder = builder.mode(match given.mode {
        m if m == apf_mode::APF_MODE_DEFAULT as i32 => Mode::Default,
        m if m == apf_mode::APF_MODE_EXACT as i32 => Mode::Exact,
        _ => return Err(APF_ERROR_INVALID_ARGUMENT),
    });
    match given.hash {
        h if h == apf_hash::APF_HASH_OF_MODE as i32 => {}
        h if h == apf_hash::APF_HASH_XXH3 as i32 => builder = builder.flow_hash(FlowHash::Xxh3),
        h if h == apf_hash::APF_HASH_SHA256 as i32 => builder = builder.flow_hash(FlowHash::Sha256),
        _ => return Err(APF_ERROR_INVALID_ARGUMENT),
    }
    match given.keep_details {
        0 => {}
        1 => builder = builder.keep_details(),
        _ => return Err(APF_ERROR_INVALID_ARGUMENT),
    }
    let mut manual = None;
    match given.clock {
        c if c == apf_clock::APF_CLOCK_FASTEST as i32 => {}
        c if c == apf_clock::APF_CLOCK_MONOTONIC as i32 => builder = builder.clock(Clock::monotonic()),
        c if c == apf_clock::APF_CLOCK_MANUAL as i32 => {
            let clock = ManualClock::default();
            builder = builder.clock(Clock::Manual(clock.clone()));
            manual = Some(clock);
        }
        _ => return Err(APF_ERROR_INVALID_ARGUMENT),
    }
    Ok((builder, manual, given.configuration))
}
