//! The sending end of a connection, in parts that each write their own state alone:
//!
//! ```text
//! ACK ─► feedback ──► detection ──► recovery ──► window ──► transmit ─► segments
//!        what it      what is       open, re-    how much   lost ones first,
//!        tells        lost          covering …   in flight  then the stream
//!            └─► outstanding: what was sent and is not acknowledged ◄┘
//! ```
//!
//! What a part has learned goes on as a value; where an event moves several of them, the order stands in
//! one place, here ([`Sender::on_ack`]) or in [`time_out`]. What a profile chooses is a variant of the part
//! that it concerns, made with the sender. Sequence machinery in the style of RFC 6675 and of Linux.

mod bursts;
mod conex;
mod detection;
mod ecn;
mod feedback;
mod frto;
pub mod info;
pub mod kernel;
mod outstanding;
mod premature;
mod rack;
mod recovery;
mod samples;
pub mod stream;
mod time_out;
mod timer;
mod transmit;
mod undo;
mod window;

use tidegate_mechanisms::price::Encoding;
use tidegate_mechanisms::sender::Marks;
use tidegate_mechanisms::units::{Span, Time};
use tidegate_scenario::plan::TcpPlan;

use super::accecn::Outcome;
use super::reduction::Progress;
use super::{Door, Sizes};
use crate::packet::{Options, Packet, Parcel, SackBlocks, flags};
use conex::Conex;
use detection::Detection;
use ecn::Ecn;
use feedback::{Feedback, Stage, Told};
use outstanding::{Lost, Outstanding};
use recovery::{Next, Phase, Recovery, Turn};
use samples::Samples;
use stream::Stream;
pub use timer::Purpose;
use timer::Timer;
use transmit::Transmit;
use window::SendWindow;

/// Counters of a sender from the start of a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct SenderCounts {
    /// Segments and connection requests sent, again or for the first time.
    pub sent: u64,
    /// Of them, those sent again.
    pub retransmits: u64,
    /// Time-outs.
    pub timeouts: u64,
    /// Fast recoveries.
    pub recoveries: u64,
    /// ACKs over which the means below are taken.
    pub acks: u64,
    /// Sum of the window over ACKs, segments.
    pub cwnd_sum: f64,
    /// Sum of the smoothed round-trip time over ACKs, ns.
    pub srtt_sum_ns: u64,
}

/// One sender.
pub struct Sender {
    /// What the application has written.
    stream: Stream,
    /// What was sent and is not acknowledged.
    outstanding: Outstanding,
    /// What ACKs tell.
    feedback: Feedback,
    /// What congestion marks mean.
    ecn: Ecn,
    /// What is lost.
    detection: Detection,
    /// Where the sender stands.
    recovery: Recovery,
    /// How much may be in flight.
    window: SendWindow,
    /// When something is done unasked.
    timer: Timer,
    /// How segments leave.
    transmit: Transmit,
    /// What is declared of congestion, by those who do.
    conex: Option<Box<Conex>>,
    /// Counters.
    pub counts: SenderCounts,
}

impl Sender {
    /// A closed sender with nothing to send yet.
    pub fn new(plan: &TcpPlan, sizes: Sizes) -> Self {
        let mss = sizes.mss();
        let detection = Detection::new(plan);
        let pushes = plan.delayed_acks().is_some_and(|delay| delay.quick_push);
        let feedback = Feedback::new(plan);
        Sender {
            stream: Stream::new(mss),
            outstanding: Outstanding::new(detection.memory(), mss),
            conex: Conex::new(plan, &sizes, feedback.uses_sack()),
            feedback,
            ecn: Ecn::new(plan, mss),
            detection,
            recovery: Recovery::new(plan),
            window: SendWindow::new(plan, mss),
            timer: Timer::new(plan.rearm_on_repair, plan.rearm_on_each_ack),
            transmit: Transmit::new(sizes, plan.segment_bursts, pushes),
            counts: SenderCounts::default(),
        }
    }

    /// Asks for what it keeps elsewhere.
    #[inline(always)]
    pub fn prefetch_rest(&self) {
        self.outstanding.prefetch_rest();
        self.detection.prefetch_rest();
    }

