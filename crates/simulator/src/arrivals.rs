//! What has reached a flow's receiver.

/// Packets of a flow's sender that reached the receiver: data and connection requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrivals {
    /// Packets.
    pub packets: u64,
    /// Of them, those marked CE.
    pub marked: u64,
    /// Wire bytes.
    pub bytes: u64,
}

impl Arrivals {
    /// One more has arrived, of so many bytes.
    #[inline]
    pub fn add(&mut self, len: u16, marked: bool) {
        self.packets += 1;
        self.marked += u64::from(marked);
        self.bytes += u64::from(len);
    }

    /// What has been added since `before`.
    pub fn since(&self, before: &Arrivals) -> Arrivals {
        Arrivals {
            packets: self.packets - before.packets,
            marked: self.marked - before.marked,
            bytes: self.bytes - before.bytes,
        }
    }
}
