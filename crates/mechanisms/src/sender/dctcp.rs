//! DCTCP: the window is reduced in proportion to the marked share, instead of by half.
//! RFC 8257; M. Alizadeh et al., "Data center TCP (DCTCP)", SIGCOMM 2010, equations (1) and (2).
//!
//! ```text
//! once per window of data:  M ← marked / delivered,  α ← (1 − g) α + g M     g = 1/16, α = 1 at first
//! marks:                    ssthresh ← max((1 − α/2) cwnd, 2)                at most once per window
//! loss, timeout:           ssthresh ← max(cwnd/2, 2)
//! growth:                   as Reno
//! ```
//!
//! The sender has to know the number of marked segments, so both ends use ECN differently from RFC 3168. The receiver
//! keeps the CE state of the last segment, and acknowledges at once when it changes (section 3.2): an ACK with ECE
//! means that all segments it acknowledges were marked. The sender counts them, and may reduce again as soon as the
//! window in which it reduced is acknowledged.
//!
//! A queue that marks every segment above a threshold of K (RED on the instantaneous queue with both thresholds at K)
//! is sufficient. K has to be above RTT · C / 7 for the queue not to run empty (SIGCOMM 2010, equation (13)).
//!
//! Differs from RFC 8257, as Linux does: the window does not grow in the round trip after a reduction; segments are
//! counted, not bytes, including sacked ones. All packets are ECN-capable, including SYNs, ACKs and retransmissions,
//! since a queue above K drops others (section 3.6). A loss within a window that a mark has already reduced halves the
//! reduced window.

use super::marked_share::MarkedShare;
use super::{Ack, Control, MIN_SSTHRESH, Marks, Reno, RenoParams, Sender, Window};
use crate::mechanism::About;
use crate::parameters;

parameters! {
    /// RFC 8257: the window is reduced in proportion to the marked share. Has ECN.
    pub struct DctcpParams {
        /// Change the window in whole segments, as in Linux.
        pub whole_segments: bool = { linux: "true", classic: "false", linux_2_6_29: "true" },
        /// Grow by the segments that an ACK acknowledges, not per ACK, RFC 3465. With whole_segments there is no limit
        /// per ACK, as in Linux since 3.18.
        pub byte_counting: bool = { linux: "true", classic: "false", linux_2_6_29: "false" },
    }
}

/// State of DCTCP.
#[derive(Clone, Debug)]
pub struct Dctcp {
    reno: Reno,
    whole_segments: bool,
    share: MarkedShare,
    /// Segment number that ends the observation window when it is exceeded.
    window_end: u64,
}

impl Sender for Dctcp {
    type Params = DctcpParams;

    const ABOUT: About = About {
        name: "dctcp",
        title: "DCTCP",
        source: "RFC 8257",
        usage: r#"tcp.congestion_control = "dctcp""#,
        file: "sender/dctcp.rs",
        text: crate::mechanism::source_text!("dctcp.rs"),
    };

    const IS_SCALABLE: bool = true;
}

impl Control for Dctcp {
    fn new(params: DctcpParams) -> Self {
        let DctcpParams { whole_segments, byte_counting } = params;
        Dctcp {
            reno: Reno::new(RenoParams { whole_segments, byte_counting }),
            whole_segments,
            share: MarkedShare::new(),
            window_end: 0,
        }
    }

    #[inline]
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        self.reno.on_ack(window, ack);
    }

    /// Section 3.3, steps 2 to 9.
    fn on_marks(&mut self, _: &mut Window, marks: &Marks) {
        self.share.count(marks.delivered, marks.marked);
        if marks.una > self.window_end {
            self.share.close_window();
            self.window_end = marks.nxt;
        }
    }

    /// Section 3.3, step 10.
    fn ssthresh_on_mark(&mut self, window: &Window) -> f64 {
        self.reno.ssthresh_on_congestion(window); // restarts its count
        let kept = self.share.kept() * window.cwnd;
        // Linux rounds the reduction down, and therefore the kept share up.
        let kept = if self.whole_segments { libm::ceil(kept) } else { kept };
        kept.max(MIN_SSTHRESH)
    }

    /// Section 3.5.
    fn ssthresh_on_congestion(&mut self, window: &Window) -> f64 {
        self.reno.ssthresh_on_congestion(window)
    }

    fn beta(&self) -> f64 {
        self.reno.beta()
    }
}

impl Dctcp {
    /// Returns α, the average share of marked segments.
    pub fn alpha(&self) -> f64 {
        self.share.alpha()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::marks_at;
    use super::*;

    /// A window, which does not affect the count of marks.
    fn any_window() -> Window {
        Window::new(10)
    }

    fn exact() -> Dctcp {
        Dctcp::new(DctcpParams { whole_segments: false, byte_counting: false })
    }

    /// Delivers windows of ten segments each, `marked` of them marked.
    fn deliver(dctcp: &mut Dctcp, windows: u64, marked: u32) {
        for n in 0..windows {
            let una = dctcp.window_end + 1;
            dctcp.on_marks(
                &mut any_window(),
                &Marks { delivered: 10, marked, ..marks_at(n, una, una + 9) },
            );
        }
    }

    /// RFC 8257, section 3.3, step 10, and section 3.5.
    #[test]
    fn the_window_after_marks_is_one_minus_half_of_alpha_and_after_a_loss_half() {
        let mut dctcp = exact();
        let window = Window { cwnd: 40.0, ssthresh: 20.0 };
        assert_eq!(dctcp.ssthresh_on_mark(&window), 20.0, "nothing is known: as Reno");
        deliver(&mut dctcp, 500, 2);
        assert!((dctcp.alpha() - 0.2).abs() < 1e-9, "α = {}", dctcp.alpha());
        assert!((dctcp.ssthresh_on_mark(&window) - 36.0).abs() < 1e-6);
        assert_eq!(dctcp.ssthresh_on_congestion(&window), 20.0);
        let small = Window { cwnd: 2.0, ssthresh: 2.0 };
        assert_eq!(dctcp.ssthresh_on_mark(&small), 2.0);
    }

    /// Linux: `cwnd - ((cwnd * alpha) >> 11)`, α in 1/1024.
    #[test]
    fn whole_segments_are_kept_rather_than_given_up() {
        let params = DctcpParams { whole_segments: true, byte_counting: true };
        let mut dctcp = Dctcp::new(params);
        deliver(&mut dctcp, 500, 2);
        for (cwnd, want) in [(9.0, 9.0), (10.0, 9.0), (25.0, 23.0)] {
            assert_eq!(dctcp.ssthresh_on_mark(&Window { cwnd, ssthresh: 2.0 }), want);
        }
    }

    /// A window is the data outstanding when the last one ended.
    #[test]
    fn alpha_moves_once_per_window_of_data() {
        let mut dctcp = exact();
        let mut alphas = Vec::new();
        for una in 1..=12 {
            dctcp.on_marks(
                &mut any_window(),
                &Marks { delivered: 1, marked: 0, ..marks_at(0, una, una + 4) },
            );
            alphas.push(dctcp.alpha());
        }
        // The first ACK ends a first window of one; the next ends with the ACK of 6, at most 5 + 1.
        assert_eq!(alphas[0], 15.0 / 16.0);
        assert!(alphas[..5].iter().all(|alpha| *alpha == alphas[0]));
        assert_eq!(alphas[5], alphas[0] * 15.0 / 16.0);
        assert!(alphas[5..10].iter().all(|alpha| *alpha == alphas[5]));
        assert_eq!(alphas[10], alphas[5] * 15.0 / 16.0);
    }
}
