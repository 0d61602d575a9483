//! Tests of segments delivered, lost and in flight, with values by hand.

use super::*;

const READING: AckReading = AckReading { now: Time::ZERO, min_rtt: Span::ZERO, echo: None };

/// Ten segments of 1000 bytes, except for the fourth, with 100 bytes, and the eighth, with 300 bytes.
fn ten(memory: SegmentHistory) -> Outstanding {
    let mut out = Outstanding::new(memory, 1_000);
    for segment in 0..10 {
        let missing = [(3, 900), (7, 700)].iter().find(|(short, _)| *short == segment);
        out.add(missing.map_or(0, |(_, missing)| *missing), Time::from_nanos(segment));
    }
    out
}

fn blocks(first: (u64, u64), second: (u64, u64)) -> SackBlocks {
    [first, second, (0, 0)]
}

#[test]
fn bytes_are_delivered_once_whether_they_are_sacked_or_acknowledged_first() {
    let mut out = ten(SegmentHistory::None);
    let mut take = |ack, blocks| out.take(ack, &blocks, READING, &mut None).bytes;
    assert_eq!(take(1, blocks((3, 5), (0, 0))), 1_000 + 1_100);
    assert_eq!(take(1, blocks((7, 8), (3, 5))), 300);
    assert_eq!(take(4, SackBlocks::default()), 2_000, "the fourth is known to have arrived");
    assert_eq!(take(10, SackBlocks::default()), 4_000);
}

#[test]
fn what_is_lost_is_in_flight_no_more() {
    let mut out = ten(SegmentHistory::None);
    out.take(0, &blocks((4, 7), (0, 0)), READING, &mut None);
    let lost = out.lose(&LossDetection { below: 4, ..LossDetection::NOTHING }, Time::ZERO);
    assert_eq!(lost, Lost { segments: 4, retransmissions: 0 });
    assert_eq!((out.pipe(), out.next_retransmit()), (3, Some(0)));
}

#[test]
fn a_retransmission_is_lost_when_something_sent_after_it_is_sacked() {
    let mut out = ten(SegmentHistory::Retransmissions);
    let overtaken = |out: &mut Outstanding, highest| {
        let retransmissions = LostRetransmissions::Overtaken(highest);
        out.lose(
            &LossDetection { below: 3, retransmissions, ..LossDetection::NOTHING },
            Time::ZERO,
        );
        out.board().retransmitted()
    };
    out.take(0, &blocks((3, 10), (0, 0)), READING, &mut None);
    overtaken(&mut out, 10);
    out.retransmit(0, Time::ZERO);
    assert_eq!(overtaken(&mut out, 10), 1, "nothing sent later has arrived");
    out.add(0, Time::ZERO);
    out.take(0, &blocks((10, 11), (3, 10)), READING, &mut None);
    assert_eq!(overtaken(&mut out, 11), 0);
    assert_eq!(out.next_retransmit(), Some(0));
}

#[test]
fn a_retransmission_is_lost_when_it_is_old_enough_and_something_sent_later_has_arrived() {
    let mut out = ten(SegmentHistory::SendTimes);
    let at = Time::from_nanos;
    out.lose(&LossDetection { below: 2, ..LossDetection::NOTHING }, at(20));
    out.retransmit(0, at(20));
    out.retransmit(1, at(30));
    let mut lose = |newest, now| {
        let retransmissions = LostRetransmissions::Older((newest, 0), Span::from_nanos(100));
        out.lose(&LossDetection { retransmissions, ..LossDetection::NOTHING }, now).retransmissions
    };
    assert_eq!(lose(at(10), at(200)), 0, "nothing sent later has arrived");
    assert_eq!([lose(at(40), at(119)), lose(at(40), at(120)), lose(at(40), at(130))], [0, 1, 1]);
}

#[test]
fn after_a_timeout_what_is_sacked_counts_unless_all_is_sent_again() {
    for (go_back, sacked) in [(false, 2), (true, 0)] {
        let mut out = ten(SegmentHistory::None);
        out.take(0, &blocks((4, 6), (0, 0)), READING, &mut None);
        out.give_up(10, go_back);
        assert_eq!((out.board().sacked(), out.board().lost()), (sacked, 10 - sacked));
    }
}
