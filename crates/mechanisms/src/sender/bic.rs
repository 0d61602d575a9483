//! BIC: a binary search for the window before the last loss, then a search beyond it. L. Xu, K. Harfoush and I. Rhee,
//! "Binary increase congestion control (BIC) for fast long-distance networks", IEEE INFOCOM 2004; arithmetic as in
//! Linux, `net/ipv4/tcp_bic.c`, whose default it was before CUBIC.
//!
//! ```text
//! below W_max:   d = (W_max − cwnd)/4
//!                segments per round trip = 16            d > 16          linear
//!                                          d             1 < d ≤ 16      binary search
//!                                          4/20          d ≤ 1           smooth
//! above W_max:   segments per round trip = 4/20          cwnd < W_max + 4
//!                          (cwnd − W_max)/3              cwnd < W_max + 48
//!                                          16            beyond
//! at least cwnd/20 before the first loss; cwnd ≤ 14: 1, as Reno
//!
//! congestion:  W_max ← cwnd, or (1 + β)/2 cwnd if cwnd < W_max           fast convergence
//!              ssthresh ← max(β cwnd, 2)                                 β = 819/1024; ½ for cwnd ≤ 14
//! ```
//!
//! As in Linux, the growth is multiplied by the mean number of segments that an ACK acknowledges, which starts at 2 and
//! moves by a sixteenth with each ACK, although segments and not ACKs are counted since 3.18. A timeout forgets all.
//!
//! Differs from Linux: the reduction is not rounded to whole segments, and the interval is computed with each ACK instead
//! of when the window has changed or 1/32 s has passed, which gives the same.

use super::whole_segments::WholeSegments;
use super::{Ack, Control, MIN_SSTHRESH, Sender, Window};
use crate::mechanism::About;
use crate::parameters;
use crate::units::Factor;

/// Share of a large window kept on a loss.
const BETA: f64 = 819.0 / 1024.0;
/// B: part of the distance to the maximum that is taken in a round trip.
const B: u32 = 4;
/// Round trips of a segment in the smooth part, times B.
const SMOOTH_PART: u32 = 20;
/// Largest interval before the first loss: 5 % of the window per round trip.
const MAX_INTERVAL_BEFORE_LOSS: u32 = 20;
/// Scale of the mean number of segments per ACK.
const RATIO_SHIFT: u32 = 4;

parameters! {
    /// Xu et al. 2004: a binary search for the window before the last loss.
    pub struct BicParams {
        /// S_max: most segments by which the window grows in a round trip.
        pub max_increment: u32 = "16",
        /// Window up to which it grows and is halved as Reno's, segments.
        pub low_window: Factor = "14.0",
        /// After a loss below the last maximum, aim lower, to make room for others.
        pub fast_convergence: bool = "true",
    }
    check searches;
}

fn searches(params: &BicParams) -> Option<crate::parameters::ParameterError> {
    let none = params.max_increment == 0;
    none.then(|| ("max_increment", "must be at least 1".to_owned()))
}

/// State of BIC.
#[derive(Clone, Debug)]
pub struct Bic {
    params: BicParams,
    whole: WholeSegments,
    /// Window before the last loss, reduced for fast convergence; 0 before the first.
    w_max: f64,
    /// Mean number of segments that an ACK acknowledges, in sixteenths.
    ratio: u32,
}

impl Sender for Bic {
    type Params = BicParams;

    const ABOUT: About = About {
        name: "bic",
        title: "BIC",
        source: "Xu, Harfoush and Rhee, INFOCOM 2004; Linux, tcp_bic.c",
        usage: r#"tcp.congestion_control = "bic""#,
        file: "sender/bic.rs",
        text: crate::mechanism::source_text!("bic.rs"),
    };
}

impl Control for Bic {
    fn new(params: BicParams) -> Self {
        Bic { params, whole: WholeSegments::default(), w_max: 0.0, ratio: 2 << RATIO_SHIFT }
    }

    #[inline]
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        self.ratio = self.ratio - (self.ratio >> RATIO_SHIFT) + ack.acked;
        if !ack.window_limited {
            return;
        }
        let mut acked = ack.acked;
        if window.in_slow_start() {
            acked = WholeSegments::slow_start(window, acked);
        }
        if acked > 0 {
            let interval = self.interval(window.cwnd as u32);
            self.whole.grow(window, interval, acked);
        }
    }

    fn ssthresh_on_congestion(&mut self, window: &Window) -> f64 {
        self.whole.reset();
        self.w_max = match self.params.fast_convergence && window.cwnd < self.w_max {
            true => window.cwnd * (1.0 + BETA) / 2.0,
            false => window.cwnd,
        };
        let kept = if window.cwnd <= self.params.low_window.0 { 0.5 } else { BETA };
        (kept * window.cwnd).max(MIN_SSTHRESH)
    }

    fn on_timeout(&mut self) {
        *self = Bic::new(self.params.clone());
    }

    fn beta(&self) -> f64 {
        BETA
    }
}

