//! Congestion controllers: growth and reduction of the window.
//!
//! A controller decides only cwnd and ssthresh. Sequence numbers, loss recovery (detection and repair of losses, and
//! the reduction of the window to ssthresh meanwhile) and timers belong to the TCP endpoint, which reports four events
//! to the controller:
//!
//! ```text
//! on_ack                  an ACK of new data outside loss recovery        cwnd grows
//! ssthresh_on_congestion  a loss or an ECN echo, once per window          the endpoint reduces
//! on_recovery_exit        loss recovery is over, cwnd is ssthresh         cwnd as the endpoint left it
//! on_timeout              the retransmission timer has expired            cwnd ← 1
//! ```
//!
//! A scalable controller ([`Controller::is_scalable`]) also gets every mark, by `on_marks`, and reacts in proportion
//! instead of as to a loss.
//!
//! A controller that models its path ([`ModelPath`]) does without these: it sets window and pacing rate by samples of the
//! delivery rate.
//!
//! Windows are counted in segments, as Linux does, in floating point; bytes are segments times MSS.

pub mod bbr;
pub mod bbr3;
pub mod bic;
pub mod compound;
pub mod controller;
pub mod cubic;
mod cubic_2_1;
pub mod dctcp;
pub mod direct_window;
pub mod htcp;
pub mod hybla;
pub mod hystart;
pub mod ledbat;
pub mod linux_cubic;
pub mod linux_hystart;
pub mod marked_share;
mod pacing;
pub mod path_model;
pub mod prague;
mod pricing;
pub mod reno;
pub mod sbrm;
pub mod slow_start;
pub mod tcp_rm;
pub mod vegas;
pub mod vegas_cp;
pub mod westwood;
pub mod whole_segments;
mod windowed_max;

pub use bbr::{Bbr, BbrParams};
pub use bbr3::{Bbr3, Bbr3Params};
pub use bic::{Bic, BicParams};
pub use compound::{Compound, CompoundParams};
pub use controller::{Control, Controller, Sender, SenderParams};
pub use cubic::{Cubic, CubicGrowth, CubicParams};
pub use dctcp::{Dctcp, DctcpParams};
pub use direct_window::{DirectWindow, DirectWindowParams, EndOfSlowStart, PriceReading};
pub use htcp::{Htcp, HtcpParams};
pub use hybla::{Hybla, HyblaParams};
pub use hystart::{HyStart, HyStartParams};
pub use ledbat::{Ledbat, LedbatParams};
pub use linux_cubic::LinuxCubic;
pub use linux_hystart::{LinuxHyStart, LinuxHyStartParams};
pub use pacing::Pacing;
pub use path_model::{
    Beginning, LostSegment, ModelPath, Newest, PathEstimate, RateSample, Recovering, Totals,
};
pub use prague::{Prague, PragueParams};
pub use reno::{Reno, RenoParams};
pub use sbrm::{Sbrm, SbrmParams};
pub use slow_start::SlowStartExit;
pub use tcp_rm::{RoundTripReading, TcpRm, TcpRmParams};
pub use vegas::{Vegas, VegasParams};
pub use vegas_cp::{Moves, RateBy, VegasCp, VegasCpParams};
pub use westwood::{Westwood, WestwoodParams};

use crate::units::{Span, Time};

/// Window of a sender, in segments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// Congestion window, at least 1.
    pub cwnd: f64,
    /// Slow-start threshold; infinite until the first congestion.
    pub ssthresh: f64,
}

impl Window {
    /// Returns the window of a new connection.
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
    /// Arrival time.
    pub now: Time,
    /// Segments newly acknowledged, cumulatively.
    pub acked: u32,
    /// Payload newly known to have arrived, cumulatively or selectively, bytes.
    pub delivered_bytes: u64,
    /// Marked segments, if the connection counts marks; otherwise 0.
    pub marked: u32,
    /// Round-trip sample of this ACK.
    pub rtt: Option<Span>,
    /// One-way delay of the acknowledged segment, by the receiver's clock, for controllers that read it
    /// ([`Sender::READS_ONE_WAY_DELAY`]).
    pub one_way_delay: Option<Span>,
    /// Smoothed round-trip time.
    pub srtt: Option<Span>,
    /// Segments in flight before this ACK.
    pub in_flight: u32,
    /// Whether the sender used its whole window; an unused window does not grow.
    pub window_limited: bool,
    /// Whether this is the first ACK of a new round trip.
    pub round_start: bool,
}

