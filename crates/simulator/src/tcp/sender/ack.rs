//! Processing of acknowledgements.

use tidegate_mechanisms::sender::Marks;
use tidegate_mechanisms::units::{Span, Time};

use super::feedback::{AckSample, RecoveryState};
use super::outstanding::Lost;
use super::phase::Phase;
use super::recovery::{LossOutcome, RecoveryOutcome, WindowInflation};
use super::samples::Samples;
use super::{Purpose, TcpSender};
use crate::packet::{OptionStore, Options, PackedPacket, Packet, SackBlocks, flags};
use crate::tcp::HostContext;
use crate::tcp::scoreboard::DUP_THRESH;

impl TcpSender {
    /// Handles an acknowledgement or a SYN/ACK.
    #[inline]
    pub fn on_ack(&mut self, packed: &PackedPacket, ctx: &mut HostContext) {
        let packet = &packed.packet(ctx.now);
        if self.is_expected(packet) {
            self.on_expected_ack(packet, ctx);
        } else if self.window.models_path() {
            self.on_other_ack(packed, ctx);
        } else if self.has_no_news(packet) {
            self.on_ack_without_news(packed, ctx);
        } else if self.tells_of_blocks_alone(packet) {
            self.on_blocks(packed, ctx);
        } else {
            self.on_other_ack(packed, ctx);
        }
    }

    #[inline(never)]
    fn on_other_ack(&mut self, packed: &PackedPacket, ctx: &mut HostContext) {
        let mut packet = packed.packet(ctx.now);
        let taken;
        let options = if packet.has(flags::OPTIONS) {
            taken = ctx.network.options.take(packet.payload);
            &taken
        } else {
            &Options::NONE
        };
        if packet.has(flags::SYN) {
            return self.on_syn_ack(&packet, options, ctx);
        }
        if !self.is_acceptable(&packet) {
            let una = self.outstanding.una();
            if !packet.has(flags::SACK) || packet.number >= una {
                return;
            }
            // A reordered ACK: its SACK blocks are valid all the same.
            packet.number = una;
        }
        self.on_any_ack(&packet, options, ctx);
    }

    /// Whether an ACK acknowledges new data while the sender is open, without marks or prices to read and without a model
    /// of the path.
    #[inline]
    fn is_expected(&self, packet: &Packet) -> bool {
        packet.flags & (flags::SYN | flags::OPTIONS | flags::ECE) == 0
            && self.moves_on(packet)
            && !self.ecn.counts_marks()
            && !self.feedback.needs_every_ack()
    }

    /// Whether an ACK acknowledges new data while the sender is open and the scoreboard is clean.
    #[inline]
    fn moves_on(&self, packet: &Packet) -> bool {
        let out = &self.outstanding;
        self.recovery.phase() == Phase::Open
            && out.board().is_clean()
            && (out.una() + 1..=out.nxt()).contains(&packet.number)
    }

    /// Whether such an ACK reports no mark, if marks are counted or prices read.
    #[inline]
    fn has_no_news(&self, packet: &Packet) -> bool {
        packet.flags & (flags::SYN | flags::OPTIONS) == 0
            && self.moves_on(packet)
            && !self.recovery.looks_back()
            && self.ecn.has_no_news(packet, packet.number - self.outstanding.una())
    }

    /// Whether an ACK acknowledges nothing and carries only SACK blocks, for a sender with RACK that is open or remains
    /// in fast recovery.
    #[inline]
    fn tells_of_blocks_alone(&self, packet: &Packet) -> bool {
        const BLOCKS: u32 = flags::OPTIONS | flags::SACK;
        let (out, recovery) = (&self.outstanding, &self.recovery);
        self.detection.probes()
            && packet.flags & (flags::SYN | flags::ECE | BLOCKS) == BLOCKS
            && packet.number == out.una()
            && recovery.recovers_beyond(out.una())
            && out.are_full()
            && OptionStore::has_blocks_alone(packet.payload)
            && self.conex.is_none()
            && !self.ecn.counts_marks()
    }

    fn is_acceptable(&self, packet: &Packet) -> bool {
        let out = &self.outstanding;
        (out.una()..=out.nxt()).contains(&packet.number) && self.recovery.phase() != Phase::Closed
    }

