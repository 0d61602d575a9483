use super::*;
use crate::bottleneck::scheduler::tests::place;
use crate::bottleneck::tests::{Lcg, arrival};
use crate::bottleneck::{Aqm, Differentiation, Judge, Signal};
use proptest::prelude::*;
use std::collections::VecDeque;

const MEAN: u64 = 1500;

/// PIE with the RFC's values.
fn pie(derandomised: bool) -> Pie {
    let params = PieParams {
        target: Span::from_millis(15),
        update_interval: Span::from_millis(15),
        burst_allowance: Span::from_millis(150),
        alpha: Factor(0.125),
        beta: Factor(1.25),
        mark_limit: Share(0.1),
        derandomised,
        decay: PieDecay::HalfTarget,
        steep: false,
    };
    let place = Place { packet: Bytes::new(MEAN), ..place(100) };
    Pie::new(params, &place).expect("fits anywhere")
}

/// From RFC 8033, appendix A: one function for each of the RFC's, with its names and order, seconds as floating point;
/// with the cap of section 5.5. `probability` is the chance that its enqueueing drops the packet. `goes_empty` adds the
/// one line in which this implementation follows Linux instead.
#[derive(Default)]
struct PseudoCode {
    queue: VecDeque<(u64, u64)>,
    current_qdelay: f64,
    drop_prob_: f64,
    qdelay_old_: f64,
    burst_allowance_: f64,
    goes_empty: bool,
}

impl PseudoCode {
    const QDELAY_REF: f64 = 0.015;
    const MAX_BURST: f64 = 0.15;
    const T_UPDATE: f64 = 0.015;

    fn byte_length(&self) -> u64 {
        self.queue.iter().map(|packet| packet.1).sum()
    }

    /// Returns the drop probability at enqueueing, without the random decision.
    fn probability(&mut self) -> f64 {
        if self.drop_prob_ == 0.0
            && self.current_qdelay < Self::QDELAY_REF / 2.0
            && self.qdelay_old_ < Self::QDELAY_REF / 2.0
        {
            self.burst_allowance_ = Self::MAX_BURST;
        }
        if self.burst_allowance_ == 0.0 { self.drop_early() } else { 0.0 }
    }

    fn drop_early(&self) -> f64 {
        if (self.qdelay_old_ < Self::QDELAY_REF / 2.0 && self.drop_prob_ < 0.2)
            || self.byte_length() <= 2 * MEAN
        {
            return 0.0;
        }
        self.drop_prob_
    }

    fn deque(&mut self, now: u64) -> Option<f64> {
        let packet = self.queue.pop_front()?;
        self.current_qdelay = (now - packet.0) as f64 / 1e9;
        let timestamp_delay = self.current_qdelay;
        if self.goes_empty && self.queue.is_empty() {
            self.current_qdelay = 0.0;
        }
        Some(timestamp_delay)
    }

    #[allow(clippy::manual_clamp)] // As the RFC writes it.
    fn calculate_drop_prob(&mut self) {
        let (alpha, beta) = (0.125, 1.25);
        let mut p = alpha * (self.current_qdelay - Self::QDELAY_REF)
            + beta * (self.current_qdelay - self.qdelay_old_);
        if self.drop_prob_ < 0.000001 {
            p /= 2048.0;
        } else if self.drop_prob_ < 0.00001 {
            p /= 512.0;
        } else if self.drop_prob_ < 0.0001 {
            p /= 128.0;
        } else if self.drop_prob_ < 0.001 {
            p /= 32.0;
        } else if self.drop_prob_ < 0.01 {
            p /= 8.0;
        } else if self.drop_prob_ < 0.1 {
            p /= 2.0;
        }
        if self.drop_prob_ >= 0.1 && p > 0.02 {
            p = 0.02;
        }
        self.drop_prob_ += p;
        if self.current_qdelay < Self::QDELAY_REF / 2.0 && self.qdelay_old_ < Self::QDELAY_REF / 2.0
        {
            self.drop_prob_ *= 0.98;
        }
        if self.drop_prob_ < 0.0 {
            self.drop_prob_ = 0.0;
        }
        if self.drop_prob_ > 1.0 {
            self.drop_prob_ = 1.0;
        }
        self.qdelay_old_ = self.current_qdelay;
        // In whole milliseconds, since ten times 0.015 is not exactly 0.15.
        let left = (self.burst_allowance_ * 1e3).round() - (Self::T_UPDATE * 1e3).round();
        self.burst_allowance_ = (left / 1e3).max(0.0);
    }
}

