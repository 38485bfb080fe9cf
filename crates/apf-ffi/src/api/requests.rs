//! The way of a request.

#![allow(unsafe_code, reason = "exported functions")]

use std::mem::MaybeUninit;
use std::time::Duration;

use apf::{Admit, AdmitError, Permit, Preclassified, Submitted, WorkEstimate};

use crate::completions::apf_completions;
use crate::engine::apf_engine;
use crate::guard::guard;
use crate::outcome;
use crate::pointers::{Checked, array, places, reference, sized, writable};
use crate::request::{self, Seen, wait_limit};
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

/// Where an outcome goes.
type Place<'a> = &'a mut MaybeUninit<apf_outcome>;

/// A permit goes into a slot, and its ticket to the host.
#[inline(always)]
fn keep(mut claim: Claim<'_>, permit: Permit<'static>, place: Place<'_>) {
    place.write(outcome::admitted(claim.slot.ticket(claim.generation), &permit));
    claim.body().permit = Some(permit);
    claim.leave(Phase::Running);
}

fn refused(error: &AdmitError, place: Place<'_>) -> Checked<()> {
    match outcome::refused(error) {
        (APF_OK, outcome) => {
            place.write(outcome);
            Ok(())
        }
        (status, _) => Err(status),
    }
}

/// A request has been given to the dispatcher: its outcome is put into its place.
#[inline(always)]
fn entered(
    engine: &apf_engine,
    queue: Option<&apf_completions>,
    user_data: u64,
    submitted: Submitted<'static>,
    place: Place<'_>,
) -> Checked<()> {
    match submitted {
        Submitted::Admitted(permit) => {
            // Should there be no slot, the permit is dropped: the request ends.
            keep(engine.take_slot().ok_or(APF_ERROR_OUT_OF_MEMORY)?, permit, place);
            Ok(())
        }
        Submitted::Refused(error) => refused(&error, place),
        Submitted::Waits(waiting) => wait(engine, queue, user_data, waiting, place),
    }
}

#[cold]
fn wait(
    engine: &apf_engine,
    queue: Option<&apf_completions>,
    user_data: u64,
    admit: Admit<'static>,
    place: Place<'_>,
) -> Checked<()> {
    // A request that may not wait does not get here. Should there be no slot, the future is dropped: it gives its place up.
    let queue = queue.ok_or(APF_ERROR_OUT_OF_MEMORY)?;
    let mut claim = engine.take_slot().ok_or(APF_ERROR_OUT_OF_MEMORY)?;
    let ticket = claim.slot.ticket(claim.generation);
    let body = claim.body();
    body.holding = Holding::Future(admit);
    body.queue = queue.counted();
    body.user_data = user_data;
    body.time = engine.now();
    match waiting::begin(claim) {
        Begun::Waiting => {
            place.write(outcome::queued(ticket));
            Ok(())
        }
        Begun::Decided(mut claim, decided) => {
            claim.body().queue = None;
            match decided {
                Ok(permit) => {
                    keep(claim, permit, place);
                    Ok(())
                }
                Err(error) => refused(&error, place),
            }
        }
    }
}

fn classified(request: &apf_classified_request) -> Preclassified {
    Preclassified {
        level: request.level,
        flow_hash: request.flow_hash,
        work: WorkEstimate {
            initial_seats: request.initial_seats,
            final_seats: request.final_seats,
            additional_latency: request.additional_latency_ns,
        },
        wait_limit: wait_limit(request.wait_limit_ns),
    }
}

/// A classified request whose size is right.
///
/// # Safety
///
/// NULL, or valid for reads of its size.
unsafe fn sized_classified(request: *const apf_classified_request) -> Checked<apf_classified_request> {
    // SAFETY: the caller's promise; all fields are numbers.
    unsafe { sized(request, size_of::<apf_classified_request>(), apf_classified_request::DEFAULT) }
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
        // SAFETY: the conventions of the header.
        let place = unsafe { place_of(outcome)? };
        // SAFETY: as above.
        let engine = unsafe { reference(engine)? };
        // SAFETY: as above.
        let queue = unsafe { queue_of(engine, queue)? };
        // SAFETY: as above.
        let request = unsafe { sized_request(request)? };
        let submit = |request: &apf::Request<'_>| {
            let submitted = engine.dispatcher_for_slots().submit(request, queue.is_some());
            entered(engine, queue, user_data, submitted, place)
        };
        // SAFETY: as above.
        unsafe { request::read(request, submit) }
    })
}

/// Where the outcome goes.
///
/// # Safety
///
/// NULL, or valid for a write of an outcome for all of `'a`.
unsafe fn place_of<'a>(outcome: *mut apf_outcome) -> Checked<Place<'a>> {
    // SAFETY: the caller's promise; a place that may not hold anything yet is one for `MaybeUninit`.
    unsafe { outcome.cast::<MaybeUninit<apf_outcome>>().as_mut() }.ok_or(APF_ERROR_NULL_ARGUMENT)
}

