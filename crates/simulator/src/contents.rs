//! Storage of packet contents.
//!
//! Simulated packets consist only of the network's fields. Packets of real hosts have bytes, which the network never
//! touches: it identifies a packet by a number, and the store reads and writes the header fields of mechanisms.

/// Store of packet contents.
pub trait Contents {
    /// Whether packets have contents outside the network.
    const OUTSIDE: bool;

    /// Whether tunnels begin and end at external nodes: packets leave the network there and come back.
    const TUNNELS_OUTSIDE: bool = false;

    /// Writes a meter's activity into a packet. Returns the value as encoded in the packet, rounded to its format.
    fn set_activity(&mut self, packet: u64, activity: f32) -> f32;

    /// Returns the activity that a packet carries on entering the network, 0 if none.
    fn activity(&mut self, packet: u64) -> f32;

    /// A wire has duplicated a packet. Returns the number of the copy.
    fn copy(&mut self, packet: u64) -> u64;

    /// A packet was dropped.
    fn discard(&mut self, packet: u64);
}

/// Store for simulations: packets have no other contents.
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

    fn copy(&mut self, packet: u64) -> u64 {
        packet
    }

    fn discard(&mut self, _: u64) {}
}
