//! How a controller's segments are paced, as Linux sets the rate of a socket (`sk_pacing_rate`), and how large the
//! bursts are that segmentation offload makes at that rate.

use super::Window;

/// Rules for the pacing rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pacing {
    /// Linux's defaults (`tcp_pacing_ss_ratio`, `tcp_pacing_ca_ratio`, `sk_pacing_shift`).
    Linux,
    /// Those of Linux's Prague (`prague_update_pacing_rate`), which has headers in the rate and none in what it paces.
    Prague,
}

/// Bytes of a packet over bytes of its payload, with timestamps.
const HEADERS: f64 = 1500.0 / 1448.0;

impl Pacing {
    /// Pacing rate over cwnd/srtt.
    #[inline]
    pub fn gain(self, window: Window) -> f64 {
        match (self, window.cwnd < window.ssthresh / 2.0) {
            (Pacing::Linux, true) => 2.0,
            (Pacing::Linux, false) => 1.2,
            (Pacing::Prague, true) => 2.0 * HEADERS,
            (Pacing::Prague, false) => HEADERS,
        }
    }

    /// A burst has what the pacing rate sends in the inverse of this, 1/s.
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
