use super::super::linux_hystart::LinuxHyStartParams;
use super::super::tests::ack_at;
use super::*;
use proptest::prelude::*;

/// Returns a controller after a loss at `cwnd` segments, and its window after the reduction.
fn after_loss_at(cwnd: f64) -> (LinuxCubic, Window) {
    let mut cubic = LinuxCubic::new(SlowStartExit::Loss);
    let mut window = Window { cwnd, ssthresh: f64::INFINITY };
    window.ssthresh = cubic.ssthresh_on_congestion(&window);
    window.cwnd = window.ssthresh;
    (cubic, window)
}

/// Acknowledges a window every round trip for `secs`; calls `check` after each ACK with the seconds since the first.
fn run(
    cubic: &mut LinuxCubic,
    window: &mut Window,
    rtt: Span,
    secs: f64,
    mut check: impl FnMut(f64, &Window),
) {
    let mut now = Time::from_nanos(1_000_000_000);
    let first = now;
    while now.since(first).as_secs() < secs {
        cubic.on_ack(window, &Ack { now, rtt: Some(rtt), ..ack_at(0) });
        check(now.since(first).as_secs(), window);
        now += Span::from_nanos((rtt.as_nanos() as f64 / window.cwnd) as u64);
    }
}

/// RTT 200 ms, loss at 1000 segments. Samples right after the reduction are ignored, so that the target is the present
/// value and the window lags by up to a round trip in the first second; it stays within the growth of the function in
/// that time, and a segment for rounding.
#[test]
fn the_window_follows_the_cubic_function() {
    let (mut cubic, mut window) = after_loss_at(1000.0);
    let kept = libm::floor(BETA * 1000.0);
    let k = libm::cbrt((1000.0 - kept) / C);
    let curve = |t: f64| C * libm::pow(t - k, 3.0) + 1000.0;
    run(&mut cubic, &mut window, Span::from_millis(200), 14.0, |t, window| {
        let (low, high) = (curve((t - 0.2).max(0.0)) - 2.0, curve(t + 0.2) + 2.0);
        assert!((low..=high).contains(&window.cwnd), "t = {t}: {}", window.cwnd);
    });
}

/// RTT 10 ms, 20 segments: from 14, W_est grows by a segment per ⌊15/8 cwnd⌋, that is 8/15 a round trip, also above the
/// window before the loss. The window follows by a step of one and the delay of that step.
#[test]
fn the_reno_friendly_window_grows_by_eight_fifteenths_a_round_trip() {
    let (mut cubic, mut window) = after_loss_at(20.0);
    assert_eq!(window.cwnd, 14.0);
    run(&mut cubic, &mut window, Span::from_millis(10), 0.4, |t, window| {
        let want = 14.0 + 8.0 / 15.0 * t / 0.01;
        let behind = want - window.cwnd;
        assert!((-1.0..3.5).contains(&behind), "t = {t}: {} against {want}", window.cwnd);
    });
}

proptest! {
    /// The cached value of the curve equals the computed one, for any sequence of times.
    #[test]
    fn where_the_curve_is_does_not_depend_on_what_was_asked_before(
        cwnd in 2..2_000u32, lost in 0..1_000u32, times in prop::collection::vec(0..60_000u64, 1..50),
        steps in prop::collection::vec(0..300_000_000u64, 1..50),
    ) {
        let mut epoch = Epoch::new(Time::ZERO, cwnd.into(), f64::from(cwnd + lost));
        let mut t = Span::ZERO;
        let steps = steps.iter().map(|step| { t = t + Span::from_nanos(*step); t });
        let all: Vec<_> = times.iter().map(|ms| Span::from_millis(*ms)).chain(steps).collect();
        for t in all {
            prop_assert_eq!(epoch.aim(t), epoch.w_cubic(t.as_secs()));
        }
    }
}

/// Growth of at least 5 % a round trip.
#[test]
fn without_a_loss_so_far_growth_does_not_rest_on_the_plateau() {
    let mut cubic = LinuxCubic::new(SlowStartExit::Loss);
    let mut window = Window { cwnd: 100.0, ssthresh: 100.0 };
    run(&mut cubic, &mut window, Span::from_millis(100), 1.0, |_, _| {});
    assert!((160.0..=166.0).contains(&window.cwnd), "1.05^10 = 1.63, not {}", window.cwnd);
}

/// The first reduction stores 100; the second, at 90 < 100, ⌊90 · 1741/2048⌋ = 76.
#[test]
fn fast_convergence_remembers_less() {
    let (mut cubic, _) = after_loss_at(100.0);
    assert_eq!(cubic.w_max, 100.0);
    cubic.ssthresh_on_congestion(&Window { cwnd: 90.0, ssthresh: 70.0 });
    assert_eq!(cubic.w_max, 76.0);
}

