//! Verdicts on packets of all kinds, beside a model that reads them another way.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use tidegate_gateway::customer::Terms;
use tidegate_gateway::maps::{Direction, REASONS, word};
use tidegate_gateway::prefix::{Prefix, mapped};
use tidegate_gateway::settings::Settings;
use tidegate_mechanisms::fixed_point::{NEVER_Q24, minus_log2_q24};

use crate::kernel::{Draws, Loaded, is_skipped};

const PASS: i32 = -1;
const DROP: i32 = 2;
const SECOND_NS: u64 = 1_000_000_000;
pub const HOUR_NS: u64 = 3_600 * SECOND_NS;

fn defaults() -> Settings {
    Settings::read("", &[]).expect("all has a default")
}

/// What a packet is, as `enum tg_reason` names it; whose, if it is somebody's.
#[derive(Debug, PartialEq)]
enum Reading {
    Addresses(IpAddr, IpAddr),
    Not(&'static str),
}

/// Reads a frame by the RFCs, from its end back where that is possible.
fn model(frame: &[u8]) -> Reading {
    let ether_type = |at: usize| frame.get(at..at + 2).map(|b| u16::from_be_bytes([b[0], b[1]]));
    let is_tag = |kind: u16| [0x8100, 0x88a8, 0x9100].contains(&kind);
    let (mut at, mut tags) = (12, 0);
    while ether_type(at).is_some_and(is_tag) {
        (at, tags) = (at + 4, tags + 1);
    }
    let Some(kind) = ether_type(at) else { return Reading::Not("not-understood") };
    if tags > 2 {
        return Reading::Not("not-understood");
    }
    let mut rest = &frame[at + 2..];
    let version = match (kind, rest) {
        (0x8864, [0x11, 0, _, _, _, _, protocol_high, protocol_low, ..]) => {
            let protocol = u16::from_be_bytes([*protocol_high, *protocol_low]);
            rest = &rest[8..];
            match protocol {
                0x0021 => 4,
                0x0057 => 6,
                _ => return Reading::Not("not-ip"),
            }
        }
        (0x8864, _) => return Reading::Not("not-understood"),
        (0x0800, _) => 4,
        (0x86dd, _) => 6,
        _ => return Reading::Not("not-ip"),
    };
    let (source, destination): (IpAddr, IpAddr) = if version == 4 {
        let Some(header) = rest.first_chunk::<20>() else { return Reading::Not("not-understood") };
        let header_len = usize::from(header[0] & 15) * 4;
        let total = usize::from(u16::from_be_bytes([header[2], header[3]]));
        if header[0] >> 4 != 4
            || header_len < 20
            || header_len > rest.len()
            || (total > 0 && total < header_len)
        {
            return Reading::Not("not-understood");
        }
        let address =
            |at: usize| Ipv4Addr::new(header[at], header[at + 1], header[at + 2], header[at + 3]);
        (address(12).into(), address(16).into())
    } else {
        let Some(header) = rest.first_chunk::<40>() else { return Reading::Not("not-understood") };
        if header[0] >> 4 != 6 {
            return Reading::Not("not-understood");
        }
        let address = |at: usize| {
            let octets: [u8; 16] = header[at..at + 16].try_into().expect("16 bytes");
            IpAddr::from(Ipv6Addr::from(octets))
        };
        (address(8), address(24))
    };
    if [source, destination].iter().any(is_local) {
        return Reading::Not("local");
    }
    Reading::Addresses(source, destination)
}

fn is_local(address: &IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => {
            v4.octets()[0] == 0 || v4.is_loopback() || v4.octets()[0] >= 224 || v4.is_link_local()
        }
        IpAddr::V6(v6) => {
            v6.octets()[..8] == [0; 8] || v6.is_multicast() || v6.is_unicast_link_local()
        }
    }
}

fn ethernet(tags: &[u16], kind: u16, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
    for tag in tags {
        frame.extend(tag.to_be_bytes());
        frame.extend([0, 7]);
    }
    frame.extend(kind.to_be_bytes());
    frame.extend(payload);
    frame
}

fn ipv4(ecn: u8, options: usize) -> Vec<u8> {
    let header_len = 20 + 4 * options;
    let mut packet = vec![0x40 | (header_len / 4) as u8, 0xb8 | ecn, 0, 0, 0, 1, 0, 0, 64, 6, 0, 0];
    packet.extend([10, 1, 0, 2, 192, 0, 2, 9]);
    packet.resize(header_len, 1);
    packet.extend([0xaa; 40]);
    let total = (packet.len() as u16).to_be_bytes();
    packet[2..4].copy_from_slice(&total);
    let sum = checksum(&packet[..header_len]);
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
    packet
}

