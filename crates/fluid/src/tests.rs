use super::*;

const RED: SignalLaw = SignalLaw::Red(GENTLE);
const GENTLE: FluidRed = FluidRed {
    min_threshold: 50.0,
    max_threshold: 550.0,
    max_probability: 0.1,
    weight: 1e-4,
    gentle: true,
    spacing: Spacing::Geometric,
};
const SBRM: SignalLaw = SignalLaw::Sbrm { steepness: 0.006, target: 50.0 };
const PAYS: Law = Law::Sbrm { gain: 0.2, willingness_pps: 20.0 };

/// Thirty sources at 10,000 packets/s: the example of the dissertation's figures.
fn bottleneck(law: Law, signal: SignalLaw, base_rtt_s: f64) -> FluidNetwork {
    let link = FluidLink { capacity_pps: 10_000.0, signal, policy: Policy::Alike };
    FluidNetwork {
        links: vec![link],
        groups: vec![group(law, 30.0, base_rtt_s)],
        free_queue: false,
    }
}

fn group(law: Law, count: f64, base_rtt_s: f64) -> SourceGroup {
    let customer = Customer { flows: 1.0, granted_pps: 1.0 };
    SourceGroup { law, count, base_rtt_s, route: vec![0], customer }
}

/// Returns the equilibrium of queue and window, for a signal that depends on the queue, found by bisection.
fn settled(bottleneck: &FluidNetwork) -> (f64, f64) {
    let [SourceGroup { law, count, base_rtt_s, .. }] = bottleneck.groups[..] else {
        panic!("one group")
    };
    let link = &bottleneck.links[0];
    let window = |queue: f64| link.capacity_pps / count * (base_rtt_s + queue / link.capacity_pps);
    let grows = |queue: f64| {
        let probability = link.signal.probability(queue, link.signal.settled(queue, 0.0));
        law.per_ack(window(queue), probability, base_rtt_s + queue / link.capacity_pps) > 0.0
    };
    let (mut low, mut high) = (0.0, 1e5);
    for _ in 0..100 {
        let middle = (low + high) / 2.0;
        *if grows(middle) { &mut low } else { &mut high } = middle;
    }
    (low, window(low))
}

fn integration(window: f64, queue: f64, duration_s: f64) -> Integration {
    Integration {
        windows: vec![window],
        queues: vec![queue],
        probabilities: vec![0.0],
        known: vec![0.0],
        mean_known: 0.0,
        duration_s,
        step_s: 1e-3,
        keep_every: 10,
    }
}

/// Returns the growth of the queue's amplitude from the third quarter of a trajectory to the fourth, when it begins
/// near the equilibrium.
fn growth(bottleneck: &FluidNetwork, duration_s: f64) -> f64 {
    let (queue, window) = settled(bottleneck);
    let near = integration(window * 1.0001, queue, duration_s);
    let kept = run(bottleneck, &near).expect("can be followed");
    let swing = |from: f64, to: f64| {
        let part = kept.times_s.iter().zip(&kept.queues);
        let part = part.filter(|(time, _)| (from..to).contains(*time));
        part.map(|(_, at)| (at - queue).abs()).fold(0.0, f64::max)
    };
    let (middle, width) = (duration_s / 2.0, duration_s / 4.0);
    let (early, late) = (swing(middle, middle + width), swing(middle + width, duration_s));
    late / early
}

#[test]
fn what_is_settled_stays() {
    for (law, signal) in [(Law::RENO, RED), (PAYS, SBRM), (Law::Scalable, SBRM)] {
        let bottleneck = bottleneck(law, signal, 0.05);
        let (queue, window) = settled(&bottleneck);
        let kept = run(&bottleneck, &integration(window, queue, 20.0)).expect("can be followed");
        assert_eq!((kept.times_s.len(), kept.windows.len()), (2001, 2001));
        for (at, of) in kept.queues.iter().zip(&kept.windows) {
            assert!((at - queue).abs() < 1e-3 && (of - window).abs() < 1e-4, "{law:?}: {at} {of}");
        }
    }
}

/// (6.5.21) becomes unstable at 87.909 ms in the fluid's own linearisation, (6.5.22) at 61.61 ms.
#[test]
fn the_swing_grows_beyond_the_critical_delay_and_not_before() {
    for (law, signal, critical_s) in [(PAYS, SBRM, 0.087909), (Law::RENO, RED, 0.06161)] {
        for (factor, grows) in [(0.99, false), (1.01, true)] {
            let growth = growth(&bottleneck(law, signal.clone(), critical_s * factor), 40.0);
            assert_eq!(growth > 1.0, grows, "{law:?} at {factor}: {growth}");
        }
    }
}

