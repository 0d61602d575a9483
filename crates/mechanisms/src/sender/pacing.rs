//! How a controller's segments are paced, as Linux sets the rate of a socket (`sk_pacing_rate`).

use super::Window;

/// Pacing gains, and the size of the bursts that segmentation offload makes at the pacing rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pacing {
    /// Pacing rate over cwnd/srtt in slow start, while cwnd is below half of ssthresh.
    pub slow_start: f64,
    /// Pacing rate over cwnd/srtt otherwise.
    pub avoidance: f64,
    /// A burst has what the pacing rate sends in the inverse of this, 1/s.
    pub bursts_per_s: f64,
    /// Bursts are larger on paths with a round trip of a few milliseconds and less (`tcp_tso_rtt_log`).
    pub near: bool,
}

impl Pacing {
    /// Linux's defaults (`tcp_pacing_ss_ratio`, `tcp_pacing_ca_ratio`, `sk_pacing_shift`).
    pub const LINUX: Pacing =
        Pacing { slow_start: 2.0, avoidance: 1.2, bursts_per_s: 1024.0, near: true };

    /// Pacing rate over cwnd/srtt.
    #[inline]
    pub fn gain(&self, window: Window) -> f64 {
        if window.cwnd < window.ssthresh / 2.0 { self.slow_start } else { self.avoidance }
    }
}