/// Counts of a comparison.
#[derive(Default)]
struct Compared {
    arrivals: u32,
    signalling: u32,
    above_a_tenth: u32,
    largest_difference: f64,
}

/// Compares PIE and the pseudo-code on the same arrivals over a link of 10 Mb/s, with the pseudo-code's updates at
/// their own times. The load is within `loads` and changes every second; a signalled packet does not enter. `keep`
/// packets always wait.
fn compare(seed: u64, loads: [f64; 2], keep: usize, goes_empty: bool, compared: &mut Compared) {
    let mut lcg = Lcg(seed);
    let mut pie = pie(false);
    let mut rfc =
        PseudoCode { goes_empty, burst_allowance_: PseudoCode::MAX_BURST, ..Default::default() };
    let (mut now, mut until, mut departure, mut update) = (0u64, 0, 1_200_000, 15_000_000);
    let mut load = 1.0;
    while now < 40_000_000_000 {
        if now >= until {
            load = loads[0] + (loads[1] - loads[0]) * lcg.draw();
            until += 1_000_000_000;
        }
        now += (2.0 * lcg.draw() * 1_200_000.0 / load) as u64 + 1;
        while departure.min(update) <= now {
            if update <= departure {
                rfc.calculate_drop_prob();
                update += 15_000_000;
                continue;
            }
            if rfc.queue.len() > keep
                && let Some(delay) = rfc.deque(departure)
            {
                let left = rfc.queue.len() as u32;
                let sojourn = Span::from_secs_f64(delay);
                pie.on_departure(Time::from_nanos(departure), sojourn, left);
            }
            departure += 1_200_000;
        }
        let found = Arrival {
            now: Time::from_nanos(now),
            backlog_bytes: rfc.byte_length(),
            ..arrival(rfc.queue.len() as u32, 0.0)
        };
        let (got, want) = (pie.probability(&found), rfc.probability());
        let difference = (got - want).abs().max((pie.drop_probability() - rfc.drop_prob_).abs());
        assert!(difference <= 1e-12, "seed {seed}, {now} ns: {got}, pseudo-code {want}");
        compared.largest_difference = compared.largest_difference.max(difference);
        compared.arrivals += 1;
        compared.signalling += u32::from(want > 0.0);
        compared.above_a_tenth += u32::from(want >= 0.1);
        if lcg.draw() >= got {
            rfc.queue.push_back((now, if lcg.draw() < 0.2 { 64 } else { 1500 }));
        }
    }
}

#[test]
fn probabilities_are_those_of_the_pseudo_code_while_the_queue_does_not_empty() {
    let mut compared = Compared::default();
    (1..=10).for_each(|seed| compare(seed, [0.6, 2.5], 1, false, &mut compared));
    let Compared { arrivals, signalling, above_a_tenth, largest_difference } = compared;
    assert!(arrivals > 300_000 && signalling > 100_000 && above_a_tenth > 10_000);
    println!("{arrivals} arrivals, {signalling} with p > 0, differ by up to {largest_difference}");
}

#[test]
fn probabilities_are_those_of_the_pseudo_code_with_no_delay_in_an_empty_queue() {
    let mut compared = Compared::default();
    (11..=20).for_each(|seed| compare(seed, [0.2, 2.0], 0, true, &mut compared));
    assert!(compared.arrivals > 300_000 && compared.signalling > 50_000);
}

/// Returns PIE after a number of updates at a delay of 30 ms, with packets waiting.
fn after_updates_at_30_ms(updates: u64) -> Pie {
    let mut pie = pie(false);
    pie.on_departure(Time::ZERO, Span::from_millis(30), 20);
    pie.catch_up(Time::ZERO + Span::from_millis(15 * updates));
    pie
}

