//! Devices, addresses and queues: the requests to rtnetlink(7) that the gateway needs. They act on the calling thread's
//! network namespace.

use std::io::{self, Read};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use socket2::{Domain, Protocol, Socket, Type};

// Of linux/rtnetlink.h, linux/if_link.h and linux/gen_stats.h.
const RTM_GETLINK: u16 = 18;
const RTM_GETADDR: u16 = 22;
const RTM_DELQDISC: u16 = 37;
const RTM_GETQDISC: u16 = 38;
const RTM_NEWTFILTER: u16 = 44;
const RTM_GETTFILTER: u16 = 46;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const FLAG_REQUEST: u16 = 0x1;
const FLAG_ACK: u16 = 0x4;
/// The answer to a request for a qdisc goes to all that watch the group, and with this flag to the requester.
const FLAG_ECHO: u16 = 0x8;
const FLAG_DUMP: u16 = 0x300;
const HEADER_LEN: usize = 16;
const AF_NETLINK: i32 = 16;

const IFLA_IFNAME: u16 = 3;
const IFLA_MTU: u16 = 4;
const IFLA_QDISC: u16 = 6;
const IFLA_MASTER: u16 = 10;
const IFLA_LINKINFO: u16 = 18;
const IFLA_INFO_KIND: u16 = 1;
const IFLA_XDP: u16 = 43;
const IFLA_XDP_ATTACHED: u16 = 2;
const IFA_ADDRESS: u16 = 1;
const IFA_LOCAL: u16 = 2;
const TCA_KIND: u16 = 1;
const TCA_STATS2: u16 = 7;
const TCA_STATS_BASIC: u16 = 1;
const TCA_STATS_QUEUE: u16 = 3;
const TC_H_ROOT: u32 = u32::MAX;
const TC_H_CLSACT: u32 = 0xffff_fff1;
const TC_H_INGRESS_FILTERS: u32 = 0xffff_fff2;
const TC_H_EGRESS_FILTERS: u32 = 0xffff_fff3;
const CLSACT_HANDLE: u32 = 0xffff_0000;
const IFF_UP: u32 = 1;
const ARPHRD_ETHER: u16 = 1;
const ETHERNET_HEADER: u64 = 14;

/// A device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// Its number.
    pub index: u32,
    /// Its name.
    pub name: String,
    /// Whether it is up.
    pub is_up: bool,
    /// Bytes before the IP header: Ethernet's, or none.
    pub link_header: u64,
    /// Largest packet, bytes.
    pub mtu: u32,
    /// Root qdisc.
    pub qdisc: String,
    /// What kind of virtual device: veth, bridge, bond, vlan; empty for a card.
    pub kind: String,
    /// Number of the bridge or bond that it belongs to.
    pub master: Option<u32>,
    /// Whether an XDP program sees its packets first.
    pub has_xdp: bool,
}

/// The root queue of a device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Queue {
    /// tbf, htb, mq, pfifo_fast and so on.
    pub kind: String,
    /// Its number.
    pub handle: u32,
    /// Bytes that have left.
    pub sent_bytes: u64,
    /// Packets that have left.
    pub sent_packets: u64,
    /// Bytes that wait.
    pub backlog_bytes: u64,
    /// Packets that were dropped.
    pub dropped_packets: u64,
}

/// A socket for requests.
#[derive(Debug)]
pub struct Netlink {
    socket: Socket,
    buffer: Vec<u8>,
    sequence: u32,
}

