//! Measurements by interval.

use tidegate_mechanisms::units::{Span, Time};
use tidegate_scenario::plan::Plan;

use crate::link::able_ns;
use crate::output::{IntervalFlowTable, IntervalGroupTable, IntervalLinkTable, IntervalTables};
use crate::readings::{Counted, Readings};
use tidegate_mechanisms::bottleneck::DropReason;

/// Returns the length of each interval of the measurement; all of it if it is not divided.
pub fn length(plan: &Plan) -> Span {
    Span::from_nanos(plan.duration.as_nanos() / u64::from(plan.intervals.max(1)))
}

/// Adds the differences between two readings, an interval apart.
pub fn measure(
    tables: &mut IntervalTables,
    plan: &Plan,
    interval: u32,
    before: &impl Counted,
    after: &impl Counted,
) {
    let length = length(plan);
    groups(&mut tables.groups, plan, (interval, length), before, after);
    links(&mut tables.links, plan, (interval, length), before, after);
}

fn groups(
    table: &mut IntervalGroupTable,
    plan: &Plan,
    (interval, length): (u32, Span),
    before: &impl Counted,
    after: &impl Counted,
) {
    let mut bytes = vec![0; plan.groups.len()];
    for (i, flow) in plan.flows.iter().enumerate() {
        let got = after.received_bytes(i) - before.received_bytes(i);
        bytes[plan.users[flow.user].group] += got;
    }
    for (group, bytes) in bytes.into_iter().enumerate() {
        table.interval.push(interval);
        table.group.push(group as u32);
        table.throughput_bps.push(8.0 * bytes as f64 / length.as_secs());
    }
}

fn links(
    table: &mut IntervalLinkTable,
    plan: &Plan,
    (interval, length): (u32, Span),
    before: &impl Counted,
    after: &impl Counted,
) {
    let span_ns = length.as_nanos() as f64;
    for (i, planned) in plan.links.iter().enumerate() {
        if !planned.monitored {
            continue;
        }
        let (from, to) = (before.links().of(i), after.links().of(i));
        let drops = |reason: usize| to.drops()[reason] - from.drops()[reason];
        let (was_passed, passed) = (from.passed(), to.passed());
        let packets = (passed.backlog_packet_ns - was_passed.backlog_packet_ns) as f64;
        let bytes = (passed.backlog_byte_ns - was_passed.backlog_byte_ns) as f64;
        table.interval.push(interval);
        table.link.push(planned.name.to_string());
        let start = Time::ZERO + plan.warm_up + length * u64::from(interval);
        let busy_ns = (passed.busy_ns - was_passed.busy_ns) as f64;
        table.utilization.push(busy_ns / able_ns(planned, start, start + length));
        table.mean_backlog_packets.push(packets / span_ns);
        table.mean_backlog_bytes.push(bytes / span_ns);
        table.drops.push((0..to.drops().len()).map(drops).sum());
        table.drops_policer.push(drops(DropReason::Policer as usize));
    }
}

/// Adds the differences of each flow between two readings of a simulation, an interval apart.
pub fn measure_flows(
    table: &mut IntervalFlowTable,
    plan: &Plan,
    interval: u32,
    before: &Readings,
    after: &Readings,
) {
    let seconds = length(plan).as_secs();
    for (i, flow) in plan.flows.iter().enumerate() {
        let arrivals = after.received.at(i).arrivals.since(&before.received.at(i).arrivals);
        let (sent, was) = (after.sent.at(i), before.sent.at(i));
        let acks = sent.acks - was.acks;
        table.interval.push(interval);
        table.flow.push(i as u32);
        table.group.push(plan.users[flow.user].group as u32);
        table.throughput_bps.push(8.0 * arrivals.bytes as f64 / seconds);
        table.packets_delivered.push(arrivals.packets);
        table.marks.push(arrivals.marked);
        table.timeouts.push(sent.timeouts - was.timeouts);
        table.mean_cwnd_packets.push(match acks {
            0 => f64::NAN,
            _ => (sent.cwnd_sum - was.cwnd_sum) / acks as f64,
        });
    }
}
