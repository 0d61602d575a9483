//! Transmission: while fewer segments are in flight than the window allows, lost segments first, then new ones, one by
//! one or in bursts.

use core::hint::select_unpredictable;

use tidegate_mechanisms::sender::Pacing;
use tidegate_mechanisms::units::{Span, Time};
use tidegate_scenario::plan::TcpPlan;

use super::TcpSender;
use super::bursts::Bursts;
use super::conex::{Departure, Retransmission};
use super::delivery_rate::DeliveryRate;
use super::pacer::Pacer;
use super::phase::Phase;
use super::rack::probe_timeout;
use super::timer::Purpose;
use crate::packet::flags;
use crate::tcp::scoreboard::DUP_THRESH;
use crate::tcp::{HostContext, Sizes};

/// Transmission state of a sender.
pub struct Transmit {
    /// Lengths on the wire.
    pub(super) sizes: Sizes,
    /// Bursts, if segments are sent in bursts.
    bursts: Option<Bursts>,
    /// Whether the receiver acknowledges pushed segments without delay.
    pushes: bool,
    /// Time of the last transmission; before the first, when the connection was established.
    last_sent: Time,
    pacing: Pacing,
    /// Pacer, if the sender is paced.
    pacer: Option<Box<Pacer>>,
}

impl Transmit {
    /// Segments of these sizes; `pushes` if the flag means something to the receiver. With a controller that `models_path`
    /// there are samples of the delivery rate.
    pub fn new(sizes: Sizes, plan: &TcpPlan, pushes: bool, models_path: bool) -> Self {
        let pacing = plan.congestion_control.pacing();
        let bursts = plan.segment_bursts.then(|| Bursts::new(sizes.mss()));
        let mut pacer = plan.is_paced().then(Box::<Pacer>::default);
        if models_path {
            pacer.get_or_insert_default().rate = Some(DeliveryRate::new());
        }
        Transmit { sizes, bursts, pushes, last_sent: Time::ZERO, pacing, pacer }
    }

    /// Sets the smallest burst, segments.
    pub fn set_least_burst(&mut self, segments: u32) {
        if let Some(bursts) = &mut self.bursts {
            bursts.set_least(segments);
        }
    }

    /// Records a transmission, or that the connection is established.
    #[inline]
    pub fn note_activity(&mut self, now: Time) {
        self.last_sent = now;
    }

    /// Returns the release time of the next segment, if it has to wait.
    #[inline]
    fn paced_until(&self, now: Time) -> Option<Time> {
        self.pacer.as_ref()?.wait_until(now)
    }

    /// Samples of the delivery rate, for a controller that models its path.
    pub(super) fn rate(&self) -> Option<&DeliveryRate> {
        self.pacer.as_ref()?.rate.as_ref()
    }

    /// The same, to be added to.
    pub(super) fn rate_mut(&mut self) -> Option<&mut DeliveryRate> {
        self.pacer.as_mut()?.rate.as_mut()
    }

    /// What leaves next does not wait for its time.
    pub(super) fn release(&mut self, now: Time) {
        if let Some(pacer) = &mut self.pacer {
            pacer.release(now);
        }
    }

    /// Returns the time until pacing permits the next segment.
    pub fn until_departure(&self, now: Time) -> Span {
        self.paced_until(now).map_or(Span::ZERO, |at| at.since(now))
    }

    /// Returns the time since the last transmission.
    #[inline]
    pub fn silence(&self, now: Time) -> Span {
        now.since(self.last_sent)
    }

    #[inline]
    fn push_flag(&self, pushed: bool) -> u32 {
        if pushed && self.pushes { flags::PSH } else { 0 }
    }
}

impl TcpSender {
    /// Sends a SYN.
    pub(super) fn send_request(&mut self, ctx: &mut HostContext) {
        self.counts.sent += 1;
        let flags = flags::SYN | self.ecn.flags_of_request();
        ctx.send_data(0, Sizes::SYN, flags);
        self.restart_timer(ctx);
    }

    /// Restarts the timer, and sends what the window allows. Transmissions set the timer of the tail loss probe; it is
    /// set beforehand only if nothing is sent.
    #[inline]
    pub(super) fn send_after_progress(&mut self, ctx: &mut HostContext) {
        let probes = self.detection.probes() && self.timer.purpose() != Purpose::Reordering;
        if !probes {
            self.rearm(ctx);
            self.send(ctx);
        } else if !self.send(ctx) {
            self.rearm(ctx);
        }
    }

