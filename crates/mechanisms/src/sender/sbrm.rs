//! SBRM, single bit resource marking: every ACK changes the window, up without a congestion mark, down with one. S.
//! Zimmermann, "Congestion pricing as scalable, efficient and stable congestion control for future IP networks",
//! dissertation, 2005, sections 5.1.1 and 5.4.2.
//!
//! ```text
//! ACK without a mark:  cwnd ← cwnd + κ RTT/cwnd w        (5.1.2)
//! ACK with one:        cwnd ← cwnd − κ                   (5.1.3)
//! equilibrium:         (1 − p) w = p x                   x the rate, p the share of marked packets
//! ```
//!
//! w is the flow's willingness to pay. VQM has the same source; only the queue differs. The kernel implementation
//! (`bpf/sbrm.bpf.c`) paces packets, so that fractions of a window count; this one sends whole segments.
//!
//! Slow start and the reaction to losses are TCP's. Slow start ends with the first mark, which takes its step, as in
//! the kernel implementation; the dissertation does not specify that. Slow start may be disabled (`slow_start`), or
//! replaced by an initially large step (`initial_kappa`). Section 5.6.4 suggests the latter for transfers that would be
//! too short to reach their rate, and leaves the details open. Here a window that is off by d approaches its
//! equilibrium by κ̄ m d in a round trip, with m the share of marks, so that κ̄ = 1/m reaches it at once, and 1/n of
//! that averages over the n round trips so far (H. Robbins, S. Monro, Annals of Mathematical Statistics 22(3), 1951). m
//! is not known initially; the step begins with κ₀.
//!
//! ```text
//! κ̄ = max(κ, κ₀/n)        in place of κ            n = 1 until the first mark, then one more each round trip
//! ```
//!
//! A window is never below one segment, and one that is not full does not grow. Every mark has to be reported, as by
//! DCTCP's receivers, and packets carry ECT(1): the reaction is in proportion to the marks (RFC 9331), not that of RFC
//! 3168, which ECT(0) implies.

use super::pricing::{self, rtt_s};
use super::reno::BETA;
use super::{Ack, Control, Sender, Window};
use crate::mechanism::About;
use crate::parameters;
use crate::parameters::ParameterError;
use crate::units::{Demand, Factor, Share};

parameters! {
    /// Single bit resource marking (Zimmermann 2005, section 5.4.2): every ACK changes the window, up without a
    /// congestion mark, down with one. Has ECN.
    pub struct SbrmParams {
        /// w: willingness to pay of the flow, segments per second.
        pub willingness_to_pay: Demand = "20.0",
        /// Step κ of the window, in segments per congestion mark.
        pub kappa: Share = "0.2",
        /// Begin with slow start.
        pub slow_start: bool = "true",
        /// Initial step κ₀, in place of slow start: it decreases with every round trip from the first mark on, down to
        /// κ.
        pub initial_kappa: Option<Factor>,
    }
    check begins_with_more;
}

fn begins_with_more(params: &SbrmParams) -> Option<ParameterError> {
    let (Factor(initial), Share(kappa)) = (params.initial_kappa?, params.kappa);
    (initial < kappa).then(|| {
        ("initial_kappa", format!("{initial} is below kappa, {kappa}, to which it is to shrink"))
    })
}

/// State of one source.
#[derive(Clone, Debug)]
pub struct Sbrm {
    /// Present step κ̄, or κ if it is constant.
    kappa: f64,
    /// Final step κ.
    final_kappa: f64,
    /// Number of round trips n.
    round_trips: f64,
    initial_kappa: f64,
    willingness: f64,
    slow_start: bool,
}

impl Sender for Sbrm {
    type Params = SbrmParams;

    const ABOUT: About = About {
        name: "sbrm",
        title: "SBRM",
        source: "Zimmermann 2005, sections 5.1.1 and 5.4.2; defaults from table 6.6.1",
        usage: r#"tcp.congestion_control = { kind = "sbrm", willingness_to_pay = 100 }"#,
        file: "sender/sbrm.rs",
        text: crate::mechanism::source_text!("sbrm.rs"),
    };

    const LINUX_NAME: &'static str = "tg_sbrm";

    const IS_SCALABLE: bool = true;

    const PAYS: bool = true;
}

impl Control for Sbrm {
    const LOWERS_FOR_MARKS: bool = true;

    fn new(params: SbrmParams) -> Self {
        let SbrmParams { willingness_to_pay, kappa: Share(kappa), slow_start, initial_kappa } =
            params;
        let Factor(first) = initial_kappa.unwrap_or(Factor(kappa));
        Sbrm {
            kappa: first,
            initial_kappa: first,
            final_kappa: kappa,
            round_trips: 1.0,
            willingness: willingness_to_pay.0,
            slow_start: slow_start && initial_kappa.is_none(),
        }
    }

    fn set_willingness(&mut self, willingness: Demand) {
        self.willingness = willingness.0;
    }

