//! Whose packet it is, as links and stations need to know.

/// The owner of a packet.
#[derive(Clone, Copy, Debug, Default)]
pub struct Owner {
    /// Index of the user group.
    pub group: u16,
    /// Index of the user.
    pub user: u32,
    /// Its flow answers marks in proportion (L4S).
    pub scalable: bool,
}
