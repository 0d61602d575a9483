//! PIE, proportional integral controller enhanced: signals at arrival, with a probability that is controlled so that
//! the queueing delay settles at a target. RFC 8033; pseudo-code of appendix A, with the cap of section 5.5 and, as
//! options, the ECN limit of section 5.1 and the de-randomisation of section 5.4.
//!
//! A departing packet gives a sample of the queueing delay. Every T_UPDATE the last sample d, and the one of the
//! previous update, d_old, change the probability p:
//!
//! ```text
//! Δ = α (d − target) + β (d − d_old)
//! Δ ← Δ/2048, Δ/512, Δ/128, Δ/32, Δ/8, Δ/2       p < 10⁻⁶, 10⁻⁵, 10⁻⁴, 10⁻³, 10⁻², 10⁻¹
//! Δ ← min(Δ, 0.02)                               p ≥ 0.1
//! Δ ← Δ + 0.02                                   d > 250 ms, if steep
//! p ← p + Δ, between 0 and 1, and with decay at
//!     half-target    0.98 times that if d and d_old are both below target/2
//!     no-delay       0.98 times that if d and d_old are both 0
//!     linux          63/64 of that if d and d_old are both 0 and nothing waits
//! burst ← max(0, burst − T_UPDATE)
//! ```
//!
//! A packet is signalled with probability p, but never while a burst is allowed (burst > 0), nor if d_old < target/2
//! and p < 0.2, nor if at most two mean packets wait. The allowance is reset to MAX_BURST when a packet arrives at p =
//! 0 while d and d_old are below target/2. From a p of 10 % on, ECN-capable packets are dropped too. With
//! de-randomisation, the p of the packets since the last signal are summed up: no signal below a sum of 0.85, a certain
//! one from 8.5 on.
//!
//! Differs from the RFC's pseudo-code, with Linux: an empty queue has a delay of zero, where the pseudo-code keeps the
//! delay of its last packet. The RFC has two rules for the decay: below half the target in the appendix, and only at a
//! delay of 0 in section 4.2, as in ns-3 and Linux. With decay `linux`, `steep` and `derandomised` it equals Linux's
//! PIE (today's; that of 2009 had none) except that the burst allowance counts updates, not the gaps between
//! departures, and two mean packets stand for two MTU. Of the RFC's options there is no departure rate estimator
//! (section 5.2), since packets have timestamps, and PIE is always active (section 5.3). Updates are evaluated at the
//! next arrival or departure, with the state when they were due.

use super::{Arrival, Head, ManageQueue, Place};
use crate::mechanism::About;
use crate::parameters::{ParameterError, too_short};
use crate::units::{Bytes, Factor, Share, Span, Time};
use crate::{parameters, words};

parameters! {
    /// PIE: a probability that is controlled so that the queueing delay settles at a target.
    pub struct PieParams {
        /// QDELAY_REF: target queueing delay.
        pub target: Span = "15 ms",
        /// T_UPDATE: time between two updates of the probability.
        pub update_interval: Span = "15 ms",
        /// MAX_BURST: how long a burst goes without signals.
        pub burst_allowance: Span = "150 ms",
        /// α: weight of the distance from the target, per second.
        pub alpha: Factor = "0.125",
        /// β: weight of the change of the delay, per second.
        pub beta: Factor = "1.25",
        /// MAX_ECNTH: probability from which on ECN-capable packets are dropped, not marked.
        pub mark_limit: Share = "0.1",
        /// De-randomise the distance between signals.
        pub derandomised: bool = { linux: "true", classic: "false", linux_2_6_29: "true" },
        /// Rule for the decay of the probability.
        pub decay: PieDecay = { linux: "linux", classic: "no-delay", linux_2_6_29: "linux" },
        /// Raise the probability by 2 % more at each update with a delay above 250 ms.
        pub steep: bool = { linux: "true", classic: "false", linux_2_6_29: "true" },
    }
    check takes_time;
}

