use super::*;
use proptest::prelude::*;

const PACKET: Bytes = Bytes::new(1500);
const STOP: f64 = 5.0;

fn params(reference_kbps: u64, inertia_s: f64, burst_bytes: u64) -> ActivityMeterParams {
    ActivityMeterParams {
        reference_rate: Rate::from_bps(reference_kbps * 1000),
        inertia: Span::from_secs_f64(inertia_s),
        burst_allowance: Bytes::new(burst_bytes),
        granularity: None,
        meters: Whole(1),
    }
}

fn meter(reference_kbps: u64, inertia_s: f64, burst_bytes: u64) -> ActivityMeter {
    ActivityMeter::new(params(reference_kbps, inertia_s, burst_bytes))
}

/// Returns (time in s, activity) of every packet of a constant-rate user that sends for `secs`.
fn cbr(meter: &mut ActivityMeter, sent_kbps: u64, secs: f64) -> Vec<(f64, f64)> {
    let gap_ns = 1500 * 8 * 1_000_000 / sent_kbps;
    let times = (0..).map(|n| Time::from_nanos(n * gap_ns)).take_while(|t| t.as_secs() < secs);
    times.map(|t| (t.as_secs(), f64::from(meter.on_packet(t, PACKET)))).collect()
}

fn final_activity(trace: &[(f64, f64)]) -> f64 {
    trace.last().expect("sent packets").1
}

/// Returns the time of the first packet with a positive activity.
fn onset(trace: &[(f64, f64)]) -> f64 {
    trace.iter().find(|&&(_, activity)| activity > 0.0).expect("became active").0
}

#[test]
fn the_fast_path_meters_a_packet() {
    let (mut meter, mut other) = (meter(1_000, 0.1, 3_000), meter(1_000, 0.1, 3_000));
    for ms in 0..20 {
        let now = Time::ZERO + Span::from_millis(ms);
        let mut packet = Passing { now, ..Passing::of_user(0) };
        let verdict = other.fast_path(&packet.summary());
        assert_eq!(meter.pass(&mut packet, || 0.0), Passage::On);
        assert_eq!(verdict, FastVerdict::Signal(packet.signal));
    }
}

/// Figure 1 and t_A⁺ = B/(R_t − R_r): 0.8 s at 2 Mb/s, 0.114 s at 8 Mb/s. A deviation of one packet is 6 ms and 1.5 ms.
#[test]
fn activity_sets_in_when_the_burst_allowance_is_used_up() {
    for (sent_kbps, want, tolerance) in [(2_000, 0.8, 0.024), (8_000, 0.8 / 7.0, 0.006)] {
        let got = onset(&cbr(&mut meter(1_000, 0.1, 100_000), sent_kbps, STOP));
        assert!((got - want).abs() < tolerance, "{sent_kbps} kb/s: onset {got} s, not {want} s");
    }
}

#[test]
fn without_burst_allowance_the_second_packet_is_active() {
    for sent_kbps in [2_000, 8_000] {
        let trace = cbr(&mut meter(1_000, 0.1, 0), sent_kbps, STOP);
        assert_eq!(trace[0].1, 0.0);
        assert!(trace[1].1 > 0.0);
    }
}

/// Figure 1 and equation 7: 1 and 3, for any inertia. At arrivals the law is exact: the amount that a packet drains,
/// L·2^(−A), equals the inflow since the last one, L·R_r/R_t.
#[test]
fn stationary_activity_is_log2_of_the_rate_ratio() {
    for (sent_kbps, want) in [(2_000, 1.0), (4_000, 2.0), (8_000, 3.0)] {
        for inertia_s in [0.1, 1.0] {
            let got = final_activity(&cbr(&mut meter(1_000, inertia_s, 0), sent_kbps, 60.0));
            assert!((got - want).abs() < 1e-6, "{sent_kbps} kb/s, I = {inertia_s} s: {got}");
        }
    }
}

/// Rate ratios that are no powers of two.
#[test]
fn stationary_activity_meets_equation_7_at_any_ratio() {
    for ratio in [1.5, 3.0, 10.0, 100.0] {
        let sent_kbps = (1_000.0 * ratio) as u64;
        let got = final_activity(&cbr(&mut meter(1_000, 2.0, 0), sent_kbps, 120.0));
        let want = libm::log2(ratio);
        assert!((got - want).abs() < 1e-4, "ratio {ratio}: {got}, not {want}");
    }
}

