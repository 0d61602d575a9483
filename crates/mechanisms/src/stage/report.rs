//! Reports from one stage to another, in packets of their own.

use crate::units::Bytes;

/// Cumulative counts of a stage for a user, so that a lost report loses no information once another arrives.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Number of the user.
    pub user: u32,
    /// Number of the reporting stage in its network.
    pub from: u32,
    /// Number of this report of the stage on the user, from 1: one that arrives after a later one is stale.
    pub number: u64,
    /// Size of its packet on the wire, at most 65,535 B.
    pub len: Bytes,
    /// Packets and bytes seen.
    pub seen: [u64; 2],
    /// Packets and bytes marked.
    pub marked: [u64; 2],
    /// Report of a tunnel's end to its beginning.
    pub tunnel: Option<Box<TunnelReport>>,
}

/// Cumulative counts at the end of a tunnel, modulo 2³².
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TunnelReport {
    /// Address of the end that reports: the number of its node.
    pub from: u32,
    /// Tunnel (TEID).
    pub teid: u32,
    /// Number of the latest packet that arrived, in the order of sending.
    pub last_sequence: u16,
    /// Packets that arrived.
    pub received: u32,
    /// Packets marked before they arrived, in the inner or the outer header.
    pub marked_before: u32,
    /// Packets up to the latest that did not arrive.
    pub dropped_before: u32,
    /// Packets that arrived and were lost on the radio behind this end.
    pub dropped_here: u32,
    /// Fates of packets since the last report, as far as there is room: number and fate.
    pub entries: Vec<(u16, Fate)>,
}

/// Fate of a packet that was not delivered unchanged.
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
    /// Maximum number of entries in a packet of 1500 B.
    pub const MAX_ENTRIES: usize = 350;

    /// Returns the size of its packet: IPv4, UDP, a GTP-U echo request with its number, and a private extension with
    /// the counters and the entries.
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
