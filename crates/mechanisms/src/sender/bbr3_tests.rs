//! BBR version 3 compared with the pseudo-code of draft-ietf-ccwg-bbr: each transition, and the tests of its appendix
//! that concern a single connection.

use super::*;
use crate::sender::path_model::Newest;

const MS: fn(u64) -> Span = Span::from_millis;
const RTT: Span = Span::from_millis(100);
/// Segments per round trip at the bandwidth of the path: the BDP.
const BDP: u32 = 100;

/// A connection whose ACKs arrive a round trip apart.
struct Bench {
    model: Model,
    window: Window,
    now: Time,
    totals: Totals,
    /// Whether the minimum round-trip time does not age.
    ageless: bool,
}

impl Bench {
    fn new() -> Self {
        let (mut model, window) = (Model::default(), Window::new(10));
        let (now, mss, rtt, selective, seed) = (Time::ZERO, 1_448, Some(RTT), true, 7);
        model.begin(&window, &Beginning { now, mss, selective, rtt, seed });
        let totals = Totals { delivered: 1, ..Totals::default() };
        Bench { model, window, now, totals, ageless: true }
    }

    /// Delivers an ACK of all `segments` segments sent, with that number in flight, a round trip later.
    fn round(&mut self, segments: u32, change: impl FnOnce(&mut RateSample)) -> State {
        let delivered_before = self.totals.delivered;
        self.now += RTT;
        self.totals.delivered += u64::from(segments);
        self.totals.delivered_at = self.now;
        let mut sample = RateSample {
            now: self.now,
            totals: self.totals,
            newly_delivered: segments,
            newly_lost: 0,
            newly_marked: 0,
            congestion: false,
            newest: Some(Newest {
                delivered_before,
                lost_before: self.totals.lost,
                in_flight: segments,
                app_limited: false,
                interval: Some(RTT),
            }),
            rtt: Some(RTT),
            maybe_delayed: false,
            srtt: Some(RTT),
            prior_in_flight: segments,
            in_flight: segments,
            until_departure: Span::ZERO,
            window_limited: false,
            recovering: Recovering::No,
        };
        change(&mut sample);
        if self.ageless {
            self.model.probe_rtt_min_stamp = self.now;
        }
        self.model.on_sample(&mut self.window, &sample);
        self.model.state
    }

    /// Loses every second one of `segments` segments, which were sent with `in_flight` in flight and before any loss.
    fn lose(&mut self, segments: u64, in_flight: u32, app_limited: bool) {
        let lost_before = self.totals.lost;
        for n in 0..segments {
            self.totals.lost += 1;
            self.model.on_lost(
                &self.window,
                &LostSegment {
                    segment: 1_000 + 2 * n,
                    now: self.now,
                    in_flight,
                    lost_before,
                    app_limited,
                    totals: self.totals,
                },
            );
        }
    }

    /// Continues at the bandwidth of the path until a state is reached.
    fn until(&mut self, state: State) {
        let reached = (0..200).any(|_| {
            self.model.state == state || self.round(BDP, |s| s.in_flight = BDP - 10) == state
        });
        assert!(reached, "{state:?} is not reached from {:?}", self.model.state);
    }

    fn at(state: State) -> Self {
        let mut bench = Bench::new();
        bench.until(state);
        bench
    }
}

fn limited(sample: &mut RateSample) {
    sample.newest.as_mut().expect("it has one").app_limited = true;
}

/// The table of section "Summary of Control Behavior in the State Machine".
#[test]
fn gains_are_those_of_the_table() {
    use State::*;
    let gains = [Startup, Drain, Down, Cruise, Refill, Up, ProbeRtt]
        .map(|state| (state.pacing_gain(), state.cwnd_gain()));
    let want =
        [(2.77, 2.0), (0.5, 2.0), (0.9, 2.0), (1.0, 2.0), (1.0, 2.0), (1.25, 2.25), (1.0, 0.5)];
    assert_eq!(gains, want);
    let bench = Bench::new();
    assert!((bench.model.pacing_rate() - 277.0).abs() < 1e-9, "2.77 · 10 / 100 ms");
}

