use super::super::tests::{IDLE, packet, place, take};
use super::*;
use crate::bottleneck::tests::Lcg;
use proptest::prelude::*;
use std::collections::BTreeSet;

fn dual_host(quantum: u64, packets: u32) -> DualHost {
    isolating(HostIsolation::Customer, quantum, packets)
}

fn isolating(isolation: HostIsolation, quantum: u64, packets: u32) -> DualHost {
    let (target, interval) = (Span::from_millis(5), Span::from_millis(100));
    let quantum = Bytes::new(quantum);
    DualHost::new(
        DualHostParams { quantum, target, interval, knows_rate: true, isolation },
        &place(packets),
    )
}

fn at(ms: u64) -> Time {
    Time::ZERO + Span::from_millis(ms)
}

/// Offers a packet of a customer's flow. Returns the packets dropped for it.
fn offer(queues: &mut DualHost, user: u32, flow: u32, len: u32, handle: u32) -> Vec<u32> {
    let mut lost = Vec::new();
    let packet = Queued { user, flow, len, ..packet(handle) };
    queues.enqueue(
        packet,
        &IDLE,
        || 0.5,
        |packet, loss| {
            assert_eq!(loss, DropReason::Full);
            lost.push(packet.handle);
        },
    );
    lost
}

fn served(queues: &mut DualHost, count: usize) -> Vec<u32> {
    core::iter::from_fn(|| take(queues, Time::ZERO).map(|packet| packet.handle))
        .take(count)
        .collect()
}

/// Returns the bytes by flow after a number of packets of 1500 B, with this number of backlogged flows per customer.
fn bytes_of_flows(flows: &[u32], packets: u32) -> Vec<Vec<u64>> {
    bytes_served(dual_host(1514, 1_000_000), flows, packets)
}

fn bytes_served(mut queues: DualHost, flows: &[u32], packets: u32) -> Vec<Vec<u64>> {
    let mut lcg = Lcg(7);
    let mut first = 0;
    for (user, &count) in flows.iter().enumerate() {
        for flow in first..first + count {
            for _ in 0..packets {
                offer(&mut queues, user as u32, flow, 1500, flow);
            }
        }
        first += count;
    }
    let mut sent: Vec<Vec<u64>> = flows.iter().map(|&count| vec![0; count as usize]).collect();
    for _ in 0..packets {
        let packet = queues.dequeue(Time::ZERO, || lcg.draw(), |_, _| {}).expect("backlogged");
        let before: u32 = flows[..packet.user as usize].iter().sum();
        sent[packet.user as usize][(packet.flow - before) as usize] += packet.bytes();
    }
    sent
}

/// Ten flows of one customer against one of another: half the link each, and a twentieth for each of the ten. Sharing
/// by flow would give the first ten elevenths.
#[test]
fn ten_flows_get_no_more_than_one() {
    let sent = bytes_of_flows(&[10, 1], 4000);
    let (ten, one): (u64, u64) = (sent[0].iter().sum(), sent[1][0]);
    let ratio = ten as f64 / one as f64;
    assert!((ratio - 1.0).abs() < 0.02, "{ratio}");
    let (least, most) = (sent[0].iter().min().unwrap(), sent[0].iter().max().unwrap());
    assert!(most - least <= 3 * 1500, "{sent:?}");
}

/// With one host at the far end, the larger number of flows is that of all: each gets an eleventh.
#[test]
fn with_triple_isolation_and_one_server_flows_share_equally() {
    let sent = bytes_served(isolating(HostIsolation::Triple, 1514, 1_000_000), &[10, 1], 4400);
    for bytes in sent.concat() {
        assert!((bytes as f64 / (400.0 * 1500.0) - 1.0).abs() < 0.01, "{bytes}");
    }
}

/// Q/n as it is, on average over the draws: 1514/10 = 151.4 B.
#[test]
fn a_turn_is_worth_a_share_of_the_quantum() {
    let mut queues = dual_host(1514, 100);
    queues.bulk = vec![0, 1, 10];
    let never = || panic!("nothing to round");
    assert_eq!((queues.turn(0, never), queues.turn(1, never)), (1514, 1514));
    let mut lcg = Lcg(3);
    let turns: Vec<i64> = (0..100_000).map(|_| queues.turn(2, || lcg.draw())).collect();
    assert!(turns.iter().all(|turn| (151..=152).contains(turn)));
    let mean = turns.iter().sum::<i64>() as f64 / turns.len() as f64;
    assert!((mean - 151.4).abs() < 0.01, "{mean}");
}

