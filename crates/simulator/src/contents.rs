//! Where the contents of packets are kept.
//!
//! Simulated packets are nothing but what the network knows of them. Packets of real hosts have
//! bytes, which the network never touches: it knows them by a number, and their keeper writes and
//! reads what mechanisms put into their headers.

/// The keeper of packets' contents.
pub trait Contents {
    /// Whether there is anything outside the network's own packets.
    const OUTSIDE: bool;

    /// Whether tunnels begin and end at nodes outside: packets leave the network there, and come back.
    const TUNNELS_OUTSIDE: bool = false;

    /// A meter writes an activity into a packet. Returns what the packet says from then on: what it has room
    /// for, in steps of its format.
    fn set_activity(&mut self, packet: u64, activity: f32) -> f32;

    /// The activity that a packet carries when it enters the network, 0 if it carries none.
    fn activity(&mut self, packet: u64) -> f32;

    /// A packet was dropped.
    fn discard(&mut self, packet: u64);
}

/// Everything is in the network's own packets.
#[derive(Clone, Copy, Default)]
pub struct InPacket;

impl Contents for InPacket {
    const OUTSIDE: bool = false;

    fn set_activity(&mut self, _: u64, activity: f32) -> f32 {
        activity
    }

    fn activity(&mut self, _: u64) -> f32 {
        0.0
    }

    fn discard(&mut self, _: u64) {}
}
