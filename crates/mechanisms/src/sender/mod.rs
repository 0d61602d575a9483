//! Congestion controllers: how the window grows, and to what it shrinks.
//!
//! A controller decides on cwnd alone. Sequence numbers, loss recovery (how losses are found and
//! repaired, and how the window glides down to ssthresh meanwhile) and timers live in the TCP
//! endpoint, which tells a controller of four events:
//!
//! ```text
//! on_ack                  an ACK of new data outside loss recovery        cwnd grows
//! ssthresh_on_congestion  a loss or an ECN echo, once per window          the endpoint reduces
//! on_recovery_exit        loss recovery is over, cwnd is ssthresh         cwnd as the endpoint left it
//! on_timeout              the retransmission timer has expired            cwnd ← 1
//! ```
//!
//! A scalable controller ([`Controller::is_scalable`]) is told of every mark besides, by `on_marks`,
//! and answers to them in proportion instead of as to a loss.
//!
//! Windows are counted in segments, as Linux does, in floating point; bytes are segments times MSS.

pub mod cubic;
pub mod dctcp;
pub mod hystart;
pub mod linux_cubic;
pub mod linux_hystart;
pub mod marked_share;
pub mod prague;
pub mod reno;
pub mod slow_start;
pub mod whole_segments;

pub use cubic::{Cubic, CubicParams};
pub use dctcp::Dctcp;
pub use hystart::HyStart;
pub use linux_cubic::LinuxCubic;
pub use linux_hystart::LinuxHyStart;
pub use prague::{Prague, PragueParams};
pub use reno::{Reno, RenoParams};
pub use slow_start::SlowStartExit;

use crate::units::{Span, Time};

/// What a sender may have in flight, in segments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// Congestion window, at least 1.
    pub cwnd: f64,
    /// Slow-start threshold; infinite until the first congestion.
    pub ssthresh: f64,
}

impl Window {
    /// The window of a new connection.
    pub fn new(initial_window: u32) -> Self {
        Window { cwnd: f64::from(initial_window), ssthresh: f64::INFINITY }
    }

    /// Whether the window is below its threshold.
    #[inline]
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }
}

/// An acknowledgement of new data.
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    /// When it arrived.
    pub now: Time,
    /// Segments newly acknowledged, cumulatively.
    pub acked: u32,
    /// How many of them were marked, where the connection counts marks; 0 elsewhere.
    pub marked: u32,
    /// Round-trip sample of this ACK.
    pub rtt: Option<Span>,
    /// Smoothed round-trip time.
    pub srtt: Option<Span>,
    /// Segments in flight before this ACK.
    pub in_flight: u32,
    /// Whether the sender used its whole window; a window that nobody fills does not grow.
    pub window_limited: bool,
    /// Whether this is the first ACK of a new round trip.
    pub round_start: bool,
}

/// What an acknowledgement tells a scalable controller, inside loss recovery too.
#[derive(Clone, Copy, Debug)]
pub struct Marks {
    /// When it arrived.
    pub now: Time,
    /// Segments that it shows to have arrived, cumulatively or selectively.
    pub delivered: u32,
    /// How many of them were marked.
    pub marked: u32,
    /// First segment not acknowledged, now.
    pub una: u64,
    /// Next segment to be sent for the first time.
    pub nxt: u64,
    /// Whether losses are being repaired, so that the window is not the controller's to move.
    pub repairing: bool,
}

/// A congestion controller.
#[derive(Clone, Debug)]
pub enum Controller {
    /// RFC 5681.
    Reno(Reno),
    /// RFC 9438.
    Cubic(Cubic),
    /// CUBIC as Linux computes it.
    LinuxCubic(LinuxCubic),
    /// RFC 8257.
    Dctcp(Dctcp),
    /// Prague (draft-briscoe-iccrg-prague-congestion-control).
    Prague(Prague),
}

