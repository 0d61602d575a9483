//! Packet formats: parse and emit, no I/O.
//!
//! Input from a network is untrusted: every `parse` returns an error instead of panicking, and every `write` changes
//! its own bits only.
//!
//! [`packet`] parses whole IP packets, as a TUN device delivers them; [`activity`] the activity option in them;
//! [`conex`] and [`re_ecn`] the congestion declared by senders; [`accecn`] the feedback of receivers; [`gtpu`] the
//! tunnels of a mobile network. [`capture`] writes capture files.

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
