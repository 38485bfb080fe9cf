//! The way of a request.

#![allow(unsafe_code, reason = "exported functions")]

use std::sync::Arc;
use std::time::Duration;

use apf::{Admit, AdmitError, Permit, Preclassified, WorkEstimate};

use crate::completions::apf_completions;
use crate::engine::apf_engine;
use crate::guard::guard;
use crate::outcome;
use crate::pointers::{Checked, array, reference, sized, writable};
use crate::request::{self, wait_limit};
use crate::slot::{Claim, Holding, Phase};
use crate::status::apf_status::{self, *};
use crate::types::{apf_classified_request, apf_outcome, apf_request, apf_ticket};
use crate::waiting::{self, Begun};

/// The queue of a submission, if there is one and it is the engine's.
///
/// # Safety
///
/// NULL, or came from [`Arc::into_raw`] and has not been freed.
unsafe fn queue_of<'a>(
    engine: &apf_engine,
    queue: *const apf_completions,
) -> Checked<Option<&'a apf_completions>> {
    // SAFETY: the caller's promise.
    let Some(queue) = (unsafe { queue.as_ref() }) else { return Ok(None) };
    if !std::ptr::eq(&*queue.engine, engine) {
        return Err(APF_ERROR_FOREIGN_QUEUE);
    }
    Ok(Some(queue))
}

/// A permit goes into a slot, and its ticket to the host.
#[inline]
fn keep(mut claim: Claim<'_>, permit: Permit<'static>) -> apf_outcome {
    let outcome = outcome::admitted(claim.slot.ticket(claim.generation), &permit);
    claim.body().holding = Holding::Permit(permit);
    claim.leave(Phase::Running);
    outcome
}

#[inline]
fn admitted(engine: &apf_engine, permit: Permit<'static>) -> Checked<apf_outcome> {
    // Should there be no slot, the permit is dropped: the request ends.
    let claim = engine.slab.take(engine).ok_or(APF_ERROR_OUT_OF_MEMORY)?;
    Ok(keep(claim, permit))
}

fn refused(error: &AdmitError) -> Checked<apf_outcome> {
    match outcome::refused(error) {
        (APF_OK, outcome) => Ok(outcome),
        (status, _) => Err(status),
    }
}

/// A request has entered: it is admitted, refused, or waits for its completion.
#[inline]
fn entered(
    engine: &apf_engine,
    queue: &apf_completions,
    user_data: u64,
    admit: Admit<'static>,
) -> Checked<apf_outcome> {
    match admit.at_once() {
        Ok(Ok(permit)) => admitted(engine, permit),
        Ok(Err(error)) => refused(&error),
        Err(waiting) => wait(engine, queue, user_data, waiting),
    }
}

fn wait(
    engine: &apf_engine,
    queue: &apf_completions,
    user_data: u64,
    admit: Admit<'static>,
) -> Checked<apf_outcome> {
    // Should there be no slot, the future is dropped: the request gives its place up.
    let mut claim = engine.slab.take(engine).ok_or(APF_ERROR_OUT_OF_MEMORY)?;
    let ticket = claim.slot.ticket(claim.generation);
    let body = claim.body();
    body.holding = Holding::Future(admit);
    body.queue = Some(queue.counted());
    body.user_data = user_data;
    body.time = engine.now();
    match waiting::begin(claim) {
        Begun::Waiting => Ok(outcome::queued(ticket)),
        Begun::Decided(mut claim, decided) => {
            claim.body().queue = None;
            match decided {
                Ok(permit) => Ok(keep(claim, permit)),
                Err(error) => refused(&error),
            }
        }
    }
}

#[inline]
fn submit(
    engine: &apf_engine,
    queue: Option<&apf_completions>,
    user_data: u64,
    request: apf::Request<'_>,
) -> Checked<apf_outcome> {
    let dispatcher = engine.dispatcher_for_slots();
    match queue {
        Some(queue) => entered(engine, queue, user_data, dispatcher.admit(request)),
        None => match dispatcher.try_admit(request) {
            Ok(permit) => admitted(engine, permit),
            Err(error) => refused(&error),
        },
    }
}

fn submit_classified(
    engine: &apf_engine,
    queue: Option<&apf_completions>,
    user_data: u64,
    request: &apf_classified_request,
) -> Checked<apf_outcome> {
    let dispatcher = engine.dispatcher_for_slots();
    let request = Preclassified {
        level: request.level,
        flow_hash: request.flow_hash,
        work: WorkEstimate {
            initial_seats: request.initial_seats,
            final_seats: request.final_seats,
            additional_latency: request.additional_latency_ns,
        },
        wait_limit: wait_limit(request.wait_limit_ns),
    };
    match queue {
        Some(queue) => {
            let admit = dispatcher.admit_preclassified(&request).ok_or(APF_ERROR_LEVEL)?;
            entered(engine, queue, user_data, admit)
        }
        None => match dispatcher.try_admit_preclassified(&request).ok_or(APF_ERROR_LEVEL)? {
            Ok(permit) => admitted(engine, permit),
            Err(error) => refused(&error),
        },
    }
}