impl Netlink {
    /// Opens a socket.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn open() -> io::Result<Netlink> {
        let socket = Socket::new(Domain::from(AF_NETLINK), Type::RAW, Some(Protocol::from(0)))?;
        socket.set_read_timeout(Some(Duration::from_secs(2)))?;
        Ok(Netlink { socket, buffer: vec![0; 1 << 18], sequence: 0 })
    }

    /// The device of this name; `None` if there is none.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn device(&mut self, name: &str) -> io::Result<Option<Device>> {
        let mut body = vec![0; 16];
        let mut text = name.as_bytes().to_vec();
        text.push(0);
        attribute(&mut body, IFLA_IFNAME, &text);
        self.find_device(&body)
    }

    /// The device of this number; `None` if there is none.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn device_at(&mut self, index: u32) -> io::Result<Option<Device>> {
        let mut body = vec![0; 16];
        body[4..8].copy_from_slice(&index.to_ne_bytes());
        self.find_device(&body)
    }

    fn find_device(&mut self, body: &[u8]) -> io::Result<Option<Device>> {
        match self.ask(RTM_GETLINK, 0, body) {
            Ok(answers) => Ok(answers.first().and_then(|(_, answer)| read_device(answer))),
            // A name that is too long for a device is no device's either.
            Err(error)
                if [Some(ENODEV), Some(ERANGE), Some(EINVAL)].contains(&error.raw_os_error()) =>
            {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// All addresses of this box.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn addresses(&mut self) -> io::Result<Vec<IpAddr>> {
        let answers = self.ask(RTM_GETADDR, FLAG_DUMP, &[0; 8])?;
        Ok(answers.iter().filter_map(|(_, answer)| read_address(answer)).collect())
    }

    /// The root queue of a device; `None` if it has none.
    ///
    /// # Errors
    /// If the device is gone, or the kernel refuses.
    pub fn queue(&mut self, index: u32) -> io::Result<Option<Queue>> {
        // Of noqueue the kernel says nothing, so that an acknowledgement has to tell the end.
        match self.ask(RTM_GETQDISC, FLAG_ACK | FLAG_ECHO, &tc_header(index, 0, TC_H_ROOT)) {
            Ok(answers) => {
                let queue = answers.first().map(|(_, answer)| read_queue(answer));
                Ok(queue.filter(|queue| !["noqueue", "noop"].contains(&queue.kind.as_str())))
            }
            Err(error) if [Some(EINVAL), Some(ENOENT)].contains(&error.raw_os_error()) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Removes the clsact qdisc of a device if no filter is left at it. Returns whether it did.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn remove_idle_clsact(&mut self, index: u32) -> io::Result<bool> {
        for parent in [TC_H_INGRESS_FILTERS, TC_H_EGRESS_FILTERS] {
            let filters = self.ask(RTM_GETTFILTER, FLAG_DUMP, &tc_header(index, 0, parent))?;
            if filters.iter().any(|(kind, _)| *kind == RTM_NEWTFILTER) {
                return Ok(false);
            }
        }
        self.ask(RTM_DELQDISC, FLAG_ACK, &tc_header(index, CLSACT_HANDLE, TC_H_CLSACT))?;
        Ok(true)
    }

    /// Sends a request and collects the bodies of its answers, each with its type.
    fn ask(&mut self, kind: u16, flags: u16, body: &[u8]) -> io::Result<Vec<(u16, Vec<u8>)>> {
        self.sequence = self.sequence.wrapping_add(1);
        let mut message = Vec::with_capacity(HEADER_LEN + body.len());
        message.extend(((HEADER_LEN + body.len()) as u32).to_ne_bytes());
        message.extend(kind.to_ne_bytes());
        message.extend((FLAG_REQUEST | flags).to_ne_bytes());
        message.extend(self.sequence.to_ne_bytes());
        message.extend([0; 4]);
        message.extend(body);
        self.socket.send(&message)?;
        let mut answers = Vec::new();
        loop {
            let length = (&self.socket).read(&mut self.buffer)?;
            let mut rest = &self.buffer[..length];
            while let Some((kind, sequence, answer, after)) = next_message(rest) {
                rest = after;
                if sequence != self.sequence {
                    continue; // of a request whose answer came too late
                }
                match kind {
                    NLMSG_DONE => return Ok(answers),
                    NLMSG_ERROR => {
                        let code = answer.first_chunk().map_or(0, |code| i32::from_ne_bytes(*code));
                        return match code {
                            0 => Ok(answers),
                            code => Err(io::Error::from_raw_os_error(-code)),
                        };
                    }
                    kind => answers.push((kind, answer.to_vec())),
                }
                if flags & (FLAG_DUMP | FLAG_ACK) == 0 {
                    return Ok(answers);
                }
            }
        }
    }
}

const ENOENT: i32 = 2;
const ENODEV: i32 = 19;
const EINVAL: i32 = 22;
const ERANGE: i32 = 34;

/// Type, sequence number, body, and what comes after.
fn next_message(bytes: &[u8]) -> Option<(u16, u32, &[u8], &[u8])> {
    let length = u32::from_ne_bytes(*bytes.first_chunk()?) as usize;
    let body = bytes.get(HEADER_LEN..length)?;
    let kind = u16::from_ne_bytes([bytes[4], bytes[5]]);
    let sequence = u32::from_ne_bytes([bytes[8], bytes[9], bytes[10], bytes[11]]);
    let rest = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
    Some((kind, sequence, body, rest))
}

fn attribute(body: &mut Vec<u8>, kind: u16, value: &[u8]) {
    body.extend(((4 + value.len()) as u16).to_ne_bytes());
    body.extend(kind.to_ne_bytes());
    body.extend(value);
    body.resize(body.len().next_multiple_of(4), 0);
}

/// `struct tcmsg`.
fn tc_header(index: u32, handle: u32, parent: u32) -> Vec<u8> {
    let mut body = vec![0; 4];
    for word in [index, handle, parent, 0] {
        body.extend(word.to_ne_bytes());
    }
    body
}

/// Attributes by number.
fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let length = u16::from_ne_bytes(*bytes.first_chunk()?) as usize;
        let kind = u16::from_ne_bytes([*bytes.get(2)?, *bytes.get(3)?]) & 0x3fff;
        let value = bytes.get(4..length)?;
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, value))
    })
}

