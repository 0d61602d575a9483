//! The forwarder between sockets that replace devices: a packet in, a packet out. No privilege is needed, since two
//! connected UDP sockets behave as a TUN device does.

use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use socket2::SockRef;
use tidegate_lab::clock::Clock;
use tidegate_lab::forwarder::Forwarder;
use tidegate_lab::hosts::FIRST_PORT;
use tidegate_lab::timing::TimingReport;
use tidegate_mechanisms::units::{Span, Time};
use tidegate_scenario::Scenario;
use tidegate_scenario::plan::Plan;
use tidegate_simulator::Emulated;
use tidegate_wire::activity::{self, Activity};
use tidegate_wire::{EcnField, packet};

/// One user with a meter and one without, on a link of 10 Mb/s and 5 ms.
fn plan(more: &str) -> Plan {
    let text = format!(
        "version = 1\nwarm_up = \"0 s\"\nduration = \"50 ms\"\nsample_interval = \"off\"\n\
         [access]\nrate = \"1 Gb/s\"\ndelay = \"1 ms\"\n\
         [bottleneck]\nrate = \"10 Mb/s\"\ndelay = \"5 ms\"\n{more}\n\
         [users.metered]\nmeter = {{ reference_rate = \"0.1 Mb/s\" }}\n[users.plain]\n"
    );
    Scenario::parse(&text, &[]).expect("the scenario is valid").plan()
}

/// Length of the packet that a host sends last.
const LAST: usize = 77;
/// Receive buffer, bytes: more than a test sends, as the kernel counts it, and within the limit for any user, so that a
/// stalled reader loses nothing. A pair of sockets without addresses would hold only ten packets.
const ROOM_BYTES: usize = 200_000;

/// Packets received by each host, and the forwarder's results.
type Outcome = (Vec<Vec<Vec<u8>>>, Emulated, TimingReport);

/// Hosts' ends of the devices: one per user, then the servers'.
struct Bench {
    hosts: Vec<UdpSocket>,
    devices: Vec<UdpSocket>,
}

impl Bench {
    fn new() -> Self {
        let (hosts, devices) = (0..3).map(|_| (socket(), socket())).unzip();
        let bench = Bench { hosts, devices };
        for (host, device) in bench.hosts.iter().zip(&bench.devices) {
            let address = |one: &UdpSocket| one.local_addr().expect("it is bound");
            host.connect(address(device)).expect("it is there");
            device.connect(address(host)).expect("it is there");
        }
        bench
    }

    /// Runs as [`Bench::run`], with all packets delivered within the measured time.
    fn run_measured(plan: &Plan, send_all: impl Fn(&[UdpSocket]) + Sync) -> Outcome {
        let in_time = Time::ZERO + plan.warm_up + plan.duration;
        let all = (0..10).map(|_| Bench::new().run_until(plan, &send_all));
        let one = all.into_iter().find(|(_, end)| *end < in_time);
        one.expect("the machine does not stand still each time").0
    }

    /// Runs the forwarder with the packets that `send_all` gives to hosts. Returns the packets that each host has
    /// received. It ends when each user's last packet has arrived, and the server's: devices keep the order.
    fn run(&self, plan: &Plan, send_all: impl Fn(&[UdpSocket]) + Sync) -> Outcome {
        self.run_until(plan, send_all).0
    }

    /// Runs as [`Bench::run`], and also returns the time at which the last packet had arrived.
    fn run_until(&self, plan: &Plan, send_all: impl Fn(&[UdpSocket]) + Sync) -> (Outcome, Time) {
        let clock = Clock::start();
        let [users @ .., server] = &self.devices[..] else { unreachable!("there are three") };
        let users = users.iter().map(AsFd::as_fd).collect();
        let forwarder = Forwarder::new(plan, 1, users, server.as_fd(), clock).expect("it starts");
        let stop = AtomicBool::new(false);
        let mut received = vec![Vec::new(); self.hosts.len()];
        let (emulated, timing, end) = std::thread::scope(|scope| {
            let running = scope.spawn(|| forwarder.run(&stop));
            scope.spawn(|| {
                send_all(&self.hosts);
                send(&self.hosts[0], &udp(1, FIRST_PORT, LAST, true, true));
                send(&self.hosts[1], &udp(1, FIRST_PORT + 1, LAST, true, true));
                send(&self.hosts[2], &udp(FIRST_PORT, 1, LAST, true, true));
            });
            let mut last = 0;
            // Far more than it takes: a forwarder that loses a packet must not block the test.
            while last < 3 && clock.now() < Time::from_nanos(60_000_000_000) {
                last += self.drain(&mut received);
                std::thread::sleep(Duration::from_millis(1));
            }
            let end = clock.now();
            stop.store(true, Ordering::Relaxed);
            let (emulated, timing) = running.join().expect("no panic").expect("no error");
            assert_eq!(last, 3, "the last packet of every host comes through");
            (emulated, timing, end)
        });
        ((received, emulated, timing), end)
    }

