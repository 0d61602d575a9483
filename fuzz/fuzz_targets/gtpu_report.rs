//! Report of a tunnel's end, among the elements of an echo request: no bytes make the reader panic, and what was read
//! is written identically. The first byte decides whether the headers of our element precede the rest, which random
//! bytes hardly ever match, and how many entries they state.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tidegate_wire::gtpu::report::{self, ENTERPRISE, MAX_ENTRIES};

/// Length of the element before its numbers: type, length, enterprise, format.
const FRONT_LEN: usize = 7;

fuzz_target!(|data: &[u8]| {
    let Some((&mode, rest)) = data.split_first() else { return };
    let mut payload = rest.to_vec();
    if mode & 1 == 1 && (FRONT_LEN..65_535).contains(&payload.len()) {
        let len = (payload.len() - 3) as u16;
        payload[0] = 255;
        payload[1..3].copy_from_slice(&len.to_be_bytes());
        payload[3..5].copy_from_slice(&ENTERPRISE.to_be_bytes());
        payload[5..7].copy_from_slice(&[1, 0]);
        if mode & 2 == 2 && payload.len() >= 31 {
            let entries = ((payload.len() - 31) / 4) as u16;
            payload[13..15].copy_from_slice(&entries.to_be_bytes());
            payload.truncate(31 + 4 * usize::from(entries));
            let len = (payload.len() - 3) as u16;
            payload[1..3].copy_from_slice(&len.to_be_bytes());
        }
    }
    let Ok(Some(mut found)) = report::parse(&payload) else { return };
    found.entries.truncate(MAX_ENTRIES);
    let mut again = Vec::new();
    report::emit(&found, &mut again);
    assert_eq!(report::parse(&again), Ok(Some(found)));
});