fn word(bytes: &[u8]) -> u32 {
    bytes.first_chunk().map_or(0, |word| u32::from_ne_bytes(*word))
}

fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

fn read_device(body: &[u8]) -> Option<Device> {
    let header = body.first_chunk::<16>()?;
    let kind = u16::from_ne_bytes([header[2], header[3]]);
    let mut device = Device {
        index: word(&header[4..]),
        name: String::new(),
        is_up: word(&header[8..]) & IFF_UP != 0,
        link_header: if kind == ARPHRD_ETHER { ETHERNET_HEADER } else { 0 },
        mtu: 0,
        qdisc: String::new(),
        kind: String::new(),
        master: None,
        has_xdp: false,
    };
    for (kind, value) in attributes(&body[16..]) {
        match kind {
            IFLA_IFNAME => device.name = text(value),
            IFLA_MTU => device.mtu = word(value),
            IFLA_QDISC => device.qdisc = text(value),
            IFLA_MASTER => device.master = Some(word(value)),
            IFLA_LINKINFO => {
                let kind = attributes(value).find(|(kind, _)| *kind == IFLA_INFO_KIND);
                device.kind = kind.map(|(_, name)| text(name)).unwrap_or_default();
            }
            IFLA_XDP => {
                let attached = attributes(value).find(|(kind, _)| *kind == IFLA_XDP_ATTACHED);
                device.has_xdp =
                    attached.is_some_and(|(_, mode)| mode.first().is_some_and(|mode| *mode != 0));
            }
            _ => {}
        }
    }
    Some(device)
}

fn read_address(body: &[u8]) -> Option<IpAddr> {
    let all: Vec<_> = attributes(body.get(8..)?).collect();
    let find = |wanted| all.iter().find(|(kind, _)| *kind == wanted).map(|(_, value)| *value);
    // The one of this end, where the link has two ends with an address each.
    let value = find(IFA_LOCAL).or_else(|| find(IFA_ADDRESS))?;
    if let Ok(octets) = <[u8; 4]>::try_from(value) {
        return Some(Ipv4Addr::from(octets).into());
    }
    <[u8; 16]>::try_from(value).ok().map(|octets| Ipv6Addr::from(octets).into())
}

fn read_queue(body: &[u8]) -> Queue {
    let mut queue = Queue { handle: word(body.get(8..).unwrap_or_default()), ..Queue::default() };
    for (kind, value) in attributes(body.get(20..).unwrap_or_default()) {
        match kind {
            TCA_KIND => queue.kind = text(value),
            TCA_STATS2 => {
                for (kind, value) in attributes(value) {
                    match kind {
                        TCA_STATS_BASIC => {
                            let bytes = value.first_chunk();
                            queue.sent_bytes = bytes.map_or(0, |bytes| u64::from_ne_bytes(*bytes));
                            queue.sent_packets = word(value.get(8..).unwrap_or_default()).into();
                        }
                        TCA_STATS_QUEUE => {
                            queue.backlog_bytes = word(value.get(4..).unwrap_or_default()).into();
                            queue.dropped_packets = word(value.get(8..).unwrap_or_default()).into();
                        }
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    queue
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_device_and_its_address_are_read() {
        let mut netlink = Netlink::open().expect("anyone may ask");
        let device = netlink.device("lo").expect("it answers").expect("there is one");
        assert_eq!(device.name, "lo");
        assert!(device.index > 0);
        assert_eq!(netlink.device("no-such-device").expect("it answers"), None);
        assert_eq!(netlink.device("a-name-that-is-too-long").expect("it answers"), None);
        if device.is_up {
            let addresses = netlink.addresses().expect("it answers");
            assert!(addresses.iter().any(|address| address.is_loopback()), "{addresses:?}");
        }
    }

    #[test]
    fn messages_that_are_cut_off_are_read_without_panic() {
        let mut body = vec![0; 16];
        attribute(&mut body, IFLA_IFNAME, b"eth0\0");
        attribute(&mut body, IFLA_LINKINFO, &[8, 0, 1, 0, b'v', b'e']);
        for end in 0..body.len() {
            let _ = read_device(&body[..end]);
            let _ = read_address(&body[..end]);
            let _ = read_queue(&body[..end]);
            let _ = next_message(&body[..end]);
        }
    }
}