    /// Reads the packets at all hosts. Returns the number of last ones among them.
    fn drain(&self, received: &mut [Vec<Vec<u8>>]) -> usize {
        let mut buffer = [0; 2000];
        let mut last = 0;
        for (host, received) in self.hosts.iter().zip(received) {
            while let Ok(len) = host.recv(&mut buffer) {
                match len {
                    LAST => last += 1,
                    _ => received.push(buffer[..len].to_vec()),
                }
            }
        }
        last
    }
}

/// Returns a socket on the loopback interface, at a free port.
fn socket() -> UdpSocket {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port is free");
    socket.set_nonblocking(true).expect("a socket can be non-blocking");
    SockRef::from(&socket).set_recv_buffer_size(ROOM_BYTES).expect("it holds so much");
    socket
}

fn send(host: &UdpSocket, bytes: &[u8]) {
    host.send(bytes).expect("there is room");
}

/// Returns an IPv4 UDP packet, with room for the activity if requested, and ECT(0) or not.
fn udp(source: u16, destination: u16, len: usize, room: bool, ecn_capable: bool) -> Vec<u8> {
    let options = if room { activity::ipv4::emit(Activity::default()).to_vec() } else { vec![] };
    let header_len = 20 + options.len();
    let mut packet = vec![0; len.max(header_len + 8)];
    packet[0] = 0x40 | (header_len / 4) as u8;
    packet[1] = if ecn_capable { 2 } else { 0 };
    let total_len = packet.len() as u16;
    packet[2..4].copy_from_slice(&total_len.to_be_bytes());
    packet[8..10].copy_from_slice(&[64, 17]);
    packet[12..20].copy_from_slice(&[198, 18, 1, 1, 198, 19, 0, 1]);
    packet[20..header_len].copy_from_slice(&options);
    packet[header_len..header_len + 2].copy_from_slice(&source.to_be_bytes());
    packet[header_len + 2..header_len + 4].copy_from_slice(&destination.to_be_bytes());
    let payload_len = (packet.len() - header_len) as u16;
    packet[header_len + 4..header_len + 6].copy_from_slice(&payload_len.to_be_bytes());
    let words = packet[..header_len].chunks_exact(2);
    let sum: u32 = words.map(|w| u32::from(u16::from_be_bytes([w[0], w[1]]))).sum();
    let folded = (sum & 0xFFFF) + (sum >> 16);
    let checksum = !((folded & 0xFFFF) + (folded >> 16)) as u16;
    packet[10..12].copy_from_slice(&checksum.to_be_bytes());
    packet
}

#[test]
fn packets_reach_the_other_side_and_answers_come_back_to_their_user() {
    let bench = Bench::new();
    let (received, emulated, timing) = bench.run(&plan(""), |hosts| {
        send(&hosts[1], &udp(40_000, FIRST_PORT + 1, 100, false, false));
        send(&hosts[2], &udp(FIRST_PORT + 1, 40_000, 60, false, false));
    });
    assert_eq!(received[2], [udp(40_000, FIRST_PORT + 1, 100, false, false)]);
    assert_eq!(received[1], [udp(FIRST_PORT + 1, 40_000, 60, false, false)]);
    assert!(received[0].is_empty());
    assert_eq!((emulated.ledger.delivered, timing.unclassified, timing.malformed), (2 + 3, 0, 0));
}

