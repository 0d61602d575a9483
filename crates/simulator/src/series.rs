//! Time series, sampled at a fixed step.

use std::collections::VecDeque;

use tidegate_mechanisms::units::{Span, Time};
use tidegate_scenario::plan::Plan;

use crate::endpoints::{Endpoints, PathSample};
use crate::link::Link;
use crate::output::{
    ApplicationSeries, FlowSeries, GroupSeries, LinkSeries, PathSeries, StageSeries,
};
use crate::stages::Stages;

/// What a group receives between two samples.
#[derive(Clone, Copy, Default)]
struct Arrived {
    bytes: u64,
    packets: u64,
    /// Sum of their queueing delays.
    queueing_ns: u64,
}

/// Time series sampled so far.
pub struct Series {
    /// Throughput of groups.
    pub groups: GroupSeries,
    /// Backlog of monitored links.
    pub links: LinkSeries,
    /// Window, round-trip time and price of the first flows of each group.
    pub flows: FlowSeries,
    /// Levels of stages for the first users of each group.
    pub stages: StageSeries,
    /// State of the applications of the first flows of each group.
    pub applications: ApplicationSeries,
    /// Path estimates of the first flows of each group, if they model their path.
    pub paths: PathSeries,
    /// Time of the next sample; [`Time::NEVER`] without samples.
    next: Time,
    /// Time between samples.
    step: Span,
    /// End of sampling: later arrivals belong to no sample.
    beyond: Time,
    groups_in_all: usize,
    /// Delays are not known of all packets.
    without_delays: bool,
    /// What each group has received since the last sample or will have until the next, and between the
    /// samples after that: what arrives later may be known ahead of time.
    arrived: VecDeque<Arrived>,
    /// First flows of each group.
    watched: Vec<usize>,
    /// First users of each group.
    watched_users: Vec<u32>,
    /// Monitored links; the others, often hundreds of thousands, are skipped.
    monitored: Vec<usize>,
}

impl Series {
    /// Returns empty series.
    pub fn new(plan: &Plan) -> Self {
        let groups_in_all = plan.groups.len();
        let mut flows_of = vec![0; groups_in_all];
        let is_watched = |&flow: &usize| {
            let flows = &mut flows_of[plan.users[plan.flows[flow].user].group];
            *flows += 1;
            *flows <= plan.sampled_flows
        };
        let mut users_of = vec![0; groups_in_all];
        let is_watched_user = |&user: &u32| {
            let users = &mut users_of[plan.users[user as usize].group];
            *users += 1;
            *users <= plan.sampled_users
        };
        let monitored = |&link: &usize| plan.links[link].monitored;
        let step = plan.sample_interval;
        Series {
            groups: GroupSeries::default(),
            links: LinkSeries::default(),
            flows: FlowSeries::default(),
            stages: StageSeries::default(),
            applications: ApplicationSeries::default(),
            paths: PathSeries::default(),
            next: step.map_or(Time::NEVER, |step| Time::ZERO + step),
            step: step.unwrap_or(Span::ZERO),
            beyond: Time::ZERO
                + plan.warm_up
                + plan.duration
                + plan.drain_limit
                + step.unwrap_or(Span::ZERO),
            groups_in_all,
            without_delays: false,
            arrived: vec![Arrived::default(); groups_in_all].into(),
            watched: (0..plan.flows.len()).filter(is_watched).collect(),
            watched_users: (0..plan.users.len() as u32).filter(is_watched_user).collect(),
            monitored: (0..plan.links.len()).filter(monitored).collect(),
        }
    }

    /// Returns the time of the next sample; [`Time::NEVER`] if there is none.
    #[inline]
    pub fn next(&self) -> Time {
        self.next
    }

    /// Delays are not known of all packets, so that there are no means of them.
    pub fn leave_out_delays(&mut self) {
        self.without_delays = true;
    }

    /// Ends sampling.
    pub fn stop(&mut self) {
        self.next = Time::NEVER;
    }

    /// Counts a packet that a group receives at `at`, which may be in the future. An arrival at the time of a sample
    /// belongs to that sample.
    #[inline]
    pub fn count(&mut self, group: u16, at: Time, bytes: u16, queueing: Span) {
        let place = usize::from(group) + if at <= self.next { 0 } else { self.reach(at) };
        let arrived = &mut self.arrived[place];
        arrived.bytes += u64::from(bytes);
        arrived.packets += 1;
        arrived.queueing_ns = arrived.queueing_ns.wrapping_add(queueing.as_nanos());
    }

    /// Returns the index of the counter for bytes that arrive at `at`, after the next sample.
    fn reach(&mut self, at: Time) -> usize {
        let later = at.min(self.beyond).since(self.next);
        let samples = match later <= self.step {
            // It is mostly the next; a division would take as long as the rest of this function.
            true => 1,
            false => (later.as_nanos() - 1) / self.step.as_nanos() + 1,
        };
        let place = samples as usize * self.groups_in_all;
        if self.arrived.len() <= place {
            self.arrived.resize(place + self.groups_in_all, Arrived::default());
        }
        place
    }

