use super::*;
use crate::bottleneck::scheduler::tests::place;
use crate::bottleneck::tests::arrival;
use crate::bottleneck::{Abc, Aqm, Differentiate, Differentiation, Judge, RedSpacing, Signal};
use crate::units::Rate;
use proptest::prelude::*;

/// Target range from 9 to 11 packets; a packet takes a millisecond.
fn adaptive(max_probability: f64) -> AdaptiveRed {
    let params = AdaptiveRedParams {
        min_threshold: Some(QueueLength::Packets(5)),
        max_threshold: Some(QueueLength::Packets(15)),
        target_delay: Span::from_millis(5),
        max_probability: Share(max_probability),
        weight: Some(Share(0.1)),
        interval: Span::from_millis(500),
        increase: Share(0.01),
        decrease: Share(0.9),
        spacing: RedSpacing::Geometric,
        hard_drop: true,
    };
    let place = Place { rate: Rate::mbps(12), ..place(100) };
    AdaptiveRed::new(params, &place).expect("fits anywhere")
}

fn at(ms: u64, packets: u32) -> Arrival {
    Arrival { now: Time::ZERO + Span::from_millis(ms), ..arrival(packets, 0.0) }
}

/// Returns max_p after each interval of a queue with a constant number of packets.
fn trajectory(max_p: f64, packets: u32, intervals: u64) -> Vec<f64> {
    let mut red = adaptive(max_p);
    let mut trajectory = Vec::new();
    for ms in 0..=500 * intervals {
        red.probability(&at(ms, packets));
        if ms > 0 && ms % 500 == 0 {
            trajectory.push(red.max_probability());
        }
    }
    trajectory
}

fn assert_close(got: &[f64], want: &[f64]) {
    let close = got.iter().zip(want).all(|(a, b)| (a - b).abs() < 1e-12);
    assert!(close && got.len() == want.len(), "{got:?}, expected {want:?}");
}

/// Growth by a quarter of itself per interval up to 0.04, then by 0.01.
#[test]
fn max_p_grows_by_a_quarter_or_by_alpha_while_the_average_is_too_high() {
    assert_close(&trajectory(0.02, 14, 5), &[0.025, 0.03125, 0.0390625, 0.048828125, 0.058828125]);
}

#[test]
fn max_p_shrinks_by_a_tenth_while_the_average_is_too_low() {
    assert_close(&trajectory(0.1, 7, 3), &[0.09, 0.081, 0.0729]);
}

#[test]
fn max_p_rests_while_the_average_is_in_the_middle_fifth() {
    assert_close(&trajectory(0.1, 10, 3), &[0.1; 3]);
}

/// The last step beyond the limits is taken, as in the paper and in Linux.
#[test]
fn max_p_stops_just_beyond_its_ends() {
    let up = trajectory(0.495, 14, 10);
    assert_close(&up[8..], &[0.505, 0.505]);
    let down = trajectory(0.0101, 7, 10);
    assert_close(&down[8..], &[0.00909, 0.00909]);
}

/// Half a minute without arrivals is 60 intervals; the average of 14 falls below 9 within the first.
#[test]
fn intervals_of_an_idle_time_are_made_up_for() {
    for (idle_s, intervals) in [(3, 6), (30, 22), (3_000, 22)] {
        let mut red = adaptive(0.1);
        for ms in 0..400 {
            red.probability(&at(ms, 14));
        }
        let now = Time::ZERO + Span::from_millis(400) + Span::from_secs(idle_s);
        red.probability(&Arrival { now, idle: Span::from_secs(idle_s), ..arrival(0, 0.0) });
        // 0.1 · 0.9²² = 0.00985 is the first below 0.01.
        let want = 0.1 * libm::pow(0.9, f64::from(intervals));
        assert!((red.max_probability() - want).abs() < 1e-12, "{idle_s} s");
        assert!(red.next_adaptation > now && red.next_adaptation <= now + red.interval);
    }
}

/// 10 Mb/s carry C = 833.3 packets of 1500 B a second: w_q = 1 − e^(−0.0012) = 0.00119928, and at 20 ms
/// min_th = 833.3 · 0.01 = 8.33; at 5 ms the least, 5.
#[test]
fn what_is_not_set_follows_from_the_link() {
    let packet = Span::from_micros(1_200);
    assert!((automatic_weight(packet) - 0.001_199_280_288).abs() < 1e-12);
    assert!(
        (automatic_min_threshold(Span::from_millis(20), packet) - 8.0 - 1.0 / 3.0).abs() < 1e-9
    );
    assert_eq!(automatic_min_threshold(Span::from_millis(5), packet), 5.0);
}

#[test]
fn activity_bends_its_probability_too() {
    let judge = |activity: f32| {
        let red = adaptive(0.1);
        let abc = Abc::new(crate::bottleneck::abc::DEFAULTS);
        let mut judge =
            Judge { aqm: Aqm::AdaptiveRed(red), differentiation: Differentiation::Abc(abc) };
        let packets = (0..10_000).map(|n| Arrival { activity, ..at(n, 10) });
        packets.filter(|packet| judge.signal(packet, || 0.06) == Signal::Congestion).count()
    };
    // p = 0.05 is below the draw of 0.06; above the average activity it is not, for a while.
    assert_eq!(judge(0.0), 0);
    assert!(judge(2.0) > 50);
}

proptest! {
    #[test]
    fn max_p_stays_in_its_range_and_the_probability_a_probability(
        queue in prop::collection::vec((0u32..40, 0u64..900), 1..300),
    ) {
        let mut red = adaptive(0.1);
        let mut now = Time::ZERO;
        for (packets, gap_ms) in queue {
            now += Span::from_millis(gap_ms);
            let idle = if packets == 0 { Span::from_millis(gap_ms) } else { Span::ZERO };
            let p = red.probability(&Arrival { now, idle, ..arrival(packets, 0.0) });
            red.on_verdict(p > 0.5);
            prop_assert!((0.0..=1.0).contains(&p));
            prop_assert!((0.009..=0.51).contains(&red.max_probability()));
        }
    }
}
