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
    /// PIE: its memory is p, and goes in smaller steps the smaller it is (RFC 8033, section 4.2).
    Pie(Controller),
    /// DualPI2's controller: its memory is p′; classic packets meet p′², scalable ones k p′ (RFC 9332).
    Pi2 {
        /// What moves p′.
        controller: Controller,
        /// k.
        coupling: f64,
    },
}

/// A probability that follows the delay q = b/c: p' = α/T (q − q₀) + β q'.
#[derive(Clone, Copy, Debug)]
pub struct Controller {
    /// q₀, in seconds.
    pub target_s: f64,
    /// T, in seconds.
    pub interval_s: f64,
    /// α, in Hz.
    pub alpha_hz: f64,
    /// β, in Hz.
    pub beta_hz: f64,
}

/// A queue, in packets, and how it changes, in packets/s, on a link of so many packets/s.
#[derive(Clone, Copy, Debug)]
pub struct Queue {
    /// b.
    pub packets: f64,
    /// b'.
    pub slope_pps: f64,
    /// c.
    pub capacity_pps: f64,
}

/// Below the first of each pair PIE divides its adjustment by the second.
const STEPS: [(f64, f64); 6] =
    [(1e-6, 2048.0), (1e-5, 512.0), (1e-4, 128.0), (1e-3, 32.0), (1e-2, 8.0), (1e-1, 2.0)];

impl Signal {
    /// Its memory after queue and probability have long been the same.
    pub fn settled(&self, queue: f64, probability: f64) -> f64 {
        match self {
            Signal::Red { .. } => queue,
            Signal::Sbrm { .. } => 0.0,
            Signal::Pie(_) | Signal::Pi2 { .. } => probability,
        }
    }

    /// How its memory changes, per second.
    pub fn memory_slope(&self, queue: Queue, memory: f64) -> f64 {
        match self {
            Signal::Red { weight, .. } => weight * queue.capacity_pps * (queue.packets - memory),
            Signal::Sbrm { .. } => 0.0,
            Signal::Pie(controller) => controller.slope(queue) / pie_divisor(memory),
            Signal::Pi2 { controller, .. } => controller.slope(queue),
        }
    }

    /// Its memory, within the bounds that it has.
    pub fn bounded(&self, memory: f64) -> f64 {
        match self {
            Signal::Red { .. } | Signal::Sbrm { .. } => memory,
            Signal::Pie(_) | Signal::Pi2 { .. } => memory.clamp(0.0, 1.0),
        }
    }

    /// Probability that it says.
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
            Signal::Pie(_) | Signal::Pi2 { .. } => memory,
        }
    }

    /// Probability that a packet is marked, of a sender who answers to marks in proportion or not.
    pub fn met(&self, probability: f64, scalable: bool) -> f64 {
        match self {
            Signal::Pi2 { coupling, .. } if scalable => (coupling * probability).min(1.0),
            Signal::Pi2 { .. } => probability * probability,
            Signal::Red { .. } | Signal::Sbrm { .. } | Signal::Pie(_) => probability,
        }
    }
}

impl Controller {
    /// p', before what makes its steps smaller.
    fn slope(&self, queue: Queue) -> f64 {
        let error_s = queue.packets / queue.capacity_pps - self.target_s;
        let change = queue.slope_pps / queue.capacity_pps;
        self.alpha_hz / self.interval_s * error_s + self.beta_hz * change
    }
}

fn pie_divisor(probability: f64) -> f64 {
    let step = STEPS.iter().find(|(below, _)| probability < *below);
    step.map_or(1.0, |(_, divisor)| *divisor)
}
