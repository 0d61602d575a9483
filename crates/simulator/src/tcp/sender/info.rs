//! What a sender says of itself, in the terms of Linux's `tcp_info`.

use tidegate_mechanisms::units::Span;

use super::TcpSender;
use super::phase::Phase;
use crate::tcp::accecn::MarkReader;

/// Congestion state, as Linux names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CongestionState {
    /// Nothing is amiss.
    Open,
    /// Something has arrived out of order.
    Disorder,
    /// The window comes down for a congestion mark.
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
    /// Sent and not acknowledged.
    pub unacked: u32,
    /// Of them, selectively acknowledged.
    pub sacked: u32,
    /// Of them, taken for lost.
    pub lost: u32,
    /// Of those, retransmitted and under way.
    pub retransmitted: u32,
    /// Retransmissions since the start.
    pub retransmits: u64,
    /// Segments by which the path is taken to reorder.
    pub reordering: u32,
    /// ACKs that showed it to, where the sender knows.
    pub reorderings: u32,
    /// Smoothed round-trip time.
    pub srtt: Option<Span>,
    /// Smallest round-trip time, where the sender keeps it.
    pub min_rtt: Option<Span>,
    /// Retransmission timeout.
    pub rto: Span,
    /// Marked packets of which accurate feedback has reported.
    pub marked: u64,
    /// Bytes with ECT(0), CE and ECT(1) of which its option has reported.
    pub delivered_bytes: [u64; 3],
}

impl SenderInfo {
    /// Segments in the network (RFC 6675: pipe).
    pub fn in_flight(&self) -> u32 {
        (self.unacked + self.retransmitted).saturating_sub(self.sacked + self.lost)
    }
}

impl TcpSender {
    /// Its state.
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
