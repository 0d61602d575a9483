//! Controllers that model their path: from samples of the delivery rate they set window and pacing rate themselves.
//!
//! ```text
//! delivery rate = delivered / max(send interval, ACK interval)
//!   delivered       since the newest segment that the ACK names was sent
//!   send interval   from the send time of the newest segment delivered before it was sent, to its own
//!   ACK interval    from the last delivery before it was sent, to this ACK
//! ```
//!
//! Y. Cheng, N. Cardwell, S. Hassas Yeganeh and V. Jacobson, "Delivery Rate Estimation", in draft-ietf-ccwg-bbr, section
//! "Delivery Rate Samples"; Linux: `net/ipv4/tcp_rate.c`. The endpoint takes the samples, for these controllers alone.

use super::Window;
use crate::units::{Span, Time};

/// State of loss recovery after an ACK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Recovering {
    /// No recovery.
    #[default]
    No,
    /// Fast recovery.
    Fast,
    /// Recovery from a timeout.
    Timeout,
}

/// Segments delivered and lost by a connection since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Totals {
    /// Number of segments delivered, including the connection request.
    pub delivered: u64,
    /// Time of the last delivery.
    pub delivered_at: Time,
    /// Number of segments detected as lost, including lost retransmissions.
    pub lost: u64,
}

/// Newest segment that an ACK delivers: the state at its last transmission.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Newest {
    /// Number of segments delivered before.
    pub delivered_before: u64,
    /// Number of segments lost before.
    pub lost_before: u64,
    /// Number of segments in flight, including this one.
    pub in_flight: u32,
    /// Whether the application limited the flow during the sample.
    pub app_limited: bool,
    /// The longer of send and ACK interval; `None` if it is shorter than the minimum round-trip time, which is
    /// impossible.
    pub interval: Option<Span>,
}

/// Data of an ACK for a controller that models its path. Counts are in segments.
#[derive(Clone, Copy, Debug)]
pub struct RateSample {
    /// Arrival time of the ACK.
    pub now: Time,
    /// Totals of the connection, including this ACK.
    pub totals: Totals,
    /// Number of segments newly delivered.
    pub newly_delivered: u32,
    /// Number of segments newly detected as lost.
    pub newly_lost: u32,
    /// Number of marked segments among those delivered, if every mark is reported.
    pub newly_marked: u32,
    /// Whether the ACK echoes congestion.
    pub congestion: bool,
    /// Newest segment delivered, if any.
    pub newest: Option<Newest>,
    /// Round-trip time of the segment that caused the ACK, unless it was retransmitted.
    pub rtt: Option<Span>,
    /// Whether the receiver may have delayed the acknowledgement.
    pub maybe_delayed: bool,
    /// Smoothed round-trip time, if known.
    pub srtt: Option<Span>,
    /// Number of segments in flight before the ACK.
    pub prior_in_flight: u32,
    /// Number of segments in flight after the ACK.
    pub in_flight: u32,
    /// Time until pacing permits the next segment.
    pub until_departure: Span,
    /// Whether the window was full at some time in the last round trip.
    pub window_limited: bool,
    /// State of loss recovery.
    pub recovering: Recovering,
}

impl RateSample {
    /// Returns the newest segment, the number of segments delivered since it was sent, and the interval, if the sample
    /// is valid.
    pub fn delivery(&self) -> Option<(Newest, u64, Span)> {
        let newest = self.newest?;
        let interval = newest.interval.filter(|interval| *interval > Span::ZERO)?;
        Some((newest, self.totals.delivered - newest.delivered_before, interval))
    }

    /// Whether the application limited the flow during the sample.
    pub fn app_limited(&self) -> bool {
        self.newest.is_some_and(|newest| newest.app_limited)
    }
}