    /// Its controller goes by prices, which travel so.
    pub fn read_prices(&mut self, encoding: Encoding) {
        self.window.read_prices(encoding);
        if encoding.is_in_word() {
            self.feedback.read_prices();
        }
    }

    /// The application writes so many bytes more; [`u64::MAX`] for no end of them. What does not fill a
    /// segment waits for the next bytes, for [`Sender::push`] or [`Sender::end`]. Once all that is to be
    /// said at a time is said, [`Sender::on_written`] lets it leave.
    pub fn write(&mut self, bytes: u64) {
        self.stream.write(bytes);
    }

    /// What is written so far may leave in a segment that is not full.
    pub fn push(&mut self) {
        self.stream.push();
    }

    /// Nothing more will be written.
    pub fn end(&mut self) {
        self.stream.end();
    }

    /// Nothing more will be written, and what has not left will not. A connection that is not there yet is
    /// no longer requested.
    pub fn stop(&mut self) {
        self.stream.stop(self.outstanding.nxt());
        if self.recovery.phase() == Phase::SynSent {
            self.recovery.go_on(Phase::Closed, 0);
            self.timer.clear();
        }
    }

    /// Sends what has been written, as far as the window allows. To be called after [`Sender::write`],
    /// [`Sender::push`] and [`Sender::end`] once the connection has been requested; before, it does nothing.
    pub fn on_written(&mut self, door: &mut Door) {
        if self.recovery.is_connected() {
            self.restart_after_pause(door.now);
            self.send(door);
        }
    }

    /// What the application writes after a pause finds a smaller window (RFC 2861).
    fn restart_after_pause(&mut self, now: Time) {
        let out = &self.outstanding;
        let (silence, rto) = (self.transmit.silence(now), self.feedback.round_trip().rto());
        if out.is_empty() && silence > rto && self.stream.ready(out.nxt()) > 0 {
            self.window.restart(silence, rto, self.recovery.phase());
        }
    }

    /// The first segment that is not acknowledged.
    #[inline]
    pub fn una(&self) -> u64 {
        self.outstanding.una()
    }

    /// What was written and is not acknowledged, bytes; of a segment that was not full as if it were.
    pub fn unacknowledged_bytes(&self) -> u64 {
        self.stream.bytes_after(self.outstanding.una())
    }

    /// Whether everything that was written, and need not wait for more, is acknowledged.
    #[inline]
    pub fn has_all_acknowledged(&self) -> bool {
        self.stream.is_acknowledged(self.outstanding.una())
    }

    /// Whether all that was and will be written is acknowledged.
    #[inline]
    pub fn is_done(&self) -> bool {
        self.stream.is_done(self.outstanding.una())
    }

    /// Whether the connection agreed on SACK.
    pub fn uses_sack(&self) -> bool {
        self.feedback.uses_sack()
    }

    /// Congestion window, segments.
    pub fn cwnd(&self) -> f64 {
        self.window.cwnd()
    }

    /// Smoothed round-trip time in seconds, if there is one.
    pub fn srtt_s(&self) -> Option<f64> {
        self.feedback.round_trip().srtt().map(|srtt| srtt.as_secs())
    }

    /// The price of its path as it knows it, if it goes by prices.
    pub fn path_price(&self) -> Option<f64> {
        self.window.path_price()
    }

    /// What the timer is set for.
    #[cfg(test)]
    pub(crate) fn awaits(&self) -> Purpose {
        self.timer.purpose()
    }

    /// Segments that count against the window.
    #[inline]
    fn in_flight(&self) -> u32 {
        let duplicates = self.detection.duplicates();
        self.window.in_flight(&self.outstanding, self.recovery.phase(), duplicates)
    }

    /// Requests the connection.
    pub fn open(&mut self, door: &mut Door) {
        self.recovery.go_on(Phase::SynSent, 0);
        self.send_request(door);
    }

    /// The other end has requested the connection, got the answer that was given at `answered`, and sent
    /// something; the handshake has ended in `outcome`. A sender that is connected already, or requested it,
    /// takes no notice.
    pub fn accept(&mut self, answered: Time, outcome: Outcome, door: &mut Door) {
        if self.recovery.phase() == Phase::Closed {
            self.ecn.adopt(outcome, true);
            self.establish(answered, door);
        }
    }

