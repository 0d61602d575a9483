//! Whole packets: no bytes cause a panic, ranges lie within the packet, and edits change only their own fields. The
//! first byte decides whether length and checksum are corrected before.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tidegate_fuzz::{repair, write_and_restore};
use tidegate_wire::conex::Cdo;
use tidegate_wire::packet::{self, Fragment, View};

fuzz_target!(|data: &[u8]| {
    let Some((&mode, data)) = data.split_first() else { return };
    let mut bytes = data.to_vec();
    if mode & 1 == 1 {
        repair(&mut bytes);
    }
    let Ok(view) = packet::parse(&bytes) else { return };
    check_places(&bytes, &view);
    if let Ok(Some(declared)) = packet::read_conex(&bytes, &view, Cdo::default(), 4) {
        assert!((40..=view.len).contains(&declared.counted_len));
    }
    write_and_restore(
        &mut bytes,
        |bytes| packet::read_activity(bytes, &view),
        |bytes, activity| {
            let result = packet::write_activity(bytes, &view, activity);
            // Checksum included: a packet with a wrong one is an error.
            assert_eq!(packet::parse(bytes), Ok(view));
            result
        },
    );
    check_mark(&mut bytes, view);
});

fn check_places(bytes: &[u8], view: &View) {
    assert_eq!(view.len, bytes.len());
    assert!(view.transport_offset <= view.len);
    assert!(view.destination_options.is_none_or(|at| at + 8 <= view.transport_offset));
    assert!(view.ports.is_none() || view.fragment != Fragment::Later);
}

fn check_mark(bytes: &mut [u8], before: View) {
    let ect = before.ecn.is_ect();
    assert_eq!(packet::set_ce(bytes, &before), ect);
    let mut after = packet::parse(bytes).expect("still a packet");
    assert!(!packet::set_ce(bytes, &after));
    assert_eq!(after.ecn.is_capable(), before.ecn.is_capable());
    after.ecn = before.ecn;
    assert_eq!(after, before);
}
