//! What is counted of a run, and read at the ends of its measurement.

use crate::arrivals::Arrivals;
use crate::digest::Digest;
use crate::link_reading::LinkReadings;
use crate::packet::{Packet, flags};
use crate::stages::StageCounts;
use crate::tally::Tally;
use crate::tcp::sender::{DeclarationTotals, SenderCounts};

/// What has reached a flow's receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// What its sender sent and reached the receiver.
    pub arrivals: Arrivals,
    /// Payload in order, bytes.
    pub payload_bytes: u64,
}

/// What reaches the ends of a flow, in one cache line.
#[derive(Clone, Copy, Default)]
#[repr(align(64))]
pub struct Reached {
    /// What has reached the receiver.
    pub received: Received,
    /// The user group.
    pub group: u16,
    /// What happened to the flow's packets, by direction: the receiver may be served ahead of time,
    /// so that the two can take turns in one way or another.
    pub digests: [Digest; 2],
}

impl Received {
    /// One more of the sender's packets has arrived, of `len` bytes, and puts so much payload in order.
    #[inline]
    pub fn add(&mut self, len: u16, marked: bool, payload_bytes: u64) {
        self.arrivals.add(len, marked);
        self.payload_bytes += payload_bytes;
    }
}

impl Reached {
    /// A packet has arrived at either end.
    #[inline]
    pub fn digest(&mut self, packet: &Packet) {
        self.digests[usize::from(packet.has(flags::BACK))].mix_packet(packet);
    }
}

/// Counters at one end of an interval: those of a simulation, or of a network between real hosts.
pub trait Counted {
    /// By link.
    fn links(&self) -> &LinkReadings;

    /// Wire bytes that reached a flow's receiver so far.
    fn received_bytes(&self, flow: usize) -> u64;
}

/// All counters at one point in time.
pub struct Readings {
    /// By link.
    pub links: LinkReadings,
    /// By flow.
    pub losses: Tally<u64>,
    /// By flow.
    pub received: Tally<Received>,
    /// By flow.
    pub sent: Tally<SenderCounts>,
    /// By flow.
    pub declared: Tally<DeclarationTotals>,
    /// Of stages.
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
