//! What the border costs: a request through `libapf.so`, as a C program calls it, beside the same request in Rust.
//!
//! The shared library is loaded at run time: its calls cannot be inlined, and its thread-local variables are as far away
//! as they are for any C program. The two take turns in short slices, so that a busy machine hurts both alike.

#![allow(unsafe_code, reason = "calls of the C interface")]
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a benchmark prints, and stops on errors"
)]

use std::ffi::{CString, c_char, c_int, c_void};
use std::hint::black_box;
use std::mem::MaybeUninit;
use std::time::Instant;

use apf::{Dispatcher, RequestAttributes};
use apf_ffi::*;

unsafe extern "C" {
    fn dlopen(path: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
}

/// A function of the library.
macro_rules! function {
    ($library:expr, $name:ident: $type:ty) => {{
        let name = CString::new(stringify!($name)).unwrap();
        // SAFETY: the library is open, and the name is a C string.
        let found = unsafe { dlsym($library, name.as_ptr()) };
        assert!(!found.is_null(), "no {} in the library", stringify!($name));
        // SAFETY: the function has this type: it is the one of the crate that the library is made of.
        unsafe { std::mem::transmute::<*mut c_void, $type>(found) }
    }};
}

type New = unsafe extern "C" fn(
    *const apf_engine_options,
    *mut *mut apf_engine,
    *mut *mut apf_problems,
) -> apf_status;
type NewQueue = unsafe extern "C" fn(*const apf_engine, *mut *mut apf_completions) -> apf_status;
type Submit = unsafe extern "C" fn(
    *const apf_engine,
    *const apf_request,
    *mut apf_completions,
    u64,
    *mut apf_outcome,
) -> apf_status;
type Finish = unsafe extern "C" fn(*const apf_engine, apf_ticket) -> apf_status;
type SubmitBatch = unsafe extern "C" fn(
    *const apf_engine,
    *const apf_request,
    usize,
    *mut apf_completions,
    *const u64,
    *mut apf_outcome,
    *mut usize,
) -> apf_status;
type FinishBatch =
    unsafe extern "C" fn(*const apf_engine, *const apf_ticket, usize, *mut usize) -> apf_status;

const SLICE: usize = 2_000;
const BATCH: usize = 64;

fn text(text: &'static str) -> apf_str {
    apf_str { data: text.as_ptr().cast(), len: text.len() }
}

/// Nanoseconds a request of `SLICE` requests.
fn slice(mut run: impl FnMut()) -> f64 {
    let begun = Instant::now();
    run();
    begun.elapsed().as_nanos() as f64 / SLICE as f64
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    let path = std::env::var("APF_LIBRARY").expect("APF_LIBRARY: the path of libapf.so");
    let path = CString::new(path).unwrap();
    // SAFETY: a C string; 2 is RTLD_NOW.
    let library = unsafe { dlopen(path.as_ptr(), 2) };
    assert!(!library.is_null(), "the library cannot be opened");
    let new = function!(library, apf_engine_new: New);
    let new_queue = function!(library, apf_completions_new: NewQueue);
    let submit = function!(library, apf_submit: Submit);
    let finish = function!(library, apf_finish: Finish);
    let submit_batch = function!(library, apf_submit_batch: SubmitBatch);
    let finish_batch = function!(library, apf_finish_batch: FinishBatch);

    let dispatcher = Dispatcher::builder().seats(60_000).build().unwrap();
    let attributes = RequestAttributes::resource("list", "pods")
        .in_namespace("dev")
        .by("alice", &["dev", "system:authenticated"]);

    let (mut engine, mut queue) = (std::ptr::null_mut(), std::ptr::null_mut());
    let options = apf_engine_options {
        size: size_of::<apf_engine_options>(),
        seats: 60_000,
        configuration: std::ptr::null(),
        queue_wait_limit_ns: 15_000_000_000,
        mode: 0,
        hash: 0,
        clock: 0,
        keep_details: 0,
    };
    // SAFETY: as the header says, here and below.
    unsafe {
        assert_eq!(new(&raw const options, &raw mut engine, std::ptr::null_mut()), apf_status::APF_OK);
        assert_eq!(new_queue(engine, &raw mut queue), apf_status::APF_OK);
    }
    let groups = [text("dev"), text("system:authenticated")];
    let request = apf_request {
        size: size_of::<apf_request>(),
        user: text("alice"),
        groups: groups.as_ptr(),
        group_count: groups.len(),
        verb: text("list"),
        url: text(""),
        path: text(""),
        resource: text("pods"),
        subresource: text(""),
        api_group: text(""),
        api_version: text(""),
        object_namespace: text("dev"),
        object_name: text(""),
        initial_seats: 1,
        final_seats: 0,
        additional_latency_ns: 0,
        wait_limit_ns: u64::MAX,
    };
    let alike = [request; BATCH];
    // Neighbours that differ, as in a replay of many users.
    let users = ["alice", "bob", "carol", "dave"];
    let mixed: [apf_request; BATCH] =
        std::array::from_fn(|at| apf_request { user: text(users[at % users.len()]), ..request });

    let in_rust = || {
        for _ in 0..SLICE {
            drop(black_box(dispatcher.admit_blocking(black_box(attributes))).unwrap());
        }
    };
    let in_c = || {
        for _ in 0..SLICE {
            let mut outcome = MaybeUninit::<apf_outcome>::uninit();
            // SAFETY: as above.
            unsafe {
                let status = submit(engine, black_box(&raw const request), queue, 7, outcome.as_mut_ptr());
                assert_eq!(status, apf_status::APF_OK);
                assert_eq!(finish(engine, outcome.assume_init_ref().ticket), apf_status::APF_OK);
            }
        }
    };
    // As many requests at a time as in a batch, by single calls.
    let one_by_one = |requests: &[apf_request; BATCH]| {
        let mut left = SLICE;
        let mut outcomes = [const { MaybeUninit::<apf_outcome>::uninit() }; BATCH];
        while left > 0 {
            let count = left.min(BATCH);
            for (request, outcome) in black_box(requests).iter().zip(&mut outcomes).take(count) {
                // SAFETY: as above.
                let status = unsafe { submit(engine, request, queue, 7, outcome.as_mut_ptr()) };
                assert_eq!(status, apf_status::APF_OK);
            }
            for outcome in outcomes.iter().take(count) {
                // SAFETY: as above; it has just been written.
                let status = unsafe { finish(engine, outcome.assume_init_ref().ticket) };
                assert_eq!(status, apf_status::APF_OK);
            }
            left -= count;
        }
    };
    let in_batches = |requests: &[apf_request; BATCH]| {
        let mut left = SLICE;
        let mut outcomes = [const { MaybeUninit::<apf_outcome>::uninit() }; BATCH];
        while left > 0 {
            let count = left.min(BATCH);
            let mut done = 0;
            // SAFETY: as above.
            let status = unsafe {
                let (first, outcomes) = (black_box(requests).as_ptr(), outcomes.as_mut_ptr().cast());
                submit_batch(engine, first, count, queue, std::ptr::null(), outcomes, &raw mut done)
            };
            assert_eq!((status, done), (apf_status::APF_OK, count));
            let mut tickets = [apf_ticket::default(); BATCH];
            for (ticket, outcome) in tickets.iter_mut().zip(&outcomes).take(count) {
                // SAFETY: it has just been written.
                *ticket = unsafe { outcome.assume_init_ref() }.ticket;
            }
            // SAFETY: as above.
            let status = unsafe { finish_batch(engine, tickets.as_ptr(), count, &raw mut done) };
            assert_eq!((status, done), (apf_status::APF_OK, count));
            left -= count;
        }
    };

    let slices = std::env::var("SLICES").map_or(2_000, |count| count.parse().unwrap());
    let mut times = [const { Vec::new() }; 6];
    for _ in 0..slices {
        let taken = [
            slice(in_rust),
            slice(in_c),
            slice(|| one_by_one(&mixed)),
            slice(|| in_batches(&mixed)),
            slice(|| one_by_one(&alike)),
            slice(|| in_batches(&alike)),
        ];
        times.iter_mut().zip(taken).for_each(|(times, time)| times.push(time));
    }
    println!("a request, its start and its finish; medians of {slices} slices of {SLICE}, taken in turns:");
    let mut held = true;
    let mut row = |what: &str, of: usize, to: usize, most: f64| {
        let mut ratios: Vec<f64> = times[of].iter().zip(&times[to]).map(|(of, to)| of / to).collect();
        let (time, ratio) = (median(&mut times[of].clone()), median(&mut ratios));
        print!("  {what:<46} {time:7.1} ns");
        if of != to {
            print!(
                "  {ratio:.3} times that, at most {most:.2}: {}",
                if ratio <= most { "met" } else { "missed" }
            );
            held &= ratio <= most;
        }
        println!();
    };
    row("in Rust", 0, 0, 1.0);
    row("in C", 1, 0, 1.15);
    row("in C, 64 at a time of 4 users, single calls", 2, 2, 1.0);
    row("in C, 64 at a time of 4 users, batches", 3, 2, 0.8);
    row("in C, 64 at a time of one user, single calls", 4, 4, 1.0);
    row("in C, 64 at a time of one user, batches", 5, 4, 0.8);
    if !held {
        std::process::exit(1);
    }
}
