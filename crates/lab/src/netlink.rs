//! Interfaces, addresses and routes: the four requests to rtnetlink (rtnetlink(7)) that a host needs. They act on the
//! calling thread's namespace.

use std::io::{self, Read};
use std::net::IpAddr;

use socket2::{Domain, Protocol, Socket, Type};

// From linux/rtnetlink.h and linux/if_link.h; the libc crate lacks some of them.
const RTM_NEWLINK: u16 = 16;
const RTM_NEWADDR: u16 = 20;
const RTM_NEWROUTE: u16 = 24;
const FLAG_REQUEST_ACK: u16 = 0x1 | 0x4;
const FLAG_REPLACE_CREATE: u16 = 0x100 | 0x400;
const ERROR: u16 = 2;
const HEADER_LEN: usize = 16;

const IFF_UP: u32 = 1;
const IFLA_MTU: u16 = 4;
const IFLA_TXQLEN: u16 = 13;
const IFA_ADDRESS: u16 = 1;
const IFA_LOCAL: u16 = 2;
/// No duplicate address detection, so that the address is usable at once.
const IFA_F_NODAD: u8 = 2;
const RTA_DST: u16 = 1;
const RTA_OIF: u16 = 4;
const RTA_METRICS: u16 = 8;
const TABLE_MAIN: u8 = 254;
const PROTOCOL_STATIC: u8 = 4;
const SCOPE_LINK: u8 = 253;
const UNICAST: u8 = 1;

/// TCP metrics of a route; `None` leaves the kernel's default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Metrics {
    /// Initial window, segments.
    pub initial_window: Option<u32>,
    /// Smallest retransmission timeout, milliseconds.
    pub min_rto_ms: Option<u32>,
    /// ACKs are never delayed.
    pub quick_ack: Option<u32>,
}

impl Metrics {
    /// Iterates over the attributes: number and value.
    fn attributes(&self) -> impl Iterator<Item = (u16, u32)> {
        let all = [(11, self.initial_window), (13, self.min_rto_ms), (15, self.quick_ack)];
        all.into_iter().filter_map(|(kind, value)| Some((kind, value?)))
    }
}

/// Sets an interface up.
pub fn set_up(index: u32) -> io::Result<()> {
    link(index, IFF_UP, &[])
}

/// Sets the MTU in bytes, and the length of the device queue in packets.
pub fn set_limits(index: u32, mtu: u32, queue: u32) -> io::Result<()> {
    link(index, 0, &[(IFLA_MTU, mtu), (IFLA_TXQLEN, queue)])
}

fn link(index: u32, flags: u32, attributes: &[(u16, u32)]) -> io::Result<()> {
    let mut message = Message::new(RTM_NEWLINK, 0);
    message.body(&[0; 4]).body(&index.to_ne_bytes());
    message.body(&flags.to_ne_bytes()).body(&flags.to_ne_bytes());
    for (kind, value) in attributes {
        message.attribute(*kind, &value.to_ne_bytes());
    }
    message.request()
}

/// Adds an address to an interface, and a route to its prefix.
pub fn add_address(index: u32, address: IpAddr, prefix: u8) -> io::Result<()> {
    let mut message = Message::new(RTM_NEWADDR, FLAG_REPLACE_CREATE);
    message.body(&[family(address), prefix, IFA_F_NODAD, 0]).body(&index.to_ne_bytes());
    message.attribute(IFA_LOCAL, &octets(address)).attribute(IFA_ADDRESS, &octets(address));
    message.request()
}

/// Sets the TCP metrics of the route to one host behind an interface.
pub fn set_route(index: u32, to: IpAddr, metrics: &Metrics) -> io::Result<()> {
    let host = octets(to);
    let mut message = Message::new(RTM_NEWROUTE, FLAG_REPLACE_CREATE);
    message.body(&[family(to), (host.len() * 8) as u8, 0, 0]);
    message.body(&[TABLE_MAIN, PROTOCOL_STATIC, SCOPE_LINK, UNICAST]).body(&[0; 4]);
    message.attribute(RTA_DST, &host).attribute(RTA_OIF, &index.to_ne_bytes());
    let mut nested = Message(Vec::new());
    for (kind, value) in metrics.attributes() {
        nested.attribute(kind, &value.to_ne_bytes());
    }
    message.attribute(RTA_METRICS, &nested.0);
    message.request()
}

fn family(address: IpAddr) -> u8 {
    if address.is_ipv4() { libc::AF_INET as u8 } else { libc::AF_INET6 as u8 }
}

fn octets(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(v4) => v4.octets().to_vec(),
        IpAddr::V6(v6) => v6.octets().to_vec(),
    }
}

struct Message(Vec<u8>);

impl Message {
    fn new(kind: u16, flags: u16) -> Self {
        let mut bytes = vec![0; HEADER_LEN];
        bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
        bytes[6..8].copy_from_slice(&(flags | FLAG_REQUEST_ACK).to_ne_bytes());
        Message(bytes)
    }

    fn body(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.extend(bytes);
        self
    }

    fn attribute(&mut self, kind: u16, value: &[u8]) -> &mut Self {
        self.0.extend((4 + value.len() as u16).to_ne_bytes());
        self.0.extend(kind.to_ne_bytes());
        self.0.extend(value);
        self.0.resize(self.0.len().next_multiple_of(4), 0);
        self
    }

    /// Sends the request and waits for its answer.
    fn request(&mut self) -> io::Result<()> {
        let len = self.0.len() as u32;
        self.0[..4].copy_from_slice(&len.to_ne_bytes());
        let route = Some(Protocol::from(libc::NETLINK_ROUTE));
        let mut socket = Socket::new(Domain::from(libc::AF_NETLINK), Type::RAW, route)?;
        socket.send(&self.0)?;
        let mut answer = [0; 1024];
        let len = socket.read(&mut answer)?;
        let word = |at: usize| answer[at..at + 4].try_into().expect("four bytes");
        if len < HEADER_LEN + 4 || answer[4..6] != ERROR.to_ne_bytes() {
            return Err(io::Error::other("rtnetlink sent an unexpected answer"));
        }
        match i32::from_ne_bytes(word(HEADER_LEN)) {
            0 => Ok(()),
            error => Err(io::Error::from_raw_os_error(-error)),
        }
    }
}
