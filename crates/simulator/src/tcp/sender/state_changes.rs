//! Transitions of a sender into and out of recovery and reduction.

use tidegate_mechanisms::units::Time;

use super::TcpSender;
use super::feedback::AckSample;
use super::outstanding::Lost;
use super::phase::Phase;
use super::recovery::RecoveryOutcome;
use crate::tcp::HostContext;
use crate::tcp::reduction::AckProgress;
use crate::tcp::round_trip::RoundTrip;
use crate::tcp::scoreboard::DUP_THRESH;

impl TcpSender {
    /// Reduces the window for ECE, once per window (RFC 3168, section 6.1.2), also if ECE arrives with the ACK of all
    /// that was outstanding. `earlier` is the RTO before that ACK, whose backoff may persist.
    #[inline(never)]
    pub(super) fn answer_echo(
        &mut self,
        ack: &AckSample,
        earlier: Option<RoundTrip>,
        ctx: &mut HostContext,
    ) {
        if self.ecn.answers_in_proportion() && self.window.lowers_for_marks() {
            return;
        }
        if self.window.get().in_slow_start() && !self.ecn.ends_slow_start() {
            return;
        }
        self.recovery.forbid_undo();
        if self.recovery.answers_marks(self.outstanding.una()) {
            let one = self.window.cwnd() <= 1.0;
            let times = self.ecn.doublings(one, self.outstanding.una());
            match earlier.filter(|_| one) {
                Some(earlier) => {
                    self.feedback.back_off_before(earlier, times, ack.rtt, ctx.now);
                }
                None => (0..times).for_each(|_| self.feedback.back_off()),
            }
            self.window.reduce_for_mark(self.in_flight(), ctx.now);
            self.ecn.announce_reduction();
            self.detection.forget_probe();
            self.recovery.forget_undo();
            self.recovery.answer_mark(self.outstanding.nxt());
            // A window of one segment cannot be halved: the next segment waits for the timer.
            if self.window.cwnd() < 1.0 {
                self.restart_timer(ctx);
            }
        }
    }

    #[cold]
    pub(super) fn reduce_for_tail(&mut self, now: Time) {
        self.window.reduce_at_once(self.in_flight(), now);
        self.ecn.announce_reduction();
        self.detection.forget_probe();
    }

    /// Ends the reduction for a mark, if it is complete. Returns whether the window stays unchanged. If that ACK has no
    /// other effect, its ECE is not answered, either.
    pub(super) fn end_answered_reduction(&mut self, now: Time) -> bool {
        let apart = self.window.ends_apart();
        let segments = if apart { 0 } else { self.ecn.segments_to_answer() };
        let answered = self.recovery.is_answered(self.outstanding.una(), segments);
        let rests = answered && (apart || self.window.rests_after_reduction());
        if answered {
            self.exit_recovery(now);
        }
        rests
    }

    /// Ends a recovery that an ACK shows to be complete or spurious.
    #[inline(never)]
    pub(super) fn look_back(&mut self, ack: &AckSample, now: Time) -> RecoveryOutcome {
        let has_more = self.recovery.phase() == Phase::Loss && self.available() > 0;
        let outcome = self.recovery.look_back(ack, &self.outstanding, has_more);
        match outcome {
            RecoveryOutcome::None | RecoveryOutcome::OnlyNew => {}
            RecoveryOutcome::Exit => self.exit_recovery(now),
            RecoveryOutcome::ExitSpurious => {
                self.take_declared_back(now);
                self.exit_recovery(now);
                self.undo();
            }
            RecoveryOutcome::Undo => {
                self.take_declared_back(now);
                self.undo();
                self.outstanding.forget_losses();
                self.detection.look_again();
                self.recovery.open();
                self.window.on_recovered(now);
            }
        }
        outcome
    }

    /// Restores the window before the current reduction.
    pub(super) fn undo(&mut self) {
        let raised = self.recovery.take_undo().is_some_and(|before| self.window.go_back(before));
        if raised {
            self.ecn.withhold_announcement();
        }
    }

