//! A look at a whole IP packet, IPv4 or IPv6, and what a forwarder may change in it.
//!
//! [`parse`] checks a packet once, from its first byte to its ports, and says what it is in a
//! [`View`]: numbers and places only, so that it can be kept beside the packet while that waits in
//! a queue. The edits ([`set_ce`], [`set_ecn`], [`write_activity`], [`write_conex`]) take the packet and its view,
//! touch nothing but their bits, and keep the IPv4 header's checksum right.

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

/// What a packet is. Lengths and places are in bytes from its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct View {
    /// Address of the sender.
    pub source: IpAddr,
    /// Address of the receiver.
    pub destination: IpAddr,
    /// What it says about congestion.
    pub ecn: EcnField,
    /// Whether it is part of a packet only.
    pub fragment: Fragment,
    /// What it carries.
    pub transport: Transport,
    /// Ports of TCP and UDP; fragments beyond the first have none.
    pub ports: Option<Ports>,
    /// Length of the packet.
    pub len: usize,
    /// Where the transport's header begins, or the data of a fragment beyond the first.
    pub transport_offset: usize,
    /// IPv6: where the last Destination Options header begins. It alone is for the receiver of the
    /// packet; one before a routing header is for the nodes along that route.
    pub destination_options: Option<usize>,
}

/// Whether a packet is part of one only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fragment {
    /// Not a fragment.
    Whole,
    /// The first, with the transport's header.
    First,
    /// One of the others.
    Later,
}

/// The protocol that a packet carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Transport {
    /// Transmission Control Protocol.
    Tcp,
    /// User Datagram Protocol.
    Udp,
    /// Any other, by its number.
    Other(u8),
}

/// The ports of TCP or UDP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ports {
    /// Port of the sender.
    pub source: u16,
    /// Port of the receiver.
    pub destination: u16,
}

/// Looks at the packet that `bytes` are: all of it, and nothing behind it.
pub fn parse(bytes: &[u8]) -> Result<View, WireError> {
    let first = front(bytes, 1)?[0];
    match first >> 4 {
        4 => parse_v4(bytes),
        6 => parse_v6(bytes),
        version => Err(WireError::Version { version }),
    }
}

/// Sets CE where the packet may be marked, that is from ECT(0) or ECT(1). Returns whether it did:
/// `false` also for a packet that is marked already.
pub fn set_ce(bytes: &mut [u8], view: &View) -> bool {
    match view.source {
        IpAddr::V4(_) => ipv4::set_ce(bytes),
        IpAddr::V6(_) => ipv6::set_ce(bytes),
    }
}

/// Writes the ECN field, whatever it was, as the end of a tunnel may (RFC 6040). A queue marks by [`set_ce`].
pub fn set_ecn(bytes: &mut [u8], view: &View, ecn: EcnField) {
    match view.source {
        IpAddr::V4(_) => ipv4::set_ecn(bytes, ecn),
        IpAddr::V6(_) => ipv6::set_ecn(bytes, ecn),
    }
}

/// The activity that the packet carries; `None` where its sender left no room for it, and where an
/// authentication header (RFC 4302) vouches for the options: no meter may have written there.
pub fn read_activity(bytes: &[u8], view: &View) -> Result<Option<Activity>, WireError> {
    match view.options() {
        Options::None => Ok(None),
        Options::V4 => activity::ipv4::parse(bytes),
        Options::V6 { at } => activity::ipv6::parse(bytes.get(at..).unwrap_or_default()),
    }
}

/// Writes `activity` into the room that the sender left. Returns whether there is any, in the sense
/// of [`read_activity`]; after an error nothing has been written.
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

/// What a packet declares (RFC 7837), and the bytes for which it counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeclaredBytes {
    /// What is declared.
    pub declaration: Declaration,
    /// Length of the IPv6 packet in which the option stands, header included (section 4): in a tunnel
    /// the inner one.
    pub counted_len: usize,
}

/// What the packet, or one in up to `tunnels` tunnels around it, declares. `None` where there is no
/// option, where it says that the packet does not take part, and to a group, for which the option has
/// no meaning (RFC 7837, section 4). The outermost option counts. A packet with an error inside, as one
/// of more than 64 KiB, does not take part either; it is worth counting.
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

/// The option that [`read_conex`] goes by as it stands, also where it says that the packet does not take
/// part or contradicts itself, and the bytes for which it counts.
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

/// Writes `conex` into the option that the sender has left for it. Returns whether there is one; under
/// an authentication header (RFC 4302), and to a group, nothing is written.
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

/// Where to look for room.
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

/// The fixed part of the transport's header must be there, in a first fragment too: a shorter one
/// serves to hide what the packet is (RFC 1858, RFC 7112).
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
