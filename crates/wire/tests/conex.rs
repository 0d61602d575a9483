//! Declarations of whole packets (RFC 7837), in tunnels too. N1 to N7 number the requirements of the RFC on nodes along
//! the path.

use tidegate_wire::conex::{Cdo, Conex, Declaration};
use tidegate_wire::packet::{self, DeclaredBytes, View};
use tidegate_wire::{WireError, activity};

const TCP: u8 = 6;
const AUTHENTICATION: u8 = 51;
const IPV6_IN_IP: u8 = 41;
const IPV4_IN_IP: u8 = 4;
const DESTINATION_OPTIONS: u8 = 60;

const LOSS: Declaration = Declaration { loss: true, mark: false, credit: false };
const MARK: Declaration = Declaration { loss: false, mark: true, credit: false };

fn cdo(next: u8, conex: Conex) -> Vec<u8> {
    Cdo::default().emit(next, conex).to_vec()
}

fn ipv6(to: u8, next: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0x60, 0, 0, 0, 0, 0, next, 64];
    bytes[4..6].copy_from_slice(&(body.len() as u16).to_be_bytes());
    bytes.extend([0x20, 1, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1]);
    bytes.extend([to, 1, 0, 2, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 1]);
    [&bytes, body].concat()
}

fn ipv4(protocol: u8, body: &[u8]) -> Vec<u8> {
    let (from, to) = ([198, 18, 1, 1], [198, 19, 0, 1]);
    let mut header = etherparse::Ipv4Header::new(body.len() as u16, 64, protocol.into(), from, to)
        .expect("fits");
    header.header_checksum = header.calc_header_checksum();
    [&header.to_bytes()[..], body].concat()
}

/// Returns a TCP header and a hundred bytes.
fn segment() -> Vec<u8> {
    let mut bytes = vec![0; 120];
    bytes[12] = 0x50;
    bytes
}

/// First byte of a unicast destination.
const HOST: u8 = 0x20;
/// First byte of a multicast destination.
const GROUP: u8 = 0xFF;

fn declaring(to: u8, conex: Conex) -> Vec<u8> {
    ipv6(to, DESTINATION_OPTIONS, &[cdo(TCP, conex), segment()].concat())
}

fn view(bytes: &[u8]) -> View {
    packet::parse(bytes).expect("is a packet")
}

fn read(bytes: &[u8], tunnels: usize) -> Result<Option<DeclaredBytes>, WireError> {
    packet::read_conex(bytes, &view(bytes), Cdo::default(), tunnels)
}

#[test]
fn n2_a_packet_with_x_0_is_outside_whatever_else_it_says() {
    for bits in [0x00, 0x10, 0x70, 0x7F] {
        assert_eq!(read(&declaring(HOST, Conex::from_bits(bits)), 0), Ok(None));
    }
}

#[test]
fn n3_the_packet_counts_with_its_ipv6_header_and_all_behind_it() {
    let bytes = declaring(HOST, Conex::declaring(MARK));
    let declared = DeclaredBytes { declaration: MARK, counted_len: 40 + 8 + 120 };
    assert_eq!(read(&bytes, 0), Ok(Some(declared)));
    let all = Declaration { loss: true, mark: true, credit: true };
    let bytes = declaring(HOST, Conex::declaring(all));
    assert_eq!(read(&bytes, 0).map(|found| found.map(|it| it.declaration)), Ok(Some(all)));
}

#[test]
fn n4_to_a_group_nothing_is_declared_nor_written() {
    let mut bytes = declaring(GROUP, Conex::declaring(MARK));
    assert_eq!(read(&bytes, 0), Ok(None));
    let (before, view) = (bytes.clone(), view(&bytes));
    let written = packet::write_conex(&mut bytes, &view, Cdo::default(), Conex::declaring(LOSS));
    assert_eq!(written, Ok(false));
    assert_eq!(bytes, before);
}

