use super::super::hystart::HyStartParams;
use super::super::tests::ack_at;
use super::*;
use proptest::prelude::*;

/// Returns a controller after a loss at `cwnd` segments, and its window after the reduction.
fn after_loss_at(cwnd: f64) -> (Rfc9438Cubic, Window) {
    let mut cubic = Rfc9438Cubic::new(BETA, &SlowStartExit::Loss);
    let mut window = Window { cwnd, ssthresh: f64::INFINITY };
    window.ssthresh = cubic.ssthresh_on_congestion(&window);
    window.cwnd = window.ssthresh;
    cubic.on_recovery_exit();
    (cubic, window)
}

/// Acknowledges a window every round trip for `secs`; calls `check` after each ACK with the seconds since the first.
fn run(
    cubic: &mut Rfc9438Cubic,
    window: &mut Window,
    rtt: Span,
    secs: f64,
    mut check: impl FnMut(f64, &Window),
) {
    let mut now = Time::from_nanos(1_000_000_000);
    let first = now;
    while now.since(first).as_secs() < secs {
        cubic.on_ack(window, &Ack { now, srtt: Some(rtt), ..ack_at(0) });
        check(now.since(first).as_secs(), window);
        now += Span::from_nanos((rtt.as_nanos() as f64 / window.cwnd) as u64);
    }
}

/// K = ∛(W_max (1 − β)/C): for 1000 segments ∛(300/0.4) = 9.086 s.
#[test]
fn the_plateau_comes_after_the_cube_root_of_the_loss_over_c() {
    let epoch = Epoch::new(Time::ZERO, 700.0, Some(1000.0));
    assert!((epoch.k - 9.0856).abs() < 1e-4, "K = {}", epoch.k);
    assert!((epoch.w_cubic(0.0) - 700.0).abs() < 1e-9);
    assert!((epoch.w_cubic(epoch.k) - 1000.0).abs() < 1e-9);
    assert!((epoch.w_cubic(2.0 * epoch.k) - 1300.0).abs() < 1e-9);
}

/// RTT 200 ms, far from the Reno-friendly region: cwnd is on the curve at every ACK, to 0.1 %. The target is one round
/// trip ahead and reached after about one.
#[test]
fn the_window_follows_the_cubic_function_through_concave_and_convex_region() {
    let (mut cubic, mut window) = after_loss_at(1000.0);
    let rtt = Span::from_millis(200);
    let k = libm::cbrt(300.0 / C);
    run(&mut cubic, &mut window, rtt, 14.0, |t, window| {
        let want = C * libm::pow(t - k, 3.0) + 1000.0;
        assert!(
            (window.cwnd / want - 1.0).abs() < 0.001,
            "t = {t}: {} against {want}",
            window.cwnd
        );
    });
}

/// RTT 10 ms and 20 segments: W_est = 14 + α t/RTT while below cwnd_prior, then one per round trip;
/// the cubic function would take K = 2.5 s to regain 20.
#[test]
fn in_the_reno_friendly_region_the_window_is_the_estimate() {
    let (mut cubic, mut window) = after_loss_at(20.0);
    let rtt = Span::from_millis(10);
    let regain = 6.0 / alpha(BETA) * 0.01; // seconds until W_est = cwnd_prior: 0.1133
    run(&mut cubic, &mut window, rtt, 0.3, |t, window| {
        let want =
            if t < regain { 14.0 + alpha(BETA) * t / 0.01 } else { 20.0 + (t - regain) / 0.01 };
        assert!((window.cwnd - want).abs() < 0.1, "t = {t}: {} against {want}", window.cwnd);
    });
}

/// α = 3 (1 − β)/(1 + β) = 0.529: with it the average of Reno's sawtooth stays the same.
#[test]
fn alpha_is_that_of_the_rfc() {
    assert!((alpha(BETA) - 0.5294).abs() < 1e-4);
}

/// The first reduction stores 100; the second, at 90 < 100, stores 90 · 0.85 = 76.5.
#[test]
fn fast_convergence_remembers_less_when_the_window_had_not_recovered() {
    let (mut cubic, _) = after_loss_at(100.0);
    assert_eq!(cubic.w_max, Some(100.0));
    let ssthresh = cubic.ssthresh_on_congestion(&Window { cwnd: 90.0, ssthresh: 70.0 });
    assert!((ssthresh - 63.0).abs() < 1e-9);
    assert!((cubic.w_max.unwrap() - 76.5).abs() < 1e-9);
    cubic.ssthresh_on_congestion(&Window { cwnd: 80.0, ssthresh: 63.0 });
    assert_eq!(cubic.w_max, Some(80.0));
}