#[test]
fn what_does_not_belong_to_a_users_flow_goes_nowhere() {
    let bench = Bench::new();
    let (received, emulated, timing) = bench.run(&plan(""), |hosts| {
        // The flow of another user, a port of no flow, and a server's answer for no flow.
        send(&hosts[0], &udp(40_000, FIRST_PORT + 1, 100, false, false));
        send(&hosts[0], &udp(40_000, FIRST_PORT + 2, 100, false, false));
        send(&hosts[2], &udp(80, 40_000, 100, false, false));
    });
    assert!(received.iter().all(Vec::is_empty));
    assert_eq!((emulated.ledger.injected, timing.unclassified), (3, 3));
}

#[test]
fn the_activity_is_written_into_the_header_where_there_is_room() {
    let bench = Bench::new();
    let (received, _, timing) = bench.run(&plan(""), |hosts| {
        // Much more than 0.1 Mb/s, with room; the user without a meter leaves room as well.
        for _ in 0..20 {
            send(&hosts[0], &udp(40_000, FIRST_PORT, 1500, true, false));
        }
        send(&hosts[0], &udp(40_000, FIRST_PORT, 1400, false, false));
        send(&hosts[1], &udp(40_000, FIRST_PORT + 1, 1300, true, false));
    });
    let activity = |bytes: &Vec<u8>| {
        let view = packet::parse(bytes).expect("the header's checksum is right");
        packet::read_activity(bytes, &view).expect("options are well-formed").map(Activity::value)
    };
    let of_len = |len: usize| received[2].iter().filter(move |bytes| bytes.len() == len);
    // Not the last: the activity falls while the host pauses between two packets.
    assert!(of_len(1500).any(|bytes| activity(bytes).is_some_and(|value| value > 1.0)));
    assert_eq!(activity(of_len(1400).next_back().expect("arrived")), None);
    assert_eq!(activity(of_len(1300).next_back().expect("arrived")), Some(0.0));
    assert_eq!(timing.without_room, 1);
}

#[test]
fn marks_are_set_in_the_header_of_packets_that_can_be_marked() {
    let aqm = "ecn = true\naqm = { kind = \"piecewise-linear\", points = [[0, 1.0], [1, 1.0]] }";
    let bench = Bench::new();
    let (received, emulated, _) = bench.run(&plan(aqm), |hosts| {
        send(&hosts[1], &udp(40_000, FIRST_PORT + 1, 100, false, true));
        send(&hosts[1], &udp(40_000, FIRST_PORT + 1, 100, false, false));
    });
    assert_eq!(received[2].len(), 1, "what cannot be marked is dropped");
    assert_eq!(received[2][0][1] & 3, 3);
    packet::parse(&received[2][0]).expect("the header's checksum is right");
    assert_eq!(emulated.ledger.dropped, 1);
}

/// A counter in front of the queue reads what hosts wrote, and a marker behind it writes into the header.
#[test]
fn stages_see_what_real_headers_say_and_write_into_them() {
    let stages = "ingress = [{ kind = \"mark-counter\" }]\n\
                  egress = [{ kind = \"random-marker\", probability = 1.0 }]";
    let with_ecn = |ecn: EcnField| {
        let mut bytes = udp(40_000, FIRST_PORT + 1, 100, false, true);
        let view = packet::parse(&bytes).expect("a packet");
        packet::set_ecn(&mut bytes, &view, ecn);
        bytes
    };
    let longer = Plan { duration: Span::from_secs(1), ..plan(stages) };
    let (received, emulated, _) = Bench::run_measured(&longer, |hosts| {
        for ecn in [EcnField::Ce, EcnField::Ect1, EcnField::NotEct] {
            send(&hosts[1], &with_ecn(ecn));
        }
    });
    let of = |bytes: &Vec<u8>| packet::parse(bytes).expect("the header's checksum is right").ecn;
    assert_eq!(
        received[2].iter().map(of).collect::<Vec<_>>(),
        [EcnField::Ce, EcnField::Ce, EcnField::NotEct]
    );
    let table = &emulated.stages;
    let is_marked = |&row: &usize| table.user[row] == 1 && table.count[row] == "marked_packets";
    let marked: Vec<_> = (0..table.value.len()).filter(is_marked).collect();
    assert_eq!(marked.iter().map(|&row| table.value[row]).collect::<Vec<_>>(), [1]);
}

