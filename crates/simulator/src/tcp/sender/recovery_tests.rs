//! Tests of the phases after ACKs, losses and timeouts.

use tidegate_mechanisms::units::Span;

use super::*;
use crate::packet::SackBlocks;
use crate::tcp::sender::outstanding::SegmentHistory;
use crate::tcp::sender::samples::{AckReading, Samples};
use crate::tcp::tests::classic_with;

/// Returns a recovery with these options, and segments up to `una` of `nxt` acknowledged.
fn at(options: &str, una: u64, nxt: u64) -> (Recovery, Outstanding) {
    let mut out = Outstanding::new(SegmentHistory::None, 1_460);
    (0..nxt).for_each(|_| _ = out.add(0, Time::ZERO));
    let reading = AckReading { now: Time::ZERO, min_rtt: Span::ZERO, echo: None };
    out.take(una, &SackBlocks::default(), reading, &mut None);
    let mut recovery = Recovery::new(&classic_with(options));
    recovery.open();
    (recovery, out)
}

fn acknowledges(segments: u32) -> AckSample<'static> {
    AckSample { acknowledged: segments, delivered: segments, ..AckSample::default() }
}

#[test]
fn a_reduction_for_a_mark_goes_on_to_its_end_where_losses_are_detected_by_time() {
    for (detection, end) in [("sack", 20), ("rack", 10)] {
        let (mut recovery, _) = at(&format!("loss_recovery = {detection:?}"), 0, 20);
        recovery.go_on(Phase::Reducing, 10);
        recovery.enter(20);
        assert_eq!((recovery.points().end, recovery.points().recover), (end, 20));
    }
}

/// RFC 6582 against RFC 5681.
#[test]
fn a_partial_ack_ends_renos_recovery_and_not_newrenos() {
    for (detection, over) in [("reno", true), ("newreno", false)] {
        let (mut recovery, out) = at(&format!("loss_recovery = {detection:?}"), 5, 10);
        recovery.enter(10);
        assert_eq!(recovery.is_over(&acknowledges(5), out.una()), over);
        assert!(recovery.is_over(&acknowledges(10), 10));
    }
}

#[test]
fn after_a_timeout_congestion_echoes_keep_the_window_below_its_threshold() {
    let (mut recovery, out) = at("", 1, 10);
    recovery.go_on(Phase::Loss, 10);
    let ack = AckSample { congestion: true, ..acknowledges(1) };
    let next = |slow_start| recovery.advance(&ack, &Lost::default(), &out, true, slow_start);
    assert_eq!((next(true), next(false)), (LossOutcome::Grow, LossOutcome::Stay));
}

/// RFC 5682, section 3.1 (with SACK).
#[test]
fn two_advancing_acks_after_a_timeout_show_that_it_was_spurious() {
    let (mut recovery, out) = at("frto = true", 1, 10);
    recovery.begin_probing(&out);
    let judged = recovery.judge_probing(&acknowledges(1), &out, true);
    assert_eq!(judged, Some(FrtoOutcome::SendTwo));
    let again =
        recovery.judge_probing(&AckSample { duplicate: true, ..AckSample::default() }, &out, true);
    assert_eq!(again, Some(FrtoOutcome::Genuine(3)), "nothing advances");
    let judged = recovery.judge_probing(&acknowledges(1), &out, true);
    assert_eq!(judged, Some(FrtoOutcome::Spurious));
    let (mut recovery, out) = at("frto = true", 1, 10);
    recovery.begin_probing(&out);
    let judged = recovery.judge_probing(&acknowledges(1), &out, false);
    assert_eq!(judged, Some(FrtoOutcome::Genuine(2)), "nothing to ask with");
}

#[test]
fn an_arrival_of_what_was_sent_before_takes_a_timeout_back() {
    let (mut recovery, out) = at("loss_recovery = \"rack\", frto = true", 1, 10);
    assert!(recovery.lose_by_time(&out));
    recovery.go_on(Phase::Loss, 10);
    assert_eq!(recovery.look_back(&acknowledges(1), &out, true), RecoveryOutcome::OnlyNew);
    let mut original = Samples::default();
    original.first_original = 4;
    let ack = AckSample { samples: Some(&original), ..acknowledges(1) };
    assert_eq!(recovery.look_back(&ack, &out, true), RecoveryOutcome::Undo);
}
