//! SBRM, single bit resource marking: every ACK moves the window, up without a congestion mark, down with one.
//! S. Zimmermann, "Congestion pricing as scalable, efficient and stable congestion control for future IP
//! networks", dissertation, 2005, sections 5.1.1 and 5.4.2.
//!
//! ```text
//! ACK without a mark:  cwnd ← cwnd + κ RTT/cwnd w        (5.1.2)
//! ACK with one:        cwnd ← cwnd − κ                   (5.1.3)
//! equilibrium:         (1 − p) w = p x                   x the rate, p the share of marked packets
//! ```
//!
//! w is the flow's willingness to pay. It is VQM's source as well: what differs is the queue. A kernel with our program
//! has it, too (`bpf/sbrm.bpf.c`).
//!
//! Slow start and the answer to losses are TCP's. Slow start ends with the first mark, which takes its step, as in our
//! program; the dissertation is silent on that. There may be none (`slow_start`). A window is never below one segment,
//! and one that is not full does not grow. Every mark has to be told, as DCTCP's receivers do, and packets carry ECT(1):
//! the answer is in proportion to the marks (RFC 9331), not that of RFC 3168, for which ECT(0) stands.

use super::pricing::{self, rtt_s};
use super::reno::BETA;
use super::{Ack, Control, MIN_SSTHRESH, Sender, Window};
use crate::parameters;
use crate::registry::About;
use crate::units::{Demand, Share};

parameters! {
    /// Single bit resource marking (Zimmermann 2005, section 5.4.2): every ACK moves the window,
    /// up without a congestion mark, down with one. Has ECN.
    pub struct SbrmParams {
        /// What the flow offers to pay, w, in segments per second.
        pub willingness_to_pay: Demand = "20.0",
        /// Step κ of the window, in segments per congestion mark.
        pub kappa: Share = "0.2",
        /// Begin with slow start.
        pub slow_start: bool = "true",
    }
}

/// SBRM has nothing to remember.
#[derive(Clone, Debug)]
pub struct Sbrm {
    kappa: f64,
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
        text: include_str!("sbrm.rs"),
    };

    const LINUX_NAME: &'static str = "tg_sbrm";

    const IS_SCALABLE: bool = true;

    const PAYS: bool = true;
}

impl Control for Sbrm {
    const LOWERS_FOR_MARKS: bool = true;

    fn new(params: SbrmParams) -> Self {
        let SbrmParams { willingness_to_pay, kappa, slow_start } = params;
        Sbrm { kappa: kappa.0, willingness: willingness_to_pay.0, slow_start }
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

    fn sbrm() -> Sbrm {
        sbrm_beginning(true)
    }

    fn sbrm_beginning(slow_start: bool) -> Sbrm {
        let (willingness_to_pay, kappa) = (Demand(20.0), Share(0.2));
        Sbrm::new(SbrmParams { willingness_to_pay, kappa, slow_start })
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
