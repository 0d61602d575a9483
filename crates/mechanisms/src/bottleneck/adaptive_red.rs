//! Adaptive RED: RED whose max_p moves slowly so that the average queue stays halfway between the
//! thresholds.
//! S. Floyd, R. Gummadi and S. Shenker, "Adaptive RED: An Algorithm for Increasing the Robustness of
//! RED's Active Queue Management", 2001; as Linux's RED with `adaptative`.
//!
//! RED's average queue depends on the load and on max_p. Adaptive RED is gentle RED, and every interval (0.5 s) it
//! adapts max_p so that the average moves towards a target range:
//!
//! ```text
//! low, high = min_th + 0.4 (max_th − min_th), min_th + 0.6 (max_th − min_th)
//! max_p ← max_p + min(α, max_p/4)                 avg > high and max_p ≤ 0.5
//! max_p ← β max_p                                 avg < low  and max_p ≥ 0.01
//! ```
//!
//! Parameters that are not set follow from the link, which sends C packets per second, and from a target delay:
//!
//! ```text
//! w_q    = 1 − exp(−1/C)
//! min_th = max(5, C · target delay/2)             packets
//! max_th = 3 min_th
//! ```
//!
//! Intervals are counted from the start, as by Linux's timer, and evaluated at the next arrival: since the last one,
//! the average has only decayed while the queue was idle. ns-2 adapts at the first arrival that comes an interval after
//! the last adaptation.

use super::red::{QueueUnit, RedOnLink, ascend, threshold};
use super::{Arrival, ManageQueue, Place, Red, RedSpacing};
use crate::mechanism::About;
use crate::parameters;
use crate::parameters::{ParameterError, too_short};
use crate::units::{QueueLength, Share, Span, Time};

parameters! {
    /// RED that adapts max_probability so that the average queue stays halfway between the thresholds. Always gentle.
    /// By default thresholds and weight follow from the link.
    pub struct AdaptiveRedParams {
        /// min_th: no signal below this average queue. Default: the queue of half the target delay, at least 5 packets.
        pub min_threshold: Option<QueueLength>,
        /// max_th: signals rise faster from this average queue on. Default: three times min_threshold.
        pub max_threshold: Option<QueueLength>,
        /// Target queueing delay for the default of min_threshold.
        pub target_delay: Span = "5 ms",
        /// max_p: initial probability just below max_threshold.
        pub max_probability: Share = "0.1",
        /// w_q: weight of a new sample in the average queue. Default: 1 - exp(-1/C), where the link
        /// sends C packets per second.
        pub weight: Option<Share>,
        /// Time between two adaptations.
        pub interval: Span = "500 ms",
        /// α: largest increase of max_probability; it grows by a quarter of itself if that is less.
        pub increase: Share = "0.01",
        /// β: factor by which max_probability decreases.
        pub decrease: Share = "0.9",
        /// Spacing of the signals.
        pub spacing: RedSpacing = "uniform",
        /// Drop even ECN-capable packets from twice max_threshold on, as RED does.
        pub hard_drop: bool = { linux: "false", classic: "true", linux_2_6_29: "false" },
    }
    check fits_together;
}

fn fits_together(params: &AdaptiveRedParams) -> Vec<ParameterError> {
    let thresholds = match (params.min_threshold, params.max_threshold) {
        (Some(min), Some(max)) => ascend(min, max),
        (None, Some(_)) => Some(("max_threshold", "give min_threshold, too".to_owned())),
        (_, None) => None,
    };
    thresholds.into_iter().chain(too_short(&[("interval", params.interval)])).collect()
}

/// Range of max_p: it does not grow above the upper limit or shrink below the lower one.
const MAX_P_RANGE: [f64; 2] = [0.01, 0.5];

/// Returns w_q for an average over about a second of a link's packets.
fn automatic_weight(mean_packet_time: Span) -> f64 {
    -libm::expm1(-mean_packet_time.as_secs())
}

/// Returns min_th in packets for a target queueing delay; max_th is three times that.
fn automatic_min_threshold(target_delay: Span, mean_packet_time: Span) -> f64 {
    (target_delay.as_secs() / mean_packet_time.as_secs() / 2.0).max(5.0)
}

/// State of one adaptive RED queue.
#[derive(Clone, Debug)]
pub struct AdaptiveRed {
    red: Red,
    interval: Span,
    increase: f64,
    decrease: f64,
    /// Target range: averages within it do not change max_p.
    target: [f64; 2],
    next_adaptation: Time,
}

