//! Packet formats: parse and emit, no I/O.
//!
//! Input from a network is untrusted: every `parse` returns an error instead of panicking, and every `write` changes
//! its own bits only.
//!
//! [`packet`] looks at whole IP packets, as a TUN device gives them; [`activity`] at the option in
//! them that is ours, [`conex`] and [`re_ecn`] at what senders declare of congestion, [`accecn`] at
//! what receivers report of it; [`gtpu`] at the tunnels of a mobile network. [`capture`] writes
//! capture files.

#![forbid(unsafe_code)]

pub mod accecn;
pub mod activity;
pub mod capture;
mod checksum;
pub mod conex;
mod ecn;
mod error;
pub mod gtpu;
mod ipv4;
mod ipv6;
mod options;
pub mod packet;
pub mod re_ecn;

pub use ecn::EcnField;
pub use error::WireError;