/// Below the reference rate there is no activity, except by the packet that empties the bucket.
#[test]
fn a_user_at_the_reference_rate_is_not_active() {
    let trace = cbr(&mut meter(1_000, 0.6, 1_500), 1_000, STOP);
    assert!(trace.iter().all(|&(_, activity)| activity == 0.0));
}

/// Figure 1: after the sender stops at 5 s the activity falls linearly to zero within I·A_s.
#[test]
fn after_the_last_packet_activity_falls_linearly_within_inertia_times_activity() {
    for (inertia_s, sent_kbps, a_s) in [(0.1, 2_000, 1.0), (0.1, 8_000, 3.0), (1.0, 8_000, 3.0)] {
        let mut sending = meter(1_000, inertia_s, 0);
        cbr(&mut sending, sent_kbps, 60.0);
        let stopped = sending.last;
        let activity_after = |secs: f64| {
            let mut probe = sending.clone(); // reading meters a packet, so read a copy
            probe.on_packet(stopped + Span::from_secs_f64(secs), PACKET)
        };
        // The last packet itself adds up to L·2^(−A_s)/(R_r I).
        let own_step = 1500.0 / libm::exp2(a_s) / (125_000.0 * inertia_s);
        for share in [0.25, 0.5, 0.75] {
            let got = f64::from(activity_after(share * inertia_s * a_s));
            let want = a_s * (1.0 - share);
            assert!((got - want).abs() < own_step + 0.05, "after {share}: {got}, not {want}");
        }
        assert_eq!(activity_after(inertia_s * (a_s + own_step + 0.05)), 0.0);
    }
}

/// Figure 1: for I = 0.1 s the curves for A_s = 1 and 3 are similar; for I = 1 s the rise takes longer.
#[test]
fn the_rise_takes_as_long_as_the_inertia_says_and_hardly_depends_on_the_activity() {
    let rise = |inertia_s: f64, sent_kbps: u64, a_s: f64| {
        let trace = cbr(&mut meter(1_000, inertia_s, 0), sent_kbps, 20.0);
        trace.iter().find(|&&(_, activity)| activity > a_s - 0.1).expect("gets there").0
    };
    let (to_1, to_3) = (rise(0.1, 2_000, 1.0), rise(0.1, 8_000, 3.0));
    assert!((to_1 - to_3).abs() < 0.1, "to 1 in {to_1} s, to 3 in {to_3} s");
    assert!(rise(1.0, 2_000, 1.0) > 5.0 * to_1);
}

/// Section 4.1: a burst of V bytes, R_t I ≤ V < 2 R_t I, raises the activity by one, for any R_r.
#[test]
fn a_burst_between_once_and_twice_rate_times_inertia_raises_activity_by_one() {
    for (reference_kbps, sent_kbps) in [(1_000, 2_000), (1_000, 8_000), (100, 2_000)] {
        let mut user = meter(reference_kbps, 1.0, 0);
        let before = final_activity(&cbr(&mut user, sent_kbps, 60.0));
        let now = user.last;
        let mut burst_bytes = 0.0;
        while f64::from(user.on_packet(now, PACKET)) < before + 1.0 {
            burst_bytes += 1500.0;
        }
        let rate_times_inertia = sent_kbps as f64 * 125.0;
        let share = burst_bytes / rate_times_inertia;
        assert!((1.0..2.0).contains(&share), "R_r {reference_kbps} kb/s: V = {share} R_t I");
    }
}

/// Figure 2 and equation 8: R_r = 10 kb/s, R_t = 20 kb/s, packets of 1500 B. At I = 1.2 s, where R_r I is one packet,
/// the activity rises monotonically; at smaller inertia it oscillates.
#[test]
fn too_little_inertia_makes_activity_oscillate() {
    let largest_fall = |inertia_s: f64| {
        let trace = cbr(&mut meter(10, inertia_s, 0), 20, STOP);
        trace.windows(2).map(|w| w[0].1 - w[1].1).fold(0.0, f64::max)
    };
    assert!(largest_fall(1.2) < 1e-6, "I = 1.2 s: falls by {}", largest_fall(1.2));
    // At 0.6 s the second packet has exactly A_s (see below); below that it oscillates.
    assert!(largest_fall(0.5) > 0.1);
    assert!(largest_fall(0.3) > 0.5);
}