/// Submits a request: it is admitted, queued or rejected at once.
///
/// `queue`: where its completion goes if it is queued; NULL never to queue it: it is then rejected with the reason
/// `concurrency-limit` where it would have had to wait. `user_data`: handed back with the completion.
/// `outcome`: what became of it. An admitted request is to be finished by apf_finish(); a queued one completes
/// through `queue`, perhaps before this call returns and in another thread, unless apf_cancel() ends it before.
///
/// APF_ERROR_REQUEST, APF_ERROR_UTF8, APF_ERROR_ESTIMATE: the request is none. APF_ERROR_FOREIGN_QUEUE: the queue is
/// another engine's. APF_ERROR_FORKED: it would have to wait in a forked child. Refusals are no errors: they are outcomes.
///
/// Does not block: to start when seats are free never waits for another thread; to be queued takes one short lock,
/// for its time-out. Takes no memory once the engine has seen as many requests at a time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn apf_submit(
    engine: *const apf_engine,
    request: *const apf_request,
    queue: *mut apf_completions,
    user_data: u64,
    outcome: *mut apf_outcome,
) -> apf_status {
    guard("apf_submit", || {
        let place = writable(outcome)?;
        // SAFETY: the conventions of the header, here and below.
        let engine = unsafe { reference(engine)? };
        let queue = unsafe { queue_of(engine, queue)? };
        let request = unsafe { sized_request(request)? };
        let outcome = unsafe { request::read(request, |request| submit(engine, queue, user_data, request))? };
        unsafe { place.put(outcome) };
        Ok(())
    })
}

/// A request whose size is right.
///
/// # Safety
///
/// NULL, or valid for reads of its size for all of `'a`.
#[inline]
unsafe fn sized_request<'a>(request: *const apf_request) -> Checked<&'a apf_request> {
    if request.is_null() {
        return Err(APF_ERROR_NULL_ARGUMENT);
    }
    // SAFETY: the caller's promise; while there is one version of the structure, its size is that of all of it.
    if unsafe { (&raw const (*request).size).read() } != size_of::<apf_request>() {
        return Err(APF_ERROR_INVALID_ARGUMENT);
    }
    // SAFETY: the caller's promise.
    unsafe { reference(request) }
}

/// As apf_submit(), for a host with a classification of its own: level, flow and seats.
///
/// APF_ERROR_LEVEL: there is no level of this number, or it has been removed: find it again. In the statistics such
/// requests belong to a FlowSchema called `(host)`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn apf_submit_classified(
    engine: *const apf_engine,
    request: *const apf_classified_request,
    queue: *mut apf_completions,
    user_data: u64,
    outcome: *mut apf_outcome,
) -> apf_status {
    guard("apf_submit_classified", || {
        let place = writable(outcome)?;
        // SAFETY: the conventions of the header, here and below.
        let engine = unsafe { reference(engine)? };
        let queue = unsafe { queue_of(engine, queue)? };
        let request =
            unsafe { sized(request, size_of::<apf_classified_request>(), apf_classified_request::DEFAULT)? };
        let outcome = submit_classified(engine, queue, user_data, &request)?;
        unsafe { place.put(outcome) };
        Ok(())
    })
}

/// Submits `count` requests in their order, as as many calls of apf_submit() would, but with one look at the
/// configuration and one at the clock.
///
/// `user_data`: `count` of them, or NULL for zeros. `outcomes`: places for `count` of them. `done`: how many were
/// submitted; written in any case. At the first request that cannot be submitted it stops, and answers with that error;
/// the requests before it are in the system, and their outcomes are written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn apf_submit_batch(
    engine: *const apf_engine,
    requests: *const apf_request,
    count: usize,
    queue: *mut apf_completions,
    user_data: *const u64,
    outcomes: *mut apf_outcome,
    done: *mut usize,
) -> apf_status {
    guard("apf_submit_batch", || {
        // SAFETY: the conventions of the header, here and below.
        unsafe {
            batch(done, outcomes, user_data, requests, count, |request, user_data| {
                let engine = reference(engine)?;
                let queue = queue_of(engine, queue)?;
                let request = sized_request(request)?;
                request::read(request, |request| submit(engine, queue, user_data, request))
            })
        }
    })
}

/// As apf_submit_batch(), for requests that the host has classified.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn apf_submit_classified_batch(
    engine: *const apf_engine,
    requests: *const apf_classified_request,
    count: usize,
    queue: *mut apf_completions,
    user_data: *const u64,
    outcomes: *mut apf_outcome,
    done: *mut usize,
) -> apf_status {
    guard("apf_submit_classified_batch", || {
        // SAFETY: the conventions of the header, here and below.
        unsafe {
            batch(done, outcomes, user_data, requests, count, |request, user_data| {
                let engine = reference(engine)?;
                let queue = queue_of(engine, queue)?;
                let request =
                    sized(request, size_of::<apf_classified_request>(), apf_classified_request::DEFAULT)?;
                submit_classified(engine, queue, user_data, &request)
            })
        }
    })
}

