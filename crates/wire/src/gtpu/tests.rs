use super::*;
use proptest::prelude::*;

fn header(sequence: Option<u16>, n_pdu: Option<u8>) -> Header {
    Header { kind: MessageKind::Data, teid: 0x1234_5678, sequence, n_pdu }
}

fn message(header: Header, extensions: &[(u8, &[u8])], payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    emit(header, extensions, payload, &mut out).expect("fits");
    out
}

fn parsed(bytes: &[u8]) -> Message {
    parse(bytes).expect("is a message")
}

/// TS 29.281, figures 5.1-1 and 5.2.1-1.
#[test]
fn the_layout_is_that_of_the_specification() {
    let plain = [0x30, 255, 0, 2, 0x12, 0x34, 0x56, 0x78, 7, 7];
    assert_eq!(message(header(None, None), &[], &[7, 7]), plain);
    let numbered = [0x32, 255, 0, 5, 0x12, 0x34, 0x56, 0x78, 0xAB, 0xCD, 0, 0, 7];
    assert_eq!(message(header(Some(0xABCD), None), &[], &[7]), numbered);
    // A PDU session container (0x85), followed by a PDCP number (0xC0).
    let extended = [
        0x34, 255, 0, 13, 0x12, 0x34, 0x56, 0x78, 0, 0, 0, 0x85, //
        1, 0x10, 0x09, 0xC0, 1, 0x0F, 0xF0, 0, 7,
    ];
    let extensions: [(u8, &[u8]); 2] = [(0x85, &[0x10, 0x09]), (0xC0, &[0x0F, 0xF0])];
    assert_eq!(message(header(None, None), &extensions, &[7]), extended);
    let read = parsed(&extended);
    let found: Vec<_> = read.extensions(&extended).map(|it| (it.kind, it.content)).collect();
    assert_eq!(found, extensions);
    assert_eq!(&extended[read.payload], [7]);
}

#[test]
fn every_kind_survives_the_round_trip() {
    for number in 0..=u8::MAX {
        assert_eq!(u8::from(MessageKind::from(number)), number);
        let bytes =
            message(Header { kind: MessageKind::from(number), ..header(None, None) }, &[], &[]);
        assert_eq!(parsed(&bytes).header.kind, MessageKind::from(number));
    }
}

/// Figure 5.2.1-2.
#[test]
fn the_type_of_an_extension_says_which_nodes_must_understand_it() {
    for (kind, comprehension) in [
        (0x3E, Comprehension::NotRequired),
        (0x40, Comprehension::NotForwarded),
        (0x85, Comprehension::ByEnd),
        (0xC0, Comprehension::ByAll),
    ] {
        assert_eq!(Comprehension::of(kind), comprehension);
        let bytes = message(header(None, None), &[(kind, &[0, 0])], &[]);
        let required = matches!(comprehension, Comprehension::ByEnd | Comprehension::ByAll);
        let read = parsed(&bytes);
        assert_eq!(read.not_understood(&bytes, &[]), required.then_some(kind));
        assert_eq!(read.not_understood(&bytes, &[kind]), None);
    }
}

#[test]
fn what_is_not_all_there_is_an_error() {
    let whole = message(header(Some(1), None), &[(0x85, &[0, 0])], &[7]);
    for have in 0..whole.len() {
        let need = if have < 8 { 8 } else { whole.len() };
        assert_eq!(parse(&whole[..have]), Err(WireError::Truncated { have, need }));
    }
    let longer = [&whole[..], &[0]].concat();
    let error = WireError::TrailingBytes { have: longer.len(), len: whole.len() };
    assert_eq!(parse(&longer), Err(error));
    // The stated length is less than the optional fields.
    let mut short = message(header(Some(1), None), &[], &[]);
    short.truncate(10);
    short[3] = 2;
    assert_eq!(parse(&short), Err(WireError::Truncated { have: 10, need: 12 }));
    // An extension header extends beyond the end.
    let mut beyond = message(header(None, None), &[(0x85, &[0, 0])], &[]);
    beyond[12] = 2;
    assert_eq!(parse(&beyond), Err(WireError::Truncated { have: 16, need: 20 }));
    // The header announces another extension header that is missing.
    let mut another = message(header(None, None), &[(0x85, &[0, 0])], &[]);
    another[15] = 0x85;
    assert_eq!(parse(&another), Err(WireError::Truncated { have: 16, need: 17 }));
}

#[test]
fn other_versions_and_the_charging_protocol_are_none() {
    for flags in [0x00, 0x10, 0x20, 0x50] {
        let mut bytes = message(header(None, None), &[], &[]);
        bytes[0] = flags;
        assert_eq!(parse(&bytes), Err(WireError::NotGtpU { flags }));
    }
}