    /// Does the same as [`Self::on_any_ack`] for an expected ACK, without the cases that cannot occur.
    #[inline]
    fn on_expected_ack(&mut self, packet: &Packet, ctx: &mut HostContext) {
        let in_flight = self.outstanding.count();
        let mut samples = None;
        let ack = self.feedback.read_expected(packet, &mut self.outstanding, &mut samples);
        self.note(&ack, ctx.now);
        self.grow(&ack, in_flight, ctx.now);
        self.count_ack();
        self.send_after_progress(ctx);
    }

    /// Updates the congestion to be declared from an ACK.
    #[inline]
    fn expose(&mut self, ack: &AckSample, now: Time) {
        if let Some(conex) = &mut self.conex {
            conex.on_ack(ack, &self.ecn, &self.outstanding, now);
            if conex.goes() {
                self.stop();
            }
        }
    }

    /// Does the same as [`Self::on_any_ack`] for an ACK without news, if marks are counted or prices read.
    #[inline(never)]
    fn on_ack_without_news(&mut self, packed: &PackedPacket, ctx: &mut HostContext) {
        let (packet, now) = (&packed.packet(ctx.now), ctx.now);
        let in_flight = self.in_flight();
        let mut samples = None;
        let mut ack = self.feedback.read_expected(packet, &mut self.outstanding, &mut samples);
        ack.prices = self.feedback.prices_of(packet);
        self.ecn.pass_over(ack.delivered, ack.delivered_bytes);
        self.expose(&ack, now);
        self.note(&ack, now);
        if self.ecn.answers_in_proportion() || ack.prices != 0 {
            self.count_marks(&ack, now);
        }
        self.grow_after(&ack, in_flight, now);
        self.count_ack();
        self.send_after_progress(ctx);
    }

    /// Does the same as [`Self::on_any_ack`] for an ACK with blocks alone, the most frequent kind while segments are
    /// missing. It omits the cases that cannot occur, so that little code is executed.
    #[inline(never)]
    fn on_blocks(&mut self, packed: &PackedPacket, ctx: &mut HostContext) {
        let (packet, now) = (&packed.packet(ctx.now), ctx.now);
        let blocks = ctx.network.options.take_blocks(packet.payload);
        let in_flight = self.in_flight();
        let mut samples = None;
        let ack = self.feedback.read_blocks(packet, &blocks, &mut self.outstanding, &mut samples);
        self.note(&ack, now);
        let (lost, wait) = self.look_for_losses(now);
        if self.recovery.phase() == Phase::Open {
            if self.outstanding.board().lost() > 0 {
                self.enter_recovery(ctx);
            } else if self.detection.expects_reordering() && ack.delivered > 0 {
                self.grow_after(&ack, in_flight, now);
            }
        }
        if self.recovery.phase() == Phase::Recovery {
            self.reduce(&ack, &lost);
        }
        self.set_timer(&ack, wait, ctx);
        self.count_ack();
        ctx.prompt = self.recovery.phase() == Phase::Open;
        self.send(ctx);
    }

