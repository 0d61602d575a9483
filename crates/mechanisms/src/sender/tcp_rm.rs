//! TCP/RM, resource marking with the receivers there are: SBRM's growth, and a cut of κ once per round trip with marks.
//! S. Zimmermann, "Congestion pricing as scalable, efficient and stable congestion control for future IP networks",
//! dissertation, 2005, section 5.6.3.
//!
//! ```text
//! ACK without ECE:                   cwnd ← cwnd + κ RTT/cwnd w      (5.6.1)
//! first ACK with ECE, per round trip: cwnd ← cwnd − κ cwnd            (5.6.2)
//! balance:                           cwnd² = w RTT/m                 m the share of marks; not printed
//! ```
//!
//! w is the flow's willingness to pay. A receiver of RFC 3168 repeats ECE on every ACK until it sees CWR, so that marks
//! cannot be counted, and rates go as √(w/RTT) where marks fall on flows independently, and towards w where
//! they fall on all at once: that is what follows from the two rules, and no fault of the clock. Further echoes, and
//! growth, wait until the round trip is over.
//!
//! A kernel with our program has it, too (`bpf/tcprm.bpf.c`), with TCP's smoothed round trip.
//!
//! The round trip is that of the ACK, or TCP's smoothed estimate, by whatever clock that has (`round_trip`): the
//! dissertation's own simulator had one of 100 ms. Without timestamps a segment that was sent before a loss was found
//! measures nothing, as section 5.6.3 asks: TCP drops what it is timing when it sends anything again. Slow start and the answer to losses are TCP's. Packets carry ECT(0), for the feedback is that of RFC 3168.

use super::pricing::{self, rtt_s};
use super::reno::BETA;
use super::{Ack, Control, MIN_SSTHRESH, Sender, Window};
use crate::registry::About;
use crate::units::{Demand, Share, Span};
use crate::{parameters, words};

parameters! {
    /// Resource marking with RFC 3168's feedback (Zimmermann 2005, section 5.6.3): grows as SBRM does, and comes down by
    /// κ of the window once per round trip with marks. Needs ecn = true.
    pub struct TcpRmParams {
        /// What the flow offers to pay, w, in segments per second.
        pub willingness_to_pay: Demand = "20.0",
        /// κ: share of the window that a round trip with marks costs.
        pub kappa: Share = "0.1",
        /// Which round trip (5.6.1) is told.
        pub round_trip: RoundTripReading = "sample",
    }
}

words! {
    /// Which round trip a source is told.
    pub enum RoundTripReading {
        /// That of the ACK, exact.
        Sample = "sample",
        /// TCP's smoothed estimate, by the clock that `tcp.rtt_tick` gives it.
        Smoothed = "smoothed",
    }
}

/// TCP/RM has nothing to remember.
#[derive(Clone, Debug)]
pub struct TcpRm {
    kappa: f64,
    willingness: f64,
    round_trip: RoundTripReading,
}

impl Sender for TcpRm {
    type Params = TcpRmParams;

    const ABOUT: About = About {
        name: "tcp-rm",
        title: "TCP/RM",
        source: "Zimmermann 2005, section 5.6.3",
        usage: r#"tcp.congestion_control = { kind = "tcp-rm", willingness_to_pay = 20 }"#,
        file: "sender/tcp_rm.rs",
        text: include_str!("tcp_rm.rs"),
    };

    const LINUX_NAME: &'static str = "tg_tcprm";

    const NEEDS_ECN: bool = true;

    const PAYS: bool = true;
}

impl Control for TcpRm {
    fn new(params: TcpRmParams) -> Self {
        let TcpRmParams { willingness_to_pay, kappa, round_trip } = params;
        TcpRm { kappa: kappa.0, willingness: willingness_to_pay.0, round_trip }
    }

    fn set_willingness(&mut self, willingness: Demand) {
        self.willingness = willingness.0;
    }

    #[inline]
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if !ack.window_limited {
            return;
        }
        if window.in_slow_start() {
            return pricing::slow_start(window, ack.acked);
        }
        let rtt_s = match self.round_trip {
            RoundTripReading::Sample => rtt_s(ack),
            RoundTripReading::Smoothed => ack.srtt.map_or(0.0, Span::as_secs),
        };
        let gain = self.kappa * self.willingness * rtt_s / window.cwnd;
        window.cwnd += gain * f64::from(ack.acked);
    }

    fn ssthresh_on_mark(&mut self, window: &Window) -> f64 {
        ((1.0 - self.kappa) * window.cwnd).max(1.0)
    }

    fn ssthresh_on_congestion(&mut self, window: &Window) -> f64 {
        (BETA * window.cwnd).max(MIN_SSTHRESH)
    }

    fn beta(&self) -> f64 {
        BETA
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::ack_at;
    use super::*;

    fn beginning(round_trip: RoundTripReading) -> (TcpRm, Window) {
        let (willingness_to_pay, kappa) = (Demand(20.0), Share(0.1));
        let params = TcpRmParams { willingness_to_pay, kappa, round_trip };
        (TcpRm::new(params), Window { cwnd: 10.0, ssthresh: 5.0 })
    }

    /// By hand: 0.1 · 0.3 s · 20/s = 0.6 segments over a window of 10, though the ACK itself came after 0.1 s.
    #[test]
    fn the_round_trip_may_be_the_smoothed_one() {
        let (mut source, mut window) = beginning(RoundTripReading::Smoothed);
        let srtt = Some(Span::from_millis(300));
        source.on_ack(&mut window, &Ack { srtt, ..ack_at(0) });
        assert!((window.cwnd - 10.06).abs() < 1e-12, "{}", window.cwnd);
    }

    /// By hand: 0.1 · 0.1 s · 20/s = 0.2 segments over a window of 10, and a tenth of it for a mark.
    #[test]
    fn an_ack_adds_a_share_of_w_and_a_mark_takes_a_share_of_the_window() {
        let (mut source, mut window) = beginning(RoundTripReading::Sample);
        source.on_ack(&mut window, &ack_at(0));
        assert!((window.cwnd - 10.02).abs() < 1e-12, "{}", window.cwnd);
        assert!((source.ssthresh_on_mark(&window) - 0.9 * 10.02).abs() < 1e-12);
        assert_eq!(source.ssthresh_on_congestion(&window), 5.01);
    }
}
