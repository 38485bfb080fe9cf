//! What the tests share: the C interface in a few words of Rust.

#![allow(unsafe_code, reason = "calls of the C interface")]
#![allow(dead_code, reason = "no test uses all of it")]

use std::mem::MaybeUninit;
use std::ptr;

use apf_ffi::apf_status::APF_OK;
use apf_ffi::*;

pub(crate) const fn text(text: &str) -> apf_str {
    apf_str { data: text.as_ptr().cast(), len: text.len() }
}

/// A name that an engine has handed out.
pub(crate) fn name(of: apf_str) -> String {
    // SAFETY: it lives as long as the engine, which the caller has.
    let bytes = unsafe { std::slice::from_raw_parts(of.data.cast::<u8>(), of.len) };
    String::from_utf8_lossy(bytes).into_owned()
}

pub(crate) const EMPTY: apf_str = apf_str { data: ptr::null(), len: 0 };

pub(crate) const OPTIONS: apf_engine_options = apf_engine_options {
    size: size_of::<apf_engine_options>(),
    seats: 600,
    configuration: ptr::null(),
    queue_wait_limit_ns: 15_000_000_000,
    mode: 0,
    hash: 0,
    clock: apf_clock::APF_CLOCK_MANUAL as i32,
    keep_details: 0,
};

/// A list of pods by nobody.
pub(crate) const REQUEST: apf_request = apf_request {
    size: size_of::<apf_request>(),
    user: EMPTY,
    groups: ptr::null(),
    group_count: 0,
    verb: EMPTY,
    url: EMPTY,
    path: EMPTY,
    resource: EMPTY,
    subresource: EMPTY,
    api_group: EMPTY,
    api_version: EMPTY,
    object_namespace: EMPTY,
    object_name: EMPTY,
    initial_seats: 1,
    final_seats: 0,
    additional_latency_ns: 0,
    wait_limit_ns: APF_NO_LIMIT,
};

/// An engine with one queue of completions, freed together.
pub(crate) struct Host {
    pub(crate) engine: *mut apf_engine,
    pub(crate) queue: *mut apf_completions,
}

// SAFETY: the header allows every function from every thread.
unsafe impl Send for Host {}
// SAFETY: as above.
unsafe impl Sync for Host {}

impl Host {
    pub(crate) fn new(options: &apf_engine_options) -> Self {
        let (mut engine, mut queue) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: as the header says, here and in every method.
        unsafe {
            assert_eq!(apf_engine_new(options, &raw mut engine, ptr::null_mut()), APF_OK);
            assert_eq!(apf_completions_new(engine, &raw mut queue), APF_OK);
        }
        Self { engine, queue }
    }

    pub(crate) fn submit(&self, request: &apf_request, user_data: u64) -> apf_outcome {
        let mut outcome = MaybeUninit::uninit();
        // SAFETY: as above.
        unsafe {
            let status = apf_submit(self.engine, request, self.queue, user_data, outcome.as_mut_ptr());
            assert_eq!(status, APF_OK);
            outcome.assume_init()
        }
    }

    pub(crate) fn finish(&self, ticket: apf_ticket) {
        // SAFETY: as above.
        assert_eq!(unsafe { apf_finish(self.engine, ticket) }, APF_OK);
    }

    pub(crate) fn cancel(&self, ticket: apf_ticket) -> apf_status {
        // SAFETY: as above.
        unsafe { apf_cancel(self.engine, ticket) }
    }

    /// Takes one completion, if there is one.
    pub(crate) fn completion(&self) -> Option<apf_completion> {
        let (mut completion, mut count) = (MaybeUninit::uninit(), 0);
        // SAFETY: as above.
        unsafe {
            let status = apf_completions_poll(self.queue, completion.as_mut_ptr(), 1, &raw mut count);
            assert_eq!(status, APF_OK);
            (count == 1).then(|| completion.assume_init())
        }
    }

    pub(crate) fn set_time(&self, now: u64) {
        // SAFETY: as above.
        assert_eq!(unsafe { apf_engine_set_time(self.engine, now) }, APF_OK);
    }

    pub(crate) fn next_timer(&self) -> u64 {
        let mut due = 0;
        // SAFETY: as above.
        assert_eq!(unsafe { apf_engine_next_timer(self.engine, &raw mut due) }, APF_OK);
        due
    }

    /// Seats in use and requests waiting, over all levels.
    pub(crate) fn held(&self) -> (u64, u64) {
        let (mut stats, mut levels) = (ptr::null_mut(), 0);
        let mut held = (0, 0);
        // SAFETY: as above; all zeros are numbers.
        unsafe {
            assert_eq!(apf_stats_new(self.engine, &raw mut stats), APF_OK);
            assert_eq!(apf_stats_counts(stats, &raw mut levels, ptr::null_mut()), APF_OK);
            for at in 0..levels {
                let mut level: apf_level_stats = std::mem::zeroed();
                level.size = size_of::<apf_level_stats>();
                assert_eq!(apf_stats_level(stats, at, &raw mut level), APF_OK);
                held.0 += level.seats_in_use;
                held.1 += level.requests_waiting;
            }
            assert_eq!(apf_stats_free(stats), APF_OK);
        }
        held
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return; // the test has failed; what it holds is of no interest
        }
        // SAFETY: as above; nobody uses them any more.
        unsafe {
            assert_eq!(apf_completions_free(self.queue), APF_OK);
            assert_eq!(apf_engine_free(self.engine), APF_OK);
        }
    }
}