#[test]
fn chains_of_extensions_that_do_not_end_are_errors() {
    let mut empty = message(header(None, None), &[(0x85, &[0, 0])], &[]);
    empty[12] = 0;
    assert_eq!(parse(&empty), Err(WireError::EmptyExtension { at: 12 }));
    let one: (u8, &[u8]) = (0x85, &[0, 0]);
    let most = [one; MAX_EXTENSIONS];
    let mut bytes = message(header(None, None), &most, &[1, 0, 0, 0]);
    assert_eq!(parsed(&bytes).extensions(&bytes).count(), MAX_EXTENSIONS);
    // The stated payload is one byte longer.
    let last = bytes.len() - 5;
    bytes[last] = 0x85;
    let error = WireError::TooManyExtensions { most: MAX_EXTENSIONS };
    assert_eq!(parse(&bytes), Err(error));
    let more = [one; MAX_EXTENSIONS + 1];
    assert_eq!(emit(header(None, None), &more, &[], &mut Vec::new()), Err(error));
}

#[test]
fn what_a_length_cannot_state_is_not_written() {
    let mut out = vec![1];
    let emitted = |extensions: &[(u8, &[u8])], payload: &[u8], out: &mut Vec<u8>| {
        emit(header(None, None), extensions, payload, out)
    };
    let too_long = WireError::TooLong { len: 65_536, most: 65_535 };
    assert_eq!(emitted(&[], &vec![0; 65_536], &mut out), Err(too_long));
    let odd = WireError::ExtensionContent { len: 3 };
    assert_eq!(emitted(&[(1, &[0; 3])], &[], &mut out), Err(odd));
    let too_long = WireError::TooLong { len: 1024, most: 1020 };
    assert_eq!(emitted(&[(1, &[0; 1022])], &[], &mut out), Err(too_long));
    assert_eq!(out, [1], "nothing was written");
    assert_eq!(emitted(&[], &vec![0; 65_535], &mut out), Ok(()));
}

mod marks {
    use super::*;
    use crate::conex::Conex;

    #[test]
    fn every_mark_survives_the_round_trip_and_touches_its_bits_alone() {
        let extensions: [(u8, &[u8]); 2] = [(0x85, &[0x10, 0x09]), (mark::EXTENSION, &[0, 0])];
        let before = message(header(Some(9), None), &extensions, &[1, 2, 3]);
        for bits in 0..=u8::MAX {
            let (mut bytes, conex) = (before.clone(), Conex::from_bits(bits));
            let read = parsed(&bytes);
            assert!(mark::write(&mut bytes, &read, conex));
            assert_eq!(mark::parse(&bytes, &read), Some(conex));
            assert_eq!(mark::emit(conex), [bits, 0]);
            bytes[17] = 0;
            assert_eq!(bytes, before);
        }
    }

    #[test]
    fn without_room_nothing_is_written() {
        let other_length: (u8, &[u8]) = (mark::EXTENSION, &[0; 6]);
        for extensions in [&[][..], &[(0x85, &[0x10, 0x09][..])], &[other_length]] {
            let before = message(header(None, None), extensions, &[1, 2, 3]);
            let mut bytes = before.clone();
            let read = parsed(&bytes);
            assert!(!mark::write(&mut bytes, &read, Conex::from_bits(0x80)));
            assert_eq!((mark::parse(&bytes, &read), &bytes), (None, &before));
        }
    }

    #[test]
    fn a_node_that_does_not_know_it_passes_it_on() {
        assert_eq!(Comprehension::of(mark::EXTENSION), Comprehension::NotRequired);
    }
}

mod reports {
    use super::*;
    use crate::gtpu::report::{self, ENTERPRISE, Entry, GtpuReport, MAX_ENTRIES, ReportedFate};

    fn sample() -> GtpuReport {
        GtpuReport {
            teid: 0x0102_0304,
            last_sequence: 0xFFFE,
            received: 10,
            marked_before: 2,
            dropped_before: 3,
            dropped_here: 4,
            entries: vec![
                Entry { sequence: 0xFFFE, fate: ReportedFate::MarkedBefore },
                Entry { sequence: 1, fate: ReportedFate::DroppedHere },
            ],
        }
    }

    fn element(report: &GtpuReport) -> Vec<u8> {
        let mut out = Vec::new();
        report::emit(report, &mut out);
        out
    }

    #[test]
    fn the_layout_is_that_of_the_picture() {
        let [e0, e1] = ENTERPRISE.to_be_bytes();
        let wanted = [
            &[255, 0, 36, e0, e1, 1, 0, 1, 2, 3, 4, 0xFF, 0xFE, 0, 2][..],
            &[0, 0, 0, 10, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4],
            &[0xFF, 0xFE, 1, 0, 0, 1, 3, 0],
        ]
        .concat();
        assert_eq!(element(&sample()), wanted);
        assert_eq!(report::parse(&wanted), Ok(Some(sample())));
    }