#[test]
fn a_real_queue_stays_at_zero_and_a_free_one_does_not() {
    let mut unstable = bottleneck(Law::RENO, RED, 0.1);
    let smallest = |bottleneck: &FluidNetwork| {
        let kept = run(bottleneck, &integration(10.0, 0.0, 60.0)).expect("can be followed");
        kept.queues.iter().copied().fold(f64::INFINITY, f64::min)
    };
    assert_eq!(smallest(&unstable), 0.0);
    unstable.free_queue = true;
    assert!(smallest(&unstable) < -10.0);
}

/// Two halves of a group are the group.
#[test]
fn groups_add_up() {
    let whole = bottleneck(PAYS, SBRM, 0.06);
    let half = group(PAYS, 15.0, 0.06);
    let halves = FluidNetwork { groups: vec![half.clone(), half], ..whole.clone() };
    let one = run(&whole, &integration(5.0, 0.0, 10.0)).expect("can be followed");
    let both =
        Integration { windows: vec![5.0; 2], known: vec![0.0; 2], ..integration(5.0, 0.0, 10.0) };
    let two = run(&halves, &both).expect("can be followed");
    for (a, b) in one.queues.iter().zip(&two.queues) {
        assert!((a - b).abs() < 1e-6, "{a} {b}");
    }
}

/// Heun's method, and linear interpolation of the history: a quarter of the error with half the step.
#[test]
fn shorter_steps_change_next_to_nothing() {
    let bottleneck = bottleneck(PAYS, SBRM, 0.06);
    let queue_with = |step_s: f64| {
        let at = Integration { step_s, keep_every: 1, ..integration(5.0, 0.0, 5.0) };
        *run(&bottleneck, &at).expect("can be followed").queues.last().expect("was kept")
    };
    let [coarse, middle, fine] = [2e-3, 1e-3, 5e-4].map(queue_with);
    assert!((middle - fine).abs() < 0.4 * (coarse - middle).abs(), "{coarse} {middle} {fine}");
}

#[test]
fn a_network_that_cannot_be_integrated_is_reported() {
    let good = bottleneck(Law::RENO, RED, 0.05);
    let at = integration(10.0, 0.0, 1.0);
    let error = |bottleneck: &FluidNetwork, integration: &Integration| {
        run(bottleneck, integration).expect_err("cannot be followed").to_string()
    };
    let long = Integration { step_s: 0.03, ..at.clone() };
    assert!(error(&good, &long).contains("0.03 s jumps over the shortest lag of 0.025 s"));
    let mut none = good.clone();
    none.links[0].capacity_pps = 0.0;
    assert_eq!(error(&none, &at), "the capacity is 0, and has to be above 0");
    let nan = Integration { windows: vec![f64::NAN], ..at.clone() };
    assert_eq!(error(&good, &nan), "a window is NaN, and has to be above 0");
    let two = Integration { windows: vec![1.0, 2.0], ..at.clone() };
    assert_eq!(error(&good, &two), "2 windows, and there should be 1");
    let mut lost = good;
    lost.groups[0].route = vec![1];
    assert_eq!(error(&lost, &integration(10.0, 0.0, 1.0)), "group 0 passes no link that is there");
}

/// RFC 8033's table at a delay that stays 4 ms above the target, and RFC 9332's coupling.
#[test]
fn controllers_go_by_their_rfcs() {
    let controller =
        PiController { target_s: 0.015, interval_s: 0.015, alpha_hz: 0.125, beta_hz: 1.25 };
    let above = FluidQueue { packets: 19.0, slope_pps: 0.0, excess_pps: 0.0, capacity_pps: 1000.0 };
    let rises =
        FluidQueue { packets: 15.0, slope_pps: 100.0, excess_pps: 100.0, capacity_pps: 1000.0 };
    let slope = |signal: &SignalLaw, queue, p| signal.memory_slope(queue, [p, 0.0])[0];
    for (p, divisor) in [(0.2, 1.0), (0.05, 2.0), (0.005, 8.0), (5e-4, 32.0), (5e-7, 2048.0)] {
        let want = 0.125 / 0.015 * 0.004 / divisor;
        let got = slope(&SignalLaw::Pie(controller), above, p);
        assert!((got - want).abs() < 1e-12, "{p}: {got} for {want}");
    }
    let pi2 = SignalLaw::Pi2 { controller, coupling: 2.0 };
    assert!((slope(&pi2, rises, 1e-3) - 0.125).abs() < 1e-12);
    assert_eq!(
        (pi2.met(0.1, false), pi2.met(0.1, true), pi2.met(0.7, true)),
        (0.1 * 0.1, 0.2, 1.0)
    );
    assert_eq!((pi2.bounded([1.2, 0.0])[0], pi2.bounded([-0.1, 0.0])[0]), (1.0, 0.0));
}

