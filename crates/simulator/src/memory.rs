//! What a large network asks of the machine's memory, beyond room. It changes nothing but how long things take.
//!
//! What such a network is kept in fits no cache, and what an event needs next follows from what it has just got:
//! the processor would wait for each line of it, one after the other. Which packets come next is known, so
//! what they will need can be in transit meanwhile ([`prefetch`]). And since it looks all over that memory, where a
//! page of it lies takes the processor as long to find as what is there; large pages are few ([`large_list`]).
#![allow(unsafe_code)]

/// Bytes of a cache line.
const LINE: usize = 64;
/// Lists of so many bytes or more are kept in large pages, which have 2 MiB.
const LARGE: usize = 1 << 23;

/// Asks for the memory that something lies in.
#[inline(always)]
pub fn prefetch<T>(thing: &T) {
    prefetch_within(thing, 0, size_of::<T>());
}

/// Asks for so many bytes of something, from an offset on.
#[inline(always)]
pub fn prefetch_within<T>(thing: &T, offset: usize, bytes: usize) {
    let first = core::ptr::from_ref(thing).cast::<u8>().wrapping_add(offset);
    for line in (0..bytes).step_by(LINE) {
        prefetch_line(first.wrapping_add(line));
    }
    // It need not begin where a line does.
    prefetch_line(first.wrapping_add(bytes.saturating_sub(1)));
}

/// Asks for a line. Whatever the address is, nothing is read or written.
#[inline(always)]
fn prefetch_line(address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch is a hint. It may name any address, and has no effect but on caches.
    unsafe {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(address.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// A list of all these, in large pages if there are many.
pub fn large_list<T>(all: impl ExactSizeIterator<Item = T>) -> Vec<T> {
    let mut list = Vec::new();
    reserve_large(&mut list, all.len());
    list.extend(all);
    list
}

/// Makes room for exactly so many more, in large pages if that is much.
pub fn reserve_large<T>(list: &mut Vec<T>, more: usize) {
    list.reserve_exact(more);
    let room = list.capacity().saturating_mul(size_of::<T>());
    if room >= LARGE {
        ask_for_large_pages(list.as_mut_ptr().cast(), room);
    }
}

/// Asks for large pages wherever `bytes` from an address on fill them. Whether it gets them is up to the system.
#[cfg(target_os = "linux")]
fn ask_for_large_pages(address: *mut u8, bytes: usize) {
    // Whole pages of 4 KiB, or of what else a page is, up to 64 KiB.
    const PAGE: usize = 1 << 16;
    let before = address.align_offset(PAGE);
    let whole = bytes.saturating_sub(before) / PAGE * PAGE;
    // SAFETY: the pages lie within an allocation of ours, and the advice leaves what is in them as it is.
    // If the system has no large pages, it says so, which does not matter.
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
