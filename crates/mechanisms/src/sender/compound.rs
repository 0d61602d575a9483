//! Compound TCP: Reno's window plus a delay-based one that grows while no packets wait in queues. K. Tan, J. Song, Q.
//! Zhang and M. Sridharan, "A Compound TCP approach for high-speed and long distance networks", IEEE INFOCOM 2006; M.
//! Sridharan et al., draft-sridharan-tcpm-ctcp-02, 2008, sections 3 and 4.
//!
//! ```text
//! win = cwnd + dwnd                            what may be in flight
//! each ACK:     cwnd ← cwnd + 1/win            per segment acknowledged; slow start as ever, without dwnd
//! round trip:   diff = win − win base_rtt/rtt  segments that wait
//!               dwnd ← dwnd + max(α win^k − 1, 0)       if diff < γ
//!               dwnd ← max(dwnd − ζ diff, 0)            otherwise
//! loss, mark:   dwnd ← max(win (1 − β) − cwnd/2, 0)
//!               cwnd ← cwnd/2
//! ```
//!
//! With a loss probability of p and empty queues the mean window is proportional to p^(−1/(2 − k)), which is p^(−0.8)
//! for k = 3/4, as for HighSpeed TCP (INFOCOM 2006, section III): the second window is for paths with a large
//! bandwidth-delay product. Below 16 segments α win^k is below 1, and Compound equals Reno.
//!
//! `whole_segments` follows the module of Linux 2.6.22, which is also in ns-2.35: slow start up to one segment above
//! the threshold, so that a window that was just halved grows at once; then a segment per cwnd ACKs; halves and growth
//! rounded down.
//!
//! Differs from the draft: γ is configured, and not tuned to the buffer (section 3.3); the second window is used from α
//! win^k = 1 on, and not from 38 segments. The round-trip time of a round is the smoothed one at its end; base_rtt is
//! the minimum over the connection.

use super::reno::BYTE_COUNTING_LIMIT;
use super::{Ack, Control, MIN_SSTHRESH, Sender, Window};
use crate::mechanism::About;
use crate::parameters;
use crate::units::{Factor, Share, Span};

parameters! {
    /// Tan et al. 2006: Reno, with a second window that grows while no packets wait in queues.
    pub struct CompoundParams {
        /// α: growth factor of the second window.
        pub alpha: Share = "0.125",
        /// β: share by which a loss reduces the window.
        pub beta: Share = "0.5",
        /// k: exponent of the window in its growth.
        pub k: Share = "0.75",
        /// γ: number of waiting segments from which on the second window shrinks.
        pub gamma: Factor = "30.0",
        /// ζ: factor of its reduction.
        pub zeta: Factor = "1.0",
        /// Change the windows in whole segments, as in Linux 2.6.22 and ns-2.35.
        pub whole_segments: bool = "false",
    }
}

/// State of Compound TCP.
#[derive(Clone, Debug)]
pub struct Compound {
    params: Box<CompoundParams>,
    /// Second window dwnd, which is part of the window in use.
    second: f64,
    base_rtt: Option<Span>,
    /// ACKs counted towards the next whole segment.
    counted: u32,
}

impl Sender for Compound {
    type Params = CompoundParams;

    const ABOUT: About = About {
        name: "compound",
        title: "Compound TCP",
        source: "Tan et al., INFOCOM 2006; draft-sridharan-tcpm-ctcp-02",
        usage: r#"tcp.congestion_control = "compound""#,
        file: "sender/compound.rs",
        text: crate::mechanism::source_text!("compound.rs"),
    };
}

impl Control for Compound {
    fn new(params: CompoundParams) -> Self {
        Compound { params: Box::new(params), second: 0.0, base_rtt: None, counted: 0 }
    }

    #[inline]
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.base_rtt = Some(self.base_rtt.map_or(rtt, |base| base.min(rtt)));
        }
        if ack.round_start && !window.in_slow_start() {
            self.on_round_trip(window, ack);
        }
        if ack.window_limited && self.params.whole_segments {
            self.grow_by_acks(window);
        } else if ack.window_limited {
            window.cwnd += match window.in_slow_start() {
                true => f64::from(ack.acked.min(BYTE_COUNTING_LIMIT)),
                false => f64::from(ack.acked) / window.cwnd,
            };
        }
    }

    fn ssthresh_on_congestion(&mut self, window: &Window) -> f64 {
        self.counted = 0;
        let first = self.rounded((window.cwnd - self.second).max(0.0) / 2.0);
        let kept = self.rounded(window.cwnd * self.beta());
        self.second = (kept - first).max(0.0);
        (first + self.second).max(MIN_SSTHRESH)
    }

    fn on_timeout(&mut self) {
        self.second = 0.0;
    }

    fn beta(&self) -> f64 {
        1.0 - self.params.beta.0
    }
}

impl Compound {
    /// Rounds down, with whole segments.
    fn rounded(&self, segments: f64) -> f64 {
        if self.params.whole_segments { libm::floor(segments) } else { segments }
    }

    /// Linux 2.6.22, `tcp_compound_cong_avoid`: the first window.
    fn grow_by_acks(&mut self, window: &mut Window) {
        let slow_start = window.cwnd - self.second <= window.ssthresh;
        self.counted += u32::from(!slow_start);
        if slow_start || f64::from(self.counted) >= window.cwnd {
            self.counted *= u32::from(slow_start);
            window.cwnd += 1.0;
        }
    }

