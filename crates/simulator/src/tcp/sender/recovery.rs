//! Recovery state machine: from a loss or mark to the end of its repair.
//!
//! ```text
//!            a mark                    a loss                      all that was out then
//! Open ──────────────► Reducing ─────────────────► Recovery ─────────────────────────► Open
//!   │ timeout            │ answered: Open            │ timeout
//!   ▼                     ▼                           ▼
//! Probing (F-RTO) ─────► Loss ────────────────────────────────────────────────────────► Open
//! ```
//!
//! RFC 6675 (SACK), RFC 6582 (NewReno), RFC 5681 (Reno), RFC 3168 (ECN). The treatment of timeouts is a variant:
//! [`super::timeout`].

use core::mem::offset_of;

use tidegate_mechanisms::sender::Window;
use tidegate_mechanisms::units::Time;
use tidegate_scenario::plan::{RecoveryPlan, TcpPlan};

use super::feedback::AckSample;
use super::frto::{Frto, FrtoOutcome};
use super::outstanding::{Lost, Outstanding};
use super::phase::{Phase, RecoveryPoints};
use super::rules::{RecoveryRule, RecoveryRules};
use super::spurious_rto::{SpuriousRto, SpuriousRtoOutcome};
use super::undo::Undo;
use crate::tcp::packed_option::PackedOption;
use crate::tcp::scoreboard::DUP_THRESH;

/// Treatment of a timeout.
#[derive(Clone, Copy, Debug)]
pub enum Timeouts {
    /// Retransmit everything.
    StartOver,
    /// F-RTO first determines whether the timeout was spurious (RFC 5682; Linux since 2.6.21).
    Frto(Frto),
    /// Late segments are lost, as in Linux since 4.18.
    ByTime(SpuriousRto),
}

/// Effect of an ACK on the current recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoveryOutcome {
    /// No effect.
    None,
    /// Undecided; only new segments may be sent: the next ACK shows whether a timeout was genuine.
    OnlyNew,
    /// Recovery ends: everything that was outstanding has arrived.
    Exit,
    /// Recovery ends, and the retransmissions were spurious.
    ExitSpurious,
    /// Recovery was spurious, and not everything has arrived: the window is restored.
    Undo,
}

/// Effect of an ACK on the window during recovery from a timeout, if duplicates allow transmissions then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowInflation {
    /// No effect.
    None,
    /// The window grows by one segment.
    One,
    /// The window returns to the threshold, if it is above.
    Endpoints,
}

/// Action after the losses and marks of an ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossOutcome {
    /// No action.
    Stay,
    /// Start a fast recovery.
    EnterRecovery,
    /// Let the window grow.
    Grow,
}

/// State of a sender's recovery.
#[repr(C)]
#[derive(Clone, Debug)]
pub struct Recovery {
    /// End of the last fast recovery, if no mark has been answered and no timeout has occurred since: marks are not
    /// answered until more is acknowledged, if recoveries and marks are combined.
    recovered_to: PackedOption,
    /// State for undoing the current reduction.
    undo: Option<Box<Undo>>,
    /// End of the segments outstanding when a mark reduced the window, since the last timeout.
    marked_to: PackedOption,
    timeouts: Timeouts,
    points: RecoveryPoints,
    rules: RecoveryRules,
    /// Whether a partial ACK has arrived in this fast recovery.
    had_partial_ack: bool,
    /// Whether the last reduction was for a mark, regardless of later timeouts.
    marked_last: bool,
    /// Whether duplicates have inflated the window during recovery from a timeout, or would have, since the last ACK of
    /// new data.
    inflated: bool,
}

impl Recovery {
    /// Offset from which on most ACKs need it.
    pub const OFTEN: usize = offset_of!(Recovery, timeouts);

