//! Overrides as for `--set` and `--add`, one per line, of a file selected by the first byte.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tidegate_fuzz::scenario::survives;

const FILES: [&str; 4] = [
    include_str!("../../scenarios/evening-peak.toml"),
    include_str!("../../scenarios/free-topology.toml"),
    include_str!("../../scenarios/s3-parking-lot.toml"),
    include_str!("../../sweeps/gamma.toml"),
];

fuzz_target!(|data: &[u8]| {
    let Some((&which, lines)) = data.split_first() else { return };
    let Ok(lines) = std::str::from_utf8(lines) else { return };
    let overrides: Vec<_> = lines
        .lines()
        .filter_map(|line| line.split_once('='))
        .map(|(key, value)| (key.trim().to_owned(), value.trim().to_owned()))
        .collect();
    survives(FILES[usize::from(which) % FILES.len()], &overrides);
});
