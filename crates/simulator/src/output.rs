//! What a run yields: plain columns, ready for any table library.
//! Column `n` of one table has as many rows as the others. Rates are in bit/s on the wire unless
//! the name says goodput; times in seconds. Measured means: after the warm-up, within `duration`.

/// All results of one run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunOutput {
    /// The seed it was run with.
    pub seed: u64,
    /// Hash of everything that happened, 16 hexadecimal digits.
    pub digest: String,
    /// Events processed.
    pub events: u64,
    /// Packet-hops simulated.
    pub hops: u64,
    /// Simulated time, seconds.
    pub simulated_s: f64,
    /// One row per flow.
    pub flows: FlowTable,
    /// One row per link.
    pub links: LinkTable,
    /// One row per link and user group: what each group did to and got from the link.
    pub link_groups: LinkGroupTable,
    /// What was measured interval by interval; empty without intervals.
    pub intervals: IntervalTables,
    /// One row per finished or unfinished transfer.
    pub transfers: TransferTable,
    /// One row per sample and group.
    pub group_series: GroupSeries,
    /// One row per sample and monitored link.
    pub link_series: LinkSeries,
    /// One row per sample and flow (the first flow of each group).
    pub flow_series: FlowSeries,
}

/// Per-flow results.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlowTable {
    /// Index of the user.
    pub user: Vec<u32>,
    /// Index of the group.
    pub group: Vec<u32>,
    /// Wire bytes that left the flow's last link, over the measured time. This is the throughput
    /// that the papers compare.
    pub throughput_bps: Vec<f64>,
    /// Payload that arrived in order, over the measured time. More than the throughput only where
    /// what came before the measurement is put in order within it.
    pub goodput_bps: Vec<f64>,
    /// Packets sent in the measured time: data, repeated or not, and connection requests. This and the
    /// counts below are of the sender's packets, not of what comes back.
    pub packets_sent: Vec<u64>,
    /// Of them, those sent again.
    pub retransmits: Vec<u64>,
    /// Retransmission time-outs in the measured time.
    pub timeouts: Vec<u64>,
    /// Fast recoveries entered in the measured time.
    pub fast_recoveries: Vec<u64>,
    /// Packets lost in the network in the measured time (any reason), whenever they were sent.
    pub losses: Vec<u64>,
    /// Packets that reached the receiver in the measured time, whenever they were sent.
    pub packets_delivered: Vec<u64>,
    /// Of them, those that were marked CE on their way.
    pub marks: Vec<u64>,
    /// Mean smoothed round-trip time over ACKs, NaN without any.
    pub mean_srtt_s: Vec<f64>,
    /// Mean congestion window over ACKs in segments, NaN without any.
    pub mean_cwnd_packets: Vec<f64>,
    /// Largest random delay at the sending host, against phase effects.
    pub host_jitter_s: Vec<f64>,
}

/// Per-link results over the measured time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinkTable {
    /// Name.
    pub name: Vec<String>,
    /// Whether it is monitored (backlog and sojourn columns are NaN otherwise).
    pub monitored: Vec<bool>,
    /// Packets offered.
    pub arrivals: Vec<u64>,
    /// Packets sent.
    pub departures: Vec<u64>,
    /// Bytes sent.
    pub departed_bytes: Vec<u64>,
    /// Packets sent over the whole run, warm-up included.
    pub departures_in_all: Vec<u64>,
    /// Share of the measured time in which the link was sending.
    pub utilization: Vec<f64>,
    /// Time average, the packet in transmission included.
    pub mean_backlog_packets: Vec<f64>,
    /// Time average, the packet in transmission included.
    pub mean_backlog_bytes: Vec<f64>,
    /// Mean time from arrival to the end of transmission.
    pub mean_sojourn_s: Vec<f64>,
    /// 95th percentile.
    pub p95_sojourn_s: Vec<f64>,
    /// 99th percentile.
    pub p99_sojourn_s: Vec<f64>,
    /// Largest.
    pub max_sojourn_s: Vec<f64>,
    /// Dropped because the buffer was full.
    pub drops_full: Vec<u64>,
    /// Dropped by the AQM.
    pub drops_aqm: Vec<u64>,
    /// Lost on the wire.
    pub drops_wire: Vec<u64>,
    /// Dropped by a customer's policer.
    pub drops_policer: Vec<u64>,
    /// Marked CE.
    pub marks: Vec<u64>,
    /// Memory of the mechanism in front of it at the end, without packets, parameters and tables.
    pub state_bytes: Vec<u64>,
}

