//! Results of a run: plain columns for any table library. All columns of a table have the same number of rows. Rates
//! are in bit/s on the wire unless the name says goodput; times in seconds. "Measured" means after the warm-up, within
//! `duration`.

mod applications;
pub mod schema;

use schema::{Table, TableSchema, Values, tables};

/// All results of one run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunOutput {
    /// Seed of the run.
    pub seed: u64,
    /// Hash of all events, 16 hexadecimal digits.
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
    /// One row per link and user group: traffic offered by each group, and treatment by the link.
    pub link_groups: LinkGroupTable,
    /// Delays of packets at receivers: one row per group, and per user or flow where asked for.
    pub delays: DelayTable,
    /// Measurements by interval; empty without intervals.
    pub intervals: IntervalTables,
    /// One row per flow that declares congestion; empty without such flows.
    pub declarations: DeclarationTable,
    /// Counts of stages; empty without stages that count.
    pub stages: StageTable,
    /// One row per finished or unfinished transfer.
    pub transfers: TransferTable,
    /// Metrics of applications; empty without applications that report any.
    pub applications: ApplicationTable,
    /// One row per sample and group.
    pub group_series: GroupSeries,
    /// One row per sample and monitored link.
    pub link_series: LinkSeries,
    /// One row per sample and flow (the first flows of each group).
    pub flow_series: FlowSeries,
    /// One row per sample, stage and level, for the first users of each group; empty without such stages.
    pub stage_series: StageSeries,
    /// One row per sample, flow (the first flows of each group) and sampled quantity of its application; empty without
    /// such applications.
    pub application_series: ApplicationSeries,
    /// One row per sample and flow whose controller models its path (the first flows of each group); empty without such.
    pub path_series: PathSeries,
}

