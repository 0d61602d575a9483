//! Cache and page hints for large networks. They change nothing but speed.
//!
//! The state of a large network fits no cache, and the address of the next access depends on the last, so the processor
//! would wait for each line in turn. Since the next packets are known, their state can be fetched in advance
//! ([`prefetch`]). Accesses are spread over all of the memory, so that address translation takes as long as the access
//! itself; large pages reduce that ([`large_list`]).
#![allow(unsafe_code)]

use core::ops::Range;

/// Bytes of a cache line.
const LINE: usize = 64;
/// Lists of at least this many bytes use large pages, of 2 MiB.
const LARGE: usize = 1 << 21;

/// Prefetches the first cache line of a value.
#[inline(always)]
pub fn prefetch<T>(thing: &T) {
    prefetch_within(thing, 0..size_of::<T>());
}

/// Prefetches the lines of a range of bytes of a value.
#[inline(always)]
pub fn prefetch_within<T>(thing: &T, bytes: Range<usize>) {
    let all = core::ptr::from_ref(thing).cast::<u8>();
    if align_of::<T>() >= LINE.min(size_of::<T>()) {
        let lines = bytes.start / LINE..bytes.end.div_ceil(LINE);
        return lines.for_each(|line| prefetch_line(all.wrapping_add(line * LINE)));
    }
    // The range need not begin at a line.
    for line in bytes.clone().step_by(LINE) {
        prefetch_line(all.wrapping_add(line));
    }
    prefetch_line(all.wrapping_add(bytes.end.saturating_sub(1)));
}

/// Prefetches what follows a list, where its next element will be.
#[inline(always)]
pub fn prefetch_next<T>(list: &[T]) {
    prefetch_line(list.as_ptr_range().end.cast());
}

/// Prefetches a line. Any address is allowed, since nothing is read or written.
#[inline(always)]
fn prefetch_line(address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch is a hint. It may name any address, and affects only caches.
    unsafe {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(address.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// Collects a list, in large pages if it is large.
pub fn large_list<T>(all: impl ExactSizeIterator<Item = T>) -> Vec<T> {
    let mut list = Vec::new();
    reserve_large(&mut list, all.len());
    list.extend(all);
    list
}

/// Reserves capacity for exactly `more` further elements, in large pages if that is large.
pub fn reserve_large<T>(list: &mut Vec<T>, more: usize) {
    list.reserve_exact(more);
    let room = list.capacity().saturating_mul(size_of::<T>());
    if room >= LARGE {
        ask_for_large_pages(list.as_mut_ptr().cast(), room);
    }
}

/// Reserves capacity for another element. A long list grows by an eighth, to limit unused memory.
#[inline]
pub fn reserve_next<T>(list: &mut Vec<T>) {
    if list.len() == list.capacity() {
        list.reserve_exact((list.len() / 8).max(64));
    }
}

/// Requests large pages for the part of the range that they fill. The system may decline.
#[cfg(target_os = "linux")]
fn ask_for_large_pages(address: *mut u8, bytes: usize) {
    // A multiple of the page size, up to 64 KiB.
    const PAGE: usize = 1 << 16;
    let before = address.align_offset(PAGE);
    let whole = bytes.saturating_sub(before) / PAGE * PAGE;
    // SAFETY: the pages lie within our allocation, and the advice leaves their contents unchanged. A system without
    // large pages returns an error, which is ignored.
    unsafe {
        libc::madvise(address.wrapping_add(before).cast(), whole, libc::MADV_HUGEPAGE);
    }
}

#[cfg(not(target_os = "linux"))]
fn ask_for_large_pages(_: *mut u8, _: usize) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_list_is_as_any_other() {
        for count in [0, 10, LARGE / 8 + 12_345] {
            let mut list = large_list(0..count);
            assert!(list.iter().copied().eq(0..count));
            reserve_large(&mut list, count + 1);
            assert!(list.capacity() > 2 * count && list.iter().copied().eq(0..count));
            list.iter().for_each(prefetch);
        }
    }
}
