//! Tunnels of a mobile network: IP and UDP around GTP-U, and ECN fields of packets that enter and leave.

use std::net::Ipv4Addr;

use etherparse::{NetSlice, SlicedPacket, TransportSlice};
use proptest::prelude::*;
use tidegate_wire::conex::{Conex, Declaration};
use tidegate_wire::gtpu::tunnel::{self, OVERHEAD, Outer, TunnelPath};
use tidegate_wire::gtpu::{Header, MessageKind, mark};
use tidegate_wire::{EcnField, WireError, packet};

const PATH: TunnelPath = TunnelPath {
    source: Ipv4Addr::new(198, 18, 1, 1),
    destination: Ipv4Addr::new(198, 19, 0, 1),
    source_port: 40_000,
};
const ALL: [EcnField; 4] = [EcnField::NotEct, EcnField::Ect1, EcnField::Ect0, EcnField::Ce];

fn enclosed(ecn: EcnField, extensions: &[(u8, &[u8])], payload: &[u8]) -> Vec<u8> {
    let header = Header { kind: MessageKind::Data, teid: 7, sequence: Some(65_535), n_pdu: None };
    let mut out = Vec::new();
    tunnel::enclose(PATH, ecn, header, extensions, payload, &mut out).expect("fits");
    out
}

fn open(bytes: &[u8]) -> Outer {
    tunnel::open(bytes).expect("is a packet").expect("is of a tunnel")
}

/// Whether both checksums equal those computed by another library.
fn checksums_are_right(bytes: &[u8]) -> bool {
    let sliced = SlicedPacket::from_ip(bytes).expect("a packet");
    let (Some(NetSlice::Ipv4(ip)), Some(TransportSlice::Udp(udp))) = (sliced.net, sliced.transport)
    else {
        return false;
    };
    let (ip, header) = (ip.header().to_header(), udp.to_header());
    let computed = header.calc_checksum_ipv4(&ip, udp.payload()).expect("fits");
    ip.calc_header_checksum() == ip.header_checksum && computed == header.checksum
}

#[test]
fn a_packet_comes_out_of_a_tunnel_as_it_went_in() {
    let inner = b"whatever a user sends";
    let bytes = enclosed(EcnField::Ect0, &[], inner);
    assert_eq!(bytes.len(), OVERHEAD + 4 + inner.len(), "four bytes more for the sequence number");
    let outer = open(&bytes);
    assert_eq!(outer.payload(&bytes), inner);
    assert_eq!((outer.message.header.teid, outer.message.header.sequence), (7, Some(65_535)));
    assert_eq!((outer.view.ecn, outer.mark(&bytes)), (EcnField::Ect0, None));
    assert!(outer.is_on(PATH) && !outer.is_on(TunnelPath { source: PATH.destination, ..PATH }));
    assert!(checksums_are_right(&bytes));
}

/// N6 numbers a requirement of RFC 7837 on tunnels. The copy uses the extension header of the re-inserted bits.
#[test]
fn n6_a_copy_of_the_option_takes_the_room_that_is_there() {
    let option = |bits| [6, 0, 0x1E, 1, bits, 1, 1, 0];
    for (bits, re_inserted) in (0..16).flat_map(|bits| [(bits << 4, false), (bits << 4, true)]) {
        let (conex, inner) = (Conex::from_bits(bits), option(bits));
        let with = |conex: Conex| {
            let content = mark::emit(conex);
            enclosed(EcnField::Ect0, &[(mark::EXTENSION, &content)], &inner)
        };
        let copied = mark::with_copy(re_inserted, conex.declaration());
        let (bytes, before) = (with(copied), with(mark::with_copy(re_inserted, None)));
        assert_eq!(bytes.len(), before.len());
        let outer = open(&bytes);
        assert_eq!(outer.payload(&bytes), inner, "the inner one stays");
        let own = conex.declaration().unwrap_or_default();
        let wanted = Declaration { mark: own.mark || re_inserted, ..own };
        assert_eq!(outer.mark(&bytes), Some(Conex::declaring(wanted)));
        assert_eq!(
            open(&before).mark(&before).and_then(Conex::declaration).map(|it| it.mark),
            Some(re_inserted)
        );
    }
}

#[test]
fn a_router_marks_the_outer_header_alone() {
    let mut bytes = enclosed(EcnField::Ect0, &[], &[0x45; 40]);
    let view = open(&bytes).view;
    assert!(packet::set_ce(&mut bytes, &view));
    let marked = open(&bytes);
    assert_eq!((marked.view.ecn, marked.payload(&bytes)), (EcnField::Ce, &[0x45; 40][..]));
    assert!(checksums_are_right(&bytes));
}

