//! Expiry of the sender's timer.
//!
//! RFC 6298, section 5. Variants of a timeout: everything is retransmitted, F-RTO decides first ([`super::frto`]), or
//! late segments are lost ([`super::spurious_rto`]).

use tidegate_mechanisms::units::Time;

use super::TcpSender;
use super::frto::FrtoOutcome;
use super::phase::Phase;
use super::recovery::Timeouts;
use super::timer::Purpose;
use crate::event_queue::TimerStatus;
use crate::tcp::HostContext;
use crate::tcp::reduction::AckProgress;

impl TcpSender {
    /// Returns the status of a timer wake-up due at `at`.
    #[inline]
    pub fn foresee(&mut self, at: Time) -> TimerStatus {
        self.timer.foresee(at)
    }

    /// Handles a timer wake-up.
    pub fn on_timer(&mut self, ctx: &mut HostContext) {
        match self.timer.on_wake(ctx) {
            None => {}
            Some(Purpose::Probe) => self.send_probe(ctx),
            Some(Purpose::Reordering) => self.on_reordering_timer(ctx),
            Some(Purpose::Release) => {
                self.send(ctx);
            }
            Some(Purpose::Timeout) => {
                self.transmit.release(ctx.now);
                self.on_timeout(ctx);
            }
        }
    }

    fn on_timeout(&mut self, ctx: &mut HostContext) {
        let requested = self.recovery.phase() == Phase::SynSent;
        if self.outstanding.is_empty() && !requested {
            // Nothing is missing: the window was below one segment (RFC 3168, section 6.1.2).
            self.window.allow(1);
            self.send(ctx);
            return;
        }
        if !requested || self.counts.retransmits >= self.timer.even_requests() {
            self.feedback.back_off();
        }
        if requested {
            self.window.on_request_lost();
            if self.recovery.lowers_for_request() {
                self.window.lower_threshold_to_least();
            }
            self.ecn.on_request_lost();
            self.feedback.on_request_repeated();
            self.counts.retransmits += 1;
            return self.send_request(ctx);
        }
        self.counts.timeouts += 1;
        if let Some(conex) = &mut self.conex {
            conex.on_timeout();
        }
        self.detection.start_over();
        self.feedback.stop_measuring();
        self.ecn.on_loss(self.window.cwnd());
        self.ecn.announce_reduction();
        self.recovery.note_loss(self.outstanding.nxt());
        let lost_before = self.outstanding.board().lost();
        match self.recovery.timeouts() {
            Timeouts::StartOver => self.start_over(lost_before, ctx),
            Timeouts::Frto(_) => self.begin_frto(lost_before, ctx),
            Timeouts::ByTime(_) => self.lose_by_time(lost_before, ctx),
        }
    }

    /// Starts over: all outstanding segments count as lost, except sacked ones if the scoreboard is kept.
    fn start_over(&mut self, lost_before: u32, ctx: &mut HostContext) {
        self.lower_threshold(ctx);
        self.window.start_over(ctx.now);
        if !self.feedback.uses_sack() {
            self.outstanding.forget_unnamed();
        }
        let nxt = self.outstanding.nxt();
        self.outstanding.give_up(nxt, self.recovery.goes_back());
        self.recovery.go_on(Phase::Loss, nxt);
        self.model_timeout(lost_before);
        self.send(ctx);
    }

    /// Handles a loss shown by duplicates without fast recovery (Jacobson 1988): as a timeout, without the timer's
    /// backoff.
    pub(super) fn retransmit_alone(&mut self, ctx: &mut HostContext) {
        self.detection.start_over();
        self.feedback.stop_measuring();
        self.ecn.announce_reduction();
        self.recovery.note_loss(self.outstanding.nxt());
        self.start_over(self.outstanding.board().lost(), ctx);
        self.restart_timer(ctx);
    }