#[test]
fn n5_inner_headers_are_searched_as_deep_as_is_asked() {
    let inner = declaring(HOST, Conex::declaring(MARK));
    let declared = Some(DeclaredBytes { declaration: MARK, counted_len: inner.len() });
    let outer = ipv6(HOST, IPV6_IN_IP, &inner);
    let outermost = ipv4(IPV6_IN_IP, &outer);
    for (bytes, depth) in [(inner, 0), (outer, 1), (outermost, 2)] {
        assert_eq!(read(&bytes, depth), Ok(declared));
        if let Some(less) = depth.checked_sub(1) {
            assert_eq!(read(&bytes, less), Ok(None));
        }
    }
}

/// The outer option is found first; a difference between inner and outer option does no harm.
#[test]
fn n6_the_outer_option_counts_in_transit() {
    let inner = declaring(HOST, Conex::declaring(MARK));
    let outer = [cdo(IPV6_IN_IP, Conex::declaring(LOSS)), inner.clone()].concat();
    let bytes = ipv6(HOST, DESTINATION_OPTIONS, &outer);
    let declared = DeclaredBytes { declaration: LOSS, counted_len: bytes.len() };
    assert_eq!(read(&bytes, 3), Ok(Some(declared)));
    let outside = [cdo(IPV6_IN_IP, Conex::NOT_CONEX), inner].concat();
    assert_eq!(read(&ipv6(HOST, DESTINATION_OPTIONS, &outside), 3), Ok(None));
}

/// An authentication header covers the option in front of it: the option is read, never written.
#[test]
fn under_an_authentication_header_it_is_read_and_not_written() {
    let body = [cdo(AUTHENTICATION, Conex::declaring(MARK)), segment()].concat();
    let mut bytes = ipv6(HOST, DESTINATION_OPTIONS, &body);
    let (before, view) = (bytes.clone(), view(&bytes));
    assert!(matches!(read(&bytes, 0), Ok(Some(_))));
    let written = packet::write_conex(&mut bytes, &view, Cdo::default(), Conex::declaring(LOSS));
    assert_eq!(written, Ok(false));
    assert_eq!(bytes, before);
}

#[test]
fn what_a_sender_writes_is_read_and_touches_nothing_else() {
    let mut bytes = declaring(HOST, Conex::NOT_CONEX);
    let view = view(&bytes);
    for bits in (0..16).map(|bits| bits << 4) {
        let conex = Conex::from_bits(bits);
        assert_eq!(packet::write_conex(&mut bytes, &view, Cdo::default(), conex), Ok(true));
        assert_eq!(bytes, declaring(HOST, conex));
    }
}

#[test]
fn activity_and_declaration_stand_side_by_side() {
    let both = [TCP, 1, 0x1E, 1, 0xA0, 0, 0x1E, 4, 0x54, 0x47, 0, 0, 0, 0, 0, 0];
    let mut bytes = ipv6(HOST, DESTINATION_OPTIONS, &[&both[..], &segment()].concat());
    let view = view(&bytes);
    let activity = activity::Activity::from_bits(0x180);
    assert_eq!(packet::write_activity(&mut bytes, &view, activity), Ok(true));
    assert_eq!(packet::read_activity(&bytes, &view), Ok(Some(activity)));
    assert_eq!(read(&bytes, 0).map(|found| found.map(|it| it.declaration)), Ok(Some(MARK)));
}

#[test]
fn what_is_broken_in_the_middle_is_an_error_and_no_declaration() {
    let twice = [TCP, 0, 0x1E, 1, 0x80, 0x1E, 1, 0xA0];
    let bytes = ipv6(HOST, DESTINATION_OPTIONS, &[&twice[..], &segment()].concat());
    assert_eq!(read(&bytes, 0), Err(WireError::RepeatedOption { at: 5 }));
    let cut = &declaring(HOST, Conex::declaring(MARK))[..60];
    let tunnel = ipv6(HOST, IPV6_IN_IP, cut);
    assert_eq!(read(&tunnel, 1), Err(WireError::Truncated { have: 60, need: 168 }));
    let empty = ipv4(IPV4_IN_IP, &[]);
    assert_eq!(read(&empty, 1), Err(WireError::Truncated { have: 0, need: 1 }));
    // A jumbogram states length 0.
    let mut jumbo = declaring(HOST, Conex::declaring(MARK));
    jumbo[4..6].fill(0);
    let len = jumbo.len();
    assert_eq!(packet::parse(&jumbo), Err(WireError::TrailingBytes { have: len, len: 40 }));
}