    /// What it requested at `requested`, or answered, is answered: the handshake has ended in `outcome`.
    pub fn on_answer(&mut self, requested: Time, outcome: Outcome, door: &mut Door) {
        if self.recovery.phase() == Phase::SynSent {
            self.ecn.adopt(outcome, true);
            self.establish(requested, door);
        }
    }

    fn establish(&mut self, request: Time, door: &mut Door) {
        let rtt = door.now.since(request);
        self.feedback.begin(rtt, door.now);
        self.detection.begin(rtt);
        self.transmit.note_activity(door.now);
        self.recovery.open();
        self.timer.clear();
        self.send(door);
    }

    /// An acknowledgement (or the answer to the request) arrives.
    #[inline]
    pub fn on_ack(&mut self, parcel: &Parcel, door: &mut Door) {
        let packet = &parcel.packet(door.now);
        if self.is_expected(packet) {
            self.on_expected_ack(packet, door);
        } else if self.has_no_news(packet) {
            self.on_ack_without_news(parcel, door);
        } else {
            self.on_other_ack(parcel, door);
        }
    }

    #[inline(never)]
    fn on_other_ack(&mut self, parcel: &Parcel, door: &mut Door) {
        let mut packet = parcel.packet(door.now);
        let taken;
        let options = if packet.has(flags::OPTIONS) {
            taken = door.network.options.take(packet.word);
            &taken
        } else {
            &Options::NONE
        };
        if packet.has(flags::SYN) {
            return self.on_syn_ack(&packet, options, door);
        }
        if !self.is_acceptable(&packet) {
            let una = self.outstanding.una();
            if !packet.has(flags::SACK) || packet.number >= una {
                return;
            }
            // Overtaken by another ACK: what it says to have arrived beyond holds all the same.
            packet.number = una;
        }
        self.on_any_ack(&packet, options, door);
    }

    /// The request is answered.
    #[cold]
    fn on_syn_ack(&mut self, packet: &Packet, options: &Options, door: &mut Door) {
        if self.recovery.phase() != Phase::SynSent {
            return;
        }
        if self.ecn.on_answer(packet, options.received_bytes) {
            // As for one that was lost (RFC 5562, section 3.1).
            self.window.allow(1);
        }
        self.establish(packet.stamp, door);
    }

    /// Whether an ACK is of new data, and nothing is amiss or to be counted.
    #[inline]
    fn is_expected(&self, packet: &Packet) -> bool {
        packet.flags & (flags::SYN | flags::OPTIONS | flags::ECE) == 0
            && self.moves_on(packet)
            && !self.ecn.counts_marks()
            && !self.feedback.reads_prices()
    }

    /// Whether an ACK is of new data, and nothing is amiss.
    #[inline]
    fn moves_on(&self, packet: &Packet) -> bool {
        let out = &self.outstanding;
        self.recovery.phase() == Phase::Open
            && out.board().is_clean()
            && (out.una() + 1..=out.nxt()).contains(&packet.number)
    }

    /// The same where marks are counted or prices read, and it tells of no mark.
    #[inline]
    fn has_no_news(&self, packet: &Packet) -> bool {
        packet.flags & (flags::SYN | flags::OPTIONS) == 0
            && self.moves_on(packet)
            && !self.recovery.looks_back()
            && self.ecn.has_no_news(packet, packet.number - self.outstanding.una())
    }

    fn is_acceptable(&self, packet: &Packet) -> bool {
        let out = &self.outstanding;
        (out.una()..=out.nxt()).contains(&packet.number) && self.recovery.phase() != Phase::Closed
    }

    /// The same as [`Self::on_any_ack`], without looking at what cannot be.
    #[inline]
    fn on_expected_ack(&mut self, packet: &Packet, door: &mut Door) {
        let in_flight = self.outstanding.count();
        let mut samples = None;
        let told = self.feedback.read_expected(packet, &mut self.outstanding, &mut samples);
        self.note(&told, door.now);
        self.grow(&told, in_flight, door.now);
        self.rearm(door);
        self.count_ack();
        self.send(door);
    }

