//! What streams over RTP have in common: the video, and how a sender learns what became of its packets.

pub mod adapter;
pub mod feedback;
pub mod label;
pub mod recorded;
pub mod video_model;
