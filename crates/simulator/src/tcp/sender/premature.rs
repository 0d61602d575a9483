//! What a time-out means to a sender that tells losses by time: as in Linux since 4.18 (`tcp_enter_loss`,
//! `tcp_process_loss`).
//!
//! ```text
//! time-out    lost: the first segment, and what was sent more than a round trip ago, but for what is sacked
//!             cwnd = in flight + 1; the first goes out again
//! while in the state of loss, slow start; a repair that is lost again begins a fast recovery
//! F-RTO       1st ACK  advances    send new segments, if there are any
//!             2nd ACK  sacks them  the time-out was right
//!             an ACK shows that a segment has arrived which was sent once and before    it was premature
//! ```
//!
//! A premature one is taken back as a whole. So is one of which a timestamp shows that it was premature.

use super::feedback::Told;
use super::outstanding::Outstanding;
use super::phase::Phase;

/// What is known about the last time-out.
#[derive(Clone, Copy, Debug)]
pub struct Premature {
    /// Whether to find out at all.
    frto: bool,
    /// Not known yet whether it was.
    asks: bool,
    /// Something was acknowledged since.
    progress: bool,
}

/// What an ACK in the state of loss means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Nothing, or that the time-out was right.
    None,
    /// Only new segments may follow.
    OnlyNew,
    /// The time-out was premature.
    Premature,
}

impl Premature {
    /// Before the first time-out; with F-RTO or without.
    pub fn new(frto: bool) -> Self {
        Premature { frto, asks: false, progress: true }
    }

    /// Takes note of an ACK.
    pub fn note(&mut self, told: &Told) {
        self.progress |= told.advances();
    }

    /// The timer runs out. Returns whether the threshold is to come down once more, for data after which
    /// something had been acknowledged.
    pub fn on_time_out(&mut self, phase: Phase) -> bool {
        let first = matches!(phase, Phase::Open | Phase::Reducing);
        let again = phase == Phase::Loss && self.progress;
        self.asks = self.frto && (first || !self.progress);
        self.progress = false;
        again
    }

    /// No new segment could be sent: the time-out counts as right.
    pub fn take_as_right(&mut self) {
        self.asks = false;
    }

    /// Judges an ACK in the state of loss, which ends when `end` is acknowledged.
    pub fn judge(&mut self, told: &Told, out: &Outstanding, end: &mut u64, has_more: bool) -> Step {
        if !self.asks {
            return Step::None;
        }
        if told.samples.is_some_and(|samples| samples.first_original < *end) {
            return Step::Premature;
        }
        if out.nxt() > *end {
            self.asks = told.advances() && told.sacked == 0;
        } else if told.advances() && out.una() < *end {
            *end = out.nxt();
            self.asks = has_more;
            return if has_more { Step::OnlyNew } else { Step::None };
        }
        Step::None
    }
}