    /// Returns the state for a plan.
    pub fn new(plan: &TcpPlan) -> Self {
        let by_time = plan.loss_recovery == RecoveryPlan::Rack;
        let sack = plan.loss_recovery.is_selective();
        let timeouts = match plan.frto && sack {
            frto if by_time => Timeouts::ByTime(SpuriousRto::new(frto)),
            true => Timeouts::Frto(Frto::default()),
            false => Timeouts::StartOver,
        };
        let partial_acks = plan.loss_recovery != RecoveryPlan::Reno;
        Recovery {
            points: RecoveryPoints { phase: Phase::Closed, end: 0, recover: 0, partial_acks },
            timeouts,
            rules: RecoveryRules::of(plan),
            marked_to: PackedOption::NONE,
            had_partial_ack: false,
            recovered_to: PackedOption::NONE,
            marked_last: false,
            inflated: false,
            undo: None,
        }
    }

    /// Returns the phase.
    #[inline]
    pub fn phase(&self) -> Phase {
        self.points.phase
    }

    /// Returns the phase and its end points.
    #[inline]
    pub fn points(&self) -> &RecoveryPoints {
        &self.points
    }

    /// Returns the treatment of timeouts.
    #[inline]
    pub fn timeouts(&self) -> &Timeouts {
        &self.timeouts
    }

    /// Whether the sender can send data.
    #[inline]
    pub fn is_connected(&self) -> bool {
        !matches!(self.points.phase, Phase::Closed | Phase::SynSent)
    }

    /// Whether no segment is known to be missing; a reduction for a mark may be in progress.
    #[inline]
    pub fn is_quiet(&self) -> bool {
        matches!(self.points.phase, Phase::Open | Phase::Reducing)
    }

    /// Whether the sender is open, or in a fast recovery that continues while `una` is missing.
    #[inline]
    pub fn recovers_beyond(&self, una: u64) -> bool {
        match self.points.phase {
            Phase::Open => true,
            Phase::Recovery => una < self.points.end,
            _ => false,
        }
    }

    /// Whether a mark reduces the window now; `una` is the first missing segment.
    pub fn answers_marks(&self, una: u64) -> bool {
        match self.points.phase {
            Phase::Open => self.recovered_to.get().is_none_or(|end| una > end),
            Phase::Loss => {
                self.rules.have(RecoveryRule::MarkedInLoss)
                    && self.marked_to == PackedOption::NONE
                    && !self.lowered_for_mark_alone()
            }
            _ => false,
        }
    }

    /// Records that a mark has reduced the window; `nxt` is the next segment to be sent.
    pub fn answer_mark(&mut self, nxt: u64) {
        self.marked_last = true;
        match self.points.phase {
            Phase::Loss => self.marked_to = PackedOption::some(nxt),
            _ => self.go_on(Phase::Reducing, nxt),
        }
        if self.rules.have(RecoveryRule::WithinMark) || self.repeats() {
            // A fast recovery would belong to this reduction, regardless of earlier losses.
            self.points.recover = 0;
            self.recovered_to = PackedOption::NONE;
        }
    }

    /// Whether the loss of a SYN lowers the threshold.
    pub fn lowers_for_request(&self) -> bool {
        self.rules.have(RecoveryRule::LowersForRequest)
    }

    /// Whether the ACK that ends a fast recovery lets the window grow.
    pub fn grows_at_end(&self) -> bool {
        self.rules.have(RecoveryRule::GrowsAtEnd)
    }

    /// Whether a loss shown by duplicates is treated as a timeout.
    pub fn starts_over(&self) -> bool {
        self.rules.have(RecoveryRule::StartsOver)
    }

    /// Whether everything is retransmitted, regardless of SACK information.
    #[inline]
    pub fn ignores_sacks(&self) -> bool {
        self.goes_back() && self.points.phase == Phase::Loss
    }

    /// Whether SACK information is ignored after a timeout.
    pub fn goes_back(&self) -> bool {
        self.rules.have(RecoveryRule::GoesBack)
    }

    /// Enters a phase that ends when `end` is acknowledged.
    pub fn go_on(&mut self, phase: Phase, end: u64) {
        self.points.phase = phase;
        self.points.end = end;
    }

