//! What streams over RTP have in common: the film, and how a sender learns what became of its packets.

pub mod adapter;
pub mod feedback;
pub mod film;
pub mod label;
pub mod recorded;