    /// Handles the end of a round trip.
    fn on_round_trip(&mut self, window: &mut Window, ack: &Ack) {
        let (Some(base), Some(rtt)) = (self.base_rtt, ack.srtt) else { return };
        let CompoundParams { gamma: Factor(gamma), zeta: Factor(zeta), .. } = *self.params;
        let diff = window.cwnd * (1.0 - base.as_secs() / rtt.as_secs());
        if diff >= gamma {
            let less = self.second.min(zeta * diff);
            self.second -= less;
            // No slow start follows.
            window.cwnd = (window.cwnd - less).max(MIN_SSTHRESH);
            window.ssthresh = window.ssthresh.min(window.cwnd);
        } else if ack.window_limited {
            let more = self.growth(window.cwnd);
            self.second += more;
            window.cwnd += more;
        }
    }

    /// Returns the growth of the second window in a round trip without queueing.
    fn growth(&self, window: f64) -> f64 {
        let CompoundParams { alpha: Share(alpha), k: Share(k), .. } = *self.params;
        (self.rounded(alpha * libm::pow(window, k)) - 1.0).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::ack_at;
    use super::*;

    const PARAMS: CompoundParams = CompoundParams {
        alpha: Share(0.125),
        beta: Share(0.5),
        k: Share(0.75),
        gamma: Factor(30.0),
        zeta: Factor(1.0),
        whole_segments: false,
    };

    /// A sender that has measured a round trip of 100 ms.
    fn compound(second: f64) -> Compound {
        let base_rtt = Some(Span::from_millis(100));
        Compound { base_rtt, second, ..Compound::new(PARAMS) }
    }

    /// Returns the ACK that ends a round trip of this length.
    fn round_ends(rtt_ms: u64) -> Ack {
        let rtt = Some(Span::from_millis(rtt_ms));
        Ack { rtt, srtt: rtt, round_start: true, acked: 0, ..ack_at(0) }
    }

    /// By hand, at fourth powers: 81^(3/4) = 27.
    #[test]
    fn the_second_window_grows_by_an_eighth_of_the_power_three_quarters_less_one() {
        for (window, want) in
            [(10.0, 0.0), (16.0, 0.0), (81.0, 2.375), (256.0, 7.0), (625.0, 14.625)]
        {
            let mut compound = compound(0.0);
            let mut in_use = Window { cwnd: window, ssthresh: 5.0 };
            compound.on_ack(&mut in_use, &round_ends(100));
            assert!((compound.second - want).abs() < 1e-9, "{window}: {}", compound.second);
            assert_eq!(in_use.cwnd, window + compound.second);
        }
    }

    /// Of 100 segments 30 wait if the round trip is 100 ms instead of 70; the window shrinks by as many.
    #[test]
    fn it_gives_up_what_waits_from_gamma_segments_on_and_never_more_than_it_has() {
        for (second, rtt_ms, want) in
            [(50.0, 142, 50.0 + 2.95), (50.0, 150, 50.0 - 33.33), (10.0, 150, 0.0)]
        {
            let mut compound = compound(second);
            let mut window = Window { cwnd: 100.0, ssthresh: 80.0 };
            compound.on_ack(&mut window, &round_ends(rtt_ms));
            assert!((compound.second - want).abs() < 0.01, "{}", compound.second);
            assert!((window.cwnd - (100.0 - second + want)).abs() < 0.01);
            assert!(!window.in_slow_start());
        }
    }

    #[test]
    fn a_loss_halves_the_first_window_and_what_is_in_use() {
        let mut compound = compound(60.0);
        let window = Window { cwnd: 100.0, ssthresh: 5.0 };
        assert_eq!(compound.ssthresh_on_congestion(&window), 50.0);
        assert_eq!(compound.second, 30.0, "of 40 segments 20 stay in the first");
        compound.on_timeout();
        assert_eq!(compound.second, 0.0);
    }

    /// 15 segments are halved, and the first ACK adds one, so that eight more add the next.
    #[test]
    fn in_whole_segments_a_halved_window_grows_at_once() {
        let mut compound = Compound::new(CompoundParams { whole_segments: true, ..PARAMS });
        let mut window = Window { cwnd: 15.0, ssthresh: 5.0 };
        window.ssthresh = compound.ssthresh_on_congestion(&window);
        window.cwnd = window.ssthresh;
        let steps: Vec<_> = (0..10)
            .map(|_| {
                compound.on_ack(&mut window, &ack_at(1));
                window.cwnd
            })
            .collect();
        assert_eq!(steps, [8.0, 8.0, 8.0, 8.0, 8.0, 8.0, 8.0, 8.0, 9.0, 9.0]);
    }

    /// Returns the mean window if one of `per_loss` segments is lost and none waits.
    fn mean_window(per_loss: u32) -> f64 {
        let (mut compound, mut window) = (compound(0.0), Window { cwnd: 10.0, ssthresh: 5.0 });
        let (mut sent, mut rounds) = (0.0, 0.0);
        for loss in 0..40 {
            let mut left = f64::from(per_loss);
            while left > 0.0 {
                left -= window.cwnd;
                if loss >= 20 {
                    (sent, rounds) = (sent + window.cwnd, rounds + 1.0);
                }
                let ack = Ack { acked: window.cwnd as u32, ..round_ends(100) };
                compound.on_ack(&mut window, &ack);
            }
            window.cwnd = compound.ssthresh_on_congestion(&window);
            window.ssthresh = window.cwnd;
        }
        sent / rounds
    }

    /// INFOCOM 2006, section III: p^(−1/(2 − k)) with k = 3/4, against Reno's p^(−1/2).
    #[test]
    fn the_mean_window_goes_with_the_power_four_fifths_of_the_segments_between_losses() {
        let power = libm::log10(mean_window(10_000_000) / mean_window(1_000_000));
        assert!((power - 0.8).abs() < 0.03, "{power}");
        let power = libm::log2(mean_window(160) / mean_window(40)) / 2.0;
        assert!((power - 0.5).abs() < 0.05, "small windows are Reno's: {power}");
    }
}
