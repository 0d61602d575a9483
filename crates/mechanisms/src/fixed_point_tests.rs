use proptest::prelude::*;

use super::*;
use crate::bottleneck::Differentiate;
use crate::bottleneck::abc::{Abc, AbcParams, DEFAULTS};
use crate::ingress::activity_meter::ActivityMeter;
use crate::stage::Stage;
use crate::units::{Bytes, Factor, Memory, Rate, Span, Time, Whole};

fn meter_params(bps: u64, inertia_ns: u64, burst: u64) -> ActivityMeterParams {
    ActivityMeterParams {
        reference_rate: Rate::from_bps(bps),
        inertia: Span::from_nanos(inertia_ns),
        burst_allowance: Bytes::new(burst),
        granularity: None,
        meters: Whole(1),
    }
}

fn from_q24(x: u64) -> f64 {
    x as f64 / ONE_Q24 as f64
}

/// The largest difference of activities along a trace.
fn largest_difference(params: ActivityMeterParams, packets: &[(u64, u64)]) -> f64 {
    let fixed = FixedMeter::new(&params);
    let mut floating = ActivityMeter::new(params);
    // Later than B/R_r, so that the bucket is full.
    let (mut word, mut now, mut largest) = (0, 1u64 << 50, 0f64);
    for &(gap_ns, len) in packets {
        now += gap_ns;
        let want = f64::from(floating.on_packet(Time::from_nanos(now), Bytes::new(len)));
        let (got, after) = fixed.on_packet(word, now, len);
        word = after;
        largest = largest.max((from_q24(got) - want.min(MAX_ACTIVITY as f64)).abs());
    }
    largest
}

#[test]
fn the_power_of_two_is_right_to_six_millionths() {
    for x in (0..ONE_Q24).step_by(997) {
        let want = libm::exp2(-from_q24(x));
        let got = exp2_minus_q31(x) as f64 / (1u64 << 31) as f64;
        assert!((got / want - 1.0).abs() < 6e-6, "2^-{}: {got}, expected {want}", from_q24(x));
    }
    assert_eq!(exp2_minus_q31(0), 1 << 31);
}

/// Menth and Zeitler, equation 7: A_s = log₂(R_t/R_r).
#[test]
fn stationary_activity_is_log2_of_the_rate_ratio() {
    let fixed = FixedMeter::new(&meter_params(1_000_000, 600_000_000, 0));
    for doublings in 1..8u32 {
        let gap_ns = 12_000_000 >> doublings;
        let (mut word, mut now, mut activity) = (0, 1u64 << 40, 0);
        for _ in 0..60_000_000_000 / gap_ns {
            now += gap_ns;
            (activity, word) = fixed.on_packet(word, now, 1500);
        }
        let got = from_q24(activity);
        assert!((got - f64::from(doublings)).abs() < 0.02, "{doublings}: {got}");
    }
}

#[test]
fn three_million_packets_do_not_drift() {
    let packets: Vec<_> = (0..3_000_000u64)
        .map(|n| (n.wrapping_mul(2_654_435_761) % 600_000, 60 + n.wrapping_mul(40_503) % 1441))
        .collect();
    let difference = largest_difference(meter_params(1_000_000, 600_000_000, 30_000), &packets);
    assert!(difference < 1e-4, "{difference}");
}