    /// Opens the sender, since nothing is missing; a mark may be unanswered.
    pub fn open(&mut self) {
        match self.marked_to.take() {
            Some(end) => self.go_on(Phase::Reducing, end),
            None => self.points.phase = Phase::Open,
        }
    }

    /// Records the end of the segments outstanding at a loss.
    pub fn note_loss(&mut self, nxt: u64) {
        self.points.recover = nxt;
        self.marked_to = PackedOption::NONE;
        self.recovered_to = PackedOption::NONE;
        self.inflated = false;
    }

    /// Starts a fast recovery; `nxt` is the next segment to be sent.
    pub fn enter(&mut self, nxt: u64) {
        let marked_to = match self.points.phase {
            Phase::Reducing => Some(self.points.end),
            _ => self.marked_to.get(),
        };
        // Linux continues an ongoing reduction for a mark to its end.
        let by_time = matches!(self.timeouts, Timeouts::ByTime(_));
        let (within_mark, repeats) = (self.rules.have(RecoveryRule::WithinMark), self.repeats());
        let end = marked_to.filter(|_| by_time || within_mark).unwrap_or(nxt);
        self.go_on(Phase::Recovery, end);
        self.had_partial_ack = false;
        self.marked_last = false;
        self.note_loss(match (within_mark, repeats) {
            (true, _) => end,
            (false, true) => 0,
            (false, false) => nxt,
        });
        self.recovered_to =
            if within_mark || repeats { PackedOption::some(end) } else { PackedOption::NONE };
    }

    /// Whether a mark has been answered that a fast recovery would belong to, so that it does not reduce the window
    /// further.
    pub fn is_within_mark(&self) -> bool {
        let in_loss = self.points.phase == Phase::Loss && self.marked_to != PackedOption::NONE;
        self.points.phase == Phase::Reducing
            || (in_loss && self.rules.have(RecoveryRule::WithinMark))
    }

    /// Whether the last reduction was for a mark, and a timeout keeps the threshold: if recoveries repeat (ns-2,
    /// `timeout_action`).
    pub fn lowered_for_mark_alone(&self) -> bool {
        self.marked_last && self.repeats()
    }

    /// Whether successive fast recoveries are allowed for data sent before the first.
    pub fn repeats(&self) -> bool {
        self.rules.have(RecoveryRule::Repeats)
    }

    /// Whether any progress ends the backoff of the RTO.
    pub fn progress_ends_backoff(&self) -> bool {
        self.rules.have(RecoveryRule::ProgressEndsBackoff)
    }

    /// Returns the effect of an ACK on the window after a number of duplicates that start no fast recovery: during
    /// recovery from a timeout, and after it because of spurious retransmissions.
    #[inline]
    pub fn inflation(
        &mut self,
        ack: &AckSample,
        duplicates: u32,
        out: &Outstanding,
    ) -> WindowInflation {
        if ack.advances() {
            let ends = core::mem::take(&mut self.inflated);
            return if ends { WindowInflation::Endpoints } else { WindowInflation::None };
        }
        let counts = match self.points.phase {
            Phase::Loss => true,
            Phase::Open => !self.points.allow_recovery(out.una()) && out.count() > 1,
            _ => false,
        };
        if !self.rules.have(RecoveryRule::Inflates) || !counts {
            return WindowInflation::None;
        }
        self.inflated |= duplicates >= DUP_THRESH;
        if ack.duplicate && duplicates > DUP_THRESH {
            WindowInflation::One
        } else {
            WindowInflation::None
        }
    }

    /// Whether a partial ACK reduces the window, and duplicates allow transmissions at a window below one.
    #[inline]
    pub fn deflates(&self) -> bool {
        self.rules.have(RecoveryRule::Deflates)
    }

    /// Whether an ACK shows a missing segment that is retransmitted regardless of the segments in flight.
    #[inline]
    pub fn retransmits_at_once(&self, ack: &AckSample) -> bool {
        self.rules.have(RecoveryRule::RetransmitsAtOnce)
            && self.points.phase == Phase::Recovery
            && ack.advances()
    }