/// For any initial probability, PIE brings the delay to its target.
#[test]
fn pie_settles_at_its_target() {
    let controller =
        PiController { target_s: 0.015, interval_s: 0.015, alpha_hz: 0.125, beta_hz: 1.25 };
    let bottleneck = bottleneck(Law::RENO, SignalLaw::Pie(controller), 0.03);
    for probability in [0.0, 0.3] {
        let begins =
            Integration { probabilities: vec![probability], ..integration(1.0, 0.0, 100.0) };
        let kept = run(&bottleneck, &begins).expect("can be followed");
        let end = kept.queues.last().expect("was kept");
        assert!((end - 150.0).abs() < 0.1, "{end}");
    }
}

/// One over the mean gap at p = 1/n: n, (1 + n)/2 and (3 n − 1)/2 packets.
#[test]
fn spacing_decides_how_many_are_signalled() {
    for (spacing, gap) in
        [(Spacing::Geometric, 10.0), (Spacing::Uniform, 5.5), (Spacing::Wait, 14.5)]
    {
        assert!((spacing.share(0.1) - 1.0 / gap).abs() < 1e-12, "{spacing:?}");
        assert_eq!((spacing.share(0.0), spacing.share(1.0)), (0.0, 1.0));
    }
}

#[test]
fn without_gentle_all_are_signalled_from_the_upper_threshold_on() {
    let hard = FluidRed { gentle: false, ..GENTLE };
    let at = |red: &FluidRed, mean| red.probability(mean, red.max_probability);
    assert_eq!((at(&hard, 300.0), at(&hard, 550.0)), (0.05, 1.0));
    assert_eq!((at(&GENTLE, 550.0), at(&GENTLE, 825.0), at(&GENTLE, 1100.0)), (0.1, 0.55, 1.0));
}

#[test]
fn a_function_of_the_queue_goes_along_its_points() {
    let signal = SignalLaw::Piecewise(vec![(11.0, 0.0), (17.0, 0.01), (24.0, 1.0)]);
    let at = |queue| signal.probability(queue, [0.0; 2]);
    assert_eq!((at(0.0), at(11.0), at(17.0), at(24.0), at(90.0)), (0.0, 0.0, 0.01, 1.0, 1.0));
    assert!((at(14.0) - 0.005).abs() < 1e-12 && (at(20.5) - 0.505).abs() < 1e-12);
}

/// From both sides, into the range in which p_max is constant.
#[test]
fn adaptive_red_brings_the_mean_queue_between_its_marks() {
    let adapts = RedAdaptation { interval_s: 0.5, increase: 0.01, decrease: 0.9 };
    for max_probability in [0.02, 0.4] {
        let red = FluidRed {
            max_probability,
            min_threshold: 50.0,
            max_threshold: 150.0,
            weight: 2e-3,
            ..GENTLE
        };
        let bottleneck = bottleneck(Law::RENO, SignalLaw::AdaptiveRed(red, adapts), 0.03);
        let kept = run(&bottleneck, &integration(1.0, 0.0, 100.0)).expect("can be followed");
        let late = &kept.queues[kept.queues.len() / 2..];
        let mean = late.iter().sum::<f64>() / late.len() as f64;
        assert!((89.0..111.0).contains(&mean), "{max_probability}: {mean}");
    }
}

#[test]
fn a_sender_that_sends_at_a_constant_rate_leaves_the_rest_to_others() {
    let mut bottleneck = bottleneck(Law::RENO, RED, 0.04);
    let constant = Law::Cbr { rate_pps: 100.0 };
    bottleneck.groups.push(group(constant, 40.0, 0.04));
    let begins = Integration {
        windows: vec![10.0, 1.0],
        known: vec![0.0; 2],
        ..integration(1.0, 0.0, 100.0)
    };
    let kept = run(&bottleneck, &begins).expect("can be followed");
    let (queue, window) =
        (kept.queues[kept.queues.len() - 1], kept.windows[kept.windows.len() - 2]);
    let rate_pps = window / (0.04 + queue / 10_000.0);
    assert!((30.0 * rate_pps - 6000.0).abs() < 60.0, "{rate_pps}");
}
