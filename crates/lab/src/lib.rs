//! The same scenario on Linux.
//!
//! Hosts are network namespaces ([`host`]) with real TCP and UDP ([`load`]); between them is the simulator's own
//! network, driven in real time ([`forwarder`]). A run ([`lab`]) yields the tables of a simulation ([`output`]) and a
//! timing report ([`timing`]).

// The only crate in real time: in all others a clock would make results differ.
#![allow(clippy::disallowed_methods)]

pub mod check;
pub mod clock;
pub mod declare;
mod error;
pub mod examine;
pub mod forwarder;
mod header;
pub mod host;
pub mod hosts;
pub mod kernel;
pub mod lab;
pub mod load;
pub mod namespace;
mod netlink;
pub mod node;
pub mod output;
mod packet_store;
mod qdisc;
pub mod realtime;
mod report;
mod settings;
mod system;
pub mod timing;
mod traffic;
pub mod tunnels;

pub use error::LabError;
