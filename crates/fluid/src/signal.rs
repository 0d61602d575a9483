//! What a queue says of itself, with what it remembers.

/// A congestion signal.
#[derive(Clone, Copy, Debug)]
pub enum Signal {
    /// Random early detection, gentle; its memory is the mean queue r, r' = α c (b − r).
    Red {
        /// Where marking begins, in packets of mean queue.
        min_threshold: f64,
        /// Where the probability is `max_probability`; 1 at twice that.
        max_threshold: f64,
        /// p_max.
        max_probability: f64,
        /// α.
        weight: f64,
    },
    /// Single-bit resource marking (5.4.1): p = 1 − exp(−γ [b − b0]⁺).
    Sbrm {
        /// γ, per packet.
        steepness: f64,
        /// b0, in packets.
        target: f64,
    },
}

impl Signal {
    /// Its memory after a queue has long been the same.
    pub fn settled(&self, queue: f64) -> f64 {
        match self {
            Signal::Red { .. } => queue,
            Signal::Sbrm { .. } => 0.0,
        }
    }

    /// How its memory changes, per second.
    pub fn memory_slope(&self, queue: f64, memory: f64, capacity_pps: f64) -> f64 {
        match self {
            Signal::Red { weight, .. } => weight * capacity_pps * (queue - memory),
            Signal::Sbrm { .. } => 0.0,
        }
    }

    /// Probability that a packet is marked.
    pub fn probability(&self, queue: f64, memory: f64) -> f64 {
        match *self {
            Signal::Red { min_threshold, max_threshold, max_probability, .. } => {
                let width = max_threshold - min_threshold;
                let above = memory - max_threshold;
                let probability = match above >= 0.0 {
                    true => max_probability + (1.0 - max_probability) * above / max_threshold,
                    false => max_probability * (memory - min_threshold) / width,
                };
                probability.clamp(0.0, 1.0)
            }
            Signal::Sbrm { steepness, target } => {
                -libm::expm1(-steepness * (queue - target).max(0.0))
            }
        }
    }
}
