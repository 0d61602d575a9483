//! Where a sender stands between a loss and its retransmission, and what ends that.
//!
//! ```text
//!            a mark                    a loss                      all that was out then
//! Open ──────────────► Reducing ─────────────────► Recovery ─────────────────────────► Open
//!   │ timeout            │ answered: Open            │ timeout
//!   ▼                     ▼                           ▼
//! Probing (F-RTO) ─────► Loss ────────────────────────────────────────────────────────► Open
//! ```
//!
//! RFC 6675 (SACK), RFC 6582 (NewReno), RFC 5681 (Reno), RFC 3168 (ECN). What a timeout means is a
//! choice: [`super::timeout`].

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

/// What a timeout means.
#[derive(Clone, Copy, Debug)]
pub enum Timeouts {
    /// Everything is retransmitted.
    StartOver,
    /// F-RTO finds out first whether it was spurious (RFC 5682; Linux since 2.6.21).
    Frto(Frto),
    /// What is late is lost, as in Linux since 4.18.
    ByTime(SpuriousRto),
}

/// What an ACK ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoveryOutcome {
    /// Nothing.
    None,
    /// Nothing yet, and only new segments may follow: the next ACK tells whether a timeout was genuine.
    OnlyNew,
    /// Recovery is over: everything that was outstanding has arrived.
    Exit,
    /// The same, and the retransmissions were spurious.
    ExitSpurious,
    /// Recovery was spurious, and not everything has arrived: the window is restored.
    Undo,
}

/// What an ACK does to the window during recovery from a timeout, where duplicates release segments then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowInflation {
    /// Nothing.
    None,
    /// It widens by one.
    One,
    /// It comes back to the threshold, if it is above that.
    Endpoints,
}

/// What follows from an ACK's losses and marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossOutcome {
    /// Nothing.
    Stay,
    /// A fast recovery begins.
    EnterRecovery,
    /// The window may grow.
    Grow,
}

/// State of a sender's recovery.
#[derive(Clone, Debug)]
pub struct Recovery {
    points: RecoveryPoints,
    timeouts: Timeouts,
    rules: RecoveryRules,
    /// Where the segments end that were out when a mark lowered the window, since the last timeout.
    marked_to: PackedOption,
    /// It has been a partial ACK's turn in this fast recovery.
    had_partial_ack: bool,
    /// Where the last fast recovery ended, if no mark has been answered nor the timer run out since: until more is acknowledged
    /// none is answered, where recoveries and marks go together.
    recovered_to: PackedOption,
    /// It was a mark that the window came down for last, whatever has timed out since.
    marked_last: bool,
    /// Duplicates have released segments during recovery from a timeout, or would have, since the last ACK of new data.
    inflated: bool,
    /// What the reduction under way may be undone to.
    undo: Option<Box<Undo>>,
}

impl Recovery {
    /// As a plan has it.
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

    /// Where the sender stands.
    #[inline]
    pub fn phase(&self) -> Phase {
        self.points.phase
    }

    /// The same, and where that ends.
    #[inline]
    pub fn points(&self) -> &RecoveryPoints {
        &self.points
    }

    /// What a timeout means.
    #[inline]
    pub fn timeouts(&self) -> &Timeouts {
        &self.timeouts
    }

    /// Whether the sender can send data.
    #[inline]
    pub fn is_connected(&self) -> bool {
        !matches!(self.points.phase, Phase::Closed | Phase::SynSent)
    }

    /// Whether no segment is known to be missing but for marks.
    #[inline]
    pub fn is_quiet(&self) -> bool {
        matches!(self.points.phase, Phase::Open | Phase::Reducing)
    }

    /// Whether nothing is under way but a fast recovery, if anything is, and that goes on while `una` is missing.
    #[inline]
    pub fn recovers_beyond(&self, una: u64) -> bool {
        match self.points.phase {
            Phase::Open => true,
            Phase::Recovery => una < self.points.end,
            _ => false,
        }
    }

    /// Whether a mark lowers the window now, when `una` is missing.
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

