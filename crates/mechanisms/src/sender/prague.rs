//! Prague: DCTCP adapted to the Internet; it requests L4S treatment by ECT(1). K. De Schepper, O. Tilmans, B. Briscoe
//! and V. Goel, "Prague Congestion Control", draft-briscoe-iccrg-prague-congestion-control; requirements in RFC 9331,
//! section 4.
//!
//! ```text
//! R_virt = max(srtt, R_ref),   R_ref = 25 ms
//! per ACK of N segments, m of them marked:
//!   slow start                 cwnd ← cwnd + (N − m)
//!   congestion avoidance       cwnd ← cwnd + a (N − m)/cwnd,   a = min(1, (srtt/R_ref)²)
//! once per window of data, and not sooner than R_virt:
//!   α ← (1 − g) α + g M        M the marked share, g = 1/16; α = 1 up to the first mark
//! a mark, once per window of data and not sooner than R_virt:
//!   cwnd ← max((1 − α/2) cwnd, 2),   ssthresh ← cwnd
//! a loss, a timeout:
//!   ssthresh ← max(cwnd/2, 2)
//! ```
//!
//! In equilibrium α is the marked share p, and the growth of a (1 − p) segments a round trip equals the reduction of
//! half of p cwnd per R_virt: srtt cancels out of the rate where it is below R_ref, so that a flow with a short path
//! does not starve the others (RTT independence). Without a reference every round trip counts as in DCTCP.
//!
//! The window continues to grow on ACKs of unmarked segments in the round trip of a reduction, unlike DCTCP's: at
//! several marks a round trip p = 2/cwnd, to which RFC 9332 matches its coupling factor.
//!
//! Segments are paced at cwnd/srtt, in slow start at twice that (`tcp.pacing`), and no burst of segmentation offload is
//! longer than 1/4096 s at that rate or two segments.
//!
//! Differs from the draft and from its Linux code: no window below two segments; no fall-back for queues that mark as
//! in RFC 3168; the reference applies from the first ACK in congestion avoidance, not after some round trips; feedback
//! is DCTCP's echo, which replaces AccECN (RFC 9768).

use super::marked_share::MarkedShare;
use super::{Ack, Control, MIN_SSTHRESH, Marks, Pacing, Sender, Window};
use crate::mechanism::About;
use crate::parameters;
use crate::units::{OrOff, Span, Time};

/// Share of the window kept after a loss, as Reno's.
const LOSS_BETA: f64 = super::reno::BETA;

parameters! {
    /// DCTCP for the Internet, draft-briscoe-iccrg-prague-congestion-control. Has ECN.
    pub struct PragueParams {
        /// R_ref: flows with shorter round trips get the rate of one with this; off: they do not.
        pub reference_rtt: OrOff = "25 ms",
    }
}

/// Time of an action that is taken at most once per window of data and reference time.
#[derive(Clone, Copy, Debug)]
struct Round {
    /// Segment number that has to be exceeded for the next action.
    end: u64,
    /// Earliest time of the next action.
    not_before: Time,
}

impl Round {
    const OVER: Round = Round { end: 0, not_before: Time::ZERO };

    fn is_over(&self, marks: &Marks) -> bool {
        marks.una > self.end && marks.now >= self.not_before
    }

    fn begin(reference: Span, marks: &Marks) -> Self {
        Round { end: marks.nxt, not_before: marks.now + reference }
    }
}

/// State of Prague.
#[derive(Clone, Debug)]
pub struct Prague {
    /// Reference round trip R_ref; zero without one.
    reference: Span,
    share: MarkedShare,
    marked_before: bool,
    observed: Round,
    /// Boxed, since all connections have room for the largest controller.
    reduced: Box<Round>,
}

impl Sender for Prague {
    type Params = PragueParams;

    const ABOUT: About = About {
        name: "prague",
        title: "Prague",
        source: "draft-briscoe-iccrg-prague-congestion-control; RFC 9331",
        usage: r#"tcp.congestion_control = "prague""#,
        file: "sender/prague.rs",
        text: crate::mechanism::source_text!("prague.rs"),
    };

    const IS_SCALABLE: bool = true;

    const IS_PACED: bool = true;

    const PACING: Pacing = Pacing::Prague;
}

impl Control for Prague {
    const LOWERS_FOR_MARKS: bool = true;

    fn new(params: PragueParams) -> Self {
        Prague {
            reference: params.reference_rtt.span().unwrap_or(Span::ZERO),
            share: MarkedShare::new(),
            marked_before: false,
            observed: Round::OVER,
            reduced: Box::new(Round::OVER),
        }
    }

    #[inline]
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if !ack.window_limited {
            return;
        }
        let unmarked = f64::from(ack.acked.saturating_sub(ack.marked));
        window.cwnd += match window.in_slow_start() {
            true => unmarked,
            false => self.increase(ack.srtt) * unmarked / window.cwnd,
        };
    }

    /// Counts the segments that an ACK delivers and, outside of loss recovery, reacts to marks.
    fn on_marks(&mut self, window: &mut Window, marks: &Marks) {
        self.marked_before |= marks.marked > 0;
        self.share.count(marks.delivered, marks.marked);
        if self.observed.is_over(marks) {
            // Before the first mark on the path, the share says nothing about its queues.
            match self.marked_before {
                true => self.share.close_window(),
                false => self.share.forget_window(),
            }
            self.observed = Round::begin(self.reference, marks);
        }
        if marks.marked > 0 && !marks.in_recovery && self.reduced.is_over(marks) {
            window.cwnd = (self.share.kept() * window.cwnd).max(MIN_SSTHRESH);
            window.ssthresh = window.cwnd;
            *self.reduced = Round::begin(self.reference, marks);
        }
    }

    fn beta(&self) -> f64 {
        LOSS_BETA
    }
}

