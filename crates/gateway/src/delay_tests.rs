use tidegate_mechanisms::units::{Span, Whole};

use super::*;

const STEP_NS: u64 = 16_000_000;
const MS_NS: u64 = 1_000_000;

fn delay(reflectors: usize) -> Delay {
    let params = DelayParams {
        reflectors: String::new(),
        target: Span::from_millis(15),
        max_rtt: Span::from_millis(100),
        coupling: Whole(2),
    };
    Delay::new(&params, reflectors)
}

/// Steps with a probe each, of these round trips by reflector in milliseconds; `None` for a lost one.
fn steps(delay: &mut Delay, now_ns: &mut u64, count: usize, rtts: &[Option<u64>]) -> Finding {
    let mut finding = None;
    for step in 0..count {
        *now_ns += STEP_NS;
        let reflector = step % rtts.len();
        match rtts[reflector] {
            Some(rtt) => delay.on_answer(reflector, *now_ns - rtt * MS_NS, *now_ns),
            None => delay.on_loss(reflector),
        }
        finding = Some(delay.update(*now_ns, 0, true));
    }
    finding.expect("there are steps")
}

#[test]
fn the_base_round_trip_is_learned_and_the_rest_is_delay() {
    let (mut delay, mut now) = (delay(1), 1 << 40);
    let quiet = steps(&mut delay, &mut now, 100, &[Some(50)]);
    assert_eq!((quiet.delay_s, quiet.probability), (0.0, Some(0.0)));
    let busy = steps(&mut delay, &mut now, 50, &[Some(90)]);
    assert!((busy.delay_s - 0.04).abs() < 1e-9, "{busy:?}");
    assert!(busy.probability > Some(1e-4), "{busy:?}");
    // The way has become longer: after ten minutes that is its base.
    steps(&mut delay, &mut now, 13 * 60 * 63, &[Some(90)]);
    let later = steps(&mut delay, &mut now, 1, &[Some(90)]);
    assert_eq!(later.delay_s, 0.0);
}

#[test]
fn the_delay_is_what_all_reflectors_share() {
    let (mut delay, mut now) = (delay(3), 1 << 40);
    steps(&mut delay, &mut now, 90, &[Some(5), Some(20), Some(80)]);
    // One path alone is congested elsewhere.
    let far = steps(&mut delay, &mut now, 90, &[Some(5), Some(20), Some(280)]);
    assert_eq!(far.delay_s, 0.0);
    let near = steps(&mut delay, &mut now, 90, &[Some(35), Some(50), Some(110)]);
    assert!((near.delay_s - 0.03).abs() < 1e-9, "{near:?}");
    // One that answers no more does not count, and if none does there is no probability.
    let silent = [Some(35), None, None];
    let one = steps(&mut delay, &mut now, 600, &silent);
    assert!((one.delay_s - 0.03).abs() < 1e-9, "{one:?}");
    let none = steps(&mut delay, &mut now, 600, &[None, None, None]);
    assert_eq!(none.probability, None);
}

#[test]
fn a_lost_probe_counts_as_the_longest_delay_seen() {
    let (mut delay, mut now) = (delay(1), 1 << 40);
    steps(&mut delay, &mut now, 100, &[Some(10)]);
    steps(&mut delay, &mut now, 10, &[Some(210)]);
    steps(&mut delay, &mut now, 10, &[Some(60)]);
    let lost = steps(&mut delay, &mut now, 1, &[None]);
    assert!((lost.delay_s - 0.2).abs() < 1e-9, "{lost:?}");
    assert!(delay.timeout_ns(0) > 400 * MS_NS);
}

#[test]
fn while_observing_the_probability_is_the_share_of_lost_probes() {
    let (mut delay, mut now) = (delay(1), 1 << 40);
    let mut finding = None;
    for step in 0..2_000 {
        now += STEP_NS;
        match step % 20 {
            0 => delay.on_loss(0),
            _ => delay.on_answer(0, now - 30 * MS_NS, now),
        }
        finding = Some(delay.update(now, 0, false));
    }
    let p = finding.and_then(|finding| finding.probability).expect("it answers");
    assert!((p - 0.05).abs() < 0.01, "{p}");
}

#[test]
fn a_limit_that_no_probe_sees_is_found() {
    let passing = |rate: fn(u64) -> u64, rtt: u64| {
        let (mut delay, mut now, mut passed) = (delay(1), 1 << 40, 0);
        steps(&mut delay, &mut now, 100, &[Some(20)]);
        for step in 0..60 * 63 {
            now += STEP_NS;
            delay.on_answer(0, now - rtt * MS_NS, now);
            passed += rate(step);
            delay.update(now, passed, true);
        }
        delay.is_blind()
    };
    let full = |_| 20_000;
    assert!(passing(full, 20));
    // A delay that is seen, traffic that varies, and next to no traffic are no reason.
    assert!(!passing(full, 60));
    assert!(!passing(|step| 10_000 + 10_000 * (step / 200 % 2), 20));
    assert!(!passing(|_| 10, 20));
}

/// A loop that begins while the queue is full would otherwise take the full queue for the path.
#[test]
fn a_loop_that_begins_in_a_full_queue_knows_the_least_round_trip_of_before() {
    let (mut before, mut now) = (delay(1), 1 << 40);
    steps(&mut before, &mut now, 100, &[Some(50)]);
    let known: Vec<_> = before.paths().collect();
    assert_eq!(known, [Some(0.05)]);
    let mut after = delay(1);
    after.resume_path(0, 0.05, now);
    assert!((steps(&mut after, &mut now, 10, &[Some(90)]).delay_s - 0.04).abs() < 1e-9);
}
