use super::*;
use crate::bottleneck::scheduler::tests::place;
use crate::bottleneck::tests::Lcg;
use crate::bottleneck::{Aqm, Differentiation, DropReason, Judge, Signal, Verdict};
use crate::units::{Bytes, Rate, Time};
use proptest::prelude::*;

fn params(spacing: RedSpacing) -> RedParams {
    RedParams {
        min_threshold: QueueLength::Packets(5),
        max_threshold: QueueLength::Packets(15),
        max_probability: Share(0.1),
        weight: Share(0.002),
        gentle: false,
        spacing,
        hard_drop: true,
        marks_below: None,
        mean_packet: None,
    }
}

/// Returns RED on a link that takes a millisecond for a packet.
fn red(params: RedParams) -> Red {
    Red::new(params, &Place { rate: Rate::mbps(12), ..place(100) }).expect("fits anywhere")
}

fn arrival(packets: u32) -> Arrival {
    Arrival {
        now: Time::ZERO,
        len: Bytes::new(1500),
        activity: 0.0,
        user: 0,
        backlog_packets: packets,
        backlog_bytes: u64::from(packets) * 1500,
        idle: Span::ZERO,
    }
}

/// Returns RED in equilibrium at an average.
fn steady(params: RedParams, average: f64) -> Red {
    Red { average, spacing: Spacing { zone: Zone::Early, count: 0 }, ..red(params) }
}

/// Gaps between signals at a constant average of 10 packets: p_b = 0.05, 1/p_b = 20.
fn gaps(spacing: RedSpacing, signals: usize) -> Vec<usize> {
    let mut judge = Judge {
        aqm: Aqm::Red(steady(params(spacing), 10.0)),
        differentiation: Differentiation::None,
    };
    let mut lcg = Lcg(20261120);
    let mut next_gap = || {
        let passed = core::iter::repeat_with(|| judge.signal(&arrival(10), || lcg.draw()));
        passed.take_while(|&verdict| verdict == Signal::None).count() + 1
    };
    (0..signals).map(|_| next_gap()).collect()
}

/// Pearson's χ² of `gaps` against equal frequency on `first..=last`.
fn chi_square_against_uniform(gaps: &[usize], first: usize, last: usize) -> f64 {
    let expected = gaps.len() as f64 / (last - first + 1) as f64;
    let observed = |gap: usize| gaps.iter().filter(|&&g| g == gap).count() as f64;
    (first..=last).map(|gap| libm::pow(observed(gap) - expected, 2.0) / expected).sum()
}

/// With p_b = 1/20 the ratio at count 19 is 0.05/(1 − 0.95) = 1, so 19 is the longest gap.
/// χ² with 18 degrees of freedom exceeds 42.31 with probability 0.1 %.
#[test]
fn uniform_spacing_gives_gaps_uniform_from_1_to_one_less_than_1_over_p() {
    let gaps = gaps(RedSpacing::Uniform, 20_000);
    assert_eq!(gaps.iter().min(), Some(&1));
    assert_eq!(gaps.iter().max(), Some(&19));
    let chi_square = chi_square_against_uniform(&gaps, 1, 19);
    assert!(chi_square < 42.31, "χ² = {chi_square}");
}

/// χ² with 19 degrees of freedom exceeds 43.82 with probability 0.1 %.
#[test]
fn waiting_gives_gaps_uniform_from_1_over_p_to_one_less_than_2_over_p() {
    let gaps = gaps(RedSpacing::Wait, 20_000);
    assert_eq!(gaps.iter().min(), Some(&20));
    assert_eq!(gaps.iter().max(), Some(&39));
    let chi_square = chi_square_against_uniform(&gaps, 20, 39);
    assert!(chi_square < 43.82, "χ² = {chi_square}");
}

/// Mean 20 and standard deviation √380 = 19.5; 3.29 standard errors of 20,000 gaps are 0.45, which
/// chance exceeds with probability 0.1 %.
#[test]
fn independent_draws_give_gaps_geometric_with_mean_1_over_p() {
    let gaps = gaps(RedSpacing::Geometric, 20_000);
    let n = gaps.len() as f64;
    let mean = gaps.iter().sum::<usize>() as f64 / n;
    assert!((mean - 20.0).abs() < 0.45, "mean gap {mean}");
    // P(gap > 20) = 0.95²⁰ = 0.3585, standard error 0.0034
    let long = gaps.iter().filter(|&&gap| gap > 20).count() as f64 / n;
    assert!((long - 0.3585).abs() < 3.29 * 0.0034, "share of gaps above 20: {long}");
}

