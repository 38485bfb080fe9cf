//! Once an engine has seen as many requests at a time, no call of a request takes memory.

#![allow(unsafe_code, reason = "an allocator that counts, and calls of the C interface")]

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::mem::MaybeUninit;

use apf_ffi::apf_status::APF_OK;
use apf_ffi::*;
use common::{Host, OPTIONS, REQUEST, text};

std::thread_local! {
    static ASKED: Cell<u64> = const { Cell::new(0) };
}

struct Counting;

#[global_allocator]
static COUNTING: Counting = Counting;

// SAFETY: every call is passed on to the system's allocator as it came; counting takes no memory.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ASKED.set(ASKED.get() + 1);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ASKED.set(ASKED.get() + 1);
        // SAFETY: as above.
        unsafe { System.realloc(block, layout, size) }
    }
}

/// How often this thread asks for memory in `run`, the second time.
fn asked(mut run: impl FnMut()) -> u64 {
    run();
    let before = ASKED.get();
    run();
    ASKED.get() - before
}

const MANY: usize = 300;

#[test]
fn requests_take_no_memory() {
    let host = Host::new(&apf_engine_options { seats: 9_000, ..OPTIONS });
    let groups = [text("dev"), text("system:authenticated")];
    let request = apf_request {
        user: text("alice"),
        groups: groups.as_ptr(),
        group_count: groups.len(),
        verb: text("list"),
        resource: text("pods"),
        object_namespace: text("dev"),
        ..REQUEST
    };
    let mut tickets = [apf_ticket::default(); MANY];
    let single = asked(|| {
        for ticket in &mut tickets {
            *ticket = host.submit(&request, 7).ticket;
        }
        for ticket in &tickets {
            host.finish(*ticket);
        }
    });
    assert_eq!(single, 0, "single calls");

    let requests = [request; MANY];
    let mut outcomes = [const { MaybeUninit::<apf_outcome>::uninit() }; MANY];
    let batch = asked(|| {
        let mut done = 0;
        // SAFETY: as the header says.
        unsafe {
            let (first, places) = (requests.as_ptr(), outcomes.as_mut_ptr().cast());
            let status = apf_submit_batch(
                host.engine,
                first,
                MANY,
                host.queue,
                std::ptr::null(),
                places,
                &raw mut done,
            );
            assert_eq!((status, done), (APF_OK, MANY));
            for (ticket, outcome) in tickets.iter_mut().zip(&outcomes) {
                *ticket = outcome.assume_init_ref().ticket;
            }
            let status = apf_finish_batch(host.engine, tickets.as_ptr(), MANY, &raw mut done);
            assert_eq!((status, done), (APF_OK, MANY));
        }
    });
    assert_eq!(batch, 0, "batches");

    // Refusals, and waits that end in every way.
    let wide = apf_request { initial_seats: 9_000, ..request };
    let hasty = apf_request { wait_limit_ns: 1, ..request };
    let mut now = 1;
    let waits = asked(|| {
        let holds = host.submit(&wide, 0);
        assert_eq!(holds.kind, apf_outcome_kind::APF_OUTCOME_ADMITTED as i32);
        for ticket in &mut tickets[..60] {
            *ticket = host.submit(&request, 7).ticket;
        }
        for _ in 0..20 {
            let outcome = host.submit(&hasty, 8);
            assert_eq!(outcome.kind, apf_outcome_kind::APF_OUTCOME_QUEUED as i32);
        }
        for ticket in &tickets[..20] {
            assert_eq!(host.cancel(*ticket), APF_OK);
        }
        now += 2;
        host.set_time(now);
        host.finish(holds.ticket);
        let (mut admitted, mut timed_out) = (0, 0);
        while let Some(completion) = host.completion() {
            if completion.outcome.kind == apf_outcome_kind::APF_OUTCOME_ADMITTED as i32 {
                admitted += 1;
                host.finish(completion.outcome.ticket);
            } else {
                timed_out += 1;
            }
        }
        assert_eq!((admitted, timed_out), (40, 20));
    });
    assert_eq!(waits, 0, "waits");
    assert_eq!(host.held(), (0, 0));
}