#[test]
fn packets_that_wait_stay_in_order() {
    let bench = Bench::new();
    // 80 packets of 1500 B take 96 ms at 10 Mb/s.
    let (received, emulated, _) = bench.run(&plan(""), |hosts| {
        for i in 0..80u16 {
            let mut packet = udp(40_000, FIRST_PORT + 1, 1500, false, false);
            packet[30..32].copy_from_slice(&i.to_be_bytes());
            send(&hosts[1], &packet);
        }
    });
    let order: Vec<u16> =
        received[2].iter().map(|bytes| u16::from_be_bytes([bytes[30], bytes[31]])).collect();
    assert_eq!(order, (0..80).collect::<Vec<u16>>());
    assert_eq!(emulated.ledger.delivered, 80 + 3);
}

/// Returns an IPv6 datagram to the second user's server, with these Destination Options (eight bytes).
fn udp_v6(options: [u8; 8]) -> Vec<u8> {
    let mut bytes = vec![0x60, 0, 0, 0, 0, 24, 60, 64];
    bytes.extend([[0x20, 1, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1]; 2].concat());
    bytes.extend(options);
    bytes.extend([40_000u16.to_be_bytes(), (FIRST_PORT + 1).to_be_bytes()].concat());
    bytes.extend([0, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    bytes
}

/// RFC 7837, section 4: for any option contents, the packet is forwarded unchanged.
#[test]
fn an_invalid_declaration_is_counted_and_its_packet_forwarded() {
    let stages = "ingress = [{ kind = \"mark-counter\" }]";
    let longer = Plan { duration: Span::from_secs(1), ..plan(stages) };
    let sent = [
        udp_v6([17, 0, 0x1E, 1, 0xA0, 1, 1, 0]), // declares a mark
        udp_v6([17, 0, 0x1E, 1, 0x70, 1, 1, 0]), // L, E and C without X
        udp_v6([17, 0, 0x1E, 1, 0xA1, 1, 1, 0]), // a mark, and a reserved bit
        udp_v6([17, 0, 0x1E, 1, 0x80, 0x1E, 1, 0xC0]), // twice
        udp_v6([17, 0, 0x1E, 9, 0x80, 1, 1, 0]), // longer than its header
    ];
    let (received, emulated, timing) = Bench::run_measured(&longer, |hosts| {
        sent.iter().for_each(|bytes| send(&hosts[1], bytes));
    });
    assert_eq!(received[2], sent);
    assert_eq!((timing.malformed, timing.inconsistent), (2, 2));
    let table = &emulated.stages;
    let rows = 0..table.value.len();
    let declared: f64 = rows
        .filter(|&row| table.user[row] == 1 && table.count[row] == "declared_mark_packets")
        .map(|row| table.value[row] as f64)
        .sum();
    assert_eq!(declared, 2.0, "of the five, those that declare a mark and take part");
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 4,
        rng_seed: RngSeed::Fixed(3),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// Random bytes, and packets with bytes changed or cut off.
    #[test]
    fn whatever_hosts_send_is_forwarded_or_counted(
        noise in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..200), 60),
        damage in prop::collection::vec((0..1000usize, any::<u8>(), 1..1000usize), 60),
    ) {
        let bench = Bench::new();
        let (_, emulated, timing) = bench.run(&plan(""), |hosts| {
            for (i, bytes) in noise.iter().enumerate() {
                send(&hosts[i % 3], bytes);
            }
            for (i, (at, value, cut)) in damage.iter().enumerate() {
                let mut bytes = udp(40_000, FIRST_PORT, 60, i % 2 == 0, true);
                let len = bytes.len();
                bytes[at % len] = *value;
                send(&hosts[0], &bytes[..(*cut).min(len)]);
            }
        });
        let accounted = emulated.ledger.injected + timing.malformed + timing.unclassified;
        prop_assert!(accounted >= 120, "{accounted} of 120");
        prop_assert!(timing.malformed > 60);
    }
}