/// What a program returns for a packet that passes, or that it drops.
pub const fn pass_or_drop(passes: bool) -> i32 {
    if passes { PASS } else { DROP }
}

/// A frame from an IPv4 address.
pub fn from_ipv4(address: [u8; 4]) -> Vec<u8> {
    let mut packet = ipv4(0, 0);
    packet[12..16].copy_from_slice(&address);
    ethernet(&[], 0x0800, &packet)
}

/// A frame from an IPv6 address.
pub fn from_ipv6(address: &str) -> Vec<u8> {
    let mut packet = ipv6(0);
    packet[8..24].copy_from_slice(&address.parse::<Ipv6Addr>().expect("an address").octets());
    ethernet(&[], 0x86dd, &packet)
}

/// RFC 1071.
fn checksum(header: &[u8]) -> u16 {
    let words =
        header.chunks_exact(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])));
    let sum: u32 = words.sum();
    !((sum & 0xffff) + (sum >> 16)) as u16
}

fn ipv6(ecn: u8) -> Vec<u8> {
    let mut packet = vec![0x6b, 0x8a | ecn << 4, 0xbc, 0xde, 0, 40, 0, 64];
    packet.extend("2001:db8:0:7::2".parse::<Ipv6Addr>().expect("an address").octets());
    packet.extend("2001:db8:1::9".parse::<Ipv6Addr>().expect("an address").octets());
    packet.extend([0; 40]);
    packet
}

fn pppoe(protocol: u16, payload: &[u8]) -> Vec<u8> {
    let mut session = vec![0x11, 0, 0, 1];
    session.extend((payload.len() as u16 + 2).to_be_bytes());
    session.extend(protocol.to_be_bytes());
    session.extend(payload);
    session
}

/// One of each kind that is understood, with this ECN field.
fn understood(ecn: u8) -> Vec<Vec<u8>> {
    let mut fragment = ipv4(ecn, 0);
    // The last of its packet, so that nothing of a transport header is in it.
    fragment[6..8].copy_from_slice(&0x00b9u16.to_be_bytes());
    fragment[10..12].copy_from_slice(&[0, 0]);
    let sum = checksum(&fragment[..20]);
    fragment[10..12].copy_from_slice(&sum.to_be_bytes());
    vec![
        ethernet(&[], 0x0800, &ipv4(ecn, 0)),
        ethernet(&[], 0x0800, &ipv4(ecn, 10)),
        ethernet(&[], 0x0800, &fragment),
        ethernet(&[], 0x86dd, &ipv6(ecn)),
        ethernet(&[0x8100], 0x0800, &ipv4(ecn, 0)),
        ethernet(&[0x88a8, 0x8100], 0x86dd, &ipv6(ecn)),
        ethernet(&[], 0x8864, &pppoe(0x21, &ipv4(ecn, 0))),
        ethernet(&[0x8100, 0x8100], 0x8864, &pppoe(0x57, &ipv6(ecn))),
    ]
}

/// Counts of both directions by reason, as the difference of two readings.
struct Counts([u64; REASONS.len()]);

impl Counts {
    fn of(loaded: &Loaded) -> Counts {
        let both = Direction::ALL.map(|direction| loaded.maps.counts(direction));
        Counts(std::array::from_fn(|reason| both[0][reason].packets + both[1][reason].packets))
    }
    fn since(&self, before: &Counts) -> Vec<(&'static str, u64)> {
        let names = REASONS.iter().map(|(name, _)| *name);
        let counts = self.0.iter().zip(&before.0).map(|(now, then)| now - then);
        names.zip(counts).filter(|(_, count)| *count > 0).collect()
    }
}

