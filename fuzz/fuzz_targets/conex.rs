//! ConEx option: no bytes cause a panic, and writing changes its four bits and is undone by writing. The first byte is
//! the option's type, mostly that of RFC 7837.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tidegate_wire::conex::{Cdo, Conex};

fuzz_target!(|data: &[u8]| {
    let Some((&kind, data)) = data.split_first() else { return };
    let cdo = if kind < 0x80 { Cdo::default() } else { Cdo { option_type: kind } };
    let mut bytes = data.to_vec();
    let found = cdo.parse(&bytes);
    for pattern in [0xA0, 0x50].map(Conex::from_bits) {
        assert_eq!(cdo.write(&mut bytes, pattern), found.map(|found| found.is_some()));
        let wanted = |conex: Conex| Conex::from_bits(conex.bits() & 0x0F | pattern.bits());
        assert_eq!(cdo.parse(&bytes), found.map(|found| found.map(wanted)));
    }
    if let Ok(Some(conex)) = found {
        assert_eq!(cdo.write(&mut bytes, conex), Ok(true));
    }
    assert_eq!(bytes, data);
});
