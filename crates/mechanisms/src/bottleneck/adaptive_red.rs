//! Adaptive RED: RED whose max_p moves slowly so that the average queue stays halfway between the
//! thresholds.
//! S. Floyd, R. Gummadi and S. Shenker, "Adaptive RED: An Algorithm for Increasing the Robustness of
//! RED's Active Queue Management", 2001; as Linux's RED with `adaptative`.
//!
//! RED's average queue depends on the load and on max_p. Adaptive RED is gentle RED, and every
//! interval (0.5 s) it moves max_p towards where the average lies between two marks:
//!
//! ```text
//! low, high = min_th + 0.4 (max_th − min_th), min_th + 0.6 (max_th − min_th)
//! max_p ← max_p + min(α, max_p/4)                 avg > high and max_p ≤ 0.5
//! max_p ← β max_p                                 avg < low  and max_p ≥ 0.01
//! ```
//!
//! What is not set follows from the link, which sends C packets per second, and from a target delay:
//!
//! ```text
//! w_q    = 1 − exp(−1/C)
//! min_th = max(5, C · target delay/2)             packets
//! max_th = 3 min_th
//! ```
//!
//! Intervals are counted from the start, as by Linux's timer, and made up for at the next arrival:
//! nothing has changed since the last one but that an idle queue's average has decayed. ns-2 adapts at
//! the first arrival that comes an interval after the last adaptation.

use super::{Arrival, Red, RedParams};
use crate::units::{Span, Time};

/// Parameters of adaptive RED.
#[derive(Clone, Debug, PartialEq)]
pub struct AdaptiveRedParams {
    /// RED, with the max_p to begin with.
    pub red: RedParams,
    /// Time between two adaptations.
    pub interval: Span,
    /// α: largest increase of max_p.
    pub increase: f64,
    /// β: factor by which max_p decreases.
    pub decrease: f64,
}

/// max_p grows no more beyond the upper and shrinks no more below the lower.
const MAX_P_RANGE: [f64; 2] = [0.01, 0.5];

/// w_q that averages over about a second of a link's packets.
pub fn automatic_weight(mean_packet_time: Span) -> f64 {
    -libm::expm1(-mean_packet_time.as_secs())
}

/// min_th in packets for a queueing delay to aim at; max_th is three times as much.
pub fn automatic_min_threshold(target_delay: Span, mean_packet_time: Span) -> f64 {
    (target_delay.as_secs() / mean_packet_time.as_secs() / 2.0).max(5.0)
}

/// State of one adaptive RED queue.
#[derive(Clone, Debug)]
pub struct AdaptiveRed {
    red: Red,
    interval: Span,
    increase: f64,
    decrease: f64,
    /// Averages between these leave max_p alone.
    target: [f64; 2],
    next_adaptation: Time,
}

impl AdaptiveRed {
    /// Bytes that it remembers from packet to packet: RED's, max_p, and when it adapts next.
    pub(super) const STATE_BYTES: usize = Red::STATE_BYTES + size_of::<f64>() + size_of::<Time>();

    /// Adaptive RED before the first packet.
    ///
    /// # Panics
    /// If the time between two adaptations is zero.
    pub fn new(params: AdaptiveRedParams) -> Self {
        let AdaptiveRedParams { red, interval, increase, decrease } = params;
        assert!(interval > Span::ZERO, "adaptations need an interval");
        let between = |share| red.min_threshold + share * (red.max_threshold - red.min_threshold);
        let target = [between(0.4), between(0.6)];
        let next_adaptation = Time::ZERO + interval;
        AdaptiveRed { red: Red::new(red), interval, increase, decrease, target, next_adaptation }
    }

    /// As [`Red::probability`].
    #[inline(never)]
    pub fn probability(&mut self, arrival: &Arrival) -> f64 {
        self.stretched_probability(arrival, 1.0)
    }

    /// As [`Red::stretched_probability`]; the marks for max_p stay where they are.
    #[inline]
    pub fn stretched_probability(&mut self, arrival: &Arrival, stretch: f64) -> f64 {
        if self.next_adaptation <= arrival.now {
            self.catch_up(arrival);
        }
        self.red.stretched_probability(arrival, stretch)
    }

    /// As [`Red::plain_probability`].
    #[inline]
    pub fn plain_probability(&self) -> f64 {
        self.red.plain_probability()
    }

    /// As [`Red::on_verdict`].
    #[inline]
    pub fn on_verdict(&mut self, signalled: bool) {
        self.red.on_verdict(signalled);
    }

    /// As [`Red::is_forced`].
    #[inline]
    pub fn is_forced(&self) -> bool {
        self.red.is_forced()
    }

    /// avg, in the unit of the parameters.
    pub fn average(&self) -> f64 {
        self.red.average()
    }

    /// The present max_p.
    pub fn max_probability(&self) -> f64 {
        self.red.max_probability()
    }

    /// The adaptations that were due until this arrival.
    #[cold]
    fn catch_up(&mut self, arrival: &Arrival) {
        let now_ns = arrival.now.as_nanos();
        let busy_until = Time::from_nanos(now_ns.saturating_sub(arrival.idle.as_nanos()));
        while self.next_adaptation <= arrival.now {
            let average = self.red.average_after(self.next_adaptation.since(busy_until));
            if !self.adapt(average) && average < self.target[0] {
                // At the lower end, and until now the average has only decayed.
                let missed = arrival.now.since(self.next_adaptation).as_nanos();
                self.next_adaptation += self.interval * (missed / self.interval.as_nanos());
            }
            self.next_adaptation += self.interval;
        }
    }

    /// Moves max_p once; tells whether it has moved.
    fn adapt(&mut self, average: f64) -> bool {
        let max_p = self.red.max_probability();
        let [low, high] = self.target;
        let [lower_end, upper_end] = MAX_P_RANGE;
        let moved = if average > high && max_p <= upper_end {
            max_p + self.increase.min(max_p / 4.0)
        } else if average < low && max_p >= lower_end {
            max_p * self.decrease
        } else {
            return false;
        };
        self.red.set_max_probability(moved.min(1.0));
        true
    }
}

#[cfg(test)]
#[path = "adaptive_red_tests.rs"]
mod tests;