/// Runs `each` on every request of a batch, until one fails.
///
/// # Safety
///
/// The pointers are NULL, or valid for as many elements as the header says.
unsafe fn batch<T>(
    done: *mut usize,
    outcomes: *mut apf_outcome,
    user_data: *const u64,
    requests: *const T,
    count: usize,
    mut each: impl FnMut(*const T, u64) -> Checked<apf_outcome>,
) -> Checked<()> {
    // SAFETY: the caller's promise, here and below.
    unsafe { writable(done)?.put(0) };
    let requests = unsafe { array(requests, count)? };
    let user_data = if user_data.is_null() { &[] } else { unsafe { array(user_data, count)? } };
    let places = unsafe { crate::pointers::places(outcomes, count)? };
    for (at, (request, place)) in requests.iter().zip(places).enumerate() {
        place.write(each(request, user_data.get(at).copied().unwrap_or(0))?);
        unsafe { writable(done)?.put(at + 1) };
    }
    Ok(())
}

/// Admits a request, blocking the thread while it waits in its queue: for at most `timeout_ns` nanoseconds
/// (APF_NO_LIMIT: for as long as its level and the request itself allow). The outcome is admitted or rejected.
///
/// Errors as in apf_submit(). Blocks. With a manual clock time-outs are in its time, and another thread must move it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn apf_admit(
    engine: *const apf_engine,
    request: *const apf_request,
    timeout_ns: u64,
    outcome: *mut apf_outcome,
) -> apf_status {
    guard("apf_admit", || {
        let place = writable(outcome)?;
        // SAFETY: the conventions of the header, here and below.
        let engine = unsafe { reference(engine)? };
        let request = unsafe { sized_request(request)? };
        let admit = |request: apf::Request<'_>| {
            let own = request.wait_limit.unwrap_or(Duration::MAX);
            let request = apf::Request {
                wait_limit: Some(wait_limit(timeout_ns).unwrap_or(Duration::MAX).min(own)),
                ..request
            };
            match engine.dispatcher_for_slots().admit_blocking(request) {
                Ok(permit) => admitted(engine, permit),
                Err(error) => refused(&error),
            }
        };
        let outcome = unsafe { request::read(request, admit)? };
        unsafe { place.put(outcome) };
        Ok(())
    })
}

/// Ends a request that waits, or whose completion has not been taken: it holds nothing any more, no completion of it
/// will be taken, and its ticket is void.
///
/// APF_ERROR_ALREADY_ADMITTED: it runs; finish it. APF_ERROR_STALE_TICKET: it is over. Does not block.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn apf_cancel(engine: *const apf_engine, ticket: apf_ticket) -> apf_status {
    guard("apf_cancel", || {
        // SAFETY: the conventions of the header.
        unsafe { reference(engine)? }.cancel(ticket)
    })
}

/// Ends a request that runs: its seats come back, now or after its additional latency, and its ticket is void.
///
/// APF_ERROR_NOT_ADMITTED: it waits, or its completion has not been taken. APF_ERROR_STALE_TICKET: it is over.
/// Does not block. Callbacks for requests that are granted by it run within it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn apf_finish(engine: *const apf_engine, ticket: apf_ticket) -> apf_status {
    guard("apf_finish", || {
        // SAFETY: the conventions of the header.
        unsafe { reference(engine)? }.finish(ticket)
    })
}

/// Gives the seats of a running request back although it goes on: for watches, whose cost ends with their
/// initialisation. Its ticket stays, and is to be finished when it ends.
///
/// APF_ERROR_ALREADY_RELEASED: it has given them back. Otherwise as apf_finish().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn apf_finish_early(engine: *const apf_engine, ticket: apf_ticket) -> apf_status {
    guard("apf_finish_early", || {
        // SAFETY: the conventions of the header.
        unsafe { reference(engine)? }.finish_early(ticket)
    })
}

/// Ends `count` running requests in their order, as as many calls of apf_finish() would, but with one look at the clock.
///
/// `done`: how many were ended; written in any case. At the first ticket that cannot be finished it stops, and answers
/// with that error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn apf_finish_batch(
    engine: *const apf_engine,
    tickets: *const apf_ticket,
    count: usize,
    done: *mut usize,
) -> apf_status {
    guard("apf_finish_batch", || {
        // SAFETY: the conventions of the header, here and below.
        unsafe { writable(done)?.put(0) };
        let engine = unsafe { reference(engine)? };
        for (at, ticket) in unsafe { array(tickets, count)? }.iter().enumerate() {
            engine.finish(*ticket)?;
            unsafe { writable(done)?.put(at + 1) };
        }
        Ok(())
    })
}

impl apf_completions {
    /// A count of a queue that the host has.
    fn counted(&self) -> Arc<Self> {
        // SAFETY: every queue is made in an `Arc`, whose count the host holds during the call.
        unsafe {
            Arc::increment_strong_count(self);
            Arc::from_raw(self)
        }
    }
}
