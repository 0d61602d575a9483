//! Vegas: the window follows the delay, so that each flow keeps a few segments in queues, and loses none. L. Brakmo and
//! L. Peterson, "TCP Vegas: end to end congestion avoidance on a global Internet", IEEE JSAC 13(8), 1995, sections
//! III-B and III-C.
//!
//! ```text
//! expected = cwnd/base_rtt                  base_rtt: the shortest ever
//! actual   = cwnd/rtt                       rtt: the shortest of the round trip that ends
//! diff     = (expected − actual) base_rtt = cwnd − cwnd base_rtt/rtt        segments that wait
//!
//! once per round trip:    diff < α      cwnd ← cwnd + 1
//!                         diff > β      cwnd ← cwnd − 1
//! slow start:             cwnd doubles every other round trip, until diff > γ; then
//!                         cwnd ← min(cwnd, cwnd base_rtt/rtt + 1)
//! loss, timeout:         ssthresh ← max(cwnd/2, 2)
//! ```
//!
//! By Little's law `diff` is the number of the flow's segments in queues, independent of the rate and of the round
//! trip. A flow that begins while others' segments wait includes their delay in its minimum, and keeps more than β
//! (persistent congestion: S. Low, L. Peterson and L. Wang, "Understanding TCP Vegas: a duality model", Journal of the
//! ACM 49(2), 2002, section 5). Vegas yields to senders that fill queues.
//!
//! Differs from the paper: the minimum round trip counts and not that of one segment, and slow start ends in the window
//! that would leave one segment waiting, both as in Linux. On losses it behaves as Reno: the paper's changes to
//! retransmissions belong to the endpoint, as does the size of the reduction. Unlike Linux's it does not fall back to
//! Reno if a round trip has fewer than three samples. It never reduces the window below two segments by itself.

use super::{Ack, Control, MIN_SSTHRESH, Sender, Window};
use crate::mechanism::About;
use crate::parameters;
use crate::parameters::ParameterError;
use crate::units::{Factor, Span};

/// Share of the window kept on a loss.
const BETA: f64 = super::reno::BETA;

parameters! {
    /// Brakmo and Peterson 1995: a few segments of each flow wait in queues, and none is lost.
    pub struct VegasParams {
        /// α: with fewer segments waiting the window grows.
        pub alpha: Factor = "2.0",
        /// β: with more segments waiting the window shrinks.
        pub beta: Factor = "4.0",
        /// γ: with more segments waiting slow start ends.
        pub gamma: Factor = "1.0",
    }
    check thresholds_are_in_order;
}

fn thresholds_are_in_order(params: &VegasParams) -> Option<ParameterError> {
    let VegasParams { alpha: Factor(alpha), beta: Factor(beta), .. } = params;
    (alpha > beta).then(|| ("alpha", format!("{alpha} is above beta = {beta}; swap them")))
}

/// State of Vegas.
#[derive(Clone, Debug)]
pub struct Vegas {
    /// Boxed, since all connections have room for the largest controller.
    params: Box<VegasParams>,
    base_rtt: Option<Span>,
    /// Minimum of this round trip.
    round_rtt: Option<Span>,
    /// Whether the window grows in this round trip of slow start.
    doubles: bool,
}

impl Sender for Vegas {
    type Params = VegasParams;

    const ABOUT: About = About {
        name: "vegas",
        title: "Vegas",
        source: "Brakmo and Peterson, IEEE JSAC 13(8), 1995",
        usage: r#"tcp.congestion_control = { kind = "vegas", alpha = 2, beta = 4 }"#,
        file: "sender/vegas.rs",
        text: crate::mechanism::source_text!("vegas.rs"),
    };
}

impl Control for Vegas {
    fn new(params: VegasParams) -> Self {
        Vegas { params: Box::new(params), base_rtt: None, round_rtt: None, doubles: true }
    }

    #[inline]
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.base_rtt = Some(self.base_rtt.map_or(rtt, |base| base.min(rtt)));
            self.round_rtt = Some(self.round_rtt.map_or(rtt, |least| least.min(rtt)));
        }
        if ack.round_start {
            self.on_round_trip(window, ack.window_limited);
        }
        if window.in_slow_start() && self.doubles && ack.window_limited {
            window.cwnd += f64::from(ack.acked);
        }
    }

    fn ssthresh_on_congestion(&mut self, window: &Window) -> f64 {
        self.round_rtt = None;
        self.doubles = true;
        (BETA * window.cwnd).max(MIN_SSTHRESH)
    }

    fn beta(&self) -> f64 {
        BETA
    }
}