/// Life cycle of a flow by hand: sparse with 1514 B, bulk when its deficit is negative and packets wait, waiting when
/// none does, and bulk again with the next packet.
#[test]
fn flows_are_sparse_bulk_or_waiting() {
    let mut queues = dual_host(1514, 100);
    let state = |queues: &DualHost, flow: usize| (queues.flows[flow].state, queues.bulk[0]);
    for handle in 0..2 {
        offer(&mut queues, 0, 0, 1500, handle);
    }
    offer(&mut queues, 1, 1, 100, 10);
    assert_eq!(state(&queues, 0), (State::Sparse, 0));
    // 1514 − 1500 − 1500 = −1486; then it is empty: negative deficit of a sparse flow.
    assert_eq!(served(&mut queues, 2), [0, 1]);
    assert_eq!(served(&mut queues, 1), [10]);
    assert_eq!(state(&queues, 0), (State::Waiting, 0));
    offer(&mut queues, 0, 0, 1500, 2);
    assert_eq!(state(&queues, 0), (State::Bulk, 1));
    assert_eq!(queues.flows[0].deficit, 28);
    // A sparse flow is served before it. (Flow 1 has 1414 B left, and is still on the list of new ones.)
    offer(&mut queues, 1, 1, 100, 11);
    assert_eq!(served(&mut queues, 2), [11, 2]);
    // It is found empty at the next departure, and counts no longer.
    offer(&mut queues, 1, 1, 1500, 12);
    offer(&mut queues, 1, 1, 1500, 13);
    assert_eq!(served(&mut queues, 9), [12, 13]);
    offer(&mut queues, 2, 2, 64, 20);
    assert_eq!(served(&mut queues, 9), [20]);
    assert_eq!(queues.bulk.iter().sum::<u32>(), u32::from(queues.flows[0].state == State::Bulk));
}

/// The state of a flow is kept for 100 ms after its last packet.
#[test]
fn a_flow_decays_before_it_is_at_rest() {
    let mut queues = dual_host(1514, 100);
    offer(&mut queues, 0, 0, 1500, 0);
    take(&mut queues, at(0)).expect("waits");
    let probes = [(50, State::Decaying), (99, State::Decaying), (100, State::AtRest)];
    for (flow, (ms, state)) in (1..).zip(probes) {
        let line = TransmitterState { now: at(ms), ..IDLE };
        queues.enqueue(Queued { flow, arrived: at(ms), ..packet(flow) }, &line, || 0.0, |_, _| {});
        take(&mut queues, at(ms)).expect("waits");
        assert_eq!(queues.flows[0].state, state, "after {ms} ms");
    }
    // After decaying a flow is new, and its stale entry in that list is skipped.
    assert_eq!(queues.flows[1].state, State::Decaying);
    offer(&mut queues, 0, 1, 1500, 10);
    assert_eq!(queues.flows[1].state, State::Sparse);
    assert_eq!(served(&mut queues, 9), [10]);
}

#[test]
fn an_overflow_takes_the_first_packet_of_the_longest_queue() {
    let mut queues = dual_host(1514, 3);
    for handle in 0..3 {
        assert!(offer(&mut queues, 0, 0, 1500, handle).is_empty());
    }
    assert_eq!(offer(&mut queues, 1, 1, 1500, 10), [0]);
    assert_eq!(offer(&mut queues, 1, 2, 1500, 20), [1]);
    assert_eq!(queues.backlog(), (3, 4500));
}

proptest! {
    /// Shares of customers differ only by the deficits of their flows, for any number of flows.
    #[test]
    fn customers_share_equally(flows in prop::collection::vec(1u32..12, 2..5)) {
        let packets = 1500;
        let sent = bytes_of_flows(&flows, packets);
        let of = |user: usize| sent[user].iter().sum::<u64>() as f64;
        for user in 1..flows.len() {
            // Each flow: the first turn and a packet of negative deficit; twice that for the random rounding.
            let slack = f64::from(flows[0] + flows[user]) * (1514.0 + 1500.0);
            prop_assert!((of(0) - of(user)).abs() <= slack, "{sent:?}");
        }
    }

    /// Arrivals above and below the link's rate, with overflows, drops and marks: each packet is sent or dropped once,
    /// in the order of its flow, and bulk flows are counted correctly.
    #[test]
    fn nothing_is_lost_unsaid_and_flows_keep_their_order(
        steps in prop::collection::vec((0..9u32, 64u32..=1500, 0..4u32), 1..600),
        room in 1..60u32,
        marks: bool,
        seed: u64,
    ) {
        let (mut queues, mut lcg) = (dual_host(1514, room), Lcg(seed));
        let (mut seen, mut last) = (BTreeSet::new(), [-1i64; 9]);
        let (mut now_ms, mut arrived) = (0, 0);
        for (handle, (flow, len, depart)) in steps.into_iter().enumerate() {
            now_ms += u64::from(depart) * 3;
            let line = TransmitterState { now: at(now_ms), ..IDLE };
            let packet = Queued {
                user: flow / 3, flow, len, may_mark: marks && flow % 2 == 0, arrived: line.now,
                ..packet(handle as u32)
            };
            arrived += 1;
            let lose = |packet: Queued, _| assert!(seen.insert(packet.handle));
            queues.enqueue(packet, &line, || lcg.draw(), lose);
            if depart > 0 {
                let sent = queues.dequeue(line.now, || lcg.draw(), |packet, loss| {
                    assert_eq!(loss, DropReason::Aqm);
                    assert!(seen.insert(packet.handle));
                });
                if let Some(packet) = sent {
                    prop_assert!(seen.insert(packet.handle));
                    prop_assert!(packet.may_mark || !packet.marked);
                    let last = &mut last[packet.flow as usize];
                    prop_assert!(i64::from(packet.handle) > *last);
                    *last = packet.handle.into();
                }
            }
            prop_assert_eq!(queues.backlog().0 as usize, arrived - seen.len());
            prop_assert!(queues.backlog().0 <= room);
            for user in 0..queues.bulk.len() {
                let bulk = (queues.flows.iter())
                    .filter(|flow| flow.user as usize == user && flow.state == State::Bulk);
                prop_assert_eq!(queues.bulk[user] as usize, bulk.count());
            }
        }
    }
}
