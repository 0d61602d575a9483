//! Conversion of a finished run's counters to tables.

use tidegate_mechanisms::units::{Span, Time};
use tidegate_scenario::plan::Plan;

use crate::applications::TransferRecord;
use crate::delay::{DelayStatistics, add_opinion_scores, transfer_time_s};
use crate::digest::Digest;
use crate::link::{Link, able_ns};
use crate::link_reading::{LinkReading, LinkReadings};
use crate::output::{
    ApplicationTable, DeclarationTable, DelayTable, FlowTable, IntervalTables, LinkGroupTable,
    LinkTable, RunOutput, TransferTable,
};
use crate::readings::{Reached, Readings};
use crate::series::Series;
use crate::stages::Stages;

fn mean(sum: f64, count: u64) -> f64 {
    if count == 0 { f64::NAN } else { sum / count as f64 }
}

/// State of a finished run.
pub struct Finished<'a> {
    /// Plan of the run.
    pub plan: &'a Plan,
    /// Seed of the run.
    pub seed: u64,
    /// Number of events.
    pub events: u64,
    /// End of the run.
    pub now: Time,
    /// Delays of packets at receivers.
    pub delays: DelayTable,
    /// All links.
    pub links: Vec<Link>,
    /// All stages.
    pub stages: Stages,
    /// Counts at the ends of flows.
    pub reached: Vec<Reached>,
    /// Finished transfers, with their flows.
    pub finished: Vec<(u32, TransferRecord)>,
    /// Unfinished transfers, with their flows.
    pub unfinished: Vec<(u32, TransferRecord)>,
    /// Metrics of applications.
    pub applications: ApplicationTable,
    /// Time series.
    pub series: Series,
    /// Measurements by interval.
    pub intervals: IntervalTables,
    /// Links that are monitored because they are captured; the digest leaves them out.
    pub watched_for_capture: Vec<usize>,
}

/// Collects all tables of a run: what changed between the readings `before` and `after`.
pub fn collect(mut run: Finished, before: &Readings, after: &Readings) -> RunOutput {
    let flows = flows(run.plan, before, after);
    let mut delays = core::mem::take(&mut run.delays);
    let (losses, delivered) = (flows.losses.iter(), flows.packets_delivered.iter());
    add_opinion_scores(&mut delays, run.plan, losses.copied(), delivered.copied());
    RunOutput {
        seed: run.seed,
        digest: digest(&run, &after.links),
        events: run.events,
        hops: run.links.iter().map(|link| link.accepted.packets).sum(),
        simulated_s: run.now.as_secs(),
        flows,
        links: links(run.plan, &run.links, &before.links, &after.links),
        link_groups: link_groups(run.plan, &before.links, &after.links),
        declarations: declarations(run.plan, before, after),
        stages: run.stages.table(run.plan, &before.stages, &after.stages),
        transfers: transfers(&run),
        delays,
        applications: run.applications,
        group_series: run.series.groups,
        link_series: run.series.links,
        flow_series: run.series.flows,
        stage_series: run.series.stages,
        application_series: run.series.applications,
        path_series: run.series.paths,
        intervals: run.intervals,
    }
}

/// Returns the digest of all arrivals at hosts until the end of the measurement, the counts of bottlenecks, and the
/// completion of transfers.
fn digest(run: &Finished, links: &LinkReadings) -> String {
    let mut digest = Digest::default();
    let digests = run.reached.iter().flat_map(|got| got.digests);
    digests.for_each(|one| digest.join(one));
    for (link, reading) in links.iter().enumerate() {
        if reading.monitor().is_none() || run.watched_for_capture.contains(&link) {
            continue;
        }
        let sent = reading.sent();
        digest.mix(sent.packets, sent.bytes);
        digest.mix(reading.drops().iter().sum(), reading.marks());
    }
    for (_, record) in &run.finished {
        digest.mix(record.start.as_nanos(), record.completion.map_or(0, Span::as_nanos));
    }
    digest.hex()
}