/// Marks of an acknowledgement for a scalable controller, also during loss recovery.
#[derive(Clone, Copy, Debug)]
pub struct Marks {
    /// Arrival time.
    pub now: Time,
    /// Segments newly known to have arrived, cumulatively or selectively.
    pub delivered: u32,
    /// Marked segments of them.
    pub marked: u32,
    /// Prices carried by packets, as reported ([`crate::price::Gathered::take`]), for controllers that read them;
    /// otherwise 0.
    pub prices: u32,
    /// First unacknowledged segment, after this ACK.
    pub una: u64,
    /// Next segment to be sent for the first time.
    pub nxt: u64,
    /// Whether loss recovery is in progress, so that the controller must not change the window.
    pub in_recovery: bool,
}

/// Smallest slow-start threshold, in segments (RFC 5681, equation 4).
pub const MIN_SSTHRESH: f64 = 2.0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::price::Renewal;
    use crate::units::{Demand, Factor, OrOff, Share, Whole};

    /// Returns an ordinary ACK of one segment, `now_ms` after the start.
    pub(super) fn ack_at(now_ms: u64) -> Ack {
        Ack {
            now: Time::from_nanos(now_ms * 1_000_000),
            acked: 1,
            delivered_bytes: 1_460,
            marked: 0,
            rtt: Some(Span::from_millis(100)),
            one_way_delay: Some(Span::from_millis(50)),
            srtt: Some(Span::from_millis(100)),
            in_flight: 10,
            window_limited: true,
            round_start: false,
        }
    }

    /// Returns an ACK that delivers nothing, `now_ms` after the start.
    pub(super) fn marks_at(now_ms: u64, una: u64, nxt: u64) -> Marks {
        let now = Time::from_nanos(now_ms * 1_000_000);
        Marks { now, delivered: 0, marked: 0, prices: 0, una, nxt, in_recovery: false }
    }

    fn all() -> [Controller; 16] {
        let (whole_segments, byte_counting) = (false, false);
        let cubic = |growth| {
            SenderParams::Cubic(CubicParams {
                growth,
                beta: None,
                slow_start_exit: SlowStartExit::Loss,
            })
        };
        [
            SenderParams::Dctcp(DctcpParams { whole_segments, byte_counting }),
            SenderParams::Prague(PragueParams { reference_rtt: OrOff::Off }),
            SenderParams::Vegas(VegasParams {
                alpha: Factor(2.0),
                beta: Factor(4.0),
                gamma: Factor(1.0),
            }),
            SenderParams::Ledbat(LedbatParams {
                target: Span::from_millis(100),
                gain: Factor(1.0),
            }),
            SenderParams::Compound(CompoundParams {
                alpha: Share(0.125),
                beta: Share(0.5),
                k: Share(0.75),
                gamma: Factor(30.0),
                zeta: Factor(1.0),
                whole_segments: true,
            }),
            SenderParams::Sbrm(SbrmParams {
                willingness_to_pay: Demand(20.0),
                kappa: Share(0.2),
                slow_start: true,
                initial_kappa: None,
            }),
            SenderParams::TcpRm(TcpRmParams {
                willingness_to_pay: Demand(20.0),
                kappa: Share(0.1),
                round_trip: RoundTripReading::Sample,
                least_window: Whole(1),
                byte_counting: false,
                halves_in_slow_start: true,
            }),
            SenderParams::VegasCp(VegasCpParams {
                willingness_to_pay: Demand(20.0),
                history: Whole(50),
                renewal: Renewal::Sliding,
                rate_by: RateBy::Rtt,
                moves: Moves::AtOnce,
                slow_start: true,
            }),
            SenderParams::DirectWindow(DirectWindowParams {
                willingness_to_pay: Demand(20.0),
                kappa: Share(0.01),
                price: PriceReading::Path,
                history: Whole(50),
                largest_step: None,
                slow_start: true,
                slow_start_ends_with: EndOfSlowStart::Charge,
            }),
            SenderParams::Bic(BicParams {
                max_increment: 16,
                low_window: Factor(14.0),
                fast_convergence: true,
            }),
            SenderParams::Htcp(HtcpParams { rtt_scaling: true, bandwidth_switch: true }),
            SenderParams::Hybla(HyblaParams { reference_rtt: Span::from_millis(25) }),
            SenderParams::Westwood(WestwoodParams {}),
            SenderParams::Reno(RenoParams { whole_segments, byte_counting }),
            cubic(CubicGrowth::Linux),
            cubic(CubicGrowth::Rfc9438),
        ]
        .map(Controller::new)
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