#[test]
fn startup_ends_on_a_plateau_of_three_round_trips() {
    let mut bench = Bench::new();
    for (segments, count) in [(10, 0), (20, 0), (40, 0), (80, 0), (99, 1), (99, 2)] {
        assert_eq!(bench.round(segments, |_| {}), State::Startup);
        assert_eq!(bench.model.full_bw_count, count, "{segments}");
    }
    let state = bench.round(99, |sample| sample.in_flight = 200);
    assert_eq!(
        (state, bench.model.full_bw_now, bench.model.full_bw_reached),
        (State::Drain, true, true)
    );
    assert!((bench.model.pacing_rate() / (0.99 * 0.5 * 990.0) - 1.0).abs() < 1e-9);
    assert!((bench.model.max_bw.get() - 990.0).abs() < 1e-9);
}

/// In a fast recovery, over 2 % in six places, with samples limited by the application.
#[test]
fn startup_ends_on_losses_whoever_limits_the_rate() {
    for (losses, in_flight, ends) in [(6, 100, true), (5, 100, false), (6, 400, false)] {
        let mut bench = Bench::new();
        (0..3).for_each(|_| _ = bench.round(BDP, limited));
        bench.lose(losses, in_flight, true);
        let state = bench.round(BDP, |sample| {
            limited(sample);
            sample.recovering = Recovering::Fast;
            sample.in_flight = 300;
            let newest = sample.newest.as_mut().expect("it has one");
            (newest.lost_before, newest.in_flight) = (0, in_flight);
        });
        assert_eq!(state == State::Drain, ends, "{losses} of {in_flight}");
        assert_eq!(bench.model.full_bw_reached, ends);
        if ends {
            assert_eq!(bench.model.undo.state, Some(State::Startup));
            assert_eq!(bench.model.bounds.inflight_longterm, f64::from(BDP));
        }
    }
}

#[test]
fn startup_and_up_last_as_long_as_the_application_limits_the_rate_without_losses() {
    for state in [State::Startup, State::Up] {
        let mut bench = Bench::at(state);
        for _ in 0..30 {
            assert_eq!(bench.round(BDP / 2, limited), state);
        }
    }
}

#[test]
fn drain_ends_when_the_queue_has_gone_or_after_three_round_trips() {
    let in_drain = || {
        let mut bench = Bench::new();
        (0..4).for_each(|_| _ = bench.round(BDP, |sample| sample.in_flight = 200));
        assert_eq!(bench.model.state, State::Drain);
        bench
    };
    let mut bench = in_drain();
    assert_eq!(bench.round(BDP, |sample| sample.in_flight = BDP + 1), State::Drain);
    let state = bench.round(BDP, |sample| sample.in_flight = BDP);
    assert_eq!(state, State::Cruise, "Down finds it drained by the same ACK");
    let mut bench = in_drain();
    let states: Vec<_> =
        (0..4).map(|_| bench.round(BDP, |sample| sample.in_flight = 200)).collect();
    assert_eq!(states, [State::Drain, State::Drain, State::Drain, State::Down]);
}

/// Between 2 and 3 s, or a number of round trips equal to the segments in flight, at most 63.
#[test]
fn the_wait_for_a_probe_is_random_and_bounded_by_round_trips() {
    let mut bench = Bench::at(State::Cruise);
    let mut waits = Vec::new();
    for _ in 0..8 {
        bench.until(State::Down);
        let begun = bench.now;
        bench.until(State::Refill);
        waits.push(bench.now.since(begun));
    }
    assert!(waits.iter().all(|wait| *wait > MS(1_999) && *wait <= MS(3_100)), "{waits:?}");
    assert!(waits.iter().any(|wait| *wait != waits[0]), "{waits:?}");

    let mut bench = Bench::at(State::Cruise);
    bench.model.cycle.rounds_since_probe_up = 0;
    bench.window.cwnd = 8.0;
    let states: Vec<_> = (0..8)
        .map(|_| {
            bench.window.cwnd = 8.0;
            bench.round(8, |_| {})
        })
        .collect();
    assert_eq!(states[6..], [State::Cruise, State::Refill], "{states:?}");
}

