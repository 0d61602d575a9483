use super::super::tests::{IDLE, packet, place, take};
use super::*;
use proptest::prelude::*;
use std::collections::BTreeSet;

const QUEUES: u32 = 1024;

fn params(quantum: u64) -> FqCodelParams {
    let (target, interval) = (Span::from_millis(5), Span::from_millis(100));
    let quantum = Bytes::new(quantum);
    FqCodelParams {
        flows: QUEUES,
        quantum,
        target,
        interval,
        perturbation: 0,
        linux_arithmetic: false,
    }
}

fn fq(quantum: u64, packets: u32) -> FqCodel {
    FqCodel::new(params(quantum), &place(packets))
}

/// FQ-CoDel uses no random numbers.
fn never() -> f64 {
    panic!("drew a random number")
}

fn at(ms: u64) -> Time {
    Time::ZERO + Span::from_millis(ms)
}

/// Offers a packet of a flow. Returns the packets dropped for it.
fn offer(fq: &mut FqCodel, flow: u32, len: u32, handle: u32) -> Vec<u32> {
    let mut lost = Vec::new();
    fq.enqueue(Queued { flow, len, ..packet(handle) }, &IDLE, never, |packet, loss| {
        assert_eq!(loss, DropReason::Full);
        lost.push(packet.handle);
    });
    lost
}

fn next(fq: &mut FqCodel) -> Option<u32> {
    take(fq, Time::ZERO).map(|packet| packet.handle)
}

fn served(fq: &mut FqCodel, count: usize) -> Vec<u32> {
    core::iter::from_fn(|| next(fq)).take(count).collect()
}

/// Section 4.2 by hand, quantum 1514 B: flow 0 sends 1500 (14 left), then 1500 (−1486) and is old with 28 left. Flow 1
/// is then served before it; an arriving packet of flow 2 before both.
#[test]
fn queues_take_turns_and_new_ones_go_first() {
    let mut fq = fq(1514, 100);
    for handle in 0..4 {
        offer(&mut fq, 0, 1500, handle);
        offer(&mut fq, 1, 1500, 10 + handle);
    }
    assert_eq!(served(&mut fq, 3), [0, 1, 10]);
    offer(&mut fq, 2, 100, 20);
    // Flow 1 is first in the list of new queues and has 14 B left; then comes flow 2, whose queue becomes empty and
    // passes through the old list; then 28 B of flow 0 and of flow 1 are enough for one packet each.
    assert_eq!(served(&mut fq, 5), [11, 20, 2, 12, 3]);
    assert_eq!(served(&mut fq, 9), [13]);
    assert_eq!(next(&mut fq), None);
    assert!(fq.new.is_empty() && fq.old.is_empty());
}

/// Section 4.2: an emptied queue stays on the old list for a round, so that a flow that sends one packet at a time is
/// not new each time.
#[test]
fn a_flow_that_returns_within_a_round_is_not_new_again() {
    let mut fq = fq(1514, 100);
    for handle in 0..6 {
        offer(&mut fq, 0, 1500, handle);
    }
    assert_eq!(served(&mut fq, 2), [0, 1]);
    offer(&mut fq, 1, 100, 10);
    assert_eq!(served(&mut fq, 1), [10], "new");
    assert_eq!(served(&mut fq, 1), [2], "flow 1 is found empty, and is old");
    offer(&mut fq, 1, 100, 11);
    assert_eq!((fq.new.len(), fq.old.len()), (0, 2));
    // Flow 0 has a negative deficit and moves behind.
    assert_eq!(served(&mut fq, 2), [11, 3]);
    // Flow 1 was found empty on the old list, and has left.
    assert_eq!((fq.new.len(), fq.old.len()), (0, 1));
    offer(&mut fq, 1, 100, 12);
    assert_eq!(served(&mut fq, 2), [12, 4], "new again");
}

/// A quantum of 300 B allows five packets of 300 B for each of 1500 B.
#[test]
fn turns_are_worth_bytes_not_packets() {
    let mut fq = fq(300, 1000);
    for handle in 0..100 {
        offer(&mut fq, 0, 1500, handle);
        for small in 0..5 {
            offer(&mut fq, 1, 300, 1000 + 5 * handle + small);
        }
    }
    let sent = served(&mut fq, 300);
    let small = sent.iter().filter(|&&handle| handle >= 1000).count();
    assert!((249..=251).contains(&small), "{small} of 300 are small");
}

