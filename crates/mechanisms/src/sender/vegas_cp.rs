//! Vegas/CP, REM's source: once a round trip the window changes by a segment, until the flow's charge equals its
//! payment. S. Athuraliya, S. Low, "Optimization flow control, II: implementation", 2000; equation numbers from S.
//! Zimmermann, "Congestion pricing as scalable, efficient and stable congestion control for future IP networks",
//! dissertation, 2005, section 5.2.1.
//!
//! ```text
//! once per round trip:   p x < w    cwnd ← cwnd + 1                 (5.2.7)
//!                        p x > w    cwnd ← cwnd − 1                 x = cwnd/RTT
//! ```
//!
//! w is the flow's willingness to pay per second, and p the price of its path: the reported one with explicit prices,
//! otherwise an estimate from recent marks (`history`), which is renewed with each packet, or in blocks (`renewal`). x
//! is computed from the round trip of the last ACK, or from the minimum (`rate_by`). The window changes at the end of a
//! round trip by the measurement of that round trip, or of the previous one (`moves`): (5.2.7) has cwnd(t + RTT) by
//! p(t) x(t), which allows either reading.
//!
//! Slow start, if enabled, is that of [Vegas](vegas.md) as in ns-2, which according to section 5.2.2 was retained:
//!
//! ```text
//! every other round trip:  w − w base/rtt < 1.5   cwnd doubles in the next       base: the shortest ever
//!                          else                   cwnd ← max(7/8 cwnd, 2)        rtt: the mean of the last round trip
//!                                                 ssthresh ← 2
//! ```
//!
//! It applies whenever the window is below the threshold, even if (5.2.7) has reduced it there: a window of one returns
//! to two. A segment that is sent alone sets base again, even to a larger value.
//!
//! A window is never below one segment, and one that is not full does not grow. The reaction to losses is Reno's.
//! Packets carry ECT(1), since the reaction to marks is not that of RFC 3168.
//!
//! The kernel implementation (`bpf/vegascp.bpf.c`) has one-bit prices, estimates from at most the last 64 packets,
//! immediate changes, no slow start, and TCP's smoothed round trip.

use super::pricing::rtt_s;
use super::reno::BETA;
use super::{Ack, Control, MIN_SSTHRESH, Marks, Sender, Window};
use crate::mechanism::About;
use crate::price::{Encoding, PathPrice, Renewal};
use crate::units::{Demand, Whole};
use crate::{parameters, words};

parameters! {
    /// Once a round trip the window changes by a segment, until the flow's charge equals its payment (Zimmermann 2005,
    /// section 5.2.1). Needs price_encoding. Has ECN.
    pub struct VegasCpParams {
        /// w: willingness to pay of the flow, segments per second times the unit of prices.
        pub willingness_to_pay: Demand = "1000.0",
        /// Packets whose marks estimate the price.
        pub history: Whole<1, 10_000> = "50",
        /// Renewal of the estimate by marks.
        pub renewal: Renewal = "sliding",
        /// Round-trip time from which the rate is computed.
        pub rate_by: RateBy = "rtt",
        /// Time at which the window changes by the measurement of a round trip.
        pub moves: Moves = "at-once",
        /// Begin with the slow start of Vegas.
        pub slow_start: bool = "true",
    }
}

words! {
    /// Round-trip time from which the rate is computed.
    pub enum RateBy {
        /// Sample of the last ACK.
        Rtt = "rtt",
        /// Minimum.
        LeastRtt = "least-rtt",
    }
}

words! {
    /// Time at which a window changes by a measurement.
    pub enum Moves {
        /// At the end of the measured round trip.
        AtOnce = "at-once",
        /// A round trip later.
        RoundTripLater = "round-trip-later",
    }
}

/// State of one source.
#[derive(Clone, Debug)]
pub struct VegasCp {
    willingness: f64,
    history: u32,
    renewal: Renewal,
    rate_by: RateBy,
    moves: Moves,
    /// Charge of the previous round trip, if it was measured.
    charged: Option<f64>,
    path: Option<Box<PathPrice>>,
    least_rtt_s: f64,
    /// Slow start, if enabled; boxed, since all connections have room for the largest controller.
    slow_start: Option<Box<SlowStart>>,
}

impl Sender for VegasCp {
    type Params = VegasCpParams;

    const ABOUT: About = About {
        name: "vegas-cp",
        title: "Vegas/CP",
        source: "Athuraliya and Low 2000; Zimmermann 2005, section 5.2.1",
        usage: r#"tcp.congestion_control = { kind = "vegas-cp", willingness_to_pay = 1000 }"#,
        file: "sender/vegas_cp.rs",
        text: crate::mechanism::source_text!("vegas_cp.rs"),
    };

    const LINUX_NAME: &'static str = "tg_vegascp";

    const IS_SCALABLE: bool = true;

    const READS_PRICES: bool = true;

    const PAYS: bool = true;
}

impl Control for VegasCp {
    const LOWERS_FOR_MARKS: bool = true;

