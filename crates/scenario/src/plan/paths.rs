//! Paths of flows, the stages attached to them, and the paths of stages' reports.

use std::ops::Range;

use tidegate_mechanisms::stage::StageParams;

use super::{AttachmentPlan, FlowPlan, Plan};

/// Which direction along a flow a route leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Direction {
    /// From the sender to the receiver.
    Forward,
    /// From the receiver back to the sender.
    Reverse,
}

impl Direction {
    /// Both.
    pub const ALL: [Direction; 2] = [Direction::Forward, Direction::Reverse];

    /// The other one.
    pub fn opposite(self) -> Direction {
        match self {
            Direction::Forward => Direction::Reverse,
            Direction::Reverse => Direction::Forward,
        }
    }

    /// The links of a flow in this direction.
    pub fn route(self, flow: &FlowPlan) -> &[u32] {
        match self {
            Direction::Forward => &flow.forward,
            Direction::Reverse => &flow.reverse,
        }
    }
}

impl FlowPlan {
    /// The stages of users in front of the link with this place on a route, or behind the last one.
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

    /// All stages there: at the egress of the link before, users' own, at the ingress of the next.
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

    /// Whether stages write activities or prices into its packets, for which headers need room.
    pub fn carries_signal(&self, plan: &Plan) -> bool {
        (0..=self.forward.len()).any(|hop| {
            self.stages_at(plan, Direction::Forward, hop).any(StageParams::writes_signal)
        })
    }

    /// The node where the nearest end of tunnels stands, here or further on.
    pub fn tunnel_end(&self, plan: &Plan, direction: Direction, hop: usize) -> Option<u32> {
        let ends =
            |place: &usize| self.stages_at(plan, direction, *place).any(StageParams::ends_tunnels);
        let place = (hop..=direction.route(self).len()).find(ends)?;
        Some(self.node(plan, direction, place))
    }

    /// The node in front of the link with this place on a route, or behind the last one.
    fn node(&self, plan: &Plan, direction: Direction, hop: usize) -> u32 {
        let ends = |link: &u32| plan.links[*link as usize].ends;
        let route = direction.route(self);
        let before = hop.checked_sub(1).and_then(|place| route.get(place));
        let back = direction == Direction::Reverse;
        match (before, route.get(hop)) {
            // A user's own links, the first one there and the last one back at least, stay where they were as it walks.
            (Some(before), Some(_)) if hop + 1 == route.len() && (back || hop > 1) => {
                ends(before).1
            }
            (_, Some(next)) => ends(next).0,
            _ => ends(route.last().expect("a route has at least one link")).1,
        }
    }
}

/// The path of a stage's reports: from where it stands on a flow's route, along the route in the other
/// direction, to where the stage stands that takes them.
#[derive(Clone, Debug, PartialEq)]
pub struct ReportPath {
    /// Number in [`Plan::paths`].
    pub path: usize,
    /// The path of the packets that it answers with reports.
    pub direction: Direction,
    /// Its place on that way, as in [`AttachmentPlan::hop`].
    pub hop: usize,
    /// The kind of stage that takes them,
    pub kind: &'static str,
    /// where that stands on the same way,
    pub to: usize,
    /// and the links to there, as places on the route in the other direction; `None` if none lead there.
    pub links: Option<Range<usize>>,
}

impl Plan {
    /// The paths of all stages' reports, where there is somebody to take them.
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

    /// The place of the nearest stage of a kind before a place on a flow's path, and the links from here to there.
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
