//! Tests of the times and contents of acknowledgements.

use super::*;
use tidegate_mechanisms::units::OrOff;

const SIZES: Sizes = Sizes { full: 1500, header: 40 };

fn segment(number: u64) -> Packet {
    Packet {
        at: Time::ZERO,
        number,
        stamp: Time::from_nanos(number + 100),
        flow: 0,
        hop: 0,
        len: 1500,
        ..Packet::default()
    }
}

fn receiver(quick_acks: u32) -> Receiver {
    let mut plan = crate::tcp::tests::classic();
    plan.timestamps = true;
    plan.delayed_ack = OrOff::On(Span::from_millis(40));
    plan.quick_acks = quick_acks;
    plan.quick_acks_again = true;
    Receiver::new(&plan, true, SIZES)
}

#[test]
fn every_second_segment_is_acknowledged() {
    let mut rx = receiver(0);
    let replies: Vec<_> = (0..4)
        .map(|n| {
            let reply = rx.on_segment(&segment(n));
            if reply == Reply::Now {
                rx.on_ack_sent();
            }
            reply
        })
        .collect();
    let later = Reply::Later(Span::from_millis(40));
    assert_eq!(replies, [later, Reply::Now, later, Reply::Now]);
}

#[test]
fn quick_acks_come_first() {
    let mut rx = receiver(2);
    for n in 0..2 {
        assert_eq!(rx.on_segment(&segment(n)), Reply::Now);
        rx.on_ack_sent();
    }
    assert_ne!(rx.on_segment(&segment(2)), Reply::Now);
}

#[test]
fn quick_acks_come_again_after_a_silence_and_after_a_repeated_segment() {
    let quick_after = |gap_ms: u64, number: u64| {
        let mut rx = receiver(1);
        rx.on_request(&segment(0));
        rx.on_segment(&Packet { at: Time::ZERO + Span::from_millis(10), ..segment(0) });
        rx.on_ack_sent();
        let at = Time::ZERO + Span::from_millis(10 + gap_ms);
        let reply = rx.on_segment(&Packet { at, ..segment(number) });
        reply == Reply::Now
    };
    assert!(!quick_after(100, 1));
    assert!(quick_after(300, 1), "the timeout is at least 200 ms");
    assert!(quick_after(100, 0));
}

#[test]
fn with_ecn_a_segment_that_is_not_capable_is_a_retransmission_and_grants_quick_acks() {
    let quick_after = |flags: u32, out_of_order: bool| {
        let mut plan = crate::tcp::tests::classic();
        plan.ecn = true;
        plan.delayed_ack = OrOff::On(Span::from_millis(40));
        plan.quick_acks = 1;
        plan.quick_acks_again = true;
        plan.quick_acks_out_of_order = out_of_order;
        let mut rx = Receiver::new(&plan, true, SIZES);
        rx.on_request(&segment(0));
        rx.on_segment(&Packet { flags: flags::ECT, ..segment(0) });
        rx.on_ack_sent();
        rx.on_segment(&Packet { flags, ..segment(1) }) == Reply::Now
    };
    assert!(quick_after(0, true));
    assert!(quick_after(0, false), "for two ACKs, since 4.18");
    assert!(!quick_after(flags::ECT, true));
    assert!(!quick_after(flags::ECT | flags::CE, true));
}

#[test]
fn a_segment_with_cwr_is_acknowledged_at_once() {
    let replies = |out_of_order: bool, second: u32| {
        let mut plan = crate::tcp::tests::classic();
        plan.ecn = true;
        plan.delayed_ack = OrOff::On(Span::from_millis(40));
        plan.quick_acks = 16;
        plan.quick_acks_again = true;
        plan.quick_acks_out_of_order = out_of_order;
        let mut rx = Receiver::new(&plan, true, SIZES);
        rx.on_request(&segment(0));
        for n in 0..16 {
            rx.on_segment(&Packet { flags: flags::ECT | flags::CE, ..segment(n) });
            rx.on_ack_sent();
        }
        [flags::CWR | second, 0, 0].map(|flags| {
            let number = rx.next;
            let reply = rx.on_segment(&Packet { flags: flags::ECT | flags, ..segment(number) });
            rx.on_ack_sent();
            reply == Reply::Now
        })
    };
    assert_eq!(replies(false, 0), [true, false, false]);
    assert_eq!(replies(true, 0), [false; 3], "since 4.18");
    assert_eq!(replies(false, flags::CE), [true, true, false], "a new mark grants two quick ACKs");
}

