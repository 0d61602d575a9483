//! Where a sender stands between a loss and the end of its recovery; [`super::recovery`] has the picture.

/// Where a sender stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Not started.
    Closed,
    /// The connection request is out.
    SynSent,
    /// No known congestion.
    Open,
    /// Reducing the window after a congestion mark.
    Reducing,
    /// Fast recovery.
    Recovery,
    /// After a timeout that may have been spurious (F-RTO).
    Probing,
    /// After a timeout.
    Loss,
}

/// The phase, and where it ends.
#[derive(Clone, Copy, Debug)]
pub struct RecoveryPoints {
    /// Where the sender stands.
    pub phase: Phase,
    /// Recovery, loss or reduction ends when this is acknowledged.
    pub end: u64,
    /// What was outstanding at the last loss ends here (RFC 6582: recover).
    pub recover: u64,
    /// Partial ACKs go on with a recovery (RFC 6582); without, the first ACK of new data ends it.
    pub partial_acks: bool,
}

impl RecoveryPoints {
    /// Whether a fast recovery may begin for the segment `una`: none may for segments that were sent before
    /// the last loss was found (RFC 6582, section 3.2, step 2).
    pub fn allow_recovery(&self, una: u64) -> bool {
        una > self.recover || self.recover == 0
    }
}