    /// The same again, where marks are counted or prices read.
    #[inline(never)]
    fn on_ack_without_news(&mut self, parcel: &Parcel, door: &mut Door) {
        let (packet, now) = (&parcel.packet(door.now), door.now);
        let in_flight = self.in_flight();
        let mut samples = None;
        let mut told = self.feedback.read_expected(packet, &mut self.outstanding, &mut samples);
        told.prices = self.feedback.prices_of(packet);
        self.ecn.pass_over(told.delivered, told.delivered_bytes);
        if let Some(conex) = &mut self.conex {
            conex.on_ack(&told, &self.ecn, &self.outstanding, now);
        }
        self.note(&told, now);
        if self.ecn.answers_in_proportion() || told.prices != 0 {
            self.count_marks(&told, now);
        }
        self.grow_after(&told, in_flight, now);
        self.rearm(door);
        self.count_ack();
        self.send(door);
    }

    /// From top to bottom: what the ACK tells, what it ends, what it shows to be lost, what follows for the
    /// window and the timer, and what leaves.
    fn on_any_ack(&mut self, packet: &Packet, options: &Options, door: &mut Door) {
        let now = door.now;
        let in_flight = self.in_flight();
        let mut samples = None;
        let told = self.read(packet, options, &mut samples);
        if let Some(conex) = &mut self.conex {
            conex.on_ack(&told, &self.ecn, &self.outstanding, now);
        }
        if self.recovery.phase() == Phase::Recovery {
            self.window.on_ack_in_recovery(&told);
        }
        self.note(&told, now);
        let by_count = self.window.limits_by_count() && self.recovery.phase() != Phase::Recovery;
        if told.advances() && by_count && !self.feedback.uses_sack() {
            self.outstanding.forget_unnamed();
        }
        if self.ecn.answers_in_proportion() || told.prices != 0 {
            self.count_marks(&told, now);
        }
        let rests = self.end_answered_reduction(now);
        let looks_back = self.recovery.looks_back();
        let turn = if looks_back { self.look_back(&told, now) } else { Turn::None };
        if told.congestion {
            self.answer_echo(door);
        }
        let probing = self.recovery.phase() == Phase::Probing;
        let (lost, wait) = self.find_losses(&told, door);
        let next = self.next(&told, &lost);
        match next {
            Next::Enter => self.enter_recovery(door),
            Next::Grow if !rests && !probing => self.grow_after(&told, in_flight, now),
            _ => {}
        }
        self.reduce_or_leave(&told, &lost, now);
        self.set_timer(&told, wait, door);
        self.count_ack();
        match turn {
            Turn::OnlyNew => self.ask_with_new(door),
            // In ns-2 the ACK that begins a fast recovery lets go of its repair alone.
            _ if next == Next::Enter && self.window.counts_by_acks() => {}
            _ => {
                door.prompt = !told.advances() && self.recovery.phase() == Phase::Open;
                self.send(door);
            }
        }
    }

    /// Sends new segments, whose ACK tells whether a time-out was right; if there is none, it counts as right.
    #[cold]
    fn ask_with_new(&mut self, door: &mut Door) {
        if !self.send_only_new(door) {
            self.recovery.take_time_out_as_right();
            self.send(door);
        }
    }