/// RFC 7323, section 4.3: the SYN has a timestamp, too.
#[test]
fn before_anything_is_in_order_the_timestamp_of_the_handshake_is_echoed() {
    let mut rx = receiver(0);
    rx.on_request(&segment(7));
    rx.on_segment(&segment(1));
    assert_eq!(rx.on_ack_sent().0, segment(7).stamp);
    rx.on_segment(&segment(0));
    assert_eq!(rx.on_ack_sent().0, segment(0).stamp);
    let (mut rx, answered) = (receiver(0), Time::from_nanos(50));
    rx.on_answer(answered);
    rx.on_segment(&segment(1));
    assert_eq!(rx.on_ack_sent().0, answered);
}

/// RFC 2018, section 4: the first block contains the segment that caused the ACK.
#[test]
fn blocks_are_reported_most_recent_first() {
    let mut rx = receiver(0);
    for n in [0, 2, 4, 5, 8, 2] {
        rx.on_segment(&segment(n));
    }
    assert_eq!(rx.sack_blocks(), Some([(2, 3), (8, 9), (4, 6)]));
    rx.on_segment(&segment(3));
    assert_eq!(rx.sack_blocks(), Some([(2, 6), (8, 9), (0, 0)]));
    rx.on_segment(&segment(1));
    assert_eq!((rx.next, rx.sack_blocks()), (6, Some([(8, 9), (0, 0), (0, 0)])));
}

#[test]
fn bytes_are_counted_in_order_whatever_the_length_of_a_segment() {
    let mut rx = receiver(0);
    let mut after = |number, len| {
        rx.on_segment(&Packet { len, ..segment(number) });
        rx.received_bytes()
    };
    assert_eq!([after(0, 1500), after(2, 140), after(3, 1500)], [1460; 3]);
    assert_eq!(after(2, 140), 1460, "once again");
    assert_eq!(after(1, 1040), 1460 + 1000 + 100 + 1460);
    assert_eq!(after(4, 41), 4021);
}

/// RFC 7323, section 4.3: a delayed ACK echoes the first segment it covers, and an ACK after a hole is filled echoes
/// the segment that filled it.
#[test]
fn the_echo_is_of_the_earliest_unacknowledged_segment() {
    let mut rx = receiver(0);
    rx.on_segment(&segment(0));
    rx.on_segment(&segment(1));
    assert_eq!(rx.on_ack_sent().0, Time::from_nanos(100));
    rx.on_segment(&segment(3));
    assert_eq!(rx.on_ack_sent().0, Time::from_nanos(100));
    rx.on_segment(&segment(2));
    assert_eq!(rx.on_ack_sent().0, Time::from_nanos(102));
}

/// In order, out of order, or filling a hole: an ACK reports the price of the segments that it acknowledges.
#[test]
fn prices_are_reported_beside_blocks() {
    let mut plan = crate::tcp::tests::classic();
    plan.ecn = true;
    let mut rx = Receiver::new(&plan, true, SIZES);
    assert!(!rx.has_more_feedback());
    rx.gather_prices(Encoding::NATURAL);
    assert!(!rx.has_more_feedback(), "marks are ECN's");
    rx.gather_prices(Encoding::Explicit);
    assert!(rx.has_more_feedback());
    let mut arrive = |number, price: f32| {
        rx.on_segment(&Packet { payload: price.to_bits(), ..segment(number) });
        rx.on_ack_sent();
        (rx.sack_blocks().is_some(), f32::from_bits(rx.more_feedback().1))
    };
    assert_eq!(arrive(0, 3.0), (false, 3.0));
    assert_eq!(arrive(2, 5.0), (true, 5.0));
    assert_eq!(arrive(3, 7.0), (true, 7.0));
    assert_eq!(arrive(1, 9.0), (false, 9.0));
}

#[test]
fn congestion_is_echoed_until_the_sender_says_it_has_reacted() {
    let mut plan = crate::tcp::tests::classic();
    plan.ecn = true;
    let mut rx = Receiver::new(&plan, true, SIZES);
    let mut arrive = |number, flags| {
        rx.on_segment(&Packet { flags, ..segment(number) });
        rx.on_ack_sent().1
    };
    assert!(!arrive(0, flags::ECT));
    assert!(arrive(1, flags::ECT | flags::CE));
    assert!(arrive(2, flags::ECT));
    assert!(!arrive(3, flags::ECT | flags::CWR));
    assert!(arrive(4, flags::ECT | flags::CWR | flags::CE));
}