#[test]
fn customers_packets_are_judged_and_nobody_elses_whatever_bits_a_frame_has() {
    if is_skipped() {
        return;
    }
    let mut loaded = Loaded::new("mutations", &defaults(), 14);
    let mut draws = Draws::new(3);
    let seeds: Vec<_> = (0..4).flat_map(understood).collect();
    // TIDEGATE_MUTATIONS=1000000 takes about a minute.
    let count =
        std::env::var("TIDEGATE_MUTATIONS").map_or(10_000, |text| text.parse().expect("a number"));
    // A probability of 1: whatever is judged is dropped.
    loaded.set_signal(0, HOUR_NS);
    let mut verdicts = std::collections::BTreeMap::new();
    for number in 0..count {
        let mut frame = seeds[draws.below(seeds.len() as u64) as usize].clone();
        for _ in 0..draws.below(4) {
            let place = 12 + draws.below(frame.len() as u64 - 12) as usize;
            frame[place] = draws.word() as u8;
        }
        let most = frame.len() as u64 + 1;
        if draws.below(4) == 0 {
            frame.truncate(15 + draws.below(most - 15) as usize);
        }
        let direction = Direction::ALL[number % 2];
        let before = Counts::of(&loaded);
        // Those are sent through a device in tests/gateway.
        let Some((returned, after)) = loaded.try_run(direction, &frame) else { continue };
        let counted = Counts::of(&loaded).since(&before);
        let (want, reason) = match model(&frame) {
            Reading::Addresses(..) => (DROP, "dropped"),
            Reading::Not(reason) => (PASS, reason),
        };
        assert_eq!((returned, counted), (want, vec![(reason, 1)]), "{number}: {frame:02x?}");
        assert_eq!(after, frame, "{number}");
        *verdicts.entry(reason).or_insert(0) += 1;
    }
    // The mutations reach every way out.
    let reached: Vec<_> = verdicts.keys().copied().collect();
    assert_eq!(reached, ["dropped", "local", "not-ip", "not-understood"], "{verdicts:?}");
}

#[test]
fn each_customer_is_metered_by_its_address() {
    if is_skipped() {
        return;
    }
    let mut loaded = Loaded::new("customers", &defaults(), 14);
    loaded.set_signal(NEVER_Q24, HOUR_NS);
    for frame in understood(0) {
        assert_eq!(loaded.run(Direction::Upload, &frame).0, PASS);
        assert_eq!(loaded.run(Direction::Download, &frame).0, PASS);
    }
    let mut known = loaded.maps.customers();
    known.sort_by_key(|(address, _)| *address);
    let address = |text: &str| mapped(text.parse().expect("an address"));
    let addresses: Vec<_> = known.iter().map(|(address, _)| *address).collect();
    let mut want = [
        address("10.1.0.2"),
        address("192.0.2.9"),
        address("2001:db8:0:7::"),
        address("2001:db8:1::"),
    ];
    want.sort();
    assert_eq!(addresses, want);
    let sender = loaded.maps.customer(address("10.1.0.2")).expect("it is known");
    // Five IPv4 frames of the eight; and none came down to it.
    assert_eq!((sender.usage[0].packets, sender.usage[1].packets), (5, 0));
    let bytes: usize = understood(0)
        .iter()
        .filter(|frame| frame.windows(4).any(|w| w == [10, 1, 0, 2]))
        .map(Vec::len)
        .sum();
    assert_eq!(sender.usage[0].bytes, bytes as u64);
    assert!(sender.usage[0].zero_ns > 0 && sender.usage[1].zero_ns == 0);
    let merged = loaded.maps.merge_averages(Direction::Upload).expect("the map takes it");
    let average = merged.expect("packets came") as f64 / (1u64 << 36) as f64;
    assert!(average > 0.0 && average < 5.0, "{average}");
}

/// Whatever is missing means pass.
#[test]
fn what_is_missing_means_pass() {
    if is_skipped() {
        return;
    }
    let mut loaded = Loaded::new("missing", &defaults(), 14);
    let frame = ethernet(&[], 0x0800, &ipv4(0, 0));
    let reason = |loaded: &mut Loaded, want: i32| {
        let before = Counts::of(loaded);
        assert_eq!(loaded.run(Direction::Upload, &frame).0, want);
        Counts::of(loaded).since(&before)[0].0
    };
    assert_eq!(reason(&mut loaded, PASS), "no-signal");
    loaded.set_signal(0, HOUR_NS);
    assert_eq!(reason(&mut loaded, DROP), "dropped");
    loaded.set_signal(NEVER_Q24, HOUR_NS);
    assert_eq!(reason(&mut loaded, PASS), "clear");
    loaded.set_signal(0, 0);
    assert_eq!(reason(&mut loaded, PASS), "no-signal");
    loaded.set_signal(0, HOUR_NS);
    let host = Prefix::host("192.0.2.9".parse().expect("an address"));
    loaded.maps.set_exempt(&[host]).expect("the map takes it");
    assert_eq!(reason(&mut loaded, PASS), "exempt");
    loaded.maps.set_exempt(&[]).expect("the map takes it");
    assert_eq!(reason(&mut loaded, DROP), "dropped");
    loaded.maps.set_word(word::HAS_PREFIXES, 1).expect("the map takes it");
    assert_eq!(reason(&mut loaded, PASS), "no-customer");
    let prefix = Prefix::parse("10.1.0.0/16").expect("a prefix");
    loaded.maps.set_prefixes(&[(prefix, Terms::LEARNED)]).expect("the map takes it");
    assert_eq!(reason(&mut loaded, DROP), "dropped");
    loaded.maps.set_word(word::ENFORCE, 0).expect("the map takes it");
    assert_eq!(reason(&mut loaded, PASS), "would-drop");
    loaded.maps.set_word(word::READY, 0).expect("the map takes it");
    assert_eq!(reason(&mut loaded, PASS), "not-ready");
}

