//! Fetching memory ahead of its use.
//!
//! The state of 100,000 flows fits no cache, and each packet is of another flow than the one before, so that a
//! processor waits for memory several times a packet. Which packets come next is known, though: what they will need
//! can be on its way meanwhile. It is a hint, and changes no result.

#![allow(unsafe_code)]

const LINE_BYTES: usize = 64;

/// Asks for all of a value.
#[inline(always)]
pub fn fetch<T>(value: &T) {
    let start = core::ptr::from_ref(value).cast::<u8>();
    for offset in (0..size_of::<T>()).step_by(LINE_BYTES) {
        fetch_line(start.wrapping_add(offset));
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn fetch_line(place: *const u8) {
    use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: the instruction faults at no address, and nothing depends on what is there.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(place.cast()) }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn fetch_line(_: *const u8) {}
