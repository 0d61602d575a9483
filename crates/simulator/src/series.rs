//! Time series, sampled at a fixed step.

use tidegate_mechanisms::units::Time;
use tidegate_scenario::plan::Plan;

use crate::ends::Ends;
use crate::link::Link;
use crate::output::{FlowSeries, GroupSeries, LinkSeries};

/// The series kept so far.
#[derive(Default)]
pub struct Series {
    /// Throughput of groups.
    pub groups: GroupSeries,
    /// Backlog of monitored links.
    pub links: LinkSeries,
    /// Window and round-trip time of the first flow of each group.
    pub flows: FlowSeries,
    group_bytes: Vec<u64>,
    group_of_flow: Vec<usize>,
    /// The first flow of each group.
    watched: Vec<usize>,
    /// Links; the others, often hundreds of thousands, are not looked at.
    monitored: Vec<usize>,
}

impl Series {
    /// Nothing sampled yet.
    pub fn new(plan: &Plan) -> Self {
        let group_of_flow: Vec<usize> =
            plan.flows.iter().map(|flow| plan.users[flow.user].group).collect();
        let mut first_flow = vec![None; plan.groups.len()];
        for (flow, &group) in group_of_flow.iter().enumerate() {
            first_flow[group].get_or_insert(flow);
        }
        let monitored = |&link: &usize| plan.links[link].monitored;
        Series {
            group_bytes: vec![0; plan.groups.len()],
            group_of_flow,
            watched: first_flow.into_iter().flatten().collect(),
            monitored: (0..plan.links.len()).filter(monitored).collect(),
            ..Series::default()
        }
    }

    /// Samples window and round-trip time: those of the connection that a flow opened last, or of the
    /// first to come.
    pub fn sample_flows(&mut self, now: Time, ends: &mut Ends) {
        for &flow in &self.watched {
            let Some((cwnd, srtt_s)) = ends.window_of(flow) else { continue };
            self.flows.time_s.push(now.as_secs());
            self.flows.flow.push(flow as u32);
            self.flows.cwnd_packets.push(cwnd);
            self.flows.srtt_s.push(srtt_s.unwrap_or(f64::NAN));
        }
    }

    /// Samples the throughput of groups: all bytes received so far, flow by flow.
    pub fn sample_groups(&mut self, plan: &Plan, now: Time, received: impl Iterator<Item = u64>) {
        let Some(interval) = plan.sample_interval else { return };
        let mut bytes = vec![0; self.group_bytes.len()];
        for (&group, got) in self.group_of_flow.iter().zip(received) {
            bytes[group] += got;
        }
        for (group, (&total, before)) in bytes.iter().zip(&mut self.group_bytes).enumerate() {
            self.groups.time_s.push(now.as_secs());
            self.groups.group.push(group as u32);
            let bits = 8.0 * (total - *before) as f64;
            self.groups.throughput_bps.push(bits / interval.as_secs());
            *before = total;
        }
    }

    /// Samples the backlog of monitored links.
    pub fn sample_links(&mut self, plan: &Plan, now: Time, links: &mut [Link]) {
        for &number in &self.monitored {
            let link = &mut links[number];
            let (packets, bytes) = link.backlog(now);
            let Some(monitor) = &mut link.probe.monitor else { continue };
            self.links.time_s.push(now.as_secs());
            self.links.link.push(plan.links[number].name.clone());
            self.links.backlog_packets.push(packets);
            self.links.backlog_bytes.push(bytes);
            let [drops, policed, marks] = core::mem::take(&mut monitor.since_sample);
            self.links.drops.push(drops);
            self.links.drops_policer.push(policed);
            self.links.marks.push(marks);
        }
    }
}
