//! DualPI2: low delay for senders that react to marks in proportion, without starving the others. K. De Schepper, B.
//! Briscoe and G. White, "Dual-Queue Coupled Active Queue Management (AQM) for Low Latency, Low Loss, and Scalable
//! Throughput (L4S)", RFC 9332, appendix A.
//!
//! Packets of scalable senders (ECT(1)) wait in the queue L, all others in the queue C. A PI controller on the delay q
//! of the oldest packet adapts a base probability p′:
//!
//! ```text
//! T = min(q₀, R/3),   α = 0.1 T/R²,   β = 0.3/R     q₀ = 15 ms target, R = 100 ms largest RTT
//! p′ ← clamp(p′ + α (q − q₀) + β (q − q_prev), 0, 1)     every T
//! p_C  = p′²                      a packet leaving C is dropped, or marked if ECN-capable
//! p_CL = k p′                     coupling factor k = 2
//! p_L  = max(p_CL, ramp)          a packet leaving L is marked
//! ramp = clamp((its wait − minTh)/range, 0, 1)     minTh = 0.8 ms, range = 0.4 ms;
//!                                 0 while no more than one packet is left in L
//! ```
//!
//! The window of Reno is proportional to 1/√p, that of a scalable sender to 1/p; the square and k make them about equal
//! at equal round trips, so that the two queues share the link per flow and not by a fixed share.
//!
//! Signals are spaced evenly: a count grows by p with each packet; when it exceeds 1, a packet is signalled and the
//! count reduced by 1 (`recur`). No random numbers are used.
//!
//! Overload (appendix A.2): from p_CL ≥ 1, which is p_C ≥ 1/k² = 25 %, on, L drops with p_C as well, and C drops
//! instead of marking.
//!
//! L is served first, except for a weighted share of C while both have packets (the RFC leaves the scheduler open; this
//! is that of Linux `sch_dualpi2`, weights by bytes):
//!
//! ```text
//! credit ← w (weight of C) for each byte sent from L while C waits; served C: −(1 − w) per byte
//! L is next if it has packets and C has none or credit ≤ 0
//! ```
//!
//! Differs from the RFC: packets are classified by their sender, so that a packet that was marked elsewhere stays in
//! the queue of its flow. Under overload, L's drops have their own count, and p_CL is taken as 1: with a common count,
//! as in the pseudo-code, a p_CL above 1 would accumulate and turn nearly every packet into a drop. Credit is reset
//! when both queues are empty.
//!
//! With `ramp_range` 0 the ramp is a step, and signals follow Linux's `sch_dualpi2`: each is drawn with its probability
//! instead of spaced, none comes of p′ while less than two full packets are left in both queues, and the step applies
//! to packets that found at least `min_packets` in L as they came. Linux has T = 16 ms, α = 0.16 and β = 3.2; the
//! formulas above give 15 ms, 0.15 and 3.

use std::collections::VecDeque;

use super::{About, Capacity, Discipline, Place, Queue, Queued, TransmitterState};
use crate::bottleneck::pi2::Pi2;
use crate::bottleneck::{DropReason, Verdict};
use crate::parameters;
use crate::parameters::ParameterError;
use crate::units::{Bytes, QueueLength, Rate, Share, Span, Time};

/// p_CL from which on marks are ineffective (p_Lmax).
const MAX_COUPLED: f64 = 1.0;
/// Packet size for the initial credit and the least backlog, bytes.
const FULL_PACKET_BYTES: u64 = 1500;

parameters! {
    /// Two coupled queues, RFC 9332: one of low delay for dctcp and prague, one for all others. The
    /// first is in use only where the link has ecn.
    pub struct DualPi2Params {
        /// q₀: target delay of the classic queue.
        pub target: Span = "15 ms",
        /// R: largest round-trip time for which the controller has to be stable.
        pub max_rtt: Span = "100 ms",
        /// k: factor of the base probability for marks of scalable senders.
        pub coupling: u32 = "2",
        /// minTh: delay in L at which the ramp begins.
        pub ramp_start: Span = "0.8 ms",
        /// range: delay over which the ramp rises from 0 to 1; zero makes it the step of Linux, and signals are drawn
        /// instead of spaced.
        pub ramp_range: Span = "0.4 ms",
        /// Th_len: the ramp applies while this many packets are left in L, the step to packets that found this many
        /// there (`min_qlen_step` of Linux, where it is 0).
        pub min_packets: u32 = "2",
        /// w: minimum share of the link for C while both queues have packets.
        pub classic_share: Share = "0.1",
    }
    check controller_has_time;
}

fn controller_has_time(params: &DualPi2Params) -> Option<ParameterError> {
    if params.update_interval() == Span::ZERO {
        let key = if params.target == Span::ZERO { "target" } else { "max_rtt" };
        return Some((key, "0 s leaves no time between the controller's updates".to_owned()));
    }
    (params.coupling == 0).then(|| ("coupling", "0 leaves the queues uncoupled".to_owned()))
}

