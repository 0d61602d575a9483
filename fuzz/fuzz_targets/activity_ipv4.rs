//! Activity option of IPv4: no bytes cause a panic, and writing is undone by writing.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tidegate_fuzz::{repair_checksum, write_and_restore};
use tidegate_wire::activity::ipv4;

fuzz_target!(|data: &[u8]| {
    let mut bytes = data.to_vec();
    // A correct checksum: one of the two zeros of its arithmetic would not be restored otherwise.
    if bytes.len() >= 20 {
        repair_checksum(&mut bytes);
    }
    write_and_restore(&mut bytes, ipv4::parse, ipv4::write);
});
