//! Re-ECN in IPv4: no bytes cause a panic, and writing changes its three bits and the checksum, and is undone by
//! writing.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tidegate_wire::re_ecn::{self, ReEcnCodepoint};

fuzz_target!(|data: &[u8]| {
    let mut bytes = data.to_vec();
    let found = re_ecn::read(&bytes);
    for pattern in [ReEcnCodepoint::Credit, ReEcnCodepoint::MarkedReEcho] {
        assert_eq!(re_ecn::write(&mut bytes, pattern), found.map(|_| ()));
        assert_eq!(re_ecn::read(&bytes), found.map(|_| pattern));
    }
    if let Ok(codepoint) = found {
        assert_eq!(re_ecn::write(&mut bytes, codepoint), Ok(()));
        // Checksums of 0xFFFF and 0 are the same number; updates give one of them.
        let same = |sum: &[u8]| u16::from_be_bytes([sum[10], sum[11]]) % 0xFFFF;
        assert_eq!(same(&bytes), same(data));
        bytes[10..12].copy_from_slice(&data[10..12]);
    }
    assert_eq!(bytes, data);
});
