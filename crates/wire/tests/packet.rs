//! Views and edits of whole packets, compared with packets and parsing results of another library.

use crate::packets;

use etherparse::{NetSlice, SlicedPacket, TransportSlice};
use packets::{Description, Extra, GRE, TCP, UDP, description};
use proptest::prelude::*;
use tidegate_wire::activity::Activity;
use tidegate_wire::packet::{self, Fragment, Ports, Transport, View};
use tidegate_wire::{EcnField, WireError};

fn sample(v6: bool, extra: Vec<Extra>) -> Description {
    let payload = vec![7; 12];
    Description { v6, traffic_class: 0b10, protocol: TCP, ports: (1234, 10_003), extra, payload }
}

/// One packet per IP version, each with an option for activity.
fn samples() -> [Vec<u8>; 2] {
    [false, true].map(|v6| sample(v6, vec![Extra::Activity(0)]).bytes())
}

fn view(bytes: &[u8]) -> View {
    packet::parse(bytes).expect("a packet")
}

/// Whether the checksum of an IPv4 header equals its recomputed value; IPv6 has none.
fn checksum_is_right(bytes: &[u8]) -> bool {
    match SlicedPacket::from_ip(bytes).expect("a packet").net {
        Some(NetSlice::Ipv4(ip)) => {
            let header = ip.header().to_header();
            header.calc_header_checksum() == header.header_checksum
        }
        _ => true,
    }
}

#[test]
fn a_view_has_what_a_forwarder_needs() {
    for (bytes, v6) in samples().iter().zip([false, true]) {
        let view = view(bytes);
        assert_eq!(view.ecn, EcnField::Ect0);
        assert_eq!(view.fragment, Fragment::Whole);
        assert_eq!(view.transport, Transport::Tcp);
        assert_eq!(view.ports, Some(Ports { source: 1234, destination: 10_003 }));
        assert_eq!(view.source.to_string(), if v6 { "2001:2:0:1::1" } else { "198.18.1.1" });
        assert_eq!(view.destination.to_string(), if v6 { "2001:2:0:2::1" } else { "198.19.0.1" });
        assert_eq!((view.len, view.transport_offset), (bytes.len(), bytes.len() - 32));
    }
}

#[test]
fn every_shorter_packet_is_truncated_and_a_longer_one_is_an_error() {
    for bytes in samples() {
        for have in 0..bytes.len() {
            let error = packet::parse(&bytes[..have]).expect_err("truncated");
            assert!(
                matches!(error, WireError::Truncated { have: h, need } if h == have && need > h)
            );
        }
        let longer = [&bytes[..], &[0]].concat();
        let error = WireError::TrailingBytes { have: longer.len(), len: bytes.len() };
        assert_eq!(packet::parse(&longer), Err(error));
    }
}

/// The transport header must be complete even if the IP header states a shorter packet.
#[test]
fn a_packet_that_ends_within_its_transport_header_is_truncated() {
    for v6 in [false, true] {
        for (protocol, header_len) in [(TCP, 20), (UDP, 8)] {
            for have in 0..header_len {
                let mut description = sample(v6, vec![]);
                (description.protocol, description.payload) = (GRE, vec![0; have]);
                let mut bytes = description.bytes();
                if v6 {
                    bytes[6] = protocol;
                } else {
                    bytes[9] = protocol;
                    refresh_checksum(&mut bytes);
                }
                let (have, need) = (bytes.len(), bytes.len() - have + header_len);
                assert_eq!(packet::parse(&bytes), Err(WireError::Truncated { have, need }));
            }
        }
    }
}

#[test]
fn other_versions_and_impossible_lengths_are_errors() {
    for version in (0..16).filter(|version| ![4, 6].contains(version)) {
        let error = WireError::Version { version };
        assert_eq!(packet::parse(&[version << 4; 60]), Err(error));
    }
    let [mut v4, _] = samples();
    v4[2..4].copy_from_slice(&27u16.to_be_bytes());
    refresh_checksum(&mut v4);
    assert_eq!(packet::parse(&v4), Err(WireError::HeaderLength { stated: 27, least: 28 }));
}

