//! What a sender says of itself, in the terms of Linux's `tcp_info`.

use tidegate_mechanisms::units::Span;

use super::{Sender, State};

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
    /// After a time-out.
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
    /// Of those, sent again and under way.
    pub retransmitted: u32,
    /// Retransmissions since the start.
    pub retransmits: u64,
    /// Segments by which the path is taken to reorder.
    pub reordering: u32,
    /// Smoothed round-trip time.
    pub srtt: Option<Span>,
    /// Smallest round-trip time, where the sender keeps it.
    pub min_rtt: Option<Span>,
    /// Retransmission time-out.
    pub rto: Span,
}

impl Sender {
    /// Its state.
    pub fn info(&self) -> SenderInfo {
        let board = &self.board;
        let ssthresh = self.window.ssthresh;
        SenderInfo {
            state: self.congestion_state(),
            cwnd: self.window.cwnd as u32,
            ssthresh: ssthresh.is_finite().then_some(ssthresh as u32),
            unacked: (self.nxt - self.una) as u32,
            sacked: board.sacked,
            lost: board.lost,
            retransmitted: board.retransmitted,
            retransmits: self.counts.retransmits,
            reordering: crate::tcp::scoreboard::DUP_THRESH,
            srtt: self.round_trip.srtt(),
            min_rtt: self.rack.as_ref().map(|rack| Span::from_micros(rack.min_rtt_us())),
            rto: self.round_trip.rto(),
        }
    }

    fn congestion_state(&self) -> CongestionState {
        match self.state {
            State::Open if self.board.sacked > 0 => CongestionState::Disorder,
            State::Closed | State::SynSent | State::Open => CongestionState::Open,
            State::Reducing => CongestionState::Reduced,
            State::Recovery => CongestionState::Recovery,
            State::Probing | State::Loss => CongestionState::Loss,
        }
    }
}
