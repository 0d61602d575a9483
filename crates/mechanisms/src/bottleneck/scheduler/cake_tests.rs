use super::super::tests::{IDLE, packet, place, take};
use super::tins::State;
use super::*;
use crate::bottleneck::tests::Lcg;
use proptest::prelude::*;
use std::collections::BTreeSet;

/// Full packets of 1.2 ms (10 Mb/s), best effort.
fn params(isolation: Isolation, quantum: Option<u64>) -> CakeParams {
    CakeParams {
        bandwidth: None,
        unlimited: false,
        rtt: Span::from_millis(100),
        target: None,
        quantum: quantum.map(Bytes::new),
        isolation,
        tins: Tins::Besteffort,
        link_layer: LinkLayer::Raw,
        overhead: None,
        mpu: None,
        framing: None,
        ack_filter: AckFilter::NoAckFilter,
    }
}

fn dual_host(quantum: u64, packets: u32) -> Cake {
    isolating(Isolation::DualHost, quantum, packets)
}

fn isolating(isolation: Isolation, quantum: u64, packets: u32) -> Cake {
    Cake::new(params(isolation, Some(quantum)), &place(packets))
}

fn at(ms: u64) -> Time {
    Time::ZERO + Span::from_millis(ms)
}

/// Offers a packet of a customer's flow. Returns the packets dropped for it.
fn offer(queues: &mut Cake, user: u32, flow: u32, len: u32, handle: u32) -> Vec<u32> {
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

fn served(queues: &mut Cake, count: usize) -> Vec<u32> {
    core::iter::from_fn(|| take(queues, Time::ZERO).map(|packet| packet.handle))
        .take(count)
        .collect()
}

/// Returns the bytes by flow after a number of packets of 1500 B, with this number of backlogged flows per customer.
fn bytes_of_flows(flows: &[u32], packets: u32) -> Vec<Vec<u64>> {
    bytes_served(dual_host(1514, 1_000_000), flows, packets)
}

fn bytes_served(mut queues: Cake, flows: &[u32], packets: u32) -> Vec<Vec<u64>> {
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
    let sent = bytes_served(isolating(Isolation::TripleIsolate, 1514, 1_000_000), &[10, 1], 4400);
    for bytes in sent.concat() {
        assert!((bytes as f64 / (400.0 * 1500.0) - 1.0).abs() < 0.01, "{bytes}");
    }
}

/// Q/n as it is, on average over the draws: 1514/10 = 151.4 B.
#[test]
fn a_turn_is_worth_a_share_of_the_quantum() {
    let mut queues = dual_host(1514, 100);
    let tin = &mut queues.tins[0];
    tin.bulk = [vec![0, 1, 10], vec![0]];
    let by_host = |host| ([host, 0], Isolation::DualHost);
    let turn = |tin: &Tin, host, draw: &mut dyn FnMut() -> f64| {
        let (hosts, isolation) = by_host(host);
        tin.turn(hosts, isolation, draw)
    };
    let never = &mut || panic!("nothing to round");
    assert_eq!((turn(tin, 0, never), turn(tin, 1, never)), (1514, 1514));
    let mut lcg = Lcg(3);
    let turns: Vec<i64> = (0..100_000).map(|_| turn(tin, 2, &mut || lcg.draw())).collect();
    assert!(turns.iter().all(|turn| (151..=152).contains(turn)));
    let mean = turns.iter().sum::<i64>() as f64 / turns.len() as f64;
    assert!((mean - 151.4).abs() < 0.01, "{mean}");
}

/// Life cycle of a flow by hand: sparse with 1514 B, bulk when its deficit is negative and packets wait, waiting when
/// none does, and bulk again with the next packet.
#[test]
fn flows_are_sparse_bulk_or_waiting() {
    let mut queues = dual_host(1514, 100);
    let state = |queues: &Cake, flow: usize| {
        let tin = &queues.tins[0];
        (tin.flows[flow].state, tin.bulk[0][1])
    };
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
    assert_eq!(queues.tins[0].flows[0].deficit, 28);
    // A sparse flow is served before it. (Flow 1 has 1414 B left, and is still on the list of new ones.)
    offer(&mut queues, 1, 1, 100, 11);
    assert_eq!(served(&mut queues, 2), [11, 2]);
    // It is found empty at the next departure, and counts no longer.
    offer(&mut queues, 1, 1, 1500, 12);
    offer(&mut queues, 1, 1, 1500, 13);
    assert_eq!(served(&mut queues, 9), [12, 13]);
    offer(&mut queues, 2, 2, 64, 20);
    assert_eq!(served(&mut queues, 9), [20]);
    let tin = &queues.tins[0];
    let sum: u32 = tin.bulk[0].iter().sum();
    assert_eq!(sum, u32::from(tin.flows[0].state == State::Bulk));
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
        assert_eq!(queues.tins[0].flows[0].state, state, "after {ms} ms");
    }
    // After decaying a flow is new, and its stale entry in that list is skipped.
    assert_eq!(queues.tins[0].flows[1].state, State::Decaying);
    offer(&mut queues, 0, 1, 1500, 10);
    assert_eq!(queues.tins[0].flows[1].state, State::Sparse);
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

/// 1.25 MB/s / 4096 = 305 B at 10 Mb/s; 1514 B from 49.6 Mb/s on, and without a rate (`cake_set_rate`).
#[test]
fn the_quantum_is_a_4096th_of_a_second() {
    let quantum = |bandwidth: Option<u64>, unlimited| {
        let bandwidth = bandwidth.map(Rate::from_bps);
        let params = CakeParams { bandwidth, unlimited, ..params(Isolation::Flows, None) };
        Cake::new(params, &place(9)).tins[0].turn([0, 0], Isolation::Flows, || 0.0)
    };
    assert_eq!(quantum(None, false), 305);
    assert_eq!(quantum(Some(1_000_000), false), 300);
    assert_eq!(quantum(Some(100_000_000), false), 1514);
    assert_eq!(quantum(None, true), 1514);
}

/// 1500 B take 12 ms at 1 Mb/s; 33 ATM cells take 14 ms. The first packet leaves at once, and after a pause there is no
/// burst.
#[test]
fn the_shaper_sends_a_packet_in_the_time_that_it_takes() {
    for (link_layer, want_us) in [(LinkLayer::Raw, 12_000), (LinkLayer::PppoeLlcsnap, 13_992)] {
        let bandwidth = Some(Rate::mbps(1));
        let params = CakeParams { bandwidth, link_layer, ..params(Isolation::Flows, None) };
        let mut queues = Cake::new(params, &place(99));
        let mut sent_us = Vec::new();
        let mut handle = 0;
        for start_ms in [0, 500] {
            let line = TransmitterState { now: at(start_ms), ..IDLE };
            for _ in 0..4 {
                queues.enqueue(
                    Queued { arrived: line.now, ..packet(handle) },
                    &line,
                    || 0.0,
                    |_, _| {},
                );
                handle += 1;
            }
            let mut now = line.now;
            while queues.backlog().0 > 0 {
                match queues.dequeue(now, || 0.5, |_, _| panic!("nothing is dropped")) {
                    Some(_) => sent_us.push(now.since(line.now).as_nanos() / 1000),
                    None => now = queues.next_at().expect("something waits"),
                }
            }
        }
        let steps = [0, 1, 2, 3].map(|n| n * want_us);
        assert_eq!(sent_us, [steps, steps].concat());
    }
}

/// Serves tins that are always backlogged, as fast as the shaper allows. Returns their shares.
fn shares(tins: Tins, unlimited: bool, dscps: &[u8]) -> Vec<f64> {
    let params = CakeParams { tins, unlimited, ..params(Isolation::Flows, None) };
    let mut queues = Cake::new(params, &place(u32::MAX));
    let mut handle = 0;
    let mut sent = vec![0.0; dscps.len()];
    for (flow, &dscp) in dscps.iter().enumerate() {
        for _ in 0..20_000 {
            let packet = Queued { dscp, flow: flow as u32, may_mark: true, ..packet(handle) };
            queues.enqueue(packet, &IDLE, || 0.0, |_, _| {});
            handle += 1;
        }
    }
    let mut now = Time::ZERO;
    for _ in 0..10_000 {
        let packet = queues.dequeue(now, || 0.5, |_, _| {}).expect("backlogged");
        sent[packet.flow as usize] += packet.bytes() as f64;
        now += place(1).rate.transmission_time(Bytes::new(packet.bytes()));
    }
    let sum: f64 = sent.iter().sum();
    sent.iter().map(|own| own / sum).collect()
}

/// With a rate, voice has up to a quarter, video up to a half and bulk a sixteenth before best effort has its turn; without
/// one, weights 1024, 64, 512 and 256.
#[test]
fn tins_share_by_their_rates() {
    let near = |shares: &[f64], want: &[f64]| {
        let apart = shares.iter().zip(want).map(|(a, b)| (a - b).abs());
        assert!(apart.fold(0.0, f64::max) < 0.01, "{shares:?}, {want:?}");
    };
    near(&shares(Tins::Diffserv3, false, &[0, 46]), &[0.75, 0.25]);
    near(&shares(Tins::Diffserv3, false, &[0, 8, 46]), &[1.0 - 0.3125, 0.0625, 0.25]);
    near(&shares(Tins::Diffserv4, false, &[0, 8, 34, 46]), &[0.1875, 0.0625, 0.5, 0.25]);
    near(
        &shares(Tins::Diffserv4, true, &[0, 8, 34, 46]),
        &[1024.0 / 1856.0, 64.0 / 1856.0, 512.0 / 1856.0, 256.0 / 1856.0],
    );
    near(&shares(Tins::Besteffort, false, &[0, 46]), &[0.5, 0.5]);
}

/// Ten uploads of one customer against one of another, all to one server.
#[test]
fn each_isolation_shares_by_what_it_names() {
    let of_the_ten = |isolation: Isolation, to_user: bool| {
        let mut queues = isolating(isolation, 1514, u32::MAX);
        for handle in 0..22_000 {
            let flow = handle % 11;
            let packet =
                Queued { flow, user: flow / 10, to_user, may_mark: true, ..packet(handle) };
            queues.enqueue(packet, &IDLE, || 0.0, |_, _| {});
        }
        let mut lcg = Lcg(5);
        let sent = (0..2_000)
            .map(|_| queues.dequeue(Time::ZERO, || lcg.draw(), |_, _| {}).expect("backlogged"));
        sent.filter(|packet| packet.user == 0).count() as f64 / 2_000.0
    };
    let (by_host, by_flow) = (0.5, 10.0 / 11.0);
    for (isolation, uploads, downloads) in [
        (Isolation::Flowblind, by_flow, by_flow),
        (Isolation::Srchost, by_host, by_flow),
        (Isolation::Dsthost, by_flow, by_host),
        (Isolation::Hosts, by_host, by_host),
        (Isolation::Flows, by_flow, by_flow),
        (Isolation::DualSrchost, by_host, by_flow),
        (Isolation::DualDsthost, by_flow, by_host),
        (Isolation::TripleIsolate, by_flow, by_flow),
        (Isolation::DualHost, by_host, by_host),
    ] {
        for (to_user, want) in [(false, uploads), (true, downloads)] {
            let share = of_the_ten(isolation, to_user);
            assert!((share - want).abs() < 0.01, "{isolation:?}, to the user {to_user}: {share}");
        }
    }
}

/// A customer of weight 3 with one flow against one of weight 1 with four.
#[test]
fn hosts_share_in_the_ratio_of_weights() {
    let mut queues = isolating(Isolation::DualHost, 1514, u32::MAX);
    let weights = vec![3.0, 1.0];
    queues.know(&Users { weights, ..Users::default() });
    for handle in 0..20_000 {
        let flow = handle % 5;
        let packet = Queued { flow, user: flow.min(1), may_mark: true, ..packet(handle) };
        queues.enqueue(packet, &IDLE, || 0.0, |_, _| {});
    }
    let mut lcg = Lcg(5);
    let sent = (0..4_000)
        .map(|_| queues.dequeue(Time::ZERO, || lcg.draw(), |_, _| {}).expect("backlogged"));
    let of_first = sent.filter(|packet| packet.user == 0).count();
    assert!((2_950..=3_050).contains(&of_first), "{of_first}");
}

#[test]
fn a_superfluous_ack_is_dropped_while_it_waits() {
    let params = CakeParams { ack_filter: AckFilter::Aggressive, ..params(Isolation::Flows, None) };
    let mut queues = Cake::new(params, &place(99));
    assert!(queues.filters_acks());
    let ack_of = |handle: u32| {
        let number = u64::from(handle);
        let (ecn, is_special, sack) = ([false; 2], false, [(0, 0); 3]);
        Some(TcpAck { connection: 0, number, echo: Time::ZERO, ecn, is_special, sack })
    };
    let mut dropped = Vec::new();
    for handle in 0..3 {
        offer(&mut queues, 0, 0, 64, handle);
        queues.filter_acks((handle, 0, 0, 0, false), ack_of, |packet, reason| {
            dropped.push((packet.handle, reason));
        });
    }
    assert_eq!(dropped, [(0, DropReason::Aqm), (1, DropReason::Aqm)]);
    assert_eq!(queues.backlog(), (1, 64));
    assert_eq!(served(&mut queues, 3), [2]);
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
            let tin = &queues.tins[0];
            for host in 0..tin.bulk[0].len() {
                let bulk = (tin.flows.iter())
                    .filter(|flow| flow.hosts[0] as usize == host && flow.state == State::Bulk);
                prop_assert_eq!(tin.bulk[0][host] as usize, bulk.count());
            }
        }
    }
}