#[test]
fn one_wrong_bit_in_an_ipv4_header_is_found() {
    let [bytes, _] = samples();
    for bit in 8..28 * 8 {
        let mut damaged = bytes.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        let error = packet::parse(&damaged).expect_err("damaged");
        assert!(matches!(error, WireError::HeaderChecksum { .. }), "bit {bit}: {error}");
    }
}

/// Beyond the first fragment, apparent ports and options are data of the packet.
#[test]
fn fragments_beyond_the_first_have_no_ports_and_in_ipv6_no_options() {
    let [mut v4, _] = samples();
    // The first has offset 0 and more fragments; the second has an offset.
    for (field, fragment) in [(0x2000u16, Fragment::First), (0x2001, Fragment::Later)] {
        v4[6..8].copy_from_slice(&field.to_be_bytes());
        refresh_checksum(&mut v4);
        let view = view(&v4);
        assert_eq!((view.fragment, view.ports.is_some()), (fragment, fragment == Fragment::First));
        // IPv4 copies the option into each fragment.
        assert_eq!(packet::read_activity(&v4, &view), Ok(Some(Activity::default())));
    }
    let mut v6 = sample(true, vec![Extra::Filling, Extra::Activity(0)]).bytes();
    for (field, fragment) in [(0x0001u16, Fragment::First), (0x0008, Fragment::Later)] {
        v6[42..44].copy_from_slice(&field.to_be_bytes());
        let view = view(&v6);
        let first = fragment == Fragment::First;
        assert_eq!((view.fragment, view.ports.is_some()), (fragment, first));
        assert_eq!(view.transport, if first { Transport::Tcp } else { Transport::Other(60) });
        let activity = first.then(Activity::default);
        assert_eq!(packet::read_activity(&v6, &view), Ok(activity));
    }
}

/// RFC 8200, section 4.1: options before a routing header are for the nodes along the route.
#[test]
fn the_last_destination_options_header_is_the_one() {
    let extra = vec![Extra::Activity(1), Extra::Foreign(4, [0, 0]), Extra::Activity(2)];
    let bytes = sample(true, extra).bytes();
    let found = packet::read_activity(&bytes, &view(&bytes));
    assert_eq!(found, Ok(Some(Activity::from_bits(2))));
}

/// RFC 8200, section 4.3: hop-by-hop options are valid directly after the IPv6 header only.
#[test]
fn hop_by_hop_options_are_passed_at_their_place_alone() {
    let mut bytes = sample(true, vec![Extra::Foreign(0, [0, 0]), Extra::Activity(0)]).bytes();
    bytes[6] = 0;
    assert_eq!(view(&bytes).transport, Transport::Tcp);
    (bytes[6], bytes[40]) = (43, 0);
    assert_eq!(view(&bytes).transport, Transport::Other(0));
}

/// RFC 4302: a write under an authentication header makes the receiver drop the packet.
#[test]
fn authenticated_packets_carry_no_activity() {
    for v6 in [false, true] {
        let mut bytes = sample(v6, vec![Extra::Activity(1)]).bytes();
        bytes[if v6 { 40 } else { 9 }] = 51;
        if !v6 {
            refresh_checksum(&mut bytes);
        }
        let (before, view) = (bytes.clone(), view(&bytes));
        assert_eq!(packet::read_activity(&bytes, &view), Ok(None));
        assert_eq!(packet::write_activity(&mut bytes, &view, Activity::MAX), Ok(false));
        assert_eq!(bytes, before);
    }
}

#[test]
fn edits_of_the_wrong_bytes_neither_panic_nor_write() {
    let views = samples().map(|bytes| view(&bytes));
    for view in &views {
        for len in 0..20 {
            let mut bytes = vec![0xAA; len];
            assert!(!packet::set_ce(&mut bytes, view));
            packet::set_ecn(&mut bytes, view, EcnField::Ce);
            assert!(packet::write_activity(&mut bytes, view, Activity::MAX).is_err());
            assert!(packet::read_activity(&bytes, view).is_err());
            assert_eq!(bytes, vec![0xAA; len]);
        }
    }
}

fn refresh_checksum(bytes: &mut [u8]) {
    let (header, _) = etherparse::Ipv4Header::from_slice(bytes).expect("a header");
    let checksum = header.calc_header_checksum();
    bytes[10..12].copy_from_slice(&checksum.to_be_bytes());
}

