//! Numbers.

#![allow(unsafe_code, reason = "exported functions")]

use crate::engine::apf_engine;
use crate::guard::guard;
use crate::pointers::{put_sized, reference, writable};
use crate::stats::{apf_level_stats, apf_schema_stats, apf_stats};
use crate::status::apf_status::{self, *};

/// Reads every number of an engine. Free them by apf_stats_free().
///
/// Blocks: waits for its turn at each level.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn apf_stats_new(engine: *const apf_engine, stats: *mut *mut apf_stats) -> apf_status {
    guard("apf_stats_new", || {
        let stats = writable(stats)?;
        // SAFETY: the conventions of the header.
        let engine = unsafe { reference(engine)? };
        engine.check_process()?;
        let read = Box::new(apf_stats(engine.dispatcher().stats()));
        // SAFETY: as above.
        unsafe { stats.put(Box::into_raw(read)) };
        Ok(())
    })
}

/// Frees numbers. NULL is allowed. Does not block.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn apf_stats_free(stats: *mut apf_stats) -> apf_status {
    guard("apf_stats_free", || {
        if !stats.is_null() {
            // SAFETY: it came from `Box::into_raw`, and is not used again, by the conventions of the header.
            drop(unsafe { Box::from_raw(stats) });
        }
        Ok(())
    })
}

/// How many priority levels and how many pairs of FlowSchema and level there are numbers of; also pairs of earlier
/// configurations, for counts do not go away. Either place may be NULL. Does not block.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn apf_stats_counts(
    stats: *const apf_stats,
    levels: *mut usize,
    schemas: *mut usize,
) -> apf_status {
    guard("apf_stats_counts", || {
        // SAFETY: the conventions of the header.
        let stats = &unsafe { reference(stats)? }.0;
        if let Ok(place) = writable(levels) {
            // SAFETY: as above.
            unsafe { place.put(stats.levels.len()) };
        }
        if let Ok(place) = writable(schemas) {
            // SAFETY: as above.
            unsafe { place.put(stats.schemas.len()) };
        }
        Ok(())
    })
}

/// The numbers of one level, numbered from 0 by name. The caller sets `level->size` before the call.
/// APF_ERROR_INVALID_ARGUMENT when there is none of that number. Does not block.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn apf_stats_level(
    stats: *const apf_stats,
    index: usize,
    level: *mut apf_level_stats,
) -> apf_status {
    guard("apf_stats_level", || {
        // SAFETY: the conventions of the header.
        let found = unsafe { reference(stats)? }.0.levels.get(index).ok_or(APF_ERROR_INVALID_ARGUMENT)?;
        // SAFETY: as above.
        unsafe { put_sized(level, size_of::<apf_level_stats>(), found.into()) }
    })
}

/// The numbers of one FlowSchema at one level, numbered from 0 by level and schema. The caller sets `schema->size`
/// before the call. APF_ERROR_INVALID_ARGUMENT when there is none of that number. Does not block.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn apf_stats_schema(
    stats: *const apf_stats,
    index: usize,
    schema: *mut apf_schema_stats,
) -> apf_status {
    guard("apf_stats_schema", || {
        // SAFETY: the conventions of the header.
        let found = unsafe { reference(stats)? }.0.schemas.get(index).ok_or(APF_ERROR_INVALID_ARGUMENT)?;
        // SAFETY: as above.
        unsafe { put_sized(schema, size_of::<apf_schema_stats>(), found.into()) }
    })
}

/// The proportion of its target that every level has (seat_fair_frac). Does not block.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn apf_stats_fair_fraction(stats: *const apf_stats, fraction: *mut f64) -> apf_status {
    guard("apf_stats_fair_fraction", || {
        let fraction = writable(fraction)?;
        // SAFETY: the conventions of the header.
        let stats = &unsafe { reference(stats)? }.0;
        // SAFETY: as above.
        unsafe { fraction.put(stats.seat_fair_fraction) };
        Ok(())
    })
}
