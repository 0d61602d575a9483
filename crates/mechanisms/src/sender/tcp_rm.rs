//! TCP/RM, resource marking with RFC 3168 feedback: SBRM's growth, and a reduction by κ once per round trip with marks.
//! S. Zimmermann, "Congestion pricing as scalable, efficient and stable congestion control for future IP networks",
//! dissertation, 2005, section 5.6.3.
//!
//! ```text
//! ACK without ECE:                   cwnd ← cwnd + κ RTT/cwnd w      (5.6.1)
//! first ACK with ECE, per round trip: cwnd ← cwnd − κ cwnd            (5.6.2)
//! balance:                           cwnd² = w RTT/m                 m the share of marks; not printed
//! ```
//!
//! w is the flow's willingness to pay. A receiver of RFC 3168 repeats ECE on every ACK until it receives CWR, so that
//! marks cannot be counted. Rates are proportional to √(w/RTT) if marks of flows are independent, and approach w if all
//! flows are marked at once: both follow from the two rules. Further echoes are ignored, and the window does not grow,
//! until the round trip is over.
//!
//! "TCP/RM only modifies TCP's congestion avoidance algorithm", and "TCP's normal reaction to packet loss is unchanged"
//! (5.6.3). Slow start is therefore NewReno's, and a mark in it halves the window. A loss, or a timeout, also halves it
//! in a round trip in which a mark has reduced it by κ: RFC 3168's rule of once per window assumes that a mark and a
//! loss have equal effects.
//!
//! The kernel implementation (`bpf/tcprm.bpf.c`) uses TCP's smoothed round trip. It counts segments and not ACKs, and a
//! mark costs κ in slow start as well, as in the profile "linux".
//!
//! The round trip is that of the ACK, or TCP's smoothed estimate with its clock granularity (`round_trip`): the
//! dissertation's simulator had one of 100 ms. Without timestamps, a segment sent before a loss was detected gives no
//! sample, as section 5.6.3 requires: TCP discards its current measurement at any retransmission. Packets carry ECT(0),
//! since the feedback is that of RFC 3168.

use super::pricing::{self, rtt_s};
use super::reno::BETA;
use super::{Ack, Control, Sender, Window};
use crate::mechanism::About;
use crate::units::{Demand, Share, Span, Whole};
use crate::{parameters, words};

parameters! {
    /// Resource marking with RFC 3168's feedback (Zimmermann 2005, section 5.6.3): grows as SBRM does, and decreases by
    /// κ of the window once per round trip with marks. Needs ecn = true.
    pub struct TcpRmParams {
        /// w: willingness to pay of the flow, segments per second.
        pub willingness_to_pay: Demand = "20.0",
        /// κ: share of the window that a round trip with marks costs.
        pub kappa: Share = "0.1",
        /// Round-trip time used in (5.6.1).
        pub round_trip: RoundTripReading = "sample",
        /// Smallest window after a mark, in segments. The dissertation names none; NewReno's is two.
        pub least_window: Whole<1, 1_000> = "1",
        /// Grow by the segments that an ACK acknowledges, as in the kernel, not per ACK as in (5.6.1) and NewReno.
        pub byte_counting: bool = { linux: "true", classic: "false", linux_2_6_29: "false" },
        /// A mark in slow start halves the window, as in NewReno, since only congestion avoidance is modified.
        /// Otherwise it costs κ there, too.
        pub halves_in_slow_start: bool = { linux: "false", classic: "true", linux_2_6_29: "true" },
    }
}

words! {
    /// Round-trip time used by a source.
    pub enum RoundTripReading {
        /// Exact round-trip time of the ACK.
        Sample = "sample",
        /// TCP's smoothed estimate, by the clock that `tcp.quirks.rtt_tick` gives it.
        Smoothed = "smoothed",
    }
}

/// State of a TCP/RM sender.
#[derive(Clone, Debug)]
pub struct TcpRm {
    params: TcpRmParams,
    /// Whether the last mark has reduced the window by κ, less than a loss does.
    cut_by_kappa: bool,
}

impl Sender for TcpRm {
    type Params = TcpRmParams;

    const ABOUT: About = About {
        name: "tcp-rm",
        title: "TCP/RM",
        source: "Zimmermann 2005, section 5.6.3",
        usage: r#"tcp.congestion_control = { kind = "tcp-rm", willingness_to_pay = 20 }"#,
        file: "sender/tcp_rm.rs",
        text: crate::mechanism::source_text!("tcp_rm.rs"),
    };

    const LINUX_NAME: &'static str = "tg_tcprm";

    const NEEDS_ECN: bool = true;

    const PAYS: bool = true;
}

impl Control for TcpRm {
    fn new(params: TcpRmParams) -> Self {
        TcpRm { params, cut_by_kappa: false }
    }

