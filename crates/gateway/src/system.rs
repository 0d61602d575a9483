//! Calls to the kernel that no safe crate offers.