    /// Sends what the window allows. Returns whether that has set the timer of the tail loss probe.
    #[inline]
    pub(super) fn send(&mut self, ctx: &mut HostContext) -> bool {
        let nxt = self.outstanding.nxt();
        let (in_flight, put_off) = self.fill_window(ctx);
        let sent = self.outstanding.nxt() > nxt;
        if self.window.watches_use() {
            let full = put_off || self.window.is_full(in_flight);
            if sent || full {
                self.window.note_use(full, &self.outstanding);
            }
            // A controller that models its path watches the use of its window.
            if self.window.models_path() {
                self.note_application_limit();
            }
        }
        let probes = sent && self.detection.probes() && self.timer.purpose() != Purpose::Reordering;
        // While a segment is missing, new ones leave the timeout as it is (Linux, `tcp_event_new_data_sent`).
        let stays =
            !self.is_quiet() && self.timer.is_set_for_timeout() && nxt > self.outstanding.una();
        if probes && !stays {
            self.schedule_probe(self.timeout_of_first(ctx.now), ctx);
        }
        probes
    }

    /// Fills the window. Returns the number of segments in flight, and whether the window would allow more that wait
    /// for a full burst.
    #[inline]
    fn fill_window(&mut self, ctx: &mut HostContext) -> (u32, bool) {
        let allowed = self.window.allowed();
        let mut in_flight = self.in_flight();
        loop {
            if in_flight >= allowed && (allowed > 0 || !self.duplicates_let_go()) {
                return (in_flight, false);
            }
            if let Some(at) = self.transmit.paced_until(ctx.now) {
                self.await_release(at, ctx);
                return (in_flight, false);
            }
            if self.outstanding.needs_retransmit()
                && self.recovery.phase() != Phase::Probing
                && self.retransmit_next(ctx)
            {
                in_flight = self.in_flight();
                continue;
            }
            let available = self.available();
            if available == 0 {
                return (in_flight, false);
            }
            if in_flight == 0 {
                self.window.start(self.transmit.silence(ctx.now), ctx.now);
                self.restart_model(ctx.now);
            }
            let sent = if let Some(bursts) = self.transmit.bursts {
                // Duplicates allow one segment at a time, regardless of the segments in flight.
                let room = available.min(allowed.saturating_sub(in_flight).max(1).into()) as u32;
                match self.send_burst(bursts, room, ctx) {
                    0 => return (in_flight, true),
                    sent => sent,
                }
            } else {
                self.send_new(false, ctx);
                1
            };
            self.note_paced(sent, ctx.now);
            // Zero in flight may also be an overestimate of departures by duplicates (without SACK).
            in_flight = if in_flight > 0 { in_flight + sent } else { self.in_flight() };
        }
    }

    /// Waits for the release time of what the window allows.
    #[cold]
    fn await_release(&mut self, at: Time, ctx: &mut HostContext) {
        if self.outstanding.needs_retransmit() || self.available() > 0 {
            self.timer.set_release(at, ctx);
        }
    }

    /// Records the sending of segments, if the sender is paced.
    #[inline]
    fn note_paced(&mut self, segments: u32, now: Time) {
        if let Some(pacer) = &mut self.transmit.pacer {
            let rate = if self.window.models_path() {
                let rate = self.window.own_pacing().map(|(per_s, _)| per_s * 1e-9);
                // None where nothing has been delivered yet.
                rate.filter(|rate| *rate > 0.0)
            } else {
                let (window, outstanding) =
                    (self.window.get(), f64::from(self.outstanding.count()));
                let in_window = self.transmit.pacing.gain(window) * window.cwnd.max(outstanding);
                let srtt = self.feedback.round_trip().srtt();
                srtt.map(|srtt| in_window / srtt.as_nanos() as f64)
            };
            pacer.on_sent(segments, rate, now);
        }
    }

    /// Whether a segment may be sent at a window below one, since duplicates account for more than is outstanding
    /// (ns-2).
    #[cold]
    fn duplicates_let_go(&self) -> bool {
        if !self.recovery.deflates() {
            return false;
        }
        let (out, board) = (&self.outstanding, self.outstanding.board());
        let departed = match self.recovery.phase() {
            Phase::Recovery => board.sacked(),
            _ => self.detection.duplicates().min(DUP_THRESH - 1),
        };
        departed + board.lost() > out.count() + board.retransmitted()
    }