    /// Takes the due sample and sets the time of the next.
    pub fn sample(
        &mut self,
        plan: &Plan,
        links: &mut [Link],
        stages: &Stages,
        ends: Option<&mut Endpoints>,
    ) -> Time {
        let now = self.next;
        self.sample_groups(now);
        self.sample_links(plan, now, links);
        self.sample_stages(now, stages);
        if let Some(ends) = ends {
            self.sample_flows(plan, now, ends);
            self.sample_applications(plan, now, ends);
        }
        self.next = now + self.step;
        self.next
    }

    /// Samples window, round-trip time and price of the connection that a flow opened last, or the initial values
    /// before the first.
    fn sample_flows(&mut self, plan: &Plan, now: Time, ends: &mut Endpoints) {
        for &flow in &self.watched {
            let Some(sample) = ends.sample(flow) else { continue };
            self.flows.time_s.push(now.as_secs());
            self.flows.flow.push(flow as u32);
            self.flows.group.push(plan.users[plan.flows[flow].user].group as u32);
            self.flows.cwnd_packets.push(sample.cwnd);
            self.flows.srtt_s.push(sample.srtt_s.unwrap_or(f64::NAN));
            self.flows.price.push(sample.price.unwrap_or(f64::NAN));
            if let Some(path) = sample.path {
                sample_path(&mut self.paths, plan, now, flow, &path);
            }
        }
    }

    /// Samples the state of applications, such as the quality of a video.
    fn sample_applications(&mut self, plan: &Plan, now: Time, ends: &Endpoints) {
        for &flow in &self.watched {
            let series = &mut self.applications;
            let mut show = |what: &'static str, amount| series.push(plan, now, flow, what, amount);
            ends.application(flow).shows(&mut show);
        }
    }

    /// Samples the throughput of groups.
    fn sample_groups(&mut self, now: Time) {
        for group in 0..self.groups_in_all {
            let arrived = self.arrived.pop_front().expect("a count for each group");
            let Arrived { bytes, packets, queueing_ns } = arrived;
            self.groups.time_s.push(now.as_secs());
            self.groups.group.push(group as u32);
            self.groups.throughput_bps.push(8.0 * bytes as f64 / self.step.as_secs());
            let packets = if self.without_delays { 0 } else { packets };
            let mean_s =
                if packets == 0 { f64::NAN } else { queueing_ns as f64 * 1e-9 / packets as f64 };
            self.groups.mean_queueing_delay_s.push(mean_s);
        }
        if self.arrived.is_empty() {
            self.arrived.resize(self.groups_in_all, Arrived::default());
        }
    }

    /// Samples the levels of stages, such as the fill of a bucket.
    fn sample_stages(&mut self, now: Time, stages: &Stages) {
        for &user in &self.watched_users {
            stages.levels(user, now, &mut |stage, level, value| {
                self.stages.time_s.push(now.as_secs());
                self.stages.stage.push(stage.to_owned());
                self.stages.user.push(user);
                self.stages.level.push(level.to_owned());
                self.stages.amount.push(value);
            });
        }
    }

    /// Samples the backlog of monitored links.
    fn sample_links(&mut self, plan: &Plan, now: Time, links: &mut [Link]) {
        for &number in &self.monitored {
            let link = &mut links[number];
            let (packets, bytes) = link.backlog(now);
            let price = link.price().unwrap_or(f64::NAN);
            let Some(monitor) = link.monitor() else { continue };
            self.links.price.push(price);
            self.links.time_s.push(now.as_secs());
            self.links.link.push(plan.links[number].name.to_string());
            self.links.backlog_packets.push(packets);
            self.links.backlog_bytes.push(bytes);
            let [drops, policed, marks] = core::mem::take(&mut monitor.since_sample);
            self.links.drops.push(drops);
            self.links.drops_policer.push(policed);
            self.links.marks.push(marks);
        }
    }
}

/// Samples a sender's estimate of its path.
fn sample_path(series: &mut PathSeries, plan: &Plan, now: Time, flow: usize, path: &PathSample) {
    let packet_bits = 8.0 * plan.flows[flow].packet_size.get() as f64;
    let estimate = &path.estimate;
    series.time_s.push(now.as_secs());
    series.flow.push(flow as u32);
    series.group.push(plan.users[plan.flows[flow].user].group as u32);
    series.state.push(estimate.state.to_owned());
    series.bandwidth_bps.push(packet_bits * estimate.bandwidth);
    series.min_rtt_s.push(estimate.min_rtt.map_or(f64::NAN, Span::as_secs));
    series.pacing_rate_bps.push(packet_bits * estimate.pacing_rate);
    series.inflight_packets.push(path.in_flight.into());
    series.inflight_hi_packets.push(estimate.inflight_hi.unwrap_or(f64::NAN));
    series.inflight_lo_packets.push(estimate.inflight_lo.unwrap_or(f64::NAN));
}