#[test]
fn the_average_takes_up_a_step_by_the_power_of_the_weight() {
    let mut red = red(params(RedSpacing::Wait));
    for n in 1..=2_000 {
        red.probability(&arrival(4));
        let want = 4.0 * (1.0 - libm::pow(0.998, f64::from(n)));
        assert!((red.average() - want).abs() < 1e-9, "after {n} packets");
    }
}

/// 500 packets of 1 ms fit in 500.9 ms: avg = 10 · 0.998⁵⁰⁰ · 0.998 = 3.66776.
#[test]
fn idle_time_decays_the_average_as_if_packets_had_come_to_an_empty_queue() {
    let mut red = steady(params(RedSpacing::Wait), 10.0);
    red.probability(&Arrival { idle: Span::from_micros(500_900), ..arrival(0) });
    assert!((red.average() - 3.66776).abs() < 1e-5, "average {}", red.average());
}

fn bytes(bytes: u64) -> QueueLength {
    QueueLength::Bytes(Bytes::new(bytes))
}

#[test]
fn byte_mode_averages_bytes() {
    let (min_threshold, max_threshold) = (bytes(7_500), bytes(22_500));
    let mut red = red(RedParams { min_threshold, max_threshold, ..params(RedSpacing::Wait) });
    red.probability(&arrival(4));
    assert!((red.average() - 0.002 * 6000.0).abs() < 1e-12);
}

/// Compares with ns-2's RED on the same arrivals, through all zones and 29 idle times: the average to the six digits
/// that ns-2 writes, p_b where ns-2 has computed one, no signal where it has not, and forced from 2 max_th = 30 on.
#[test]
fn average_and_probability_are_those_of_ns_2_packet_by_packet() {
    let trace = include_str!("../../tests/traces/red/ns2.trace");
    let gentle = RedParams { gentle: true, weight: Share(0.02), ..params(RedSpacing::Wait) };
    let mut red = red(gentle);
    red.params.mean_packet_time = Span::from_millis(8);
    let mut compared = 0;
    for line in trace.lines().filter(|line| !line.starts_with('#')) {
        let mut columns = line.split(' ');
        let mut column = || columns.next().expect("four columns");
        let packets = column().parse().expect("waiting packets");
        let idle = Span::from_micros(column().parse().expect("idle time"));
        let average: f64 = column().parse().expect("average");

        let p_a = red.probability(&Arrival { idle, ..arrival(packets) });
        assert!((red.average() - average).abs() < 1e-4, "{line}: {}", red.average());
        assert_eq!(red.is_forced(), average >= 30.0 && packets > 1, "{line}");
        if let Ok(p_b) = column().parse::<f64>() {
            let ours = red.plain_probability();
            assert!((ours - p_b).abs() < 1e-5, "{line}: p_b {ours}");
            compared += 1;
        } else if !red.is_forced() {
            assert_eq!(p_a, 0.0, "{line}: signal where ns-2 has none");
        }
    }
    assert!(compared > 300, "{compared} probabilities compared");
}

/// p_b at the averages (5, 10, just under 15) is (0, max_p/2, max_p).
#[test]
fn the_probability_rises_linearly_between_the_thresholds() {
    for (average, want) in [(5.0, 0.0), (10.0, 0.05), (15.0 - 1e-9, 0.1)] {
        let p_b = steady(params(RedSpacing::Geometric), average).probability_at(average);
        assert!((p_b - want).abs() < 1e-9, "p_b({average}) = {p_b}");
    }
}

#[test]
fn gentle_rises_on_to_1_at_twice_the_maximum_threshold() {
    let gentle = RedParams { gentle: true, ..params(RedSpacing::Geometric) };
    for (average, want) in [(15.0, 0.1), (22.5, 0.55), (30.0 - 1e-9, 1.0)] {
        let p_b = steady(gentle.clone(), average).probability_at(average);
        assert!((p_b - want).abs() < 1e-9, "p_b({average}) = {p_b}");
    }
}

#[test]
fn a_signal_is_forced_from_the_upper_threshold_on_and_twice_as_far_up_when_gentle() {
    for (gentle, average, want) in [
        (false, 16.0, Signal::Forced),
        (true, 16.0, Signal::Congestion),
        (true, 31.0, Signal::Forced),
    ] {
        let red = steady(RedParams { gentle, ..params(RedSpacing::Geometric) }, average);
        let mut judge = Judge { aqm: Aqm::Red(red), differentiation: Differentiation::None };
        assert_eq!(judge.signal(&arrival(average as u32), || 0.0), want, "average {average}");
    }
}