    /// Returns the number of new segments within the limit of the window.
    #[inline]
    pub(super) fn available(&self) -> u64 {
        let room = self.window.limit().saturating_sub(self.outstanding.count());
        u64::from(room).min(self.stream.ready(self.outstanding.nxt()))
    }

    /// Sends a burst of new segments into `room` segments of the window. Returns their number; zero if they wait.
    fn send_burst(&mut self, bursts: Bursts, room: u32, ctx: &mut HostContext) -> u32 {
        let mut most = room;
        let silence = self.transmit.silence(ctx.now);
        if self.window.models_path() || !bursts.fills(room, silence) {
            most = match self.window.own_pacing() {
                Some((per_s, least)) => bursts.most_at(per_s, least, &self.feedback),
                None => bursts.most(self.window.get(), &self.feedback, self.transmit.pacing),
            };
            let ready = self.stream.ready(self.outstanding.nxt());
            let cut_short = room < most && ready > u64::from(room);
            let (cwnd, feedback, out) = (self.window.cwnd(), &self.feedback, &self.outstanding);
            if cut_short
                && self.recovery.is_quiet()
                && bursts.awaits_ack(room, cwnd, feedback, out, silence, ctx.now)
            {
                return 0;
            }
        }
        let count = room.min(most).min(Bursts::most_of(self.window.cwnd()));
        for left in (0..count).rev() {
            self.send_new(left == 0 && count > 1, ctx);
        }
        count
    }

    /// Sends new segments as the window allows, and no retransmissions. Returns whether there was one.
    pub(super) fn send_only_new(&mut self, ctx: &mut HostContext) -> bool {
        let nxt = self.outstanding.nxt();
        while !self.window.is_full(self.in_flight()) && self.available() > 0 {
            if let Some(at) = self.transmit.paced_until(ctx.now) {
                self.await_release(at, ctx);
                break;
            }
            self.send_new(false, ctx);
            self.note_paced(1, ctx.now);
        }
        let sent = self.outstanding.nxt() > nxt;
        if sent {
            self.window.note_use(self.window.is_full(self.in_flight()), &self.outstanding);
        }
        sent
    }

    #[inline]
    fn send_new(&mut self, push: bool, ctx: &mut HostContext) {
        let missing_bytes = self.stream.cut(self.outstanding.nxt());
        let segment = self.outstanding.add(missing_bytes, ctx.now);
        self.feedback.on_sent(segment, ctx.now);
        let flags = self.ecn.flags_of_new() | self.transmit.push_flag(push);
        self.depart(segment, false, flags, ctx);
    }

    /// Retransmits the next lost segment, if there is one.
    pub(super) fn retransmit_next(&mut self, ctx: &mut HostContext) -> bool {
        let Some(segment) = self.outstanding.next_retransmit() else { return false };
        self.send_again(segment, ctx);
        self.note_paced(1, ctx.now);
        true
    }

    pub(super) fn send_again(&mut self, segment: u64, ctx: &mut HostContext) {
        self.outstanding.retransmit(segment, ctx.now);
        self.feedback.on_retransmit();
        self.recovery.on_retransmit(ctx.now);
        self.counts.retransmits += 1;
        let flags = self.ecn.retransmit_flags();
        self.depart(segment, true, flags, ctx);
        if segment == self.outstanding.una() && self.timer.restarts_on_retransmit() {
            self.restart_timer(ctx);
        }
    }

    #[inline(always)]
    fn depart(&mut self, segment: u64, again: bool, mut flags: u32, ctx: &mut HostContext) {
        let missing_bytes = self.outstanding.missing_bytes(segment);
        let pushed = missing_bytes > 0 || self.stream.is_pushed(segment);
        flags |= self.transmit.push_flag(pushed);
        if let Some(conex) = &self.conex {
            flags = match !again && conex.has_nothing_to_declare() {
                true => flags | flags::CONEX,
                false => self.declared(flags, segment, again, ctx.now),
            };
        }
        self.window.on_sent();
        if self.window.models_path() {
            self.note_departure(segment, ctx.now);
        }
        self.transmit.note_activity(ctx.now);
        self.counts.sent += 1;
        ctx.send_data(segment, self.transmit.sizes.full - missing_bytes, flags);
        if !self.timer.is_set() {
            self.restart_timer(ctx);
        }
    }

