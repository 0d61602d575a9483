//! Whether and when the window may grow.
//!
//! A window that nobody fills says nothing about the network and must not grow (RFC 7661). Two ways
//! to tell: an ACK that finds the window full; or, as in Linux since 3.16, one that comes within a
//! round trip of a moment at which it was full, or, in slow start, at which half of it was in use.

use tidegate_mechanisms::sender::Ack;
use tidegate_mechanisms::units::{Span, Time};

use super::Sender;

/// How far the window was used in the last round trip.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Usage {
    /// Whether it was full at some time.
    full: bool,
    /// Most segments that were out at a time.
    most_out: u32,
    /// The round trip ends when this is acknowledged.
    end: u64,
}

/// An ACK that may let the window grow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Growth {
    /// Segments acknowledged.
    pub acked: u32,
    /// How many of them are known to have been marked.
    pub marked: u32,
    /// Round-trip sample.
    pub rtt: Option<Span>,
    /// Segments in flight before it.
    pub in_flight: u32,
}

impl Sender {
    /// An ACK outside of recovery.
    #[inline]
    pub(super) fn grow(&mut self, growth: Growth, now: Time) {
        let Growth { acked, marked, rtt, in_flight } = growth;
        let round_start = self.una > self.round_end;
        if round_start {
            self.round_end = self.nxt;
        }
        let ack = Ack {
            now,
            acked,
            marked,
            rtt,
            srtt: self.round_trip.srtt(),
            in_flight,
            window_limited: self.window_limits(in_flight),
            round_start,
        };
        self.controller.on_ack(&mut self.window, &ack);
    }

    #[inline]
    fn window_limits(&self, in_flight: u32) -> bool {
        let Some(usage) = self.usage else { return in_flight + 1 > self.window.cwnd as u32 };
        let half_used = self.window.cwnd < f64::from(2 * usage.most_out);
        usage.full || (self.window.in_slow_start() && half_used)
    }

    /// All that may be sent has been; the window is full, or might as well be.
    pub(super) fn note_usage(&mut self, full: bool) {
        let out = (self.nxt - self.una) as u32;
        let Some(usage) = &mut self.usage else { return };
        if full || self.una >= usage.end || (!usage.full && out > usage.most_out) {
            *usage = Usage { full, most_out: out, end: self.nxt };
        }
    }
}