    /// Handles an ACK of new data. Returns whether the timer keeps running as set.
    pub fn keeps_timer(&mut self) -> bool {
        let partial =
            self.rules.have(RecoveryRule::IsImpatient) && self.points.phase == Phase::Recovery;
        partial && core::mem::replace(&mut self.had_partial_ack, true)
    }

    /// Whether the reduction for a mark is complete: `una` is `segments` beyond its end, at least.
    #[inline]
    pub fn is_answered(&self, una: u64, segments: u64) -> bool {
        let segments = segments.max(self.rules.have(RecoveryRule::AnswersAbove).into());
        self.points.phase == Phase::Reducing && una >= self.points.end + segments
    }

    /// Whether an ACK is first checked for ending the recovery.
    #[inline]
    pub fn looks_back(&self) -> bool {
        matches!(self.timeouts, Timeouts::ByTime(_))
    }

    /// Checks first whether an ACK ends recovery, as a kernel with RACK does, so that this ACK finds the sender open:
    /// it lets the window grow, and losses that it shows start another recovery. `has_more`: new segments may be sent.
    #[inline]
    pub fn look_back(
        &mut self,
        ack: &AckSample,
        out: &Outstanding,
        has_more: bool,
    ) -> RecoveryOutcome {
        let Timeouts::ByTime(spurious) = &mut self.timeouts else { return RecoveryOutcome::None };
        spurious.note(ack);
        if !matches!(self.points.phase, Phase::Recovery | Phase::Loss) {
            return RecoveryOutcome::None;
        }
        let over = out.una() >= self.points.end;
        let is_spurious = self.undo.as_ref().is_some_and(|undo| undo.is_spurious(ack.echo));
        let undone = ack.advances() && is_spurious;
        match self.points.phase {
            Phase::Recovery if over => {
                if is_spurious {
                    RecoveryOutcome::ExitSpurious
                } else {
                    RecoveryOutcome::Exit
                }
            }
            Phase::Recovery if undone && out.board().retransmitted() == 0 => RecoveryOutcome::Undo,
            Phase::Loss if undone => RecoveryOutcome::Undo,
            Phase::Loss => match spurious.judge(ack, out, &mut self.points.end, has_more) {
                SpuriousRtoOutcome::Spurious => RecoveryOutcome::Undo,
                SpuriousRtoOutcome::OnlyNew => RecoveryOutcome::OnlyNew,
                SpuriousRtoOutcome::None if over => RecoveryOutcome::Exit,
                SpuriousRtoOutcome::None => RecoveryOutcome::None,
            },
            _ => RecoveryOutcome::None,
        }
    }

    /// Evaluates an ACK while F-RTO is in progress.
    pub fn judge_probing(
        &mut self,
        ack: &AckSample,
        out: &Outstanding,
        has_more: bool,
    ) -> Option<FrtoOutcome> {
        match &mut self.timeouts {
            Timeouts::Frto(frto) => Some(frto.judge(ack, out, has_more)),
            _ => None,
        }
    }

    /// Returns the action after an ACK with the losses `lost`, unless F-RTO has completed with it. `delivers`: the ACK
    /// may let the window grow; `slow_start`: the window is below the threshold.
    pub fn advance(
        &self,
        ack: &AckSample,
        lost: &Lost,
        out: &Outstanding,
        delivers: bool,
        slow_start: bool,
    ) -> LossOutcome {
        let any_lost = out.board().lost() > 0;
        match self.points.phase {
            Phase::Open | Phase::Reducing if any_lost => LossOutcome::EnterRecovery,
            Phase::Open if delivers => LossOutcome::Grow,
            Phase::Loss if lost.retransmissions > 0 => LossOutcome::EnterRecovery,
            Phase::Loss if delivers && self.grows_in_loss(ack, slow_start) => LossOutcome::Grow,
            _ => LossOutcome::Stay,
        }
    }

