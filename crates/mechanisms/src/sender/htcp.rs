//! H-TCP: the window grows the faster the longer the last congestion is ago. D. Leith and R. Shorten, "H-TCP: TCP for
//! high-speed and long-distance networks", PFLDnet 2004; draft-leith-tcp-htcp-06; arithmetic as in Linux,
//! `net/ipv4/tcp_htcp.c`, with a clock of milliseconds.
//!
//! ```text
//! Δ = time since the last congestion ended, s
//! factor = 1                                      Δ ≤ 1
//!          1 + 10 (Δ − 1) + ((Δ − 1)/2)²          Δ > 1
//! factor ← factor / min(max(100 ms/rtt_min, 0.5), 10)          not below 1
//! α = 2 (1 − β) factor
//!
//! cwnd ← cwnd + 1                                 per cwnd/α segments acknowledged
//!
//! congestion:  β = 0.5                            if the throughput changed by more than a fifth between congestions
//!              β = rtt_min/rtt_max                else, between 0.5 and 0.8
//!              ssthresh ← max(⌊β cwnd⌋, 2)
//! ```
//!
//! α is computed again with each step of the window. The throughput is the largest of a moving average since the last
//! congestion. `rtt_max` fades by a twentieth of its distance to `rtt_min` with each congestion. A small β while queues
//! are short would leave the link idle; a β of 0.8 with long ones would keep them long.
//!
//! Differs from Linux: a congestion that turns out to be spurious does not restore Δ and `rtt_max`.

use super::whole_segments::WholeSegments;
use super::{Ack, Control, MIN_SSTHRESH, Sender, Window};
use crate::mechanism::About;
use crate::parameters;
use crate::units::{Span, Time};

/// Scale of α and β, as in Linux.
const ONE: u64 = 1 << 7;
/// β without queues.
const BETA_MIN: u64 = 1 << 6;
/// Largest β: 0.8.
const BETA_MAX: u64 = 102;
/// Time after a congestion in which the window grows as Reno's.
const LOW_SPEED_MS: u64 = 1_000;
/// Largest step of a growing maximum of the round trip.
const MAX_STEP_MS: u64 = 20;
/// With a shorter round trip, β does not follow the delay.
const SHORTEST_RTT_MS: u64 = 10;

parameters! {
    /// Leith and Shorten 2004: grows by the time since the last congestion.
    pub struct HtcpParams {
        /// Scale the growth by the round-trip time, so that flows with different ones get more equal rates.
        pub rtt_scaling: bool = "true",
        /// Halve the window where the throughput has changed since the last congestion.
        pub bandwidth_switch: bool = "true",
    }
}

/// H-TCP.
#[derive(Clone, Debug)]
pub struct Htcp(Box<State>);

/// Its state, kept elsewhere so that senders of other kinds do not have room for it.
#[derive(Clone, Debug)]
struct State {
    params: HtcpParams,
    /// α and β, in 1/128.
    alpha: u64,
    beta: u64,
    /// Whether β may follow the delay.
    by_delay: bool,
    whole: WholeSegments,
    /// Extremes of the round trip, ms; 0 before the first sample.
    rtt_min: u64,
    rtt_max: u64,
    /// End of the last congestion, and the last ACK.
    congestion: Option<Time>,
    now: Time,
    /// Whether a congestion has begun since the last ACK.
    ends: bool,
    throughput: Throughput,
}

/// Achieved throughput, segments per second.
#[derive(Clone, Debug, Default)]
struct Throughput {
    /// Segments acknowledged since `since`.
    counted: u64,
    since: Time,
    mean: u64,
    most: u64,
    /// Largest mean before the last congestion but one.
    most_before: u64,
}

impl Sender for Htcp {
    type Params = HtcpParams;

    const ABOUT: About = About {
        name: "htcp",
        title: "H-TCP",
        source: "Leith and Shorten, PFLDnet 2004; Linux, tcp_htcp.c",
        usage: r#"tcp.congestion_control = "htcp""#,
        file: "sender/htcp.rs",
        text: crate::mechanism::source_text!("htcp.rs"),
    };
}

/// Returns whole milliseconds.
fn millis(span: Span) -> u64 {
    span.as_nanos() / 1_000_000
}

