//! Parsing of whole IP packets, IPv4 or IPv6, and the edits that a forwarder may make.
//!
//! [`parse`] checks a packet once, from its first byte to its ports, and returns a [`View`]: numbers and offsets only,
//! so that it can be stored beside the packet in a queue. The edits ([`set_ce`], [`set_ecn`], [`write_activity`],
//! [`write_conex`]) take the packet and its view, change their own bits only, and keep the IPv4 header checksum
//! correct.

use std::net::IpAddr;

use crate::activity::{self, Activity};
use crate::conex::{Cdo, Conex, Declaration};
use crate::error::front;
use crate::{EcnField, WireError, ipv4, ipv6};

const TCP: u8 = 6;
const UDP: u8 = 17;
const AUTHENTICATION_HEADER: u8 = 51;
const IPV4_IN_IP: u8 = 4;
const IPV6_IN_IP: u8 = 41;
const TCP_HEADER_LEN: usize = 20;
const UDP_HEADER_LEN: usize = 8;

/// Parsed fields of a packet. Lengths and offsets are in bytes from its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct View {
    /// Source address.
    pub source: IpAddr,
    /// Destination address.
    pub destination: IpAddr,
    /// ECN field.
    pub ecn: EcnField,
    /// Whether the packet is a fragment.
    pub fragment: Fragment,
    /// Transport protocol.
    pub transport: Transport,
    /// Ports of TCP and UDP; fragments beyond the first have none.
    pub ports: Option<Ports>,
    /// Length of the packet.
    pub len: usize,
    /// Offset of the transport header, or of the data of a fragment beyond the first.
    pub transport_offset: usize,
    /// IPv6: offset of the last Destination Options header. Only this one is for the receiver of the packet; one before
    /// a routing header is for the nodes along that route.
    pub destination_options: Option<usize>,
}

/// Position of a packet among the fragments of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fragment {
    /// Not a fragment.
    Whole,
    /// First fragment, with the transport header.
    First,
    /// Any fragment beyond the first.
    Later,
}

/// Transport protocol of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Transport {
    /// Transmission Control Protocol.
    Tcp,
    /// User Datagram Protocol.
    Udp,
    /// Any other, by its number.
    Other(u8),
}

/// Ports of TCP or UDP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ports {
    /// Source port.
    pub source: u16,
    /// Destination port.
    pub destination: u16,
}

/// Parses a packet that consists of all of `bytes`.
pub fn parse(bytes: &[u8]) -> Result<View, WireError> {
    let first = front(bytes, 1)?[0];
    match first >> 4 {
        4 => parse_v4(bytes),
        6 => parse_v6(bytes),
        version => Err(WireError::Version { version }),
    }
}

/// Sets CE on a packet with ECT(0) or ECT(1). Returns whether it did: `false` also for a packet that is already marked.
pub fn set_ce(bytes: &mut [u8], view: &View) -> bool {
    match view.source {
        IpAddr::V4(_) => ipv4::set_ce(bytes),
        IpAddr::V6(_) => ipv6::set_ce(bytes),
    }
}

/// Writes the ECN field regardless of its value, as the end of a tunnel may (RFC 6040). A queue marks by [`set_ce`].
pub fn set_ecn(bytes: &mut [u8], view: &View, ecn: EcnField) {
    match view.source {
        IpAddr::V4(_) => ipv4::set_ecn(bytes, ecn),
        IpAddr::V6(_) => ipv6::set_ecn(bytes, ecn),
    }
}

/// Returns the activity that the packet carries; `None` without the option, and under an authentication header (RFC
/// 4302), which covers the options: no meter may have written there.
pub fn read_activity(bytes: &[u8], view: &View) -> Result<Option<Activity>, WireError> {
    match view.options() {
        Options::None => Ok(None),
        Options::V4 => activity::ipv4::parse(bytes),
        Options::V6 { at } => activity::ipv6::parse(bytes.get(at..).unwrap_or_default()),
    }
}

/// Writes `activity` into the option reserved by the sender. Returns whether it exists, in the sense of
/// [`read_activity`]; nothing is written on an error.
pub fn write_activity(
    bytes: &mut [u8],
    view: &View,
    activity: Activity,
) -> Result<bool, WireError> {
    match view.options() {
        Options::None => Ok(false),
        Options::V4 => activity::ipv4::write(bytes, activity),
        Options::V6 { at } => {
            activity::ipv6::write(bytes.get_mut(at..).unwrap_or_default(), activity)
        }
    }
}

/// Declaration of a packet (RFC 7837), and the bytes for which it counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeclaredBytes {
    /// Declared signals.
    pub declaration: Declaration,
    /// Length of the IPv6 packet that contains the option, header included (section 4); in a tunnel, of the inner
    /// packet.
    pub counted_len: usize,
}