    /// Handles any ACK, in this order: feedback, end of recovery, loss detection, window and timer, transmission.
    fn on_any_ack(&mut self, packet: &Packet, options: &Options, ctx: &mut HostContext) {
        let now = ctx.now;
        let in_flight = self.in_flight();
        let earlier = self.ecn.backoff_lasts().then(|| self.feedback.round_trip().clone());
        let departed = self.outstanding.board().sacked();
        let mut samples = None;
        let ack = self.read(packet, options, &mut samples);
        self.expose(&ack, now);
        if self.recovery.phase() == Phase::Recovery {
            self.window.on_ack_in_recovery(&ack);
        }
        self.note(&ack, now);
        match self.recovery.inflation(&ack, self.detection.duplicates(), &self.outstanding) {
            WindowInflation::None => {}
            WindowInflation::One => self.window.widen(),
            WindowInflation::Endpoints => self.window.deflate_to_threshold(),
        }
        let by_count = self.window.limits_by_count() || self.recovery.repeats();
        let by_count = by_count && self.recovery.phase() != Phase::Recovery;
        if ack.advances() && by_count && !self.feedback.uses_sack() {
            self.outstanding.forget_unnamed();
        }
        if self.ecn.answers_in_proportion() || ack.prices != 0 {
            self.count_marks(&ack, now);
        }
        let rests = self.end_answered_reduction(now);
        let looks_back = self.recovery.looks_back();
        if looks_back && ack.congestion {
            // Also of the reduction that this ACK shows to be spurious (Linux, `tcp_fastretrans_alert`).
            self.recovery.forbid_undo();
        }
        let outcome = if looks_back { self.look_back(&ack, now) } else { RecoveryOutcome::None };
        if ack.congestion && !(rests && self.window.ends_apart()) && self.looks_at_echo(&ack) {
            self.answer_echo(&ack, earlier, ctx);
        }
        let probing = self.recovery.phase() == Phase::Probing;
        let lost_below = self.outstanding.board().lost_below();
        let (lost, wait) = self.find_losses(&ack, ctx);
        let next = self.next(&ack, &lost);
        match next {
            LossOutcome::EnterRecovery => self.enter_recovery(ctx),
            LossOutcome::Grow if !rests && !probing && self.grows_despite_echo(&ack) => {
                self.grow_after(&ack, in_flight, now);
            }
            _ => {}
        }
        self.reduce_or_exit(&ack, &lost, departed, now);
        if self.recovery.deflates() && self.recovery.phase() == Phase::Recovery && ack.advances() {
            self.deflate(ack.acknowledged, departed);
        }
        if self.recovery.retransmits_at_once(&ack) {
            // It may have been retransmitted after a timeout.
            self.outstanding.forget_retransmission_of_first();
            ctx.prompt = true;
            self.retransmit_next(ctx);
            ctx.prompt = false;
        }
        if self.window.models_path() {
            self.model(&ack, &lost, (lost_below, in_flight), now);
        }
        self.set_timer(&ack, wait, ctx);
        if ack.advances() && self.recovery.progress_ends_backoff() {
            self.feedback.end_backoff();
        }
        self.count_ack();
        match outcome {
            RecoveryOutcome::OnlyNew => self.ask_with_new(ctx),
            // In ns-2, the ACK that starts a fast recovery allows only the retransmission.
            _ if next == LossOutcome::EnterRecovery && self.window.counts_by_acks() => {}
            _ => {
                ctx.prompt = !ack.advances() && self.recovery.phase() == Phase::Open;
                self.send(ctx);
            }
        }
    }

    /// Whether ECE is evaluated: with recoveries that repeat, an ongoing one reads it only on ACKs of new data.
    fn looks_at_echo(&self, ack: &AckSample) -> bool {
        ack.advances() || !self.recovery.repeats() || self.ecn.counts_marks()
    }

    /// Whether an ACK with an unanswered ECE lets the window grow: not with recoveries that repeat.
    pub(super) fn grows_despite_echo(&self, ack: &AckSample) -> bool {
        !ack.congestion || !self.recovery.repeats()
    }

    /// Sends new segments, whose ACKs show whether a timeout was genuine; without any, it counts as genuine.
    #[cold]
    fn ask_with_new(&mut self, ctx: &mut HostContext) {
        if !self.send_only_new(ctx) {
            self.recovery.take_timeout_as_genuine();
            self.send(ctx);
        }
    }