/// Linux's RED marks above max_th, too, without `harddrop`.
#[test]
fn without_hard_drop_a_mark_will_do_from_the_upper_threshold_on() {
    let marks = RedParams { hard_drop: false, ..params(RedSpacing::Geometric) };
    let mut judge =
        Judge { aqm: Aqm::Red(steady(marks, 16.0)), differentiation: Differentiation::None };
    let signal = judge.signal(&arrival(16), || panic!("is certain"));
    assert_eq!(signal, Signal::Congestion);
    assert_eq!(
        (signal.verdict(true), signal.verdict(false)),
        (Verdict::Mark, Verdict::Drop(DropReason::Aqm))
    );
}

/// `mark_p_` of ns-2: ECN-capable packets are marked while p_b is below it, and dropped from there on.
#[test]
fn with_marks_below_ecn_capable_packets_are_dropped_from_that_probability_on() {
    for (gentle, below, average, want) in [
        (false, 0.05, 9.9, Signal::Congestion),
        (false, 0.05, 10.1, Signal::Forced),
        (true, 0.1, 14.9, Signal::Congestion),
        (true, 0.1, 15.1, Signal::Forced),
        (true, 0.55, 22.4, Signal::Congestion),
        (true, 0.55, 22.6, Signal::Forced),
        (false, 0.5, 14.9, Signal::Congestion),
    ] {
        let marks_below = Some(Share(below));
        let own =
            RedParams { gentle, marks_below, hard_drop: false, ..params(RedSpacing::Geometric) };
        let red = steady(own, average);
        let mut judge = Judge { aqm: Aqm::Red(red), differentiation: Differentiation::None };
        let signal = judge.signal(&arrival(average as u32), || 0.0);
        assert_eq!(signal, want, "{gentle} {below} {average}");
    }
}

/// A signal that is certain only because of spacing is not a forced one.
#[test]
fn an_overdue_signal_is_certain_but_not_forced() {
    let mut red = steady(params(RedSpacing::Wait), 10.0);
    red.spacing.count = 100;
    assert_eq!(red.probability(&arrival(10)), 1.0);
    assert!(!red.is_forced());
}

#[test]
fn a_nearly_empty_queue_is_never_signalled_whatever_the_average() {
    let mut red = steady(params(RedSpacing::Geometric), 20.0);
    assert_eq!(red.probability(&arrival(1)), 0.0);
    assert!(!red.is_forced());
}

#[test]
fn the_first_packet_after_the_average_has_risen_is_passed_over_and_counts_as_one() {
    let mut red = steady(params(RedSpacing::Uniform), 10.0);
    red.spacing.zone = Zone::Calm;
    red.spacing.count = 1_000;
    assert_eq!(red.probability(&arrival(10)), 0.0);
    assert_eq!(red.spacing.count, 1);
    assert!((red.probability(&arrival(10)) - 0.05 / (1.0 - 2.0 * 0.05)).abs() < 1e-9);
}

#[test]
fn a_loss_to_a_full_buffer_starts_the_count_again() {
    let red = steady(params(RedSpacing::Wait), 10.0);
    let mut judge = Judge { aqm: Aqm::Red(red), differentiation: Differentiation::None };
    let first_gap = |judge: &mut Judge| {
        (1..).find(|_| judge.signal(&arrival(10), || 0.0).is_some()).expect("signals in the end")
    };
    for _ in 0..15 {
        judge.signal(&arrival(10), || 0.0);
    }
    judge.on_overflow(0, Time::ZERO, Bytes::new(1500));
    assert_eq!(first_gap(&mut judge), 20);
}

/// A customer with an empty bucket and others with full ones, at an average between their upper thresholds: the
/// thresholds are 5 and 15 packets for the one, 10 and 30 for the others.
fn alternating(spacing: RedSpacing, average: f64, others: usize) -> [f64; 2] {
    let (mut red, mut lcg) = (red(params(spacing)), Lcg(20261122));
    let (mut signals, rounds) = ([0u32; 2], 40_000);
    for _ in 0..rounds {
        for (user, packets) in [(0, 1), (1, others)] {
            for _ in 0..packets {
                // The update by this packet restores the average.
                red.average = (average - 0.002 * 10.0) / 0.998;
                let stretch = f64::from(user + 1);
                let (p, _) = red.stretched_probability(&Arrival { user, ..arrival(10) }, stretch);
                let signalled = p >= 1.0 || lcg.draw() < p;
                red.on_verdict(signalled);
                signals[user as usize] += u32::from(signalled);
            }
        }
    }
    [signals[0] as f64 / rounds as f64, signals[1] as f64 / (rounds * others) as f64]
}