/// Returns the declaration of the packet, or of a packet in up to `tunnels` tunnels. Returns `None` without the option,
/// if the option says that the packet is not ConEx-capable, and for a multicast destination, for which the option has
/// no meaning (RFC 7837, section 4). The outermost option counts. A packet with an error inside, such as one of more
/// than 64 KiB, is treated as not ConEx-capable; callers may count it.
pub fn read_conex(
    bytes: &[u8],
    view: &View,
    cdo: Cdo,
    tunnels: usize,
) -> Result<Option<DeclaredBytes>, WireError> {
    let found = find_conex(bytes, view, cdo, tunnels)?;
    Ok(found.and_then(|(conex, counted_len)| {
        let declared = |declaration| DeclaredBytes { declaration, counted_len };
        conex.declaration().map(declared)
    }))
}

/// Returns the option used by [`read_conex`] unchanged, even if it says that the packet is not ConEx-capable or is
/// invalid, and the bytes for which it counts.
pub fn find_conex(
    bytes: &[u8],
    view: &View,
    cdo: Cdo,
    tunnels: usize,
) -> Result<Option<(Conex, usize)>, WireError> {
    if view.is_multicast() {
        return Ok(None);
    }
    if let Some(at) = view.destination_options
        && let Some(conex) = cdo.parse(bytes.get(at..).unwrap_or_default())?
    {
        return Ok(Some((conex, view.len)));
    }
    match view.transport {
        Transport::Other(IPV4_IN_IP | IPV6_IN_IP)
            if tunnels > 0 && view.fragment == Fragment::Whole =>
        {
            let inner = bytes.get(view.transport_offset..).unwrap_or_default();
            find_conex(inner, &parse(inner)?, cdo, tunnels - 1)
        }
        _ => Ok(None),
    }
}

/// Writes `conex` into the option reserved by the sender. Returns whether it exists; nothing is written under an
/// authentication header (RFC 4302) or for a multicast destination.
pub fn write_conex(
    bytes: &mut [u8],
    view: &View,
    cdo: Cdo,
    conex: Conex,
) -> Result<bool, WireError> {
    match view.options() {
        Options::V6 { at } if !view.is_multicast() => {
            cdo.write(bytes.get_mut(at..).unwrap_or_default(), conex)
        }
        _ => Ok(false),
    }
}

/// Location of the options in a packet.
enum Options {
    None,
    V4,
    V6 { at: usize },
}

impl View {
    fn is_multicast(&self) -> bool {
        self.destination.is_multicast()
    }

    fn options(&self) -> Options {
        match (self.source, self.destination_options) {
            _ if self.transport == Transport::Other(AUTHENTICATION_HEADER) => Options::None,
            (IpAddr::V4(_), _) => Options::V4,
            (IpAddr::V6(_), Some(at)) => Options::V6 { at },
            (IpAddr::V6(_), None) => Options::None,
        }
    }
}

fn parse_v4(bytes: &[u8]) -> Result<View, WireError> {
    let header = ipv4::parse(bytes)?;
    check_len(bytes, header.total_len)?;
    let transport = Transport::from(header.protocol);
    Ok(View {
        source: header.source.into(),
        destination: header.destination.into(),
        ecn: header.ecn,
        fragment: header.fragment,
        transport,
        ports: ports(bytes, header.header_len, transport, header.fragment)?,
        len: header.total_len,
        transport_offset: header.header_len,
        destination_options: None,
    })
}

fn parse_v6(bytes: &[u8]) -> Result<View, WireError> {
    let header = ipv6::parse(bytes)?;
    check_len(bytes, header.total_len)?;
    let extensions = ipv6::extensions(bytes, header.next_header)?;
    let transport = Transport::from(extensions.protocol);
    Ok(View {
        source: header.source.into(),
        destination: header.destination.into(),
        ecn: header.ecn,
        fragment: extensions.fragment,
        transport,
        ports: ports(bytes, extensions.end, transport, extensions.fragment)?,
        len: header.total_len,
        transport_offset: extensions.end,
        destination_options: extensions.destination_options,
    })
}

fn check_len(bytes: &[u8], len: usize) -> Result<(), WireError> {
    let have = front(bytes, len).map(|_| bytes.len())?;
    if have > len { Err(WireError::TrailingBytes { have, len }) } else { Ok(()) }
}

/// Returns the ports. The fixed part of the transport header must be present, in a first fragment too: a shorter one
/// can hide the packet's content (RFC 1858, RFC 7112).
fn ports(
    packet: &[u8],
    at: usize,
    transport: Transport,
    fragment: Fragment,
) -> Result<Option<Ports>, WireError> {
    let header_len = match transport {
        _ if fragment == Fragment::Later => return Ok(None),
        Transport::Tcp => TCP_HEADER_LEN,
        Transport::Udp => UDP_HEADER_LEN,
        Transport::Other(_) => return Ok(None),
    };
    let header = &front(packet, at + header_len)?[at..];
    Ok(Some(Ports {
        source: u16::from_be_bytes([header[0], header[1]]),
        destination: u16::from_be_bytes([header[2], header[3]]),
    }))
}

impl From<u8> for Transport {
    fn from(protocol: u8) -> Self {
        match protocol {
            TCP => Transport::Tcp,
            UDP => Transport::Udp,
            other => Transport::Other(other),
        }
    }
}
