//! Scripts: no text makes reading or playing panic, and playing is reproducible.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tidegate_packetdrill::player::play;

fuzz_target!(|text: &str| {
    let verdict = play(text);
    if let Err(error) = &verdict {
        assert!(error.line >= 1 && error.line <= text.lines().count().max(1));
    }
    assert_eq!(play(text), verdict);
});
