//! Owner of a packet, as links and stations need it.

/// Owner of a packet.
#[derive(Clone, Copy, Debug, Default)]
pub struct Owner {
    /// Index of the user group.
    pub group: u16,
    /// Index of the user.
    pub user: u32,
    /// Whether the flow uses a scalable congestion control (L4S).
    pub scalable: bool,
    /// DiffServ codepoint of what the flow's sender sends, and whether the customer's host is at the flow's receiving end.
    pub dscp_and_end: DscpAndEnd,
}

/// A codepoint and an end of a path, in a byte: there is an owner for each flow.
#[derive(Clone, Copy, Debug, Default)]
pub struct DscpAndEnd(u8);

impl DscpAndEnd {
    /// Packs both.
    pub const fn new(dscp: u8, customer_receives: bool) -> Self {
        DscpAndEnd(dscp << 1 | customer_receives as u8)
    }

    /// Returns the codepoint of a packet, and whether it travels to the customer; `back` if it travels from the flow's
    /// receiver to its sender.
    #[inline]
    pub const fn of_packet(self, back: bool) -> (u8, bool) {
        (if back { 0 } else { self.0 >> 1 }, back != (self.0 & 1 == 1))
    }
}