words! {
    /// Rule for the decay of PIE's probability.
    pub enum PieDecay {
        /// By 2 % while the delay is below half the target, RFC 8033, appendix A.
        HalfTarget = "half-target",
        /// By 2 % while there is no delay at all, RFC 8033, section 4.2, and ns-3.
        NoDelay = "no-delay",
        /// By 1/64 while there is no delay at all and nothing waits, as in Linux.
        Linux = "linux",
    }
}

/// Delay above which the probability rises faster, if steep.
const STEEP: Span = Span::from_millis(250);

fn takes_time(params: &PieParams) -> Vec<ParameterError> {
    too_short(&[("target", params.target), ("update_interval", params.update_interval)])
}

/// Pairs of a bound of the probability and the divisor of the adjustment below it (section 4.2).
const TUNING: [(f64, f64); 6] =
    [(1e-6, 2048.0), (1e-5, 512.0), (1e-4, 128.0), (1e-3, 32.0), (1e-2, 8.0), (1e-1, 2.0)];

/// State of one PIE queue.
#[derive(Clone, Debug)]
pub struct Pie {
    params: PieParams,
    /// Size of which two may wait without a signal (MEAN_PKTSIZE).
    mean_packet: Bytes,
    /// Signal probability p.
    drop_probability: f64,
    /// Delay d of the last departure.
    delay: Span,
    /// Delay d_old at the last update.
    previous_delay: Span,
    burst: Span,
    next_update: Time,
    /// Sum of p since the last signal, with de-randomisation.
    accumulated: f64,
    /// Whether packets wait.
    waiting: bool,
}

impl ManageQueue for Pie {
    type Params = PieParams;

    const ABOUT: About = About {
        name: "pie",
        title: "PIE",
        source: "RFC 8033",
        usage: r#"bottleneck.aqm = { kind = "pie" }"#,
        file: "bottleneck/pie.rs",
        text: crate::mechanism::source_text!("pie.rs"),
    };

    const SEES_DEPARTURES: bool = true;

    fn new(params: PieParams, place: &Place) -> Result<Self, ParameterError> {
        Ok(Pie {
            mean_packet: place.packet,
            drop_probability: 0.0,
            delay: Span::ZERO,
            previous_delay: Span::ZERO,
            burst: params.burst_allowance,
            next_update: Time::ZERO + params.update_interval,
            accumulated: 0.0,
            waiting: false,
            params,
        })
    }

    #[inline(never)]
    fn probability(&mut self, arrival: &Arrival) -> f64 {
        self.catch_up(arrival.now);
        if self.drop_probability == 0.0 && self.is_calm() {
            self.burst = self.params.burst_allowance;
        }
        if self.burst > Span::ZERO || self.is_work_at_risk(arrival) {
            return 0.0;
        }
        if self.params.derandomised { self.derandomised() } else { self.drop_probability }
    }

    #[inline]
    fn dequeue<P>(
        &mut self,
        now: Time,
        _draw: impl FnMut() -> f64,
        mut pop: impl FnMut() -> Option<Head<P>>,
        _signal: impl FnMut(P) -> Option<P>,
    ) -> Option<P> {
        let head = pop()?;
        self.on_departure(now, head.sojourn, head.backlog_packets);
        Some(head.packet)
    }

    #[inline]
    fn on_verdict(&mut self, signalled: bool) {
        if signalled {
            self.accumulated = 0.0;
        } else {
            self.waiting = true;
        }
    }

    /// Whether the probability is high enough that ECN-capable packets are dropped.
    #[inline]
    fn is_forced(&self) -> bool {
        self.drop_probability >= self.params.mark_limit.0
    }

    fn state_bytes(&self) -> usize {
        size_of::<Self>() - size_of::<PieParams>() - size_of::<Bytes>()
    }
}