/// Per link and group over the measured time (monitored links only).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinkGroupTable {
    /// Name of the link.
    pub link: Vec<String>,
    /// Index of the group.
    pub group: Vec<u32>,
    /// Packets offered.
    pub arrivals: Vec<u64>,
    /// Packets sent.
    pub departures: Vec<u64>,
    /// Bytes sent.
    pub departed_bytes: Vec<u64>,
    /// Dropped, any reason.
    pub drops: Vec<u64>,
    /// Marked CE.
    pub marks: Vec<u64>,
    /// Mean activity in arriving packets, NaN without a meter.
    pub mean_activity: Vec<f64>,
}

/// The parts of the measured time one by one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IntervalTables {
    /// One row per interval and user group.
    pub groups: IntervalGroupTable,
    /// One row per interval and monitored link.
    pub links: IntervalLinkTable,
}

/// Per interval and group.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IntervalGroupTable {
    /// Number of the interval, from 0.
    pub interval: Vec<u32>,
    /// Index of the group.
    pub group: Vec<u32>,
    /// Wire bytes that left the last link, all users of the group.
    pub throughput_bps: Vec<f64>,
}

/// Per interval and monitored link.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IntervalLinkTable {
    /// Number of the interval, from 0.
    pub interval: Vec<u32>,
    /// Name of the link.
    pub link: Vec<String>,
    /// Share of the interval in which the link was sending.
    pub utilization: Vec<f64>,
    /// Time average, the packet in transmission included.
    pub mean_backlog_packets: Vec<f64>,
    /// Dropped, any reason.
    pub drops: Vec<u64>,
    /// Those of them that policers did.
    pub drops_policer: Vec<u64>,
}

/// Finite transfers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TransferTable {
    /// Index of the flow.
    pub flow: Vec<u32>,
    /// Index of the group.
    pub group: Vec<u32>,
    /// When the connection was requested.
    pub start_s: Vec<f64>,
    /// Application bytes.
    pub size_bytes: Vec<u64>,
    /// From the connection request to the last ACK at the sender, NaN if unfinished.
    pub completion_s: Vec<f64>,
}

/// Time series per group.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GroupSeries {
    /// End of the interval.
    pub time_s: Vec<f64>,
    /// Index of the group.
    pub group: Vec<u32>,
    /// Wire bytes that left the last link within the interval, all users of the group.
    pub throughput_bps: Vec<f64>,
}

/// Time series per monitored link.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinkSeries {
    /// When.
    pub time_s: Vec<f64>,
    /// Name of the link.
    pub link: Vec<String>,
    /// Backlog at that moment.
    pub backlog_packets: Vec<u32>,
    /// Backlog at that moment.
    pub backlog_bytes: Vec<u64>,
    /// Drops within the interval.
    pub drops: Vec<u64>,
    /// Those of them that policers did.
    pub drops_policer: Vec<u64>,
    /// Marks within the interval.
    pub marks: Vec<u64>,
}

/// Time series per sampled flow.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlowSeries {
    /// When.
    pub time_s: Vec<f64>,
    /// Index of the flow.
    pub flow: Vec<u32>,
    /// Congestion window in segments.
    pub cwnd_packets: Vec<f64>,
    /// Smoothed round-trip time, NaN before the first sample.
    pub srtt_s: Vec<f64>,
}
