//! Bursts as formed by Linux's segmentation offload (`tcp_tso_autosize`, `tcp_tso_should_defer`): a device gets a
//! millisecond's worth of segments at once, at least two.
//!
//! ```text
//! most = max(2, gain · cwnd / srtt · 1/1024 s + (64 KiB ≫ min_rtt / 512 µs) / MSS)
//! gain = 2 below half the slow-start threshold, 1.2 above
//! ```
//!
//! (Bursts of Prague are a quarter as long, with a gain of 1.)
//!
//! but never more than half of the window, so that there are at least two bursts (`tcp_cwnd_test`). (The increment for
//! short round trips applies only if the sender knows its minimum RTT: with RACK.)
//!
//! The last segment of such a burst has PSH, so that the receiver acknowledges it without delay. A burst limited by the
//! window waits for the next ACK, if that is due within a millisecond.

use tidegate_mechanisms::sender::{Pacing, Window};
use tidegate_mechanisms::units::{Span, Time};

use super::feedback::Feedback;
use super::kernel::Kernel;
use super::outstanding::Outstanding;

/// Maximum burst, bytes: the largest packet before segmentation.
const MOST_BYTES: u64 = 65_536;
const MILLISECOND: Span = Span::from_millis(1);
/// A burst is sent if it fills at least the window divided by this.
const WINDOW_DIVISOR: u32 = 3;

/// Burst sizes of one sender.
#[derive(Clone, Copy, Debug)]
pub struct Bursts {
    mss: u16,
    /// Segments of the largest burst.
    limit: u16,
    /// Segments of the smallest burst.
    least: u16,
}

impl Bursts {
    /// Returns the bursts of segments with `mss` bytes.
    pub fn new(mss: u64) -> Self {
        let limit = (MOST_BYTES / mss).min(u16::MAX.into()) as u16;
        let mut bursts = Bursts { mss: mss as u16, limit, least: 0 };
        bursts.set_least(Kernel::default().least_burst);
        bursts
    }

    /// Sets the smallest burst, segments.
    pub fn set_least(&mut self, segments: u32) {
        self.least = segments.min(u16::MAX.into()) as u16;
    }

    /// Returns the maximum number of segments sent at once at the pacing rate, if the window allows.
    pub fn most(&self, window: Window, feedback: &Feedback, pacing: Pacing) -> u32 {
        let Some(srtt) = feedback.round_trip().srtt() else { return self.least.into() };
        let gain = pacing.gain(window);
        let rate = gain * window.cwnd * (1e9 / pacing.bursts_per_s());
        let srtt_ns = srtt.as_nanos() as f64;
        let bytes = self.bytes_nearby(feedback, pacing);
        // Usually it is the minimum; a multiplication decides this much faster than divisions.
        let (mss, limit) = (u32::from(self.mss), u32::from(self.limit));
        if bytes < mss && rate <= f64::from(self.least) * srtt_ns {
            return self.least.into();
        }
        ((rate / srtt_ns) as u32 + bytes / mss).min(limit).max(self.least.into())
    }

    /// Returns the maximum number of segments sent at once at the controller's own pacing rate, in segments per second,
    /// with its minimum burst.
    pub fn most_at(&self, per_s: f64, least: u32, feedback: &Feedback) -> u32 {
        let bytes = self.bytes_nearby(feedback, Pacing::Linux);
        let paced = per_s / Pacing::Linux.bursts_per_s() * f64::from(self.mss);
        let segments = (paced as u32).saturating_add(bytes) / u32::from(self.mss);
        segments.min(self.limit.into()).max(least)
    }

    /// Returns the increment of a burst for a short round trip, bytes.
    #[inline]
    fn bytes_nearby(&self, feedback: &Feedback, pacing: Pacing) -> u32 {
        let min_rtt = feedback.min_rtt().filter(|_| pacing.has_larger_bursts_nearby());
        let near = min_rtt.map_or(u64::MAX, |min| (min.as_nanos() / 1_000) >> 9);
        if near < 32 { (MOST_BYTES >> near) as u32 } else { 0 }
    }

    /// Whether all of `room` is sent at once, because it is at most a minimum burst and no segment waits for the next
    /// ACK after such a silence. This is the usual case, and cheap to check.
    #[inline]
    pub fn fills(&self, room: u32, silence: Span) -> bool {
        room <= self.least.into() && silence > MILLISECOND
    }

    /// Returns the maximum number of segments of a window that are sent at once.
    #[inline]
    pub fn most_of(cwnd: f64) -> u32 {
        (cwnd as u32 / 2).max(1)
    }

    /// Whether to wait for the next ACK instead of sending less than a burst into `room` segments, `silence` after the
    /// last transmission. It never waits if the send time of the first segment is unknown.
    pub fn awaits_ack(
        &self,
        room: u32,
        cwnd: f64,
        feedback: &Feedback,
        out: &Outstanding,
        silence: Span,
        now: Time,
    ) -> bool {
        // A single branch, since none of the three conditions is predictable.
        if out.is_empty() | (silence > MILLISECOND) | (WINDOW_DIVISOR * room >= cwnd as u32) {
            return false;
        }
        let (Some(sent), Some(srtt)) = (out.sent_at(out.una()), feedback.round_trip().srtt())
        else {
            return false;
        };
        let soon = now + MILLISECOND.min(Span::from_nanos(srtt.as_nanos() / 2));
        sent + srtt <= soon
    }
}