/// After a timeout K = 0: the window grows from its threshold along the convex branch at once.
#[test]
fn after_a_timeout_growth_starts_from_the_plateau() {
    let (mut cubic, mut window) = after_loss_at(1000.0);
    cubic.on_timeout();
    window.cwnd = 1.0;
    while window.in_slow_start() {
        cubic.on_ack(&mut window, &ack_at(0));
    }
    cubic.on_ack(&mut window, &ack_at(1));
    let epoch = cubic.epoch.expect("in congestion avoidance");
    assert_eq!((epoch.k, epoch.w_max), (0.0, 700.0));
}

/// Time in which the window is not filled does not count: 60 s of it change nothing.
#[test]
fn idle_time_does_not_move_the_window_along_the_curve() {
    let after_pause = |pause_ms: u64| {
        let (mut cubic, mut window) = after_loss_at(1000.0);
        for ms in 0..1_000 {
            cubic.on_ack(&mut window, &ack_at(ms));
        }
        let resume = 1_000 + pause_ms;
        cubic.on_ack(&mut window, &Ack { window_limited: false, ..ack_at(resume) });
        for ms in 1..1_000 {
            cubic.on_ack(&mut window, &ack_at(resume + ms));
        }
        window.cwnd
    };
    assert!((after_pause(60_000) - after_pause(1)).abs() < 1e-9);
}

/// Without HyStart++ an ACK increases the window in slow start by the segments it acknowledges, at most two.
#[test]
fn slow_start_counts_up_to_two_segments_an_ack() {
    for (acked, want) in [(1, 11.0), (2, 12.0), (40, 12.0)] {
        let mut window = Window::new(10);
        Rfc9438Cubic::new(BETA, &SlowStartExit::Loss)
            .on_ack(&mut window, &Ack { acked, ..ack_at(0) });
        assert_eq!(window.cwnd, want);
    }
}

/// The round-trip time rises by 10 ms per round, as when a buffer fills: the window stops doubling, and slow start ends
/// after at most a round until detection and five conservative ones.
#[test]
fn hystart_ends_slow_start_on_growing_delay() {
    let mut cubic = Rfc9438Cubic::new(BETA, &SlowStartExit::HyStart(HyStartParams {}));
    let mut window = Window::new(16);
    let mut rounds = 0;
    while window.in_slow_start() {
        assert!(rounds <= 7, "still in slow start after {rounds} rounds");
        for n in 0..window.cwnd as u32 {
            let rtt = Some(Span::from_millis(50 + 10 * rounds));
            cubic.on_ack(&mut window, &Ack { rtt, round_start: n == 0, ..ack_at(0) });
        }
        rounds += 1;
    }
    assert_eq!(window.ssthresh.min(window.cwnd), window.ssthresh);
    assert!(window.cwnd < 16.0 * 2.0 * 2.0 * libm::pow(1.25, 5.0), "cwnd {}", window.cwnd);
}

#[test]
fn hystart_watches_only_until_the_first_congestion() {
    let mut cubic = Rfc9438Cubic::new(BETA, &SlowStartExit::HyStart(HyStartParams {}));
    cubic.ssthresh_on_congestion(&Window { cwnd: 50.0, ssthresh: f64::INFINITY });
    assert!(matches!(cubic.detector, Detector::Off));
}

proptest! {
    /// Between two congestions the window never shrinks, nor grows by more than half per window.
    #[test]
    fn acks_never_shrink_the_window_nor_grow_it_beyond_the_clamp(
        cwnd in 3.0..5_000.0,
        acks in prop::collection::vec((1u64..100, 1u32..20), 1..200),
    ) {
        let (mut cubic, mut window) = after_loss_at(cwnd);
        let mut now_ms = 0;
        for (gap_ms, acked) in acks {
            now_ms += gap_ms;
            let before = window.cwnd;
            cubic.on_ack(&mut window, &Ack { acked, ..ack_at(now_ms) });
            prop_assert!(window.cwnd >= before);
            // W_est may exceed cwnd by its recent growth; an ACK adds acked/cwnd.
            prop_assert!(window.cwnd <= 1.5 * before + f64::from(acked) / before);
        }
    }
}

/// CUBIC v2.1 in ns-2 keeps 819/1024; a window smaller than before stores (1 + β)/2 of it.
#[test]
fn another_beta_keeps_another_share() {
    let mut cubic = Rfc9438Cubic::new(0.8, &SlowStartExit::Loss);
    let window = |cwnd| Window { cwnd, ssthresh: f64::INFINITY };
    assert!((cubic.ssthresh_on_congestion(&window(1000.0)) - 800.0).abs() < 1e-9);
    assert!((cubic.ssthresh_on_congestion(&window(900.0)) - 720.0).abs() < 1e-9);
    assert!(cubic.w_max.is_some_and(|w_max| (w_max - 810.0).abs() < 1e-9));
}
