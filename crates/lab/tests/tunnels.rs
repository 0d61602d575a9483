//! Tunnel nodes with arbitrary messages to their sockets: no privilege is needed, since a socket on the loopback
//! interface is equivalent to one in a namespace, and a pair of them replaces a device.

use crate::nodes;

use std::net::Ipv4Addr;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};

use nodes::{ENODEB, GATEWAY, PATIENCE, datagram, device, message, peer, plan_with, socket};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use tidegate_lab::clock::Clock;
use tidegate_lab::forwarder::Forwarder;
use tidegate_lab::tunnels::TunnelEnds;
use tidegate_wire::gtpu::report::{self, GtpuReport};
use tidegate_wire::gtpu::{self, MessageKind, PORT};

/// Number of the last echo request to each node.
const LAST: u16 = 0xFFFF;

/// Sends messages to the nodes' sockets, and finally an echo request to each, whose answer shows that it has handled
/// all before. Returns the nodes' counts, the numbers of malformed and unclassified packets from their devices, and the
/// messages that came back to the sender, without those two answers.
fn counted(
    messages: &[(usize, Vec<u8>)],
    packets: &[Vec<u8>],
) -> (Vec<String>, u64, u64, Vec<Vec<u8>>) {
    let plan = plan_with(&[]);
    let clock = Clock::start();
    let devices: Vec<_> = (0..4).map(|_| device()).collect();
    let [user, server, gateway, enodeb] = [0, 1, 2, 3].map(|number| devices[number].1.as_fd());
    let sockets = [socket(), socket()];
    let ends = |name, number: usize, device, last| TunnelEnds {
        name,
        device,
        socket: &sockets[number].0,
        address: Ipv4Addr::new(198, 19, 1, last),
    };
    let nodes =
        vec![ends("core.ingress.0", GATEWAY, gateway, 1), ends("core.egress.0", ENODEB, enodeb, 2)];
    let forwarder = Forwarder::new(&plan, 1, vec![user], server, clock).expect("it starts");
    let forwarder = forwarder.with_nodes(nodes).expect("all nodes are there");
    // Error indications go to the port of GTP-U, for any source port of data.
    let (peer, indications) = peer();
    peer.set_read_timeout(Some(PATIENCE)).expect("a timeout is set");
    indications.set_nonblocking(true).expect("a socket can be non-blocking");
    // All messages are there before the first poll, which covers all devices and sockets.
    let last = message(MessageKind::EchoRequest, Some(LAST), &[], &[]);
    let asked = [GATEWAY, ENODEB].map(|node| (node, last.clone()));
    for (node, message) in messages.iter().chain(&asked) {
        peer.send_to(message, sockets[*node].1).expect("loopback takes it");
    }
    for packet in packets {
        devices[2].0.send(packet).expect("a device takes it");
    }
    let stop = AtomicBool::new(false);
    let (mut answers, mut waiting) = (Vec::new(), asked.len());
    let timing = std::thread::scope(|scope| {
        let running = scope.spawn(|| forwarder.run(&stop));
        let mut buffer = [0; 2000];
        while waiting > 0
            && let Ok(len) = peer.recv(&mut buffer)
        {
            let header = gtpu::parse(&buffer[..len]).expect("a message").header;
            match (header.kind, header.sequence) {
                (MessageKind::EchoResponse, Some(LAST)) => waiting -= 1,
                _ => answers.push(buffer[..len].to_vec()),
            }
        }
        while let Ok(len) = indications.recv(&mut buffer) {
            answers.push(buffer[..len].to_vec());
        }
        stop.store(true, Ordering::Relaxed);
        running.join().expect("no panic").expect("no error").1
    });
    assert_eq!(waiting, 0, "each node answers");
    (timing.messages, timing.malformed, timing.unclassified, answers)
}

#[test]
fn an_echo_is_answered_with_its_number() {
    let (counts, _, _, answers) =
        counted(&[(GATEWAY, message(MessageKind::EchoRequest, Some(77), &[], &[]))], &[]);
    assert_eq!(counts, ["echo requests 3"]);
    let [answer] = &answers[..] else { panic!("{answers:?}") };
    let header = gtpu::parse(answer).expect("a message").header;
    assert_eq!((header.kind, header.sequence), (MessageKind::EchoResponse, Some(77)));
}