impl Controller {
    /// Lets the window grow. To be called outside loss recovery only.
    #[inline]
    pub fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        match self {
            Controller::Reno(reno) => reno.on_ack(window, ack),
            Controller::Cubic(cubic) => cubic.on_ack(window, ack),
            Controller::LinuxCubic(cubic) => cubic.on_ack(window, ack),
            Controller::Dctcp(dctcp) => dctcp.on_ack(window, ack),
            Controller::Prague(prague) => prague.on_ack(window, ack),
        }
    }

    /// Whether it answers to marks in proportion to their share, and so needs them counted.
    pub fn is_scalable(&self) -> bool {
        matches!(self, Controller::Dctcp(_) | Controller::Prague(_))
    }

    /// Tells a scalable controller what an ACK delivers, before anything else is done about the ACK.
    /// Whether the window has to come down for its marks is asked by [`Controller::lowers_for_marks`].
    pub fn on_marks(&mut self, window: &mut Window, marks: &Marks) {
        match self {
            Controller::Dctcp(dctcp) => dctcp.on_marks(marks),
            Controller::Prague(prague) => prague.on_marks(window, marks),
            Controller::Reno(_) | Controller::Cubic(_) | Controller::LinuxCubic(_) => {}
        }
    }

    /// Whether it lowers the window for marks itself, in [`Controller::on_marks`]. Otherwise the
    /// endpoint does, once per window of data, to [`Controller::ssthresh_on_mark`].
    pub fn lowers_for_marks(&self) -> bool {
        matches!(self, Controller::Prague(_))
    }

    /// The new slow-start threshold after an ECN echo: for most controllers a mark is as a loss.
    pub fn ssthresh_on_mark(&mut self, window: &Window, now: Time, in_flight: u32) -> f64 {
        match self {
            Controller::Dctcp(dctcp) => dctcp.ssthresh_on_mark(window),
            _ => self.ssthresh_on_congestion(window, now, in_flight),
        }
    }

    /// The new slow-start threshold after a loss, to be asked once per window of data and, on time-outs, before [`Controller::on_timeout`] the first time in a row.
    /// The endpoint sets it, and brings cwnd down to it.
    pub fn ssthresh_on_congestion(&mut self, window: &Window, now: Time, in_flight: u32) -> f64 {
        let _ = (now, in_flight); // none of today's controllers asks; delay-based ones will
        match self {
            Controller::Reno(reno) => reno.ssthresh_on_congestion(window),
            Controller::Cubic(cubic) => cubic.ssthresh_on_congestion(window),
            Controller::LinuxCubic(cubic) => cubic.ssthresh_on_congestion(window),
            Controller::Dctcp(dctcp) => dctcp.ssthresh_on_congestion(window),
            Controller::Prague(prague) => prague.ssthresh_on_congestion(window),
        }
    }

    /// Starts over with one segment after a time-out; ssthresh is the endpoint's.
    pub fn on_timeout(&mut self, window: &mut Window, now: Time) {
        let _ = now;
        window.cwnd = 1.0;
        match self {
            Controller::Reno(_) | Controller::Dctcp(_) | Controller::Prague(_) => {}
            Controller::Cubic(cubic) => cubic.on_timeout(),
            Controller::LinuxCubic(cubic) => cubic.on_timeout(),
        }
    }

    /// Loss recovery is over.
    pub fn on_recovery_exit(&mut self, window: &mut Window, now: Time) {
        let _ = (window, now);
        if let Controller::Cubic(cubic) = self {
            cubic.on_recovery_exit();
        }
    }

    /// The share of the window that is kept on a loss (multiplicative decrease factor).
    pub fn beta(&self) -> f64 {
        match self {
            Controller::Reno(_) => reno::BETA,
            Controller::Cubic(_) => cubic::BETA,
            Controller::LinuxCubic(_) => linux_cubic::BETA,
            Controller::Dctcp(_) | Controller::Prague(_) => reno::BETA,
        }
    }
}

/// Smallest slow-start threshold, in segments (RFC 5681, equation 4).
pub const MIN_SSTHRESH: f64 = 2.0;

#[cfg(test)]
mod tests {
    use super::*;

    /// An ordinary ACK of one segment, `now_ms` after the start.
    pub(super) fn ack_at(now_ms: u64) -> Ack {
        Ack {
            now: Time::from_nanos(now_ms * 1_000_000),
            acked: 1,
            marked: 0,
            rtt: Some(Span::from_millis(100)),
            srtt: Some(Span::from_millis(100)),
            in_flight: 10,
            window_limited: true,
            round_start: false,
        }
    }

    /// An ACK that delivers nothing, `now_ms` after the start.
    pub(super) fn marks_at(now_ms: u64, una: u64, nxt: u64) -> Marks {
        let now = Time::from_nanos(now_ms * 1_000_000);
        Marks { now, delivered: 0, marked: 0, una, nxt, repairing: false }
    }

    fn all() -> [Controller; 5] {
        [
            Controller::Dctcp(Dctcp::new(RenoParams::default())),
            Controller::Prague(Prague::new(PragueParams::default())),
            Controller::LinuxCubic(LinuxCubic::new(SlowStartExit::Loss)),
            Controller::Reno(Reno::new(RenoParams::default())),
            Controller::Cubic(Cubic::new(CubicParams::default())),
        ]
    }

    #[test]
    fn a_timeout_leaves_one_segment_and_the_threshold_alone() {
        for mut controller in all() {
            let mut window = Window { cwnd: 40.0, ssthresh: 20.0 };
            controller.on_timeout(&mut window, Time::ZERO);
            assert_eq!(window, Window { cwnd: 1.0, ssthresh: 20.0 });
        }
    }

    #[test]
    fn the_threshold_is_the_kept_share_of_the_window_and_at_least_two() {
        for mut controller in all() {
            let mut threshold = |cwnd| {
                controller.ssthresh_on_congestion(&Window { cwnd, ssthresh: 1e9 }, Time::ZERO, 0)
            };
            let (large, small) = (threshold(100.0), threshold(2.5));
            assert!((large - 100.0 * controller.beta()).abs() < 0.1, "but for whole segments");
            assert_eq!(small, 2.0);
        }
    }

    #[test]
    fn a_window_that_is_not_used_does_not_grow() {
        for mut controller in all() {
            for ssthresh in [5.0, f64::INFINITY] {
                let mut window = Window { cwnd: 10.0, ssthresh };
                for ms in 0..1_000 {
                    let ack = Ack { window_limited: false, ..ack_at(ms) };
                    controller.on_ack(&mut window, &ack);
                }
                assert_eq!(window.cwnd, 10.0);
            }
        }
    }
}
