//! What a run yields: plain columns, ready for any table library.
//! Column `n` of one table has as many rows as the others. Rates are in bit/s on the wire unless
//! the name says goodput; times in seconds. Measured means: after the warm-up, within `duration`.

mod applications;
pub mod schema;

use schema::{Table, TableSchema, Values, tables};

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
    /// One row per flow that declares congestion; empty without such.
    pub declarations: DeclarationTable,
    /// What stages counted; empty without stages that count.
    pub stages: StageTable,
    /// One row per finished or unfinished transfer.
    pub transfers: TransferTable,
    /// What applications tell of themselves; empty without such as do.
    pub applications: ApplicationTable,
    /// One row per sample and group.
    pub group_series: GroupSeries,
    /// One row per sample and monitored link.
    pub link_series: LinkSeries,
    /// One row per sample and flow (the first flows of each group).
    pub flow_series: FlowSeries,
    /// One row per sample, stage and level, for the first users of each group; empty without such stages.
    pub stage_series: StageSeries,
    /// One row per sample, flow (the first flows of each group) and thing that its application has; empty without
    /// applications that have such.
    pub application_series: ApplicationSeries,
    /// One row per sample and flow whose controller models its path (the first flows of each group); empty without such.
    pub path_series: PathSeries,
}

/// All tables, in the order of [`RunOutput::into_tables`].
pub const SCHEMA: [TableSchema; 17] = [
    RunTable::SCHEMA,
    FlowTable::SCHEMA,
    LinkTable::SCHEMA,
    LinkGroupTable::SCHEMA,
    TransferTable::SCHEMA,
    GroupSeries::SCHEMA,
    LinkSeries::SCHEMA,
    FlowSeries::SCHEMA,
    IntervalGroupTable::SCHEMA,
    IntervalLinkTable::SCHEMA,
    IntervalFlowTable::SCHEMA,
    DeclarationTable::SCHEMA,
    StageTable::SCHEMA,
    StageSeries::SCHEMA,
    ApplicationTable::SCHEMA,
    ApplicationSeries::SCHEMA,
    PathSeries::SCHEMA,
];

impl RunOutput {
    /// The columns of all tables that this run has.
    pub fn into_tables(self) -> Vec<(TableSchema, Vec<Values>)> {
        fn columns<T: Table>(table: T) -> (TableSchema, Vec<Values>) {
            (T::SCHEMA, table.into_values())
        }
        let run = RunTable {
            seed: vec![self.seed],
            digest: vec![self.digest],
            events: vec![self.events],
            hops: vec![self.hops],
            simulated_s: vec![self.simulated_s],
        };
        let mut tables = vec![
            columns(run),
            columns(self.flows),
            columns(self.links),
            columns(self.link_groups),
            columns(self.transfers),
            columns(self.group_series),
            columns(self.link_series),
            columns(self.flow_series),
        ];
        let IntervalTables { groups, links, flows } = self.intervals;
        if !groups.interval.is_empty() {
            tables.extend([columns(groups), columns(links)]);
        }
        if !flows.interval.is_empty() {
            tables.push(columns(flows));
        }
        if !self.declarations.flow.is_empty() {
            tables.push(columns(self.declarations));
        }
        if !self.stages.value.is_empty() {
            tables.push(columns(self.stages));
        }
        if !self.stage_series.amount.is_empty() {
            tables.push(columns(self.stage_series));
        }
        if !self.applications.amount.is_empty() {
            tables.push(columns(self.applications));
        }
        if !self.application_series.amount.is_empty() {
            tables.push(columns(self.application_series));
        }
        if !self.path_series.flow.is_empty() {
            tables.push(columns(self.path_series));
        }
        tables
    }
}