    fn set_willingness(&mut self, willingness: Demand) {
        self.params.willingness_to_pay = willingness;
    }

    #[inline]
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if !ack.window_limited {
            return;
        }
        let counted = if self.params.byte_counting { ack.acked } else { 1 };
        if window.in_slow_start() {
            return pricing::slow_start(window, counted);
        }
        let rtt_s = match self.params.round_trip {
            RoundTripReading::Sample => rtt_s(ack),
            RoundTripReading::Smoothed => ack.srtt.map_or(0.0, Span::as_secs),
        };
        let gain = self.params.kappa.0 * self.params.willingness_to_pay.0 * rtt_s / window.cwnd;
        window.cwnd += gain * f64::from(counted);
    }

    fn ssthresh_on_mark(&mut self, window: &Window) -> f64 {
        self.cut_by_kappa = !(self.params.halves_in_slow_start && window.in_slow_start());
        if self.cut_by_kappa {
            let least = f64::from(self.params.least_window.0);
            ((1.0 - self.params.kappa.0) * window.cwnd).max(least)
        } else {
            self.ssthresh_on_congestion(window)
        }
    }

    fn mark_weighed_less(&self) -> bool {
        self.cut_by_kappa
    }

    fn beta(&self) -> f64 {
        BETA
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::ack_at;
    use super::*;

    const PARAMS: TcpRmParams = TcpRmParams {
        willingness_to_pay: Demand(20.0),
        kappa: Share(0.1),
        round_trip: RoundTripReading::Sample,
        least_window: Whole(1),
        byte_counting: false,
        halves_in_slow_start: true,
    };

    fn beginning(params: TcpRmParams) -> (TcpRm, Window) {
        (TcpRm::new(params), Window { cwnd: 10.0, ssthresh: 5.0 })
    }

    /// By hand: 0.1 · 0.3 s · 20/s = 0.6 segments over a window of 10, though the ACK itself arrived after 0.1 s.
    #[test]
    fn the_round_trip_may_be_the_smoothed_one() {
        let smoothed = TcpRmParams { round_trip: RoundTripReading::Smoothed, ..PARAMS };
        let (mut source, mut window) = beginning(smoothed);
        let srtt = Some(Span::from_millis(300));
        source.on_ack(&mut window, &Ack { srtt, ..ack_at(0) });
        assert!((window.cwnd - 10.06).abs() < 1e-12, "{}", window.cwnd);
    }

    /// By hand: 0.1 · 0.1 s · 20/s = 0.2 segments over a window of 10, and a tenth of it for a mark.
    #[test]
    fn an_ack_adds_a_share_of_w_and_a_mark_takes_a_share_of_the_window() {
        let (mut source, mut window) = beginning(PARAMS);
        source.on_ack(&mut window, &ack_at(0));
        assert!((window.cwnd - 10.02).abs() < 1e-12, "{}", window.cwnd);
        assert!((source.ssthresh_on_mark(&window) - 0.9 * 10.02).abs() < 1e-12);
        assert!(source.mark_weighed_less());
        assert_eq!(source.ssthresh_on_congestion(&window), 5.01);
    }

    /// (5.6.1) is per ACK; the kernel implementation counts the four segments that it acknowledges. The same holds in
    /// slow start.
    #[test]
    fn an_ack_of_four_segments_adds_what_one_adds_unless_segments_are_counted() {
        for (byte_counting, counted) in [(false, 1.0), (true, 4.0)] {
            let (mut source, mut window) = beginning(TcpRmParams { byte_counting, ..PARAMS });
            let ack = Ack { acked: 4, ..ack_at(0) };
            source.on_ack(&mut window, &ack);
            assert!((window.cwnd - 10.0 - 0.02 * counted).abs() < 1e-12, "{}", window.cwnd);
            window = Window::new(10);
            source.on_ack(&mut window, &ack);
            assert_eq!(window.cwnd, 10.0 + counted);
        }
    }

    #[test]
    fn a_mark_leaves_no_less_than_the_least_window() {
        for (least, want) in [(1, 1.8), (2, 2.0)] {
            let (mut source, _) = beginning(TcpRmParams { least_window: Whole(least), ..PARAMS });
            let window = Window { cwnd: 2.0, ssthresh: 1.0 };
            assert!((source.ssthresh_on_mark(&window) - want).abs() < 1e-12);
        }
    }

    #[test]
    fn a_mark_in_slow_start_weighs_what_a_loss_does() {
        let (mut source, _) = beginning(PARAMS);
        assert_eq!(source.ssthresh_on_mark(&Window::new(10)), 5.0);
        assert!(!source.mark_weighed_less());
        let (mut kernels, _) = beginning(TcpRmParams { halves_in_slow_start: false, ..PARAMS });
        assert_eq!(kernels.ssthresh_on_mark(&Window::new(10)), 9.0);
        assert!(kernels.mark_weighed_less());
    }
}