fn at(ms: u64) -> Arrival {
    Arrival { now: Time::ZERO + Span::from_millis(ms), ..arrival(20, 0.0) }
}

/// (0.125 · 0.015 + 1.25 · 0.03)/2048 = 1.9226 · 10⁻⁵ at first, then 0.125 · 0.015/128 = 1.4648 · 10⁻⁵.
#[test]
fn the_first_two_updates_are_those_computed_by_hand() {
    let first = (0.125 * 0.015 + 1.25 * 0.030) / 2048.0;
    assert!((after_updates_at_30_ms(1).drop_probability() - first).abs() < 1e-15);
    let second = first + 0.125 * 0.015 / 128.0;
    assert!((after_updates_at_30_ms(2).drop_probability() - second).abs() < 1e-15);
}

/// At p = 0.5, by hand: at a delay of 5 ms, below half the target, Δ = 0.125 · (0.005 − 0.015) = −0.00125,
/// and decay at half the target multiplies by 0.98; at no delay Δ = −0.001875.
#[test]
fn the_probability_decays_below_half_the_target_or_at_no_delay_alone() {
    let after = |decay, delay_ms: u64| {
        let mut pie = pie(false);
        pie.params.decay = decay;
        let delay = Span::from_millis(delay_ms);
        (pie.drop_probability, pie.delay, pie.previous_delay) = (0.5, delay, delay);
        pie.update();
        pie.drop_probability
    };
    for (decay, at_5_ms, at_none) in [
        (PieDecay::HalfTarget, 0.49875 * 0.98, 0.498125 * 0.98),
        (PieDecay::NoDelay, 0.49875, 0.498125 * 0.98),
        (PieDecay::Linux, 0.49875, 0.498125 * 63.0 / 64.0),
    ] {
        for (delay_ms, want) in [(5, at_5_ms), (0, at_none)] {
            let p = after(decay, delay_ms);
            assert!((p - want).abs() < 1e-12, "{decay:?} at {delay_ms} ms: {p}, not {want}");
        }
    }
}

/// Linux: a queue whose last departure left it empty, but in which a packet waits by now, is not empty.
#[test]
fn in_linux_the_probability_does_not_decay_while_a_packet_waits() {
    let mut pie = pie(false);
    pie.params.decay = PieDecay::Linux;
    for (waits, want) in [(false, 0.498125 * 63.0 / 64.0), (true, 0.498125)] {
        (pie.drop_probability, pie.burst) = (0.5, Span::ZERO);
        pie.on_departure(Time::ZERO, Span::ZERO, 0);
        if waits {
            pie.on_verdict(false);
        }
        pie.update();
        assert!((pie.drop_probability - want).abs() < 1e-12, "{waits}: {}", pie.drop_probability);
    }
}

/// At p = 0.5 and a steady delay of 260 ms, Δ = 0.125 · 0.245 = 0.030625 is cut to 0.02.
#[test]
fn the_probability_of_a_steep_pie_rises_by_2_percent_more_above_250_ms() {
    for (steep, delay_ms, want) in [(false, 260, 0.52), (true, 260, 0.54), (true, 250, 0.52)] {
        let mut pie = pie(false);
        pie.params.steep = steep;
        let delay = Span::from_millis(delay_ms);
        (pie.drop_probability, pie.delay, pie.previous_delay) = (0.5, delay, delay);
        pie.update();
        assert!((pie.drop_probability - want).abs() < 1e-12, "{steep}, {delay_ms} ms");
    }
}

#[test]
fn a_burst_of_150_ms_goes_without_signals() {
    let mut pie = after_updates_at_30_ms(9);
    assert_eq!(pie.probability(&at(149)), 0.0);
    assert!(pie.drop_probability() > 0.0);
    assert!(pie.probability(&at(150)) > 0.0);
}

#[test]
fn two_waiting_packets_are_never_signalled() {
    let mut pie = after_updates_at_30_ms(100);
    let now = at(1_500).now;
    assert_eq!(pie.probability(&Arrival { now, ..arrival(2, 0.0) }), 0.0);
    assert!(pie.probability(&Arrival { now, ..arrival(3, 0.0) }) > 0.0);
}

