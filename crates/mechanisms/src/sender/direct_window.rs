//! Direct window update: every ACK changes the window by the flow's payment less the price of its path. S. Zimmermann,
//! "Congestion pricing as scalable, efficient and stable congestion control for future IP networks", dissertation,
//! 2005, sections 4.2.1, 5.2.1 and 5.4.2.
//!
//! ```text
//! per segment acknowledged:  cwnd ← cwnd + κ (w RTT/cwnd − p)       (4.2.3)
//! equilibrium:               w = p x                                x = cwnd/RTT the rate
//! ```
//!
//! w is the flow's willingness to pay per second, and p the price of its path: the reported one with explicit prices;
//! with marks by default an estimate from recent marks (`history`); with `price = "mark"` the segment's own mark, 0 or
//! 1, as in the second variant of SBRM. In that variant no queue length is an equilibrium for flows that pay as much as
//! the link carries.
//!
//! Slow start, if enabled, ends with the first ACK that reduces the window, or only at the threshold
//! (`slow_start_ends_with`): section 4.3.1 modifies congestion avoidance and leaves slow start "unchanged". A window is
//! never below one segment, and one that is not full does not grow. The reaction to losses is Reno's. Packets carry
//! ECT(1), since the reaction is in proportion to the price (RFC 9331).

use super::pricing::{self, rtt_s};
use super::reno::BETA;
use super::{Ack, Control, Marks, Sender, Window};
use crate::mechanism::About;
use crate::price::{Encoding, PathPrice};
use crate::units::{Demand, Factor, Share, Whole};
use crate::{parameters, words};

parameters! {
    /// Every ACK changes the window by the flow's payment less the price of its path (Zimmermann 2005, section 4.2.1).
    /// Needs price_encoding. Has ECN.
    pub struct DirectWindowParams {
        /// w: willingness to pay of the flow, segments per second times the unit of prices.
        pub willingness_to_pay: Demand = "20.0",
        /// κ: step of the window for a price of 1, segments.
        pub kappa: Share = "0.01",
        /// Price that is charged.
        pub price: PriceReading = "path",
        /// Packets whose marks estimate the price.
        pub history: Whole<1, 10_000> = "50",
        /// Maximum change of the window by an ACK, segments.
        pub largest_step: Option<Factor>,
        /// Begin with slow start.
        pub slow_start: bool = "true",
        /// Condition that ends slow start.
        pub slow_start_ends_with: EndOfSlowStart = "charge",
    }
}

words! {
    /// Condition that ends slow start, besides losses.
    pub enum EndOfSlowStart {
        /// The first ACK that reduces the window, or the threshold.
        Charge = "charge",
        /// Only the threshold: until then the window grows regardless of the price.
        Threshold = "threshold",
    }
}

words! {
    /// Price that is charged.
    pub enum PriceReading {
        /// Price of the path, reported or estimated.
        Path = "path",
        /// 1 for a segment that is marked, else 0.
        Mark = "mark",
    }
}

/// State of one source.
#[derive(Clone, Debug)]
pub struct DirectWindow {
    params: DirectWindowParams,
    /// Price of the path, if it is not a segment's mark.
    path: Option<Box<PathPrice>>,
}

impl Sender for DirectWindow {
    type Params = DirectWindowParams;

    const ABOUT: About = About {
        name: "direct-window",
        title: "Direct window update",
        source: "Zimmermann 2005, section 4.2.1",
        usage: r#"tcp.congestion_control = { kind = "direct-window", willingness_to_pay = 100 }"#,
        file: "sender/direct_window.rs",
        text: crate::mechanism::source_text!("direct_window.rs"),
    };

    const IS_SCALABLE: bool = true;

    const READS_PRICES: bool = true;

    const PAYS: bool = true;
}

impl Control for DirectWindow {
    const LOWERS_FOR_MARKS: bool = true;

    fn new(params: DirectWindowParams) -> Self {
        DirectWindow { params, path: None }
    }

    fn set_willingness(&mut self, willingness: Demand) {
        self.params.willingness_to_pay = willingness;
    }

