//! BBR by its rules, one ACK at a time.

use super::*;
use crate::sender::path_model::Newest;

const MS: fn(u64) -> Span = Span::from_millis;
const RTT: Span = Span::from_millis(100);

/// A connection whose ACKs arrive a round trip apart.
struct Bench {
    model: Model,
    window: Window,
    now: Time,
    delivered: u64,
    lost: u64,
}

impl Bench {
    fn new(seed: u64) -> Self {
        let (mut model, window) = (Model::default(), Window::new(10));
        let now = Time::ZERO;
        let (mss, rtt, selective) = (1_448, Some(RTT), true);
        model.begin(&window, &Beginning { now, mss, selective, rtt, seed });
        Bench { model, window, now: Time::ZERO, delivered: 1, lost: 0 }
    }

    /// Delivers an ACK of all `segments` segments sent, a round trip later.
    fn round(&mut self, segments: u32, change: impl FnOnce(&mut RateSample)) {
        let delivered_before = self.delivered;
        self.now += RTT;
        self.delivered += u64::from(segments);
        let mut sample = RateSample {
            now: self.now,
            totals: Totals { delivered: self.delivered, delivered_at: self.now, lost: self.lost },
            newly_delivered: segments,
            newly_lost: 0,
            newly_marked: 0,
            congestion: false,
            newest: Some(Newest {
                delivered_before,
                lost_before: self.lost,
                in_flight: segments,
                app_limited: false,
                interval: Some(RTT),
            }),
            rtt: Some(RTT),
            maybe_delayed: false,
            srtt: Some(RTT),
            prior_in_flight: segments,
            in_flight: 0,
            until_departure: Span::ZERO,
            window_limited: true,
            recovering: Recovering::No,
        };
        change(&mut sample);
        self.lost += u64::from(sample.newly_lost);
        sample.totals.lost = self.lost;
        self.model.on_sample(&mut self.window, &sample);
    }

    /// Passes Startup and Drain, to the first round trip of ProbeBW.
    fn in_probe_bw(seed: u64) -> Self {
        let mut bench = Bench::new(seed);
        (0..4).for_each(|_| bench.round(100, |_| {}));
        assert_eq!(bench.model.state, State::ProbeBw);
        bench
    }
}

/// The gain of 2/ln 2 times the initial window per round trip, less the margin.
#[test]
fn a_connection_begins_at_the_gain_of_startup() {
    let bench = Bench::new(1);
    let want = 0.99 * 2.887 * 10.0 / 0.1;
    assert!((bench.model.pacing_rate() / want - 1.0).abs() < 1e-3, "{}", bench.model.pacing_rate());
    assert!((HIGH_GAIN - 2.885).abs() < 2e-3 && (DRAIN_GAIN * 2.885 - 1.0).abs() < 1e-2);
}

#[test]
fn startup_ends_after_three_round_trips_without_growth_and_drain_when_the_queue_has_gone() {
    let mut bench = Bench::new(1);
    for segments in [10, 20, 40, 80, 99, 99] {
        bench.round(segments, |_| {});
        assert_eq!(bench.model.state, State::Startup, "{segments}");
    }
    bench.round(99, |sample| sample.in_flight = 200);
    assert_eq!((bench.model.state, bench.model.pacing_gain), (State::Drain, DRAIN_GAIN));
    let bdp = 99 + 6;
    assert_eq!(bench.window.ssthresh, f64::from(bdp + 1), "three bursts of two, and even");
    bench.round(99, |sample| sample.in_flight = 107);
    assert_eq!(bench.model.state, State::Drain);
    bench.round(99, |sample| sample.in_flight = 106);
    assert_eq!(bench.model.state, State::ProbeBw);
}

/// A sample limited by the application counts if it exceeds the estimate.
#[test]
fn samples_limited_by_the_application_lower_nothing() {
    let mut bench = Bench::in_probe_bw(1);
    let limited = |sample: &mut RateSample| {
        sample.newest.as_mut().expect("it has one").app_limited = true;
    };
    (0..20).for_each(|_| bench.round(10, limited));
    assert_eq!(bench.model.bandwidth(), 1_000.0);
    bench.round(120, limited);
    assert_eq!(bench.model.bandwidth(), 1_200.0);
    (0..12).for_each(|_| bench.round(50, |_| {}));
    assert_eq!(bench.model.bandwidth(), 500.0, "after ten round trips the largest is forgotten");
}

/// All gains but that of draining, each about as often.
#[test]
fn probing_begins_with_a_random_gain() {
    let mut begun = [0; 8];
    for seed in 0..700 {
        begun[Bench::in_probe_bw(seed).model.cycle_index] += 1;
    }
    assert_eq!(begun[1], 0, "{begun:?}");
    assert!(
        [0, 2, 3, 4, 5, 6, 7].iter().all(|gain| (60..140).contains(&begun[*gain])),
        "{begun:?}"
    );
}

