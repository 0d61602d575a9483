//! Paths of flows, the stages attached to them, and the paths of stages' reports.

use std::ops::Range;

use tidegate_mechanisms::stage::StageParams;

use super::{AttachmentPlan, FlowPlan, Plan};

/// Direction of a route relative to its flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Direction {
    /// From the sender to the receiver.
    Forward,
    /// From the receiver back to the sender.
    Reverse,
}

impl Direction {
    /// Both directions.
    pub const ALL: [Direction; 2] = [Direction::Forward, Direction::Reverse];

    /// Returns the opposite direction.
    pub fn opposite(self) -> Direction {
        match self {
            Direction::Forward => Direction::Reverse,
            Direction::Reverse => Direction::Forward,
        }
    }

    /// Returns the links of a flow in this direction.
    pub fn route(self, flow: &FlowPlan) -> &[u32] {
        match self {
            Direction::Forward => &flow.forward,
            Direction::Reverse => &flow.reverse,
        }
    }
}

impl FlowPlan {
    /// Returns the users' stages in front of the link with this index on a route, or behind the last one.
    pub fn own_attachments(
        &self,
        direction: Direction,
        hop: usize,
    ) -> impl Iterator<Item = &AttachmentPlan> {
        let back = direction == Direction::Reverse;
        self.attachments
            .iter()
            .filter(move |attachment| (attachment.back, attachment.hop) == (back, hop))
    }

    /// Returns all stages there: at the egress of the previous link, users' own, at the ingress of the next.
    pub fn stages_at<'a>(
        &'a self,
        plan: &'a Plan,
        direction: Direction,
        hop: usize,
    ) -> impl Iterator<Item = &'a StageParams> {
        let route = direction.route(self);
        let link = |place: usize| route.get(place).map(|link| &plan.links[*link as usize]);
        let before = hop.checked_sub(1).and_then(link).into_iter().flat_map(|link| &link.egress);
        let own = self.own_attachments(direction, hop).flat_map(|attachment| &attachment.replicas);
        let own = own.map(|stage| &plan.stages[*stage as usize].params);
        let after = link(hop).into_iter().flat_map(|link| &link.ingress);
        before.chain(own).chain(after)
    }

    /// Whether stages write activities or prices into its packets, which need header space.
    pub fn carries_signal(&self, plan: &Plan) -> bool {
        (0..=self.forward.len()).any(|hop| {
            self.stages_at(plan, Direction::Forward, hop).any(StageParams::writes_signal)
        })
    }

    /// Returns the node of the nearest tunnel end, here or downstream.
    pub fn tunnel_end(&self, plan: &Plan, direction: Direction, hop: usize) -> Option<u32> {
        let ends =
            |place: &usize| self.stages_at(plan, direction, *place).any(StageParams::ends_tunnels);
        let place = (hop..=direction.route(self).len()).find(ends)?;
        Some(self.node(plan, direction, place))
    }

    /// Returns the node in front of the link with this index on a route, or behind the last one.
    fn node(&self, plan: &Plan, direction: Direction, hop: usize) -> u32 {
        let ends = |link: &u32| plan.links[*link as usize].ends;
        let route = direction.route(self);
        let before = hop.checked_sub(1).and_then(|place| route.get(place));
        let back = direction == Direction::Reverse;
        match (before, route.get(hop)) {
            // A user's own links, at least the first one forward and the last one back, stay unchanged when it moves.
            (Some(before), Some(_)) if hop + 1 == route.len() && (back || hop > 1) => {
                ends(before).1
            }
            (_, Some(next)) => ends(next).0,
            _ => ends(route.last().expect("a route has at least one link")).1,
        }
    }
}

/// Path of a stage's reports: from its position on a flow's route, along the route in the opposite direction, to the
/// stage that receives them.
#[derive(Clone, Debug, PartialEq)]
pub struct ReportPath {
    /// Number of the path in [`Plan::paths`].
    pub path: usize,
    /// Direction of the packets that reports answer.
    pub direction: Direction,
    /// Position on the route in that direction, as in [`AttachmentPlan::hop`].
    pub hop: usize,
    /// Kind of the receiving stage.
    pub kind: &'static str,
    /// Position of the receiving stage on the same route.
    pub to: usize,
    /// Links to the receiving stage, as indices on the route in the opposite direction; `None` if there is no path.
    pub links: Option<Range<usize>>,
}

impl Plan {
    /// Returns the paths of all stages' reports that have a receiver.
    pub fn report_paths(&self) -> Vec<ReportPath> {
        let of_links = self.links.iter().flat_map(|link| link.ingress.iter().chain(&link.egress));
        let mut all = self.stages.iter().map(|stage| &stage.params).chain(of_links);
        if !all.any(|stage| stage.reports_to().is_some()) {
            return Vec::new();
        }
        let mut paths = Vec::new();
        for (path, flow) in self.paths().enumerate() {
            for direction in Direction::ALL {
                for hop in 0..=direction.route(flow).len() {
                    let kinds = flow.stages_at(self, direction, hop);
                    let kinds = kinds.filter_map(StageParams::reports_to);
                    paths.extend(kinds.filter_map(|kind| {
                        let (to, links) = self.report_path(flow, direction, hop, kind)?;
                        Some(ReportPath { path, direction, hop, kind, to, links })
                    }));
                }
            }
        }
        paths
    }

    /// Returns the position of the nearest upstream stage of a kind, and the links to it.
    fn report_path(
        &self,
        flow: &FlowPlan,
        direction: Direction,
        hop: usize,
        kind: &str,
    ) -> Option<(usize, Option<Range<usize>>)> {
        let is_there = |place: &usize| {
            flow.stages_at(self, direction, *place).any(|stage| stage.name() == kind)
        };
        let to = (0..hop).rev().find(is_there)?;
        let [here, there] = [hop, to].map(|place| flow.node(self, direction, place));
        let back = direction.opposite();
        let nodes = || (0..=back.route(flow).len()).map(|place| flow.node(self, back, place));
        let first = nodes().position(|node| node == here);
        let last = nodes().position(|node| node == there);
        let links = first.zip(last).filter(|(first, last)| first < last);
        Some((to, links.map(|(first, last)| first..last)))
    }
}
