//! Interfaces, addresses and routes by rtnetlink (rtnetlink(7)), in the calling thread's namespace.

use std::io::{self, Read};
use std::net::IpAddr;

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_REPLACE, NLM_F_REQUEST, NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::address::{AddressAttribute, AddressHeaderFlags, AddressMessage};
use netlink_packet_route::link::{LinkAttribute, LinkFlags, LinkMessage};
use netlink_packet_route::route::{
    RouteAttribute, RouteHeader, RouteMessage, RouteMetric, RouteProtocol, RouteScope, RouteType,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use socket2::{Domain, Protocol, Socket, Type};

/// TCP metrics of a route; `None` leaves the kernel's default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Metrics {
    /// Initial window, segments.
    pub initial_window: Option<u32>,
    /// Minimum retransmission timeout, milliseconds.
    pub min_rto_ms: Option<u32>,
    /// 1: ACKs are never delayed.
    pub quick_ack: Option<u32>,
    /// Largest packet, bytes.
    pub mtu: Option<u32>,
}

impl Metrics {
    fn attributes(&self) -> Vec<RouteMetric> {
        let all = [
            self.initial_window.map(RouteMetric::InitCwnd),
            self.min_rto_ms.map(RouteMetric::RtoMin),
            self.quick_ack.map(RouteMetric::QuickAck),
            self.mtu.map(RouteMetric::Mtu),
        ];
        all.into_iter().flatten().collect()
    }
}

/// Sets an interface up.
pub fn set_up(index: u32) -> io::Result<()> {
    let mut message = LinkMessage::default();
    message.header.index = index;
    message.header.flags = LinkFlags::Up;
    message.header.change_mask = LinkFlags::Up;
    request(RouteNetlinkMessage::NewLink(message), 0)
}

/// Sets the MTU, bytes, and the length of the device's transmit queue, packets.
pub fn set_limits(index: u32, mtu: u32, queue: u32) -> io::Result<()> {
    let mut message = LinkMessage::default();
    message.header.index = index;
    message.attributes = vec![LinkAttribute::Mtu(mtu), LinkAttribute::TxQueueLen(queue)];
    request(RouteNetlinkMessage::NewLink(message), 0)
}

/// Sets the largest burst of segments that leave with one header, to be cut by the device.
pub fn set_burst(index: u32, segments: u32) -> io::Result<()> {
    let mut message = LinkMessage::default();
    message.header.index = index;
    message.attributes = vec![LinkAttribute::GsoMaxSegs(segments)];
    request(RouteNetlinkMessage::NewLink(message), 0)
}

/// Gives an interface an address, and a route to the network of `prefix` bits that the address is in.
pub fn add_address(index: u32, address: IpAddr, prefix: u8) -> io::Result<()> {
    let mut message = AddressMessage::default();
    message.header.family = family(address);
    message.header.prefix_len = prefix;
    // Usable immediately: on a link with one neighbour there are no duplicate addresses.
    message.header.flags = AddressHeaderFlags::Nodad;
    message.header.index = index;
    message.attributes = vec![AddressAttribute::Local(address), AddressAttribute::Address(address)];
    request(RouteNetlinkMessage::NewAddress(message), NLM_F_REPLACE | NLM_F_CREATE)
}

/// Sets a route with `metrics` to one host behind an interface.
pub fn set_route(index: u32, to: IpAddr, metrics: &Metrics) -> io::Result<()> {
    let mut message = RouteMessage::default();
    message.header = RouteHeader {
        address_family: family(to),
        destination_prefix_length: if to.is_ipv4() { 32 } else { 128 },
        table: RouteHeader::RT_TABLE_MAIN,
        protocol: RouteProtocol::Static,
        scope: RouteScope::Link,
        kind: RouteType::Unicast,
        ..RouteHeader::default()
    };
    message.attributes = vec![
        RouteAttribute::Destination(to.into()),
        RouteAttribute::Oif(index),
        RouteAttribute::Metrics(metrics.attributes()),
    ];
    request(RouteNetlinkMessage::NewRoute(message), NLM_F_REPLACE | NLM_F_CREATE)
}

fn family(address: IpAddr) -> AddressFamily {
    if address.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 }
}

/// Sends the request and waits for the kernel's acknowledgement.
fn request(message: RouteNetlinkMessage, flags: u16) -> io::Result<()> {
    let mut message = NetlinkMessage::from(message);
    message.header.flags = NLM_F_REQUEST | NLM_F_ACK | flags;
    message.finalize();
    let mut request = vec![0; message.buffer_len()];
    message.serialize(&mut request);
    let route = Some(Protocol::from(libc::NETLINK_ROUTE));
    let mut socket = Socket::new(Domain::from(libc::AF_NETLINK), Type::RAW, route)?;
    socket.send(&request)?;
    let mut answer = [0; 1024];
    let len = socket.read(&mut answer)?;
    let answer = NetlinkMessage::<RouteNetlinkMessage>::deserialize(&answer[..len]);
    match answer.map(|answer| answer.payload) {
        Ok(NetlinkPayload::Error(error)) if error.code.is_none() => Ok(()),
        Ok(NetlinkPayload::Error(error)) => Err(error.to_io()),
        _ => Err(io::Error::other("rtnetlink sent an unexpected answer")),
    }
}
