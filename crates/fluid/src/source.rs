//! Laws of sources: the effect of an ACK on a window.

use crate::price::signalled_price;

/// Group of equal sources.
#[derive(Clone, Debug)]
pub struct SourceGroup {
    /// Law of the sources.
    pub law: Law,
    /// Number of sources.
    pub count: f64,
    /// Round trip without queueing, s.
    pub base_rtt_s: f64,
    /// Links of their path, by index.
    pub route: Vec<usize>,
    /// Customer, for links that differentiate customers.
    pub customer: Customer,
}

/// Customer that owns sources.
#[derive(Clone, Copy, Debug)]
pub struct Customer {
    /// Number of its sources.
    pub flows: f64,
    /// Granted rate, or granted congestion, packets/s.
    pub granted_pps: f64,
}

/// Reaction of a window to ACKs and marks: (6.4.2), and for Reno as in S. Low et al., "Linear stability of TCP/RED and
/// a scalable control".
#[derive(Clone, Copy, Debug)]
pub enum Law {
    /// Additive increase, multiplicative decrease: a (1 − p)/W − b p W.
    Aimd {
        /// Increase a, packets a round trip.
        increase: f64,
        /// Decrease b.
        decrease: f64,
    },
    /// DCTCP and Prague: 1/W − p/2.
    Scalable,
    /// Single-bit resource marking: κ (w R/W − p).
    Sbrm {
        /// Step κ.
        gain: f64,
        /// Willingness to pay w, packets/s.
        willingness_pps: f64,
    },
    /// Single-bit resource marking by its steps, (5.1.2) and (5.1.3): κ ((1 − p) w R/W − p).
    SbrmSteps {
        /// Step κ.
        gain: f64,
        /// Willingness to pay w, packets/s.
        willingness_pps: f64,
    },
    /// Direct window update of explicit prices, (4.2.3): κ (w R/W − λ), with λ = −ln(1 − p)/ln φ.
    DirectWindow {
        /// Step κ.
        gain: f64,
        /// Willingness to pay w, packets/s.
        willingness_pps: f64,
        /// Base φ.
        base: f64,
    },
    /// TCP/RM, (5.6.1) and (5.6.2), on average: κ ((1 − p) w R/W − (1 − (1 − p)^W)).
    TcpRm {
        /// Step κ.
        gain: f64,
        /// Willingness to pay w, packets/s.
        willingness_pps: f64,
    },
    /// TCP by Padhye's formula, which gives its equilibrium: (1/W − W/Ŵ²)/b.
    Padhye {
        /// Packets per ACK, b.
        packets_per_ack: f64,
        /// Minimum RTO, s.
        min_rto_s: f64,
    },
    /// Constant rate, packets/s.
    Cbr {
        /// Sending rate, packets/s.
        rate_pps: f64,
    },
}

impl SourceGroup {
    /// Returns the round trip with this queueing delay, s; at least half of the one without.
    pub fn rtt_s(&self, delay_s: f64) -> f64 {
        self.base_rtt_s + delay_s.max(-self.base_rtt_s / 2.0)
    }

    /// Returns the rate of a source with this window, packets/s.
    pub fn rate_pps(&self, window: f64, rtt_s: f64) -> f64 {
        match self.law {
            Law::Cbr { rate_pps } => rate_pps,
            _ => window / rtt_s,
        }
    }
}

impl Law {
    /// TCP Reno with an ACK for each packet: (1 − p)/W − p W/2.
    pub const RENO: Law = Law::Aimd { increase: 1.0, decrease: 0.5 };

    /// Whether it reacts to marks in proportion (RFC 9331), and its packets carry ECT(1).
    pub fn is_scalable(self) -> bool {
        use Law::{DirectWindow, Sbrm, SbrmSteps, Scalable};
        matches!(self, Scalable | Sbrm { .. } | SbrmSteps { .. } | DirectWindow { .. })
    }

    /// Returns the change of the window per ACK, packets.
    pub fn per_ack(self, window: f64, probability: f64, rtt_s: f64) -> f64 {
        match self {
            Law::Aimd { increase, decrease } => {
                increase * (1.0 - probability) / window - decrease * probability * window
            }
            Law::Scalable => 1.0 / window - probability / 2.0,
            Law::Sbrm { gain, willingness_pps } => {
                gain * (willingness_pps * rtt_s / window - probability)
            }
            Law::SbrmSteps { gain, willingness_pps } => {
                let unmarked = 1.0 - probability;
                gain * (unmarked * willingness_pps * rtt_s / window - probability)
            }
            Law::DirectWindow { gain, willingness_pps, base } => {
                gain * (willingness_pps * rtt_s / window - signalled_price(probability, base))
            }
            Law::TcpRm { gain, willingness_pps } => {
                let unmarked = 1.0 - probability;
                let any_marked = -libm::expm1(window * libm::log1p(-probability));
                gain * (unmarked * willingness_pps * rtt_s / window - any_marked)
            }
            Law::Padhye { packets_per_ack, min_rto_s } => {
                let settles = inverse_window(probability, rtt_s, packets_per_ack, min_rto_s);
                (1.0 / window - window * settles * settles) / packets_per_ack
            }
            Law::Cbr { .. } => 0.0,
        }
    }
}

/// Returns 1/Ŵ by J. Padhye et al., "Modeling TCP throughput", SIGCOMM 1998, with an RTO of R plus the minimum:
/// √(2bp/3) + (1 + T/R) min(1, 3 √(3bp/8)) p (1 + 32 p²).
fn inverse_window(p: f64, rtt_s: f64, packets_per_ack: f64, min_rto_s: f64) -> f64 {
    let share = (3.0 * libm::sqrt(3.0 * packets_per_ack * p / 8.0)).min(1.0);
    let timeouts = share * p * (1.0 + 32.0 * p * p);
    libm::sqrt(2.0 * packets_per_ack * p / 3.0) + (1.0 + min_rto_s / rtt_s) * timeouts
}
