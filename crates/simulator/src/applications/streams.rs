//! Parts shared by streams over RTP: video sources and feedback about packets.

pub mod adapter;
pub mod feedback;
pub mod label;
pub mod recorded;
pub mod video_model;