/// At an average of 7.5 packets, p_b is 0.025 with an empty bucket and 0 with a full one; at 20 it is 1 and 0.05. Gaps
/// are uniform on 1 … n − 1 or n … 2n − 1 with n = 1/p_b (above), so that their means are n/2 and (3n − 1)/2, and their
/// variances n(n − 2)/12 and (n² − 1)/12. The standard error of a share of k packets is √(variance/mean³/k); 3.29 of
/// them hold in 999 of 1,000 cases.
#[test]
fn every_customer_is_signalled_as_often_as_its_own_thresholds_say_whichever_user_sends_between() {
    for (spacing, n, want, variance) in [
        (RedSpacing::Uniform, 40.0, 2.0 / 40.0, 40.0 * 38.0 / 12.0),
        (RedSpacing::Wait, 40.0, 2.0 / 119.0, 1599.0 / 12.0),
        (RedSpacing::Uniform, 20.0, 2.0 / 20.0, 20.0 * 18.0 / 12.0),
        (RedSpacing::Wait, 20.0, 2.0 / 59.0, 399.0 / 12.0),
    ] {
        for others in [1, 9] {
            let tolerance = 3.29 * libm::sqrt(variance * want * want * want / 40_000.0);
            let (average, which) = if n > 30.0 { (7.5, 0) } else { (20.0, 1) };
            let shares = alternating(spacing, average, others);
            assert_eq!(shares[1 - which], [1.0, 0.0][1 - which], "forced, or calm");
            let apart = (shares[which] - want).abs();
            assert!(apart < tolerance, "{spacing:?} {others}: {} for {want}", shares[which]);
        }
    }
}

proptest! {
    /// For any arrivals and bucket levels, signals for a customer are, bit for bit, those of a RED with its thresholds
    /// that sees only its packets, at the common average.
    #[test]
    fn a_customer_meets_a_red_of_its_own_at_the_average_of_all(
        steps in prop::collection::vec((0..4u32, 0u32..60, 1.0..2.0f64, 0.0..1.0f64), 1..400),
        gentle: bool,
        spacing in prop::sample::select(vec![
            RedSpacing::Geometric, RedSpacing::Uniform, RedSpacing::Wait,
        ]),
    ) {
        let params = RedParams { gentle, weight: Share(0.1), ..params(spacing) };
        let mut shared = red(params.clone());
        let mut own: Vec<Red> = (0..4).map(|_| red(params.clone())).collect();
        for (user, packets, stretch, draw) in steps {
            let arrival = Arrival { user, ..arrival(packets) };
            let alone = &mut own[user as usize];
            alone.average = shared.average;
            let want = alone.spaced_probability(&arrival, stretch);
            let (p, _) = shared.stretched_probability(&arrival, stretch);
            prop_assert_eq!(p, want);
            prop_assert_eq!(shared.is_forced(), alone.is_forced());
            let signalled = p >= 1.0 || draw < p;
            shared.on_verdict(signalled);
            alone.on_verdict(signalled);
        }
    }

    /// For any arrivals, the average stays between the shortest and the longest queue seen, and probabilities are
    /// valid.
    #[test]
    fn the_average_is_an_average_and_the_probability_a_probability(
        queue in prop::collection::vec((0u32..100, 0u64..5_000_000), 1..200),
        gentle: bool,
        spacing in prop::sample::select(vec![
            RedSpacing::Geometric, RedSpacing::Uniform, RedSpacing::Wait,
        ]),
    ) {
        let params = RedParams { gentle, weight: Share(0.1), ..params(spacing) };
        let mut red = red(params);
        for (packets, idle_ns) in queue {
            let idle = if packets == 0 { Span::from_nanos(idle_ns) } else { Span::ZERO };
            let p = red.probability(&Arrival { idle, ..arrival(packets) });
            red.on_verdict(p > 0.5);
            prop_assert!((0.0..=1.0).contains(&p));
            prop_assert!((0.0..100.0).contains(&red.average()));
        }
    }
}

/// p_b = 0.05 at 10 packets: packets of 1500 bytes have it, of 40 a 37th of it, of 3000 twice.
#[test]
fn by_size_a_packet_is_signalled_as_often_as_it_is_large() {
    let by_size =
        RedParams { mean_packet: Some(Bytes::new(1500)), ..params(RedSpacing::Geometric) };
    for (len, share) in [(1500, 1.0), (40, 40.0 / 1500.0), (3000, 2.0)] {
        let mut red = steady(by_size.clone(), 10.0);
        let p = red.probability(&Arrival { len: Bytes::new(len), ..arrival(10) });
        assert!((p - 0.05 * share).abs() < 1e-12, "{len} B: {p}");
    }
    let mut full = steady(by_size, 20.0);
    assert_eq!(full.probability(&Arrival { len: Bytes::new(40), ..arrival(20) }), 1.0);
}
