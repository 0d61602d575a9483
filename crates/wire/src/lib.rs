//! Packet formats: parse and emit, no I/O.
//!
//! What comes from a network is never trusted: every `parse` returns an error instead of panicking,
//! and every `write` leaves the bits of others as they are.

pub mod activity;
mod error;

pub use error::WireError;