#[test]
fn an_overflow_takes_half_of_the_longest_queue_from_its_head() {
    let mut fq = fq(1514, 20);
    for handle in 0..15 {
        assert!(offer(&mut fq, 0, 1500, handle).is_empty());
    }
    for handle in 20..25 {
        assert!(offer(&mut fq, 1, 1500, handle).is_empty());
    }
    // Fifteen packets of 1500 B: seven are less than half, eight are not.
    assert_eq!(offer(&mut fq, 1, 1500, 25), [0, 1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(fq.backlog(), (13, 13 * 1500));
}

#[test]
fn an_overflow_takes_64_packets_at_most_and_one_at_least() {
    let mut big = fq(1514, 200);
    let lost: Vec<u32> = (0..201).flat_map(|handle| offer(&mut big, 0, 64, handle)).collect();
    assert_eq!(lost, (0..64).collect::<Vec<_>>());
    let mut tiny = fq(1514, 1);
    assert!(offer(&mut tiny, 0, 1500, 0).is_empty());
    assert_eq!(offer(&mut tiny, 1, 60, 1), [0], "half of one packet is one packet");
}

/// Linux's `cvars.count += i`: the first signal after an overflow of 8 packets is followed by the next
/// after 100 ms/√8, not 100 ms.
#[test]
fn packets_lost_by_overflow_count_as_signals() {
    let mut fq = fq(1514, 200);
    for handle in 0..100 {
        offer(&mut fq, 0, 1500, handle);
    }
    let place = fq.place(0) as usize;
    fq.queues[place].codel.on_overflow(8);
    let mut times_ms = Vec::new();
    for ms in 6..=200 {
        offer(&mut fq, 0, 1500, ms as u32);
        fq.dequeue(at(ms), never, |_, loss| {
            assert_eq!(loss, DropReason::Aqm);
            times_ms.push(ms);
        });
    }
    assert_eq!(&times_ms[..3], [106, 142, 175], "100/√8 = 35.4 ms, 100/√9 = 33.3 ms");
}

/// Section 5.3: m flows in n queues occupy n (1 − (1 − 1/n)^m) of them on average.
#[test]
fn hashes_collide_no_more_than_chance_has_it() {
    let (mut taken, perturbations) = (0, 1000);
    for perturbation in 0..perturbations {
        let fq = FqCodel::new(FqCodelParams { perturbation, ..params(1514) }, &place(1));
        let places: BTreeSet<u32> = (0..100).map(|flow| fq.place(flow)).collect();
        assert!(places.iter().all(|&place| place < QUEUES));
        taken += places.len();
    }
    let n = f64::from(QUEUES);
    let want = n * (1.0 - libm::pow(1.0 - 1.0 / n, 100.0));
    let got = taken as f64 / f64::from(perturbations);
    // The number of occupied queues has a standard deviation of 2, its mean of 0.07.
    assert!((got - want).abs() < 0.3, "{got} queues taken, expected {want}");
}

#[test]
fn flows_that_collide_share_a_queue_in_the_order_of_arrival() {
    let mut fq = fq(1514, 100);
    let place = fq.place(0);
    let other = (1..).find(|&flow| fq.place(flow) == place).expect("a million flows, 1024 queues");
    for (handle, flow) in [0, other, 0, other].into_iter().enumerate() {
        offer(&mut fq, flow, 1500, handle as u32);
    }
    assert_eq!(served(&mut fq, 9), [0, 1, 2, 3]);
}

proptest! {
    /// Quanta of backlogged queues differ by one at most; their deficits by a quantum and a packet.
    #[test]
    fn backlogged_queues_get_equal_shares(
        lens in prop::collection::vec(64u32..=1500, 300), quantum in 300u64..4000,
    ) {
        let mut fq = fq(quantum, 10_000);
        let flows = [0, 1, 2];
        for (handle, &len) in lens.iter().enumerate() {
            for flow in flows {
                offer(&mut fq, flow, len, handle as u32);
            }
        }
        let places = flows.map(|flow| fq.place(flow) as usize);
        let mut sent = [0u64; 3];
        while places.iter().all(|&place| !fq.queues[place].queue.is_empty()) {
            let packet = take(&mut fq, Time::ZERO).unwrap();
            sent[packet.flow as usize] += packet.bytes();
            let apart = sent.iter().max().unwrap() - sent.iter().min().unwrap();
            prop_assert!(apart <= 2 * quantum + 1500, "{sent:?}");
        }
    }

    /// A link slower than the arrivals, with overflows, drops and marks: each packet is sent or dropped once, and
    /// packets of a flow leave in order.
    #[test]
    fn nothing_is_lost_unsaid_and_flows_keep_their_order(
        steps in prop::collection::vec((0..6u32, 64u32..=1500, 0..4u32), 1..600),
        room in 1..60u32,
        marks: bool,
    ) {
        let mut fq = fq(1514, room);
        let (mut seen, mut last) = (BTreeSet::new(), [-1i64; 6]);
        let (mut now_ms, mut arrived) = (0, 0);
        for (handle, (flow, len, depart)) in steps.into_iter().enumerate() {
            now_ms += u64::from(depart) * 3;
            let line = TransmitterState { now: at(now_ms), ..IDLE };
            let packet = Queued {
                flow, len, may_mark: marks && flow % 2 == 0, arrived: line.now, ..packet(handle as u32)
            };
            arrived += 1;
            fq.enqueue(packet, &line, never, |packet, _| assert!(seen.insert(packet.handle)));
            if depart > 0 {
                let sent = fq.dequeue(line.now, never, |packet, loss| {
                    assert!(loss == DropReason::Aqm && !packet.may_mark);
                    assert!(seen.insert(packet.handle));
                });
                if let Some(packet) = sent {
                    prop_assert!(seen.insert(packet.handle));
                    let last = &mut last[packet.flow as usize];
                    prop_assert!(i64::from(packet.handle) > *last);
                    *last = packet.handle.into();
                }
            }
            prop_assert_eq!(fq.backlog().0 as usize, arrived - seen.len());
            prop_assert!(fq.backlog().0 <= room);
            let bytes: u64 = fq.queues.iter().map(|flow| flow.queue.bytes()).sum();
            prop_assert_eq!(fq.backlog().1, bytes);
        }
    }
}
