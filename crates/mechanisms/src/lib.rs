//! The mechanisms that share congestion, as pure state machines.
//!
//! A mechanism is independent of its environment: it has no clock, no I/O and no random numbers of its own. Time and
//! random draws are arguments, and verdicts are return values, so that the same code runs in virtual time (simulator)
//! and in real time (lab).
//!
//! The modules follow the path of a packet: [`sender`], [`ingress`], [`bottleneck`]. Mechanisms between queues are
//! [`stage`]s.

pub mod bottleneck;
pub mod dscp;
pub mod fixed_point;
pub mod impairment;
pub mod ingress;
pub mod mechanism;
pub mod parameters;
pub mod power;
pub mod price;
pub mod registry;
pub mod sender;
pub mod stage;
pub mod token_bucket;
pub mod units;