impl ManageQueue for AdaptiveRed {
    type Params = AdaptiveRedParams;

    const ABOUT: About = About {
        name: "adaptive-red",
        title: "Adaptive RED",
        source: "Floyd, Gummadi and Shenker, 2001",
        usage: r#"bottleneck.aqm = { kind = "adaptive-red", target_delay = "10 ms" }"#,
        file: "bottleneck/adaptive_red.rs",
        text: crate::mechanism::source_text!("adaptive_red.rs"),
    };

    const HAS_THRESHOLDS: bool = true;

    fn new(params: AdaptiveRedParams, place: &Place) -> Result<Self, ParameterError> {
        let mean_packet_time = place.packet_time();
        let automatic = || automatic_min_threshold(params.target_delay, mean_packet_time);
        let (min_threshold, mode) =
            params.min_threshold.map_or_else(|| (automatic(), QueueUnit::Packets), threshold);
        let max_threshold =
            params.max_threshold.map_or(3.0 * min_threshold, |max| threshold(max).0);
        let between = |share| min_threshold + share * (max_threshold - min_threshold);
        Ok(AdaptiveRed {
            red: Red::on_link(RedOnLink {
                min_threshold,
                max_threshold,
                max_probability: params.max_probability.0,
                weight: params.weight.map_or_else(|| automatic_weight(mean_packet_time), |w| w.0),
                mode,
                gentle: true,
                spacing: params.spacing,
                hard_drop: params.hard_drop,
                marks_below: None,
                mean_packet: None,
                mean_packet_time,
            }),
            interval: params.interval,
            increase: params.increase.0,
            decrease: params.decrease.0,
            target: [between(0.4), between(0.6)],
            next_adaptation: Time::ZERO + params.interval,
        })
    }

    #[inline(never)]
    fn probability(&mut self, arrival: &Arrival) -> f64 {
        self.spaced_probability(arrival, 1.0)
    }

    /// The target range for max_p is not stretched.
    #[inline]
    fn stretched_probability(&mut self, arrival: &Arrival, stretch: f64) -> (f64, f64) {
        self.red.turn_to(arrival.user as usize);
        (self.spaced_probability(arrival, stretch), self.plain_probability())
    }

    #[inline]
    fn on_verdict(&mut self, signalled: bool) {
        self.red.on_verdict(signalled);
    }

    #[inline]
    fn is_forced(&self) -> bool {
        self.red.is_forced()
    }

    /// Size of RED's state, max_p, and the time of the next adaptation.
    fn state_bytes(&self) -> usize {
        self.red.state_bytes() + size_of::<f64>() + size_of::<Time>()
    }

    fn average_backlog(&self) -> Option<f64> {
        self.red.average_backlog()
    }
}

impl AdaptiveRed {
    #[inline]
    fn spaced_probability(&mut self, arrival: &Arrival, stretch: f64) -> f64 {
        if self.next_adaptation <= arrival.now {
            self.catch_up(arrival);
        }
        self.red.spaced_probability(arrival, stretch)
    }

    /// As [`Red::plain_probability`].
    #[inline]
    pub fn plain_probability(&self) -> f64 {
        self.red.plain_probability()
    }

    /// Returns avg, in the unit of the thresholds.
    pub fn average(&self) -> f64 {
        self.red.average()
    }

    /// Returns the present max_p.
    pub fn max_probability(&self) -> f64 {
        self.red.max_probability()
    }

    /// Performs the adaptations that were due until this arrival.
    #[cold]
    fn catch_up(&mut self, arrival: &Arrival) {
        let now_ns = arrival.now.as_nanos();
        let busy_until = Time::from_nanos(now_ns.saturating_sub(arrival.idle.as_nanos()));
        while self.next_adaptation <= arrival.now {
            let average = self.red.average_after(self.next_adaptation.since(busy_until));
            if !self.adapt(average) && average < self.target[0] {
                // At the lower limit, and so far the average has only decayed.
                let missed = arrival.now.since(self.next_adaptation).as_nanos();
                self.next_adaptation += self.interval * (missed / self.interval.as_nanos());
            }
            self.next_adaptation += self.interval;
        }
    }

    /// Adapts max_p once. Returns whether it has changed.
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