    /// A mark has lowered the window while the sender would send `nxt` next.
    pub fn answer_mark(&mut self, nxt: u64) {
        self.marked_last = true;
        match self.points.phase {
            Phase::Loss => self.marked_to = PackedOption::some(nxt),
            _ => self.go_on(Phase::Reducing, nxt),
        }
        if self.rules.have(RecoveryRule::WithinMark) || self.repeats() {
            // A fast recovery would be part of this, whatever was lost before.
            self.points.recover = 0;
            self.recovered_to = PackedOption::NONE;
        }
    }

    /// Whether a lost connection request lowers the threshold.
    pub fn lowers_for_request(&self) -> bool {
        self.rules.have(RecoveryRule::LowersForRequest)
    }

    /// Whether the ACK that ends a fast recovery lets the window grow.
    pub fn grows_at_end(&self) -> bool {
        self.rules.have(RecoveryRule::GrowsAtEnd)
    }

    /// Whether a loss that duplicates show is answered as a timeout is.
    pub fn starts_over(&self) -> bool {
        self.rules.have(RecoveryRule::StartsOver)
    }

    /// Whether everything is retransmitted, whatever is sacked.
    #[inline]
    pub fn ignores_sacks(&self) -> bool {
        self.goes_back() && self.points.phase == Phase::Loss
    }

    /// After a timeout what is sacked counts for nothing.
    pub fn goes_back(&self) -> bool {
        self.rules.have(RecoveryRule::GoesBack)
    }

    /// Goes on to a phase that ends when `end` is acknowledged.
    pub fn go_on(&mut self, phase: Phase, end: u64) {
        self.points.phase = phase;
        self.points.end = end;
    }

    /// Nothing is missing any more; a mark may wait for its answer.
    pub fn open(&mut self) {
        match self.marked_to.take() {
            Some(end) => self.go_on(Phase::Reducing, end),
            None => self.points.phase = Phase::Open,
        }
    }

    /// What was outstanding at a loss ends here.
    pub fn note_loss(&mut self, nxt: u64) {
        self.points.recover = nxt;
        self.marked_to = PackedOption::NONE;
        self.recovered_to = PackedOption::NONE;
        self.inflated = false;
    }