impl Bic {
    /// Returns the segments per step of the window, as Linux's `bictcp_update`.
    fn interval(&self, cwnd: u32) -> u32 {
        let BicParams { max_increment, low_window: Factor(low_window), .. } = self.params;
        if f64::from(cwnd) <= low_window {
            return cwnd;
        }
        let w_max = self.w_max as u32;
        let mut interval = if cwnd < w_max {
            let distance = (w_max - cwnd) / B;
            if distance > max_increment {
                cwnd / max_increment
            } else if distance <= 1 {
                cwnd * SMOOTH_PART / B
            } else {
                cwnd / distance
            }
        } else if cwnd < w_max + B {
            cwnd * SMOOTH_PART / B
        } else if cwnd < w_max + max_increment * (B - 1) {
            cwnd * (B - 1) / (cwnd - w_max)
        } else {
            cwnd / max_increment
        };
        if w_max == 0 {
            interval = interval.min(MAX_INTERVAL_BEFORE_LOSS);
        }
        ((interval << RATIO_SHIFT) / self.ratio.max(1)).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::ack_at;
    use super::*;

    /// A sender whose receiver acknowledges each segment, after a loss at this window.
    fn after_loss_at(w_max: f64) -> (Bic, Window) {
        let params =
            BicParams { max_increment: 16, low_window: Factor(14.0), fast_convergence: true };
        let mut bic = Bic::new(params);
        bic.ratio = 1 << RATIO_SHIFT;
        let cwnd = bic.ssthresh_on_congestion(&Window { cwnd: w_max, ssthresh: 1e9 });
        (bic, Window { cwnd, ssthresh: cwnd })
    }

    fn round_trip(bic: &mut Bic, window: &mut Window) -> f64 {
        let before = window.cwnd;
        for _ in 0..before as u32 {
            bic.on_ack(window, &ack_at(0));
        }
        window.cwnd - before
    }

    /// From 819 of 1024 segments: linear, 16 a round trip, while 64 are lacking; then a quarter of what is lacking; then
    /// one in five round trips; then faster again.
    #[test]
    fn the_window_searches_for_the_one_before_the_loss_and_then_beyond() {
        let (mut bic, mut window) = after_loss_at(1024.0);
        assert_eq!(window.cwnd, 819.0);
        let (mut near, mut beyond) = (0, 0);
        for _ in 0..120 {
            let lacking = 1024.0 - window.cwnd;
            let grown = round_trip(&mut bic, &mut window);
            match lacking {
                _ if lacking > 70.0 => {
                    assert!((15.0..=17.0).contains(&grown), "{lacking}: {grown}")
                }
                _ if lacking > 12.0 => {
                    let want = lacking / 4.0;
                    assert!((grown - want).abs() < 0.3 * want + 1.0, "{lacking}: {grown}");
                }
                _ if lacking > -4.0 => {
                    near += 1;
                    assert!(grown <= 3.0, "{lacking}: {grown}");
                }
                _ if lacking < -52.0 => assert!((15.0..=17.0).contains(&grown), "{grown}"),
                _ => beyond += 1,
            }
        }
        // A distance below 8 counts as 1: 11 segments and more at one in five round trips.
        assert!((40..=70).contains(&near), "{near}");
        assert!(beyond > 0 && window.cwnd > 1_100.0, "{beyond}, {}", window.cwnd);
    }

    #[test]
    fn a_loss_below_the_maximum_lowers_it_and_small_windows_are_renos() {
        let (mut bic, _) = after_loss_at(1000.0);
        bic.ssthresh_on_congestion(&Window { cwnd: 900.0, ssthresh: 1e9 });
        assert!((bic.w_max - 900.0 * (1.0 + BETA) / 2.0).abs() < 1e-9, "{}", bic.w_max);
        let mut small = Window { cwnd: 10.0, ssthresh: 5.0 };
        assert_eq!(bic.ssthresh_on_congestion(&small), 5.0);
        assert_eq!(round_trip(&mut bic, &mut small), 1.0);
        bic.on_timeout();
        assert_eq!(bic.w_max, 0.0);
    }
}
