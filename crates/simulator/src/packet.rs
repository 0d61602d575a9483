//! A packet under way.

use tidegate_mechanisms::units::Time;

/// Forty bytes, copied from pipe to pipe: no pool, no pointer to follow. Flow and hop are no neighbours,
/// since compilers read neighbours at once, and processors are slow at that where they were written one
/// by one just before.
#[derive(Clone, Copy, Debug, Default)]
pub struct Packet {
    /// When it arrives at the far end of the link whose pipe it is in.
    pub at: Time,
    /// Data: segment number. Acknowledgement: the next segment expected.
    pub number: u64,
    /// Data: when it was sent (TSval). Acknowledgement: the echo of it (TSecr).
    pub stamp: Time,
    /// The flow it belongs to.
    pub flow: u32,
    /// Data: activity, as the bits of an `f32`. Acknowledgement: ticket of its SACK blocks.
    pub extra: u32,
    /// Where it is on its way: an index into the network's hops.
    pub hop: u32,
    /// Bytes on the wire.
    pub len: u16,
    /// See [`flags`].
    pub flags: u8,
}

/// What a packet says in one bit each.
pub mod flags {
    /// It travels from receiver to sender.
    pub const ACK: u8 = 1;
    /// Connection request, or its answer.
    pub const SYN: u8 = 1 << 1;
    /// ECN-capable transport.
    pub const ECT: u8 = 1 << 2;
    /// Congestion experienced.
    pub const CE: u8 = 1 << 3;
    /// Acknowledgement: echo of congestion experienced.
    pub const ECE: u8 = 1 << 4;
    /// Data: pushed, the last of a burst or a transfer.
    pub const PSH: u8 = 1 << 4;
    /// Congestion window reduced.
    pub const CWR: u8 = 1 << 5;
    /// It carries SACK blocks; `extra` is their ticket.
    pub const SACK: u8 = 1 << 6;
    /// It belongs to the second, fourth, ... connection of its flow. One bit tells a connection from
    /// the one before, and there are never packets of more than two: all take the same way.
    pub const EVEN: u8 = 1 << 7;
}

impl Packet {
    /// Whether a flag is set.
    #[inline]
    pub fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

/// At most this many SACK blocks fit beside timestamps (RFC 2018, section 3).
pub const MAX_SACK_BLOCKS: usize = 3;

/// SACK blocks: segment numbers `start..end`, most recent first; unused ones are empty.
pub type SackBlocks = [(u64, u64); MAX_SACK_BLOCKS];

/// SACK blocks of acknowledgements under way. They are rare, so packets carry a ticket.
#[derive(Default)]
pub struct SackStore {
    blocks: Vec<SackBlocks>,
    free: Vec<u32>,
}

impl SackStore {
    /// Leaves blocks here and returns the ticket.
    pub fn put(&mut self, blocks: SackBlocks) -> u32 {
        if let Some(ticket) = self.free.pop() {
            self.blocks[ticket as usize] = blocks;
            return ticket;
        }
        self.blocks.push(blocks);
        (self.blocks.len() - 1) as u32
    }

    /// Takes the blocks of a ticket, once.
    pub fn take(&mut self, ticket: u32) -> SackBlocks {
        self.free.push(ticket);
        self.blocks[ticket as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_stays_small() {
        assert_eq!(size_of::<Packet>(), 40);
    }

    #[test]
    fn tickets_are_reused() {
        let mut store = SackStore::default();
        let first = store.put([(1, 2), (0, 0), (0, 0)]);
        assert_eq!(store.take(first)[0], (1, 2));
        assert_eq!(store.put([(5, 9), (0, 0), (0, 0)]), first);
    }
}
