//! Helpers for tests of nodes between sockets: a network with one tunnel, and messages to its nodes.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::os::unix::net::UnixDatagram;
use std::time::Duration;

use socket2::Socket;
use tidegate_scenario::Scenario;
use tidegate_scenario::plan::Plan;
use tidegate_wire::gtpu::{self, Header, MessageKind, PORT};

const SCENARIO: &str = r#"
version = 1
warm_up = "0 s"
duration = "50 ms"
sample_interval = "off"
[links.core]
from = "G"
to = "N"
rate = "20 Mb/s"
delay = "1 ms"
duplex = false
ingress = [{ kind = "pdn-gateway" }]
egress = [{ kind = "enodeb" }]
[links.back]
from = "N"
to = "G"
rate = "20 Mb/s"
delay = "1 ms"
duplex = false
[links.cell]
from = "N"
to = "phones"
rate = "100 Mb/s"
delay = "1 ms"
[users.phones]
from = "G"
to = "phones"
"#;

/// Far more than any answer takes.
pub const PATIENCE: Duration = Duration::from_secs(60);
pub const GATEWAY: usize = 0;
pub const ENODEB: usize = 1;

pub fn plan_with(overrides: &[(&str, &str)]) -> Plan {
    let own = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    let overrides: Vec<_> = overrides.iter().map(own).collect();
    Scenario::parse(SCENARIO, &overrides).expect("the scenario is valid").plan()
}

pub fn socket() -> (Socket, SocketAddr) {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port is free");
    socket.set_nonblocking(true).expect("a socket can be non-blocking");
    let address = socket.local_addr().expect("it is bound");
    (socket.into(), address)
}

/// Returns two sockets of a peer with its own address in 127.0.0.0/8: at any port, and at that of GTP-U, which shows by
/// being free that the address is unused.
pub fn peer() -> (UdpSocket, UdpSocket) {
    let [.., high, low] = std::process::id().to_be_bytes();
    let mut addresses = (1..=255).map(|number| Ipv4Addr::new(127, number, high, low.clamp(1, 254)));
    let free = addresses.find_map(|own| Some((own, UdpSocket::bind((own, PORT)).ok()?)));
    let (own, indications) = free.expect("not all are taken");
    (UdpSocket::bind((own, 0)).expect("a port is free"), indications)
}

pub fn device() -> (UnixDatagram, UnixDatagram) {
    let pair = UnixDatagram::pair().expect("a socket pair");
    for socket in [&pair.0, &pair.1] {
        socket.set_nonblocking(true).expect("a socket can be non-blocking");
    }
    pair
}

pub fn message(
    kind: MessageKind,
    sequence: Option<u16>,
    extensions: &[(u8, &[u8])],
    payload: &[u8],
) -> Vec<u8> {
    let header = Header { kind, teid: 9, sequence, n_pdu: None };
    let mut bytes = Vec::new();
    gtpu::emit(header, extensions, payload, &mut bytes).expect("it fits");
    bytes
}

/// Returns an IPv4 datagram to this port of the servers, with a correct header checksum.
pub fn datagram(port: u16) -> Vec<u8> {
    let mut packet = vec![0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0, 198, 18, 1, 1, 198, 19, 0, 1];
    let words = packet.chunks(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])));
    let sum = words.sum::<u32>();
    let sum = (sum >> 16) + (sum & 0xFFFF);
    packet[10..12].copy_from_slice(&(!(sum as u16)).to_be_bytes());
    packet.extend([0x9C, 0x40]);
    packet.extend(port.to_be_bytes());
    packet.extend([0, 8, 0, 0]);
    packet
}