    #[test]
    fn a_report_is_found_among_other_elements() {
        let recovery = [14, 0];
        let other_enterprise = [255, 0, 4, 0, 1, 9, 9];
        let foreign = [200, 0, 1, 5];
        let elements = [&recovery[..], &other_enterprise, &foreign, &element(&sample())].concat();
        assert_eq!(report::parse(&elements), Ok(Some(sample())));
        assert_eq!(report::parse(&recovery), Ok(None));
        assert_eq!(report::parse(&other_enterprise), Ok(None));
        assert_eq!(report::parse(&[]), Ok(None));
    }

    #[test]
    fn more_entries_than_fit_are_left_to_the_counters() {
        let entry = Entry { sequence: 5, fate: ReportedFate::DroppedBefore };
        let many = GtpuReport { entries: vec![entry; MAX_ENTRIES + 1], ..sample() };
        let bytes = element(&many);
        assert!(bytes.len() + tunnel::OVERHEAD + 4 <= 1500);
        let read = report::parse(&bytes).expect("is one").expect("is ours");
        assert_eq!((read.entries.len(), read.received), (MAX_ENTRIES, 10));
    }

    #[test]
    fn what_is_not_all_there_is_an_error() {
        let whole = element(&sample());
        for have in 1..whole.len() {
            assert!(matches!(report::parse(&whole[..have]), Err(WireError::Truncated { .. })));
        }
        // The stated number of entries is too large or too small.
        for (entries, error) in [
            (3, WireError::Truncated { have: 36, need: 40 }),
            (1, WireError::TrailingBytes { have: 36, len: 32 }),
        ] {
            let mut bytes = whole.clone();
            bytes[14] = entries;
            assert_eq!(report::parse(&bytes), Err(error));
        }
    }

    proptest! {
        #[test]
        fn every_report_survives_the_round_trip(
            teid: u32, last_sequence: u16, counters: [u32; 4],
            entries in prop::collection::vec((any::<u16>(), 1u8..4), 0..MAX_ENTRIES),
        ) {
            let fates = [ReportedFate::MarkedBefore, ReportedFate::DroppedBefore, ReportedFate::DroppedHere];
            let entry = |(sequence, fate): (u16, u8)| {
                Entry { sequence, fate: fates[usize::from(fate) - 1] }
            };
            let [received, marked_before, dropped_before, dropped_here] = counters;
            let entries = entries.into_iter().map(entry).collect();
            let report = GtpuReport {
                teid, last_sequence, received, marked_before, dropped_before, dropped_here, entries,
            };
            prop_assert_eq!(report::parse(&element(&report)), Ok(Some(report)));
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            let _ = report::parse(&bytes);
            let mut ours = element(&sample());
            for (byte, at) in bytes.iter().zip((0..ours.len()).rev()) {
                ours[at] = *byte;
                let _ = report::parse(&ours);
            }
        }
    }
}

proptest! {
    #[test]
    fn every_message_survives_the_round_trip(
        kind: u8, teid: u32, sequence: Option<u16>, n_pdu: Option<u8>,
        extensions in prop::collection::vec(
            (1u8.., (0usize..4).prop_flat_map(|units| prop::collection::vec(any::<u8>(), units * 4 + 2))),
            0..=MAX_EXTENSIONS,
        ),
        payload in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        let header = Header { kind: kind.into(), teid, sequence, n_pdu };
        let extensions: Vec<_> = extensions.iter().map(|(kind, content)| (*kind, &content[..])).collect();
        let bytes = message(header, &extensions, &payload);
        let read = parse(&bytes).expect("is a message");
        let found: Vec<_> = read.extensions(&bytes).map(|it| (it.kind, it.content)).collect();
        prop_assert_eq!((read.header, found), (header, extensions));
        prop_assert_eq!(&bytes[read.payload], payload);
    }

    #[test]
    fn no_bytes_make_it_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        for length_fixed in [false, true] {
            if length_fixed && bytes.len() >= 8 {
                bytes[0] = 0x30 | bytes[0] & 0b111;
                let len = (bytes.len() - 8) as u16;
                bytes[2..4].copy_from_slice(&len.to_be_bytes());
            }
            if let Ok(read) = parse(&bytes) {
                prop_assert!(read.payload.end == bytes.len());
                prop_assert!(read.extensions(&bytes).count() <= MAX_EXTENSIONS);
                let _ = mark::write(&mut bytes, &read, crate::conex::Conex::from_bits(0xF0));
            }
        }
    }
}
