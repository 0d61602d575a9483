//! What WebAssembly's host calls: memory for a question, the answer, and why there is none.
//!
//! Nothing unwinds here. A panic leaves its sentence behind and traps; the host reads it with [`failure`] and drops the
//! instance. Memory that cannot be had is noted by the allocator, since nothing could be written down by then.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};

#[link(wasm_import_module = "page")]
unsafe extern "C" {
    /// The share of a run that is done.
    safe fn progress(share: f64);
}

thread_local! {
    static ANSWER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static FAILURE: RefCell<String> = const { RefCell::new(String::new()) };
}

static OUT_OF_MEMORY: AtomicBool = AtomicBool::new(false);

/// The system's allocator, which notes that it had nothing more to give.
struct Noting;

// SAFETY: all calls go on to the system's allocator as they are.
unsafe impl GlobalAlloc for Noting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        noted(unsafe { System.alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        noted(unsafe { System.alloc_zeroed(layout) })
    }

    unsafe fn realloc(&self, old: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as the caller promises.
        noted(unsafe { System.realloc(old, layout, size) })
    }

    unsafe fn dealloc(&self, old: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(old, layout) }
    }
}

fn noted(got: *mut u8) -> *mut u8 {
    if got.is_null() {
        OUT_OF_MEMORY.store(true, Ordering::Relaxed);
    }
    got
}

#[global_allocator]
static MEMORY: Noting = Noting;

/// Called once, before anything else.
#[unsafe(no_mangle)]
pub extern "C" fn start() {
    std::panic::set_hook(Box::new(|panic| {
        let message = panic.payload_as_str().unwrap_or("it stopped for an unknown reason");
        let place =
            panic.location().map_or(String::new(), |at| format!(" ({}:{})", at.file(), at.line()));
        FAILURE.with_borrow_mut(|failure| *failure = format!("{message}{place}"));
    }));
}

/// Room for a question, with its length in bytes. [`answer`] takes it back.
#[unsafe(no_mangle)]
pub extern "C" fn room(bytes: usize) -> *mut u8 {
    Box::into_raw(vec![0_u8; bytes].into_boxed_slice()).cast()
}

/// Answers the question in that room; where the answer is. It stays there until the next call.
///
/// # Safety
/// `question` is from [`room`], with the same number of bytes, and is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn answer(question: *mut u8, bytes: usize) -> *const u8 {
    // SAFETY: as the caller promises.
    let question = unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(question, bytes)) };
    let text = String::from_utf8_lossy(&question);
    let answer = crate::answer(&text, &mut |share| progress(share));
    ANSWER.with_borrow_mut(|kept| {
        *kept = answer.into_bytes();
        kept.as_ptr()
    })
}

/// Bytes of the answer.
#[unsafe(no_mangle)]
pub extern "C" fn answer_bytes() -> usize {
    ANSWER.with_borrow(Vec::len)
}

/// After a trap: where the sentence is that says why.
#[unsafe(no_mangle)]
pub extern "C" fn failure() -> *const u8 {
    FAILURE.with_borrow(|failure| failure.as_ptr())
}

/// Bytes of that sentence; none if there was no panic.
#[unsafe(no_mangle)]
pub extern "C" fn failure_bytes() -> usize {
    FAILURE.with_borrow(String::len)
}

/// After a trap: whether memory ran out.
#[unsafe(no_mangle)]
pub extern "C" fn out_of_memory() -> bool {
    OUT_OF_MEMORY.load(Ordering::Relaxed)
}
