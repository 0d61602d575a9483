//! Random early detection: a probability that goes by the mean queue.

/// RED's function of the mean queue r, with r' = α c (b − r).
#[derive(Clone, Copy, Debug)]
pub struct FluidRed {
    /// Where signalling begins, in packets of mean queue.
    pub min_threshold: f64,
    /// Where the probability is `max_probability`.
    pub max_threshold: f64,
    /// p_max.
    pub max_probability: f64,
    /// α.
    pub weight: f64,
    /// Whether the probability goes on to 1 at twice `max_threshold`; else it jumps to 1 there.
    pub gentle: bool,
    /// How signals are spaced.
    pub spacing: Spacing,
}

/// Which packets are signalled at a probability p.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Spacing {
    /// Each by itself.
    Geometric,
    /// With gaps of 1 to 1/p packets, all equally likely.
    Uniform,
    /// With gaps of 1/p to 2/p packets.
    Wait,
}

impl FluidRed {
    /// p of a mean queue, with this p_max.
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
    /// Share of the packets that are signalled: one over the mean gap.
    pub fn share(self, probability: f64) -> f64 {
        match self {
            Spacing::Geometric => probability,
            Spacing::Uniform => 2.0 * probability / (1.0 + probability),
            Spacing::Wait => 2.0 * probability / (3.0 - probability),
        }
    }
}

/// What moves p_max so that the mean queue stays between two marks (Floyd, Gummadi, Shenker, 2001).
#[derive(Clone, Copy, Debug)]
pub struct RedAdaptation {
    /// Time between two steps, in seconds.
    pub interval_s: f64,
    /// Largest increase; a quarter of p_max if that is less.
    pub increase: f64,
    /// Factor of a decrease.
    pub decrease: f64,
}

/// The marks, as shares of the path from one threshold to the other.
const LOW_HIGH: [f64; 2] = [0.4, 0.6];
/// p_max moves no further.
const MAX_P_RANGE: [f64; 2] = [0.01, 0.5];

impl RedAdaptation {
    /// How p_max changes, per second, its steps made smooth.
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
