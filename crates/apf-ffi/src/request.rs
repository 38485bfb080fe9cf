//! From the C form of a request to the engine's, without copying texts.

#![allow(unsafe_code, reason = "texts from C")]

use std::time::Duration;

use apf::config::attributes::{Groups, Resource, Target};
use apf::config::request_info::RequestInfo;
use apf::{Classified, Request, RequestAttributes, WorkEstimate};

use crate::pointers::{Checked, array, text};
use crate::status::apf_status::*;
use crate::types::{APF_NO_LIMIT, apf_request, apf_str};

/// Groups up to this number are read without memory from the heap.
const FEW_GROUPS: usize = 4;
const MANY_GROUPS: usize = 128;

pub(crate) fn wait_limit(nanoseconds: u64) -> Option<Duration> {
    (nanoseconds != APF_NO_LIMIT).then(|| Duration::from_nanos(nanoseconds))
}

pub(crate) fn work(request: &apf_request) -> WorkEstimate {
    WorkEstimate {
        initial_seats: request.initial_seats,
        final_seats: request.final_seats,
        additional_latency: request.additional_latency_ns,
    }
}

impl apf_request {
    /// Whether the two are described by the same texts in memory, and so belong to the same flow.
    pub(crate) fn asks_the_same(&self, other: &Self) -> bool {
        let texts = |request: &Self| {
            [
                request.user,
                request.verb,
                request.url,
                request.path,
                request.resource,
                request.subresource,
                request.api_group,
                request.api_version,
                request.object_namespace,
                request.object_name,
            ]
            .map(|text| (text.data, text.len))
        };
        (self.groups, self.group_count) == (other.groups, other.group_count) && texts(self) == texts(other)
    }
}

/// Kinds of requests of a batch whose classifications are kept.
const KINDS: usize = 16;

/// The classifications of the requests of a batch, as far as they are described by the same texts in memory.
#[derive(Default)]
pub(crate) struct Seen<'a> {
    kinds: [(Option<&'a apf_request>, Classified); KINDS],
}

impl<'a> Seen<'a> {
    /// Where the classification of a request and of others like it is kept.
    pub(crate) fn kept(&mut self, request: &'a apf_request) -> &Classified {
        let texts =
            [request.user.data, request.verb.data, request.resource.data, request.object_namespace.data];
        // Addresses differ most in their lower and middle bits; an odd factor each carries them to the top.
        let mixed = texts.iter().fold(request.groups.addr(), |mixed, text| {
            (mixed ^ text.addr()).wrapping_mul(0x9e37_79b9_7f4a_7c15_u64 as usize)
        });
        let place = mixed >> (usize::BITS - KINDS.ilog2());
        let (kind, kept) = &mut self.kinds[place % KINDS];
        if !kind.is_some_and(|kind| kind.asks_the_same(request)) {
            (*kind, *kept) = (Some(request), Classified::new());
        }
        kept
    }
}

/// Runs `with` on the engine's form of a request.
///
/// # Safety
///
/// The texts of the request are valid during the call.
#[inline(always)]
pub(crate) unsafe fn read<R>(
    request: &apf_request,
    with: impl FnOnce(&Request<'_>) -> Checked<R>,
) -> Checked<R> {
    // SAFETY: the caller's promise.
    let groups = unsafe { array(request.groups, request.group_count)? };
    if let [] | [_] | [_, _] | [_, _, _] | [_, _, _, _] = groups {
        let mut texts = [""; FEW_GROUPS];
        for (group, place) in groups.iter().zip(&mut texts) {
            // SAFETY: as above.
            *place = unsafe { text(*group)? };
        }
        let texts = texts.get(..groups.len()).unwrap_or_default();
        // SAFETY: as above.
        return unsafe { read_with(request, texts, with) };
    }
    // SAFETY: as above.
    unsafe { read_many_groups(request, groups, with) }
}

/// # Safety
///
/// As [`read`].
#[cold]
unsafe fn read_many_groups<R>(
    request: &apf_request,
    groups: &[apf_str],
    with: impl FnOnce(&Request<'_>) -> Checked<R>,
) -> Checked<R> {
    let (mut many, mut more);
    let texts = if let Some(rest) = MANY_GROUPS.checked_sub(groups.len()) {
        many = [""; MANY_GROUPS];
        let used = MANY_GROUPS - rest;
        many.get_mut(..used).unwrap_or_default()
    } else {
        more = Vec::new();
        more.try_reserve_exact(groups.len()).map_err(|_| APF_ERROR_OUT_OF_MEMORY)?;
        more.resize(groups.len(), "");
        &mut more
    };
    for (group, place) in groups.iter().zip(&mut *texts) {
        // SAFETY: the caller's promise.
        *place = unsafe { text(*group)? };
    }
    // SAFETY: as above.
    unsafe { read_with(request, texts, with) }
}

/// # Safety
///
/// As [`read`].
#[inline(always)]
unsafe fn read_with<R>(
    request: &apf_request,
    groups: &[&str],
    with: impl FnOnce(&Request<'_>) -> Checked<R>,
) -> Checked<R> {
    // SAFETY: the caller's promise.
    let (user, verb) = unsafe { (text(request.user)?, text(request.verb)?) };
    let info;
    let target = if request.resource.len != 0 {
        if request.path.len | request.url.len != 0 {
            return Err(APF_ERROR_REQUEST);
        }
        // SAFETY: as above.
        unsafe {
            Target::Resource(Resource {
                api_group: text(request.api_group)?,
                api_version: text(request.api_version)?,
                resource: text(request.resource)?,
                subresource: text(request.subresource)?,
                namespace: text(request.object_namespace)?,
                name: text(request.object_name)?,
            })
        }
    } else if request.path.len != 0 {
        if request.url.len != 0 {
            return Err(APF_ERROR_REQUEST);
        }
        // SAFETY: as above.
        Target::NonResource { path: unsafe { text(request.path)? } }
    } else if request.url.len != 0 {
        // SAFETY: as above.
        let url = unsafe { text(request.url)? };
        info = RequestInfo::new(verb, url).map_err(|_| APF_ERROR_REQUEST)?;
        let attributes = info.attributes(user, groups);
        return with(&asked(request, attributes));
    } else {
        return Err(APF_ERROR_REQUEST);
    };
    with(&asked(request, RequestAttributes { user, groups: Groups::Borrowed(groups), verb, target }))
}

#[inline(always)]
fn asked<'a>(request: &apf_request, attributes: RequestAttributes<'a>) -> Request<'a> {
    Request {
        attributes,
        work: work(request),
        wait_limit: wait_limit(request.wait_limit_ns),
        classified: None,
    }
}