fn flows(plan: &Plan, before: &Readings, after: &Readings) -> FlowTable {
    let mut table = FlowTable::default();
    let seconds = plan.duration.as_secs();
    for (i, flow) in plan.flows.iter().enumerate() {
        let (got, had) = (after.received.at(i), before.received.at(i));
        let arrivals = got.arrivals.since(&had.arrivals);
        let rate_bps = |bytes: u64| 8.0 * bytes as f64 / seconds;
        let (sent, was) = (after.sent.at(i), before.sent.at(i));
        let acks = sent.acks - was.acks;
        table.flow.push(i as u32);
        table.user.push(flow.user as u32);
        table.host_jitter_s.push(flow.jitter.as_secs());
        table.group.push(plan.users[flow.user].group as u32);
        table.throughput_bps.push(rate_bps(arrivals.bytes));
        table.goodput_bps.push(rate_bps(got.payload_bytes - had.payload_bytes));
        table.losses.push(after.losses.at(i) - before.losses.at(i));
        table.marks.push(arrivals.marked);
        table.packets_delivered.push(arrivals.packets);
        table.packets_sent.push(sent.sent - was.sent);
        table.retransmits.push(sent.retransmits - was.retransmits);
        table.timeouts.push(sent.timeouts - was.timeouts);
        table.fast_recoveries.push(sent.recoveries - was.recoveries);
        let measured = acks - (sent.acks_without_srtt - was.acks_without_srtt);
        table.mean_srtt_s.push(mean((sent.srtt_sum_ns - was.srtt_sum_ns) as f64 * 1e-9, measured));
        table.mean_cwnd_packets.push(mean(sent.cwnd_sum - was.cwnd_sum, acks));
    }
    table
}

fn declarations(plan: &Plan, before: &Readings, after: &Readings) -> DeclarationTable {
    let mut table = DeclarationTable::default();
    for (i, flow) in plan.flows.iter().enumerate().filter(|(_, flow)| flow.declares()) {
        let (is, was) = (after.declared.at(i), before.declared.at(i));
        table.flow.push(i as u32);
        table.user.push(flow.user as u32);
        table.group.push(plan.users[flow.user].group as u32);
        for (is, was, packets, bytes) in [
            (is.loss, was.loss, &mut table.loss_packets, &mut table.loss_bytes),
            (is.mark, was.mark, &mut table.mark_packets, &mut table.mark_bytes),
            (is.credit, was.credit, &mut table.credit_packets, &mut table.credit_bytes),
        ] {
            packets.push(is.packets - was.packets);
            bytes.push(is.bytes - was.bytes);
        }
    }
    table
}