    /// Cancels the declaration of retransmitted segments, which were not lost.
    pub(super) fn take_declared_back(&mut self, now: Time) {
        if let Some(conex) = &mut self.conex {
            conex.on_spurious_retransmits(self.outstanding.una(), now);
        }
    }

    pub(super) fn enter_recovery(&mut self, ctx: &mut HostContext) {
        self.counts.recoveries += 1;
        if self.recovery.starts_over() {
            return self.retransmit_alone(ctx);
        }
        let marked = self.recovery.is_within_mark();
        if self.recovery.phase() == Phase::Loss && marked {
            self.outstanding.take_as_departed(DUP_THRESH);
            self.outstanding.forget_retransmission_of_first();
        }
        self.recovery.remember(self.window.get(), marked);
        self.ecn.on_loss(self.window.cwnd());
        // A reduction in proportion to the marks may have been small (RFC 8257, section 3.5), as may one with a
        // configured factor.
        let small = self.ecn.answers_in_proportion() || self.window.mark_weighed_less();
        if !marked || small {
            self.window.reduce_for_loss(self.in_flight(), ctx.now);
            self.ecn.announce_reduction();
            self.detection.forget_probe();
        }
        if self.recovery.repeats() {
            if marked {
                self.window.halve();
                self.ecn.announce_reduction();
                self.outstanding.forget_unnamed();
            } else {
                self.window.deflate_to_threshold();
            }
        }
        self.recovery.enter(self.outstanding.nxt());
        self.feedback.on_recovery();
        if !self.timer.restarts_on_retransmit() {
            self.restart_timer(ctx);
        }
        // RFC 6675, step 4.3: the first lost segment is sent regardless of the segments in flight.
        if self.window.is_reduced_at_once() {
            ctx.prompt = true;
            self.retransmit_next(ctx);
            ctx.prompt = false;
        }
        self.window.begin_recovery(&self.outstanding);
    }

    /// Ends a completed recovery, or reduces the window further. `departed` is the number of segments accounted for by
    /// duplicates before the ACK.
    pub(super) fn reduce_or_exit(
        &mut self,
        ack: &AckSample,
        lost: &Lost,
        departed: u32,
        now: Time,
    ) {
        if self.recovery.is_over(ack, self.outstanding.una()) {
            let recovers = self.recovery.phase() == Phase::Recovery;
            let grows = recovers && self.recovery.grows_at_end() && self.grows_despite_echo(ack);
            let keeps = recovers && self.recovery.repeats();
            self.exit_recovery(now);
            if keeps {
                self.window.keep_inflation(departed);
            }
            if grows {
                self.grow_after(ack, self.window.allowed(), now);
            }
        } else if matches!(self.recovery.phase(), Phase::Recovery | Phase::Reducing) {
            self.reduce(ack, lost);
        }
    }

    /// Reduces the window further, if the reduction proceeds with every ACK.
    #[inline(always)]
    pub(super) fn reduce(&mut self, ack: &AckSample, lost: &Lost) {
        if !self.window.is_reduced_at_once() {
            self.window.reduce(AckProgress {
                delivered: ack.departed,
                in_flight: self.in_flight(),
                safe: ack.advances() && !lost.any(),
            });
        }
    }

    /// Ends a recovery or reduction.
    pub(super) fn exit_recovery(&mut self, now: Time) {
        if self.recovery.phase() != Phase::Loss {
            self.window.finish(self.in_flight());
        }
        if !self.feedback.uses_sack() {
            self.outstanding.forget_unnamed();
        }
        if self.detection.forgets_scoreboard() && self.recovery.phase() == Phase::Recovery {
            self.outstanding.forget_board();
            self.recovery.note_loss(0);
        }
        self.recovery.open();
        self.detection.start_over();
        self.window.on_recovered(now);
        if let Some(conex) = &mut self.conex {
            conex.on_recovered();
        }
    }
}