    #[inline]
    fn read<'a>(
        &mut self,
        packet: &Packet,
        options: &Options,
        samples: &'a mut Option<Samples>,
    ) -> Told<'a> {
        let Sender { feedback, ecn, outstanding, recovery, .. } = self;
        let stage = match recovery.phase() {
            Phase::Loss => Stage::AllLost,
            Phase::Recovery if !recovery.would_end_at(packet.number) => Stage::Repairing,
            _ => Stage::Open,
        };
        let (ignores_sacks, none) = (recovery.ignores_sacks(), SackBlocks::default());
        let sack = if ignores_sacks { &none } else { &options.sack };
        let mut told = feedback.read(packet, (sack, options), stage, ecn, outstanding, samples);
        if ignores_sacks {
            told.duplicate = feedback.is_duplicate(&told, options);
        }
        told
    }

    /// Detection takes note; a loss at the tail that the probe has repaired shrinks the window.
    #[inline(always)]
    fn note(&mut self, told: &Told, now: Time) {
        if self.detection.note(told, self.outstanding.una()) {
            self.reduce_for_tail(now);
        }
    }

    #[cold]
    fn reduce_for_tail(&mut self, now: Time) {
        self.window.reduce_at_once(self.in_flight(), now);
        self.ecn.announce_reduction();
        self.detection.forget_probe();
    }

    #[inline(never)]
    fn count_marks(&mut self, told: &Told, now: Time) {
        self.window.count_marks(&Marks {
            now,
            delivered: told.delivered,
            marked: told.marked,
            prices: told.prices,
            una: self.outstanding.una(),
            nxt: self.outstanding.nxt(),
            repairing: self.recovery.phase() != Phase::Open,
        });
    }

    /// Ends the reduction for a mark, if it was answered. Returns whether the window is to rest.
    fn end_answered_reduction(&mut self, now: Time) -> bool {
        let answered =
            self.recovery.is_answered(self.outstanding.una(), self.ecn.segments_to_answer());
        let rests = answered && self.window.rests_after_reduction();
        if answered {
            self.leave(now);
        }
        rests
    }

    /// Ends what an ACK shows to be over, or to have been in vain.
    #[inline(never)]
    fn look_back(&mut self, told: &Told, now: Time) -> Turn {
        let has_more = self.recovery.phase() == Phase::Loss && self.available() > 0;
        let turn = self.recovery.look_back(told, &self.outstanding, has_more);
        match turn {
            Turn::None | Turn::OnlyNew => {}
            Turn::Leave => self.leave(now),
            Turn::LeaveInVain => {
                self.take_declared_back(now);
                self.leave(now);
                self.undo();
            }
            Turn::TakeBack => {
                self.take_declared_back(now);
                self.undo();
                self.outstanding.forget_losses();
                self.detection.look_again();
                self.recovery.open();
                self.window.on_repaired(now);
            }
        }
        turn
    }

    /// The window goes back to what it was before the reduction under way.
    fn undo(&mut self) {
        let raised = self.recovery.take_undo().is_some_and(|before| self.window.go_back(before));
        if raised {
            self.ecn.withhold_announcement();
        }
    }

    /// What has been sent again was not lost, and need not be declared.
    fn take_declared_back(&mut self, now: Time) {
        if let Some(conex) = &mut self.conex {
            conex.on_repairs_in_vain(self.outstanding.una(), now);
        }
    }

    /// RFC 3168, section 6.1.2: once per window, also when the echo comes with the ACK of all that
    /// was outstanding.
    #[inline(never)]
    fn answer_echo(&mut self, door: &mut Door) {
        if self.ecn.answers_in_proportion() && self.window.lowers_for_marks() {
            return;
        }
        self.recovery.forbid_undo();
        if self.recovery.answers_marks() {
            for _ in 0..self.ecn.doublings(self.window.cwnd(), self.outstanding.una()) {
                self.feedback.back_off();
            }
            self.window.reduce_for_mark(self.in_flight(), door.now);
            self.ecn.announce_reduction();
            self.detection.forget_probe();
            self.recovery.forget_undo();
            self.recovery.answer_mark(self.outstanding.nxt());
            // A window of one segment cannot be halved: the next waits for the timer.
            if self.window.cwnd() < 1.0 {
                self.restart_timer(door);
            }
        }
    }

    /// What the ACK shows to be lost, and how long until more may be.
    #[inline]
    fn find_losses(&mut self, told: &Told, door: &Door) -> (Lost, Option<Span>) {
        if self.recovery.phase() == Phase::Probing {
            (self.judge_probing(told, door), None)
        } else {
            self.look_for_losses(door.now)
        }
    }

    #[cold]
    fn judge_probing(&mut self, told: &Told, door: &Door) -> Lost {
        let (out, lost_before) = (&self.outstanding, self.outstanding.board().lost());
        let has_more = self.stream.ready(out.nxt()) > 0 && out.count() <= self.window.limit();
        if let Some(finding) = self.recovery.judge_probing(told, out, has_more) {
            self.answer(finding, door);
        }
        let segments = self.outstanding.board().lost().saturating_sub(lost_before);
        Lost { segments, ..Lost::default() }
    }

    #[inline]
    fn look_for_losses(&mut self, now: Time) -> (Lost, Option<Span>) {
        let points = self.recovery.points();
        let judgement = self.detection.judge(&self.outstanding, points, &self.feedback, now);
        judgement.map_or((Lost::default(), None), |judgement| {
            (self.outstanding.lose(&judgement, now), judgement.wait)
        })
    }

    fn next(&self, told: &Told, lost: &Lost) -> Next {
        let slow_start = self.window.get().in_slow_start();
        let reorders = self.detection.expects_reordering();
        let delivers = told.advances() || (reorders && told.delivered > 0);
        self.recovery.advance(told, lost, &self.outstanding, delivers, slow_start)
    }

    fn enter_recovery(&mut self, door: &mut Door) {
        self.counts.recoveries += 1;
        let marked = self.recovery.phase() == Phase::Reducing;
        self.recovery.remember(self.window.get(), marked);
        // A reduction in proportion to the marks may have been a small one (RFC 8257, section 3.5).
        if !marked || self.ecn.answers_in_proportion() {
            self.window.reduce_for_loss(self.in_flight(), door.now);
            self.ecn.announce_reduction();
            self.detection.forget_probe();
        }
        self.recovery.enter(self.outstanding.nxt());
        self.feedback.on_recovery();
        if !self.timer.restarts_on_repair() {
            self.restart_timer(door);
        }
        // RFC 6675, step 4.3: the first lost segment goes out whatever is in flight.
        if self.window.is_reduced_at_once() {
            door.prompt = true;
            self.repair_next(door);
            door.prompt = false;
        }
        self.window.begin_recovery(&self.outstanding);
    }

    #[inline(always)]
    fn grow(&mut self, told: &Told, in_flight: u32, now: Time) {
        let srtt = self.feedback.round_trip().srtt();
        self.window.grow(told, in_flight, srtt, &self.outstanding, now);
    }

    /// The same where something has been amiss.
    #[inline(never)]
    fn grow_after(&mut self, told: &Told, in_flight: u32, now: Time) {
        self.grow(told, in_flight, now);
    }

    /// Ends the repair that is over, or lets the window come down further.
    fn reduce_or_leave(&mut self, told: &Told, lost: &Lost, now: Time) {
        if self.recovery.is_over(told, self.outstanding.una()) {
            let grows = self.recovery.phase() == Phase::Recovery && self.recovery.grows_at_end();
            self.leave(now);
            if grows {
                self.grow_after(told, self.window.allowed(), now);
            }
        } else if matches!(self.recovery.phase(), Phase::Recovery | Phase::Reducing)
            && !self.window.is_reduced_at_once()
        {
            self.window.reduce(Progress {
                delivered: told.departed,
                in_flight: self.in_flight(),
                safe: told.advances() && !lost.any(),
            });
        }
    }

    /// A repair or a reduction is over.
    fn leave(&mut self, now: Time) {
        if self.recovery.phase() != Phase::Loss {
            self.window.finish();
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
        self.window.on_repaired(now);
        if let Some(conex) = &mut self.conex {
            conex.on_repaired();
        }
    }

    /// Sets the timer anew after progress, or to look again for losses after `wait`.
    fn set_timer(&mut self, told: &Told, wait: Option<Span>, door: &mut Door) {
        if let Some(wait) = wait {
            let wait = self.timer.in_ticks(wait).min(self.feedback.round_trip().rto());
            self.timer.set(Purpose::Reordering, door.now + wait, door);
        } else if told.advances()
            || self.timer.restarts_on_each_ack()
            || self.head_is_younger(told, door.now)
        {
            self.rearm(door);
        }
    }

    /// Whether what was sacked had been sent before the first segment was sent last. Otherwise new
    /// data that arrives would put off the time-out of a retransmission for ever.
    fn head_is_younger(&self, told: &Told, now: Time) -> bool {
        let out = &self.outstanding;
        let rtt = told.samples.and_then(Samples::of_first_sacked);
        let Some(rtt) = rtt.filter(|_| !out.is_empty()) else { return false };
        out.sent_at(out.una()).is_some_and(|sent| rtt > now.since(sent))
    }

    #[inline]
    fn count_ack(&mut self) {
        self.counts.acks += 1;
        self.counts.cwnd_sum += self.window.cwnd();
        self.counts.srtt_sum_ns += self.feedback.round_trip().srtt_ns();
    }
}
