//! Reports of a tunnel's end: conversion between stages and the wire.

use tidegate_mechanisms::stage::{Fate, TunnelReport};
use tidegate_wire::gtpu::report::{self as wire, Entry};

/// Converts a report of a stage; its sender's address is that of the packet.
pub fn to_wire(reported: &TunnelReport) -> wire::GtpuReport {
    let entry = |&(sequence, fate): &(u16, Fate)| Entry {
        sequence,
        fate: match fate {
            Fate::MarkedBefore => wire::ReportedFate::MarkedBefore,
            Fate::DroppedBefore => wire::ReportedFate::DroppedBefore,
            Fate::DroppedHere => wire::ReportedFate::DroppedHere,
        },
    };
    wire::GtpuReport {
        teid: reported.teid,
        last_sequence: reported.last_sequence,
        received: reported.received,
        marked_before: reported.marked_before,
        dropped_before: reported.dropped_before,
        dropped_here: reported.dropped_here,
        entries: reported.entries.iter().map(entry).collect(),
    }
}

/// Converts a report received from the tunnel end with this address.
pub fn from_wire(reported: wire::GtpuReport, from: u32) -> TunnelReport {
    let entry = |entry: &Entry| {
        let fate = match entry.fate {
            wire::ReportedFate::MarkedBefore => Fate::MarkedBefore,
            wire::ReportedFate::DroppedBefore => Fate::DroppedBefore,
            wire::ReportedFate::DroppedHere => Fate::DroppedHere,
        };
        (entry.sequence, fate)
    };
    TunnelReport {
        from,
        teid: reported.teid,
        last_sequence: reported.last_sequence,
        received: reported.received,
        marked_before: reported.marked_before,
        dropped_before: reported.dropped_before,
        dropped_here: reported.dropped_here,
        entries: reported.entries.iter().map(entry).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_the_same_behind_the_wire() {
        let entries =
            vec![(7, Fate::MarkedBefore), (8, Fate::DroppedBefore), (9, Fate::DroppedHere)];
        let reported = TunnelReport {
            from: 3,
            teid: 4,
            last_sequence: 9,
            received: 100,
            marked_before: 1,
            dropped_before: 2,
            dropped_here: 5,
            entries,
        };
        let mut element = Vec::new();
        wire::emit(&to_wire(&reported), &mut element);
        let read = wire::parse(&element).expect("is well-formed").expect("is one of ours");
        assert_eq!(from_wire(read, 3), reported);
    }
}
