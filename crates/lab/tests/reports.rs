//! Reports to a gateway's socket while a tunnel is in use: only the tunnel's own end is accepted, and once.

use crate::nodes;

use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::os::unix::net::UnixDatagram;
use std::sync::atomic::{AtomicBool, Ordering};

use nodes::{ENODEB, GATEWAY, PATIENCE, datagram, device, message, peer, plan_with, socket};
use tidegate_lab::clock::Clock;
use tidegate_lab::forwarder::Forwarder;
use tidegate_lab::hosts::FIRST_PORT;
use tidegate_lab::tunnels::TunnelEnds;
use tidegate_mechanisms::units::Time;
use tidegate_simulator::Emulated;
use tidegate_wire::gtpu::report::{self, GtpuReport};
use tidegate_wire::gtpu::{self, MessageKind, mark};

/// A bucket for two positive packets, with almost no inflow: after two declarations a third packet is dropped.
const GATEWAY_ENTRY: &str = r#"[{ kind = "pdn-gateway", policers = [
    { tokens = "positive", sanction = "discard", fill_rate = "0.001 packets/s", depth = "2 packets" },
] }]"#;

/// The network from outside: the user's host, and the peers of the gateway's socket.
struct Outside<'a> {
    user: &'a UnixDatagram,
    gateway: SocketAddr,
    /// The eNodeB's own address: source of its reports, and destination of tunnels.
    enodeb: UdpSocket,
    tunnel: UdpSocket,
    stranger: UdpSocket,
}

impl Outside<'_> {
    /// Sends packets of the user one after the other. Returns for each its number in the tunnel, and whether it signals
    /// congestion.
    fn carried(&self, packets: usize) -> Vec<(Option<u16>, bool)> {
        (0..packets).map(|_| self.carries_one()).collect()
    }

    fn carries_one(&self) -> (Option<u16>, bool) {
        self.user.send(&datagram(FIRST_PORT)).expect("a device takes it");
        let mut buffer = [0; 2000];
        let len = self.tunnel.recv(&mut buffer).expect("the gateway lets it pass");
        let bytes = &buffer[..len];
        let reported = gtpu::parse(bytes).expect("a message");
        assert_eq!((reported.header.kind, reported.header.teid), (MessageKind::Data, 1));
        let declared = mark::parse(bytes, &reported).and_then(|conex| conex.declaration());
        (reported.header.sequence, declared.expect("there is room").mark)
    }

    /// Sends a report on the tunnel, and waits for the gateway's answer, which it gives to each echo.
    fn reports(&self, by: &UdpSocket, (last_sequence, received, marked): (u16, u32, u32)) {
        let reported = GtpuReport {
            teid: 1,
            last_sequence,
            received,
            marked_before: marked,
            ..GtpuReport::default()
        };
        let mut element = Vec::new();
        report::emit(&reported, &mut element);
        by.send_to(&message(MessageKind::EchoRequest, Some(1), &[], &element), self.gateway)
            .expect("loopback takes it");
        by.recv(&mut [0; 100]).expect("an answer");
    }
}

/// Set even by a panic, so that the forwarder does not run forever.
struct SetAtTheEnd<'a>(&'a AtomicBool);

impl Drop for SetAtTheEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Returns the counts of the gateway's stage, and whether everything was over before the measurement was.
fn counted(talk: impl Fn(&Outside)) -> (Emulated, bool) {
    let plan = plan_with(&[("links.core.ingress", GATEWAY_ENTRY), ("duration", "1 s")]);
    let devices: Vec<_> = (0..4).map(|_| device()).collect();
    let [user, server, of_gateway, of_enodeb] = [0, 1, 2, 3].map(|n| devices[n].1.as_fd());
    let sockets = [socket(), socket()];
    let (enodeb, tunnel) = peer();
    let stranger = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port is free");
    for socket in [&enodeb, &tunnel, &stranger] {
        socket.set_read_timeout(Some(PATIENCE)).expect("a timeout is set");
    }
    let IpAddr::V4(own) = enodeb.local_addr().expect("it is bound").ip() else { unreachable!() };
    let ends = |name, number: usize, device, address| TunnelEnds {
        name,
        device,
        socket: &sockets[number].0,
        address,
    };
    let nodes = vec![
        ends("core.ingress.0", GATEWAY, of_gateway, Ipv4Addr::new(198, 19, 1, 1)),
        ends("core.egress.0", ENODEB, of_enodeb, own),
    ];
    let clock = Clock::start();
    let forwarder = Forwarder::new(&plan, 1, vec![user], server, clock).expect("it starts");
    let forwarder = forwarder.with_nodes(nodes).expect("all nodes are there");
    let gateway = sockets[GATEWAY].1;
    let outside = Outside { user: &devices[0].0, gateway, enodeb, tunnel, stranger };
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let running = scope.spawn(|| forwarder.run(&stop));
        let end = {
            let _stop = SetAtTheEnd(&stop);
            talk(&outside);
            clock.now()
        };
        let (emulated, _) = running.join().expect("no panic").expect("no error");
        (emulated, end < Time::ZERO + plan.duration)
    })
}

#[test]
fn a_report_is_believed_from_the_tunnels_end_alone_and_once() {
    let talk = |outside: &Outside| {
        let Outside { enodeb, stranger, .. } = outside;
        let unmarked = |numbers: std::ops::Range<u16>| -> Vec<_> {
            numbers.map(|number| (Some(number), false)).collect()
        };
        assert_eq!(outside.carried(2), unmarked(0..2));
        // The contents are true, and would leave nothing in the bucket for the third packet from here.
        outside.reports(stranger, (1, 2, 2));
        assert_eq!(outside.carried(3), unmarked(2..5));
        outside.reports(enodeb, (4, 5, 1));
        assert_eq!(outside.carried(1), [(Some(5), true)]);
        outside.reports(enodeb, (4, 5, 1));
        outside.reports(enodeb, (1, 2, 2));
        assert_eq!(outside.carried(2), unmarked(6..8));
    };
    let all = (0..10).map(|_| counted(talk));
    let one = all.into_iter().find_map(|(emulated, in_time)| in_time.then_some(emulated));
    let stages = one.expect("the machine does not stand still each time").stages;
    let count = |what: &str| {
        let row = (0..stages.value.len()).find(|&row| {
            (stages.stage[row].as_str(), stages.count[row].as_str()) == ("core.ingress.0", what)
        });
        row.map_or(0, |row| stages.value[row])
    };
    for (what, wanted) in [
        ("entered_packets", 8),
        ("reports", 1),
        ("reports_from_strangers", 1),
        ("reports_replayed", 1),
        ("reports_old", 1),
        ("reports_forged", 0),
        ("reports_on_no_tunnel", 0),
        ("reported_received", 5),
        ("reported_marked", 1),
        ("re_inserted", 1),
        ("dropped: bucket empty", 0),
    ] {
        assert_eq!(count(what), wanted, "{what}");
    }
}
