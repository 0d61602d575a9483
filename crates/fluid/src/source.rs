//! What an ACK does to a window.

use crate::price::signalled_price;

/// Equal sources.
#[derive(Clone, Debug)]
pub struct SourceGroup {
    /// What they do.
    pub law: Law,
    /// How many.
    pub count: f64,
    /// Their round trip without queueing, in seconds.
    pub base_rtt_s: f64,
    /// Links that they pass, by their places.
    pub route: Vec<usize>,
    /// Whose they are, for links that distinguish customers.
    pub customer: Customer,
}

/// Whose a source is.
#[derive(Clone, Copy, Debug)]
pub struct Customer {
    /// How many sources it has.
    pub flows: f64,
    /// What it is assigned, or may cause, in packets/s.
    pub granted_pps: f64,
}

/// How a window answers to ACKs and marks: (6.4.2), and for Reno as in S. Low et al., "Linear stability of
/// TCP/RED and a scalable control".
#[derive(Clone, Copy, Debug)]
pub enum Law {
    /// Adds to the window and cuts a share of it: a (1 − p)/W − b p W.
    Aimd {
        /// a, in packets a round trip.
        increase: f64,
        /// b.
        decrease: f64,
    },
    /// DCTCP and Prague: 1/W − p/2.
    Scalable,
    /// Single-bit resource marking: κ (w R/W − p).
    Sbrm {
        /// κ.
        gain: f64,
        /// w, in packets/s.
        willingness_pps: f64,
    },
    /// The same by its steps, (5.1.2) and (5.1.3): κ ((1 − p) w R/W − p).
    SbrmSteps {
        /// κ.
        gain: f64,
        /// w, in packets/s.
        willingness_pps: f64,
    },
    /// Direct window update of explicit prices, (4.2.3): κ (w R/W − λ), with λ = −ln(1 − p)/ln φ.
    DirectWindow {
        /// κ.
        gain: f64,
        /// w, in packets/s.
        willingness_pps: f64,
        /// φ.
        base: f64,
    },
    /// TCP/RM, (5.6.1) and (5.6.2), in the mean: κ ((1 − p) w R/W − (1 − (1 − p)^W)).
    TcpRm {
        /// κ.
        gain: f64,
        /// w, in packets/s.
        willingness_pps: f64,
    },
    /// TCP by Padhye's formula, which says where it settles: (1/W − W/Ŵ²)/b.
    Padhye {
        /// b.
        packets_per_ack: f64,
        /// Least timeout, in seconds.
        min_rto_s: f64,
    },
    /// A constant rate, in packets/s.
    Cbr {
        /// What it sends.
        rate_pps: f64,
    },
}

impl SourceGroup {
    /// Round trip with this delay in queues, in seconds; not below half of it without.
    pub fn rtt_s(&self, delay_s: f64) -> f64 {
        self.base_rtt_s + delay_s.max(-self.base_rtt_s / 2.0)
    }

    /// Rate of a source with this window, in packets/s.
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

    /// Whether it answers to marks in proportion (RFC 9331), and its packets say so by ECT(1).
    pub fn is_scalable(self) -> bool {
        use Law::{DirectWindow, Sbrm, SbrmSteps, Scalable};
        matches!(self, Scalable | Sbrm { .. } | SbrmSteps { .. } | DirectWindow { .. })
    }

    /// What an ACK adds to the window, in packets.
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

/// 1/Ŵ by J. Padhye et al., "Modeling TCP throughput", SIGCOMM 1998, with a timeout of R more than the least:
/// √(2bp/3) + (1 + T/R) min(1, 3 √(3bp/8)) p (1 + 32 p²).
fn inverse_window(p: f64, rtt_s: f64, packets_per_ack: f64, min_rto_s: f64) -> f64 {
    let share = (3.0 * libm::sqrt(3.0 * packets_per_ack * p / 8.0)).min(1.0);
    let timeouts = share * p * (1.0 + 32.0 * p * p);
    libm::sqrt(2.0 * packets_per_ack * p / 3.0) + (1.0 + min_rto_s / rtt_s) * timeouts
}