impl DualPi2Params {
    /// Returns T, the time between two updates.
    pub fn update_interval(&self) -> Span {
        self.target.min(Span::from_nanos(self.max_rtt.as_nanos() / 3))
    }

    /// Returns α, in Hz: gain of the distance to the target.
    pub fn alpha_hz(&self) -> f64 {
        Pi2::alpha_hz(self.update_interval(), self.max_rtt)
    }

    /// Returns β, in Hz: gain of the change since the last update.
    pub fn beta_hz(&self) -> f64 {
        Pi2::beta_hz(self.max_rtt)
    }

    /// Whether the rules are those of Linux, with a step instead of the ramp.
    fn has_step(&self) -> bool {
        self.ramp_range == Span::ZERO
    }

    fn signals(&self) -> Signals {
        if self.has_step() { Signals::Drawn } else { Signals::Spaced(0.0) }
    }
}

/// Decides which packets are signalled, one in 1/likelihood.
#[derive(Clone, Copy, Debug)]
enum Signals {
    /// Evenly spaced, by a count (RFC 9332, `recur`).
    Spaced(f64),
    /// Each drawn by itself (Linux).
    Drawn,
}

impl Signals {
    /// Whether this packet is signalled.
    fn is_due(&mut self, likelihood: f64, mut draw: impl FnMut() -> f64) -> bool {
        let Signals::Spaced(count) = self else {
            return draw() < likelihood;
        };
        *count += likelihood;
        let due = *count > 1.0;
        if due {
            *count -= 1.0;
        }
        due
    }
}

/// One queue with its signals.
#[derive(Clone, Debug)]
struct Half {
    queue: Queue,
    signals: Signals,
    /// Drops of packets in addition to marks.
    drops: Signals,
}

impl Half {
    fn new(signals: Signals) -> Self {
        Half { queue: Queue::default(), signals, drops: signals }
    }

    /// Returns the waiting time of its first packet at `now`.
    fn delay(&self, now: Time) -> Span {
        self.queue.front().map_or(Span::ZERO, |packet| now.since(packet.arrived))
    }
}

/// Both queues and the controller that couples them.
#[derive(Clone, Debug)]
pub struct DualPi2 {
    params: DualPi2Params,
    interval: Span,
    capacity: Capacity,
    scalable: Half,
    classic: Half,
    /// Whether each packet in L found enough others to be judged by the step; empty with a ramp.
    found_enough: VecDeque<bool>,
    controller: Pi2,
    next_update: Time,
    /// Weighted balance of the bytes that each queue has sent while the other waited.
    credit: f64,
}

impl Discipline for DualPi2 {
    type Params = DualPi2Params;

    const ABOUT: About = About {
        name: "dualpi2",
        title: "DualPI2",
        source: "RFC 9332",
        usage: r#"bottleneck = { ecn = true, scheduler = { kind = "dualpi2" } }"#,
        file: "bottleneck/scheduler/dualpi2.rs",
        text: crate::mechanism::source_text!("dualpi2.rs"),
    };

    /// `limit` of Linux.
    fn default_buffer(_: &DualPi2Params, _: Rate, _: Bytes) -> QueueLength {
        QueueLength::Packets(10_000)
    }

    fn new(params: DualPi2Params, place: &Place) -> Self {
        let interval = params.update_interval();
        assert!(interval > Span::ZERO, "updates are some time apart");
        DualPi2 {
            interval,
            capacity: place.capacity,
            scalable: Half::new(params.signals()),
            classic: Half::new(params.signals()),
            found_enough: VecDeque::new(),
            controller: Pi2::new(params.alpha_hz(), params.beta_hz()),
            next_update: Time::ZERO + interval,
            credit: first_credit(&params),
            params,
        }
    }

    #[inline]
    fn enqueue(
        &mut self,
        packet: Queued,
        line: &TransmitterState,
        _draw: impl FnMut() -> f64,
        mut lose: impl FnMut(Queued, DropReason),
    ) {
        self.catch_up(line.now);
        if !self.capacity.fits(self.backlog(), line, 1, packet.bytes()) {
            return lose(packet, DropReason::Full);
        }
        if !(packet.scalable && packet.may_mark) {
            return self.classic.queue.push(packet);
        }
        if self.params.has_step() {
            self.found_enough.push_back(self.scalable.queue.len() >= self.params.min_packets);
        }
        self.scalable.queue.push(packet);
    }

