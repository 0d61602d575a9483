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
    /// TCP Reno: (1 − p)/W − p W/2.
    Reno,
    /// DCTCP and Prague: 1/W − p/2.
    Scalable,
    /// Single-bit resource marking: κ (w R/W − p).
    Sbrm {
        /// κ.
        gain: f64,
        /// w, in packets/s.
        willingness_pps: f64,
    },
}

impl Group {
    /// Round trip with this queue, in seconds.
    pub fn rtt_s(&self, queue: f64, capacity_pps: f64) -> f64 {
        self.base_rtt_s + queue.max(-self.base_rtt_s * capacity_pps / 2.0) / capacity_pps
    }
}

impl Law {
    /// Whether it answers to marks in proportion.
    pub fn is_scalable(self) -> bool {
        matches!(self, Law::Scalable)
    }

    /// What an ACK adds to the window, in packets.
    pub fn per_ack(self, window: f64, probability: f64, rtt_s: f64) -> f64 {
        match self {
            Law::Reno => (1.0 - probability) / window - probability * window / 2.0,
            Law::Scalable => 1.0 / window - probability / 2.0,
            Law::Sbrm { gain, willingness_pps } => {
                gain * (willingness_pps * rtt_s / window - probability)
            }
        }
    }
}