impl Vegas {
    /// Handles the end of a round trip; `limited` if the window was full, so that it may grow.
    fn on_round_trip(&mut self, window: &mut Window, limited: bool) {
        let (Some(base), Some(rtt)) = (self.base_rtt, self.round_rtt.take()) else { return };
        let VegasParams { alpha: Factor(alpha), beta: Factor(beta), gamma: Factor(gamma) } =
            *self.params;
        let target = window.cwnd * base.as_secs() / rtt.as_secs();
        let diff = window.cwnd - target;
        if window.in_slow_start() {
            self.doubles = !self.doubles;
            if diff > gamma {
                let cwnd = window.cwnd.min(target + 1.0);
                Self::stay_below_slow_start(window, cwnd);
            }
        } else if diff > beta {
            Self::stay_below_slow_start(window, window.cwnd - 1.0);
        } else if diff < alpha && limited {
            window.cwnd += 1.0;
        }
    }

    /// Reduces the window, and the threshold with it, so that no slow start begins.
    fn stay_below_slow_start(window: &mut Window, cwnd: f64) {
        window.cwnd = cwnd.max(MIN_SSTHRESH);
        window.ssthresh = window.ssthresh.min((window.cwnd - 1.0).max(MIN_SSTHRESH));
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::ack_at;
    use super::*;

    const PARAMS: VegasParams =
        VegasParams { alpha: Factor(2.0), beta: Factor(4.0), gamma: Factor(1.0) };

    /// A sender that has measured a round trip of 100 ms.
    fn vegas() -> Vegas {
        Vegas { base_rtt: Some(Span::from_millis(100)), ..Vegas::new(PARAMS) }
    }

    /// Delivers the ACKs of a round trip, one per segment, the first of which starts a new round.
    fn round(vegas: &mut Vegas, window: &mut Window, rtt_ms: u64) {
        for n in 0..window.cwnd as u32 {
            let rtt = Some(Span::from_millis(rtt_ms));
            vegas.on_ack(window, &Ack { rtt, round_start: n == 0, ..ack_at(0) });
        }
    }

    /// By hand: with 20 segments and a minimum of 100 ms, 125 ms mean that 20 − 16 = 4 wait.
    #[test]
    fn the_window_moves_by_a_segment_until_alpha_to_beta_segments_wait() {
        for (rtt_ms, want) in [(100, 21.0), (111, 21.0), (112, 20.0), (125, 20.0), (126, 19.0)] {
            let mut window = Window { cwnd: 20.0, ssthresh: 10.0 };
            round(&mut vegas(), &mut window, rtt_ms);
            assert_eq!(window.cwnd, want, "{rtt_ms} ms");
        }
    }

    #[test]
    fn slow_start_doubles_every_other_round_trip_until_gamma_segments_wait() {
        let (mut vegas, mut window) = (Vegas::new(PARAMS), Window::new(2));
        let mut cwnd = |rtt_ms| {
            round(&mut vegas, &mut window, rtt_ms);
            (window.cwnd, window.in_slow_start())
        };
        let rounds = [(); 5].map(|()| cwnd(100).0);
        assert_eq!(rounds, [2.0, 4.0, 4.0, 8.0, 8.0]);
        assert_eq!(cwnd(160), (16.0, true), "the shortest is still that of the round trip before");
        let left = 16.0 * 100.0 / 160.0 + 1.0;
        assert_eq!(cwnd(160), (left, false));
        assert_eq!(cwnd(100), (left + 1.0, false), "one segment a round trip from now on");
    }

    #[test]
    fn the_shortest_round_trip_of_each_counts() {
        let (mut vegas, mut window) = (vegas(), Window { cwnd: 20.0, ssthresh: 10.0 });
        for rtt_ms in [300, 110, 250] {
            let rtt = Some(Span::from_millis(rtt_ms));
            vegas.on_ack(&mut window, &Ack { rtt, ..ack_at(0) });
        }
        let rtt = Some(Span::from_millis(400));
        vegas.on_ack(&mut window, &Ack { rtt, round_start: true, ..ack_at(0) });
        assert_eq!(window.cwnd, 21.0, "20 − 20 · 100/110 < 2");
    }

    #[test]
    fn it_never_falls_below_two_segments_by_itself() {
        let params = Box::new(VegasParams { alpha: Factor(0.0), beta: Factor(1.0), ..PARAMS });
        let (mut vegas, mut window) =
            (Vegas { params, ..vegas() }, Window { cwnd: 6.0, ssthresh: 5.0 });
        for _ in 0..20 {
            round(&mut vegas, &mut window, 10_000);
        }
        assert_eq!((window.cwnd, window.in_slow_start()), (2.0, false));
    }

    #[test]
    fn thresholds_in_disorder_are_a_error() {
        let params = VegasParams { alpha: Factor(5.0), ..PARAMS };
        assert_eq!(thresholds_are_in_order(&params).map(|error| error.0), Some("alpha"));
        assert_eq!(thresholds_are_in_order(&PARAMS), None);
    }
}