    #[inline]
    fn dequeue(
        &mut self,
        now: Time,
        mut draw: impl FnMut() -> f64,
        mut lose: impl FnMut(Queued, DropReason),
    ) -> Option<Queued> {
        self.catch_up(now);
        loop {
            let of_scalable = self.scalable_is_next();
            let half = if of_scalable { &mut self.scalable } else { &mut self.classic };
            let Some(mut packet) = half.queue.pop() else {
                self.credit = first_credit(&self.params);
                return None;
            };
            let verdict = match of_scalable {
                true => self.judge(&packet, now, &mut draw),
                false => self.judge_classic(&packet, &mut draw),
            };
            match verdict {
                Verdict::Drop(reason) => {
                    lose(packet, reason);
                    continue;
                }
                Verdict::Mark => packet.marked = true,
                Verdict::Pass => {}
            }
            self.give_credit(of_scalable, packet.bytes());
            return Some(packet);
        }
    }

    #[inline]
    fn backlog(&self) -> (u32, u64) {
        let (l, c) = (&self.scalable.queue, &self.classic.queue);
        (l.len() + c.len(), l.bytes() + c.bytes())
    }

    fn state_bytes(&self) -> usize {
        size_of::<Self>() - size_of::<DualPi2Params>()
    }
}

impl DualPi2 {
    /// Returns p_C: signal probability in the classic queue.
    pub fn classic_probability(&self) -> f64 {
        self.controller.probability()
    }

    /// Returns p_CL: marking probability in L coupled to the classic queue.
    pub fn coupled_probability(&self) -> f64 {
        f64::from(self.params.coupling) * self.controller.base()
    }

    fn scalable_is_next(&self) -> bool {
        let waits = !self.scalable.queue.is_empty();
        waits && (self.classic.queue.is_empty() || self.credit <= 0.0)
    }

    /// Credits bytes sent from one queue while the other waited.
    fn give_credit(&mut self, of_scalable: bool, bytes: u64) {
        let (weight, bytes) = (self.params.classic_share.0, bytes as f64);
        if of_scalable && !self.classic.queue.is_empty() {
            self.credit += weight * bytes;
        } else if !of_scalable && !self.scalable.queue.is_empty() {
            self.credit -= (1.0 - weight) * bytes;
        }
    }

    /// Judges a packet that leaves L.
    fn judge(&mut self, packet: &Queued, now: Time, mut draw: impl FnMut() -> f64) -> Verdict {
        let enough = match self.found_enough.pop_front() {
            Some(found) => found,
            None => self.scalable.queue.len() >= self.params.min_packets,
        };
        let coupled = if self.may_signal() { self.coupled_probability() } else { 0.0 };
        if coupled >= MAX_COUPLED {
            // Senders do not answer: marks would only add to the queue.
            if self.scalable.drops.is_due(self.controller.probability(), &mut draw) {
                return DROP;
            }
            return mark_if(self.scalable.signals.is_due(MAX_COUPLED, draw));
        }
        let ramp = if enough { self.ramp(now.since(packet.arrived)) } else { 0.0 };
        mark_if(self.scalable.signals.is_due(ramp.max(coupled), draw))
    }

    /// Judges a packet that leaves C.
    fn judge_classic(&mut self, packet: &Queued, draw: impl FnMut() -> f64) -> Verdict {
        let likelihood = self.classic_probability();
        if !self.may_signal() || !self.classic.signals.is_due(likelihood, draw) {
            return Verdict::Pass;
        }
        let overload = self.coupled_probability() >= MAX_COUPLED;
        if overload || !packet.may_mark { DROP } else { Verdict::Mark }
    }

    /// Whether the controller's signals apply: Linux spares packets that leave less than two full ones behind.
    fn may_signal(&self) -> bool {
        !self.params.has_step() || self.backlog().1 >= 2 * FULL_PACKET_BYTES
    }

    fn ramp(&self, delay: Span) -> f64 {
        let (start, range) = (self.params.ramp_start, self.params.ramp_range);
        if delay >= start + range {
            1.0
        } else if delay > start {
            (delay - start).as_secs() / range.as_secs()
        } else {
            0.0
        }
    }

    /// Performs the updates due by `now`. The queues have not changed since the last update, so that each sees the
    /// state of its time.
    fn catch_up(&mut self, now: Time) {
        while self.next_update <= now {
            let at = self.next_update;
            let longest = self.scalable.delay(at).max(self.classic.delay(at));
            self.controller.update(longest.as_secs(), self.params.target.as_secs());
            self.next_update += self.interval;
            if self.controller.is_at_rest() && self.backlog().0 == 0 {
                let passed = now.since(self.next_update).as_nanos() / self.interval.as_nanos();
                self.next_update += Span::from_nanos(passed * self.interval.as_nanos());
            }
        }
    }
}

const DROP: Verdict = Verdict::Drop(DropReason::Aqm);

const fn mark_if(mark: bool) -> Verdict {
    if mark { Verdict::Mark } else { Verdict::Pass }
}

/// Returns the initial credit: the queue with the larger weight starts.
fn first_credit(params: &DualPi2Params) -> f64 {
    FULL_PACKET_BYTES as f64 * (2.0 * params.classic_share.0 - 1.0)
}

#[cfg(test)]
#[path = "dualpi2_tests.rs"]
mod tests;
