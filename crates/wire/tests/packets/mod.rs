//! Packets for the tests: a description, and the bytes that another library builds from it.

use etherparse::{Ipv4Header, Ipv4Options, TcpHeader, UdpHeader};
use proptest::prelude::*;
use tidegate_wire::activity::{self, Activity};

/// Description of a packet. `extra` is a list of options (IPv4) or of extension headers (IPv6).
#[derive(Clone, Debug)]
pub struct Description {
    pub v6: bool,
    pub traffic_class: u8,
    pub protocol: u8,
    pub ports: (u16, u16),
    pub extra: Vec<Extra>,
    pub payload: Vec<u8>,
}

/// An option or an extension header.
#[derive(Clone, Debug)]
pub enum Extra {
    /// Activity with these bits.
    Activity(u16),
    /// IPv4: an option of that type and data. IPv6: a routing header of 8 bytes.
    Foreign(u8, [u8; 2]),
    /// IPv4: a byte of padding. IPv6: an atomic fragment header.
    Filling,
}

pub const TCP: u8 = 6;
pub const UDP: u8 = 17;
/// Generic routing encapsulation, representing all protocols without ports.
pub const GRE: u8 = 47;

pub fn description() -> impl Strategy<Value = Description> {
    let extra = prop_oneof![
        any::<u16>().prop_map(Extra::Activity),
        (2u8..30, any::<[u8; 2]>()).prop_map(|(kind, data)| Extra::Foreign(kind, data)),
        Just(Extra::Filling),
    ];
    // At most one activity, as a valid packet has.
    let extras = prop::collection::vec(extra, 0..5).prop_map(|mut extras| {
        let mut seen = false;
        extras.retain(|extra| {
            !matches!(extra, Extra::Activity(_)) || !std::mem::replace(&mut seen, true)
        });
        extras
    });
    let payload = prop::collection::vec(any::<u8>(), 0..40);
    let protocol = prop::sample::select(vec![TCP, UDP, GRE]);
    (any::<bool>(), any::<u8>(), protocol, any::<(u16, u16)>(), extras, payload).prop_map(
        |(v6, traffic_class, protocol, ports, extra, payload)| Description {
            v6,
            traffic_class,
            protocol,
            ports,
            extra,
            payload,
        },
    )
}

impl Description {
    pub fn bytes(&self) -> Vec<u8> {
        if self.v6 { self.v6() } else { self.v4() }
    }

    /// Returns the activity in the description.
    pub fn activity(&self) -> Option<Activity> {
        self.extra.iter().find_map(|extra| match extra {
            Extra::Activity(bits) => Some(Activity::from_bits(*bits)),
            _ => None,
        })
    }

    fn v4(&self) -> Vec<u8> {
        let body = self.transport();
        let mut options: Vec<u8> = self.extra.iter().flat_map(v4_option).collect();
        options.resize(options.len().next_multiple_of(4), 0);
        let mut header = Ipv4Header {
            dscp: etherparse::IpDscp::try_new(self.traffic_class >> 2).expect("six bits"),
            ecn: etherparse::IpEcn::try_new(self.traffic_class & 0b11).expect("two bits"),
            total_len: (20 + options.len() + body.len()) as u16,
            time_to_live: 64,
            protocol: self.protocol.into(),
            source: [198, 18, 1, 1],
            destination: [198, 19, 0, 1],
            options: Ipv4Options::try_from(&options[..]).expect("at most 40 bytes"),
            ..Ipv4Header::default()
        };
        header.header_checksum = header.calc_header_checksum();
        [&header.to_bytes()[..], &body].concat()
    }

    fn v6(&self) -> Vec<u8> {
        let mut next = self.protocol;
        let mut rest = self.transport();
        for extra in self.extra.iter().rev() {
            let (kind, header) = v6_extension(extra, next);
            rest = [&header[..], &rest].concat();
            next = kind;
        }
        let word = 0x6000_0000 | u32::from(self.traffic_class) << 20;
        let mut header = word.to_be_bytes().to_vec();
        header.extend((rest.len() as u16).to_be_bytes());
        header.extend([next, 64]);
        for host in [1, 2] {
            header.extend([0x20, 0x01, 0, 2, 0, 0, 0, host, 0, 0, 0, 0, 0, 0, 0, 1]);
        }
        [header, rest].concat()
    }

    fn transport(&self) -> Vec<u8> {
        let (source, destination) = self.ports;
        let header = match self.protocol {
            TCP => TcpHeader::new(source, destination, 1, 65535).to_bytes().to_vec(),
            UDP => {
                let length = (8 + self.payload.len()) as u16;
                let header = UdpHeader {
                    source_port: source,
                    destination_port: destination,
                    length,
                    checksum: 0,
                };
                header.to_bytes().to_vec()
            }
            _ => Vec::new(),
        };
        [&header[..], &self.payload].concat()
    }
}

fn v4_option(extra: &Extra) -> Vec<u8> {
    match extra {
        // Without its padding, so that more options may follow.
        Extra::Activity(bits) => activity::ipv4::emit(Activity::from_bits(*bits))[..6].to_vec(),
        Extra::Foreign(kind, [a, b]) => vec![*kind, 4, *a, *b],
        Extra::Filling => vec![1],
    }
}

fn v6_extension(extra: &Extra, next: u8) -> (u8, [u8; 8]) {
    match extra {
        Extra::Activity(bits) => (60, activity::ipv6::emit(next, Activity::from_bits(*bits))),
        Extra::Foreign(kind, [a, b]) => (43, [next, 0, *kind, 0, *a, *b, 0, 0]),
        Extra::Filling => (44, [next, 0, 0, 0, 1, 2, 3, 4]),
    }
}
