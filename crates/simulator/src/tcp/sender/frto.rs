//! Whether a time-out was premature: F-RTO with SACK (RFC 5682), as in Linux since 2.6.21.
//!
//! ```text
//! time-out                     send the first segment again
//! 1st ACK  all acknowledged    repair is over, cwnd = 2
//!          advances            send two new segments
//! 2nd ACK  advances, or sacks what was sent once and before    the time-out was premature
//!          otherwise           everything not sacked is lost, cwnd = in flight + 3
//! ```
//!
//! Details (the windows above, and ssthresh on repeated time-outs) as in Linux 2.6.29
//! (`tcp_enter_frto`, `tcp_process_frto`, `tcp_enter_frto_loss`).

use super::feedback::Told;
use super::outstanding::Outstanding;

/// What F-RTO knows.
#[derive(Clone, Copy, Debug, Default)]
pub struct Frto {
    /// Whether an ACK has advanced since the time-out.
    advanced: bool,
    /// What was outstanding at the time-out ends here.
    outstanding_to: u64,
}

/// What an ACK after a time-out means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finding {
    /// The first segment has not arrived: nothing new is to be sent.
    Hold,
    /// Two new segments are to be sent.
    SendTwo,
    /// The time-out was right: what was sent before is lost, and so many segments may follow.
    Right(u32),
    /// It was premature.
    Premature,
}

impl Frto {
    /// The timer runs out; what is outstanding ends at `outstanding_to`.
    pub fn begin(outstanding_to: u64) -> Self {
        Frto { advanced: false, outstanding_to }
    }

    /// Whether an ACK has advanced since the time-out.
    pub fn has_advanced(&self) -> bool {
        self.advanced
    }

    /// What was outstanding at the time-out ends here.
    pub fn outstanding_to(&self) -> u64 {
        self.outstanding_to
    }

    /// Judges an ACK. `has_more`: there are new segments that may be sent.
    pub fn judge(&mut self, told: &Told, out: &Outstanding, has_more: bool) -> Finding {
        if out.una() >= self.outstanding_to {
            return Finding::Right(if self.advanced { 3 } else { 2 });
        }
        if !self.advanced {
            self.advanced = told.advances() && has_more;
            return match (told.advances(), has_more) {
                (false, _) => Finding::Hold,
                (true, true) => Finding::SendTwo,
                (true, false) => Finding::Right(2),
            };
        }
        let sacks_new = told.sacked > 0 && out.board().highest_sacked() > self.outstanding_to;
        if sacks_new || (!told.advances() && told.sacked == 0) {
            return Finding::Right(3);
        }
        Finding::Premature
    }
}