    /// Linux until 3.1, `tcp_may_raise_cwnd`: no growth above the threshold while ECE is set.
    fn grows_in_loss(&self, ack: &AckSample, slow_start: bool) -> bool {
        let by_time = matches!(self.timeouts, Timeouts::ByTime(_));
        by_time || !ack.congestion || (slow_start && !self.rules.have(RecoveryRule::MarkedInLoss))
    }

    /// Whether an ACK ends the current recovery, if that is not checked first ([`Self::look_back`]).
    #[inline]
    pub fn is_over(&self, ack: &AckSample, una: u64) -> bool {
        let reached = una >= self.points.end;
        match self.points.phase {
            Phase::Recovery if !self.points.partial_acks => ack.advances(),
            Phase::Recovery => reached && ack.advances(),
            Phase::Loss => reached && !matches!(self.timeouts, Timeouts::ByTime(_)),
            _ => false,
        }
    }

    /// Whether an acknowledgement up to `una` ends the current fast recovery.
    pub fn would_end_at(&self, una: u64) -> bool {
        !self.points.partial_acks || una >= self.points.end
    }

    /// Saves the window at a reduction that may turn out spurious; a reduction for a mark cannot.
    pub fn remember(&mut self, window: Window, marked: bool) {
        if let Timeouts::ByTime(_) = self.timeouts {
            self.undo = Some(Box::new(Undo::new(window, marked)));
        }
    }

    /// Forbids undoing the reduction, since congestion is echoed.
    pub fn forbid_undo(&mut self) {
        if let Some(undo) = &mut self.undo {
            undo.forbid();
        }
    }

    /// Discards the saved window at a reduction that cannot be undone.
    pub fn forget_undo(&mut self) {
        self.undo = None;
    }

    /// Takes the saved window, to undo the reduction.
    pub fn take_undo(&mut self) -> Option<Window> {
        self.undo.take()?.before()
    }

    /// Records a retransmission.
    pub fn on_retransmit(&mut self, now: Time) {
        if let Some(undo) = self.undo.as_mut().filter(|_| self.rules.have(RecoveryRule::Stamped)) {
            undo.on_retransmit(now);
        }
    }

    /// Starts F-RTO at a timeout.
    pub fn begin_probing(&mut self, out: &Outstanding) {
        let in_recovery = matches!(self.points.phase, Phase::Recovery | Phase::Loss);
        let outstanding_to =
            if in_recovery && self.points.end > out.una() { self.points.end } else { out.nxt() };
        self.timeouts = Timeouts::Frto(Frto::begin(outstanding_to));
        self.go_on(Phase::Probing, out.nxt());
    }

    /// Returns the window from which a timeout lowers the threshold. Further timeouts of the same data keep the
    /// threshold (RFC 5681, section 3.1), as does a timeout during a reduction.
    pub fn lowered_from(&self, cwnd: f64) -> Option<f64> {
        match (self.points.phase, &self.timeouts) {
            (Phase::Open, _) => Some(cwnd),
            (Phase::Recovery | Phase::Loss, Timeouts::StartOver)
                if self.rules.have(RecoveryRule::LowersEachTime) =>
            {
                Some(cwnd)
            }
            // Linux: another timeout while probing, after progress.
            (Phase::Probing, Timeouts::Frto(frto)) if frto.has_advanced() => Some(2.0),
            _ => None,
        }
    }

    /// Handles a timeout with loss detection by time. Returns whether the threshold is lowered.
    pub fn lose_by_time(&mut self, out: &Outstanding) -> bool {
        let Timeouts::ByTime(spurious) = &mut self.timeouts else { return false };
        let again = spurious.on_timeout(self.points.phase);
        self.points.phase == Phase::Open || out.una() >= self.points.end || again
    }

    /// Takes the timeout as genuine, because F-RTO had no new segment to send.
    pub fn take_timeout_as_genuine(&mut self) {
        if let Timeouts::ByTime(spurious) = &mut self.timeouts {
            spurious.take_as_genuine();
        }
    }
}

#[cfg(test)]
#[path = "recovery_tests.rs"]
mod tests;