impl Pie {
    /// Takes the `sojourn` time of a departing packet; `backlog_packets` wait behind it.
    #[inline]
    pub fn on_departure(&mut self, now: Time, sojourn: Span, backlog_packets: u32) {
        self.catch_up(now);
        self.waiting = backlog_packets > 0;
        self.delay = if self.waiting { sojourn } else { Span::ZERO };
    }

    /// Returns p, before the safeguards.
    pub fn drop_probability(&self) -> f64 {
        self.drop_probability
    }

    /// Performs the updates due until `now`, between which nothing has happened.
    #[inline]
    fn catch_up(&mut self, now: Time) {
        while self.next_update <= now {
            if self.is_at_rest() {
                return self.skip_updates(now);
            }
            self.update();
            self.next_update += self.params.update_interval;
        }
    }

    /// Whether an update would change nothing.
    fn is_at_rest(&self) -> bool {
        self.has_no_delay() && self.drop_probability == 0.0 && self.burst == Span::ZERO
    }

    #[cold]
    fn skip_updates(&mut self, now: Time) {
        let interval = self.params.update_interval;
        let due = now.since(self.next_update).as_nanos() / interval.as_nanos() + 1;
        self.next_update += interval * due;
    }

    /// Updates the probability (section 4.2, with section 5.5).
    fn update(&mut self) {
        let PieParams { target, alpha: Factor(alpha), beta: Factor(beta), .. } = self.params;
        let (d, d_old) = (self.delay.as_secs(), self.previous_delay.as_secs());
        let mut adjustment = alpha * (d - target.as_secs()) + beta * (d - d_old);
        let step = TUNING.iter().find(|(below, _)| self.drop_probability < *below);
        adjustment /= step.map_or(1.0, |(_, divisor)| *divisor);
        if self.drop_probability >= 0.1 {
            adjustment = adjustment.min(0.02);
        }
        if self.params.steep && self.delay > STEEP {
            adjustment += 0.02;
        }
        let p = self.drop_probability + adjustment;
        self.drop_probability = (p * self.decay()).clamp(0.0, 1.0);
        self.previous_delay = self.delay;
        let left = self.burst.as_nanos().saturating_sub(self.params.update_interval.as_nanos());
        self.burst = Span::from_nanos(left);
    }

    /// Returns the factor of the probability at an update.
    fn decay(&self) -> f64 {
        match self.params.decay {
            PieDecay::HalfTarget if self.is_calm() => 0.98,
            PieDecay::NoDelay if self.has_no_delay() => 0.98,
            PieDecay::Linux if self.has_no_delay() && !self.waiting => 1.0 - 1.0 / 64.0,
            _ => 1.0,
        }
    }

    fn has_no_delay(&self) -> bool {
        self.delay == Span::ZERO && self.previous_delay == Span::ZERO
    }

    /// Whether both delays are below half the target.
    #[inline]
    fn is_calm(&self) -> bool {
        self.is_below_half(self.delay) && self.is_below_half(self.previous_delay)
    }

    #[inline]
    fn is_below_half(&self, delay: Span) -> bool {
        2 * delay.as_nanos() < self.params.target.as_nanos()
    }

    /// Whether a signal might leave the link idle (section 4.1).
    #[inline]
    fn is_work_at_risk(&self, arrival: &Arrival) -> bool {
        let short = self.is_below_half(self.previous_delay) && self.drop_probability < 0.2;
        short || arrival.backlog_bytes <= 2 * self.mean_packet.get()
    }

    /// Returns the de-randomised probability (section 5.4).
    fn derandomised(&mut self) -> f64 {
        let p = self.drop_probability;
        self.accumulated = if p == 0.0 { 0.0 } else { self.accumulated + p };
        match self.accumulated {
            sum if sum < 0.85 => 0.0,
            sum if sum >= 8.5 => 1.0,
            _ => p,
        }
    }
}

#[cfg(test)]
#[path = "pie_tests.rs"]
mod tests;