    #[inline]
    fn read<'a>(
        &mut self,
        packet: &Packet,
        options: &Options,
        samples: &'a mut Option<Samples>,
    ) -> AckSample<'a> {
        let TcpSender { feedback, ecn, outstanding, recovery, .. } = self;
        let stage = match recovery.phase() {
            Phase::Loss => RecoveryState::Loss,
            Phase::Recovery if !recovery.would_end_at(packet.number) => RecoveryState::Recovery,
            _ => RecoveryState::Open,
        };
        let (ignores_sacks, none) = (recovery.ignores_sacks(), SackBlocks::default());
        let sack = if ignores_sacks { &none } else { &options.sack };
        let mut ack = feedback.read(packet, (sack, options), stage, ecn, outstanding, samples);
        if ignores_sacks {
            ack.duplicate = feedback.is_duplicate(&ack, options);
        }
        ack
    }

    /// Updates loss detection; a tail loss repaired by the probe reduces the window.
    #[inline(always)]
    fn note(&mut self, ack: &AckSample, now: Time) {
        if self.detection.note(ack, self.outstanding.una()) {
            self.reduce_for_tail(now);
        }
    }

    #[inline(never)]
    fn count_marks(&mut self, ack: &AckSample, now: Time) {
        self.window.count_marks(&Marks {
            now,
            delivered: ack.delivered,
            marked: ack.marked,
            prices: ack.prices,
            una: self.outstanding.una(),
            nxt: self.outstanding.nxt(),
            in_recovery: self.recovery.phase() != Phase::Open,
        });
    }

    /// Returns the losses that the ACK shows, and the time until more may be detected.
    #[inline]
    fn find_losses(&mut self, ack: &AckSample, ctx: &HostContext) -> (Lost, Option<Span>) {
        if self.recovery.phase() == Phase::Probing {
            (self.judge_probing(ack, ctx), None)
        } else {
            self.look_for_losses(ctx.now)
        }
    }

    #[cold]
    fn judge_probing(&mut self, ack: &AckSample, ctx: &HostContext) -> Lost {
        let (out, lost_before) = (&self.outstanding, self.outstanding.board().lost());
        let has_more = self.stream.ready(out.nxt()) > 0 && out.count() <= self.window.limit();
        if let Some(finding) = self.recovery.judge_probing(ack, out, has_more) {
            self.answer(finding, ctx);
        }
        let segments = self.outstanding.board().lost().saturating_sub(lost_before);
        Lost { segments, ..Lost::default() }
    }

    #[inline(always)]
    pub(super) fn look_for_losses(&mut self, now: Time) -> (Lost, Option<Span>) {
        let points = self.recovery.points();
        let detected = self.detection.judge(&self.outstanding, points, &self.feedback, now);
        detected.map_or((Lost::default(), None), |detected| {
            (self.outstanding.lose(&detected, now), detected.wait)
        })
    }

    fn next(&self, ack: &AckSample, lost: &Lost) -> LossOutcome {
        let after_mark = self.recovery.phase() == Phase::Loss && self.recovery.is_within_mark();
        if after_mark && ack.duplicate && self.detection.duplicates() == DUP_THRESH {
            return LossOutcome::EnterRecovery;
        }
        let slow_start = self.window.get().in_slow_start();
        let reorders = self.detection.expects_reordering();
        let delivers = ack.advances() || (reorders && ack.delivered > 0);
        self.recovery.advance(ack, lost, &self.outstanding, delivers, slow_start)
    }

    #[inline(always)]
    fn grow(&mut self, ack: &AckSample, in_flight: u32, now: Time) {
        let srtt = self.feedback.round_trip().srtt();
        self.window.grow(ack, in_flight, srtt, &self.outstanding, now);
    }

    /// Lets the window grow after an ACK in any other case.
    #[inline(never)]
    pub(super) fn grow_after(&mut self, ack: &AckSample, in_flight: u32, now: Time) {
        self.grow(ack, in_flight, now);
    }

    /// Deflates the window after a partial ACK of `acknowledged` segments: the inflation by duplicates is removed
    /// except for one segment, and the rest is taken from the window, which stays at one or more (ns-2,
    /// `partialnewack`).
    fn deflate(&mut self, acknowledged: u32, departed: u32) {
        let more = acknowledged.checked_sub(departed);
        if more.is_some() {
            self.outstanding.take_as_departed(1);
        }
        self.window.deflate(more.unwrap_or(0));
    }

    /// Restarts the timer after progress, or sets it to check for losses after `wait`.
    #[inline(always)]
    fn set_timer(&mut self, ack: &AckSample, wait: Option<Span>, ctx: &mut HostContext) {
        if let Some(wait) = wait {
            let wait = self.timer.in_ticks(wait).min(self.feedback.round_trip().rto());
            self.timer.set(Purpose::Reordering, ctx.now + wait, ctx);
        } else if (ack.advances() && !self.recovery.keeps_timer())
            || self.timer.restarts_on_each_ack()
            || self.head_is_younger(ack, ctx.now)
        {
            self.rearm(ctx);
        }
    }

    /// Whether the sacked segments were sent before the last transmission of the first segment. Otherwise arriving new
    /// data would postpone the timeout of a retransmission forever.
    fn head_is_younger(&self, ack: &AckSample, now: Time) -> bool {
        let out = &self.outstanding;
        let rtt = ack.samples.and_then(Samples::of_first_sacked);
        let Some(rtt) = rtt.filter(|_| !out.is_empty()) else { return false };
        out.sent_at(out.una()).is_some_and(|sent| rtt > now.since(sent))
    }

    #[inline]
    fn count_ack(&mut self) {
        self.counts.acks += 1;
        self.counts.cwnd_sum += self.window.cwnd();
        let srtt_ns = self.feedback.round_trip().srtt_ns();
        self.counts.srtt_sum_ns += srtt_ns;
        if srtt_ns == 0 {
            self.counts.acks_without_srtt += 1;
        }
    }
}