tables! {
    /// The run itself.
    pub struct RunTable = "run" {
        /// The seed it was run with.
        seed: U64;
        /// Hash of everything that happened, 16 hexadecimal digits; empty on real Linux.
        digest: Text;
        /// Events processed; on real Linux, packets that entered the network.
        events: U64;
        /// Packet-hops: a packet over a link is one.
        hops: U64;
        /// Time in the network, from the start on.
        simulated_s: F64 in "s";
    }

    /// One row per flow, over the measured time.
    pub struct FlowTable = "flows" {
        /// Number of the flow, from 0.
        flow: U32;
        /// Index of the user.
        user: U32;
        /// Its group.
        group: Group;
        /// Wire bytes that left the flow's last link, over the measured time. This is the throughput
        /// that the papers compare.
        throughput_bps: F64 in "bit/s";
        /// Payload that arrived in order, over the measured time. More than the throughput only where
        /// what came before the measurement is put in order within it.
        goodput_bps: F64 in "bit/s";
        /// Packets sent in the measured time: data, repeated or not, and connection requests. This and the
        /// counts below are of the sender's packets, not of what comes back.
        packets_sent: U64;
        /// Of them, those sent again.
        retransmits: U64;
        /// Retransmission timeouts in the measured time.
        timeouts: U64;
        /// Fast recoveries entered in the measured time.
        fast_recoveries: U64;
        /// Packets lost in the network in the measured time (any reason), whenever they were sent.
        losses: U64;
        /// Packets that reached the receiver in the measured time, whenever they were sent.
        packets_delivered: U64;
        /// Of them, those that were marked CE in transit.
        marks: U64;
        /// Mean smoothed round-trip time over ACKs, none without any.
        mean_srtt_s: F64 in "s";
        /// Mean congestion window over ACKs in segments, none without any.
        mean_cwnd_packets: F64 in "packets";
        /// Largest random delay at the sending host, against phase effects.
        host_jitter_s: F64 in "s";
    }

    /// One row per link, over the measured time.
    pub struct LinkTable = "links" {
        /// Name.
        name: Text;
        /// Whether it is monitored (otherwise it has no backlog and no times).
        monitored: Bool;
        /// Packets that arrived.
        arrivals: U64;
        /// Packets sent, to their last bit.
        departures: U64;
        /// Bytes of the packets sent.
        departed_bytes: U64 in "B";
        /// Packets accepted over the whole run, warm-up included.
        departures_in_all: U64;
        /// Share of the measured time in which the link was sending; outages, where its rate is 0, are no such time.
        utilization: F64 in "1";
        /// Packets there, averaged over time, the one in transmission included.
        mean_backlog_packets: F64 in "packets";
        /// Bytes there, averaged over time, the packet in transmission included.
        mean_backlog_bytes: F64 in "B";
        /// Most bytes there at a time, the packet in transmission included.
        max_backlog_bytes: F64 in "B";
        /// Mean time from arrival to the end of transmission, of the packets accepted in the measured time.
        mean_sojourn_s: F64 in "s";
        /// 95th percentile of the time from arrival to the end of transmission: the upper end of its bin in a histogram
        /// whose bins are 1/128 wide or less, so that it is up to 0.8 % too high, and never cut off.
        p95_sojourn_s: F64 in "s";
        /// 99th percentile of the time from arrival to the end of transmission, rounded up likewise.
        p99_sojourn_s: F64 in "s";
        /// Largest time from arrival to the end of transmission, rounded up likewise.
        max_sojourn_s: F64 in "s";
        /// Dropped because the buffer was full.
        drops_full: U64;
        /// Dropped by the AQM.
        drops_aqm: U64;
        /// Lost on the wire.
        drops_wire: U64;
        /// Dropped by a customer's policer.
        drops_policer: U64;
        /// Marked CE.
        marks: U64;
        /// Memory of the mechanism in front of it at the end, without packets, parameters and tables.
        state_bytes: U64 in "B";
    }

    /// One row per monitored link and user group, over the measured time: what each did to the link and got from it.
    pub struct LinkGroupTable = "link_groups" {
        /// Name of the link.
        link: Text;
        /// Its group.
        group: Group;
        /// Packets that arrived.
        arrivals: U64;
        /// Packets sent, to their last bit.
        departures: U64;
        /// Bytes of the packets sent.
        departed_bytes: U64 in "B";
        /// Dropped, any reason.
        drops: U64;
        /// Marked CE.
        marks: U64;
        /// Mean activity in arriving packets, none without a meter.
        mean_activity: F64 in "1";
    }

    /// One row per part of the measured time and group.
    pub struct IntervalGroupTable = "interval_groups" only of "scenarios with intervals" {
        /// Number of the interval, from 0.
        interval: U32;
        /// Its group.
        group: Group;
        /// Wire bytes that left the last link, all users of the group.
        throughput_bps: F64 in "bit/s";
    }

    /// One row per part of the measured time and monitored link.
    pub struct IntervalLinkTable = "interval_links" only of "scenarios with intervals" {
        /// Number of the interval, from 0.
        interval: U32;
        /// Name of the link.
        link: Text;
        /// Share of the interval in which the link was sending.
        utilization: F64 in "1";
        /// Packets there, averaged over time, the one in transmission included.
        mean_backlog_packets: F64 in "packets";
        /// Bytes there, averaged over time, the packet in transmission included.
        mean_backlog_bytes: F64 in "B";
        /// Dropped, any reason.
        drops: U64;
        /// Those of them that policers did.
        drops_policer: U64;
    }

    /// One row per part of the measured time and flow, not on real Linux.
    pub struct IntervalFlowTable = "interval_flows" only of "simulated scenarios with intervals" {
        /// Number of the interval, from 0.
        interval: U32;
        /// Number of the flow, from 0.
        flow: U32;
        /// Its group.
        group: Group;
        /// Wire bytes that left the flow's last link.
        throughput_bps: F64 in "bit/s";
        /// Packets that reached the receiver.
        packets_delivered: U64;
        /// Of them, those that were marked CE.
        marks: U64;
        /// Retransmission timeouts.
        timeouts: U64;
        /// Mean congestion window over ACKs in segments, none without any.
        mean_cwnd_packets: F64 in "packets";
    }

    /// One row per flow whose sender declares congestion (`tcp.conex`), over the measured time: what it declared, by kind,
    /// over all its connections. A packet that declares two things counts for each; with re-ECN losses and marks share a
    /// codepoint, and are separate here.
    pub struct DeclarationTable = "declarations" only of "simulated scenarios with senders that declare congestion" {
        /// Number of the flow, from 0.
        flow: U32;
        /// Index of the user.
        user: U32;
        /// Its group.
        group: Group;
        /// Packets sent that declare a loss.
        loss_packets: U64 in "packets";
        /// Their payload.
        loss_bytes: U64 in "B";
        /// Packets sent that declare a mark.
        mark_packets: U64 in "packets";
        /// Their payload.
        mark_bytes: U64 in "B";
        /// Packets sent that give credit.
        credit_packets: U64 in "packets";
        /// Their payload.
        credit_bytes: U64 in "B";
    }

    /// One row per stage, user whose packets it has seen, and thing that it counts, over the measured time.
    pub struct StageTable = "stages" only of "scenarios with stages that count" {
        /// Name of the stage: the user's or the link's, the place, and its number there.
        stage: Text;
        /// Index of the user.
        user: U32;
        /// Its group.
        group: Group;
        /// What is counted: packets, where the name does not say bytes. `dropped: REASON` is what the stage
        /// has dropped for that reason. `state_bytes` is no count: what the stage remembers of all its users, flows and
        /// tunnels at the end, in bytes, where it has to, once, in the row of the first of its users.
        count: Text;
        /// How much of it.
        value: U64;
    }

    /// One row per flow and quantity that its application reports, over the whole run up to the end of the
    /// measured time. Videos: `stalls`, `mean_stall_s` (0 without any), `startup_s`, `played_s`, `ended_s` (when the
    /// last of it was played) and `qoe`, from 1.5 to 5. Short flows: `begun`, `finished`, `completion_s` (their mean)
    /// and `longest_completion_s`. Over the measured time alone, calls: `offered`, `blocked`, `begun`, `ended`, `blocking` (a
    /// share), `calls` in progress with `calls_variance` and `most_calls`, `set_up_s`, `probes` and, of a gateway,
    /// `passed_unasked`; videos that adapt: `target_rate_bps`, `quality` (0 is the worst), `quality_changes`, `stopped_s` and `price`; readers of pages: `pages`
    /// that have come, their `objects` and `bytes`, `waited_s` for all of them and `page_s` for one on average.
    pub struct ApplicationTable = "applications" only of "scenarios with videos, short flows, pages, calls or videos that adapt" {
        /// Index of the flow.
        flow: U32;
        /// Index of the user.
        user: U32;
        /// Its group.
        group: Group;
        /// Name of the quantity; times in seconds, where the name says so.
        what: Text;
        /// How much of it; none where there is none, as of a video that never started.
        amount: F64 in "as named";
    }

    /// One row per transfer, finished or not.
    pub struct TransferTable = "transfers" {
        /// Index of the flow.
        flow: U32;
        /// Its group.
        group: Group;
        /// When the connection was requested.
        start_s: F64 in "s";
        /// Application bytes.
        size_bytes: U64 in "B";
        /// From the connection request to the last ACK at the sender, and of a page of the web to its last byte at
        /// the user; none if it is unfinished.
        completion_s: F64 in "s";
        /// Of that, from the connection request to its answer, lost requests included; none of a page of the web, of a
        /// transfer that is unfinished, and in the lab.
        set_up_s: F64 in "s";
    }

    /// One row per sample and group.
    pub struct GroupSeries = "group_series" {
        /// When it was taken: the end of the interval that it speaks of.
        time_s: F64 in "s";
        /// Its group.
        group: Group;
        /// Wire bytes that left the last link within the interval, all users of the group.
        throughput_bps: F64 in "bit/s";
    }

    /// One row per sample and monitored link.
    pub struct LinkSeries = "link_series" {
        /// When it was taken.
        time_s: F64 in "s";
        /// Name of the link.
        link: Text;
        /// Backlog at that moment.
        backlog_packets: U32 in "packets";
        /// Backlog at that moment.
        backlog_bytes: U64 in "B";
        /// Drops within the interval.
        drops: U64;
        /// Those of them that policers did.
        drops_policer: U64;
        /// Marks within the interval.
        marks: U64;
        /// The price that its queue asks, as of its last sample or of the last packet that left; none where it asks
        /// none.
        price: F64 in "1";
    }

    /// One row per sample, stage and level, for the first users of each group: as many as `sampled_users`.
    pub struct StageSeries = "stage_series" only of "scenarios with policers or auditors" {
        /// When it was taken.
        time_s: F64 in "s";
        /// Name of the stage: the user's or the link's, the place, and its number there.
        stage: Text;
        /// Index of the user.
        user: U32;
        /// What it is, with its unit: the fill of a bucket, a balance.
        level: Text;
        /// How much.
        amount: F64 in "as named";
    }

    /// One row per sample, flow and thing that its application has, for the first flows of each group: as many as
    /// `sampled_flows`. Calls: `calls` in progress and the `price` of their path, if it is reported; videos that
    /// adapt: `target_rate_bps`, `quality` (0 is the worst; none while they send nothing) and `price`.
    pub struct ApplicationSeries = "application_series" only of "scenarios with calls or videos that adapt" {
        /// When it was taken.
        time_s: F64 in "s";
        /// Index of the flow.
        flow: U32;
        /// Its group.
        group: Group;
        /// What it is.
        what: Text;
        /// How much of it.
        amount: F64 in "as named";
    }

    /// One row per sample and flow whose sender models its path, for the first flows of each group: as many as
    /// `sampled_flows`.
    pub struct PathSeries = "path_series" only of "simulations with bbr or bbr3" {
        /// When it was taken.
        time_s: F64 in "s";
        /// Index of the flow.
        flow: U32;
        /// Its group.
        group: Group;
        /// State of the sender's state machine: `startup`, `drain`, `probe-bw` (with bbr3 `probe-bw-down`, `-cruise`,
        /// `-refill` and `-up`) or `probe-rtt`.
        state: Text;
        /// Bandwidth of the path as the sender estimates it, of packets with their headers.
        bandwidth_bps: F64 in "bit/s";
        /// Shortest round-trip time of the path as the sender estimates it, none before the first.
        min_rtt_s: F64 in "s";
        /// Pacing rate, of packets with their headers.
        pacing_rate_bps: F64 in "bit/s";
        /// Segments in the network: sent, neither acknowledged nor lost.
        inflight_packets: F64 in "packets";
        /// Bound of segments in the network that losses have shown while bandwidth was probed (bbr3: `inflight_longterm`);
        /// none without.
        inflight_hi_packets: F64 in "packets";
        /// The same while it was not, until bandwidth is probed next (bbr3: `inflight_shortterm`); none without.
        inflight_lo_packets: F64 in "packets";
    }

    /// One row per sample and flow, for the first flows of each group: as many as `sampled_flows`.
    pub struct FlowSeries = "flow_series" {
        /// When it was taken.
        time_s: F64 in "s";
        /// Index of the flow.
        flow: U32;
        /// Its group.
        group: Group;
        /// Congestion window in segments.
        cwnd_packets: F64 in "packets";
        /// Smoothed round-trip time, none before the first sample.
        srtt_s: F64 in "s";
        /// The price of its path as the sender knows it; none for senders that do not go by prices, before the first
        /// one, and on real Linux.
        price: F64 in "1";
    }
}

/// The parts of the measured time one by one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IntervalTables {
    /// One row per interval and user group.
    pub groups: IntervalGroupTable,
    /// One row per interval and monitored link.
    pub links: IntervalLinkTable,
    /// One row per interval and flow; empty on real Linux.
    pub flows: IntervalFlowTable,
}
