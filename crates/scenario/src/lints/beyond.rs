//! Lints of AQM thresholds that exceed the buffer.

use std::collections::BTreeSet;

use tidegate_mechanisms::bottleneck::AqmParams;
use tidegate_mechanisms::units::{Bytes, QueueLength};

use crate::field::Reader;
use crate::file::File;
use crate::placement::places;

/// Reports all of these lints, one for each place in the file.
pub(super) fn of(file: &File, reader: &mut Reader) {
    let mut reported: BTreeSet<Vec<&str>> = BTreeSet::new();
    for (path, mechanisms, _, buffer) in places(file) {
        let Some((key, length, so)) = longest(&mechanisms.aqm) else { continue };
        if fits(length, buffer, file.packet_size) || reported.contains(&path) {
            continue;
        }
        let message = format!(
            "{length} are beyond the buffer, {buffer}, {so}: give at most the buffer, or a larger one"
        );
        let of_aqm = [&path[..], &["aqm"]].concat();
        reader.nested(&of_aqm, |reader| reader.error_at(key, message));
        reported.insert(path);
    }
}

/// Returns the largest configured threshold of an AQM: its key, and the effect if the queue never reaches it. Targets
/// of prices are errors, not lints, since the price depends on them entirely.
fn longest(aqm: &AqmParams) -> Option<(&'static str, QueueLength, &'static str)> {
    let never = "so that the queue is full before every packet is signalled";
    match aqm {
        AqmParams::Red(red) => Some(("max_threshold", red.max_threshold, never)),
        AqmParams::AdaptiveRed(red) => Some(("max_threshold", red.max_threshold?, never)),
        AqmParams::VirtualQueue(queue) => {
            Some(("capacity", queue.capacity?, "so that a burst is lost before anything is marked"))
        }
        _ => None,
    }
}

/// Whether a buffer holds such a queue; with different units, in full packets.
fn fits(length: QueueLength, buffer: QueueLength, packet: Bytes) -> bool {
    let bytes = |length| match length {
        QueueLength::Packets(packets) => u64::from(packets) * packet.get(),
        QueueLength::Bytes(bytes) => bytes.get(),
    };
    bytes(length) <= bytes(buffer)
}

#[cfg(test)]
mod tests {
    use crate::Scenario;

    fn lints(place: &str, aqm: &str) -> Vec<String> {
        lints_of("", place, aqm)
    }

    fn lints_of(user: &str, place: &str, aqm: &str) -> Vec<String> {
        let text = format!(
            "version = 1\npacket_size = \"1000 B\"\nprice_encoding = \"maximum\"\n{place}\naqm = {aqm}\n[users.a]\n{user}\n"
        );
        let scenario = Scenario::parse(&text, &[]).expect("valid");
        scenario.warnings().iter().map(ToString::to_string).collect()
    }

    fn red(max: &str) -> String {
        format!(r#"{{ kind = "red", min_threshold = "5 packets", max_threshold = "{max}" }}"#)
    }

    #[test]
    fn a_threshold_of_red_beyond_the_buffer_is_warned_of() {
        let at = |buffer: &str| format!("[bottleneck]\nrate = \"1 Mb/s\"\nbuffer = \"{buffer}\"");
        for (max, buffer) in [("30 packets", "30 packets"), ("30 packets", "30 kB")] {
            assert_eq!(lints(&at(buffer), &red(max)), Vec::<String>::new(), "{max} {buffer}");
        }
        let reported = lints(&at("29 packets"), &red("30 packets"));
        let want =
            "line 7: bottleneck.aqm.max_threshold: 30 packets are beyond the buffer, 29 packets";
        assert!(reported.len() == 1 && reported[0].starts_with(want), "{reported:?}");
        assert!(reported[0].ends_with("give at most the buffer, or a larger one"), "{reported:?}");
        // With different units, in full packets.
        assert_eq!(lints(&at("29 kB"), &red("30 packets")).len(), 1);
        let bytes = red("30001 B").replace("5 packets", "5 kB");
        assert_eq!(lints(&at("30 packets"), &bytes).len(), 1);
        // By default adaptive RED's threshold follows from its target, or is three times the other.
        assert_eq!(lints(&at("29 packets"), r#""adaptive-red""#), Vec::<String>::new());
        let adaptive = red("30 packets").replace("red", "adaptive-red");
        assert_eq!(lints(&at("29 packets"), &adaptive).len(), 1);
    }

    #[test]
    fn a_virtual_queue_of_a_larger_one_than_there_is_is_warned_of() {
        let at = "[bottleneck]\nrate = \"1 Mb/s\"\nbuffer = \"100 packets\"";
        let own =
            |capacity| format!(r#"{{ kind = "virtual-queue", capacity = "{capacity} packets" }}"#);
        assert_eq!(lints(at, &own(100)), Vec::<String>::new());
        assert_eq!(lints(at, r#""virtual-queue""#), Vec::<String>::new());
        let reported = lints(at, &own(101));
        let want =
            "line 7: bottleneck.aqm.capacity: 101 packets are beyond the buffer, 100 packets";
        assert!(reported.len() == 1 && reported[0].starts_with(want), "{reported:?}");
    }

    #[test]
    fn hops_that_are_alike_or_both_too_small_are_reported_once() {
        const ENDS: &str = "from = \"r0\"\nto = \"r2\"";
        let lot = |buffers: &str| {
            format!("[parking_lot]\nhops = 2\nrate = \"1 Mb/s\"\nbuffer = {buffers}")
        };
        for buffers in [r#""20 packets""#, r#"["20 packets", "10 packets"]"#] {
            let reported = lints_of(ENDS, &lot(buffers), &red("30 packets"));
            let beyond =
                reported.iter().filter(|lint| lint.contains("are beyond the buffer, 20 packets"));
            assert!(beyond.count() == 1 && reported.len() == 1, "{reported:?}");
        }
        let reported = lints_of(ENDS, &lot(r#"["50 packets", "10 packets"]"#), &red("30 packets"));
        assert!(reported.len() == 1 && reported[0].contains("buffer, 10 packets"), "{reported:?}");
    }
}
