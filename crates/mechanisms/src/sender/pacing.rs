//! Pacing rate of a controller, as Linux sets that of a socket (`sk_pacing_rate`), and the bursts of segmentation
//! offload at that rate.

use super::Window;

/// Rules for the pacing rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pacing {
    /// Linux's defaults (`tcp_pacing_ss_ratio`, `tcp_pacing_ca_ratio`, `sk_pacing_shift`).
    Linux,
    /// Rules of Linux's Prague (`prague_update_pacing_rate`), whose rate includes headers while the paced lengths do
    /// not.
    Prague,
}

/// Ratio of a packet's length to its payload, with timestamps.
const HEADERS: f64 = 1500.0 / 1448.0;

impl Pacing {
    /// Returns the pacing rate as a multiple of cwnd/srtt.
    #[inline]
    pub fn gain(self, window: Window) -> f64 {
        match (self, window.cwnd < window.ssthresh / 2.0) {
            (Pacing::Linux, true) => 2.0,
            (Pacing::Linux, false) => 1.2,
            (Pacing::Prague, true) => 2.0 * HEADERS,
            (Pacing::Prague, false) => HEADERS,
        }
    }

    /// Returns the inverse of a burst's duration at the pacing rate, 1/s.
    #[inline]
    pub fn bursts_per_s(self) -> f64 {
        match self {
            Pacing::Linux => 1024.0,
            Pacing::Prague => 4096.0,
        }
    }

    /// Whether bursts are larger on paths with a round trip of a few milliseconds and less (`tcp_tso_rtt_log`).
    #[inline]
    pub fn has_larger_bursts_nearby(self) -> bool {
        self == Pacing::Linux
    }
}
