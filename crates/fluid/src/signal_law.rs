//! Signal laws of queues, and their state.

use crate::price::Price;
use crate::red::{FluidRed, RedAdaptation};

/// State of a signal: a mean queue or a probability, and a second such value.
pub type SignalState = [f64; 2];

/// How a queue signals congestion.
#[derive(Clone, Debug)]
pub enum SignalLaw {
    /// Random early detection; its state is the mean queue.
    Red(FluidRed),
    /// Adaptive RED; its state is the mean queue, and p_max.
    AdaptiveRed(FluidRed, RedAdaptation),
    /// A piecewise linear function of the present queue between these points (queue in packets, probability).
    Piecewise(Vec<(f64, f64)>),
    /// Single-bit resource marking (5.4.1): p = 1 − exp(−γ [b − b0]⁺).
    Sbrm {
        /// Steepness γ, per packet.
        steepness: f64,
        /// Target b0, packets.
        target: f64,
    },
    /// PC1 and PC3; the state is the price.
    Price(Price),
    /// PIE; its state is p, whose steps are smaller the smaller it is (RFC 8033, section 4.2).
    Pie(PiController),
    /// Controller of DualPI2; its state is p′. Classic packets get p′², scalable ones k p′ (RFC 9332).
    Pi2 {
        /// Controller of p′.
        controller: PiController,
        /// Coupling factor k.
        coupling: f64,
    },
}

/// PI controller of a probability by the delay q = b/c: p' = α/T (q − q₀) + β q'.
#[derive(Clone, Copy, Debug)]
pub struct PiController {
    /// Target delay q₀, s.
    pub target_s: f64,
    /// Update interval T, s.
    pub interval_s: f64,
    /// Gain α, Hz.
    pub alpha_hz: f64,
    /// Gain β, Hz.
    pub beta_hz: f64,
}

/// A queue, its rate of change, and its link.
#[derive(Clone, Copy, Debug)]
pub struct FluidQueue {
    /// Queue b, packets.
    pub packets: f64,
    /// Rate of change b', packets/s.
    pub slope_pps: f64,
    /// Excess y − c of arrivals over the capacity, packets/s; less than b' where an empty queue stays empty.
    pub excess_pps: f64,
    /// Capacity c, packets/s.
    pub capacity_pps: f64,
}

/// Pairs of a bound of p and the divisor of PIE's adjustment below it.
const STEPS: [(f64, f64); 6] =
    [(1e-6, 2048.0), (1e-5, 512.0), (1e-4, 128.0), (1e-3, 32.0), (1e-2, 8.0), (1e-1, 2.0)];

impl SignalLaw {
    /// Returns the state in equilibrium with this queue and probability.
    pub fn settled(&self, queue: f64, probability: f64) -> SignalState {
        match self {
            SignalLaw::Red(_) => [queue, 0.0],
            SignalLaw::AdaptiveRed(red, _) => [queue, max_probability_at(red, queue, probability)],
            SignalLaw::Sbrm { .. } | SignalLaw::Piecewise(_) => [0.0, 0.0],
            SignalLaw::Price(price) => [price.signalled_price(probability), 0.0],
            SignalLaw::Pie(_) | SignalLaw::Pi2 { .. } => [probability, 0.0],
        }
    }

    /// Returns the slope of the state, per second.
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

    /// Returns the state limited to its bounds.
    pub fn bounded(&self, memory: SignalState) -> SignalState {
        match self {
            SignalLaw::Pie(_) | SignalLaw::Pi2 { .. } => [memory[0].clamp(0.0, 1.0), 0.0],
            SignalLaw::Price(_) => [memory[0].max(0.0), 0.0],
            _ => memory,
        }
    }

    /// Returns the signal probability.
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

    /// Returns the probability that a packet is marked, of a scalable sender or another.
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

/// Returns the p_max with which RED has this probability at a queue; the initial one if that is undetermined.
fn max_probability_at(red: &FluidRed, queue: f64, probability: f64) -> f64 {
    let above = queue - red.min_threshold;
    match above > 0.0 && queue < red.max_threshold && probability > 0.0 {
        true => probability * (red.max_threshold - red.min_threshold) / above,
        false => red.max_probability,
    }
}

/// Interpolates linearly between the adjacent points; outside, returns the nearest point's value.
fn between(points: &[(f64, f64)], queue: f64) -> f64 {
    let above = points.partition_point(|(at, _)| *at <= queue);
    match (above.checked_sub(1).map(|i| points[i]), points.get(above)) {
        (Some((from, low)), Some((to, high))) => low + (high - low) * (queue - from) / (to - from),
        (Some((_, end)), None) | (None, Some(&(_, end))) => end,
        (None, None) => 0.0,
    }
}

impl PiController {
    /// Returns p', before the scaling of its steps.
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
