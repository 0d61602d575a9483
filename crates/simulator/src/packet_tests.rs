//! Tests of the packing of packets and their options.

use super::*;

#[test]
fn a_packet_stays_small() {
    assert_eq!(size_of::<PackedPacket>(), 32);
}

#[test]
fn a_packet_is_unpacked_as_it_was_packed() {
    let packet = Packet {
        at: Time::from_nanos(7),
        number: below(NARROW),
        stamp: Time::from_nanos(below(NARROW) - 1),
        flow: 0x00ab_cdef,
        payload: 0x1234_5678,
        hop: 0x00fe_dcba,
        connection: 0x8765_4321,
        len: 0xfedc,
        flags: 0xfedc_ba98 & !flags::CE,
    };
    let mut packed = PackedPacket::of(&packet);
    assert_eq!(packed.packet(packet.at), packet);
    packed.step();
    packed.mark();
    packed.set_payload(9);
    let changed =
        Packet { payload: 9, hop: packet.hop + 1, flags: packet.flags | flags::CE, ..packet };
    assert_eq!(packed.packet(packet.at), changed);
    let (payload, flags, len) = (11, 0x0123_4567, 0x1a2b_u16);
    packed.rewrite(Rewritten::new(payload, flags, len));
    assert_eq!(packed.packet(packet.at), Packet { payload, flags, len, ..changed });
}

/// RFC 9768, figure 4: kind 172 has ECT(0), CE, ECT(1); kind 174 the reverse order.
#[test]
fn an_option_that_is_cut_short_lacks_its_last_counters() {
    for (ect_1_first, want) in
        [(false, [Some(10), Some(20), None]), (true, [None, Some(20), Some(30)])]
    {
        let bytes = ReceivedBytes { ect_1_first, fields: 2, counters: [10, 20, 30] };
        assert_eq!([0, 1, 2].map(|place| bytes.get(place)), want);
    }
}

#[test]
fn tickets_are_reused() {
    let mut store = OptionStore::default();
    let first = store.put(Options { sack: [(1, 2), (0, 0), (0, 0)], ..Options::default() });
    assert_eq!(store.take(first).sack[0], (1, 2));
    assert_eq!(store.put(Options::default()), first);
}

/// For SACK blocks alone or with more, with small and large segment numbers.
#[test]
fn options_come_out_as_they_went_in() {
    let none = (0, 0);
    let all_blocks = [
        [none; 3],
        [(70, 80), none, none],
        [(1_000, 3_000), (400, 401), (5_000, u64::from(u32::MAX))],
        [(70, 80), (5, 1 << 32), none],
        [(1 << 47, (1 << 47) + 3), (5, 6), none],
    ];
    let (ect_1_first, fields, counters) = (true, 3, [1, 2, 3]);
    let received_bytes = Some(ReceivedBytes { ect_1_first, fields, counters });
    let mut store = OptionStore::default();
    for sack in all_blocks {
        let plain = Options { sack, ..Options::default() };
        let more = [
            plain,
            Options { payload: 3, ..plain },
            Options { received_bytes, ..plain },
            Options { received_at: Some(Time::from_nanos(9)), ..plain },
        ];
        let tickets = more.map(|options| store.put(options));
        assert_eq!(tickets.map(|ticket| store.take(ticket)), more);
    }
}

#[test]
fn a_payload_word_can_be_written_beside_options() {
    let mut store = OptionStore::default();
    let sack = [(1, 2), (0, 0), (0, 0)];
    let payload = store.put(Options { sack, ..Options::default() });
    let flags = flags::ACK | flags::OPTIONS;
    let mut packed = PackedPacket::of(&Packet { payload, flags, len: 52, ..Packet::default() });
    assert_eq!(store.payload_of(&packed), 0);
    store.set_payload_of(&mut packed, 7);
    assert_eq!(store.payload_of(&packed), 7);
    assert_eq!(store.take(packed.payload()), Options { payload: 7, sack, ..Options::default() });
}

/// For any other contents of the packet and any tunnel number.
#[test]
fn a_tunnel_is_read_as_it_was_written_and_leaves_what_was_there() {
    let sack = [(1, 2), (0, 0), (0, 0)];
    let re_inserted = [None, Some(false), Some(true)];
    let headers = [0, 1, (1 << NARROW_TEID) - 1, 1 << NARROW_TEID, u32::MAX]
        .into_iter()
        .flat_map(|teid| [0, u16::MAX].map(|sequence| (teid, sequence)))
        .flat_map(|at| re_inserted.map(|re_inserted| (at, re_inserted)))
        .map(|((teid, sequence), re_inserted)| TunnelHeader { teid, sequence, re_inserted });
    for header in headers {
        for (signal, blocks) in [(0, false), (7, false), (0, true), (7, true)] {
            let mut store = OptionStore::default();
            let options = Options { payload: signal, sack, ..Options::default() };
            let (payload, flags) = match blocks {
                true => (store.put(options), flags::ACK | flags::SACK | flags::OPTIONS),
                false => (signal, 0),
            };
            let mut packed = PackedPacket::of(&Packet { payload, flags, ..Packet::default() });
            let write = |store: &mut OptionStore, packed: &mut PackedPacket, tunnel: Option<_>| {
                let (payload, is_ticket) = store.set_tunnel_of(packed, tunnel);
                let other = packed.flags() & !(flags::OPTIONS | flags::TUNNEL);
                let ticket = if is_ticket { flags::OPTIONS } else { 0 };
                let flags = other | ticket | if tunnel.is_some() { flags::TUNNEL } else { 0 };
                packed.rewrite(Rewritten::new(payload, flags, 1500));
            };
            write(&mut store, &mut packed, Some(header));
            assert_eq!(
                (store.tunnel_of(&packed), store.payload_of(&packed)),
                (Some(header), signal)
            );
            store.set_payload_of(&mut packed, 9);
            assert_eq!((store.tunnel_of(&packed), store.payload_of(&packed)), (Some(header), 9));
            write(&mut store, &mut packed, None);
            assert_eq!((store.tunnel_of(&packed), store.payload_of(&packed)), (None, 9));
            assert_eq!(packed.has(flags::OPTIONS), blocks);
            if blocks {
                assert_eq!(store.take(packed.payload()), Options { payload: 9, ..options });
            }
        }
    }
}