proptest! {
    #[test]
    fn a_view_says_what_another_library_reads(description in description()) {
        let bytes = description.bytes();
        let view = view(&bytes);
        let oracle = SlicedPacket::from_ip(&bytes).expect("a packet");
        let (ecn, source, payload) = match oracle.net {
            Some(NetSlice::Ipv4(ip)) => (ip.header().ecn().value(), ip.header().source_addr().into(), ip.payload().payload),
            Some(NetSlice::Ipv6(ip)) => (ip.header().ecn().value(), ip.header().source_addr().into(), ip.payload().payload),
            other => panic!("neither version: {other:?}"),
        };
        prop_assert_eq!((view.ecn as u8, view.source, view.len), (ecn, source, bytes.len()));
        // An atomic fragment, which `Extra::Filling` is in IPv6, is a whole packet (RFC 6946).
        prop_assert_eq!(view.fragment, Fragment::Whole);
        prop_assert_eq!(&bytes[view.transport_offset..], payload);
        let ports = match oracle.transport {
            Some(TransportSlice::Tcp(tcp)) => Some((tcp.source_port(), tcp.destination_port())),
            Some(TransportSlice::Udp(udp)) => Some((udp.source_port(), udp.destination_port())),
            _ => None,
        };
        prop_assert_eq!(view.ports.map(|p| (p.source, p.destination)), ports);
        prop_assert_eq!(packet::read_activity(&bytes, &view), Ok(description.activity()));
    }

    #[test]
    fn set_ce_marks_once_and_touches_nothing_else(description in description()) {
        let before = description.bytes();
        let before_view = view(&before);
        let mut bytes = before.clone();
        let marked = packet::set_ce(&mut bytes, &before_view);
        prop_assert_eq!(marked, before_view.ecn.is_ect());
        prop_assert!(checksum_is_right(&bytes));
        let wanted = EcnField::from_traffic_class(if marked { 0b11 } else { description.traffic_class });
        prop_assert_eq!(view(&bytes).ecn, wanted);

        let once = bytes.clone();
        prop_assert!(!packet::set_ce(&mut bytes, &before_view));
        prop_assert_eq!(&bytes, &once);

        let traffic_class = description.traffic_class | if marked { 0b11 } else { 0 };
        let other = Description { traffic_class, ..description }.bytes();
        prop_assert_eq!(bytes, other);
    }

    #[test]
    fn set_ecn_writes_the_field_and_touches_nothing_else(
        description in description(),
        codepoint in 0..4u8,
    ) {
        let mut bytes = description.bytes();
        let before = view(&bytes);
        packet::set_ecn(&mut bytes, &before, EcnField::from_traffic_class(codepoint));
        let traffic_class = description.traffic_class & !0b11 | codepoint;
        prop_assert_eq!(bytes, Description { traffic_class, ..description }.bytes());
    }

    #[test]
    fn activity_is_written_where_there_is_room_and_nowhere_else(
        description in description(),
        bits: u16,
    ) {
        let mut bytes = description.bytes();
        let view = view(&bytes);
        let has_room = description.activity().is_some();
        prop_assert_eq!(packet::write_activity(&mut bytes, &view, Activity::from_bits(bits)), Ok(has_room));
        let mut wanted = description;
        for extra in &mut wanted.extra {
            if let Extra::Activity(value) = extra {
                *value = bits;
            }
        }
        prop_assert_eq!(bytes, wanted.bytes());
    }

    /// Packets with some bytes changed, so that the inner checks are reached, and truncated anywhere.
    #[test]
    fn no_bytes_make_it_panic(
        description in description(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        len: prop::sample::Index,
        cut: bool,
    ) {
        let mut bytes = description.bytes();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if !description.v6 && bytes[0] >> 4 == 4 && bytes.len() >= usize::from(bytes[0] & 15) * 4 && bytes[0] & 15 >= 5 {
            refresh_checksum(&mut bytes);
        }
        if cut {
            bytes.truncate(len.index(bytes.len()));
        }
        if let Ok(view) = packet::parse(&bytes) {
            let _ = packet::write_activity(&mut bytes, &view, Activity::MAX);
            packet::set_ce(&mut bytes, &view);
            prop_assert!(packet::parse(&bytes).is_ok());
        }
    }

    #[test]
    fn arbitrary_bytes_do_not_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
        let _ = packet::parse(&bytes);
    }
}