#[test]
fn no_probability_and_certainty_are_exact() {
    assert_eq!(threshold(minus_log2_q24(0.0)), 0);
    assert_eq!(threshold(minus_log2_q24(f64::NAN)), 0);
    assert_eq!(threshold(minus_log2_q24(1.0)), 1 << 32);
    assert_eq!(threshold(minus_log2_q24(0.5)), 1 << 31);
    // k √0.01 = 0.2 for k = 2.
    let coupled = coupled(minus_log2_q24(0.01), ONE_Q24);
    assert!(coupled.abs_diff(minus_log2_q24(0.2)) <= 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn activities_are_those_of_the_floating_meter(
        log10_bps in 3.0..9.0, inertia in 1.0..100.0, burst in 0u64..1_000_000,
        rate in 0.0..1.0,
        packets in prop::collection::vec((0.0..2.0, 60u64..1501), 1..2_000),
    ) {
        let bps = libm::exp10(log10_bps) as u64;
        let packet_ns = 12_000_000_000_000 / bps;
        let inertia_ns = ((packet_ns as f64 * inertia) as u64).clamp(1_000_000, 60_000_000_000);
        // Up to 10 Gb/s.
        let doublings = (10.0 - log10_bps) / libm::log10(2.0);
        let gap_ns = packet_ns as f64 / libm::exp2(doublings * rate);
        let packets: Vec<_> = packets.iter().map(|(gap, len)| ((gap * gap_ns) as u64, *len)).collect();
        let difference = largest_difference(meter_params(bps, inertia_ns, burst), &packets);
        prop_assert!(difference < 2e-3, "{difference}");
    }

    #[test]
    fn probabilities_are_those_of_the_floating_form(
        log10_p in -9.0..-0.001, gamma in 0.0..10.0, activity in 0.0..20.0, average in 0.0..20.0,
    ) {
        let params = AbcParams { gamma: Factor(gamma), ..DEFAULTS };
        let fixed = FixedAbc::new(params.gamma, params.activity_weight);
        // What both forms are given is the same to the last bit.
        let q24 = |x: f64| (x * ONE_Q24 as f64) as u64;
        let params = AbcParams { gamma: Factor(fixed.gamma_q16 as f64 / 65_536.0), ..params };
        let (activity, average) = (q24(activity), q24(average));
        let p = libm::exp2(-from_q24(minus_log2_q24(libm::exp10(log10_p))));
        let abc = Abc::new(params).with_average(from_q24(average));
        let want = -libm::log2(abc.adapt(p, libm::log2(p), from_q24(activity)));
        let got = from_q24(fixed.bend(minus_log2_q24(p), activity, average << 12));
        if want < 32.0 {
            prop_assert!((got - want).abs() < 1e-4 * want + 1e-5, "{got}, expected {want}");
        } else {
            prop_assert!(threshold(fixed.bend(minus_log2_q24(p), activity, average << 12)) < 8);
        }
    }

    #[test]
    fn the_average_is_that_of_the_floating_form(activities in prop::collection::vec(0.0..30.0, 1..3_000)) {
        let params = AbcParams { gamma: Factor(3.0), ..DEFAULTS };
        let (fixed, mut abc, mut average) = (FixedAbc::new(params.gamma, params.activity_weight), Abc::new(params), 0);
        for activity in activities {
            abc.observe(activity);
            average = fixed.observe(average, (activity * ONE_Q24 as f64) as u64);
        }
        let got = average as f64 / (1u64 << 36) as f64;
        prop_assert!((got - abc.average()).abs() < 1e-3, "{got}, expected {}", abc.average());
    }

    /// Whatever a packet, a word and a clock say, nothing overflows: the tests check every sum.
    #[test]
    fn no_input_overflows(
        bps in 1u64..100_000_000_000, inertia_ns in 1u64..60_000_000_000, burst in any::<u32>(),
        word in any::<u64>(), now in 0u64..(1 << 62), len in any::<u64>(), p in 0.0..=1.0,
        gamma in 0.0..1000.0, average in 0u64..(MAX_ACTIVITY << 36),
    ) {
        let meter = FixedMeter::new(&meter_params(bps, inertia_ns, burst.into()));
        let abc = FixedAbc::new(Factor(gamma), Memory(0.5));
        let (activity, after) = meter.on_packet(word, now, len);
        prop_assert!(activity <= MAX_ACTIVITY << FRACTION_BITS, "{activity}");
        prop_assert!(after <= now + meter.longest_ns);
        let average = abc.observe(average, activity);
        prop_assert!(average <= MAX_ACTIVITY << 36);
        prop_assert!(threshold(abc.bend(minus_log2_q24(p), activity, average)) <= 1 << 32);
    }
}
