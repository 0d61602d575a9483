//! State of a sender in the terms of Linux's `tcp_info`.

use tidegate_mechanisms::units::Span;

use super::TcpSender;
use super::phase::Phase;
use crate::tcp::accecn::MarkReader;

/// Congestion state as in Linux (`tcp_ca_state`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CongestionState {
    /// Normal state.
    Open,
    /// Segments have arrived out of order.
    Disorder,
    /// The window is being reduced because of a congestion mark.
    Reduced,
    /// Fast recovery.
    Recovery,
    /// After a timeout.
    Loss,
}

/// The state of a sender. Counts are in segments.
#[derive(Clone, Copy, Debug)]
pub struct SenderInfo {
    /// Congestion state.
    pub state: CongestionState,
    /// Congestion window.
    pub cwnd: u32,
    /// Slow-start threshold; `None` before the first congestion.
    pub ssthresh: Option<u32>,
    /// Segments sent and not acknowledged.
    pub unacked: u32,
    /// Segments selectively acknowledged.
    pub sacked: u32,
    /// Segments considered lost.
    pub lost: u32,
    /// Lost segments that are retransmitted and in flight.
    pub retransmitted: u32,
    /// Retransmissions since the start.
    pub retransmits: u64,
    /// Assumed reordering of the path, segments.
    pub reordering: u32,
    /// ACKs that showed reordering, if counted.
    pub reorderings: u32,
    /// Smoothed round-trip time.
    pub srtt: Option<Span>,
    /// Minimum round-trip time, if known.
    pub min_rtt: Option<Span>,
    /// Retransmission timeout.
    pub rto: Span,
    /// Marked packets reported by AccECN.
    pub marked: u64,
    /// Bytes with ECT(0), CE and ECT(1) reported by the AccECN option.
    pub delivered_bytes: [u64; 3],
}

impl SenderInfo {
    /// Segments in the network (RFC 6675: pipe).
    pub fn in_flight(&self) -> u32 {
        (self.unacked + self.retransmitted).saturating_sub(self.sacked + self.lost)
    }
}

impl TcpSender {
    /// Returns the state of the sender.
    pub fn info(&self) -> SenderInfo {
        let board = self.outstanding.board();
        let (window, round_trip) = (self.window.get(), self.feedback.round_trip());
        SenderInfo {
            state: self.congestion_state(),
            cwnd: window.cwnd as u32,
            ssthresh: window.ssthresh.is_finite().then_some(window.ssthresh as u32),
            unacked: self.outstanding.count(),
            sacked: board.sacked(),
            lost: board.lost(),
            retransmitted: board.retransmitted(),
            retransmits: self.counts.retransmits,
            reordering: self.detection.reordering(),
            reorderings: self.detection.reorderings(),
            srtt: round_trip.srtt(),
            min_rtt: self.feedback.min_rtt(),
            rto: round_trip.rto(),
            marked: self.ecn.reader().map_or(0, MarkReader::marked),
            delivered_bytes: self.ecn.reader().map_or([0; 3], MarkReader::bytes),
        }
    }

    fn congestion_state(&self) -> CongestionState {
        match self.recovery.phase() {
            Phase::Open if self.outstanding.board().sacked() > 0 => CongestionState::Disorder,
            Phase::Closed | Phase::SynSent | Phase::Open => CongestionState::Open,
            Phase::Reducing => CongestionState::Reduced,
            Phase::Recovery => CongestionState::Recovery,
            Phase::Probing | Phase::Loss => CongestionState::Loss,
        }
    }
}
