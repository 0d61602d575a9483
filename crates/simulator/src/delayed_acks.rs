//! Delayed acknowledgements of receivers that are served ahead of time.
//!
//! Such a receiver's clock runs ahead of everybody else's: whatever arrives before the segment that it is served is
//! known. So an acknowledgement that is due before that segment has waited in vain, and leaves first, at the time
//! when it is due. Receivers that share the first link of their way back have to take turns there, and so
//! they share a *line*: all that wait on it, in order, which is worked off up to the segment that one of them is
//! served. A receiver that has its link for itself needs no line, since it knows when its own is due.
//!
//! What no segment overtakes is sent when it is due, by a wake-up for each line.

use tidegate_mechanisms::units::Time;
use tidegate_scenario::plan::Plan;

use crate::event_queue::Wake;
use crate::feeders::EarlyDelivery;
use crate::in_order::{InOrder, time_of, wake_of};
use crate::tcp::TimerId;

/// All lines.
pub struct DelayedAcks {
    /// By flow; empty if no flow shares one.
    line_of_flow: Vec<u32>,
    /// The first of them, on which nothing ever waits, is that of all flows without.
    lines: Vec<Line>,
}

/// Whose flow has no line.
const NO_LINE: u32 = 0;

#[derive(Default)]
struct Line {
    /// Wake-ups of its receivers, in the time of what they are served.
    turns: InOrder,
    /// When the wake-up comes that looks after it, no later than the first of those; [`None`] if none does.
    wake_at: Option<Time>,
}

impl DelayedAcks {
    /// Lines of a plan whose flows are `early` where receivers are served ahead of time.
    pub fn of(plan: &Plan, early: &EarlyDelivery) -> Self {
        let is_own = |flow: usize| {
            let tcp = plan.flows[flow].tcp.as_deref();
            early.flows[flow] && tcp.is_some_and(|tcp| tcp.delayed_acks().is_some())
        };
        let mut flows_of_link = vec![0u32; plan.links.len()];
        for flow in (0..plan.flows.len()).filter(|flow| is_own(*flow)) {
            flows_of_link[plan.flows[flow].reverse[0] as usize] += 1;
        }
        let mut lines = vec![Line::default()];
        if flows_of_link.iter().all(|flows| *flows < 2) {
            return DelayedAcks { line_of_flow: Vec::new(), lines };
        }
        let mut line_of_link = vec![NO_LINE; plan.links.len()];
        for (link, _) in flows_of_link.iter().enumerate().filter(|(_, flows)| **flows > 1) {
            line_of_link[link] = lines.len() as u32;
            lines.push(Line::default());
        }
        let line = |flow: usize| match is_own(flow) {
            true => line_of_link[plan.flows[flow].reverse[0] as usize],
            false => NO_LINE,
        };
        DelayedAcks { line_of_flow: (0..plan.flows.len()).map(line).collect(), lines }
    }

    /// The line of a flow; `None` if it has none.
    #[inline]
    pub fn line_of(&self, flow: u32) -> Option<u32> {
        self.line_of_flow.get(flow as usize).copied().filter(|line| *line != NO_LINE)
    }

    /// Whether it is anybody's turn on a flow's line before `until`.
    #[inline(always)]
    pub fn is_due_before(&self, until: Time, flow: u32) -> bool {
        let line = self.line_of_flow.get(flow as usize);
        line.is_some_and(|line| self.lines[*line as usize].turns.next_time() < until)
    }

    /// Takes whose turn it is first on a line, and when, if that is before `until`.
    pub fn take_before(&mut self, until: Time, line: u32) -> Option<(Time, TimerId)> {
        let turns = &mut self.lines[line as usize].turns;
        if turns.next_time() >= until {
            return None;
        }
        let key = turns.pop()?;
        match wake_of(key) {
            Wake::DelayedAck(half) => Some((time_of(key), TimerId(half))),
            other => unreachable!("{other:?} does not wait on a line"),
        }
    }

    /// Adds a receiver to a line. Returns whether the line wants a wake-up of its own at that time.
    pub fn add(&mut self, line: u32, at: Time, receiver: TimerId) -> bool {
        let Line { turns, wake_at } = &mut self.lines[line as usize];
        let key = turns.key(at, Wake::DelayedAck(receiver.0));
        turns.push(key);
        let sooner = wake_at.is_none_or(|before| at < before);
        if sooner {
            *wake_at = Some(at);
        }
        sooner
    }

    /// Whether a line's wake-up is the one that comes now; another was set for an earlier time than it.
    pub fn is_awake(&self, line: u32, now: Time) -> bool {
        self.lines[line as usize].wake_at == Some(now)
    }

    /// What was due on a line is over. Returns when its next wake-up is to come.
    pub fn next_wake(&mut self, line: u32) -> Option<Time> {
        let Line { turns, wake_at } = &mut self.lines[line as usize];
        *wake_at = Some(turns.next_time()).filter(|at| *at < Time::NEVER);
        *wake_at
    }
}

#[cfg(test)]
mod tests {
    use tidegate_scenario::Scenario;

    use super::*;
    use crate::feeders::Feeders;
    use crate::network::Receivers;

    /// Two users of two flows each, and one with a flow for itself.
    fn lines(profile: &str) -> DelayedAcks {
        let text = format!(
            "version = 1\nprofile = \"{profile}\"\nbottleneck = {{ rate = \"1 Mb/s\" }}\n\
             egress = {{ delay = \"1 ms\" }}\nusers.two = {{ flows = 2, count = 2 }}\nusers.one = {{}}\n"
        );
        let plan = Scenario::parse(&text, &[]).expect("valid").plan();
        let feeders = Feeders::of(&plan, Receivers::AheadOfTime);
        DelayedAcks::of(&plan, &EarlyDelivery::of(&plan, &feeders))
    }

    #[test]
    fn who_shares_the_first_link_back_shares_a_line() {
        let linux = lines("linux");
        let mut all: Vec<_> = (0..5).map(|flow| linux.line_of(flow)).collect();
        assert_eq!(all.iter().flatten().count(), 4);
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 3, "each user has one");
        let classic = lines("classic");
        assert_eq!([0, 4].map(|flow| classic.line_of(flow)), [None; 2], "nothing is delayed");
    }

    #[test]
    fn a_line_is_worked_off_in_order_and_asks_for_one_wake_up_at_a_time() {
        let ns = Time::from_nanos;
        let mut lines = lines("linux");
        let flow = (0..5).find(|flow| lines.line_of(*flow).is_some()).expect("shares a line");
        let line = lines.line_of(flow).expect("has one");
        let asked = [50, 40, 60, 40].map(|at| lines.add(line, ns(at), TimerId(at as u32)));
        assert_eq!(asked, [true, true, false, false]);
        assert!(!lines.is_due_before(ns(40), flow) && lines.is_due_before(ns(41), flow));
        let taken: Vec<_> = core::iter::from_fn(|| lines.take_before(ns(51), line)).collect();
        assert_eq!(taken, [40, 40, 50].map(|at| (ns(at), TimerId(at as u32))));
        assert!(lines.is_awake(line, ns(40)) && !lines.is_awake(line, ns(50)));
        assert_eq!(lines.next_wake(line), Some(ns(60)));
        assert!(lines.take_before(ns(61), line).is_some());
        assert_eq!(lines.next_wake(line), None);
    }
}
