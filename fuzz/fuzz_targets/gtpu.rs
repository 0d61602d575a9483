//! Tunnels of a mobile network: no bytes make the readers of messages and reports panic, ranges lie within the message,
//! and what was read is written identically. The first byte decides whether version and length are corrected before.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tidegate_wire::conex::Conex;
use tidegate_wire::gtpu::{self, MAX_EXTENSIONS, mark, report};

fuzz_target!(|data: &[u8]| {
    let Some((&mode, data)) = data.split_first() else { return };
    check_report(data);
    let mut bytes = data.to_vec();
    if mode & 1 == 1 && (8..65_543).contains(&bytes.len()) {
        bytes[0] = 0x30 | bytes[0] & 0b111;
        let len = (bytes.len() - 8) as u16;
        bytes[2..4].copy_from_slice(&len.to_be_bytes());
    }
    let Ok(message) = gtpu::parse(&bytes) else { return };
    assert_eq!(message.payload.end, bytes.len());
    let extensions: Vec<(u8, &[u8])> =
        message.extensions(&bytes).map(|it| (it.kind, it.content)).collect();
    assert!(extensions.len() <= MAX_EXTENSIONS);

    let mut again = Vec::new();
    let payload = &bytes[message.payload.clone()];
    gtpu::emit(message.header, &extensions, payload, &mut again).expect("was read");
    let read = gtpu::parse(&again).expect("was written");
    assert_eq!((read.header, &again[read.payload.clone()]), (message.header, payload));

    let found = mark::parse(&bytes, &message);
    let mut marked = bytes.clone();
    assert_eq!(mark::write(&mut marked, &message, Conex::from_bits(0xA5)), found.is_some());
    assert_eq!(mark::parse(&marked, &message), found.map(|_| Conex::from_bits(0xA5)));
    if let Some(conex) = found {
        mark::write(&mut marked, &message, conex);
    }
    assert_eq!(marked, bytes);
});

fn check_report(payload: &[u8]) {
    let Ok(Some(mut found)) = report::parse(payload) else { return };
    found.entries.truncate(report::MAX_ENTRIES);
    let mut again = Vec::new();
    report::emit(&found, &mut again);
    assert_eq!(report::parse(&again), Ok(Some(found)));
}