/// A segment detected as lost: the state at its last transmission.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LostSegment {
    /// Number of the segment.
    pub segment: u64,
    /// Time of the detection.
    pub now: Time,
    /// Number of segments in flight at its transmission, including this one.
    pub in_flight: u32,
    /// Number of segments lost before its transmission.
    pub lost_before: u64,
    /// Whether the application limited the flow.
    pub app_limited: bool,
    /// Totals of the connection, including this loss.
    pub totals: Totals,
}

/// A controller's estimate of its path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PathEstimate {
    /// Name of the state.
    pub state: &'static str,
    /// Bandwidth, segments per second.
    pub bandwidth: f64,
    /// Pacing rate, segments per second.
    pub pacing_rate: f64,
    /// Minimum round-trip time, if known.
    pub min_rtt: Option<Span>,
    /// Upper bound of the segments in flight, set by losses.
    pub inflight_hi: Option<f64>,
    /// Upper bound of the segments in flight in the current cycle.
    pub inflight_lo: Option<f64>,
}

/// Properties of an established connection.
#[derive(Clone, Copy, Debug)]
pub struct Beginning {
    /// Time of its establishment.
    pub now: Time,
    /// Payload of a segment, bytes.
    pub mss: u64,
    /// Whether ACKs report all arrived segments (SACK).
    pub selective: bool,
    /// Round-trip time of the connection request, if known.
    pub rtt: Option<Span>,
    /// Seed of the controller's random numbers.
    pub seed: u64,
}

/// A controller that models its path.
pub trait ModelPath {
    /// Starts the model at the establishment of the connection.
    fn begin(&mut self, window: &Window, beginning: &Beginning);

    /// Processes an ACK. Returns whether the data in flight count as limited by the application, so that their samples
    /// do not lower the bandwidth estimate.
    fn on_sample(&mut self, window: &mut Window, sample: &RateSample) -> bool;

    /// Processes a lost segment, before the sample of the ACK that reports it.
    fn on_lost(&mut self, window: &Window, lost: &LostSegment) {
        let _ = (window, lost);
    }

    /// Processes the first transmission after idle time of the application, with nothing in flight.
    fn on_restart(&mut self, window: &mut Window, now: Time);

    /// Processes the expiry of the retransmission timer.
    fn on_timeout(&mut self, totals: Totals);

    /// Processes the detection of a spurious loss.
    fn on_undo(&mut self, window: &mut Window);

    /// Returns the pacing rate, segments per second.
    fn pacing_rate(&self) -> f64;

    /// Returns the minimum size of a burst of segmentation offload, segments.
    fn least_burst(&self) -> u32;

    /// Returns the estimate of the path.
    fn estimate(&self) -> PathEstimate;
}

/// Random numbers of one connection (SplitMix64; G. L. Steele, D. Lea and C. H. Flood, OOPSLA 2014).
#[derive(Clone, Copy, Debug, Default)]
pub struct Draws(u64);

impl Draws {
    /// Creates the generator from a seed of the connection.
    pub fn new(seed: u64) -> Self {
        Draws(seed)
    }

    fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// Returns a uniform number in `0..count`.
    pub fn below(&mut self, count: u32) -> u32 {
        (((self.word() >> 32) * u64::from(count)) >> 32) as u32
    }

    /// Returns a uniform number in `[0, 1)`.
    pub fn unit(&mut self) -> f64 {
        (self.word() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_depend_on_the_seed_and_reach_both_ends() {
        let drawn = |seed| {
            let mut draws = Draws::new(seed);
            (0..200).map(|_| draws.below(7)).collect::<Vec<_>>()
        };
        assert_eq!(drawn(3), drawn(3));
        assert_ne!(drawn(3), drawn(4));
        assert_eq!((drawn(3).iter().min(), drawn(3).iter().max()), (Some(&0), Some(&6)));
        let mut draws = Draws::new(1);
        let mean = (0..1_000).map(|_| draws.unit()).sum::<f64>() / 1_000.0;
        assert!((mean - 0.5).abs() < 0.04, "{mean}");
    }
}
