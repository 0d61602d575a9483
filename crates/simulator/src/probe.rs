//! What is measured on links.
//!
//! Counters run from the start to the end of a run. What happened in its measured part is the
//! difference of two [readings](crate::link_reading), so that counting costs an addition and no comparison. The time
//! that accepted packets spend here is counted in advance; a reading takes off what lies after it.

use tidegate_mechanisms::bottleneck::DropReason;
use tidegate_mechanisms::units::Span;

use crate::histogram::Histogram;

/// What a link has accepted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Accepted {
    /// Packets.
    pub packets: u64,
    /// Bytes.
    pub bytes: u64,
}

impl Accepted {
    /// One more.
    #[inline]
    pub fn add(&mut self, bytes: u64) {
        self.packets += 1;
        self.bytes += bytes;
    }

    /// All but some of it.
    pub fn without(self, some: Accepted) -> Self {
        Accepted { packets: self.packets - some.packets, bytes: self.bytes - some.bytes }
    }
}

/// What else is measured on a link: nothing, on most.
#[derive(Clone, Default)]
pub struct LinkProbe {
    /// Packets that have passed with a mark set here, whether or not they came with one.
    pub marks: u64,
    /// Drops by reason: full, AQM, wire, policer.
    pub drops: [u64; 4],
    /// What only bottlenecks keep.
    pub monitor: Option<Box<Monitor>>,
}

/// What is kept of a monitored link.
#[derive(Clone)]
pub struct Monitor {
    /// Time in the queue and in transmission, since the last reading.
    pub sojourn: Histogram,
    /// Sum of it, packet-ns.
    pub sojourn_ns: u128,
    /// The same weighted with size, byte-ns.
    pub sojourn_byte_ns: u128,
    /// Time that packets were here which were then dropped, packet-ns.
    pub lost_ns: u128,
    /// The same weighted with size, byte-ns.
    pub lost_byte_ns: u128,
    /// Time in transmission, ns.
    pub busy_ns: u128,
    /// Most bytes that were here at a time, the packet in transmission included, since the last reading.
    pub most_bytes: u64,
    /// By user group.
    pub groups: Vec<GroupCounts>,
    /// Drops, those by policers, and marks since the last sample.
    pub since_sample: [u64; 3],
}

/// What a group of users did to a link and got from it.
#[derive(Clone, Copy, Default)]
pub struct GroupCounts {
    /// Packets accepted.
    pub accepted: u64,
    /// Bytes accepted.
    pub accepted_bytes: u64,
    /// Packets refused, by the buffer, the AQM or a policer.
    pub refused: u64,
    /// Packets dropped for any reason.
    pub drops: u64,
    /// Packets marked.
    pub marks: u64,
    /// Sum of the activity of arriving packets.
    pub activity: f64,
    /// Packets it is taken over.
    pub metered: u64,
}

impl LinkProbe {
    /// A probe; `monitored_groups` is the number of user groups to tell apart.
    pub fn new(monitored_groups: Option<usize>) -> Self {
        let monitor = monitored_groups.map(|groups| {
            Box::new(Monitor {
                sojourn: Histogram::default(),
                sojourn_ns: 0,
                sojourn_byte_ns: 0,
                lost_ns: 0,
                lost_byte_ns: 0,
                busy_ns: 0,
                most_bytes: 0,
                groups: vec![GroupCounts::default(); groups],
                since_sample: [0; 3],
            })
        });
        LinkProbe { monitor, ..LinkProbe::default() }
    }

    /// Whether anything was.
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
    /// A packet of `bytes` is refused, or dropped after it has `waited` here.
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
        self.sojourn.record(sojourn);
        let counts = &mut self.groups[usize::from(group)];
        counts.accepted += 1;
        counts.accepted_bytes += bytes;
    }
}
