use super::*;
use crate::bottleneck::scheduler::tests::place;
use crate::bottleneck::tests::{Lcg, arrival};
use crate::bottleneck::{Aqm, Differentiation, Judge, Signal};
use proptest::prelude::*;

/// Returns CSFQ on a link of 10 Mb/s.
fn begun() -> Csfq {
    let params = CsfqParams {
        averaging: Span::from_millis(100),
        link_averaging: Span::from_millis(200),
        window: Span::from_millis(200),
    };
    Csfq::new(params, &place(100)).expect("fits anywhere")
}

fn judge() -> Judge {
    Judge { aqm: Aqm::Csfq(begun()), differentiation: Differentiation::None }
}

fn csfq(judge: &Judge) -> &Csfq {
    let Aqm::Csfq(csfq) = &judge.aqm else { unreachable!() };
    csfq
}

fn packet(user: u32, now_ns: u64) -> Arrival {
    Arrival { user, now: Time::from_nanos(now_ns), len: Bytes::new(1000), ..arrival(0, 0.0) }
}

/// Returns the goodput in bit/s of customers that send 1000 B packets at constant rates, each with its own phase, from
/// second 2 to second `until`.
fn goodput(rates_bps: &[f64], until: u64, seed: u64) -> (Vec<f64>, Judge) {
    let (mut judge, mut lcg) = (judge(), Lcg(seed));
    let mut packets = Vec::new();
    for (user, rate) in rates_bps.iter().enumerate() {
        let gap_ns = 8_000.0 / rate * 1e9;
        let phase = lcg.draw() * gap_ns;
        let count = (until as f64 * 1e9 / gap_ns) as u64;
        packets.extend((0..count).map(|n| ((phase + n as f64 * gap_ns) as u64, user)));
    }
    packets.sort_unstable();
    let mut bits = vec![0.0; rates_bps.len()];
    for (now_ns, user) in packets {
        let signal = judge.signal(&packet(user as u32, now_ns), || lcg.draw());
        if signal == Signal::None && now_ns > 2_000_000_000 {
            bits[user] += 8_000.0;
        }
    }
    (bits.into_iter().map(|bits| bits / (until - 2) as f64).collect(), judge)
}

/// First simulation of the paper: 32 UDP flows over 10 Mb/s, flow i sends i + 1 times the fair share 0.3125 Mb/s. Each
/// gets about the fair share.
#[test]
fn thirty_two_constant_rates_get_the_fair_share_each() {
    let rates: Vec<f64> = (0..32).map(|i| f64::from(i + 1) * 312_500.0).collect();
    let (goodput, _) = goodput(&rates, 22, 1998);
    for (user, got) in goodput.iter().enumerate() {
        let share = got / 312_500.0;
        assert!((share - 1.0).abs() < 0.15, "customer {user}: {share} times the fair share");
    }
}

/// Max-min fair over 10 Mb/s with demands of 1, 2, 6 and 12: 1, 2, 3.5 and 3.5 Mb/s.
#[test]
fn a_sender_below_the_fair_share_gets_its_demand_and_the_others_the_rest() {
    let (goodput, judge) = goodput(&[1e6, 2e6, 6e6, 12e6], 22, 7);
    for (got, want) in goodput.iter().zip([1e6, 2e6, 3.5e6, 3.5e6]) {
        assert!((got / want - 1.0).abs() < 0.03, "{got} of {want}");
    }
    assert!((csfq(&judge).fair_share_bps() / 3.5e6 - 1.0).abs() < 0.05);
}

#[test]
fn a_link_with_room_drops_nothing_after_its_first_window() {
    let (goodput, judge) = goodput(&[4e6, 5e6], 12, 3);
    assert!((goodput[0] / 4e6 - 1.0).abs() < 0.001 && (goodput[1] / 5e6 - 1.0).abs() < 0.001);
    assert!((csfq(&judge).fair_share_bps() / 5e6 - 1.0).abs() < 0.01, "the largest rate there is");
}

/// The fixed point of the average at a constant rate is that rate, for any K.
#[test]
fn the_label_of_a_constant_rate_is_the_rate() {
    let mut average = Average::default();
    for n in 0..1_000 {
        average.add(Time::from_nanos(n * 4_000_000), Bytes::new(1000), Span::from_millis(100));
    }
    assert!((average.bps - 2e6).abs() < 1e-3, "{}", average.bps);
}

/// One packet after T = K: (1 − 1/e) l/K + r/e.
#[test]
fn a_label_forgets_by_e_within_k() {
    let k = Span::from_millis(100);
    let mut average = Average { bps: 1e6, last: Some(Time::ZERO) };
    average.add(Time::from_nanos(100_000_000), Bytes::new(1000), k);
    let e = core::f64::consts::E;
    assert!((average.bps - ((1.0 - 1.0 / e) * 80_000.0 + 1e6 / e)).abs() < 1e-6);
}

/// 0.99²⁸ = 0.7547, the last step above three quarters.
#[test]
fn full_buffers_take_a_hundredth_each_and_a_quarter_at_most() {
    let mut judge = judge();
    judge.signal(&packet(0, 0), || 0.5);
    for n in 1..100 {
        judge.on_overflow(0, Time::ZERO, Bytes::new(1000));
        let want = 1e7 * libm::pow(0.99, f64::from(n.min(28)));
        assert!((csfq(&judge).fair_share_bps() - want).abs() < 1e-6, "after {n}");
    }
    assert!(csfq(&judge).fair_share_bps() >= 7.5e6);
}

#[test]
fn a_signal_drops_ecn_capable_packets_too() {
    let mut judge = judge();
    let signals: Vec<_> =
        (0..2_000).map(|n| judge.signal(&packet(0, n * 400_000), || 0.0)).collect();
    assert!(signals.contains(&Signal::Forced) && !signals.contains(&Signal::Congestion));
}

proptest! {
    /// For any arrivals: probabilities are valid, and the fair share stays positive and below the link's rate, unless
    /// no customer exceeds it.
    #[test]
    fn probabilities_and_the_fair_share_stay_in_range(
        packets in prop::collection::vec((0u32..5, 0u64..50_000_000, 40u64..9_000, 0u32..9), 1..400),
    ) {
        let mut csfq = begun();
        let mut now = Time::ZERO;
        for (user, gap_ns, len, luck) in packets {
            // Simultaneous arrivals are included.
            now += Span::from_nanos(if gap_ns < 20_000_000 { 0 } else { gap_ns });
            let p = csfq.probability(&Arrival { user, now, len: Bytes::new(len), ..arrival(0, 0.0) });
            prop_assert!((0.0..=1.0).contains(&p), "p = {}", p);
            csfq.on_verdict(f64::from(luck) / 9.0 < p);
            if luck == 8 {
                csfq.on_overflow();
            }
            prop_assert!(csfq.fair_share_bps() > 0.0 && csfq.fair_share_bps().is_finite());
        }
    }
}
