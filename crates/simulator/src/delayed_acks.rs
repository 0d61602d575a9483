//! Delayed acknowledgements of receivers that are served ahead of time.
//!
//! Such a receiver's clock runs ahead of everybody else's: whatever arrives before the segment that it is served is
//! known. So an acknowledgement that is due before that segment has waited spuriously, and leaves first, at the time
//! when it is due. Receivers that share the first link of their reverse path have to take turns there, and so
//! they share a *line*: places next to each other among [`Deadlines`](crate::deadlines::Deadlines), which is worked off up
//! to the segment that one of them is served. A receiver that has its link for itself needs no line, since it knows when its
//! own is due.
//!
//! What no segment overtakes is sent when it is due, by a wake-up.

use tidegate_scenario::plan::Plan;

use crate::deadlines::{Deadlines, SharedBound};
use crate::topology::EagerDelivery;

/// All lines.
pub struct DelayedAcks {
    /// By flow: its place in a line; empty if no flow shares one.
    of_flow: Vec<Place>,
    /// Places of all lines.
    places: usize,
}

/// A place in a line.
#[derive(Clone, Copy)]
struct Place {
    /// The line, and where its bound is.
    line: SharedBound,
    bound_at: u32,
    number: u32,
}

/// Nobody stands there; whose flow has no line has this one.
const NO_LINE: u32 = 0;

impl DelayedAcks {
    /// Lines of a plan whose flows are `early` where receivers are served ahead of time.
    pub fn of(plan: &Plan, early: &EagerDelivery) -> Self {
        let is_own = |flow: usize| {
            let tcp = plan.flows[flow].tcp.as_deref();
            early.flows[flow] && tcp.is_some_and(|tcp| tcp.delayed_acks().is_some())
        };
        let mut flows_of_link = vec![0usize; plan.links.len()];
        for flow in (0..plan.flows.len()).filter(|flow| is_own(*flow)) {
            flows_of_link[plan.flows[flow].reverse[0] as usize] += 1;
        }
        if flows_of_link.iter().all(|flows| *flows < 2) {
            return DelayedAcks { of_flow: Vec::new(), places: 0 };
        }
        // The first group has nobody, the others begin where as many as they have room for do.
        let unused = SharedBound::of(0, 1);
        let mut places = unused.room();
        let mut line_of_link = vec![(unused, 0); plan.links.len()];
        for (link, &flows) in flows_of_link.iter().enumerate().filter(|(_, flows)| **flows > 1) {
            let room = SharedBound::of(0, flows).room();
            let first = places.next_multiple_of(room);
            line_of_link[link] = (SharedBound::of(first, flows), first as u32);
            places = first + room;
        }
        let all = Deadlines::with_places(places);
        let place = |line, number| Place { line, bound_at: all.bound_at(line), number };
        let mut of_flow = vec![place(unused, NO_LINE); plan.flows.len()];
        for flow in (0..plan.flows.len()).filter(|flow| is_own(*flow)) {
            let (line, next) = &mut line_of_link[plan.flows[flow].reverse[0] as usize];
            if *line != unused {
                of_flow[flow] = place(*line, *next);
                *next += 1;
            }
        }
        DelayedAcks { of_flow, places }
    }

    /// Places of all lines.
    pub fn places(&self) -> usize {
        self.places
    }

    /// Where the bound is of a flow's line, in which nobody ever stands if it has none; [`None`] if no flow has one.
    #[inline]
    pub fn bound_at(&self, flow: u32) -> Option<u32> {
        self.of_flow.get(flow as usize).map(|place| place.bound_at)
    }

    /// The line of a flow, if it has one.
    pub fn line_of(&self, flow: u32) -> Option<SharedBound> {
        self.of_flow.get(flow as usize).filter(|own| own.number != NO_LINE).map(|own| own.line)
    }

    /// The place of a flow in its line, if it has one.
    pub fn place_of(&self, flow: u32) -> Option<u32> {
        self.of_flow.get(flow as usize).map(|own| own.number).filter(|number| *number != NO_LINE)
    }
}

#[cfg(test)]
mod tests {
    use tidegate_scenario::Scenario;

    use super::*;
    use crate::topology::{Receivers, TopologyAnalysis};

    /// Two users of two flows each, and one with a flow for itself.
    fn lines(profile: &str) -> DelayedAcks {
        let text = format!(
            "version = 1\nprofile = \"{profile}\"\nbottleneck = {{ rate = \"1 Mb/s\" }}\n\
             receiver_access = {{ delay = \"1 ms\" }}\nusers.two = {{ flows = 2, count = 2 }}\nusers.one = {{}}\n"
        );
        let plan = Scenario::parse(&text, &[]).expect("valid").plan();
        let topology = TopologyAnalysis::of(&plan, Receivers::AheadOfTime);
        DelayedAcks::of(
            &plan,
            &EagerDelivery::of(
                &plan,
                &topology,
                crate::applications::AnyApplication::will_listen_or_overlap,
            ),
        )
    }

    #[test]
    fn receivers_that_share_the_first_reverse_link_share_a_line() {
        let linux = lines("linux");
        let places: Vec<_> = (0..5).filter_map(|flow| linux.place_of(flow)).collect();
        assert_eq!(places.len(), 4, "one flow has its link for itself");
        let mut all: Vec<_> = (0..5).filter_map(|flow| linux.line_of(flow)).collect();
        all.sort_unstable_by_key(|line| format!("{line:?}"));
        all.dedup();
        assert_eq!(all.len(), 2, "each user of two flows has one");
        for (flow, place) in (0..5).filter_map(|flow| Some((flow, linux.place_of(flow)?))) {
            assert_eq!(linux.line_of(flow), Some(SharedBound::of(place as usize, 2)));
        }
        let classic = lines("classic");
        assert_eq!([0, 4].map(|flow| classic.place_of(flow)), [None; 2], "nothing is delayed");
    }
}
