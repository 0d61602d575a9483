//! Delayed acknowledgements of receivers that are served ahead of time.
//!
//! The clock of such a receiver runs ahead: all segments that arrive before the one being served are known. An
//! acknowledgement due before that segment therefore leaves first, at its due time. Receivers whose reverse paths share
//! the first link have to use it in order of time; they share a *line*, which is a group of adjacent places in
//! [`Deadlines`](crate::deadlines::Deadlines). The line is processed up to the segment that one of its receivers is
//! served. A receiver that does not share its link needs no line, since it knows its own due time.
//!
//! An acknowledgement that cannot be overtaken by a segment is sent by a wake-up when it is due.

use tidegate_scenario::plan::Plan;

use crate::deadlines::{Deadlines, SharedBound};
use crate::topology::EagerDelivery;

/// All lines.
pub struct DelayedAcks {
    /// Place of each flow in a line; empty if no flow shares one.
    of_flow: Vec<Place>,
    /// Number of places of all lines.
    places: usize,
}

/// Place in a line.
#[derive(Clone, Copy)]
struct Place {
    /// The line.
    line: SharedBound,
    /// Position of the line's bound.
    bound_at: u32,
    number: u32,
}

/// Bound of an unused group, for flows without a line.
const NO_LINE: u32 = 0;

impl DelayedAcks {
    /// Returns the lines of a plan; `early` selects the flows whose receivers are served ahead of time.
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
        // The first group stays empty; the others begin at the next multiple of their size.
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

    /// Returns the number of places of all lines.
    pub fn places(&self) -> usize {
        self.places
    }

    /// Returns the position of the bound of a flow's line, or of an empty group if it has none; `None` if no flow has
    /// one.
    #[inline]
    pub fn bound_at(&self, flow: u32) -> Option<u32> {
        self.of_flow.get(flow as usize).map(|place| place.bound_at)
    }

    /// Returns the line of a flow, if it has one.
    pub fn line_of(&self, flow: u32) -> Option<SharedBound> {
        self.of_flow.get(flow as usize).filter(|own| own.number != NO_LINE).map(|own| own.line)
    }

    /// Returns the place of a flow in its line, if it has one.
    pub fn place_of(&self, flow: u32) -> Option<u32> {
        self.of_flow.get(flow as usize).map(|own| own.number).filter(|number| *number != NO_LINE)
    }
}

#[cfg(test)]
mod tests {
    use tidegate_scenario::Scenario;

    use super::*;
    use crate::topology::{Receivers, TopologyAnalysis};

    /// Two users of two flows each, and one with a single flow.
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