fn check_size(size: usize) -> Checked<()> {
    // While there is one version of the structure, its size is that of all of it.
    if size == size_of::<apf_request>() { Ok(()) } else { Err(APF_ERROR_INVALID_ARGUMENT) }
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
    // SAFETY: the caller's promise.
    check_size(unsafe { (&raw const (*request).size).read() })?;
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
        // SAFETY: the conventions of the header.
        let place = unsafe { place_of(outcome)? };
        // SAFETY: as above.
        let engine = unsafe { reference(engine)? };
        // SAFETY: as above.
        let queue = unsafe { queue_of(engine, queue)? };
        // SAFETY: as above.
        let request = classified(&unsafe { sized_classified(request)? });
        let submitted = engine.dispatcher_for_slots().submit_preclassified(&request, queue.is_some());
        entered(engine, queue, user_data, submitted.ok_or(APF_ERROR_LEVEL)?, place)
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
        // SAFETY: the conventions of the header.
        let mut rows = unsafe { Rows::new(outcomes, user_data, count, done)? };
        // SAFETY: as above.
        let engine = unsafe { reference(engine)? };
        // SAFETY: as above.
        let queue = unsafe { queue_of(engine, queue)? };
        // SAFETY: as above.
        let requests = unsafe { array(requests, count)? };
        let mut batch = engine.dispatcher_for_slots().batch();
        let mut seen = Seen::default();
        let mut rest = requests.iter();
        while let Some(first) = rest.as_slice().first() {
            // Requests in a row that ask for the same are read once, and those of a few kinds classified once.
            let alike = rest.as_slice().iter().take_while(|next| first.asks_the_same(next)).count();
            let kept = seen.kept(first);
            let run = |read: &apf::Request<'_>| {
                for request in rest.by_ref().take(alike.max(1)) {
                    check_size(request.size)?;
                    let request = apf::Request {
                        work: request::work(request),
                        wait_limit: wait_limit(request.wait_limit_ns),
                        classified: Some(kept),
                        ..*read
                    };
                    rows.next(|place, user_data| {
                        let submitted = batch.submit(&request, queue.is_some());
                        entered(engine, queue, user_data, submitted, place)
                    })?;
                }
                Ok(())
            };
            check_size(first.size)?;
            // SAFETY: as above.
            unsafe { request::read(first, run)? };
        }
        Ok(())
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
        // SAFETY: the conventions of the header.
        let mut rows = unsafe { Rows::new(outcomes, user_data, count, done)? };
        // SAFETY: as above.
        let engine = unsafe { reference(engine)? };
        // SAFETY: as above.
        let queue = unsafe { queue_of(engine, queue)? };
        // SAFETY: as above.
        let requests = unsafe { array(requests, count)? };
        let mut batch = engine.dispatcher_for_slots().batch();
        for request in requests {
            // SAFETY: as above.
            let request = classified(&unsafe { sized_classified(request)? });
            rows.next(|place, user_data| {
                let submitted = batch.submit_preclassified(&request, queue.is_some());
                entered(engine, queue, user_data, submitted.ok_or(APF_ERROR_LEVEL)?, place)
            })?;
        }
        Ok(())
    })
}

/// The outputs of a batch, one after the other.
struct Rows<'a> {
    places: std::slice::IterMut<'a, MaybeUninit<apf_outcome>>,
    user_data: std::slice::Iter<'a, u64>,
    done: *mut usize,
    count: usize,
}

impl Rows<'_> {
    /// # Safety
    ///
    /// The pointers are NULL, or valid for as many elements as the header says during the call.
    unsafe fn new(
        outcomes: *mut apf_outcome,
        user_data: *const u64,
        count: usize,
        done: *mut usize,
    ) -> Checked<Self> {
        // SAFETY: the caller's promise.
        unsafe { writable(done)?.put(0) };
        // SAFETY: as above.
        let user_data = if user_data.is_null() { &[] } else { unsafe { array(user_data, count)? } };
        // SAFETY: as above.
        let places = unsafe { places(outcomes, count)? }.iter_mut();
        Ok(Self { places, user_data: user_data.iter(), done, count: 0 })
    }

    /// Fills the next place.
    #[inline(always)]
    fn next(&mut self, fill: impl FnOnce(Place<'_>, u64) -> Checked<()>) -> Checked<()> {
        let place = self.places.next().ok_or(APF_ERROR_INVALID_ARGUMENT)?;
        fill(place, self.user_data.next().copied().unwrap_or(0))?;
        self.count += 1;
        Ok(())
    }
}

impl Drop for Rows<'_> {
    fn drop(&mut self) {
        // SAFETY: `new` has written there by its caller's promise.
        unsafe { self.done.write(self.count) };
    }
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
        // SAFETY: the conventions of the header.
        let place = unsafe { place_of(outcome)? };
        // SAFETY: as above.
        let engine = unsafe { reference(engine)? };
        // SAFETY: as above.
        let request = unsafe { sized_request(request)? };
        let admit = |request: &apf::Request<'_>| {
            let own = request.wait_limit.unwrap_or(Duration::MAX);
            let request = apf::Request {
                wait_limit: Some(wait_limit(timeout_ns).unwrap_or(Duration::MAX).min(own)),
                ..*request
            };
            let submitted = match engine.dispatcher_for_slots().admit_blocking(request) {
                Ok(permit) => Submitted::Admitted(permit),
                Err(error) => Submitted::Refused(error),
            };
            entered(engine, None, 0, submitted, place)
        };
        // SAFETY: as above.
        unsafe { request::read(request, admit) }
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
        // SAFETY: the conventions of the header.
        unsafe { writable(done)?.put(0) };
        // SAFETY: as above.
        let engine = unsafe { reference(engine)? };
        // SAFETY: as above.
        let tickets = unsafe { array(tickets, count)? };
        let mut batch = engine.dispatcher_for_slots().batch();
        let mut ended = 0;
        let mut end = |ticket: &apf_ticket| {
            if let Some(permit) = engine.claim_running(*ticket)?.end() {
                batch.finish(permit);
            }
            ended += 1;
            Ok(())
        };
        let result = tickets.iter().try_for_each(&mut end);
        // SAFETY: as above.
        unsafe { writable(done)?.put(ended) };
        result
    })
}
