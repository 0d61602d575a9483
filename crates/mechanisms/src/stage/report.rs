//! What one stage tells another, in a packet of its own.

use crate::units::Bytes;

/// What a stage has counted of a user since the beginning, so that a report that is lost on its way hides
/// nothing once another arrives.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Number of the user.
    pub user: u32,
    /// Which report of this stage on this user it is, from 1: one that arrives behind a later one is old.
    pub number: u64,
    /// Size of its packet on the wire, at most 65,535 B.
    pub len: Bytes,
    /// What has passed: packets and bytes.
    pub seen: [u64; 2],
    /// Of these, marked.
    pub marked: [u64; 2],
}
