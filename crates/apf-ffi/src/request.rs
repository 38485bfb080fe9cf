//! From the C form of a request to the engine's, without copying texts.

#![allow(unsafe_code, reason = "texts from C")]

use std::time::Duration;

use apf::config::attributes::{Groups, Resource, Target};
use apf::config::request_info::RequestInfo;
use apf::{Request, RequestAttributes, WorkEstimate};

use crate::pointers::{Checked, array, text};
use crate::status::apf_status::*;
use crate::types::{APF_NO_LIMIT, apf_request, apf_str};

/// Groups up to this number are read without memory from the heap.
const FEW_GROUPS: usize = 8;
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

/// Runs `with` on the engine's form of a request.
///
/// # Safety
///
/// The texts of the request are valid during the call.
#[inline]
pub(crate) unsafe fn read<R>(
    request: &apf_request,
    with: impl FnOnce(Request<'_>) -> Checked<R>,
) -> Checked<R> {
    // SAFETY: the caller's promise.
    let groups = unsafe { array(request.groups, request.group_count)? };
    match groups.len() {
        0..=FEW_GROUPS => {
            let mut texts = [""; FEW_GROUPS];
            let texts = texts.get_mut(..groups.len()).unwrap_or_default();
            // SAFETY: as above.
            unsafe { fill(groups, texts)? };
            // SAFETY: as above.
            unsafe { read_with(request, Groups::Borrowed(texts), with) }
        }
        len if len <= MANY_GROUPS => {
            let mut texts = [""; MANY_GROUPS];
            let texts = texts.get_mut(..len).unwrap_or_default();
            // SAFETY: as above.
            unsafe { fill(groups, texts)? };
            // SAFETY: as above.
            unsafe { read_with(request, Groups::Borrowed(texts), with) }
        }
        len => {
            let mut texts = Vec::new();
            texts.try_reserve_exact(len).map_err(|_| APF_ERROR_OUT_OF_MEMORY)?;
            texts.resize(len, "");
            // SAFETY: as above.
            unsafe { fill(groups, &mut texts)? };
            // SAFETY: as above.
            unsafe { read_with(request, Groups::Borrowed(&texts), with) }
        }
    }
}

/// # Safety
///
/// As [`read`].
#[inline]
unsafe fn fill<'a>(groups: &'a [apf_str], texts: &mut [&'a str]) -> Checked<()> {
    for (group, place) in groups.iter().zip(texts) {
        // SAFETY: the caller's promise.
        *place = unsafe { text(*group)? };
    }
    Ok(())
}

/// # Safety
///
/// As [`read`].
#[inline]
unsafe fn read_with<R>(
    request: &apf_request,
    groups: Groups<'_>,
    with: impl FnOnce(Request<'_>) -> Checked<R>,
) -> Checked<R> {
    let read = |attributes| {
        with(Request {
            wait_limit: wait_limit(request.wait_limit_ns),
            ..Request::from(attributes).with_work(work(request))
        })
    };
    // SAFETY: the caller's promise.
    let (user, verb) = unsafe { (text(request.user)?, text(request.verb)?) };
    let forms = [request.resource.len, request.path.len, request.url.len];
    match forms.map(|len| len != 0) {
        // SAFETY: as above.
        [true, false, false] => unsafe {
            let target = Target::Resource(Resource {
                api_group: text(request.api_group)?,
                api_version: text(request.api_version)?,
                resource: text(request.resource)?,
                subresource: text(request.subresource)?,
                namespace: text(request.object_namespace)?,
                name: text(request.object_name)?,
            });
            read(RequestAttributes { user, groups, verb, target })
        },
        [false, true, false] => {
            // SAFETY: as above.
            let path = unsafe { text(request.path)? };
            read(RequestAttributes { user, groups, verb, target: Target::NonResource { path } })
        }
        [false, false, true] => {
            // SAFETY: as above.
            let url = unsafe { text(request.url)? };
            let info = RequestInfo::new(verb, url).map_err(|_| APF_ERROR_REQUEST)?;
            read(info.attributes(user, groups))
        }
        _ => Err(APF_ERROR_REQUEST),
    }
}