    fn set_price_encoding(&mut self, encoding: Encoding) {
        let path = Box::new(PathPrice::new(encoding, self.params.history.0));
        self.path = Some(path).filter(|_| self.params.price == PriceReading::Path);
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
        let DirectWindowParams {
            willingness_to_pay,
            kappa,
            largest_step,
            slow_start,
            slow_start_ends_with,
            ..
        } = &self.params;
        let acked = f64::from(ack.acked);
        let paid = willingness_to_pay.0 * rtt_s(ack) / window.cwnd * acked;
        let asked = match &self.path {
            None => f64::from(ack.marked.min(ack.acked)),
            Some(path) => path.get().unwrap_or(0.0) * acked,
        };
        let most = largest_step.map_or(f64::INFINITY, |step| step.0);
        let step = (kappa.0 * (paid - asked)).clamp(-most, most);
        let slow = *slow_start && window.in_slow_start();
        let passes_by = slow && *slow_start_ends_with == EndOfSlowStart::Threshold;
        if (step >= 0.0 || passes_by) && !ack.window_limited {
            return;
        }
        if passes_by || (slow && step >= 0.0) {
            return pricing::slow_start(window, ack.acked);
        }
        pricing::step(window, step, step < 0.0 || !slow_start);
    }

    fn beta(&self) -> f64 {
        BETA
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ack_at, marks_at};
    use super::*;

    const PARAMS: DirectWindowParams = DirectWindowParams {
        willingness_to_pay: Demand(20.0),
        kappa: Share(0.1),
        price: PriceReading::Path,
        history: Whole(50),
        largest_step: None,
        slow_start: false,
        slow_start_ends_with: EndOfSlowStart::Charge,
    };

    fn reported(price: f32) -> Marks {
        Marks { delivered: 1, prices: price.to_bits(), ..marks_at(0, 1, 10) }
    }

    /// By hand: 0.1 (20/s · 0.1 s/10 − p).
    #[test]
    fn an_ack_moves_the_window_by_what_is_paid_less_the_price() {
        for (price, largest_step, want) in [
            (0.0, None, 10.02),
            (0.5, None, 9.97),
            (200.0, None, 1.0),
            (200.0, Some(Factor(1.0)), 9.0),
        ] {
            let mut source = DirectWindow::new(DirectWindowParams { largest_step, ..PARAMS });
            source.set_price_encoding(Encoding::Explicit);
            let mut window = Window { cwnd: 10.0, ssthresh: 5.0 };
            source.on_marks(&mut window, &reported(price));
            source.on_ack(&mut window, &ack_at(0));
            assert!((window.cwnd - want).abs() < 1e-9, "{price}: {}", window.cwnd);
        }
    }

    /// With single marks w RTT/cwnd = m, as in SBRM's second variant.
    #[test]
    fn a_mark_is_a_price_of_one_for_its_segment() {
        let params = DirectWindowParams { price: PriceReading::Mark, ..PARAMS };
        let (mut source, mut window) =
            (DirectWindow::new(params), Window { cwnd: 10.0, ssthresh: 5.0 });
        source.set_price_encoding(Encoding::NATURAL);
        source.on_ack(&mut window, &Ack { acked: 2, marked: 1, ..ack_at(0) });
        assert!((window.cwnd - (10.0 + 0.1 * (2.0 * 0.2 - 1.0))).abs() < 1e-12, "{}", window.cwnd);
    }

    #[test]
    fn slow_start_lasts_until_the_price_is_above_what_is_paid() {
        let mut source = DirectWindow::new(DirectWindowParams { slow_start: true, ..PARAMS });
        source.set_price_encoding(Encoding::Explicit);
        let mut window = Window::new(10);
        source.on_ack(&mut window, &ack_at(0));
        assert_eq!(window.cwnd, 11.0);
        source.on_marks(&mut window, &reported(1.0));
        source.on_ack(&mut window, &ack_at(0));
        assert!(window.cwnd < 11.0 && !window.in_slow_start());
    }

    /// As in ns-2, whose slow start ignores prices. A reduction after it does not start it again.
    #[test]
    fn slow_start_may_last_to_its_threshold_whatever_is_asked() {
        let slow_start_ends_with = EndOfSlowStart::Threshold;
        let params = DirectWindowParams { slow_start: true, slow_start_ends_with, ..PARAMS };
        let mut source = DirectWindow::new(params);
        source.set_price_encoding(Encoding::Explicit);
        let mut window = Window { cwnd: 10.0, ssthresh: 12.0 };
        source.on_marks(&mut window, &reported(10.0));
        let windows = [(); 4].map(|()| {
            source.on_ack(&mut window, &ack_at(0));
            window.cwnd
        });
        assert_eq!(windows[..2], [11.0, 12.0]);
        assert!(windows[2] < 12.0 && windows[3] < windows[2], "{windows:?}");
        window.cwnd = 11.5;
        window.ssthresh = 12.0;
        source.on_ack(&mut window, &Ack { window_limited: false, ..ack_at(0) });
        assert_eq!(window.cwnd, 11.5, "one that is not full does not grow");
    }
}
