//! Activity option of IPv6: no bytes cause a panic, and writing is undone by writing.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tidegate_fuzz::write_and_restore;
use tidegate_wire::activity::ipv6;

fuzz_target!(|data: &[u8]| {
    write_and_restore(&mut data.to_vec(), ipv6::parse, ipv6::write);
});