    #[inline]
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        let marked = ack.marked.min(ack.acked);
        let unmarked = if ack.window_limited { ack.acked - marked } else { 0 };
        if marked == 0 && self.slow_start && window.in_slow_start() {
            return pricing::slow_start(window, unmarked);
        }
        let gain = self.kappa * self.willingness * rtt_s(ack) / window.cwnd;
        let step = gain * f64::from(unmarked) - self.kappa * f64::from(marked);
        pricing::step(window, step, marked > 0 || !self.slow_start);
        if self.kappa > self.final_kappa {
            self.shrink_step(marked > 0, ack.round_start);
        }
    }

    fn beta(&self) -> f64 {
        BETA
    }
}

impl Sbrm {
    /// Reduces the step κ̄.
    fn shrink_step(&mut self, marked: bool, round_start: bool) {
        let before_first_mark = self.round_trips == 1.0;
        if if before_first_mark { marked } else { round_start } {
            self.round_trips += 1.0;
            self.kappa = (self.initial_kappa / self.round_trips).max(self.final_kappa);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::ack_at;
    use super::*;

    fn sbrm() -> Sbrm {
        sbrm_beginning(true)
    }

    fn sbrm_beginning(slow_start: bool) -> Sbrm {
        let (willingness_to_pay, kappa) = (Demand(20.0), Share(0.2));
        Sbrm::new(SbrmParams { willingness_to_pay, kappa, slow_start, initial_kappa: None })
    }

    /// By hand: with κ₀ = 2 an ACK of 10 segments adds 2 · 0.1 s · 20/s / 10 = 0.4, and the first mark costs 2. From
    /// then on the step is 2/2, 2/3, ... by the round trip, and κ, 0.2, after nine.
    #[test]
    fn a_step_that_begins_large_shrinks_by_the_round_trip_down_to_kappa() {
        let (willingness_to_pay, kappa) = (Demand(20.0), Share(0.2));
        let initial_kappa = Some(Factor(2.0));
        let params = SbrmParams { willingness_to_pay, kappa, slow_start: true, initial_kappa };
        let (mut sbrm, mut window) = (Sbrm::new(params), Window::new(10));
        sbrm.on_ack(&mut window, &Ack { round_start: true, ..ack_at(0) });
        assert!((window.cwnd - 10.4).abs() < 1e-12 && !window.in_slow_start(), "{}", window.cwnd);
        let mut costs = |round_start| {
            window.cwnd = 10.0;
            sbrm.on_ack(&mut window, &Ack { marked: 1, round_start, ..ack_at(0) });
            10.0 - window.cwnd
        };
        assert!((costs(false) - 2.0).abs() < 1e-12, "the first");
        for n in 2..=10 {
            let want = 2.0 / f64::from(n);
            assert!((costs(false) - want).abs() < 1e-12, "within round trip {n}");
            assert!(
                (costs(true) - want).abs() < 1e-12,
                "the first ACK of the next still goes by {n}"
            );
        }
        assert!((costs(true) - 0.2).abs() < 1e-12 && (costs(true) - 0.2).abs() < 1e-12);
    }

    #[test]
    fn without_slow_start_the_first_window_grows_by_a_share_of_w_already() {
        let mut window = Window::new(10);
        sbrm_beginning(false).on_ack(&mut window, &ack_at(0));
        assert!((window.cwnd - 10.04).abs() < 1e-12 && !window.in_slow_start());
    }

    /// By hand: 0.2 · 0.1 s · 20/s = 0.4 segments over a window of 10, and 0.2 for a mark.
    #[test]
    fn a_mark_costs_kappa_and_no_mark_brings_a_share_of_w() {
        for (acked, marked, want) in [(1, 0, 10.04), (1, 1, 9.8), (2, 1, 9.84)] {
            let mut window = Window { cwnd: 10.0, ssthresh: 5.0 };
            sbrm().on_ack(&mut window, &Ack { acked, marked, ..ack_at(0) });
            assert!((window.cwnd - want).abs() < 1e-12, "{acked}, {marked}: {}", window.cwnd);
        }
    }

    #[test]
    fn the_first_mark_ends_slow_start_and_no_window_is_below_one() {
        let mut window = Window::new(10);
        sbrm().on_ack(&mut window, &ack_at(0));
        assert_eq!((window.cwnd, window.in_slow_start()), (11.0, true));
        sbrm().on_ack(&mut window, &Ack { marked: 1, ..ack_at(0) });
        assert_eq!((window.cwnd, window.ssthresh), (10.8, 10.8));
        for _ in 0..100 {
            sbrm().on_ack(&mut window, &Ack { marked: 1, ..ack_at(0) });
        }
        assert_eq!((window.cwnd, window.in_slow_start()), (1.0, false));
    }

    /// (1 − p) w = p x with x = cwnd/RTT: at p = 1/4, w = 20/s and 100 ms the window is 6.
    #[test]
    fn the_window_settles_where_the_marks_cost_what_the_flow_pays() {
        let (mut sbrm, mut window) = (sbrm(), Window { cwnd: 40.0, ssthresh: 1.0 });
        for n in 0..20_000u64 {
            let marked = if n % 4 == 0 { 1 } else { 0 };
            sbrm.on_ack(&mut window, &Ack { marked, ..ack_at(n) });
        }
        assert!((window.cwnd - 6.0).abs() < 0.2, "{}", window.cwnd);
    }
}