    fn new(params: VegasCpParams) -> Self {
        let VegasCpParams { willingness_to_pay, history, renewal, rate_by, moves, slow_start } =
            params;
        VegasCp {
            willingness: willingness_to_pay.0,
            history: history.0,
            renewal,
            rate_by,
            moves,
            charged: None,
            path: None,
            least_rtt_s: f64::INFINITY,
            slow_start: slow_start.then(Box::default),
        }
    }

    fn set_willingness(&mut self, willingness: Demand) {
        self.willingness = willingness.0;
    }

    fn set_price_encoding(&mut self, encoding: Encoding) {
        let path = PathPrice::new(encoding, self.history).renewed(self.renewal);
        self.path = Some(Box::new(path));
    }

    fn path_price(&self) -> Option<f64> {
        self.path.as_deref().and_then(PathPrice::get)
    }

    #[inline]
    fn on_marks(&mut self, _: &mut Window, marks: &Marks) {
        if let Some(path) = &mut self.path {
            path.on_ack(marks.delivered, marks.marked, marks.prices);
        }
    }

    #[inline]
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        let rtt_s = rtt_s(ack);
        self.least_rtt_s = self.least_rtt_s.min(rtt_s);
        let began_slow = match &mut self.slow_start {
            Some(slow_start) => {
                let below = window.in_slow_start();
                slow_start.on_ack(window, ack, rtt_s);
                below
            }
            None => false,
        };
        if ack.round_start {
            if began_slow {
                self.charged = None;
            } else {
                self.on_round_trip(window, rtt_s, ack.window_limited);
            }
        }
    }

    fn beta(&self) -> f64 {
        BETA
    }
}

impl VegasCp {
    fn on_round_trip(&mut self, window: &mut Window, rtt_s: f64, limited: bool) {
        let Some(price) = self.path.as_deref().and_then(PathPrice::get) else { return };
        let rtt_s = match self.rate_by {
            RateBy::Rtt => rtt_s,
            RateBy::LeastRtt => self.least_rtt_s,
        };
        let measured = Some(price * window.cwnd / rtt_s);
        let before = core::mem::replace(&mut self.charged, measured);
        let charge = match self.moves {
            Moves::AtOnce => measured,
            Moves::RoundTripLater => before,
        };
        let Some(charge) = charge else { return };
        if charge < self.willingness && limited {
            window.cwnd += 1.0;
        } else if charge > self.willingness {
            window.cwnd = (window.cwnd - 1.0).max(1.0);
        }
    }
}

/// Slow start of Vegas, as in ns-2's tcp-vegas.cc.
#[derive(Clone, Debug)]
struct SlowStart {
    base_s: f64,
    /// Sum of the round-trip samples of this round trip.
    sum_s: f64,
    samples: u32,
    /// Whether the next round trip doubles the window: every other one does.
    turn: bool,
    /// Whether this round trip doubles the window.
    doubles: bool,
}

/// Number of waiting segments, rounded, above which slow start ends: ns-2's v_gamma_.
const GAMMA: f64 = 1.0;

impl Default for SlowStart {
    fn default() -> Self {
        SlowStart { base_s: f64::INFINITY, sum_s: 0.0, samples: 0, turn: true, doubles: false }
    }
}

impl SlowStart {
    fn on_ack(&mut self, window: &mut Window, ack: &Ack, rtt_s: f64) {
        if ack.round_start {
            self.on_round_trip(window);
        }
        if self.doubles && window.in_slow_start() && ack.window_limited {
            window.cwnd += f64::from(ack.acked);
        }
        self.base_s = self.base_s.min(rtt_s);
        self.sum_s += rtt_s;
        self.samples += 1;
    }

