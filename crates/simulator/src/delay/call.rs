//! The quality of a call, by the E-model (ITU-T G.107) with everything but delay and loss at its defaults.
//!
//! ```text
//! R   = 93.2 − Idd − Ie,eff
//! Idd = 0 up to 100 ms, then 25 ((1 + X⁶)^(1/6) − 3 (1 + (X/3)⁶)^(1/6) + 2),  X = log₂(Ta / 100 ms)    (7-28)
//! Ie,eff = Ie + (95 − Ie) Ppl / (Ppl + Bpl)                                                            (7-29)
//! MOS = 1 + 0.035 R + 7·10⁻⁶ R (R − 60) (100 − R)                                            (annex B, 0 < R < 100)
//! ```
//!
//! Ie and Bpl are those of G.113, appendix I, with concealment of losses. The receiver is taken to play each packet when 99 %
//! have arrived: Ta is the time of a packet and the 99 % quantile of the one-way delay, and 1 % of the packets, which come
//! later, are lost beside those that the network loses, where there is jitter. Losses count as independent (BurstR = 1), and echo is
//! cancelled.

use tidegate_mechanisms::units::Span;
use tidegate_scenario::plan::{Codec, FlowPlan, Traffic};

/// What a codec does to a call.
struct Impairment {
    /// Ie, of the codec itself.
    codec: f64,
    /// Bpl, how well it bears losses, percent.
    robustness: f64,
}

fn impairment(codec: Codec) -> Impairment {
    let (codec, robustness) = match codec {
        Codec::G711 => (0.0, 25.1),
        Codec::G729 => (11.0, 19.0),
    };
    Impairment { codec, robustness }
}

/// A flow that is a call: its codec, and the time of a packet.
pub fn call_of(flow: &FlowPlan) -> Option<(Codec, Span)> {
    if let Some(stream) = flow.traffic.packet_stream(flow.packet_size) {
        return Some((stream.codec?, stream.interval));
    }
    let Traffic::Cbr(cbr) = &*flow.traffic else { return None };
    Some((cbr.codec?, cbr.rate.transmission_time(flow.packet_size)))
}

/// The mean opinion score of a call with these delays of its packets, in seconds, and this share lost.
pub fn mean_opinion_score(
    (codec, packet_time): (Codec, Span),
    p99_one_way_s: f64,
    jitter_s: f64,
    lost: f64,
) -> f64 {
    let Impairment { codec, robustness } = impairment(codec);
    let late = if jitter_s > 0.0 { 0.01 } else { 0.0 };
    let lost_percent = 100.0 * (1.0 - (1.0 - lost) * (1.0 - late));
    let by_loss = codec + (95.0 - codec) * lost_percent / (lost_percent + robustness);
    let r = 93.2 - by_delay(packet_time.as_secs() + p99_one_way_s) - by_loss;
    match r {
        r if r.is_nan() => f64::NAN,
        r if r <= 0.0 => 1.0,
        r => 1.0 + 0.035 * r + 7e-6 * r * (r - 60.0) * (100.0 - r),
    }
}

/// Idd of a delay from mouth to ear, seconds.
fn by_delay(delay_s: f64) -> f64 {
    if delay_s.is_nan() || delay_s <= 0.1 {
        return if delay_s.is_nan() { f64::NAN } else { 0.0 };
    }
    let x = libm::log2(delay_s / 0.1);
    let root = |x: f64| libm::pow(1.0 + libm::pow(x, 6.0), 1.0 / 6.0);
    25.0 * (root(x) - 3.0 * root(x / 3.0) + 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mos(codec: Codec, delay_ms: f64, lost: f64) -> f64 {
        mean_opinion_score((codec, Span::ZERO), delay_ms * 1e-3, 0.0, lost)
    }

    /// R = 93.2 of the defaults is a MOS of 4.41 (G.107, annex B), and R = 82.2 of G.729A one of 4.12.
    #[test]
    fn an_undisturbed_call_has_the_quality_of_its_codec() {
        assert!((mos(Codec::G711, 50.0, 0.0) - 4.41).abs() < 0.005);
        assert!((mos(Codec::G729, 50.0, 0.0) - 4.11).abs() < 0.015);
    }

    /// About as figure 1 of G.114: little up to 200 ms, and R near 70 at 400 ms.
    #[test]
    fn delay_impairs_a_call_beyond_a_tenth_of_a_second() {
        assert_eq!(by_delay(0.1), 0.0);
        for (ms, low, high) in [(150.0, 0.0, 2.0), (200.0, 2.0, 6.0), (400.0, 20.0, 26.0)] {
            let own = by_delay(ms * 1e-3);
            assert!((low..high).contains(&own), "{ms} ms: {own}");
        }
    }

    /// One packet in a hundred costs G.711 with concealment 95 / 26.1.
    #[test]
    fn losses_impair_a_call() {
        let r = 93.2 - 95.0 / 26.1;
        let want = 1.0 + 0.035 * r + 7e-6 * r * (r - 60.0) * (100.0 - r);
        assert!((mos(Codec::G711, 50.0, 0.01) - want).abs() < 1e-9);
        assert_eq!(mos(Codec::G711, 5_000.0, 1.0), 1.0);
        assert!(mos(Codec::G711, f64::NAN, 0.0).is_nan());
    }
}
