//! Interface to a controller that models its path: delivery rate samples in, window and pacing rate out.

use tidegate_mechanisms::sender::{RateSample, Recovering};
use tidegate_mechanisms::units::Time;

use super::TcpSender;
use super::delivery_rate::DeliveryRate;
use super::feedback::AckSample;
use super::outstanding::Lost;
use super::phase::Phase;

impl TcpSender {
    /// Passes an ACK and its losses; before it, all undelivered segments below the first of `before` were lost, and the
    /// second of `before` was in flight.
    pub(super) fn model(&mut self, ack: &AckSample, lost: &Lost, before: (u64, u32), now: Time) {
        let (lost_below, prior_in_flight) = before;
        let (in_flight, until_departure) = (self.in_flight(), self.transmit.until_departure(now));
        let Some(rate) = self.transmit.rate_mut() else { return };
        let (newest, rtt) = rate.on_ack(ack.departed, ack.samples, now);
        self.model_losses(lost, lost_below, now);
        let Some(rate) = self.transmit.rate_mut() else { return };
        let totals = rate.totals();
        let short = ack.delivered_bytes < self.stream.mss();
        let alone = newest.is_some_and(|newest| newest.delivered_before + 1 == totals.delivered);
        let sample = RateSample {
            now,
            totals,
            newly_delivered: ack.departed,
            newly_lost: lost.segments + lost.retransmissions,
            newly_marked: ack.marked,
            congestion: ack.congestion,
            newest,
            rtt,
            maybe_delayed: ack.acknowledged == 1 && ack.sacked == 0 && short && alone,
            srtt: self.feedback.round_trip().srtt(),
            prior_in_flight,
            in_flight,
            until_departure,
            window_limited: self.window.was_full(prior_in_flight),
            recovering: match self.recovery.phase() {
                Phase::Recovery => Recovering::Fast,
                Phase::Loss | Phase::Probing => Recovering::Timeout,
                _ => Recovering::No,
            },
        };
        if self.window.model(&sample) {
            rate.limit_by_application(in_flight);
        }
    }

    /// Passes newly detected losses; all undelivered segments below `lost_below` were lost before.
    pub(super) fn model_losses(&mut self, lost: &Lost, lost_below: u64, now: Time) {
        let Some(rate) = self.transmit.rate_mut().filter(|_| lost.any()) else { return };
        let board = self.outstanding.board();
        let from = lost_below.max(self.outstanding.una());
        let mut left = lost.segments;
        for segment in from..board.lost_below().min(self.outstanding.nxt()) {
            if left > 0 && !board.is_sacked(segment) {
                left -= 1;
                self.window.model_loss(&rate.on_lost(segment, now));
            }
        }
        // Without SACK it is the first; for retransmissions only the number is known.
        if left > 0 && !self.outstanding.is_empty() {
            left -= 1;
            self.window.model_loss(&rate.on_lost(self.outstanding.una(), now));
        }
        rate.count_lost(left + lost.retransmissions);
    }

    /// Passes an expiry of the timer, before which `lost_before` segments were lost.
    pub(super) fn model_timeout(&mut self, lost_before: u32) {
        if let Some(rate) = self.transmit.rate_mut() {
            rate.count_lost(self.outstanding.board().lost().saturating_sub(lost_before));
            self.window.model_timeout(rate.totals());
        }
    }

    /// Records the transmission of a segment.
    #[inline(never)]
    pub(super) fn note_departure(&mut self, segment: u64, now: Time) {
        let (out, in_flight) = (&self.outstanding, self.in_flight());
        let (una, alone) = (out.una(), out.count() == 1);
        if let Some(rate) = self.transmit.rate_mut() {
            rate.on_sent(segment, una, in_flight, alone, now);
        }
    }

    /// Notifies the controller of a transmission with nothing in flight.
    #[inline]
    pub(super) fn restart_model(&mut self, now: Time) {
        if self.transmit.rate().is_some_and(DeliveryRate::is_app_limited) {
            self.window.restart_model(now);
        }
    }

    /// Records whether the application limits the flow: no data are left to be sent, although the window has room.
    #[inline(never)]
    pub(super) fn note_application_limit(&mut self) {
        let in_flight = self.in_flight();
        let has_more = self.stream.ready(self.outstanding.nxt()) > 0;
        if has_more || self.window.is_full(in_flight) || self.outstanding.needs_retransmit() {
            return;
        }
        if let Some(rate) = self.transmit.rate_mut() {
            rate.limit_by_application(in_flight);
        }
    }
}