    /// Adds the declarations of a segment to its flags. A retransmitted segment was lost, as far as the sender knows.
    #[inline(never)]
    fn declared(&mut self, flags: u32, segment: u64, again: bool, now: Time) -> u32 {
        let Some(conex) = &mut self.conex else { return flags };
        let own = conex.own_flags();
        if own != 0 && !self.ecn.may_be_capable() {
            return flags;
        }
        let (out, srtt) = (&self.outstanding, self.feedback.round_trip().srtt());
        let bytes = self.transmit.sizes.mss() - u64::from(out.missing_bytes(segment));
        if again {
            let by_acks = self.recovery.phase() == Phase::Recovery;
            conex.on_retransmit(&Retransmission { segment, bytes, by_acks, now, srtt }, out);
        }
        let in_flight = out.pipe();
        flags & !own | conex.declare(&Departure { segment, bytes, again, in_flight, now })
    }

    /// Sends a tail loss probe: a new segment, regardless of the window, or the last one again.
    pub(super) fn send_probe(&mut self, ctx: &mut HostContext) {
        if self.detection.is_probing() {
            let at = self.timeout_after_wait(ctx.now);
            return self.timer.set(Purpose::Timeout, at, ctx);
        }
        let again = self.available() == 0;
        if again {
            let last = self.outstanding.nxt() - 1;
            self.outstanding.repeat(last, ctx.now);
            self.counts.retransmits += 1;
            self.depart(last, true, self.ecn.flags_of_control(), ctx);
        } else {
            self.send_new(false, ctx);
        }
        self.detection.on_probe(self.outstanding.nxt(), again);
        self.restart_timer(ctx);
    }

    /// Restarts the timer if data is outstanding (RFC 6298, section 5).
    #[inline]
    pub(super) fn restart_timer(&mut self, ctx: &mut HostContext) {
        let idle = self.outstanding.is_empty() && self.recovery.phase() != Phase::SynSent;
        // A window below one segment waits for the timer (RFC 3168, section 6.1.2).
        if idle && self.window.cwnd() >= 1.0 {
            return self.timer.clear();
        }
        self.timer.set(Purpose::Timeout, ctx.now + self.feedback.round_trip().rto(), ctx);
    }

    /// Restarts the timer after progress.
    #[inline]
    pub(super) fn rearm(&mut self, ctx: &mut HostContext) {
        if self.detection.probes() {
            self.schedule_probe(ctx.now + self.feedback.round_trip().rto(), ctx);
        } else {
            self.restart_timer(ctx);
        }
    }

    /// Sets the timer for the tail loss probe, if one is allowed, at `latest` at the latest; otherwise for the timeout.
    #[inline(never)]
    fn schedule_probe(&mut self, latest: Time, ctx: &mut HostContext) {
        let out = self.outstanding.count();
        let round_trip = self.feedback.round_trip();
        let Some(srtt) = round_trip.srtt().filter(|_| out > 0) else {
            return self.restart_timer(ctx);
        };
        // Whether a segment is missing is unpredictable.
        let quiet = self.is_quiet();
        let probe_at = (ctx.now + probe_timeout(srtt, out, self.timer.least())).min(latest);
        let waited = self.timer.is_set() && !self.timer.is_set_for_timeout();
        let timeout_at = if waited && !quiet {
            self.timeout_after_wait(ctx.now)
        } else {
            ctx.now + round_trip.rto()
        };
        let at = select_unpredictable(quiet, probe_at, timeout_at);
        let purpose = select_unpredictable(quiet, Purpose::Probe, Purpose::Timeout);
        self.timer.set(purpose, at, ctx);
    }

    /// Whether a tail loss probe may be sent: no segment is missing.
    #[inline]
    fn is_quiet(&self) -> bool {
        self.recovery.is_quiet() & (self.outstanding.board().sacked() == 0)
    }

    /// Returns the expiry time of the RTO of the first segment, in the next tick at the earliest. The RTO has it after
    /// the timer waited for a probe or for reordering (Linux, `tcp_rearm_rto`).
    pub(super) fn timeout_after_wait(&self, now: Time) -> Time {
        let rto = self.feedback.round_trip().rto();
        let sent = self.outstanding.sent_at(self.outstanding.una()).unwrap_or(now);
        (sent + rto).max(now + self.timer.tick())
    }

    /// Returns the expiry time of the RTO of the first segment.
    fn timeout_of_first(&self, now: Time) -> Time {
        let rto = self.feedback.round_trip().rto();
        let sent = self.outstanding.sent_at(self.outstanding.una()).unwrap_or(now);
        if sent + rto > now { sent + rto } else { now + rto }
    }
}
