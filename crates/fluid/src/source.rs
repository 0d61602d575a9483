//! What an ACK does to a window.

/// Equal sources.
#[derive(Clone, Copy, Debug)]
pub struct Group {
    /// What they do.
    pub law: Law,
    /// How many.
    pub count: f64,
    /// Their round trip without queueing, in seconds.
    pub base_rtt_s: f64,
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
    /// A constant rate, in packets/s.
    Cbr {
        /// What it sends.
        rate_pps: f64,
    },
}

impl Group {
    /// Round trip with this queue, in seconds.
    pub fn rtt_s(&self, queue: f64, capacity_pps: f64) -> f64 {
        self.base_rtt_s + queue.max(-self.base_rtt_s * capacity_pps / 2.0) / capacity_pps
    }

    /// Rate of a source with this window, in packets/s.
    pub fn rate_pps(&self, window: f64, queue: f64, capacity_pps: f64) -> f64 {
        match self.law {
            Law::Cbr { rate_pps } => rate_pps,
            _ => window / self.rtt_s(queue, capacity_pps),
        }
    }
}

impl Law {
    /// TCP Reno with an ACK for each packet: (1 − p)/W − p W/2.
    pub const RENO: Law = Law::Aimd { increase: 1.0, decrease: 0.5 };

    /// Whether it answers to marks in proportion.
    pub fn is_scalable(self) -> bool {
        matches!(self, Law::Scalable)
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
            Law::Cbr { .. } => 0.0,
        }
    }
}
