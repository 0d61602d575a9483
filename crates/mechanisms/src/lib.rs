//! The mechanisms that share congestion, as pure state machines.
//!
//! A mechanism never knows where it runs: it has no clock, no I/O and no random numbers of its
//! own. Time and random draws come in as arguments, verdicts go out as values, so that the same
//! code runs in virtual time (simulator) and in real time (gateway).
//!
//! The modules follow the packet: [`sender`], [`ingress`], [`bottleneck`]. What stands between its queues
//! is a [`stage`].

pub mod bottleneck;
pub mod fixed_point;
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
