//! By which law a queue signals congestion, and what it remembers for that.

use crate::price::Price;
use crate::red::{FluidRed, RedAdaptation};

/// What a signal goes on from: a mean queue or a probability, and a second such.
pub type SignalState = [f64; 2];

/// How a queue signals congestion.
#[derive(Clone, Debug)]
pub enum SignalLaw {
    /// Random early detection; its memory is the mean queue.
    Red(FluidRed),
    /// Adaptive RED; its memory is the mean queue, and p_max.
    AdaptiveRed(FluidRed, RedAdaptation),
    /// Of the present queue: straight lines between these points (queue in packets, probability).
    Piecewise(Vec<(f64, f64)>),
    /// Single-bit resource marking (5.4.1): p = 1 − exp(−γ [b − b0]⁺).
    Sbrm {
        /// γ, per packet.
        steepness: f64,
        /// b0, in packets.
        target: f64,
    },
    /// PC1 and PC3: its memory is the price.
    Price(Price),
    /// PIE: its memory is p, and goes in smaller steps the smaller it is (RFC 8033, section 4.2).
    Pie(PiController),
    /// DualPI2's controller: its memory is p′; classic packets meet p′², scalable ones k p′ (RFC 9332).
    Pi2 {
        /// What moves p′.
        controller: PiController,
        /// k.
        coupling: f64,
    },
}

/// A probability that follows the delay q = b/c: p' = α/T (q − q₀) + β q'.
#[derive(Clone, Copy, Debug)]
pub struct PiController {
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
pub struct FluidQueue {
    /// b.
    pub packets: f64,
    /// b'.
    pub slope_pps: f64,
    /// y − c: what arrives beyond what the link carries; less than b' where an empty queue stays empty.
    pub excess_pps: f64,
    /// c.
    pub capacity_pps: f64,
}

/// Below the first of each pair PIE divides its adjustment by the second.
const STEPS: [(f64, f64); 6] =
    [(1e-6, 2048.0), (1e-5, 512.0), (1e-4, 128.0), (1e-3, 32.0), (1e-2, 8.0), (1e-1, 2.0)];

impl SignalLaw {
    /// Its memory after queue and probability have long been the same.
    pub fn settled(&self, queue: f64, probability: f64) -> SignalState {
        match self {
            SignalLaw::Red(_) => [queue, 0.0],
            SignalLaw::AdaptiveRed(red, _) => [queue, max_probability_at(red, queue, probability)],
            SignalLaw::Sbrm { .. } | SignalLaw::Piecewise(_) => [0.0, 0.0],
            SignalLaw::Price(price) => [price.signalled_price(probability), 0.0],
            SignalLaw::Pie(_) | SignalLaw::Pi2 { .. } => [probability, 0.0],
        }
    }

    /// How its memory changes, per second.
    pub fn memory_slope(&self, queue: FluidQueue, memory: SignalState) -> SignalState {
        let [first, second] = memory;
        let averaged = |red: &FluidRed| red.weight * queue.capacity_pps * (queue.packets - first);
        match self {
            SignalLaw::Red(red) => [averaged(red), 0.0],
            SignalLaw::AdaptiveRed(red, adapts) => {
                [averaged(red), adapts.slope(red, first, second)]
            }
            SignalLaw::Sbrm { .. } | SignalLaw::Piecewise(_) => [0.0, 0.0],
            SignalLaw::Price(price) => [price.slope(queue.packets, queue.excess_pps), 0.0],
            SignalLaw::Pie(controller) => [controller.slope(queue) / pie_divisor(first), 0.0],
            SignalLaw::Pi2 { controller, .. } => [controller.slope(queue), 0.0],
        }
    }

    /// Its memory, within the bounds that it has.
    pub fn bounded(&self, memory: SignalState) -> SignalState {
        match self {
            SignalLaw::Pie(_) | SignalLaw::Pi2 { .. } => [memory[0].clamp(0.0, 1.0), 0.0],
            SignalLaw::Price(_) => [memory[0].max(0.0), 0.0],
            _ => memory,
        }
    }

    /// Probability that it says.
    pub fn probability(&self, queue: f64, memory: SignalState) -> f64 {
        let [first, second] = memory;
        match self {
            SignalLaw::Red(red) => red.probability(first, red.max_probability),
            SignalLaw::AdaptiveRed(red, _) => red.probability(first, second),
            SignalLaw::Sbrm { steepness, target } => {
                -libm::expm1(-steepness * (queue - target).max(0.0))
            }
            SignalLaw::Piecewise(points) => between(points, queue),
            SignalLaw::Price(price) => price.probability(first),
            SignalLaw::Pie(_) | SignalLaw::Pi2 { .. } => first,
        }
    }

    /// Probability that a packet is marked, of a sender that answers to marks in proportion or not.
    pub fn met(&self, probability: f64, scalable: bool) -> f64 {
        match self {
            SignalLaw::Pi2 { coupling, .. } if scalable => (coupling * probability).min(1.0),
            SignalLaw::Pi2 { .. } => probability * probability,
            SignalLaw::Red(red) | SignalLaw::AdaptiveRed(red, _) => red.spacing.share(probability),
            SignalLaw::Sbrm { .. }
            | SignalLaw::Price(_)
            | SignalLaw::Pie(_)
            | SignalLaw::Piecewise(_) => probability,
        }
    }
}

/// p_max with which RED says this of a queue; as it begins where that says nothing.
fn max_probability_at(red: &FluidRed, queue: f64, probability: f64) -> f64 {
    let above = queue - red.min_threshold;
    match above > 0.0 && queue < red.max_threshold && probability > 0.0 {
        true => probability * (red.max_threshold - red.min_threshold) / above,
        false => red.max_probability,
    }
}

/// On the straight line between the points around it; outside, the nearest point's.
fn between(points: &[(f64, f64)], queue: f64) -> f64 {
    let above = points.partition_point(|(at, _)| *at <= queue);
    match (above.checked_sub(1).map(|i| points[i]), points.get(above)) {
        (Some((from, low)), Some((to, high))) => low + (high - low) * (queue - from) / (to - from),
        (Some((_, end)), None) | (None, Some(&(_, end))) => end,
        (None, None) => 0.0,
    }
}

impl PiController {
    /// p', before what makes its steps smaller.
    fn slope(&self, queue: FluidQueue) -> f64 {
        let error_s = queue.packets / queue.capacity_pps - self.target_s;
        let change = queue.slope_pps / queue.capacity_pps;
        self.alpha_hz / self.interval_s * error_s + self.beta_hz * change
    }
}

fn pie_divisor(probability: f64) -> f64 {
    let step = STEPS.iter().find(|(below, _)| probability < *below);
    step.map_or(1.0, |(_, divisor)| *divisor)
}
