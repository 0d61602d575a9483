//! What a timeout means to a sender that detects losses by time: as in Linux since 4.18 (`tcp_enter_loss`,
//! `tcp_process_loss`).
//!
//! ```text
//! timeout    lost: the first segment, and what was sent more than a round trip ago, but for what is sacked
//!             cwnd = in flight + 1; the first goes out again
//! while in the state of loss, slow start; a retransmission that is lost again begins a fast recovery
//! F-RTO       1st ACK  advances    send new segments, if there are any
//!             2nd ACK  sacks them  the timeout was genuine
//!             an ACK shows that a segment has arrived which was sent once and before    it was spurious
//! ```
//!
//! A spurious one is undone as a whole. So is one of which a timestamp shows that it was spurious.

use super::feedback::AckSample;
use super::outstanding::Outstanding;
use super::phase::Phase;

/// What is known about the last timeout.
#[derive(Clone, Copy, Debug)]
pub struct SpuriousRto {
    /// Whether to find out at all.
    frto: bool,
    /// Not known yet whether it was.
    asks: bool,
    /// Something was acknowledged since.
    progress: bool,
}

/// What an ACK in the state of loss means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpuriousRtoOutcome {
    /// Nothing, or that the timeout was genuine.
    None,
    /// Only new segments may follow.
    OnlyNew,
    /// The timeout was spurious.
    Spurious,
}

impl SpuriousRto {
    /// Before the first timeout; with F-RTO or without.
    pub fn new(frto: bool) -> Self {
        SpuriousRto { frto, asks: false, progress: true }
    }

    /// Takes note of an ACK.
    pub fn note(&mut self, ack: &AckSample) {
        self.progress |= ack.advances();
    }

    /// The timer runs out. Returns whether the threshold is to come down once more, for data after which
    /// something had been acknowledged.
    pub fn on_timeout(&mut self, phase: Phase) -> bool {
        let first = matches!(phase, Phase::Open | Phase::Reducing);
        let again = phase == Phase::Loss && self.progress;
        self.asks = self.frto && (first || !self.progress);
        self.progress = false;
        again
    }

    /// No new segment could be sent: the timeout counts as right.
    pub fn take_as_genuine(&mut self) {
        self.asks = false;
    }

    /// Judges an ACK in the state of loss, which ends when `end` is acknowledged.
    pub fn judge(
        &mut self,
        ack: &AckSample,
        out: &Outstanding,
        end: &mut u64,
        has_more: bool,
    ) -> SpuriousRtoOutcome {
        if !self.asks {
            return SpuriousRtoOutcome::None;
        }
        if ack.samples.is_some_and(|samples| samples.first_original < *end) {
            return SpuriousRtoOutcome::Spurious;
        }
        if out.nxt() > *end {
            self.asks = ack.advances() && ack.sacked == 0;
        } else if ack.advances() && out.una() < *end {
            *end = out.nxt();
            self.asks = has_more;
            return if has_more { SpuriousRtoOutcome::OnlyNew } else { SpuriousRtoOutcome::None };
        }
        SpuriousRtoOutcome::None
    }
}