    fn on_round_trip(&mut self, window: &mut Window) {
        let mean_s = self.sum_s / f64::from(self.samples.max(1));
        (self.sum_s, self.samples) = (0.0, 0);
        // A segment sent alone does not wait behind its own flow: its round trip is the path's, longer or not.
        if window.cwnd < 2.0 && mean_s > 0.0 {
            self.base_s = mean_s;
        }
        self.doubles = false;
        if !window.in_slow_start() {
            return;
        }
        self.turn = !self.turn;
        let waits = libm::round(window.cwnd * (1.0 - self.base_s / mean_s));
        if self.turn && waits > GAMMA {
            window.cwnd = (window.cwnd * 7.0 / 8.0).max(MIN_SSTHRESH);
            window.ssthresh = MIN_SSTHRESH;
        } else {
            self.doubles = self.turn;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ack_at, marks_at};
    use super::*;

    const TAKEN: VegasCpParams = VegasCpParams {
        willingness_to_pay: Demand(1_000.0),
        history: Whole(50),
        renewal: Renewal::Sliding,
        rate_by: RateBy::Rtt,
        moves: Moves::AtOnce,
        slow_start: false,
    };

    fn source_with(slow_start: bool) -> VegasCp {
        VegasCp::new(VegasCpParams { slow_start, ..TAKEN })
    }

    fn source(rate_by: RateBy) -> VegasCp {
        let mut source = VegasCp::new(VegasCpParams { rate_by, ..TAKEN });
        source.set_price_encoding(Encoding::Explicit);
        source
    }

    /// By hand: ten segments in 100 ms are 100 a second; their charge at a price of 10 is the payment of 1000 a second.
    #[test]
    fn the_window_moves_by_a_segment_a_round_trip_until_the_charge_is_what_is_paid() {
        for (price, want) in [(9.9f32, 11.0), (10.0, 10.0), (10.1, 9.0)] {
            let (mut source, mut window) =
                (source(RateBy::Rtt), Window { cwnd: 10.0, ssthresh: 5.0 });
            let prices = price.to_bits();
            source.on_marks(&mut window, &Marks { delivered: 1, prices, ..marks_at(0, 1, 10) });
            for round_start in [true, false, false] {
                source.on_ack(&mut window, &Ack { round_start, ..ack_at(0) });
            }
            assert_eq!(window.cwnd, want, "{price}");
        }
    }

    /// By hand, as above: prices of 9, 11 and 10 in three round trips change the window in the next ones.
    #[test]
    fn a_window_may_move_a_round_trip_after_what_was_measured() {
        let mut source = VegasCp::new(VegasCpParams { moves: Moves::RoundTripLater, ..TAKEN });
        source.set_price_encoding(Encoding::Explicit);
        let mut window = Window { cwnd: 10.0, ssthresh: 5.0 };
        let after = [9.0f32, 10.0, 20.0, 10.0].map(|price| {
            let prices = price.to_bits();
            source.on_marks(&mut window, &Marks { delivered: 1, prices, ..marks_at(0, 1, 10) });
            source.on_ack(&mut window, &Ack { round_start: true, ..ack_at(0) });
            window.cwnd
        });
        assert_eq!(after, [10.0, 11.0, 11.0, 10.0], "900, 1000 and 2200 a second, with 1000 paid");
    }

    /// Delivers the ACKs of a round trip, the first of which starts a new round.
    fn round(source: &mut VegasCp, window: &mut Window, rtt_ms: u64) -> f64 {
        for n in 0..window.cwnd as u32 {
            let rtt = Some(crate::units::Span::from_millis(rtt_ms));
            source.on_ack(window, &Ack { rtt, round_start: n == 0, ..ack_at(0) });
        }
        window.cwnd
    }

    /// By hand: of 8 segments 8 (1 − 100/123) = 1.496 wait at 123 ms, and 1.55 at 124, which rounds to 2, above 1.
    /// Every other round trip is evaluated, the one before a doubling.
    #[test]
    fn slow_start_is_that_of_vegas_in_ns2() {
        for (rtt_ms, want) in [(123, [16.0, 16.0]), (124, [7.0, 7.0])] {
            let (mut source, mut window) = (source_with(true), Window::new(1));
            let begins = [(); 7].map(|()| round(&mut source, &mut window, 100));
            assert_eq!(begins, [1.0, 2.0, 2.0, 4.0, 4.0, 8.0, 8.0]);
            window.cwnd = 8.0;
            source.slow_start.as_mut().expect("begins with it").sum_s =
                8.0 * f64::from(rtt_ms) / 1e3;
            assert_eq!([(); 2].map(|()| round(&mut source, &mut window, 100)), want, "{rtt_ms}");
            assert_eq!(window.in_slow_start(), rtt_ms == 123);
        }
    }

    /// As in ns-2, with (5.2.7) in place of Vegas's rule at the threshold and above.
    #[test]
    fn slow_start_ends_at_its_threshold_and_begins_again_below_it() {
        let (mut source, mut window) = (source_with(true), Window { cwnd: 3.0, ssthresh: 5.0 });
        source.set_price_encoding(Encoding::Explicit);
        assert_eq!([(); 2].map(|()| round(&mut source, &mut window, 100)), [3.0, 5.0]);
        assert!(!window.in_slow_start());
        let dear = Marks { delivered: 1, prices: 1e9f32.to_bits(), ..marks_at(0, 1, 10) };
        source.on_marks(&mut window, &dear);
        assert_eq!(
            round(&mut source, &mut window, 100),
            4.0,
            "no doubling in the round trip of the step"
        );
        assert_eq!([(); 2].map(|()| round(&mut source, &mut window, 100)), [4.0, 5.0]);
    }

    #[test]
    fn the_rate_may_follow_the_shortest_round_trip() {
        let (mut source, mut window) =
            (source(RateBy::LeastRtt), Window { cwnd: 10.0, ssthresh: 5.0 });
        let prices = 9.0f32.to_bits();
        source.on_marks(&mut window, &Marks { delivered: 1, prices, ..marks_at(0, 1, 10) });
        let short = Some(crate::units::Span::from_millis(80));
        source.on_ack(&mut window, &Ack { rtt: short, ..ack_at(0) });
        source.on_ack(&mut window, &Ack { round_start: true, ..ack_at(0) });
        assert_eq!(window.cwnd, 9.0, "125 a second at a price of 9");
    }
}
