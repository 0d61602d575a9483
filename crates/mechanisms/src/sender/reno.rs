//! Reno: slow start and congestion avoidance.
//! RFC 5681, sections 3.1 and 3.2; appropriate byte counting from RFC 3465.
//!
//! ```text
//! slow start,            cwnd < ssthresh:  cwnd ← cwnd + 1           per ACK of new data
//! congestion avoidance,  cwnd ≥ ssthresh:  cwnd ← cwnd + 1/cwnd      per ACK of new data
//! congestion:                              ssthresh ← max(cwnd/2, 2)
//! ```
//!
//! By default ACKs are counted, not bytes, as in ns-2 and in Linux up to 3.12 (where bytes were an option): with
//! delayed ACKs the window then grows by half a segment a round trip. With appropriate byte counting each ACK counts
//! for the N segments it acknowledges, in slow start for at most L = 2 of them.
//!
//! Linux changes the window in whole segments, with a different comparison:
//!
//! ```text
//! slow start,            cwnd ≤ ssthresh:  cwnd ← cwnd + 1           per ACK of new data
//! congestion avoidance,  cwnd > ssthresh:  cwnd ← cwnd + 1           per cwnd + 1 ACKs of new data
//! congestion:                              ssthresh ← max(⌊cwnd/2⌋, 2)
//! ```
//!
//! A window that was just halved therefore grows by a segment at once, which matters for small windows. Since 3.18
//! Linux counts segments instead of ACKs, without a limit per ACK ([`WholeSegments`]): both options together.
//!
//! Differs from RFC 5681: half of cwnd, not of the data in flight, as in Linux and ns-2; cwnd may grow by a fraction of
//! a segment. A window that the sender does not fill does not grow (RFC 7661, section 3).

use super::whole_segments::WholeSegments;
use super::{Ack, Control, MIN_SSTHRESH, Sender, Window};
use crate::mechanism::About;
use crate::parameters;

/// Share of the window kept on congestion.
pub const BETA: f64 = 0.5;

/// RFC 3465's limit L on the segments that one ACK counts for in slow start.
pub const BYTE_COUNTING_LIMIT: u32 = 2;

parameters! {
    /// RFC 5681.
    pub struct RenoParams {
        /// Change the window in whole segments, as in Linux.
        pub whole_segments: bool = { linux: "true", classic: "false", linux_2_6_29: "true" },
        /// Grow by the segments that an ACK acknowledges, not per ACK, RFC 3465. With whole_segments there is no limit
        /// per ACK, as in Linux since 3.18.
        pub byte_counting: bool = { linux: "true", classic: "false", linux_2_6_29: "false" },
    }
}

/// State of Reno.
#[derive(Clone, Debug)]
pub struct Reno {
    params: RenoParams,
    /// ACKs counted towards the next whole segment.
    counted: u32,
    /// Segments counted towards the next whole segment.
    whole: WholeSegments,
}

impl Sender for Reno {
    type Params = RenoParams;

    const ABOUT: About = About {
        name: "reno",
        title: "Reno",
        source: "RFC 5681; RFC 3465",
        usage: r#"tcp.congestion_control = "reno""#,
        file: "sender/reno.rs",
        text: crate::mechanism::source_text!("reno.rs"),
    };
}

impl Control for Reno {
    fn new(params: RenoParams) -> Self {
        Reno { params, counted: 0, whole: WholeSegments::default() }
    }

    #[inline]
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if !ack.window_limited {
            return;
        }
        let counted = if self.params.byte_counting { ack.acked } else { 1 };
        if self.params.whole_segments {
            return match self.params.byte_counting {
                true => self.grow_by_segments(window, counted),
                false => self.grow_by_acks(window),
            };
        }
        window.cwnd += if window.in_slow_start() {
            f64::from(counted.min(BYTE_COUNTING_LIMIT))
        } else {
            f64::from(counted) / window.cwnd
        };
    }

    fn ssthresh_on_congestion(&mut self, window: &Window) -> f64 {
        self.counted = 0;
        self.whole.reset();
        let kept = BETA * window.cwnd;
        let kept = if self.params.whole_segments { libm::floor(kept) } else { kept };
        kept.max(MIN_SSTHRESH)
    }

    fn beta(&self) -> f64 {
        BETA
    }
}

impl Reno {
    /// Grows as Linux 2.6.29, `tcp_reno_cong_avoid` with `tcp_cong_avoid_ai`.
    fn grow_by_acks(&mut self, window: &mut Window) {
        if window.cwnd <= window.ssthresh {
            window.cwnd += 1.0;
        } else if f64::from(self.counted) >= window.cwnd {
            window.cwnd += 1.0;
            self.counted = 0;
        } else {
            self.counted += 1;
        }
    }