/// A gain lasts a round trip; the probing gain also until the target is in flight or segments are lost.
#[test]
fn gains_follow_each_other_by_round_trips() {
    let mut bench = Bench::in_probe_bw(3);
    bench.model.cycle_index = 7;
    bench.model.update_gains();
    let mut gains = Vec::new();
    for in_flight in [100, 100, 100, 134, 100, 100, 100, 100] {
        bench.now += MS(1);
        bench.round(100, |sample| sample.prior_in_flight = in_flight);
        gains.push(bench.model.pacing_gain);
    }
    assert_eq!(gains, [1.25, 1.25, 1.25, 0.75, 1.0, 1.0, 1.0, 1.0], "125 + 6 + 2 and even");
    bench.model.cycle_index = 0;
    bench.model.pacing_gain = 1.25;
    bench.now += MS(1);
    bench.round(100, |sample| sample.newly_lost = 1);
    assert_eq!(bench.model.pacing_gain, 0.75, "a loss ends probing");
}

/// 10 s after the minimum round-trip time; over after 200 ms and a round trip at four segments.
#[test]
fn every_ten_seconds_the_window_is_four_segments() {
    let mut bench = Bench::in_probe_bw(1);
    bench.model.min_rtt = Some(MS(99));
    let longer = |in_flight: u32| {
        move |sample: &mut RateSample| (sample.rtt, sample.in_flight) = (Some(MS(101)), in_flight)
    };
    while bench.now < Time::ZERO + Span::from_secs(10) {
        bench.round(100, longer(50));
    }
    let before = bench.window.cwnd;
    while bench.model.state != State::ProbeRtt {
        assert!(bench.now < Time::ZERO + MS(10_700), "it probes");
        bench.round(100, longer(50));
    }
    assert_eq!((bench.window.cwnd, bench.model.pacing_gain), (4.0, 1.0));
    bench.round(50, longer(50));
    assert_eq!(bench.model.probe_rtt_done, None, "as long as more are in flight");
    bench.round(50, longer(4));
    let begun = bench.now;
    while bench.model.state == State::ProbeRtt {
        bench.round(4, longer(4));
    }
    assert_eq!(bench.now.since(begun), MS(300), "more than 200 ms");
    assert!(bench.window.cwnd >= before - 4.0, "{} after {before}", bench.window.cwnd);
}

/// Packet conservation in the first round trip, then growth; the end restores the window.
#[test]
fn recovery_conserves_packets_for_a_round_trip() {
    let mut bench = Bench::in_probe_bw(1);
    (0..4).for_each(|_| bench.round(100, |_| {}));
    let before = bench.window.cwnd;
    assert!(before >= 200.0, "{before}");
    bench.model.save_cwnd(before as u32);
    // Within a round trip: segments sent before the last round trip ended.
    let within = |recovering, lost, in_flight| {
        move |sample: &mut RateSample| {
            sample.newest.as_mut().expect("it has one").delivered_before = 0;
            (sample.recovering, sample.newly_lost, sample.in_flight) =
                (recovering, lost, in_flight);
        }
    };
    bench.round(2, within(Recovering::Fast, 3, 95));
    assert_eq!(bench.window.cwnd, 97.0);
    bench.round(2, within(Recovering::Fast, 2, 94));
    assert_eq!(bench.window.cwnd, 96.0, "97 − 2, and not below 94 + 2");
    bench.round(10, |sample| sample.recovering = Recovering::Fast);
    assert_eq!(bench.window.cwnd, 106.0, "a round trip later it grows by what arrives");
    bench.round(2, within(Recovering::No, 0, 94));
    assert_eq!(bench.window.cwnd, before + 2.0, "and grows on");
}

/// A timeout ends a round trip, and restarts the search for the bandwidth in Startup.
#[test]
fn a_timeout_forgets_the_plateau() {
    let mut bench = Bench::new(1);
    (0..3).for_each(|_| bench.round(100, |_| {}));
    assert_eq!(bench.model.full_rounds, 2);
    bench.model.on_timeout(bench.model.totals);
    bench.round(100, |_| {});
    assert_eq!((bench.model.state, bench.model.full_rounds), (State::Startup, 0));
}

#[test]
fn after_a_pause_it_goes_on_at_the_estimated_bandwidth() {
    let mut bench = Bench::in_probe_bw(1);
    bench.model.cycle_index = 0;
    bench.model.update_gains();
    bench.model.on_restart(&mut bench.window, bench.now);
    assert!((bench.model.pacing_rate() - 990.0).abs() < 1e-9);
    assert!(bench.model.idle_restart);
    bench.round(10, |_| {});
    assert!(!bench.model.idle_restart);
}