#[test]
fn from_a_tenth_on_a_signal_is_forced() {
    let mut judge = Judge { aqm: Aqm::Pie(pie(false)), differentiation: Differentiation::None };
    let Aqm::Pie(pie) = &mut judge.aqm else { unreachable!() };
    pie.on_departure(Time::ZERO, Span::from_millis(30), 20);
    let mut seen = Vec::new();
    for ms in 0..60_000 {
        let signal = judge.signal(&at(ms), || 0.0);
        let Aqm::Pie(pie) = &judge.aqm else { unreachable!() };
        if signal.is_some() {
            assert_eq!(signal == Signal::Forced, pie.drop_probability() >= 0.1);
            seen.push(signal);
        }
    }
    assert!(seen.contains(&Signal::Congestion) && seen.ends_with(&[Signal::Forced]));
}

/// With p = 1/16 the sum passes 0.85 at the 14th packet, so that gaps are at least that long; the
/// longest gap is 8.5 · 16 = 136. Without, a gap of 1 has a probability of 1/16.
#[test]
fn derandomised_signals_keep_their_distance() {
    let begun = |derandomised| Pie {
        drop_probability: 1.0 / 16.0,
        burst: Span::ZERO,
        previous_delay: Span::from_millis(15),
        ..pie(derandomised)
    };
    let gaps = |derandomised, mut draw: Box<dyn FnMut() -> f64>| {
        let aqm = Aqm::Pie(begun(derandomised));
        let mut judge = Judge { aqm, differentiation: Differentiation::None };
        let mut gap =
            || 1 + (0..).take_while(|_| !judge.signal(&at(0), &mut draw).is_some()).count();
        (0..2_000).map(|_| gap()).collect::<Vec<_>>()
    };
    let mut lcg = Lcg(8033);
    let spaced = gaps(true, Box::new(move || lcg.draw()));
    assert_eq!(spaced.iter().min(), Some(&14));
    let mean = spaced.iter().sum::<usize>() as f64 / 2_000.0;
    // 13 packets that cannot be signalled, then a geometric gap of mean 16; standard error 0.35.
    assert!((mean - 29.0).abs() < 3.29 * 0.35, "mean gap {mean}");
    assert_eq!(gaps(true, Box::new(|| 0.99))[0], 136);
    let mut lcg = Lcg(8033);
    assert_eq!(gaps(false, Box::new(move || lcg.draw())).iter().min(), Some(&1));
}

#[test]
fn an_idle_hour_costs_no_hour_of_updates_and_ends_at_rest() {
    let mut pie = after_updates_at_30_ms(500);
    pie.on_departure(at(7_500).now, Span::from_millis(30), 0);
    let hour = Time::ZERO + Span::from_secs(3_600);
    pie.catch_up(hour);
    assert_eq!((pie.drop_probability(), pie.is_at_rest()), (0.0, true));
    assert!(pie.next_update > hour && pie.next_update <= hour + Span::from_millis(15));
    assert_eq!(pie.next_update.as_nanos() % 15_000_000, 0);
}

proptest! {
    /// For any input, p is a probability, and a longer delay never makes it smaller.
    #[test]
    fn the_probability_is_one_and_grows_with_the_delay(
        delays in prop::collection::vec((0u64..400_000, 0u64..200_000, 0u32..50), 1..300),
    ) {
        let (mut pie, mut slower) = (pie(false), pie(false));
        let mut now = Time::ZERO;
        for (delay_us, gap_us, left) in delays {
            now += Span::from_micros(gap_us);
            let before = pie.clone();
            pie.on_departure(now, Span::from_micros(delay_us), left);
            slower.clone_from(&before);
            slower.on_departure(now, Span::from_micros(delay_us + 1_000), left.max(1));
            let next = pie.next_update;
            pie.catch_up(next);
            slower.catch_up(next);
            prop_assert!((0.0..=1.0).contains(&pie.drop_probability()));
            prop_assert!(slower.drop_probability() >= pie.drop_probability());
            now = now.max(next);
        }
    }
}