    /// Grows as Linux since 3.18.
    fn grow_by_segments(&mut self, window: &mut Window, mut acked: u32) {
        if window.in_slow_start() {
            acked = WholeSegments::slow_start(window, acked);
        }
        if acked > 0 {
            self.whole.grow(window, window.cwnd as u32, acked);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::ack_at;
    use super::*;

    const EXACT: RenoParams = RenoParams { byte_counting: false, whole_segments: false };
    const PER_BYTE: RenoParams = RenoParams { byte_counting: true, whole_segments: false };
    const WHOLE: RenoParams = RenoParams { byte_counting: false, whole_segments: true };

    /// Acknowledges one window, `per_ack` segments at a time.
    fn round_trip(reno: &mut Reno, window: &mut Window, per_ack: u32) {
        for _ in 0..(window.cwnd as u32).div_ceil(per_ack) {
            reno.on_ack(window, &Ack { acked: per_ack, ..ack_at(0) });
        }
    }

    #[test]
    fn slow_start_doubles_the_window_every_round_trip() {
        let (mut reno, mut window) = (Reno::new(EXACT), Window::new(3));
        for want in [6.0, 12.0, 24.0] {
            round_trip(&mut reno, &mut window, 1);
            assert_eq!(window.cwnd, want);
        }
    }

    #[test]
    fn with_an_ack_for_every_second_segment_slow_start_grows_by_half_unless_bytes_are_counted() {
        for (params, want) in [(EXACT, 24.0), (PER_BYTE, 32.0)] {
            let (mut reno, mut window) = (Reno::new(params), Window::new(16));
            round_trip(&mut reno, &mut window, 2);
            assert_eq!(window.cwnd, want);
        }
    }

    #[test]
    fn an_ack_for_many_segments_opens_slow_start_by_no_more_than_two() {
        let (mut reno, mut window) = (Reno::new(PER_BYTE), Window::new(4));
        reno.on_ack(&mut window, &Ack { acked: 50, ..ack_at(0) });
        assert_eq!(window.cwnd, 6.0);
    }

    /// One segment per round trip; less by up to 1.5/cwnd, because cwnd grows during the round trip and only whole
    /// segments are acknowledged.
    #[test]
    fn congestion_avoidance_adds_one_segment_a_round_trip() {
        let mut reno = Reno::new(EXACT);
        let mut window = Window { cwnd: 100.0, ssthresh: 50.0 };
        for _ in 0..10 {
            round_trip(&mut reno, &mut window, 1);
        }
        assert!((109.85..=110.0).contains(&window.cwnd), "cwnd {}", window.cwnd);
    }

    /// n ACKs at 1/cwnd each integrate to √(cwnd² + 2n).
    #[test]
    fn congestion_avoidance_follows_the_square_root_law() {
        let mut reno = Reno::new(EXACT);
        let mut window = Window { cwnd: 10.0, ssthresh: 5.0 };
        for _ in 0..10_000 {
            reno.on_ack(&mut window, &ack_at(0));
        }
        let want = libm::sqrt(100.0 + 20_000.0);
        assert!((window.cwnd - want).abs() < 0.05, "cwnd {}, law {want}", window.cwnd);
    }

    #[test]
    fn half_of_the_window_remains_after_congestion_and_at_least_two_segments() {
        let mut reno = Reno::new(EXACT);
        for (cwnd, want) in [(31.0, 15.5), (4.0, 2.0), (3.0, 2.0)] {
            assert_eq!(reno.ssthresh_on_congestion(&Window { cwnd, ssthresh: 1e9 }), want);
        }
    }

    /// One segment a round trip, even with an ACK for every second segment.
    #[test]
    fn linux_counts_segments() {
        let params = RenoParams { byte_counting: true, whole_segments: true };
        let (mut reno, mut window) = (Reno::new(params), Window { cwnd: 10.0, ssthresh: 12.0 });
        reno.on_ack(&mut window, &Ack { acked: 2, ..ack_at(0) });
        assert_eq!(window.cwnd, 12.0);
        for want in [12.0, 12.0, 12.0, 12.0, 12.0, 13.0] {
            reno.on_ack(&mut window, &Ack { acked: 2, ..ack_at(0) });
            assert_eq!(window.cwnd, want);
        }
        assert_eq!(reno.ssthresh_on_congestion(&window), 6.0);
    }

    /// From ssthresh 4: one segment on the first ACK, then one for six, then one for seven.
    #[test]
    fn whole_segments_come_one_for_a_window_and_one_acks() {
        let mut reno = Reno::new(WHOLE);
        let mut window = Window { cwnd: 4.0, ssthresh: 4.0 };
        let windows: Vec<f64> = (0..14)
            .map(|_| {
                reno.on_ack(&mut window, &ack_at(0));
                window.cwnd
            })
            .collect();
        assert_eq!(windows, [[5.0; 6].as_slice(), &[6.0; 7], &[7.0]].concat());
        assert_eq!(reno.ssthresh_on_congestion(&window), 3.0);
    }
}
