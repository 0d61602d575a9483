//! AccECN: no bytes make the option's reader panic, counters survive the round trip through an option, and writing ACE
//! changes only that field and the checksum.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tidegate_wire::accecn::{self, MAX_OPTION_LEN, Order};

fuzz_target!(|data: &[u8]| {
    let mut bytes = data.to_vec();
    let found = accecn::ace(&bytes);
    for ace in [0b101, 0b010] {
        assert_eq!(accecn::set_ace(&mut bytes, ace), found.map(|_| ()));
        assert_eq!(accecn::ace(&bytes), found.map(|_| ace));
    }
    if let Ok(ace) = found {
        assert_eq!(accecn::set_ace(&mut bytes, ace), Ok(()));
        let same = |sum: &[u8]| u16::from_be_bytes([sum[16], sum[17]]) % 0xFFFF;
        assert_eq!(same(&bytes), same(data));
        bytes[16..18].copy_from_slice(&data[16..18]);
    }
    assert_eq!(bytes, data);

    let Ok(Some(counters)) = accecn::parse(data) else { return };
    for order in [Order::Ect0First, Order::Ect1First] {
        let mut room = [0; MAX_OPTION_LEN];
        let option = accecn::emit(order, counters, &mut room);
        let mut header = [&[0; 20][..], option].concat();
        header.resize(header.len().next_multiple_of(4), 0);
        header[12] = ((header.len() / 4) << 4) as u8;
        let again = accecn::parse(&header).expect("is a header").expect("has an option");
        let kept = |was: Option<u32>, is: Option<u32>| is.is_none() || is == was;
        assert!(kept(counters.ect0, again.ect0) && kept(counters.ect1, again.ect1));
        assert!(kept(counters.ce, again.ce));
    }
});
