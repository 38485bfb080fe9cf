//! The one place where pointers from C become references, slices and texts.
//!
//! What cannot be checked is promised by the caller, in the conventions of the header: a pointer that is not NULL
//! points to what its type says, for as long as the call takes; nobody else writes there meanwhile.

#![allow(unsafe_code, reason = "pointers from C")]

use std::mem::MaybeUninit;

use crate::status::apf_status::{self, *};
use crate::types::apf_str;

/// What a step of an entry point gives.
pub(crate) type Checked<T> = Result<T, apf_status>;

/// A reference to what a pointer points to.
///
/// # Safety
///
/// NULL, or valid for reads of a `T` for all of `'a`, and aligned.
pub(crate) unsafe fn reference<'a, T>(pointer: *const T) -> Checked<&'a T> {
    // SAFETY: the caller's promise; NULL is answered by `None`.
    unsafe { pointer.as_ref() }.ok_or(APF_ERROR_NULL_ARGUMENT)
}

/// Whether a result can be written there, before anything is done.
pub(crate) fn writable<T>(pointer: *mut T) -> Checked<Out<T>> {
    if pointer.is_null() { Err(APF_ERROR_NULL_ARGUMENT) } else { Ok(Out(pointer)) }
}

/// A place for a result that is not NULL.
#[derive(Debug)]
pub(crate) struct Out<T>(*mut T);

impl<T> Out<T> {
    /// Writes the result.
    ///
    /// # Safety
    ///
    /// The pointer is valid for a write of a `T`, and aligned.
    pub(crate) unsafe fn put(self, value: T) {
        // SAFETY: the caller's promise.
        unsafe { self.0.write(value) };
    }
}

/// The elements of an array.
///
/// # Safety
///
/// NULL, or valid for reads of `len` elements for all of `'a`, and aligned.
pub(crate) unsafe fn array<'a, T>(data: *const T, len: usize) -> Checked<&'a [T]> {
    if len == 0 {
        return Ok(&[]);
    }
    if data.is_null() {
        return Err(APF_ERROR_NULL_ARGUMENT);
    }
    if len > isize::MAX as usize / size_of::<T>().max(1) {
        return Err(APF_ERROR_INVALID_ARGUMENT);
    }
    // SAFETY: not null, valid for `len` reads by the caller's promise, and no longer than memory.
    Ok(unsafe { std::slice::from_raw_parts(data, len) })
}

/// The places of an array to be filled.
///
/// # Safety
///
/// NULL, or valid for writes of `len` elements for all of `'a`, and aligned.
pub(crate) unsafe fn places<'a, T>(data: *mut T, len: usize) -> Checked<&'a mut [MaybeUninit<T>]> {
    if len == 0 {
        return Ok(&mut []);
    }
    if data.is_null() {
        return Err(APF_ERROR_NULL_ARGUMENT);
    }
    if len > isize::MAX as usize / size_of::<T>().max(1) {
        return Err(APF_ERROR_INVALID_ARGUMENT);
    }
    // SAFETY: not null, valid for `len` writes by the caller's promise, and no longer than memory; nothing is read.
    Ok(unsafe { std::slice::from_raw_parts_mut(data.cast(), len) })
}

/// A text.
///
/// # Safety
///
/// `data` is NULL, or valid for reads of `len` bytes for all of `'a`.
#[inline(always)]
pub(crate) unsafe fn text<'a>(text: apf_str) -> Checked<&'a str> {
    if text.len == 0 {
        return Ok("");
    }
    // SAFETY: the caller's promise.
    let bytes = unsafe { array(text.data.cast::<u8>(), text.len)? };
    if is_ascii(bytes) {
        // SAFETY: ASCII is UTF-8.
        return Ok(unsafe { std::str::from_utf8_unchecked(bytes) });
    }
    not_ascii(bytes)
}

#[cold]
fn not_ascii(bytes: &[u8]) -> Checked<&str> {
    std::str::from_utf8(bytes).map_err(|_| APF_ERROR_UTF8)
}

/// As the standard one, for texts that are a few words long at most.
#[inline(always)]
fn is_ascii(bytes: &[u8]) -> bool {
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let bits = if let (Some(first), Some(last)) = (bytes.first_chunk::<8>(), bytes.last_chunk::<8>()) {
        let mut bits = u64::from_ne_bytes(*first) | u64::from_ne_bytes(*last);
        for chunk in bytes.as_chunks::<8>().0 {
            bits |= u64::from_ne_bytes(*chunk);
        }
        bits
    } else if let (Some(first), Some(last)) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        u64::from(u32::from_ne_bytes(*first) | u32::from_ne_bytes(*last))
    } else {
        bytes.iter().fold(0, |bits, byte| bits | u64::from(*byte))
    };
    bits & HIGH == 0
}

/// A structure whose first field is its size: what the caller has of it, over the defaults for what a caller of an
/// earlier version does not have.
///
/// # Safety
///
/// NULL, or points to an aligned `usize` and that many bytes of a `T`, of which every bit pattern is a value.
pub(crate) unsafe fn sized<T: Sized>(pointer: *const T, oldest: usize, defaults: T) -> Checked<T> {
    if pointer.is_null() {
        return Err(APF_ERROR_NULL_ARGUMENT);
    }
    // SAFETY: it begins with its size by the caller's promise.
    let size = unsafe { pointer.cast::<usize>().read() };
    if size < oldest || size > size_of::<T>() {
        return Err(APF_ERROR_INVALID_ARGUMENT);
    }
    let mut whole = defaults;
    // SAFETY: `size` bytes are there by the caller's promise, and `whole` has at least as many.
    unsafe { std::ptr::copy_nonoverlapping(pointer.cast::<u8>(), (&raw mut whole).cast::<u8>(), size) };
    Ok(whole)
}

/// Fills a structure whose first field is its size, as far as the caller has it.
///
/// # Safety
///
/// NULL, or points to an aligned `usize` and is valid for writes of that many bytes.
pub(crate) unsafe fn put_sized<T: Copy>(pointer: *mut T, oldest: usize, value: T) -> Checked<()> {
    if pointer.is_null() {
        return Err(APF_ERROR_NULL_ARGUMENT);
    }
    // SAFETY: it begins with its size by the caller's promise.
    let size = unsafe { pointer.cast::<usize>().read() };
    if size < oldest || size > size_of::<T>() {
        return Err(APF_ERROR_INVALID_ARGUMENT);
    }
    // SAFETY: `size` bytes are there by the caller's promise; the value's own first field is not to replace the caller's.
    unsafe {
        let head = size_of::<usize>();
        let from = (&raw const value).cast::<u8>().add(head);
        std::ptr::copy_nonoverlapping(from, pointer.cast::<u8>().add(head), size - head);
    }
    Ok(())
}

/// A text to hand out, which lives as long as `text` does.
pub(crate) fn lend(text: &str) -> apf_str {
    apf_str { data: text.as_ptr().cast(), len: text.len() }
}