/// All tables, in the order of [`RunOutput::into_tables`].
pub const SCHEMA: [TableSchema; 18] = [
    RunTable::SCHEMA,
    FlowTable::SCHEMA,
    LinkTable::SCHEMA,
    LinkGroupTable::SCHEMA,
    DelayTable::SCHEMA,
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
    /// Returns all tables of this run with their columns.
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
            columns(self.delays),
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
        /// Seed of the run.
        seed: U64;
        /// Hash of all events, 16 hexadecimal digits; empty on real Linux.
        digest: Text;
        /// Events processed; on real Linux, packets that entered the network.
        events: U64;
        /// Packet-hops: each packet counts once per link.
        hops: U64;
        /// Simulated time from the start of the run.
        simulated_s: F64 in "s";
    }

    /// One row per flow, over the measured time.
    pub struct FlowTable = "flows" {
        /// Number of the flow, from 0.
        flow: U32;
        /// Index of the user.
        user: U32;
        /// User group.
        group: Group;
        /// Wire bytes that left the flow's last link, over the measured time. This is the throughput
        /// that the papers compare.
        throughput_bps: F64 in "bit/s";
        /// Payload delivered in order, over the measured time. It exceeds the throughput only if data that arrived
        /// before the measurement is put in order within it.
        goodput_bps: F64 in "bit/s";
        /// Packets sent by the sender in the measured time: data, retransmissions included, and connection requests.
        packets_sent: U64;
        /// Retransmissions in the measured time.
        retransmits: U64;
        /// Retransmission timeouts in the measured time.
        timeouts: U64;
        /// Fast recoveries entered in the measured time.
        fast_recoveries: U64;
        /// Packets of the sender lost in the network in the measured time, for any reason, regardless of their send
        /// time.
        losses: U64;
        /// Packets of the sender that reached the receiver in the measured time, regardless of their send time.
        packets_delivered: U64;
        /// Packets that reached the receiver marked CE.
        marks: U64;
        /// Mean smoothed round-trip time over ACKs, none without any.
        mean_srtt_s: F64 in "s";
        /// Mean congestion window over ACKs in segments, none without any.
        mean_cwnd_packets: F64 in "packets";
        /// Maximum random delay at the sending host, against phase effects.
        host_jitter_s: F64 in "s";
    }

    /// One row per link, over the measured time.
    pub struct LinkTable = "links" {
        /// Name of the link.
        name: Text;
        /// Whether the link is monitored; otherwise backlog and times are missing.
        monitored: Bool;
        /// Packets that arrived at the link.
        arrivals: U64;
        /// Packets sent, to their last bit.
        departures: U64;
        /// Bytes of the packets sent.
        departed_bytes: U64 in "B";
        /// Packets accepted over the whole run, warm-up included.
        departures_in_all: U64;
        /// Share of the measured time in which the link was sending; outages, where its rate is 0, are no such time. Where the rate
        /// follows a trace: share of the time in which that is not 0.
        utilization: F64 in "1";
        /// Time average of the packets in the queue, including the one in transmission.
        mean_backlog_packets: F64 in "packets";
        /// Time average of the bytes in the queue, including the packet in transmission.
        mean_backlog_bytes: F64 in "B";
        /// Maximum of the bytes in the queue, including the packet in transmission.
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
        /// Packets dropped because the buffer was full.
        drops_full: U64;
        /// Packets dropped by the AQM.
        drops_aqm: U64;
        /// Packets lost on the wire.
        drops_wire: U64;
        /// Packets dropped by a customer's policer.
        drops_policer: U64;
        /// Packets marked CE by the link.
        marks: U64;
        /// State of the link's mechanism at the end, without packets, parameters and tables.
        state_bytes: U64 in "B";
    }

    /// One row per monitored link and user group, over the measured time: traffic offered by each group, and treatment
    /// by the link.
    pub struct LinkGroupTable = "link_groups" {
        /// Name of the link.
        link: Text;
        /// User group.
        group: Group;
        /// Packets that arrived at the link.
        arrivals: U64;
        /// Packets sent, to their last bit.
        departures: U64;
        /// Bytes of the packets sent.
        departed_bytes: U64 in "B";
        /// Packets dropped, for any reason.
        drops: U64;
        /// Packets marked CE by the link.
        marks: U64;
        /// Mean activity in arriving packets, none without a meter.
        mean_activity: F64 in "1";
        /// Mean time that the group's packets spent in the queue and in transmission at this link.
        mean_sojourn_s: F64 in "s";
        /// Median time that the group's packets spent in the queue and in transmission at this link, up to 0.8 % too high.
        p50_sojourn_s: F64 in "s";
        /// 95th percentile of the time that the group's packets spent in the queue and in transmission at this link, up to 0.8 % too high.
        p95_sojourn_s: F64 in "s";
        /// 99th percentile of the time that the group's packets spent in the queue and in transmission at this link, up to 0.8 % too high.
        p99_sojourn_s: F64 in "s";
        /// 99.9th percentile of the time that the group's packets spent in the queue and in transmission at this link, up to 0.8 % too high.
        p999_sojourn_s: F64 in "s";
        /// Largest time that the group's packets spent in the queue and in transmission at this link, exact.
        max_sojourn_s: F64 in "s";
    }

    /// One row per group, and with `delays_by` one per user or flow: delays of its packets that arrived in the measured
    /// time. Packets are those of the senders: data, UDP and connection requests. The one-way delay begins when
    /// the sender sends the packet, so that the delay of its host (`host_jitter`) is part of it and of the queueing delay.
    pub struct DelayTable = "delays" {
        /// What the row is of: `group`, `user` or `flow`.
        level: Text;
        /// Its number, from 0.
        number: U32;
        /// Its group.
        group: Group;
        /// Packets that arrived.
        packets: U64;
        /// Mean queueing delay: what a packet's one-way delay has beyond that over an empty path.
        mean_queueing_delay_s: F64 in "s";
        /// Median queueing delay: what a packet's one-way delay has beyond that over an empty path, up to 0.8 % too high.
        p50_queueing_delay_s: F64 in "s";
        /// 95th percentile of the queueing delay: what a packet's one-way delay has beyond that over an empty path, up to 0.8 % too high.
        p95_queueing_delay_s: F64 in "s";
        /// 99th percentile of the queueing delay: what a packet's one-way delay has beyond that over an empty path, up to 0.8 % too high.
        p99_queueing_delay_s: F64 in "s";
        /// 99.9th percentile of the queueing delay: what a packet's one-way delay has beyond that over an empty path, up to 0.8 % too high.
        p999_queueing_delay_s: F64 in "s";
        /// Largest queueing delay: what a packet's one-way delay has beyond that over an empty path, exact.
        max_queueing_delay_s: F64 in "s";
        /// Mean one-way delay: from when the sender sends a packet until it arrives at the receiver.
        mean_one_way_delay_s: F64 in "s";
        /// Median one-way delay: from when the sender sends a packet until it arrives at the receiver, up to 0.8 % too high.
        p50_one_way_delay_s: F64 in "s";
        /// 95th percentile of the one-way delay: from when the sender sends a packet until it arrives at the receiver, up to 0.8 % too high.
        p95_one_way_delay_s: F64 in "s";
        /// 99th percentile of the one-way delay: from when the sender sends a packet until it arrives at the receiver, up to 0.8 % too high.
        p99_one_way_delay_s: F64 in "s";
        /// 99.9th percentile of the one-way delay: from when the sender sends a packet until it arrives at the receiver, up to 0.8 % too high.
        p999_one_way_delay_s: F64 in "s";
        /// Largest one-way delay: from when the sender sends a packet until it arrives at the receiver, exact.
        max_one_way_delay_s: F64 in "s";
        /// Interarrival jitter of UDP (RFC 3550, section 6.4.1), mean over packets; none of TCP.
        jitter_s: F64 in "s";
        /// How often packets of UDP were lost one after the other, as the next arrival shows; none of TCP and in the
        /// lab.
        loss_runs: F64 in "1";
        /// Most packets of UDP that were lost one after the other; none of TCP and in the lab.
        longest_loss_run_packets: F64 in "packets";
        /// Mean opinion score of a call (traffic `voip`, or `cbr` with a `codec`), from 1 to 4.5, by the E-model (ITU-T G.107) from the
        /// 99 % quantile of the one-way delay and the share of packets lost; none of other traffic.
        mos: F64 in "1";
    }

    /// One row per interval of the measured time and user group.
    pub struct IntervalGroupTable = "interval_groups" only of "scenarios with intervals" {
        /// Number of the interval, from 0.
        interval: U32;
        /// User group.
        group: Group;
        /// Wire bytes of all users of the group that left the last link.
        throughput_bps: F64 in "bit/s";
    }

    /// One row per interval of the measured time and monitored link.
    pub struct IntervalLinkTable = "interval_links" only of "scenarios with intervals" {
        /// Number of the interval, from 0.
        interval: U32;
        /// Name of the link.
        link: Text;
        /// Share of the interval in which the link was sending.
        utilization: F64 in "1";
        /// Time average of the packets in the queue, including the one in transmission.
        mean_backlog_packets: F64 in "packets";
        /// Time average of the bytes in the queue, including the packet in transmission.
        mean_backlog_bytes: F64 in "B";
        /// Packets dropped, for any reason.
        drops: U64;
        /// Packets dropped by policers.
        drops_policer: U64;
    }

    /// One row per interval of the measured time and flow, not on real Linux.
    pub struct IntervalFlowTable = "interval_flows" only of "simulated scenarios with intervals" {
        /// Number of the interval, from 0.
        interval: U32;
        /// Number of the flow, from 0.
        flow: U32;
        /// User group.
        group: Group;
        /// Wire bytes that left the flow's last link.
        throughput_bps: F64 in "bit/s";
        /// Packets that reached the receiver.
        packets_delivered: U64;
        /// Packets that reached the receiver marked CE.
        marks: U64;
        /// Retransmission timeouts.
        timeouts: U64;
        /// Mean congestion window over ACKs in segments, none without any.
        mean_cwnd_packets: F64 in "packets";
    }

    /// One row per flow whose sender declares congestion (`tcp.conex`), over the measured time: its declarations by
    /// kind, over all its connections. A packet with two declarations counts for each; with re-ECN losses and marks
    /// share a codepoint, and are separate here.
    pub struct DeclarationTable = "declarations" only of "simulated scenarios with senders that declare congestion" {
        /// Number of the flow, from 0.
        flow: U32;
        /// Index of the user.
        user: U32;
        /// User group.
        group: Group;
        /// Packets sent that declare a loss.
        loss_packets: U64 in "packets";
        /// Payload of the packets with declarations of losses.
        loss_bytes: U64 in "B";
        /// Packets sent that declare a mark.
        mark_packets: U64 in "packets";
        /// Payload of the packets with declarations of marks.
        mark_bytes: U64 in "B";
        /// Packets sent that give credit.
        credit_packets: U64 in "packets";
        /// Payload of the packets with credit.
        credit_bytes: U64 in "B";
    }

    /// One row per stage, user whose packets it has seen, and count, over the measured time.
    pub struct StageTable = "stages" only of "scenarios with stages that count" {
        /// Name of the stage: the user's or the link's, the place, and its number there.
        stage: Text;
        /// Index of the user.
        user: U32;
        /// User group.
        group: Group;
        /// Name of the count; its unit is packets, unless the name says bytes. `dropped: REASON` is the number of
        /// packets dropped by the stage for that reason. `state_bytes` is the size of a stateful stage's per-user,
        /// per-flow and per-tunnel state at the end, in bytes, listed once, in the row of its first user.
        count: Text;
        /// Value.
        value: U64;
    }

    /// One row per flow and quantity that its application reports, over the whole run up to the end of the measured
    /// time. Videos: `stalls`, `mean_stall_s` (0 without any), `startup_s`, `played_s`, `ended_s` (when the last of it
    /// was played) and `qoe`, from 1.5 to 5. Short flows: `begun`, `finished`, `completion_s` (their mean) and
    /// `longest_completion_s`. Over the measured time alone, transfers with a barrier: `blocks` that have ended in it,
    /// `block_s` (their mean duration, from the first start to the last end of a transfer) and `longest_block_s`, the
    /// same for all flows of the group; calls: `offered`, `blocked`, `begun`, `ended`, `blocking` (a share), `calls` in
    /// progress with `calls_variance` and `most_calls`, `set_up_s`, `probes` and, of a gateway, `passed_unasked`;
    /// videos that adapt: `target_rate_bps`, `quality` (0 is the worst), `quality_changes`, `stopped_s` and `price`;
    /// readers of pages: `pages` that have come, their `objects` and `bytes`, `waited_s` for all of them and `page_s`
    /// for one on average.
    pub struct ApplicationTable = "applications" only of "scenarios with videos, short flows, transfers with a barrier, pages, calls or videos that adapt" {
        /// Index of the flow.
        flow: U32;
        /// Index of the user.
        user: U32;
        /// User group.
        group: Group;
        /// Name of the quantity; times in seconds, where the name says so.
        what: Text;
        /// Value of the quantity; none if it is undefined, as the start of a video that never started.
        amount: F64 in "as named";
    }

    /// One row per transfer, finished or not.
    pub struct TransferTable = "transfers" {
        /// Index of the flow.
        flow: U32;
        /// User group.
        group: Group;
        /// Time at which the connection was requested.
        start_s: F64 in "s";
        /// Size of the transfer, application bytes.
        size_bytes: U64 in "B";
        /// Flow completion time, from the connection request to the last ACK at the sender; for a web page to its last
        /// byte at the user; none for an unfinished transfer.
        completion_s: F64 in "s";
        /// Time from the connection request to its answer, including lost requests; none for a web page, for an
        /// unfinished transfer, and in the lab.
        set_up_s: F64 in "s";
        /// Time of the transfer over an empty path: a round trip for the connection request, the transmission of its packets
        /// on the slowest link, and a round trip to the last ACK.
        empty_path_s: F64 in "s";
    }

    /// One row per sample and group.
    pub struct GroupSeries = "group_series" {
        /// Time of the sample: the end of the sampling interval.
        time_s: F64 in "s";
        /// User group.
        group: Group;
        /// Wire bytes of all users of the group that left the last link since the last sample.
        throughput_bps: F64 in "bit/s";
        /// Mean queueing delay of the packets that arrived within the interval, none without any.
        mean_queueing_delay_s: F64 in "s";
    }

    /// One row per sample and monitored link.
    pub struct LinkSeries = "link_series" {
        /// Time of the sample.
        time_s: F64 in "s";
        /// Name of the link.
        link: Text;
        /// Backlog at the time of the sample.
        backlog_packets: U32 in "packets";
        /// Backlog at the time of the sample.
        backlog_bytes: U64 in "B";
        /// Drops since the last sample.
        drops: U64;
        /// Packets dropped by policers.
        drops_policer: U64;
        /// Marks since the last sample.
        marks: U64;
        /// Price of the link's queue, as of its last update or of the last packet that left; none for queues without a
        /// price.
        price: F64 in "1";
    }

    /// One row per sample, stage and level, for the first `sampled_users` users of each group.
    pub struct StageSeries = "stage_series" only of "scenarios with policers or auditors" {
        /// Time of the sample.
        time_s: F64 in "s";
        /// Name of the stage: the user's or the link's, the place, and its number there.
        stage: Text;
        /// Index of the user.
        user: U32;
        /// Name of the level, with its unit: the fill of a bucket, a balance.
        level: Text;
        /// Value of the level.
        amount: F64 in "as named";
    }

    /// One row per sample, flow and quantity of its application, for the first `sampled_flows` flows of each group.
    /// Calls: `calls` in progress and the `price` of their path, if it is reported; adaptive videos: `target_rate_bps`,
    /// `quality` (0 is the worst; none while they send nothing) and `price`.
    pub struct ApplicationSeries = "application_series" only of "scenarios with calls or videos that adapt" {
        /// Time of the sample.
        time_s: F64 in "s";
        /// Index of the flow.
        flow: U32;
        /// User group.
        group: Group;
        /// Name of the quantity.
        what: Text;
        /// Value.
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
        /// Time of the sample.
        time_s: F64 in "s";
        /// Index of the flow.
        flow: U32;
        /// User group.
        group: Group;
        /// Congestion window in segments.
        cwnd_packets: F64 in "packets";
        /// Smoothed round-trip time, none before the first sample.
        srtt_s: F64 in "s";
        /// Price of the path as known to the sender; none for senders that do not use prices, before the first price,
        /// and on real Linux.
        price: F64 in "1";
    }
}

/// Tables of the measured time by interval.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IntervalTables {
    /// One row per interval and user group.
    pub groups: IntervalGroupTable,
    /// One row per interval and monitored link.
    pub links: IntervalLinkTable,
    /// One row per interval and flow; empty on real Linux.
    pub flows: IntervalFlowTable,
}
