//! The data plane against its models: arithmetic bit by bit, on this host and in the kernel, and verdicts on packets of
//! all kinds. What needs root says so and is skipped without it.

mod arithmetic;
mod customers;
mod kernel;
mod packets;
