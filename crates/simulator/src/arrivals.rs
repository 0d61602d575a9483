//! Counts of packets that reached a flow's receiver.

/// Packets of a flow's sender that reached the receiver: data and connection requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrivals {
    /// Number of packets.
    pub packets: u64,
    /// Number of packets marked CE.
    pub marked: u64,
    /// Bytes on the wire.
    pub bytes: u64,
}

impl Arrivals {
    /// Counts an arrival of `len` bytes.
    #[inline]
    pub fn add(&mut self, len: u16, marked: bool) {
        self.packets += 1;
        self.marked += u64::from(marked);
        self.bytes += u64::from(len);
    }

    /// Returns the difference to `before`.
    pub fn since(&self, before: &Arrivals) -> Arrivals {
        Arrivals {
            packets: self.packets - before.packets,
            marked: self.marked - before.marked,
            bytes: self.bytes - before.bytes,
        }
    }
}