    fn lower_threshold(&mut self, ctx: &HostContext) {
        if self.recovery.lowered_for_mark_alone() {
            return;
        }
        let recovers = self.recovery.phase() == Phase::Recovery && self.recovery.repeats();
        // The window that is halved includes the inflation by duplicates.
        let departed = if recovers { self.outstanding.board().sacked() } else { 0 };
        let cwnd = self.window.cwnd() + f64::from(departed);
        let small = self.recovery.phase() == Phase::Reducing && self.window.mark_weighed_less();
        let from = if small { Some(cwnd) } else { self.recovery.lowered_from(cwnd) };
        if let Some(cwnd) = from {
            self.window.lower_threshold(cwnd, self.in_flight(), ctx.now);
        }
    }

    fn begin_frto(&mut self, lost_before: u32, ctx: &mut HostContext) {
        self.lower_threshold(ctx);
        self.outstanding.forget_retransmission_of_first();
        self.window.hold(self.in_flight() + 1);
        self.recovery.begin_probing(&self.outstanding);
        self.model_timeout(lost_before);
        self.send_again(self.outstanding.una(), ctx);
    }

    /// Applies the outcome of F-RTO.
    pub(super) fn answer(&mut self, finding: FrtoOutcome, ctx: &HostContext) {
        match finding {
            FrtoOutcome::Hold => self.window.hold(self.in_flight()),
            FrtoOutcome::SendTwo => self.window.allow(self.in_flight() + 2),
            FrtoOutcome::Genuine(allowed) => self.take_as_lost(allowed, ctx),
            FrtoOutcome::Spurious => {
                self.take_declared_back(ctx.now);
                // The window is reduced all the same, as for a congestion mark.
                self.window.glide();
                self.recovery.go_on(Phase::Reducing, self.outstanding.nxt());
            }
        }
    }

    /// Handles a genuine timeout: retransmits what was outstanding and is not sacked.
    fn take_as_lost(&mut self, allowed: u32, ctx: &HostContext) {
        let Timeouts::Frto(frto) = self.recovery.timeouts() else { return };
        let end = frto.outstanding_to();
        self.outstanding.give_up(end, self.recovery.goes_back());
        self.window.start_over(ctx.now);
        self.window.allow(self.in_flight() + allowed);
        self.recovery.go_on(Phase::Loss, end);
    }

    fn lose_by_time(&mut self, lost_before: u32, ctx: &mut HostContext) {
        if let Some(detected) = self.detection.judge_timeout(&self.outstanding, ctx.now) {
            self.outstanding.lose(&detected, ctx.now);
        }
        self.outstanding.forget_retransmission_of_first();
        if self.recovery.lose_by_time(&self.outstanding) {
            let window = self.window.get();
            self.recovery.remember(window, false);
            self.window.lower_threshold(window.cwnd, self.in_flight(), ctx.now);
        }
        self.window.start_over(ctx.now);
        self.window.allow(self.in_flight() + 1);
        self.recovery.go_on(Phase::Loss, self.outstanding.nxt());
        self.model_timeout(lost_before);
        self.detection.forget_probe();
        self.send(ctx);
    }

    /// Handles the reordering timer: late segments may count as lost now.
    fn on_reordering_timer(&mut self, ctx: &mut HostContext) {
        self.detection.look_again();
        let lost_below = self.outstanding.board().lost_below();
        let lost = self.look_for_losses(ctx.now).0;
        if lost.any() {
            self.model_losses(&lost, lost_below, ctx.now);
            if self.recovery.phase() != Phase::Recovery {
                self.enter_recovery(ctx);
                let in_flight = self.in_flight();
                self.window.reduce(AckProgress { delivered: 1, in_flight, safe: false });
            }
            self.send(ctx);
        }
        if !self.timer.is_set() {
            if self.outstanding.is_empty() {
                self.restart_timer(ctx);
            } else {
                self.timer.set(Purpose::Timeout, self.timeout_after_wait(ctx.now), ctx);
            }
        }
    }
}
