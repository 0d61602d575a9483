//! Timeouts of a sender that detects losses by time, as in Linux since 4.18 (`tcp_enter_loss`, `tcp_process_loss`).
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
//! A spurious timeout is undone completely, as is one that a timestamp shows to be spurious.

use super::feedback::AckSample;
use super::outstanding::Outstanding;
use super::phase::Phase;

/// State of the last timeout.
#[derive(Clone, Copy, Debug)]
pub struct SpuriousRto {
    /// Whether F-RTO is used.
    frto: bool,
    /// Whether it is still open if the timeout was spurious.
    asks: bool,
    /// Whether data was acknowledged since the timeout.
    progress: bool,
}

/// Outcome of an ACK in the loss state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpuriousRtoOutcome {
    /// No action, or the timeout was genuine.
    None,
    /// Only new segments may be sent.
    OnlyNew,
    /// The timeout was spurious.
    Spurious,
}

impl SpuriousRto {
    /// Returns the state before the first timeout, with F-RTO or without.
    pub fn new(frto: bool) -> Self {
        SpuriousRto { frto, asks: false, progress: true }
    }

    /// Takes an ACK.
    pub fn note(&mut self, ack: &AckSample) {
        self.progress |= ack.advances();
    }

    /// Handles a timeout. Returns whether the threshold is lowered once more, for data after earlier progress.
    pub fn on_timeout(&mut self, phase: Phase) -> bool {
        let first = matches!(phase, Phase::Open | Phase::Reducing);
        let again = phase == Phase::Loss && self.progress;
        self.asks = self.frto && (first || !self.progress);
        self.progress = false;
        again
    }

    /// Takes the timeout as genuine, because no new segment could be sent.
    pub fn take_as_genuine(&mut self) {
        self.asks = false;
    }

    /// Evaluates an ACK in the loss state, which ends when `end` is acknowledged.
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