impl Prague {
    /// Returns a: segments added in a round trip without marks.
    fn increase(&self, srtt: Option<Span>) -> f64 {
        match srtt {
            Some(srtt) if srtt < self.reference => {
                let ratio = srtt.as_secs() / self.reference.as_secs();
                ratio * ratio
            }
            _ => 1.0,
        }
    }

    /// Returns α, the average share of marked segments.
    pub fn alpha(&self) -> f64 {
        self.share.alpha()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ack_at, marks_at};
    use super::*;

    const MS: fn(u64) -> Span = Span::from_millis;

    fn prague(reference_rtt: Option<Span>) -> Prague {
        let reference_rtt = reference_rtt.map_or(OrOff::Off, OrOff::On);
        Prague::new(PragueParams { reference_rtt })
    }

    /// Runs a path that marks every segment with probability p, evenly spread. Returns the mean window over the second
    /// half of the round trips.
    fn mean_window(mut prague: Prague, p: f64, rtt: Span, round_trips: u64) -> f64 {
        let mut window = Window { cwnd: 20.0, ssthresh: 10.0 };
        let (mut una, mut credit, mut sum) = (0, 0.0, 0.0);
        for round in 0..round_trips {
            let now = Time::ZERO + Span::from_nanos(round * rtt.as_nanos());
            let segments = window.cwnd as u64;
            for _ in 0..segments {
                una += 1;
                credit += p;
                let marked = u32::from(credit >= 1.0);
                credit -= f64::from(marked);
                let nxt = una + window.cwnd as u64;
                let prices = 0;
                let marks =
                    Marks { delivered: 1, marked, prices, now, una, nxt, in_recovery: false };
                prague.on_marks(&mut window, &marks);
                prague.on_ack(&mut window, &Ack { marked, srtt: Some(rtt), ..ack_at(0) });
            }
            sum += if round >= round_trips / 2 { window.cwnd } else { 0.0 };
        }
        sum / (round_trips - round_trips / 2) as f64
    }

    #[test]
    fn the_first_mark_halves_the_window_and_ends_slow_start() {
        let mut prague = prague(Some(MS(25)));
        let mut window = Window::new(64);
        for una in 1..200 {
            prague.on_marks(&mut window, &Marks { delivered: 1, ..marks_at(una, una, una + 64) });
        }
        assert_eq!(
            (prague.alpha(), window.cwnd),
            (1.0, 64.0),
            "no queue has marked: no news of one"
        );
        let mark = Marks { delivered: 1, marked: 1, ..marks_at(200, 200, 264) };
        prague.on_marks(&mut window, &mark);
        assert_eq!(window, Window { cwnd: 32.0, ssthresh: 32.0 });
        prague.on_marks(&mut window, &Marks { una: 201, ..mark });
        assert_eq!(window.cwnd, 32.0, "once per window");
    }

    /// Draft, additive increase: only unmarked segments count.
    #[test]
    fn a_marked_segment_opens_the_window_no_further() {
        let mut prague = prague(None);
        let mut window = Window { cwnd: 10.0, ssthresh: 5.0 };
        prague.on_ack(&mut window, &Ack { acked: 2, marked: 1, ..ack_at(0) });
        assert_eq!(window.cwnd, 10.1);
        prague.on_ack(&mut window, &Ack { acked: 2, marked: 2, ..ack_at(0) });
        assert_eq!(window.cwnd, 10.1);
        let mut window = Window { cwnd: 10.0, ssthresh: 50.0 };
        prague.on_ack(&mut window, &Ack { acked: 4, marked: 1, ..ack_at(0) });
        assert_eq!(window.cwnd, 13.0, "in slow start too");
    }

    #[test]
    fn marks_amid_a_recovery_are_counted_and_lower_the_window_no_further() {
        let mut prague = prague(None);
        let mut window = Window { cwnd: 10.0, ssthresh: 5.0 };
        let marks = Marks { delivered: 4, marked: 1, in_recovery: true, ..marks_at(0, 1, 10) };
        prague.on_marks(&mut window, &marks);
        assert_eq!(window.cwnd, 10.0);
        assert_eq!(prague.alpha(), 1.0 - 0.75 / 16.0);
        assert_eq!(prague.ssthresh_on_congestion(&window), 5.0);
    }

    /// cwnd = 2 (1 − p)/p at several marks a round trip: growth and reduction in a round trip are equal (RFC 9332,
    /// appendix C.2, has it without the 1 − p).
    #[test]
    fn the_window_is_two_marks_a_round_trip() {
        for p in [0.02, 0.05, 0.1] {
            let got = mean_window(prague(None), p, MS(50), 4_000);
            let want = 2.0 * (1.0 - p) / p;
            assert!((got / want - 1.0).abs() < 0.06, "p = {p}: {got} segments, expected {want}");
        }
    }

    /// Below the reference the rate, cwnd/RTT, is that of a flow with the reference; the round trips here divide it,
    /// since reductions occur once per round trip.
    #[test]
    fn flows_with_short_paths_get_the_rate_of_the_reference() {
        let rate =
            |reference, rtt: Span| mean_window(prague(reference), 0.02, rtt, 8_000) / rtt.as_secs();
        let at_reference = rate(Some(MS(25)), MS(25));
        for rtt in [MS(5), Span::from_micros(12_500)] {
            let ratio = rate(Some(MS(25)), rtt) / at_reference;
            assert!((ratio - 1.0).abs() < 0.1, "{rtt:?}: {ratio} of the rate at 25 ms");
            let ratio = rate(None, rtt) / rate(None, MS(25));
            assert!((ratio * rtt.as_secs() / 0.025 - 1.0).abs() < 0.1, "without: as 1/RTT");
        }
    }
}