/// Figure 2: the second packet finds F = −1500 + 750 B, so A = 0.6 s/I: 2 at I = 0.3 s.
#[test]
fn too_little_inertia_overshoots_at_the_second_packet() {
    for (inertia_s, want) in [(1.2, 0.5), (0.6, 1.0), (0.3, 2.0), (0.15, 4.0)] {
        let second = cbr(&mut meter(10, inertia_s, 0), 20, STOP)[1].1;
        assert!((second - want).abs() < 1e-6, "I = {inertia_s} s: {second}, not {want}");
    }
}

/// Section 3.4: a user whose packets alternate between two meters of half the rate and half the burst allowance has the
/// same activity as with one meter.
#[test]
fn two_meters_of_half_the_rate_give_the_same_activity() {
    let mut whole = meter(1_000, 1.0, 100_000);
    let mut halves = [meter(500, 1.0, 50_000), meter(500, 1.0, 50_000)];
    for n in 0..20_000u64 {
        let now = Time::from_nanos(n * 3_000_000); // 4 Mb/s
        let one = whole.on_packet(now, PACKET);
        let of_two = halves[(n % 2) as usize].on_packet(now, PACKET);
        // One packet changes a half meter by at most 1500/62,500 = 0.024.
        assert!((one - of_two).abs() < 0.025, "packet {n}: {one} and {of_two}");
    }
}

proptest! {
    /// The law behind the test above, exact: half the rate, half the burst, half of each packet.
    #[test]
    fn a_meter_scales(
        packets in prop::collection::vec((0u64..50_000_000, 1u64..1500), 1..300),
        burst in 0u64..50_000,
    ) {
        let (mut whole, mut half) = (meter(2_000, 0.6, 2 * burst), meter(1_000, 0.6, burst));
        let mut now = Time::ZERO;
        for (gap_ns, len) in packets {
            now += Span::from_nanos(gap_ns);
            let one = whole.on_packet(now, Bytes::new(2 * len));
            prop_assert_eq!(one, half.on_packet(now, Bytes::new(len)));
        }
    }

    /// The carried activity is a multiple of g, not less than the exact one and less than g above it; the meter's state
    /// does not depend on the rounding.
    #[test]
    fn granularity_rounds_up_by_less_than_one_step(
        gaps_ns in prop::collection::vec(0u64..5_000_000, 1..300),
        g in prop::sample::select(vec![0.25, 0.5, 1.0, 2.0]),
    ) {
        let exact_params = params(1_000, 0.6, 0);
        let mut exact = ActivityMeter::new(exact_params.clone());
        let mut rounding =
            ActivityMeter::new(ActivityMeterParams { granularity: Some(Step(g)), ..exact_params });
        let mut now = Time::ZERO;
        for gap_ns in gaps_ns {
            now += Span::from_nanos(gap_ns);
            let a = f64::from(exact.on_packet(now, PACKET));
            let a_g = f64::from(rounding.on_packet(now, PACKET));
            prop_assert_eq!(a_g % g, 0.0);
            // f32 may round the exact value up by one part in 2²⁴.
            prop_assert!(a_g >= a * (1.0 - 1e-7) && a_g < a + g + 1e-6, "{} rounded to {}", a, a_g);
        }
    }

    /// The bucket holds at most B: after any pause, at most B and one packet pass at activity 0.
    #[test]
    fn a_pause_earns_no_more_than_the_burst_allowance(
        pause_ns in 0u64..1_000_000_000_000, burst in 0u64..100_000,
    ) {
        let mut meter = meter(1_000, 0.6, burst);
        let now = Time::from_nanos(pause_ns);
        let inactive = (0..1_000).take_while(|_| meter.on_packet(now, PACKET) == 0.0).count();
        prop_assert_eq!(inactive as u64, burst / 1500 + 1);
    }

    /// Activity is finite and never negative, for any traffic.
    #[test]
    fn activity_is_finite_and_not_negative(
        packets in prop::collection::vec((0u64..10_000_000_000, 0u64..100_000), 1..200),
        reference_kbps in 1u64..10_000_000, inertia_s in 1e-6..100.0,
    ) {
        let mut meter = meter(reference_kbps, inertia_s, 0);
        let mut now = Time::ZERO;
        for (gap_ns, len) in packets {
            now += Span::from_nanos(gap_ns);
            let activity = meter.on_packet(now, Bytes::new(len));
            prop_assert!(activity.is_finite() && activity >= 0.0);
        }
    }
}
