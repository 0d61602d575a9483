//! What one stage tells another, in a packet of its own.

use crate::units::Bytes;

/// What a stage has counted of a user since the beginning, so that a report that is lost in transit hides
/// nothing once another arrives.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Number of the user.
    pub user: u32,
    /// Number of the stage that reports, which whoever runs the stages knows.
    pub from: u32,
    /// Which report of this stage on this user it is, from 1: one that arrives behind a later one is old.
    pub number: u64,
    /// Size of its packet on the wire, at most 65,535 B.
    pub len: Bytes,
    /// What has passed: packets and bytes.
    pub seen: [u64; 2],
    /// Of these, marked.
    pub marked: [u64; 2],
    /// What the end of a tunnel tells its beginning.
    pub tunnel: Option<Box<TunnelReport>>,
}

/// What the end of a tunnel has seen since the tunnel began. Counters are modulo 2³².
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TunnelReport {
    /// Address of the end that reports: the number of its node.
    pub from: u32,
    /// The tunnel.
    pub teid: u32,
    /// Number of the latest packet that arrived, by the order in which they were sent.
    pub last_sequence: u16,
    /// Packets that arrived.
    pub received: u32,
    /// Of these, marked before they arrived, in the inner or the outer header.
    pub marked_before: u32,
    /// Packets up to the latest that did not arrive.
    pub dropped_before: u32,
    /// Packets that arrived and that this end has lost, on the radio behind it.
    pub dropped_here: u32,
    /// What became of packets since the report before, as far as there is room: number and fate.
    pub entries: Vec<(u16, Fate)>,
}

/// What became of a packet that was not delivered as it was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Marked before it arrived.
    MarkedBefore,
    /// Did not arrive.
    DroppedBefore,
    /// Lost by the end of the tunnel.
    DroppedHere,
}

impl TunnelReport {
    /// So many entries fit into a packet of 1500 B.
    pub const MAX_ENTRIES: usize = 350;

    /// Size of its packet: IPv4, UDP, an echo request of GTP-U with its number, and a private extension with the
    /// counters and the entries.
    pub const fn len(&self) -> Bytes {
        const FIXED: usize = 20 + 8 + 12 + 31;
        Bytes::new((FIXED + 4 * self.entries.len()) as u64)
    }

    /// Adds an entry if there is room for it.
    pub fn list(&mut self, sequence: u16, fate: Fate) {
        if self.entries.len() < Self::MAX_ENTRIES {
            self.entries.push((sequence, fate));
        }
    }
}
