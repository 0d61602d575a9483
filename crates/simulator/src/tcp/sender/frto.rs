//! Whether a timeout was spurious: F-RTO with SACK (RFC 5682), as in Linux since 2.6.21.
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

/// What F-RTO knows.
#[derive(Clone, Copy, Debug, Default)]
pub struct Frto {
    /// Whether an ACK has advanced since the timeout.
    advanced: bool,
    /// What was outstanding at the timeout ends here.
    outstanding_to: u64,
}

/// What an ACK after a timeout means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrtoOutcome {
    /// The first segment has not arrived: nothing new is to be sent.
    Hold,
    /// Two new segments are to be sent.
    SendTwo,
    /// The timeout was genuine: what was sent before is lost, and so many segments may follow.
    Genuine(u32),
    /// It was spurious.
    Spurious,
}

impl Frto {
    /// The timer runs out; what is outstanding ends at `outstanding_to`.
    pub fn begin(outstanding_to: u64) -> Self {
        Frto { advanced: false, outstanding_to }
    }

    /// Whether an ACK has advanced since the timeout.
    pub fn has_advanced(&self) -> bool {
        self.advanced
    }

    /// What was outstanding at the timeout ends here.
    pub fn outstanding_to(&self) -> u64 {
        self.outstanding_to
    }

    /// Judges an ACK. `has_more`: there are new segments that may be sent.
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
