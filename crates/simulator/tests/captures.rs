//! Captures of packets that leave a link.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use tidegate_scenario::plan::Plan;
use tidegate_simulator::{CapturedPacket, CapturedTcp, run, try_run_captured};

use crate::common;
use common::plan;

/// Returns the packets that left a link in the run with seed 1, whose digest is that of the run without a capture.
fn captured(plan: &Plan, name: &str) -> Vec<CapturedPacket> {
    let link = plan.links.iter().position(|link| link.name == name).expect("there is such a link");
    let seen = Arc::new(Mutex::new(Vec::new()));
    let all = Arc::clone(&seen);
    let sink = move |packet: &CapturedPacket| all.lock().expect("one thread").push(packet.clone());
    let (output, in_tunnels) =
        try_run_captured(plan, 1, &[link], Box::new(sink)).expect("has room");
    assert_eq!((output.digest, in_tunnels), (run(plan, 1).digest, 0));
    Arc::try_unwrap(seen).expect("the run is over").into_inner().expect("one thread")
}

fn tcp(packet: &CapturedPacket) -> &CapturedTcp {
    packet.tcp.as_ref().expect("is TCP")
}

fn two_users(bottleneck: &str, users: &str) -> Plan {
    plan(&format!(
        "version = 1\nwarm_up = \"0 s\"\nduration = \"10 s\"\n[bottleneck]\nrate = \"5 Mb/s\"\n\
         delay = \"10 ms\"\nbuffer = \"20 packets\"\n{bottleneck}\n{users}"
    ))
}

const TWO: &str = "[users.a]\ncount = 2\n";

/// In a queue with and without a scheduler: packets are in order and at the rate of the link, and each connection has a
/// SYN and a stream without holes, apart from retransmissions.
#[test]
fn packets_leave_in_order_with_the_bytes_of_their_streams() {
    for bottleneck in ["", "scheduler = \"fq-codel\""] {
        let packets = captured(&two_users(bottleneck, TWO), "bottleneck");
        assert!(packets.len() > 3_000, "{bottleneck}: {}", packets.len());
        for pair in packets.windows(2) {
            let gap_ns = pair[1].at.since(pair[0].at).as_nanos();
            assert!(gap_ns >= u64::from(pair[1].len) * 8 * 200, "5 Mb/s: 200 ns a bit");
        }
        let mut covered: HashMap<usize, Vec<(u32, u32)>> = HashMap::new();
        for packet in packets.iter().filter(|packet| packet.payload_len > 0) {
            let from = tcp(packet).sequence;
            covered
                .entry(packet.flow)
                .or_default()
                .push((from, from + u32::from(packet.payload_len)));
        }
        for (flow, mut ranges) in covered {
            ranges.sort_unstable();
            let holes = ranges.windows(2).filter(|pair| pair[1].0 > pair[0].1).count();
            // Packets lost shortly before the end are missing.
            assert!(holes < 20, "{bottleneck}: flow {flow} has {holes} holes");
            assert_eq!(ranges[0].0, 1, "the SYN has number 0");
        }
    }
}

/// ACKs on the reverse path acknowledge bytes that were sent, with SACK blocks above them.
#[test]
fn acknowledgements_have_sack_blocks_above_what_they_acknowledge() {
    let plan = two_users("", TWO);
    let data = captured(&plan, "bottleneck");
    let acks = captured(&plan, "bottleneck.reverse");
    let ends: Vec<u32> = [0, 1]
        .map(|flow| {
            let of_flow = data.iter().filter(|packet| packet.flow == flow);
            of_flow.map(|one| tcp(one).sequence + u32::from(one.payload_len)).max().expect("sends")
        })
        .into();
    let mut with_blocks = 0;
    for ack in &acks {
        let header = tcp(ack);
        let acknowledged = header.acknowledgement.expect("acknowledges");
        assert!(ack.reverse && ack.payload_len == 0 && acknowledged <= ends[ack.flow]);
        for &(start, end) in &header.sack {
            assert!(acknowledged < start && start < end && end <= ends[ack.flow], "{header:?}");
        }
        with_blocks += usize::from(!header.sack.is_empty());
    }
    assert!(with_blocks > 10, "{with_blocks}");
}

/// Short transfers end in a segment that is not full, and each connection has a number.
#[test]
fn connections_are_numbered_and_short_segments_counted() {
    let users =
        "[users.a]\ntraffic = { kind = \"transfer\", size = \"5 kB\", pause = \"100 ms\" }\n";
    let packets = captured(&two_users("", users), "bottleneck");
    let connections: u32 = packets.iter().map(|packet| packet.connection).max().expect("some") + 1;
    assert!(connections > 20, "{connections}");
    let mut sent = vec![0; connections as usize];
    for packet in &packets {
        let end = tcp(packet).sequence + u32::from(packet.payload_len);
        let last = &mut sent[packet.connection as usize];
        *last = end.max(*last);
    }
    let done = &sent[..connections as usize - 1];
    assert!(done.iter().all(|end| *end == 5_001), "{done:?}");
}

/// An AQM's marks are in the packets that leave, and UDP has no TCP header.
#[test]
fn marks_and_datagrams_are_seen() {
    let users =
        "[users.a]\ntcp.ecn = true\n[users.b]\ntraffic = { kind = \"cbr\", rate = \"1 Mb/s\" }\n";
    let packets = captured(
        &two_users(
            "ecn = true\naqm = { kind = \"red\", min_threshold = \"5 packets\", max_threshold = \"15 packets\" }",
            users,
        ),
        "bottleneck",
    );
    let marked = packets.iter().filter(|packet| packet.ecn == 3).count();
    let capable = packets.iter().filter(|packet| packet.ecn == 2).count();
    assert!(marked > 0 && capable > 10 * marked, "{marked} of {capable}");
    let datagrams = packets.iter().filter(|packet| packet.tcp.is_none()).count();
    assert!((700..900).contains(&datagrams), "10 Mb in packets of 1,500 B: {datagrams}");
}
