//! The same scenario on Linux.
//!
//! Hosts are network namespaces ([`host`]) with real TCP and UDP ([`load`]); between them stands
//! the simulator's own network, driven in real time.

// The one crate that lives in real time: everywhere else a clock would make results differ.
#![allow(clippy::disallowed_methods)]

pub mod clock;
mod error;
pub mod host;
pub mod load;
pub mod namespace;
mod netlink;
mod settings;
mod system;

pub use error::LabError;