/// Each message counts by its reason, and the node continues.
#[test]
fn what_a_node_cannot_use_is_counted_by_reason() {
    let mut reported = Vec::new();
    report::emit(&GtpuReport { teid: 9, received: 5, ..GtpuReport::default() }, &mut reported);
    let ours = datagram(10_000);
    let (mut counts, malformed, unclassified, _) = counted(
        &[
            (GATEWAY, vec![1, 2, 3]),
            (GATEWAY, message(MessageKind::EndMarker, None, &[], &[])),
            (GATEWAY, message(MessageKind::Other(99), None, &[], &[])),
            (GATEWAY, message(MessageKind::EchoRequest, Some(1), &[], &reported)),
            (GATEWAY, message(MessageKind::EchoRequest, Some(1), &[], &reported[..20])),
            (GATEWAY, message(MessageKind::Data, Some(1), &[], &ours)),
            (ENODEB, message(MessageKind::Data, Some(1), &[], &datagram(80))),
            (ENODEB, message(MessageKind::Data, None, &[], &ours)),
            (ENODEB, message(MessageKind::Data, Some(1), &[(0xC0, &[0, 0])], &ours)),
            (ENODEB, message(MessageKind::Data, Some(1), &[], &[0x45, 0, 0])),
        ],
        &[vec![0x45, 1], datagram(53), datagram(PORT)],
    );
    counts.sort();
    let wanted = [
        "data for no tunnel 2",
        "data without a number 1",
        "echo requests 4",
        "end markers for no tunnel 1",
        "extension headers not understood 1",
        "malformed 3",
        "of other kinds 1",
        "reports on no tunnel 1",
    ];
    assert_eq!(counts, wanted);
    assert_eq!((malformed, unclassified), (1, 2), "of packets that the gateway's kernel has sent");
}

/// Section 7.3.1: the user has a tunnel here, established by its first packet, and this number is another's.
#[test]
fn data_with_a_number_that_the_stage_refuses_is_answered_by_an_error_indication() {
    let ours = datagram(10_000);
    let mut other = message(MessageKind::Data, Some(2), &[], &ours);
    other[4..8].copy_from_slice(&77u32.to_be_bytes());
    let (counts, _, _, answers) =
        counted(&[(ENODEB, message(MessageKind::Data, Some(1), &[], &ours)), (ENODEB, other)], &[]);
    assert_eq!(counts, ["data 2", "echo requests 2"], "the stage counts what it refuses");
    let [answer] = &answers[..] else { panic!("{answers:?}") };
    let reported = gtpu::parse(answer).expect("a message");
    assert_eq!(reported.header.kind, MessageKind::ErrorIndication);
    let rejected = [16, 0, 0, 0, 77, 133, 0, 4, 198, 19, 1, 2];
    assert_eq!(answer[reported.payload], rejected, "the number, and the address of who refuses it");
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 8,
        rng_seed: RngSeed::Fixed(5),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// Random bytes, and messages with bytes changed or cut off.
    #[test]
    fn whatever_comes_to_a_node_is_counted(
        noise in prop::collection::vec((0..2usize, prop::collection::vec(any::<u8>(), 0..200)), 30),
        damage in prop::collection::vec((0..2usize, 0..60usize, any::<u8>(), 1..60usize), 30),
    ) {
        let whole = message(MessageKind::Data, Some(7), &[(0x3E, &[0x80, 0])], &datagram(10_000));
        let damaged = damage.into_iter().map(|(node, at, value, keep)| {
            let mut bytes = whole.clone();
            let at = at % bytes.len();
            bytes[at] = value;
            bytes.truncate(keep);
            (node, bytes)
        });
        let messages: Vec<_> = noise.into_iter().chain(damaged).collect();
        let (counts, ..) = counted(&messages, &[]);
        let number = |text: &String| text.rsplit(' ').next()?.parse::<usize>().ok();
        let counted: usize = counts.iter().filter_map(number).sum();
        prop_assert!(counted >= messages.len() + 2, "{counts:?}");
    }
}
