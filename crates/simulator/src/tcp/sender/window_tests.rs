//! Tests of the congestion window.

use super::*;
use crate::tcp::sender::outstanding::SegmentHistory;
use crate::tcp::tests::classic_with;

fn with(options: &str) -> SendWindow {
    SendWindow::new(&classic_with(&format!("initial_window = 10, {options}")), 1_460)
}

fn sent(segments: u64) -> Outstanding {
    let mut out = Outstanding::new(SegmentHistory::None, 1_460);
    (0..segments).for_each(|_| _ = out.add(0, Time::ZERO));
    out
}

/// Returns the window after an ACK of one segment that finds `in_flight` segments in flight.
fn grown(window: &mut SendWindow, in_flight: u32) -> f64 {
    let ack = AckSample { acknowledged: 1, delivered: 1, ..AckSample::default() };
    window.grow(&ack, in_flight, None, &sent(10), Time::ZERO);
    window.cwnd()
}

#[test]
fn a_window_grows_if_an_ack_finds_it_full_or_if_half_of_it_was_in_use_in_slow_start() {
    let mut window = with("");
    assert_eq!([grown(&mut window, 9), grown(&mut window, 10)], [10.0, 11.0]);
    let mut window = with("window_use_per_round = true");
    assert_eq!(grown(&mut window, 10), 10.0, "nothing was noted");
    window.note_use(false, &sent(6));
    assert_eq!(grown(&mut window, 3), 11.0, "less than twice 6");
    window.reduce_at_once(10, Time::ZERO);
    assert_eq!(grown(&mut window, 3), 5.5, "not beyond slow start");
    window.note_use(true, &sent(6));
    assert!(grown(&mut window, 3) > 5.5);
}

/// By hand: 10 and 11 are below the threshold, and from 12 on an ACK brings a segment over the window.
#[test]
fn slow_start_ends_at_the_threshold_of_a_new_connection() {
    let mut window = with("initial_ssthresh = 12");
    assert_eq!([10, 11].map(|in_flight| grown(&mut window, in_flight)), [11.0, 12.0]);
    let avoiding = grown(&mut window, 12);
    assert!((avoiding - (12.0 + 1.0 / 12.0)).abs() < 1e-12, "{avoiding}");
}

/// RFC 3168, section 6.1.2.
#[test]
fn marks_may_lower_a_window_of_two_to_one_and_below() {
    for (option, want) in [("true", [1.0, 0.5]), ("false", [2.0, 2.0])] {
        let mut window = with(&format!("ecn = true, ecn_to_one = {option}"));
        window.allow(2);
        let lowered = [(); 2].map(|()| {
            window.reduce_for_mark(2, Time::ZERO);
            window.cwnd()
        });
        assert_eq!(lowered, want);
    }
}

/// RFC 2861, section 3.1: 41 / 2 / 2 is the initial window; the threshold of three quarters is 20 + 10 here.
#[test]
fn a_pause_leaves_the_threshold_where_the_window_was_unless_amid_a_reduction() {
    for (phase, ssthresh) in [(Phase::Open, 30.0), (Phase::Reducing, 5.0)] {
        let mut window = with("slow_start_after_idle = true");
        window.reduce_at_once(10, Time::ZERO);
        window.allow(41);
        window.restart(Span::from_millis(1_100), Span::from_millis(400), phase);
        assert_eq!(window.get(), Window { cwnd: 10.0, ssthresh }, "{phase:?}");
    }
}

/// RFC 3042.
#[test]
fn duplicates_open_room_at_once_only_with_limited_transmit() {
    let mut out = sent(10);
    out.count_unnamed(0, true, false);
    for (option, in_flight) in [("true", 9), ("false", 10)] {
        let window = with(&format!("limited_transmit = {option}"));
        assert_eq!(window.in_flight(&out, Phase::Open, 1), in_flight);
        assert_eq!(window.in_flight(&out, Phase::Recovery, 1), 9);
    }
}

#[test]
fn the_limit_is_in_whole_segments() {
    let window = with("window_limit = \"5000 B\"");
    assert_eq!((window.allowed(), window.limit()), (3, 3));
}