#[test]
fn refill_lasts_a_round_trip_and_forgets_the_short_term() {
    let mut bench = Bench::at(State::Cruise);
    (bench.model.bounds.bw_shortterm, bench.model.bounds.inflight_shortterm) = (500.0, 50.0);
    bench.until(State::Refill);
    let bounds = bench.model.bounds;
    assert!(bounds.bw_shortterm.is_infinite() && bounds.inflight_shortterm.is_infinite());
    assert_eq!(bench.round(BDP, |_| {}), State::Up);
    assert!(bench.model.bounds.is_bw_probe_sample);
    assert!((bench.model.pacing_rate() / (0.99 * 1.25 * 1_000.0) - 1.0).abs() < 1e-9);
}

#[test]
fn up_ends_on_a_plateau_and_the_filter_of_the_bandwidth_goes_on() {
    let mut bench = Bench::at(State::Up);
    let states: Vec<_> = (0..3).map(|_| bench.round(BDP, |s| s.in_flight = 130)).collect();
    assert_eq!(states, [State::Up, State::Up, State::Down]);
    assert!(!bench.model.bounds.prev_probe_too_high);
    // A round trip after the end the cycle is over: its measurement counts for one more cycle.
    assert_eq!(bench.model.cycle.ack_phase, AckPhase::ProbeStopping);
    bench.round(BDP / 2, |s| s.in_flight = 130);
    assert_eq!(bench.model.cycle.ack_phase, AckPhase::Init);
    assert_eq!(bench.model.max_bw.get(), 1_000.0);
    let mut filter = MaxBandwidth::default();
    let mut with = |rate| {
        filter.update(rate);
        let largest = filter.get();
        filter.advance();
        largest
    };
    assert_eq!([with(9.0), with(5.0), with(0.0), with(4.0), with(3.0)], [9.0, 9.0, 5.0, 5.0, 4.0]);
}

/// `HandleInflightTooHigh`: the data in flight when the loss rate was exceeded, or 0.7 of the target.
#[test]
fn up_ends_on_losses_which_set_the_long_term_bound() {
    for (in_flight, app_limited, want) in [
        (120, false, 119.0 + (0.02 * 119.0 - 2.0) / 0.98),
        (50, false, 70.0),
        (50, true, f64::INFINITY),
    ] {
        let mut bench = Bench::at(State::Up);
        bench.window.cwnd = 200.0;
        bench.lose(2, in_flight, app_limited);
        assert_eq!(bench.model.state, if in_flight == 120 { State::Up } else { State::Down });
        bench.lose(1, in_flight, app_limited);
        if in_flight == 120 {
            assert_eq!(bench.model.state, State::Up, "each left when as many had been lost");
            bench.lose(3, in_flight, app_limited);
        }
        assert_eq!(bench.model.state, State::Down);
        assert!(bench.model.bounds.prev_probe_too_high);
        let got = bench.model.bounds.inflight_longterm;
        assert!(got == want || (got - want).abs() < 1e-9, "{in_flight}: {got}, not {want}");
        assert!(!bench.model.bounds.is_bw_probe_sample, "once for each probe");
    }
}

