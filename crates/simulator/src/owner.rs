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
}