/// Returns the table of links from two readings.
pub fn links(
    plan: &Plan,
    links: &[Link],
    before: &LinkReadings,
    after: &LinkReadings,
) -> LinkTable {
    let mut table = LinkTable::default();
    let span_ns = plan.duration.as_nanos() as f64;
    for (i, planned) in plan.links.iter().enumerate() {
        let (from, to) = (before.of(i), after.of(i));
        let accepted = to.accepted.packets - from.accepted.packets;
        let departed = to.departed().without(from.departed());
        let [full, aqm, wire, policer] =
            [0, 1, 2, 3].map(|reason| to.drops()[reason] - from.drops()[reason]);
        table.name.push(planned.name.to_string());
        table.monitored.push(planned.monitored);
        table.arrivals.push(to.arrived() - from.arrived() + full + aqm + policer);
        table.departures.push(departed.packets);
        table.departed_bytes.push(departed.bytes);
        table.departures_in_all.push(links[i].accepted.packets);
        table.drops_full.push(full);
        table.drops_aqm.push(aqm);
        table.drops_wire.push(wire);
        table.drops_policer.push(policer);
        table.marks.push(to.marks() - from.marks());
        table.state_bytes.push(links[i].state_bytes());
        let (Some(monitor), Some(was)) = (to.monitor(), from.monitor()) else {
            let sending_ns = |reading: LinkReading, at| reading.sending_ns(planned.rate, at);
            let (start, end) =
                (Time::ZERO + plan.warm_up, Time::ZERO + plan.warm_up + plan.duration);
            let sent_ns = (sending_ns(to, end) - sending_ns(from, start)).max(0.0);
            table.utilization.push(sent_ns / span_ns);
            for column in [
                &mut table.mean_backlog_packets,
                &mut table.mean_backlog_bytes,
                &mut table.max_backlog_bytes,
                &mut table.mean_sojourn_s,
                &mut table.p95_sojourn_s,
                &mut table.p99_sojourn_s,
                &mut table.max_sojourn_s,
            ] {
                column.push(f64::NAN);
            }
            continue;
        };
        let per_time = |from: u128, to: u128| (to - from) as f64 / span_ns;
        let (was_passed, passed) = (from.passed(), to.passed());
        let start = Time::ZERO + plan.warm_up;
        let busy_ns = (passed.busy_ns - was_passed.busy_ns) as f64;
        table.utilization.push(busy_ns / able_ns(planned, start, start + plan.duration));
        table
            .mean_backlog_packets
            .push(per_time(was_passed.backlog_packet_ns, passed.backlog_packet_ns));
        table.mean_backlog_bytes.push(per_time(was_passed.backlog_byte_ns, passed.backlog_byte_ns));
        table.max_backlog_bytes.push(monitor.most_bytes as f64);
        let sojourn_s = (monitor.sojourn_ns - was.sojourn_ns) as f64 * 1e-9;
        table.mean_sojourn_s.push(mean(sojourn_s, accepted));
        let sojourn = DelayStatistics::histogram_of(&monitor.sojourn);
        let at = |share| sojourn.quantile(share).map_or(f64::NAN, |at| at.as_nanos() as f64 * 1e-9);
        table.p95_sojourn_s.push(at(0.95));
        table.p99_sojourn_s.push(at(0.99));
        table.max_sojourn_s.push(at(1.0));
    }
    table
}

/// Returns the table of user groups at monitored links from two readings.
pub fn link_groups(plan: &Plan, before: &LinkReadings, after: &LinkReadings) -> LinkGroupTable {
    let mut table = LinkGroupTable::default();
    for (i, planned) in plan.links.iter().enumerate() {
        let (before, after) = (before.of(i), after.of(i));
        let (Some(was), Some(is)) = (before.monitor(), after.monitor()) else { continue };
        for (group, (from, to)) in was.groups.iter().zip(&is.groups).enumerate() {
            let accepted = to.accepted - from.accepted;
            let departed = after.departed_of(group).without(before.departed_of(group));
            table.link.push(planned.name.to_string());
            table.group.push(group as u32);
            table.arrivals.push(accepted + to.refused - from.refused);
            table.departures.push(departed.packets);
            table.departed_bytes.push(departed.bytes);
            table.drops.push(to.drops - from.drops);
            table.marks.push(to.marks - from.marks);
            table.mean_activity.push(mean(to.activity - from.activity, to.metered - from.metered));
            let [mean, p50, p95, p99, p999, max] = is.sojourn[group].summary();
            table.mean_sojourn_s.push(mean);
            table.p50_sojourn_s.push(p50);
            table.p95_sojourn_s.push(p95);
            table.p99_sojourn_s.push(p99);
            table.p999_sojourn_s.push(p999);
            table.max_sojourn_s.push(max);
        }
    }
    table
}

fn transfers(run: &Finished) -> TransferTable {
    let mut table = TransferTable::default();
    for (flow, record) in run.finished.iter().chain(&run.unfinished) {
        let user = run.plan.flows[*flow as usize].user;
        table.flow.push(*flow);
        table.group.push(run.plan.users[user].group as u32);
        table.start_s.push((record.start.since(Time::ZERO)).as_secs());
        table.size_bytes.push(record.size.get());
        let seconds = |span: Option<Span>| span.map_or(f64::NAN, Span::as_secs);
        table.completion_s.push(seconds(record.completion));
        table.set_up_s.push(seconds(record.set_up));
        let flow = &run.plan.flows[*flow as usize];
        table.empty_path_s.push(transfer_time_s(run.plan, flow, record.size));
    }
    table
}
