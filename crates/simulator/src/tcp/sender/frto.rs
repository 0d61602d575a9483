//! Detection of spurious timeouts: F-RTO with SACK (RFC 5682), as in Linux since 2.6.21.
//!
//! ```text
//! timeout                     send the first segment again
//! 1st ACK  all acknowledged    recovery is over, cwnd = 2
//!          advances            send two new segments
//! 2nd ACK  advances, or sacks what was sent once and before    the timeout was spurious
//!          otherwise           everything not sacked is lost, cwnd = in flight + 3
//! ```
//!
//! Details (the windows above, and ssthresh on repeated timeouts) as in Linux 2.6.29
//! (`tcp_enter_frto`, `tcp_process_frto`, `tcp_enter_frto_loss`).

use super::feedback::AckSample;
use super::outstanding::Outstanding;

/// State of F-RTO.
#[derive(Clone, Copy, Debug, Default)]
pub struct Frto {
    /// Whether an ACK has advanced since the timeout.
    advanced: bool,
    /// End of the segments outstanding at the timeout.
    outstanding_to: u64,
}

/// Outcome of an ACK after a timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrtoOutcome {
    /// The first segment has not arrived: send nothing new.
    Hold,
    /// Send two new segments.
    SendTwo,
    /// The timeout was genuine: everything sent before is lost, and this many segments may be sent.
    Genuine(u32),
    /// The timeout was spurious.
    Spurious,
}

impl Frto {
    /// Starts at a timeout; the outstanding segments end at `outstanding_to`.
    pub fn begin(outstanding_to: u64) -> Self {
        Frto { advanced: false, outstanding_to }
    }

    /// Whether an ACK has advanced since the timeout.
    pub fn has_advanced(&self) -> bool {
        self.advanced
    }

    /// Returns the end of the segments outstanding at the timeout.
    pub fn outstanding_to(&self) -> u64 {
        self.outstanding_to
    }

    /// Evaluates an ACK; `has_more` if new segments may be sent.
    pub fn judge(&mut self, ack: &AckSample, out: &Outstanding, has_more: bool) -> FrtoOutcome {
        if out.una() >= self.outstanding_to {
            return FrtoOutcome::Genuine(if self.advanced { 3 } else { 2 });
        }
        if !self.advanced {
            self.advanced = ack.advances() && has_more;
            return match (ack.advances(), has_more) {
                (false, _) => FrtoOutcome::Hold,
                (true, true) => FrtoOutcome::SendTwo,
                (true, false) => FrtoOutcome::Genuine(2),
            };
        }
        let sacks_new = ack.sacked > 0 && out.board().highest_sacked() > self.outstanding_to;
        if sacks_new || (!ack.advances() && ack.sacked == 0) {
            return FrtoOutcome::Genuine(3);
        }
        FrtoOutcome::Spurious
    }
}
