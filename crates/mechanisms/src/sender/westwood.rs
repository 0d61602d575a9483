//! Westwood+: after a loss, the window that just fills the path, by the rate at which ACKs came and the shortest round
//! trip, instead of half. S. Mascolo, C. Casetti, M. Gerla, M. Sanadidi and R. Wang, "TCP Westwood: bandwidth estimation
//! for enhanced transport over wireless links", MobiCom 2001; L. Grieco and S. Mascolo, "Performance evaluation and
//! comparison of Westwood+, New Reno and Vegas TCP congestion control", CCR 34(2), 2004; estimate as in Linux,
//! `net/ipv4/tcp_westwood.c`.
//!
//! ```text
//! b_k     = segments acknowledged / time              over at least a round trip, and at least 50 ms
//! B_ns    ← 7/8 B_ns + 1/8 b_k                        the first b_k sets both
//! B       ← 7/8 B + 1/8 B_ns
//! loss:   ssthresh ← max(B rtt_min, 2)
//! ```
//!
//! It grows as Reno. Losses that are not due to congestion, as on a radio link, cost it little: the estimate is as high
//! as before.
//!
//! Differs from Linux: the window goes to the estimate at once; Linux halves it in loss recovery and sets it at the end.
//! Segments acknowledged in loss recovery are not counted, and the sample under way is dropped. After a timeout the
//! smallest round trip is measured again, as in Linux.

use super::whole_segments::WholeSegments;
use super::{Ack, Control, MIN_SSTHRESH, Sender, Window};
use crate::mechanism::About;
use crate::parameters;
use crate::units::{Span, Time};

/// Share of the window kept on a loss before the first estimate.
const BETA: f64 = super::reno::BETA;
/// Shortest time of a sample.
const SHORTEST_SAMPLE: Span = Span::from_millis(50);

parameters! {
    /// Grieco and Mascolo 2004: after a loss, the window by an estimate of the bandwidth.
    pub struct WestwoodParams {}
}

/// State of Westwood+.
#[derive(Clone, Debug)]
pub struct Westwood {
    whole: WholeSegments,
    /// Estimates with one and with both filters, segments per second.
    estimate: Option<(f64, f64)>,
    /// Sample under way: its start, and segments acknowledged since.
    sample: Option<(Time, u32)>,
    /// Shortest round trip, seconds; infinite before the first.
    rtt_min_s: f64,
}

impl Sender for Westwood {
    type Params = WestwoodParams;

    const ABOUT: About = About {
        name: "westwood",
        title: "Westwood+",
        source: "Grieco and Mascolo, CCR 34(2), 2004; Linux, tcp_westwood.c",
        usage: r#"tcp.congestion_control = "westwood""#,
        file: "sender/westwood.rs",
        text: crate::mechanism::source_text!("westwood.rs"),
    };
}

impl Control for Westwood {
    fn new(_: WestwoodParams) -> Self {
        Westwood {
            whole: WholeSegments::default(),
            estimate: None,
            sample: None,
            rtt_min_s: f64::INFINITY,
        }
    }

    #[inline]
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        self.measure(ack);
        if !ack.window_limited {
            return;
        }
        let mut acked = ack.acked;
        if window.in_slow_start() {
            acked = WholeSegments::slow_start(window, acked);
        }
        if acked > 0 {
            self.whole.grow(window, window.cwnd as u32, acked);
        }
    }

    fn ssthresh_on_congestion(&mut self, window: &Window) -> f64 {
        self.whole.reset();
        self.sample = None;
        let rtt_s = Some(self.rtt_min_s).filter(|rtt_s| rtt_s.is_finite());
        let fills = self.estimate.zip(rtt_s).map(|((_, rate), rtt_s)| rate * rtt_s);
        libm::floor(fills.unwrap_or(BETA * window.cwnd)).max(MIN_SSTHRESH)
    }

    fn on_timeout(&mut self) {
        self.sample = None;
        self.rtt_min_s = f64::INFINITY;
    }

    /// The share without an estimate.
    fn beta(&self) -> f64 {
        BETA
    }
}

impl Westwood {
    /// Takes round trip and rate of an ACK outside loss recovery.
    fn measure(&mut self, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.rtt_min_s = self.rtt_min_s.min(rtt.as_secs());
        }
        let Some((since, counted)) = &mut self.sample else {
            self.sample = Some((ack.now, 0));
            return;
        };
        *counted += ack.acked;
        let took = ack.now.since(*since);
        let Some(rtt) = ack.srtt else { return };
        if took <= rtt.max(SHORTEST_SAMPLE) {
            return;
        }
        let rate = f64::from(*counted) / took.as_secs();
        self.sample = Some((ack.now, 0));
        let filtered = |old: f64, new: f64| (7.0 * old + new) / 8.0;
        self.estimate = Some(self.estimate.map_or((rate, rate), |(once, twice)| {
            let once = filtered(once, rate);
            (once, filtered(twice, once))
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::ack_at;
    use super::*;

    /// Acknowledges a segment every `gap_ms`, with this round trip, up to a time.
    fn acks(westwood: &mut Westwood, from_ms: u64, to_ms: u64, gap_ms: u64, rtt_ms: u64) {
        let mut window = Window { cwnd: 30.0, ssthresh: 20.0 };
        let rtt = Some(Span::from_millis(rtt_ms));
        for ms in (from_ms..to_ms).step_by(gap_ms as usize) {
            westwood.on_ack(&mut window, &Ack { rtt, srtt: rtt, ..ack_at(ms) });
        }
    }

    /// 500 segments per second and a shortest round trip of 100 ms: 50 segments, however large the window is.
    #[test]
    fn a_loss_leaves_the_window_that_fills_the_path() {
        let mut westwood = Westwood::new(WestwoodParams {});
        acks(&mut westwood, 0, 200, 2, 100);
        acks(&mut westwood, 200, 2_000, 2, 140);
        for cwnd in [40.0, 70.0, 300.0] {
            let window = Window { cwnd, ssthresh: 20.0 };
            assert_eq!(westwood.ssthresh_on_congestion(&window), 50.0);
        }
    }

    #[test]
    fn without_an_estimate_a_loss_halves_the_window() {
        let mut westwood = Westwood::new(WestwoodParams {});
        acks(&mut westwood, 0, 90, 2, 100);
        assert_eq!(westwood.ssthresh_on_congestion(&Window { cwnd: 40.0, ssthresh: 1e9 }), 20.0);
    }

    /// From 500 to 250 segments per second, sampled every 102 ms: (7/8)^n (1 + n/8) of the step is left after n samples.
    #[test]
    fn the_estimate_follows_a_change_through_two_filters() {
        let mut westwood = Westwood::new(WestwoodParams {});
        acks(&mut westwood, 0, 1_022, 2, 100);
        let (_, before) = westwood.estimate.expect("samples");
        assert!((before - 500.0).abs() < 1.0, "{before}");
        let samples = 10;
        westwood.sample = None;
        acks(&mut westwood, 1_022, 1_022 + samples * 104 + 4, 4, 100);
        let (_, after) = westwood.estimate.expect("samples");
        let n = samples as f64;
        let left = libm::pow(7.0 / 8.0, n) * (1.0 + n / 8.0);
        assert!((after - (250.0 + 250.0 * left)).abs() < 1.0, "{after}, {left}");
    }
}
