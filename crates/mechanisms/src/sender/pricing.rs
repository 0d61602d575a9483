//! Common parts of sources that pay for congestion.

use super::{Ack, Window};

/// Returns the round trip, seconds; 0 before the first sample.
#[inline]
pub(super) fn rtt_s(ack: &Ack) -> f64 {
    ack.rtt.or(ack.srtt).map_or(0.0, |rtt| rtt.as_secs())
}

/// Applies TCP's slow start, up to the threshold.
#[inline]
pub(super) fn slow_start(window: &mut Window, segments: u32) {
    window.cwnd = (window.cwnd + f64::from(segments)).min(window.ssthresh);
}

/// Changes the window by a step, but not below one segment. A reported (`reported`) reduction does not start slow
/// start.
#[inline]
pub(super) fn step(window: &mut Window, step: f64, reported: bool) {
    window.cwnd = (window.cwnd + step).max(1.0);
    if reported {
        window.ssthresh = window.ssthresh.min(window.cwnd);
    }
}
