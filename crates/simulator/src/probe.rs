//! Measurements on links.
//!
//! Counters run over the whole run. The measured part is the difference of two [readings](crate::link_reading), so that
//! counting costs an addition and no comparison. The queueing times of accepted packets are counted in advance; a
//! reading subtracts the part after it.

use tidegate_mechanisms::bottleneck::DropReason;
use tidegate_mechanisms::units::Span;

use crate::delay::DelayStatistics;

/// Counts of accepted packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Accepted {
    /// Packets.
    pub packets: u64,
    /// Bytes.
    pub bytes: u64,
}

impl Accepted {
    /// Counts a packet of `bytes` bytes.
    #[inline]
    pub fn add(&mut self, bytes: u64) {
        self.packets += 1;
        self.bytes += bytes;
    }

    /// Returns the difference to `some`.
    pub fn without(self, some: Accepted) -> Self {
        Accepted { packets: self.packets - some.packets, bytes: self.bytes - some.bytes }
    }
}

/// Further measurements of a link; absent on most.
#[derive(Clone, Default)]
pub struct LinkProbe {
    /// Packets marked here and passed, including those marked before.
    pub marks: u64,
    /// Drops by reason: full, AQM, wire, policer.
    pub drops: [u64; 4],
    /// State of monitored links.
    pub monitor: Option<Box<Monitor>>,
}

/// State of a monitored link.
#[derive(Clone)]
pub struct Monitor {
    /// Sum of the times in the queue and in transmission, packet-ns.
    pub sojourn_ns: u128,
    /// Sum of the times in the queue and in transmission, weighted by size, byte-ns.
    pub sojourn_byte_ns: u128,
    /// Time in the queue of packets that were dropped later, packet-ns.
    pub lost_ns: u128,
    /// Time in the queue of packets that were dropped later, weighted by size, byte-ns.
    pub lost_byte_ns: u128,
    /// Time in transmission, ns.
    pub busy_ns: u128,
    /// Maximum backlog since the last reading, packet in transmission included, bytes.
    pub most_bytes: u64,
    /// Counts by user group.
    pub groups: Vec<GroupCounts>,
    /// Time in the queue and in transmission, by user group, since the last reading.
    pub sojourn: Vec<DelayStatistics>,
    /// Drops, drops by policers, and marks since the last sample.
    pub since_sample: [u64; 3],
}

/// Counts of a user group at a link.
#[derive(Clone, Copy, Default)]
pub struct GroupCounts {
    /// Packets accepted.
    pub accepted: u64,
    /// Bytes accepted.
    pub accepted_bytes: u64,
    /// Packets rejected on arrival by the buffer, the AQM or a policer.
    pub refused: u64,
    /// Packets dropped for any reason.
    pub drops: u64,
    /// Packets marked.
    pub marks: u64,
    /// Sum of the activity of arriving packets.
    pub activity: f64,
    /// Number of packets in `activity`.
    pub metered: u64,
}

impl LinkProbe {
    /// Returns a probe; `monitored_groups` is the number of user groups counted separately.
    pub fn new(monitored_groups: Option<usize>) -> Self {
        let monitor = monitored_groups.map(|groups| {
            Box::new(Monitor {
                sojourn_ns: 0,
                sojourn_byte_ns: 0,
                lost_ns: 0,
                lost_byte_ns: 0,
                busy_ns: 0,
                most_bytes: 0,
                groups: vec![GroupCounts::default(); groups],
                sojourn: vec![DelayStatistics::default(); groups],
                since_sample: [0; 3],
            })
        });
        LinkProbe { monitor, ..LinkProbe::default() }
    }

    /// Whether nothing was measured.
    pub(crate) fn is_blank(&self) -> bool {
        self.monitor.is_none() && self.marks == 0 && self.drops == [0; 4]
    }

    #[inline]
    pub(crate) fn on_activity(&mut self, group: u16, activity: f32) {
        if let Some(monitor) = &mut self.monitor {
            let counts = &mut monitor.groups[usize::from(group)];
            counts.activity += f64::from(activity);
            counts.metered += 1;
        }
    }

    pub(crate) fn on_mark(&mut self, group: u16) {
        self.marks += 1;
        if let Some(monitor) = &mut self.monitor {
            monitor.since_sample[2] += 1;
            monitor.groups[usize::from(group)].marks += 1;
        }
    }

    pub(crate) fn on_drop(&mut self, reason: DropReason, group: u16) {
        self.drops[reason as usize] += 1;
        if let Some(monitor) = &mut self.monitor {
            monitor.since_sample[0] += 1;
            if reason == DropReason::Policer {
                monitor.since_sample[1] += 1;
            }
            let counts = &mut monitor.groups[usize::from(group)];
            counts.drops += 1;
            if reason != DropReason::Wire {
                counts.refused += 1;
            }
        }
    }
}

impl LinkProbe {
    /// Counts a packet of `bytes` that is rejected, or dropped after it has `waited` in the queue.
    pub(crate) fn on_refusal(&mut self, reason: DropReason, group: u16, waited: Span, bytes: u64) {
        self.on_drop(reason, group);
        if let Some(monitor) = &mut self.monitor {
            let ns = u128::from(waited.as_nanos());
            monitor.lost_ns += ns;
            monitor.lost_byte_ns += ns * u128::from(bytes);
        }
    }
}

impl Monitor {
    #[inline(always)]
    pub(crate) fn on_accepted(
        &mut self,
        group: u16,
        bytes: u64,
        sojourn: Span,
        transmission: Span,
    ) {
        let ns = sojourn.as_nanos();
        self.sojourn_ns += u128::from(ns);
        self.sojourn_byte_ns += u128::from(ns) * u128::from(bytes);
        self.busy_ns += u128::from(transmission.as_nanos());
        let counts = &mut self.groups[usize::from(group)];
        counts.accepted += 1;
        counts.accepted_bytes += bytes;
        self.sojourn[usize::from(group)].record(sojourn);
    }
}
