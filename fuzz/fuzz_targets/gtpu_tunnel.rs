//! A user's packet in a tunnel, with outer IP and UDP: no bytes make the reader panic, ranges lie within the packet,
//! and re-insertion changes its own byte and UDP's checksum. The first byte decides whether lengths, protocol, port and
//! checksum are corrected before.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tidegate_fuzz::repair;
use tidegate_wire::conex::Conex;
use tidegate_wire::gtpu::{PORT, tunnel};

/// Length of IPv4 without options, UDP, and a message without optional fields.
const LEAST: usize = 20 + 8 + 8;

fuzz_target!(|data: &[u8]| {
    let Some((&mode, packet)) = data.split_first() else { return };
    let mut bytes = packet.to_vec();
    if mode & 1 == 1 && (LEAST..65_536).contains(&bytes.len()) {
        let len = bytes.len() as u16;
        bytes[0] = 0x45;
        bytes[6..8].fill(0);
        bytes[9] = 17;
        bytes[22..24].copy_from_slice(&PORT.to_be_bytes());
        bytes[24..26].copy_from_slice(&(len - 20).to_be_bytes());
        if mode & 2 == 2 {
            bytes[28] = 0x30 | bytes[28] & 0b111;
            bytes[30..32].copy_from_slice(&(len - 36).to_be_bytes());
        }
    }
    repair(&mut bytes);
    let Ok(Some(outer)) = tunnel::open(&bytes) else { return };
    let _ = outer.payload(&bytes).len();
    let found = outer.mark(&bytes);
    let mut marked = bytes.clone();
    assert_eq!(outer.write_mark(&mut marked, Conex::from_bits(0xA5)), found.is_some());
    assert_eq!(outer.mark(&marked), found.map(|_| Conex::from_bits(0xA5)));
    let changed = bytes.iter().zip(&marked).filter(|(before, after)| before != after).count();
    assert!(changed <= 3, "a byte, and UDP's checksum");
    assert_eq!(tunnel::open(&marked), Ok(Some(outer)));
});