#[test]
fn what_is_no_packet_of_a_tunnel_is_passed_over_or_an_error() {
    let mut elsewhere = enclosed(EcnField::Ect0, &[], &[1]);
    elsewhere[23] ^= 1;
    assert_eq!(tunnel::open(&elsewhere), Ok(None), "another port");
    let mut no_gtp = enclosed(EcnField::Ect0, &[], &[1]);
    no_gtp[28] = 0;
    assert_eq!(tunnel::open(&no_gtp), Err(WireError::NotGtpU { flags: 0 }));
    for (stated, error) in [
        (7u16, WireError::HeaderLength { stated: 7, least: 8 }),
        (22, WireError::Truncated { have: 21, need: 22 }),
        (20, WireError::Truncated { have: 12, need: 13 }),
    ] {
        let mut bytes = enclosed(EcnField::Ect0, &[], &[1]);
        bytes[24..26].copy_from_slice(&stated.to_be_bytes());
        assert_eq!(tunnel::open(&bytes), Err(error), "UDP of length {stated}");
    }
}

#[test]
fn what_is_too_long_for_a_packet_is_not_enclosed() {
    let header = Header { kind: MessageKind::Data, teid: 7, sequence: None, n_pdu: None };
    let mut out = vec![1, 2];
    let longest = vec![0; 65_535 - OVERHEAD];
    let one_more = vec![0; longest.len() + 1];
    let error = WireError::TooLong { len: 65_536, most: 65_535 };
    let too_long = tunnel::enclose(PATH, EcnField::Ect0, header, &[], &one_more, &mut out);
    assert_eq!((too_long, &out[..]), (Err(error), &[1, 2][..]));
    out.clear();
    assert_eq!(tunnel::enclose(PATH, EcnField::Ect0, header, &[], &longest, &mut out), Ok(()));
    assert_eq!(open(&out).payload(&out).len(), longest.len());
}

proptest! {
    #[test]
    fn enclosed_packets_are_those_that_another_library_reads(
        ecn in prop::sample::select(ALL.to_vec()),
        payload in prop::collection::vec(any::<u8>(), 0..100),
    ) {
        let bytes = enclosed(ecn, &[], &payload);
        prop_assert!(checksums_are_right(&bytes));
        prop_assert_eq!(open(&bytes).view.ecn, ecn);
    }

    #[test]
    fn the_checksum_follows_a_mark_that_is_re_inserted(
        (before, after) in any::<(u8, u8)>(),
        room_for_more: bool,
        payload in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        let mark_of = |bits| mark::emit(Conex::from_bits(bits));
        let (old, new) = (mark_of(before), mark_of(after));
        let container: (u8, &[u8]) = (0x85, &[0x10, 0x09]);
        let with = |content| {
            let mark: (u8, &[u8]) = (mark::EXTENSION, content);
            let extensions = [container, mark];
            enclosed(EcnField::Ect0, &extensions[usize::from(!room_for_more)..], &payload)
        };
        let mut bytes = with(&old);
        let outer = open(&bytes);
        prop_assert!(outer.write_mark(&mut bytes, Conex::from_bits(after)));
        prop_assert_eq!(outer.mark(&bytes), Some(Conex::from_bits(after)));
        prop_assert_eq!(&bytes, &with(&new));

        // A sender without a checksum writes 0, which is preserved.
        let mut unsummed = with(&old);
        unsummed[26..28].fill(0);
        prop_assert!(outer.write_mark(&mut unsummed, Conex::from_bits(after)));
        prop_assert_eq!(&unsummed[26..28], [0, 0]);
    }

    #[test]
    fn no_bytes_make_it_panic(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        payload in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        let room = mark::emit(Conex::NOT_CONEX);
        let mut bytes = enclosed(EcnField::Ect0, &[(mark::EXTENSION, &room)], &payload);
        for (at, byte) in changes {
            // After the IP header, whose checksum detects every change.
            let at = 20 + at.index(bytes.len() - 20);
            bytes[at] = byte;
        }
        if let Ok(Some(outer)) = tunnel::open(&bytes) {
            let _ = outer.payload(&bytes);
            let _ = outer.write_mark(&mut bytes, Conex::from_bits(0xF0));
            prop_assert!(tunnel::open(&bytes).is_ok());
        }
        let mut cut = bytes.clone();
        cut.truncate(bytes.len() / 2);
        let _ = tunnel::open(&cut);
    }
}
