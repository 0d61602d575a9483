//! Random early detection: a probability that depends on the mean queue.

/// RED's function of the mean queue r, with r' = α c (b − r).
#[derive(Clone, Copy, Debug)]
pub struct FluidRed {
    /// Minimum threshold of the mean queue, packets.
    pub min_threshold: f64,
    /// Threshold at which the probability is `max_probability`, packets.
    pub max_threshold: f64,
    /// Maximum probability p_max.
    pub max_probability: f64,
    /// Weight α.
    pub weight: f64,
    /// Whether the probability rises to 1 at twice `max_threshold`; otherwise it jumps to 1 at `max_threshold`.
    pub gentle: bool,
    /// Spacing of signals.
    pub spacing: Spacing,
}

/// Spacing of signals at a probability p.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Spacing {
    /// Independent.
    Geometric,
    /// With gaps of 1 to 1/p packets, all equally likely.
    Uniform,
    /// With gaps of 1/p to 2/p packets.
    Wait,
}

impl FluidRed {
    /// Returns p for a mean queue and this p_max.
    pub fn probability(&self, mean: f64, max_probability: f64) -> f64 {
        let above = mean - self.max_threshold;
        let probability = match (above >= 0.0, self.gentle) {
            (true, true) => max_probability + (1.0 - max_probability) * above / self.max_threshold,
            (true, false) => 1.0,
            (false, _) => {
                let width = self.max_threshold - self.min_threshold;
                max_probability * (mean - self.min_threshold) / width
            }
        };
        probability.clamp(0.0, 1.0)
    }
}

impl Spacing {
    /// Returns the share of packets that are signalled: one over the mean gap.
    pub fn share(self, probability: f64) -> f64 {
        match self {
            Spacing::Geometric => probability,
            Spacing::Uniform => 2.0 * probability / (1.0 + probability),
            Spacing::Wait => 2.0 * probability / (3.0 - probability),
        }
    }
}

/// Adaptation of p_max that keeps the mean queue in a target range (Floyd, Gummadi, Shenker, 2001).
#[derive(Clone, Copy, Debug)]
pub struct RedAdaptation {
    /// Time between two steps, s.
    pub interval_s: f64,
    /// Largest increase; a quarter of p_max if that is less.
    pub increase: f64,
    /// Factor of a decrease.
    pub decrease: f64,
}

/// Target range, as shares of the distance between the thresholds.
const LOW_HIGH: [f64; 2] = [0.4, 0.6];
/// Range of p_max.
const MAX_P_RANGE: [f64; 2] = [0.01, 0.5];

impl RedAdaptation {
    /// Returns the slope of p_max, per second, as a continuous version of its steps.
    pub fn slope(&self, red: &FluidRed, mean: f64, max_probability: f64) -> f64 {
        let width = red.max_threshold - red.min_threshold;
        let [low, high] = LOW_HIGH.map(|share| red.min_threshold + share * width);
        let [least, most] = MAX_P_RANGE;
        if mean > high && max_probability <= most {
            self.increase.min(max_probability / 4.0) / self.interval_s
        } else if mean < low && max_probability >= least {
            max_probability * libm::log(self.decrease) / self.interval_s
        } else {
            0.0
        }
    }
}