impl Control for Htcp {
    fn new(params: HtcpParams) -> Self {
        Htcp(Box::new(State {
            params,
            alpha: ONE,
            beta: BETA_MIN,
            by_delay: false,
            whole: WholeSegments::default(),
            rtt_min: 0,
            rtt_max: 0,
            congestion: None,
            now: Time::ZERO,
            ends: false,
            throughput: Throughput::default(),
        }))
    }

    #[inline]
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        self.0.on_ack(window, ack);
    }

    fn ssthresh_on_congestion(&mut self, window: &Window) -> f64 {
        self.0.ssthresh_on_congestion(window)
    }

    fn on_timeout(&mut self) {
        self.0.ends = true;
    }

    fn beta(&self) -> f64 {
        self.0.beta()
    }
}

impl State {
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        self.measure(window, ack);
        if !ack.window_limited {
            return;
        }
        let mut acked = ack.acked;
        if window.in_slow_start() {
            acked = WholeSegments::slow_start(window, acked);
        }
        if acked > 0 {
            let before = window.cwnd;
            let interval = (window.cwnd as u64 * ONE).div_ceil(self.alpha).max(1) as u32;
            self.whole.grow(window, interval, acked);
            if window.cwnd > before {
                self.update_alpha();
            }
        }
    }

    fn ssthresh_on_congestion(&mut self, window: &Window) -> f64 {
        self.update_beta();
        self.update_alpha();
        if self.rtt_min > 0 && self.rtt_max > self.rtt_min {
            self.rtt_max = self.rtt_min + (self.rtt_max - self.rtt_min) * 95 / 100;
        }
        self.whole.reset();
        self.ends = true;
        libm::floor(window.cwnd * self.beta()).max(MIN_SSTHRESH)
    }

    fn beta(&self) -> f64 {
        self.beta as f64 / ONE as f64
    }

    /// Takes round trip and throughput of an ACK outside loss recovery.
    fn measure(&mut self, window: &Window, ack: &Ack) {
        self.now = ack.now;
        if self.ends || self.congestion.is_none() {
            self.congestion = Some(ack.now);
            self.ends = false;
            (self.throughput.counted, self.throughput.since) = (0, ack.now);
        }
        if let Some(rtt) = ack.rtt {
            let rtt = millis(rtt).max(1);
            if self.rtt_min == 0 || rtt < self.rtt_min {
                self.rtt_min = rtt;
            }
            self.rtt_max = self.rtt_max.max(self.rtt_min);
            if rtt <= self.rtt_max + MAX_STEP_MS {
                self.rtt_max = self.rtt_max.max(rtt);
            }
        }
        let took = millis(ack.now.since(self.throughput.since));
        self.throughput.counted += u64::from(ack.acked);
        let whole_window = (window.cwnd as u64).saturating_sub((self.alpha / ONE).max(1));
        if self.rtt_min == 0 || took < self.rtt_min || self.throughput.counted < whole_window {
            return;
        }
        let rounds = self.since_congestion() / self.rtt_min;
        let own = &mut self.throughput;
        let rate = own.counted * 1_000 / took;
        if rounds <= 3 {
            (own.mean, own.most) = (rate, rate);
        } else {
            own.mean = (3 * own.mean + rate) / 4;
            own.most = own.most.max(own.mean);
        }
        (own.counted, own.since) = (0, ack.now);
    }

    /// Returns Δ, ms.
    fn since_congestion(&self) -> u64 {
        self.congestion.map_or(0, |end| millis(self.now.since(end)))
    }

    fn update_alpha(&mut self) {
        let mut factor = 1;
        if let Some(over) = self.since_congestion().checked_sub(LOW_SPEED_MS) {
            factor = 1 + (10 * over + (over / 2) * (over / 2) / 1_000) / 1_000;
        }
        if self.params.rtt_scaling && self.rtt_min > 0 {
            let scale = (8_000 / (10 * self.rtt_min)).clamp(4, 80);
            factor = (8 * factor / scale).max(1);
        }
        self.alpha = 2 * factor * (ONE - self.beta);
    }

    fn update_beta(&mut self) {
        if self.params.bandwidth_switch {
            let Throughput { most, most_before, .. } = self.throughput;
            self.throughput.most_before = most;
            if !(4 * most_before..=6 * most_before).contains(&(5 * most)) {
                (self.beta, self.by_delay) = (BETA_MIN, false);
                return;
            }
        }
        if self.by_delay && self.rtt_min > SHORTEST_RTT_MS && self.rtt_max > 0 {
            self.beta = (ONE * self.rtt_min / self.rtt_max).clamp(BETA_MIN, BETA_MAX);
        } else {
            (self.beta, self.by_delay) = (BETA_MIN, true);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::ack_at;
    use super::*;

    const PARAMS: HtcpParams = HtcpParams { rtt_scaling: true, bandwidth_switch: true };

    /// Acknowledges a window each round trip for so long, and returns the windows at the end of each second.
    fn seconds(
        htcp: &mut Htcp,
        window: &mut Window,
        rtt_ms: u64,
        from_ms: u64,
        n: u64,
    ) -> Vec<f64> {
        let mut ends = Vec::new();
        let rtt = Some(Span::from_millis(rtt_ms));
        for ms in (from_ms..from_ms + n * 1_000).step_by(rtt_ms as usize) {
            for _ in 0..window.cwnd as u32 {
                htcp.on_ack(window, &Ack { rtt, srtt: rtt, ..ack_at(ms) });
            }
            if (ms + rtt_ms - from_ms).is_multiple_of(1_000) {
                ends.push(window.cwnd);
            }
        }
        ends
    }

    /// With a round trip of 100 ms and β = 1/2, α is 1 for a second, and then 1 + 10 (Δ − 1) + ((Δ − 1)/2)². Summed over
    /// the ten round trips of a second, with Δ at the beginning of each and in whole numbers: 10, 55, 155 and 266 segments.
    #[test]
    fn growth_follows_the_time_since_the_last_congestion() {
        let mut htcp = Htcp::new(PARAMS);
        let mut window = Window { cwnd: 1000.0, ssthresh: 500.0 };
        let ends = seconds(&mut htcp, &mut window, 100, 0, 4);
        let mut want = 1000.0;
        for (second, grown) in [10.0, 55.0, 155.0, 266.0].into_iter().enumerate() {
            want += grown;
            let off = (ends[second] - want).abs();
            assert!(off <= 0.03 * (want - 1000.0) + 2.0, "{second}: {}, not {want}", ends[second]);
        }
    }

    /// Scaled, a flow with a round trip of 200 ms has α = 2, and of 50 ms α = 1 at least.
    #[test]
    fn growth_is_scaled_by_the_round_trip() {
        for (rtt_ms, rtt_scaling, want) in [(200, true, 2), (200, false, 1), (50, true, 1)] {
            let mut htcp = Htcp::new(HtcpParams { rtt_scaling, ..PARAMS });
            let mut window = Window { cwnd: 100.0, ssthresh: 50.0 };
            seconds(&mut htcp, &mut window, rtt_ms, 0, 1);
            assert_eq!(htcp.0.alpha / ONE, want, "{rtt_ms} ms");
        }
    }

    /// The first congestions halve the window; then, with the same throughput, what is left is rtt_min/rtt_max.
    #[test]
    fn what_is_kept_follows_the_delay_if_the_throughput_stays() {
        let mut htcp = Htcp::new(PARAMS);
        let mut kept = Vec::new();
        for round in 0..4 {
            let mut window = Window { cwnd: 400.0, ssthresh: 100.0 };
            seconds(&mut htcp, &mut window, 20, round * 10_000, 1);
            let (ms, rtt) = (round * 10_000 + 2_000, Some(Span::from_millis(30)));
            htcp.on_ack(&mut window, &Ack { rtt, acked: 0, ..ack_at(ms) });
            kept.push(htcp.ssthresh_on_congestion(&window) / window.cwnd);
        }
        assert!((kept[0] - 0.5).abs() < 0.01 && (kept[1] - 0.5).abs() < 0.01, "{kept:?}");
        assert!((kept[3] - 20.0 / 30.0).abs() < 0.02, "{kept:?}");
    }
}
