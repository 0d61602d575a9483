//! Hybla: a flow with a long round trip grows as one with a short round trip does, for satellite paths. C. Caini and R.
//! Firrincieli, "TCP Hybla: a TCP enhancement for heterogeneous networks", International Journal of Satellite
//! Communications and Networking 22(5), 2004; as in Linux, `net/ipv4/tcp_hybla.c`.
//!
//! ```text
//! ρ = max(srtt/rtt0, 1)                       at the smallest srtt; rtt0 = 25 ms
//!
//! slow start:            cwnd ← cwnd + 2^ρ − 1         per ACK, up to ssthresh
//! congestion avoidance:  cwnd ← cwnd + ρ²/cwnd         per ACK
//! congestion:            ssthresh ← max(cwnd/2, 2)
//! ```
//!
//! In congestion avoidance the rate cwnd/rtt grows by ρ²/rtt² = 1/rtt0² segments per second each second, whatever the
//! round trip. Large windows in one burst need large buffers.
//!
//! Differs from Linux: ρ is not rounded to eighths, windows grow by fractions of a segment, and the initial window is
//! that of TCP instead of ρ. In loss recovery the window does not grow at all.

use super::{Ack, Control, Sender, Window};
use crate::mechanism::About;
use crate::parameters;
use crate::parameters::ParameterError;
use crate::units::Span;

/// Share of the window kept on a loss.
const BETA: f64 = super::reno::BETA;
/// Largest ρ: slow start beyond it fills any window with one ACK.
const MAX_RHO: f64 = 16.0;

parameters! {
    /// Caini and Firrincieli 2004: grows as a flow with a short round trip.
    pub struct HyblaParams {
        /// RTT0: round trip of the flow that it grows as.
        pub reference_rtt: Span = "25 ms",
    }
    check has_a_reference;
}

fn has_a_reference(params: &HyblaParams) -> Option<ParameterError> {
    let none = params.reference_rtt == Span::ZERO;
    none.then(|| ("reference_rtt", "must be longer than 0 s".to_owned()))
}

/// State of Hybla.
#[derive(Clone, Debug)]
pub struct Hybla {
    params: HyblaParams,
    /// Smallest smoothed round trip.
    least_srtt: Option<Span>,
    rho: f64,
}

impl Sender for Hybla {
    type Params = HyblaParams;

    const ABOUT: About = About {
        name: "hybla",
        title: "Hybla",
        source: "Caini and Firrincieli, IJSCN 22(5), 2004; Linux, tcp_hybla.c",
        usage: r#"tcp.congestion_control = "hybla""#,
        file: "sender/hybla.rs",
        text: crate::mechanism::source_text!("hybla.rs"),
    };
}

impl Control for Hybla {
    fn new(params: HyblaParams) -> Self {
        Hybla { params, least_srtt: None, rho: 1.0 }
    }

    #[inline]
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if let Some(srtt) = ack.srtt
            && self.least_srtt.is_none_or(|least| srtt < least)
        {
            self.least_srtt = Some(srtt);
            let rho = srtt.as_secs() / self.params.reference_rtt.as_secs();
            self.rho = rho.clamp(1.0, MAX_RHO);
        }
        if !ack.window_limited {
            return;
        }
        if window.in_slow_start() {
            let cwnd = window.cwnd + libm::exp2(self.rho) - 1.0;
            window.cwnd = cwnd.min(window.ssthresh);
        } else {
            window.cwnd += self.rho * self.rho / window.cwnd;
        }
    }

    fn beta(&self) -> f64 {
        BETA
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::ack_at;
    use super::*;

    fn hybla() -> Hybla {
        Hybla::new(HyblaParams { reference_rtt: Span::from_millis(25) })
    }

    /// Returns the window after so many seconds with an ACK for each segment.
    fn after(seconds: u64, rtt_ms: u64, mut window: Window) -> f64 {
        let mut hybla = hybla();
        let rtt = Some(Span::from_millis(rtt_ms));
        for round in 0..seconds * 1_000 / rtt_ms {
            for _ in 0..window.cwnd as u32 {
                hybla.on_ack(&mut window, &Ack { rtt, srtt: rtt, ..ack_at(round * rtt_ms) });
            }
        }
        window.cwnd
    }

    /// By 40 segments per second a second: 1/rtt0 segments per round trip of 25 ms, which are 1/rtt0².
    #[test]
    fn the_rate_grows_alike_whatever_the_round_trip() {
        for rtt_ms in [25, 50, 100, 200] {
            let from = Window { cwnd: 400.0, ssthresh: 2.0 };
            let rate_growth = (after(4, rtt_ms, from) - 400.0) / (rtt_ms as f64 * 1e-3) / 4.0;
            assert!((rate_growth / 1_600.0 - 1.0).abs() < 0.08, "{rtt_ms} ms: {rate_growth}");
        }
        let as_reno = after(4, 10, Window { cwnd: 400.0, ssthresh: 2.0 }) - 400.0;
        assert!((as_reno / 400.0 - 1.0).abs() < 0.01, "{as_reno}");
    }

    /// With ρ = 2 each ACK is worth 3 segments, so that a round trip quadruples the window.
    #[test]
    fn slow_start_is_by_the_power_of_rho_and_ends_at_the_threshold() {
        let from = Window { cwnd: 2.0, ssthresh: f64::INFINITY };
        let (mut hybla, mut window, rtt) = (hybla(), from, Some(Span::from_millis(50)));
        for want in [8.0, 32.0, 128.0] {
            for _ in 0..window.cwnd as u32 {
                hybla.on_ack(&mut window, &Ack { srtt: rtt, ..ack_at(0) });
            }
            assert!((window.cwnd - want).abs() < 1e-9, "{}", window.cwnd);
        }
        window.ssthresh = 129.0;
        hybla.on_ack(&mut window, &Ack { srtt: rtt, ..ack_at(0) });
        assert_eq!(window.cwnd, 129.0);
    }
}