#[test]
fn a_timeout_forgets_the_window_and_watches_slow_start_again() {
    let mut cubic = LinuxCubic::new(SlowStartExit::LinuxHyStart(LinuxHyStartParams {}));
    let mut window = Window { cwnd: 100.0, ssthresh: f64::INFINITY };
    cubic.detector = Detector::Off;
    cubic.ssthresh_on_congestion(&window);
    cubic.on_timeout();
    assert_eq!((cubic.w_max, cubic.delay_min), (0.0, Span::ZERO));
    window.cwnd = 16.0;
    let late = (0..9).map(|n| Ack {
        rtt: Some(Span::from_millis(if n == 0 { 10 } else { 90 })),
        round_start: n < 2,
        ..ack_at(10 * n)
    });
    late.for_each(|ack| cubic.on_ack(&mut window, &ack));
    assert!(!window.ssthresh.is_finite());
    cubic.on_ack(&mut window, &Ack { rtt: Some(Span::from_millis(90)), ..ack_at(200) });
    assert!(window.ssthresh.is_finite(), "the ninth sample of the round");
}

/// 7 of 10 segments: 20 s later the curve would be at 10 + 0.4 · 18³.
#[test]
fn the_clock_stands_still_while_nothing_is_in_flight() {
    for paused in [true, false] {
        let (mut cubic, mut window) = after_loss_at(10.0);
        cubic.on_ack(&mut window, &Ack { acked: 7, ..ack_at(0) });
        if paused {
            cubic.on_start(Span::from_secs(20), Time::from_nanos(20_000_000_000));
        }
        cubic.on_ack(&mut window, &Ack { acked: 7, ..ack_at(20_100) });
        assert_eq!(window.cwnd <= 8.0, paused, "{}", window.cwnd);
    }
}

/// Nothing was sent since before the present stage: it begins now, not in the future.
#[test]
fn a_silence_longer_than_the_stage_begins_it_again() {
    let (mut cubic, mut window) = after_loss_at(10.0);
    cubic.on_ack(&mut window, &ack_at(900));
    cubic.on_start(Span::from_millis(500), ack_at(1_000).now);
    assert_eq!(cubic.epoch.map(|epoch| epoch.start), Some(ack_at(1_000).now));
}

proptest! {
    #[test]
    fn acks_never_shrink_the_window_and_grow_it_by_half_a_round_trip_at_most(
        loss_at in 2u32..2_000,
        acks in prop::collection::vec((0u64..50, 1u32..8, 1u64..400), 1..300),
    ) {
        let (mut cubic, mut window) = after_loss_at(f64::from(loss_at));
        let (mut now_ms, mut acked_in_all) = (0, 0);
        let first = window.cwnd;
        for (pause_ms, acked, rtt_ms) in acks {
            now_ms += pause_ms;
            acked_in_all += acked;
            let before = window.cwnd;
            let rtt = Some(Span::from_millis(rtt_ms));
            cubic.on_ack(&mut window, &Ack { acked, rtt, ..ack_at(now_ms) });
            prop_assert!(window.cwnd >= before && window.cwnd % 1.0 == 0.0);
        }
        prop_assert!(window.cwnd - first <= f64::from(acked_in_all) / 2.0 + 1.0);
    }

    /// The check without a division agrees with the interval.
    #[test]
    fn a_step_is_reached_where_its_interval_is(
        cwnd in 1u32..5_000,
        lack in -50i32..5_000,
        counted in 0u32..6_000,
        most in prop_oneof![Just(u32::MAX), Just(MAX_INTERVAL_BEFORE_LOSS), 100u32..500_000],
    ) {
        let pace = Pace { cwnd: cwnd.into(), at: Time::ZERO, lack: lack.into(), most };
        prop_assert_eq!(pace.is_reached_by(counted), counted >= pace.interval());
        let interval = pace.interval();
        prop_assert!(pace.is_reached_by(interval) && !pace.is_reached_by(interval - 1));
    }
}

/// The integer table agrees with a cube root.
#[test]
fn k_of_few_segments_is_that_of_many() {
    for (n, k) in SMALL_K.into_iter().enumerate() {
        assert_eq!(f64::from(k), libm::floor(libm::cbrt(n as f64 / C) * 1024.0), "{n}");
        assert_eq!(k_of(n as f64), f64::from(k) / 1024.0);
    }
    assert_eq!(
        [k_of(2.5), k_of(64.0)],
        [2.5, 64.0].map(|n| libm::floor(libm::cbrt(n / C) * 1024.0) / 1024.0)
    );
}