#[test]
fn ecn_capable_packets_are_marked_and_their_checksums_follow() {
    if is_skipped() {
        return;
    }
    let mut loaded = Loaded::new("marks", &defaults(), 14);
    // No activity decides, so that p is what it is.
    loaded.maps.set_word(word::ABC, 0).expect("the map takes it");
    loaded.set_signal(minus_log2_q24(0.2), HOUR_NS);
    for ecn in [1, 2] {
        for (frame, want) in understood(ecn).into_iter().zip(understood(3)) {
            let marked = (0..2_000).find_map(|_| {
                let (returned, after) = loaded.run(Direction::Upload, &frame);
                assert_eq!(returned, PASS);
                (after != frame).then_some(after)
            });
            assert_eq!(marked.expect("one in five is marked"), want);
        }
    }
    // Observing changes nothing.
    loaded.maps.set_word(word::ENFORCE, 0).expect("the map takes it");
    let (before, frame) = (Counts::of(&loaded), &understood(2)[0]);
    assert!((0..100).all(|_| loaded.run(Direction::Upload, frame).1 == *frame));
    let counted = Counts::of(&loaded).since(&before);
    assert!(counted.iter().any(|(name, _)| *name == "would-mark"), "{counted:?}");
}

/// RFC 9331: p_L = k √p, here 2 √0.01 = 0.2, beside 0.01 for the others.
#[test]
fn scalable_senders_are_marked_by_the_coupled_probability_or_left_alone() {
    if is_skipped() {
        return;
    }
    let mut loaded = Loaded::new("coupling", &defaults(), 14);
    loaded.maps.set_word(word::ABC, 0).expect("the map takes it");
    loaded.set_signal(minus_log2_q24(0.01), HOUR_NS);
    let marks = |loaded: &mut Loaded, ecn: u8| {
        let frame = ethernet(&[], 0x86dd, &ipv6(ecn));
        (0..10_000).filter(|_| loaded.run(Direction::Download, &frame).1 != frame).count()
    };
    let (classic, scalable) = (marks(&mut loaded, 2), marks(&mut loaded, 1));
    // Six standard deviations.
    assert!((100.0 - classic as f64).abs() < 60.0, "{classic}");
    assert!((2_000.0 - scalable as f64).abs() < 240.0, "{scalable}");
    loaded.maps.set_word(word::ECT1, 0).expect("the map takes it");
    assert_eq!(marks(&mut loaded, 1), 0);
    // In overload marks do not help.
    loaded.set_signal(minus_log2_q24(0.3), HOUR_NS);
    let frame = ethernet(&[], 0x86dd, &ipv6(1));
    assert!((0..1_000).any(|_| loaded.run(Direction::Download, &frame).0 == DROP));
}

/// Tunnels and modems: the frame begins with the IP header.
#[test]
fn a_device_without_a_link_header_is_read_too() {
    if is_skipped() {
        return;
    }
    let mut loaded = Loaded::new("tunnel", &defaults(), 0);
    loaded.set_signal(NEVER_Q24, HOUR_NS);
    // A test run always has an Ethernet header, so that an IP header in its place is not there.
    let (returned, _) = loaded.run(Direction::Upload, &ethernet(&[], 0x0800, &ipv4(0, 0)));
    assert_eq!(returned, PASS);
    assert_eq!(loaded.maps.customers().len(), 0);
}