/// By 1, 2, 4, ... segments per round trip, while the window limits the flow.
#[test]
fn the_long_term_bound_grows_ever_faster() {
    let mut bench = Bench::at(State::Up);
    bench.model.bounds.inflight_longterm = 100.0;
    let mut steps = Vec::new();
    for _ in 0..5 {
        let begun = bench.totals.delivered;
        let before = bench.model.bounds.inflight_longterm;
        for ack in 0..10 {
            bench.window.cwnd = bench.model.bounds.inflight_longterm;
            bench.round(before as u32 / 10, |sample| {
                let newest = sample.newest.as_mut().expect("it has one");
                // The first ACK is that of a segment sent when the last round trip ended.
                newest.delivered_before = if ack == 0 { begun } else { begun - 1 };
                newest.in_flight = 10;
                sample.window_limited = true;
            });
        }
        steps.push((bench.model.bounds.inflight_longterm - before).round() as u32);
    }
    // The round trip of a single segment has begun before.
    let doubling = [2_u32, 4, 8, 16, 32];
    let near = |(got, want): (&u32, u32)| got.abs_diff(want) <= 1 + want / 8;
    assert!(steps.iter().zip(doubling).all(near), "{steps:?}");
    assert_eq!(bench.model.state, State::Up, "a bound is no plateau");
}

/// After a probe that was too high the next stops at the bound; if that is safe, another follows immediately.
#[test]
fn a_probe_after_one_that_went_too_high_is_a_precaution() {
    let mut bench = Bench::at(State::Up);
    bench.window.cwnd = 200.0;
    bench.lose(4, 120, false);
    assert_eq!(bench.model.state, State::Down);
    let longterm = bench.model.bounds.inflight_longterm;
    bench.until(State::Up);
    let state = bench.round(BDP, |sample| sample.in_flight = longterm as u32 + 1);
    assert_eq!(state, State::Down);
    assert!(bench.model.cycle.prev_probe_precautionary);
    assert_eq!(bench.round(BDP, |sample| sample.in_flight = 110), State::Refill);
    assert!(!bench.model.cycle.prev_probe_precautionary);
}

#[test]
fn down_ends_with_headroom_and_at_the_bdp_or_after_the_wait() {
    let mut bench = Bench::at(State::Down);
    bench.model.bounds.inflight_longterm = f64::from(BDP);
    assert_eq!(bench.round(BDP, |s| s.in_flight = 90), State::Down, "15 % are left to others");
    let longterm = bench.model.bounds.inflight_longterm;
    assert_eq!(bench.round(BDP, |s| s.in_flight = (0.85 * longterm) as u32), State::Cruise);

    let mut bench = Bench::at(State::Down);
    let mut states = Vec::new();
    while bench.model.state == State::Down {
        states.push(bench.round(BDP, |s| s.in_flight = 150));
    }
    assert_eq!(states.last(), Some(&State::Refill));
    assert!((20..=31).contains(&states.len()), "{} round trips", states.len());
}

/// Once per round trip, to the delivered data or by a factor of 0.7.
#[test]
fn losses_elsewhere_lower_the_short_term_bounds() {
    let mut bench = Bench::at(State::Cruise);
    bench.window.cwnd = 200.0;
    let before = bench.window.cwnd;
    bench.lose(1, BDP, false);
    assert!(bench.model.bounds.bw_shortterm.is_infinite(), "not before the round trip is over");
    bench.round(40, |_| {});
    let bounds = bench.model.bounds;
    assert!((bounds.bw_shortterm - 1_000.0).abs() < 1e-9, "the latest before was of 100");
    assert!((bounds.inflight_shortterm / (0.7 * before) - 1.0).abs() < 1e-9);
    bench.lose(1, BDP, false);
    bench.round(40, |_| {});
    let lowered = bench.model.bounds.bw_shortterm;
    assert!((lowered - 700.0).abs() < 1e-9, "{lowered}");
    assert!((bench.model.bw - 700.0).abs() < 1e-9);
    bench.lose(1, BDP, false);
    bench.round(65, |_| {});
    assert!((bench.model.bounds.bw_shortterm - 650.0).abs() < 1e-9, "no less than is delivered");
    bench.round(65, |_| {});
    assert!((bench.model.bounds.bw_shortterm - 650.0).abs() < 1e-9, "nor without a loss");
}

