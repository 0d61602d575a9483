//! Phases of a sender between a loss and the end of its recovery; [`super::recovery`] has the diagram.

/// Phase of a sender.
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

/// Phase, and its end points.
#[derive(Clone, Copy, Debug)]
pub struct RecoveryPoints {
    /// Current phase.
    pub phase: Phase,
    /// Recovery, loss or reduction ends when this segment is acknowledged.
    pub end: u64,
    /// End of the segments outstanding at the last loss (RFC 6582: recover).
    pub recover: u64,
    /// Whether partial ACKs continue a recovery (RFC 6582); otherwise the first ACK of new data ends it.
    pub partial_acks: bool,
}

impl RecoveryPoints {
    /// Whether a fast recovery may begin for the segment `una`: not for segments sent before the last loss was detected
    /// (RFC 6582, section 3.2, step 2).
    pub fn allow_recovery(&self, una: u64) -> bool {
        una > self.recover || self.recover == 0
    }
}
