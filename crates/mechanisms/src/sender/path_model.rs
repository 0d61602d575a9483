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

/// Where loss recovery stands, as an ACK leaves it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Recovering {
    /// Nothing is recovered.
    #[default]
    No,
    /// Fast recovery.
    Fast,
    /// Recovery from a timeout.
    Timeout,
}

/// What a connection has delivered and lost since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Totals {
    /// Segments that have arrived, the connection request among them.
    pub delivered: u64,
    /// When the last did.
    pub delivered_at: Time,
    /// Segments taken for lost, those that were retransmitted and lost again included.
    pub lost: u64,
}

/// The newest segment that an ACK names: what was known when it was sent last.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Newest {
    /// Segments delivered by then.
    pub delivered_before: u64,
    /// Segments lost by then.
    pub lost_before: u64,
    /// Segments in flight then, this one included.
    pub in_flight: u32,
    /// The application had too little to send in the time that the sample covers.
    pub app_limited: bool,
    /// The longer of send and ACK interval; `None` if that is shorter than any round trip, which cannot be.
    pub interval: Option<Span>,
}

/// What an ACK tells a controller that models its path. Counts are in segments.
#[derive(Clone, Copy, Debug)]
pub struct RateSample {
    /// When the ACK arrived.
    pub now: Time,
    /// What the connection has delivered and lost, with what this ACK shows.
    pub totals: Totals,
    /// Segments that the ACK shows to have arrived.
    pub newly_delivered: u32,
    /// Segments that it shows to be lost.
    pub newly_lost: u32,
    /// Of those delivered, marked ones, where every mark is reported.
    pub newly_marked: u32,
    /// It echoes congestion.
    pub congestion: bool,
    /// The newest segment that has arrived, if any has.
    pub newest: Option<Newest>,
    /// Round trip of the segment that caused the ACK, if that was sent once.
    pub rtt: Option<Span>,
    /// The receiver may have waited before it acknowledged.
    pub maybe_delayed: bool,
    /// Smoothed round trip, if one is known.
    pub srtt: Option<Span>,
    /// In flight before the ACK.
    pub prior_in_flight: u32,
    /// In flight after it.
    pub in_flight: u32,
    /// Time until pacing lets the next segment leave.
    pub until_departure: Span,
    /// The window was full at some time in the last round trip.
    pub window_limited: bool,
    /// Where loss recovery stands.
    pub recovering: Recovering,
}

impl RateSample {
    /// Delivered since the newest segment was sent, and in which time, if the sample is valid.
    pub fn delivery(&self) -> Option<(Newest, u64, Span)> {
        let newest = self.newest?;
        let interval = newest.interval.filter(|interval| *interval > Span::ZERO)?;
        Some((newest, self.totals.delivered - newest.delivered_before, interval))
    }

    /// Whether the sample covers a time in which the application had too little to send.
    pub fn app_limited(&self) -> bool {
        self.newest.is_some_and(|newest| newest.app_limited)
    }
}

/// A segment that is found to be lost: what was known when it was sent last.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LostSegment {
    /// Its number.
    pub segment: u64,
    /// When that is found.
    pub now: Time,
    /// Segments in flight then, this one included.
    pub in_flight: u32,
    /// Segments lost by then.
    pub lost_before: u64,
    /// The application had too little to send.
    pub app_limited: bool,
    /// What the connection has delivered and lost, with this one.
    pub totals: Totals,
}

/// What a controller takes its path for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PathEstimate {
    /// State of its state machine.
    pub state: &'static str,
    /// Bandwidth, segments per second.
    pub bandwidth: f64,
    /// Pacing rate, segments per second.
    pub pacing_rate: f64,
    /// Shortest round trip, if one is known.
    pub min_rtt: Option<Span>,
    /// Upper bound of what may be in flight that losses have shown, segments.
    pub inflight_hi: Option<f64>,
    /// The same of the present cycle.
    pub inflight_lo: Option<f64>,
}

/// What a connection is like that is established.
#[derive(Clone, Copy, Debug)]
pub struct Beginning {
    /// When that is.
    pub now: Time,
    /// Payload of a segment, bytes.
    pub mss: u64,
    /// ACKs name what has arrived (SACK).
    pub selective: bool,
    /// Round trip of the connection request, if that is known.
    pub rtt: Option<Span>,
    /// What random numbers are drawn from.
    pub seed: u64,
}

/// A controller that models its path.
pub trait ModelPath {
    /// The connection is established.
    fn begin(&mut self, window: &Window, beginning: &Beginning);

    /// An ACK. Returns whether what is in flight counts as limited by the application, so that no sample of it lowers
    /// the estimate of the bandwidth.
    fn on_sample(&mut self, window: &mut Window, sample: &RateSample) -> bool;

    /// A segment is lost, before the sample of the ACK that shows it.
    fn on_lost(&mut self, window: &Window, lost: &LostSegment) {
        let _ = (window, lost);
    }

    /// With nothing in flight a segment leaves after a time in which the application had nothing to send.
    fn on_restart(&mut self, window: &mut Window, now: Time);

    /// The retransmission timer has expired.
    fn on_timeout(&mut self, totals: Totals);

    /// What was taken for lost was not.
    fn on_undo(&mut self, window: &mut Window);

    /// Pacing rate, segments per second.
    fn pacing_rate(&self) -> f64;

    /// Fewest segments of a burst of segmentation offload.
    fn least_burst(&self) -> u32;

    /// What it takes its path for.
    fn estimate(&self) -> PathEstimate;
}

/// Random numbers of one connection (SplitMix64; G. L. Steele, D. Lea and C. H. Flood, OOPSLA 2014).
#[derive(Clone, Copy, Debug, Default)]
pub struct Draws(u64);

impl Draws {
    /// From a seed of the connection's own.
    pub fn new(seed: u64) -> Self {
        Draws(seed)
    }

    fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// Uniform in `0..count`.
    pub fn below(&mut self, count: u32) -> u32 {
        (((self.word() >> 32) * u64::from(count)) >> 32) as u32
    }

    /// Uniform in `[0, 1)`.
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