/// The draft requires a response to marks; here it is that to a loss.
#[test]
fn marks_count_as_losses() {
    let mut bench = Bench::at(State::Cruise);
    bench.round(40, |sample| sample.newly_marked = 1);
    bench.round(40, |_| {});
    assert!(bench.model.bounds.bw_shortterm.is_finite());
    for (marked, echo, ends) in
        [(2, true, false), (3, true, true), (0, true, true), (0, false, false)]
    {
        let mut bench = Bench::at(State::Up);
        let state = bench.round(BDP, |sample| {
            (sample.newly_marked, sample.congestion) = (marked, echo);
            sample.in_flight = 130;
        });
        assert_eq!(state == State::Down, ends, "{marked} marks, echo {echo}");
    }
}

#[test]
fn every_five_seconds_half_of_the_bdp_is_in_flight() {
    let mut bench = Bench::at(State::Cruise);
    bench.ageless = false;
    let longer = |in_flight: u32| {
        move |sample: &mut RateSample| {
            (sample.rtt, sample.in_flight) = (Some(RTT + MS(1)), in_flight)
        }
    };
    let stamp = bench.model.probe_rtt_min_stamp;
    while bench.model.state != State::ProbeRtt {
        bench.round(BDP, longer(90));
        assert!(bench.now <= stamp + MS(5_200), "it probes");
    }
    assert!(bench.now > stamp + MS(5_000));
    assert_eq!(bench.window.cwnd.round(), 50.0);
    bench.round(60, longer(51));
    assert_eq!(bench.model.probe_rtt_done_stamp, None);
    bench.round(50, longer(50));
    let begun = bench.now;
    while bench.model.state == State::ProbeRtt {
        bench.round(50, longer(50));
    }
    assert_eq!((bench.model.state, bench.now.since(begun)), (State::Cruise, MS(300)));
    assert!(bench.window.cwnd > 100.0, "the window is restored");
}

#[test]
fn a_pause_stands_for_probing_the_round_trip() {
    let mut bench = Bench::at(State::Cruise);
    bench.ageless = false;
    bench.now += Span::from_secs(6);
    bench.model.on_restart(&mut bench.window, bench.now);
    assert!((bench.model.pacing_rate() - 990.0).abs() < 1e-6);
    assert_ne!(bench.round(BDP, |s| s.in_flight = 90), State::ProbeRtt);
    assert!(!bench.model.idle_restart);
}

#[test]
fn probing_the_round_trip_in_startup_goes_back_to_it() {
    let mut bench = Bench::new();
    bench.ageless = false;
    bench.round(10, limited);
    bench.now += Span::from_secs(6);
    assert_eq!(bench.round(10, limited), State::ProbeRtt);
    for _ in 0..4 {
        bench.round(4, limited);
    }
    assert_eq!(bench.model.state, State::Startup);
}

/// `HandleSpuriousLossDetection`.
#[test]
fn a_spurious_loss_is_undone() {
    let mut bench = Bench::at(State::Up);
    bench.window.cwnd = 200.0;
    bench.lose(3, 120, false);
    assert_eq!(bench.model.state, State::Down);
    bench.window.cwnd = 10.0;
    bench.model.on_undo(&mut bench.window);
    assert_eq!((bench.model.state, bench.window.cwnd), (State::Refill, 200.0));
    assert!(bench.model.bounds.inflight_longterm.is_infinite());
}

/// A link of less than a segment per round trip.
#[test]
fn the_window_has_four_segments_at_least() {
    let mut bench = Bench::new();
    (0..40).for_each(|_| _ = bench.round(1, |sample| sample.in_flight = 1));
    assert!(bench.model.bdp() < 2.0);
    assert!(bench.window.cwnd >= 4.0, "{}", bench.window.cwnd);
}
