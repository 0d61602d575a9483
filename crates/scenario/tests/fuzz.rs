//! For any input, the answer is a scenario with a plan, or a list of errors.

use proptest::prelude::*;

/// Checks shared with the fuzz targets.
#[path = "../../../fuzz/src/scenario.rs"]
mod scenario;

use scenario::survives;

const BASE: &str = include_str!("../../../scenarios/evening-peak.toml");
const FREE: &str = include_str!("../../../scenarios/free-topology.toml");
const LOT: &str = include_str!("../../../scenarios/s3-parking-lot.toml");
const SWEEP: &str = include_str!("../../../sweeps/gamma.toml");

fn file() -> impl Strategy<Value = &'static str> {
    prop_oneof![Just(BASE), Just(FREE), Just(LOT), Just(SWEEP)]
}

/// Values as written by people and scripts.
fn value() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<i64>().prop_map(|n| n.to_string()),
        any::<f64>().prop_map(|x| x.to_string()),
        "[0-9]{0,25}(\\.[0-9]{0,25})? ?(b/s|Mb/s|Tb/s|ns|ms|s|h|B|GB|packets|MiB/s|x)?",
        ("[0-9]{1,20} ?(b/s|Gb/s|ns|s|h|B|GB|packets)").prop_map(|text| format!("\"{text}\"")),
        Just("[]".to_owned()),
        Just("{}".to_owned()),
        Just("off".to_owned()),
        Just("auto".to_owned()),
        Just("true".to_owned()),
        Just("[[0, 0], [1e308, 1]]".to_owned()),
        Just("{ kind = 'red', min_threshold = '1 B', max_threshold = '1 PB' }".to_owned()),
        Just("{ kind = 'abc', gamma = 1e308 }".to_owned()),
        Just("{ kind = 'icp', depth = '1 PB', start = 1e-300 }".to_owned()),
        Just("{ count = 1000, length = '20 h' }".to_owned()),
        Just("{ kind = 'transfer', size = '1 B', pause = '0 s' }".to_owned()),
        any::<String>(),
    ]
}

fn key() -> impl Strategy<Value = String> {
    let top = prop_oneof![
        Just("duration"),
        Just("warm_up"),
        Just("sample_interval"),
        Just("host_jitter"),
        Just("packet_size"),
        Just("drain_limit"),
        Just("seed"),
        Just("profile"),
        Just("tcp.min_rto"),
        Just("tcp.window_limit"),
        Just("bottleneck"),
        Just("bottleneck.rate"),
        Just("bottleneck.delay"),
        Just("bottleneck.buffer"),
        Just("bottleneck.aqm"),
        Just("bottleneck.aqm.kind"),
        Just("bottleneck.aqm.points"),
        Just("bottleneck.differentiation"),
        Just("access.rate"),
        Just("receiver_access.delay"),
        Just("users.heavy.count"),
        Just("users.heavy.traffic"),
        Just("users.heavy.traffic.kind"),
        Just("users.heavy.start"),
        Just("users.heavy.start.to"),
        Just("users.heavy.meter.meters"),
        Just("users.heavy.meter.inertia"),
        Just("users.new.flows"),
        Just("add users.new.flows"),
        Just("add users.heavy.flows"),
        Just("add links.new"),
        Just("links.core.delay"),
        Just("links.core.from"),
        Just("parking_lot.hops"),
        Just("parking_lot.rate"),
        Just("sweep.\"users.light.count\""),
        Just("sweep"),
    ];
    prop_oneof![4 => top.prop_map(str::to_owned), 1 => any::<String>()]
}

proptest! {
    #[test]
    fn any_text_gets_an_answer(text in any::<String>()) {
        survives(&text, &[]);
    }

    #[test]
    fn any_toml_like_text_gets_an_answer(text in "(\\[{0,2}[a-z.]{0,9}\\]{0,2}|[a-z_\".]{0,9} ?= ?[\\[{\"'0-9a-z ,=}\\]]{0,20}|\n){0,30}") {
        survives(&text, &[]);
    }

    #[test]
    fn damaged_files_get_an_answer(
        file in file(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..4u8), 1..8),
    ) {
        let mut bytes = file.as_bytes().to_vec();
        for (place, byte, how) in damage {
            let at = place.index(bytes.len());
            match how {
                0 => bytes[at] = byte,
                1 => { bytes.remove(at); }
                2 => bytes.insert(at, byte % 128),
                _ => bytes[at] = b'0' + byte % 10,
            }
        }
        survives(&String::from_utf8_lossy(&bytes), &[]);
    }

    #[test]
    fn any_overrides_get_an_answer(
        file in file(),
        overrides in prop::collection::vec((key(), value()), 1..5),
    ) {
        survives(file, &overrides);
    }
}

#[test]
fn deep_nesting_does_not_overflow_the_stack() {
    for deep in [900, 200_000] {
        nested(deep);
    }
}

fn nested(deep: usize) {
    survives(&format!("{}a = 1", "a.".repeat(deep)), &[]);
    survives(&format!("[{}a]", "a.".repeat(deep)), &[]);
    survives(&format!("a = {}", "[".repeat(deep)), &[]);
    survives(&format!("a = {}", "{a=".repeat(deep)), &[]);
    // An equals sign between quotes separates nothing.
    survives(&format!("{}a = 1", "\"=\".".repeat(deep)), &[]);
    let row = "\"=\".".repeat(70);
    survives(&format!("a = {}", format!("{{{row}a=").repeat(deep)), &[]);
    let with_key = |key: String| [(key, "1".to_owned())];
    survives(BASE, &with_key("a.".repeat(deep) + "a"));
    let with_value = |value: String| [("duration".to_owned(), value)];
    survives(BASE, &with_value("[".repeat(deep)));
    survives(BASE, &with_value(format!("{{ {}a = 1 }}", "a.".repeat(deep))));
}
