//! Counters of a run, read at the ends of its measurement.

use crate::arrivals::Arrivals;
use crate::delay::FlowDelays;
use crate::digest::Digest;
use crate::link_reading::LinkReadings;
use crate::packet::{Packet, flags};
use crate::stages::StageCounts;
use crate::tally::Tally;
use crate::tcp::sender::{DeclarationTotals, SenderCounts};

/// Counts of a flow's receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// Packets of the flow's sender that arrived.
    pub arrivals: Arrivals,
    /// Payload delivered in order, bytes.
    pub payload_bytes: u64,
}

/// Counts at the ends of a flow, in one cache line.
#[derive(Clone, Copy, Default)]
#[repr(align(64))]
pub struct Reached {
    /// Counts at the receiver.
    pub received: Received,
    /// The user group, and where delays are kept.
    pub delays: FlowDelays,
    /// Digests of the flow's packets by direction, which are separate because the receiver may be served ahead of time.
    pub digests: [Digest; 2],
}

impl Received {
    /// Counts an arrival of the sender's packets, of `len` bytes, and the payload delivered in order.
    #[inline]
    pub fn add(&mut self, len: u16, marked: bool, payload_bytes: u64) {
        self.arrivals.add(len, marked);
        self.payload_bytes += payload_bytes;
    }
}

impl Reached {
    /// Adds a packet that arrived at either end.
    #[inline]
    pub fn digest(&mut self, packet: &Packet) {
        self.digests[usize::from(packet.has(flags::BACK))].mix_packet(packet);
    }
}

/// Counters at a point in time, of a simulation or of a network between real hosts.
pub trait Counted {
    /// Returns the counters of links.
    fn links(&self) -> &LinkReadings;

    /// Returns the bytes on the wire that have reached a flow's receiver.
    fn received_bytes(&self, flow: usize) -> u64;
}

/// All counters at one point in time.
pub struct Readings {
    /// Counters of links.
    pub links: LinkReadings,
    /// Lost packets of the sender, by flow.
    pub losses: Tally<u64>,
    /// Arrivals at the receiver, by flow.
    pub received: Tally<Received>,
    /// Counts of the sender, by flow.
    pub sent: Tally<SenderCounts>,
    /// Congestion declared, by flow.
    pub declared: Tally<DeclarationTotals>,
    /// Counts of stages.
    pub stages: StageCounts,
}

impl Counted for Readings {
    fn links(&self) -> &LinkReadings {
        &self.links
    }

    fn received_bytes(&self, flow: usize) -> u64 {
        self.received.at(flow).arrivals.bytes
    }
}