    /// Begins a fast recovery while the sender would send `nxt` next.
    pub fn enter(&mut self, nxt: u64) {
        let marked_to = match self.points.phase {
            Phase::Reducing => Some(self.points.end),
            _ => self.marked_to.get(),
        };
        // Linux goes on with the reduction for a mark where there is one, to its end.
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

    /// Whether a mark has been answered that a fast recovery would be part of, and lower the window no further.
    pub fn is_within_mark(&self) -> bool {
        let in_loss = self.points.phase == Phase::Loss && self.marked_to != PackedOption::NONE;
        self.points.phase == Phase::Reducing
            || (in_loss && self.rules.have(RecoveryRule::WithinMark))
    }

    /// Whether what the window came down for last was a mark, and a timeout leaves the threshold: where recoveries
    /// repeat (ns-2, `timeout_action`).
    pub fn lowered_for_mark_alone(&self) -> bool {
        self.marked_last && self.repeats()
    }

    /// Whether fast recoveries may follow each other for what was sent before the first.
    pub fn repeats(&self) -> bool {
        self.rules.have(RecoveryRule::Repeats)
    }

    /// Any progress ends the doubling of the timeout.
    pub fn progress_ends_backoff(&self) -> bool {
        self.rules.have(RecoveryRule::ProgressEndsBackoff)
    }

    /// What an ACK means for the window after so many duplicates that begin no fast recovery: while a timeout is being
    /// recovered, and where that has ended with all that was out, for what was retransmitted spuriously.
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

    /// Whether the window comes down with a partial ACK, and duplicates release segments where it is below one.
    #[inline]
    pub fn deflates(&self) -> bool {
        self.rules.have(RecoveryRule::Deflates)
    }

    /// Whether an ACK shows something to be missing that is retransmitted whatever is in flight.
    #[inline]
    pub fn retransmits_at_once(&self, ack: &AckSample) -> bool {
        self.rules.have(RecoveryRule::RetransmitsAtOnce)
            && self.points.phase == Phase::Recovery
            && ack.advances()
    }

    /// New data is acknowledged. Returns whether the timer goes on as it was set.
    pub fn keeps_timer(&mut self) -> bool {
        let partial =
            self.rules.have(RecoveryRule::IsImpatient) && self.points.phase == Phase::Recovery;
        partial && core::mem::replace(&mut self.had_partial_ack, true)
    }

    /// Whether the reduction for a mark has been answered: so many segments past its end.
    #[inline]
    pub fn is_answered(&self, una: u64, segments: u64) -> bool {
        self.points.phase == Phase::Reducing && una >= self.points.end + segments
    }

    /// Whether an ACK is asked first what it ends.
    #[inline]
    pub fn looks_back(&self) -> bool {
        matches!(self.timeouts, Timeouts::ByTime(_))
    }

    /// A kernel that detects losses by time looks first whether recovery is over, so that the ACK which ends
    /// it finds the sender open: it lets the window grow, and what it shows to be lost begins another.
    /// `has_more`: there are new segments that may be sent.
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

    /// What an ACK means that comes while F-RTO asks.
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

    /// What follows from an ACK, whose losses are `lost` and which was not the last word of F-RTO.
    /// `delivers`: what lets a window grow; `slow_start`: the window is below its threshold.
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

    /// Linux until 3.1, `tcp_may_raise_cwnd`: not above the threshold while congestion is echoed.
    fn grows_in_loss(&self, ack: &AckSample, slow_start: bool) -> bool {
        let by_time = matches!(self.timeouts, Timeouts::ByTime(_));
        by_time || !ack.congestion || (slow_start && !self.rules.have(RecoveryRule::MarkedInLoss))
    }

    /// Whether an ACK ends what is under way, where that is not asked first ([`Self::look_back`]).
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

    /// Whether an acknowledgement up to `una` ends the fast recovery under way.
    pub fn would_end_at(&self, una: u64) -> bool {
        !self.points.partial_acks || una >= self.points.end
    }

    /// A reduction begins that may turn out to be without reason; one that was `marked` has one.
    pub fn remember(&mut self, window: Window, marked: bool) {
        if let Timeouts::ByTime(_) = self.timeouts {
            self.undo = Some(Box::new(Undo::new(window, marked)));
        }
    }

    /// Congestion is echoed: whatever the reduction was for, now there is a reason.
    pub fn forbid_undo(&mut self) {
        if let Some(undo) = &mut self.undo {
            undo.forbid();
        }
    }

    /// A reduction begins that nothing takes back.
    pub fn forget_undo(&mut self) {
        self.undo = None;
    }

    /// The reduction is undone. Returns the window to go back to.
    pub fn take_undo(&mut self) -> Option<Window> {
        self.undo.take()?.before()
    }

    /// A segment is retransmitted.
    pub fn on_retransmit(&mut self, now: Time) {
        if let Some(undo) = self.undo.as_mut().filter(|_| self.rules.have(RecoveryRule::Stamped)) {
            undo.on_retransmit(now);
        }
    }

    /// The timer runs out, and F-RTO asks whether it was too early.
    pub fn begin_probing(&mut self, out: &Outstanding) {
        let in_recovery = matches!(self.points.phase, Phase::Recovery | Phase::Loss);
        let outstanding_to =
            if in_recovery && self.points.end > out.una() { self.points.end } else { out.nxt() };
        self.timeouts = Timeouts::Frto(Frto::begin(outstanding_to));
        self.go_on(Phase::Probing, out.nxt());
    }

    /// The window from which a timeout lowers the threshold, if it does: further timeouts of the same
    /// data leave it as it is (RFC 5681, section 3.1), and so does one amid a reduction.
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

    /// The timer runs out where losses are detected by time. Returns whether the threshold comes down.
    pub fn lose_by_time(&mut self, out: &Outstanding) -> bool {
        let Timeouts::ByTime(spurious) = &mut self.timeouts else { return false };
        let again = spurious.on_timeout(self.points.phase);
        self.points.phase == Phase::Open || out.una() >= self.points.end || again
    }

    /// F-RTO had nothing new to ask with: the timeout counts as right.
    pub fn take_timeout_as_genuine(&mut self) {
        if let Timeouts::ByTime(spurious) = &mut self.timeouts {
            spurious.take_as_genuine();
        }
    }
}

#[cfg(test)]
#[path = "recovery_tests.rs"]
mod tests;
