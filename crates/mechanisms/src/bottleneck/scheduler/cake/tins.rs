//! Tins: a set of flow queues with a priority, a rate and a COBALT of its own.

use std::collections::VecDeque;

use super::framing::Accounting;
use super::{Isolation, Queued};
use crate::bottleneck::scheduler::Queue;
use crate::bottleneck::{Cobalt, CobaltParams, DropReason, Verdict};
use crate::units::{Rate, Time};
use crate::words;

words! {
    /// Priority tins of CAKE.
    pub enum Tins {
        /// One for all packets.
        Besteffort = "besteffort",
        /// Best effort, bulk and voice.
        Diffserv3 = "diffserv3",
        /// Best effort, bulk, video and voice.
        Diffserv4 = "diffserv4",
        /// Eight, by the kinds of traffic of RFC 4594.
        Diffserv8 = "diffserv8",
        /// Eight, by the upper three bits of the DSCP.
        Precedence = "precedence",
    }
}

impl Tins {
    /// Returns each tin's share of the rate, and its weight in unlimited mode.
    pub(super) fn shares(self) -> Vec<(f64, i64)> {
        let eight = || {
            (0..8).map(|number| {
                let share = libm::pow(7.0 / 8.0, f64::from(number));
                (share, ((256.0 * share) as i64).max(1))
            })
        };
        match self {
            Tins::Besteffort => vec![(1.0, 65_535)],
            Tins::Diffserv3 => vec![(1.0, 1024), (1.0 / 16.0, 64), (0.25, 256)],
            Tins::Diffserv4 => vec![(1.0, 1024), (1.0 / 16.0, 64), (0.5, 512), (0.25, 256)],
            Tins::Diffserv8 | Tins::Precedence => eight().collect(),
        }
    }

    /// Returns the tin of a DSCP.
    #[inline]
    pub(super) fn tin_of(self, dscp: u8) -> usize {
        if dscp == 0 {
            return if self == Tins::Diffserv8 { 2 } else { 0 };
        }
        match (self, dscp) {
            (Tins::Besteffort, _) => 0,
            (Tins::Precedence, dscp) => usize::from(dscp >> 3 & 7),
            (Tins::Diffserv3 | Tins::Diffserv4, 1 | 8) => 1,
            (Tins::Diffserv3, 4 | 44 | 46 | 48 | 56) => 2,
            (Tins::Diffserv3, _) => 0,
            (Tins::Diffserv4, 32 | 40 | 44 | 46 | 48 | 56) => 3,
            (Tins::Diffserv4, 4 | 16 | 18 | 20 | 22 | 24 | 26 | 28 | 30 | 34 | 36 | 38) => 2,
            (Tins::Diffserv4, _) => 0,
            (Tins::Diffserv8, 1) => 0,
            (Tins::Diffserv8, 2 | 8 | 10 | 12 | 14) => 1,
            (Tins::Diffserv8, 24 | 26 | 28 | 30 | 34 | 36 | 38) => 3,
            (Tins::Diffserv8, 4 | 18 | 20 | 22) => 4,
            (Tins::Diffserv8, 16) => 5,
            (Tins::Diffserv8, 32 | 40 | 44 | 46) => 6,
            (Tins::Diffserv8, 48 | 56) => 7,
            (Tins::Diffserv8, _) => 2,
        }
    }
}

/// Flows of a tin.
#[derive(Clone, Debug)]
pub(super) struct Tin {
    /// Q, bytes.
    quantum: u64,
    cobalt: CobaltParams,
    pub(super) rate: Option<Rate>,
    /// Clock of the tin's share of the rate.
    pub(super) next: Time,
    pub(super) weight: i64,
    /// Weights of customers; none if they are equal.
    pub(super) weights: Vec<f64>,
    pub(super) deficit: i64,
    pub(super) flows: Vec<Flow>,
    /// Number of bulk flows by sending host, and by receiving host.
    pub(super) bulk: [Vec<u32>; 2],
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    /// Flows with the value of their `decays` when they were added; a different value means that they have left.
    decaying: VecDeque<(u32, u32)>,
    pub(super) packets: u32,
    pub(super) bytes: u64,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Flow {
    pub(super) queue: Queue,
    cobalt: Cobalt,
    /// Deficit D, bytes; it may be negative by less than a packet.
    pub(super) deficit: i64,
    /// Sending and receiving host.
    pub(super) hosts: [u32; 2],
    pub(super) state: State,
    /// Number of times that the flow has left the list of decaying ones.
    decays: u32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum State {
    /// On no list.
    #[default]
    AtRest,
    /// Has begun to send; on the list of new flows.
    Sparse,
    /// Sparse, empty, and with a negative deficit; on the list of old flows.
    Waiting,
    /// On the list of old flows.
    Bulk,
    /// Empty, with its state kept.
    Decaying,
}

/// A list of flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum List {
    Decaying,
    New,
    Old,
}

impl Tin {
    pub(super) fn new(quantum: u64, cobalt: CobaltParams, rate: Option<Rate>, weight: i64) -> Self {
        Tin {
            quantum,
            cobalt,
            rate,
            next: Time::ZERO,
            weight,
            weights: Vec::new(),
            deficit: 0,
            flows: Vec::new(),
            bulk: [Vec::new(), Vec::new()],
            new: VecDeque::new(),
            old: VecDeque::new(),
            decaying: VecDeque::new(),
            packets: 0,
            bytes: 0,
        }
    }

    /// Whether it has sparse or bulk flows; they may be empty.
    #[inline]
    pub(super) fn is_listed(&self) -> bool {
        !self.new.is_empty() || !self.old.is_empty()
    }

    /// Adds a packet to a queue.
    #[inline]
    pub(super) fn enqueue(
        &mut self,
        packet: Queued,
        key: u32,
        hosts: [u32; 2],
        isolation: Isolation,
        draw: impl FnMut() -> f64,
    ) {
        let index = key as usize;
        if index >= self.flows.len() {
            self.flows.resize(index + 1, Flow::default());
        }
        for (bulk, host) in self.bulk.iter_mut().zip(hosts) {
            if host as usize >= bulk.len() {
                bulk.resize(host as usize + 1, 0);
            }
        }
        let flow = &mut self.flows[index];
        flow.queue.push(packet);
        self.packets += 1;
        self.bytes += packet.bytes();
        let state = flow.state;
        if state != State::Bulk {
            // While it is bulk, it is counted at its hosts.
            flow.hosts = hosts;
        }
        match state {
            State::AtRest | State::Decaying => {
                let deficit = self.turn(hosts, isolation, draw);
                let flow = &mut self.flows[index];
                if state == State::Decaying {
                    flow.decays += 1;
                }
                (flow.state, flow.deficit) = (State::Sparse, deficit);
                self.new.push_back(key);
            }
            State::Waiting => self.become_bulk(key),
            State::Sparse | State::Bulk => {}
        }
    }

    /// Looks at flows until one has a packet to send, or until an empty one is taken off the lists: `None`.
    #[inline]
    pub(super) fn dequeue(
        &mut self,
        now: Time,
        looked: &mut bool,
        isolation: Isolation,
        accounting: &Accounting,
        mut draw: impl FnMut() -> f64,
        mut lose: impl FnMut(Queued, DropReason),
    ) -> Option<Queued> {
        loop {
            let (index, list) = self.first(!*looked)?;
            *looked = true;
            if self.flows[index as usize].deficit <= 0 {
                self.next_turn(index, list, isolation, &mut draw);
            } else if let Some(packet) =
                self.packet_of(index, now, accounting, &mut draw, &mut lose)
            {
                return Some(packet);
            } else {
                self.retire(index, list, now);
                return None;
            }
        }
    }

    /// Returns Q_f, for flows of these hosts.
    #[inline]
    pub(super) fn turn(
        &self,
        [from, to]: [u32; 2],
        isolation: Isolation,
        mut draw: impl FnMut() -> f64,
    ) -> i64 {
        let load = match isolation {
            Isolation::DualSrchost | Isolation::DualHost => self.bulk[0][from as usize],
            Isolation::DualDsthost => self.bulk[1][to as usize],
            Isolation::TripleIsolate => self.bulk[0][from as usize].max(self.bulk[1][to as usize]),
            _ => 1,
        };
        if !self.weights.is_empty() {
            // The customer is at one end, and the servers' host at the other.
            let weight = self.weights[from.max(to) as usize - 1];
            let share = self.quantum as f64 * weight / f64::from(load.max(1)) + draw();
            return (share as i64).max(1);
        }
        match load {
            0 | 1 => self.quantum as i64,
            load => (self.quantum as f64 / f64::from(load) + draw()) as i64,
        }
    }

    fn become_bulk(&mut self, index: u32) {
        let flow = &mut self.flows[index as usize];
        flow.state = State::Bulk;
        for (bulk, host) in self.bulk.iter_mut().zip(flow.hosts) {
            bulk[host as usize] += 1;
        }
    }

    /// Returns the flow to serve; `None` if there is none on any list.
    #[inline]
    fn first(&mut self, decaying_first: bool) -> Option<(u32, List)> {
        let Tin { flows, new, old, decaying, .. } = self;
        while let Some(&(index, decays)) = decaying.front()
            && flows[index as usize].decays != decays
        {
            decaying.pop_front();
        }
        let fading = decaying.front().map(|&(index, _)| (index, List::Decaying));
        let new = new.front().map(|&index| (index, List::New));
        let old = old.front().map(|&index| (index, List::Old));
        if decaying_first { fading.or(new).or(old) } else { new.or(old).or(fading) }
    }

    fn unlist(&mut self, list: List) {
        match list {
            List::Decaying => drop(self.decaying.pop_front()),
            List::New => drop(self.new.pop_front()),
            List::Old => drop(self.old.pop_front()),
        }
    }

    /// Ends the turn of the first flow of the list, whose deficit is used up.
    #[inline]
    fn next_turn(
        &mut self,
        index: u32,
        list: List,
        isolation: Isolation,
        draw: impl FnMut() -> f64,
    ) {
        let flow = &mut self.flows[index as usize];
        let hosts = flow.hosts;
        if flow.state == State::Sparse {
            if flow.queue.is_empty() {
                flow.state = State::Waiting;
            } else {
                self.become_bulk(index);
            }
        }
        self.flows[index as usize].deficit += self.turn(hosts, isolation, draw);
        self.unlist(list);
        self.old.push_back(index);
    }

    /// Returns the flow's next packet that COBALT passes.
    #[inline]
    fn packet_of(
        &mut self,
        index: u32,
        now: Time,
        accounting: &Accounting,
        mut draw: impl FnMut() -> f64,
        mut lose: impl FnMut(Queued, DropReason),
    ) -> Option<Queued> {
        let Flow { queue, cobalt, deficit, .. } = &mut self.flows[index as usize];
        loop {
            let mut packet = queue.pop()?;
            self.packets -= 1;
            self.bytes -= packet.bytes();
            let (sojourn, may_mark) = (now.since(packet.arrived), packet.may_mark);
            let last = queue.is_empty();
            match cobalt.on_departure(&self.cobalt, now, sojourn, may_mark, last, &mut draw) {
                Verdict::Drop(reason) => {
                    lose(packet, reason);
                    continue;
                }
                Verdict::Mark => packet.marked = true,
                Verdict::Pass => {}
            }
            *deficit -= accounting.len(packet.bytes()) as i64;
            return Some(packet);
        }
    }

    /// Removes the first flow of the list, which is empty.
    fn retire(&mut self, index: u32, list: List, now: Time) {
        let flow = &mut self.flows[index as usize];
        flow.cobalt.on_empty(&self.cobalt, now);
        if flow.state == State::Bulk {
            for (bulk, host) in self.bulk.iter_mut().zip(flow.hosts) {
                bulk[host as usize] -= 1;
            }
        }
        let at_rest = flow.cobalt.is_at_rest(now);
        if flow.state == State::Decaying {
            flow.decays += 1;
        }
        flow.state = if at_rest { State::AtRest } else { State::Decaying };
        let stamp = flow.decays;
        self.unlist(list);
        if !at_rest {
            self.decaying.push_back((index, stamp));
        }
    }

    /// Returns the length of the longest queue and its flow; of several, that of the lowest number.
    pub(super) fn longest(&self) -> Option<(u64, u32)> {
        let length = |index: u32| self.flows[index as usize].queue.bytes();
        let listed = self.new.iter().chain(&self.old).copied();
        let longest = listed.max_by_key(|index| (length(*index), u32::MAX - index));
        longest.map(|index| (length(index), index))
    }

    /// Takes the first packet of a queue for an overflow.
    pub(super) fn overflow(&mut self, index: u32, now: Time) -> Queued {
        let flow = &mut self.flows[index as usize];
        let packet = flow.queue.pop().expect("the longest queue has packets");
        flow.cobalt.on_overflow(&self.cobalt, now);
        self.packets -= 1;
        self.bytes -= packet.bytes();
        packet
    }

    /// Returns the queue of this number.
    pub(super) fn queue_of(&mut self, key: u32) -> Option<&mut Queue> {
        self.flows.get_mut(key as usize).map(|flow| &mut flow.queue)
    }

    pub(super) fn state_bytes(&self) -> usize {
        let hosts: usize = self.bulk.iter().map(Vec::len).sum();
        self.flows.len() * (size_of::<Flow>() + size_of::<u32>()) + hosts * size_of::<u32>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The codepoints of tc-cake(8), by hand.
    #[test]
    fn codepoints_have_the_tins_of_the_manual() {
        let [be, le, tos4, cs1, af21, cs3, cs4, af41, cs5, va, ef, cs6, cs7] =
            [0, 1, 4, 8, 18, 24, 32, 34, 40, 44, 46, 48, 56];
        let of = |tins: Tins, all: &[u8]| -> Vec<usize> {
            all.iter().map(|dscp| tins.tin_of(*dscp)).collect()
        };
        assert_eq!(of(Tins::Diffserv3, &[be, af21, cs3, cs4, af41, cs5]), [0; 6]);
        assert_eq!(of(Tins::Diffserv3, &[le, cs1]), [1; 2]);
        assert_eq!(of(Tins::Diffserv3, &[tos4, va, ef, cs6, cs7]), [2; 5]);
        assert_eq!(of(Tins::Diffserv4, &[be, 10, 2]), [0; 3]);
        assert_eq!(of(Tins::Diffserv4, &[le, cs1]), [1; 2]);
        assert_eq!(of(Tins::Diffserv4, &[tos4, af21, cs3, af41]), [2; 4]);
        assert_eq!(of(Tins::Diffserv4, &[cs4, cs5, va, ef, cs6, cs7]), [3; 6]);
        assert_eq!(of(Tins::Precedence, &[be, cs1, cs3, ef, cs7]), [0, 1, 3, 5, 7]);
        assert_eq!(
            of(Tins::Diffserv8, &[le, cs1, be, af41, tos4, 16, ef, cs6]),
            [0, 1, 2, 3, 4, 5, 6, 7]
        );
        assert_eq!(of(Tins::Besteffort, &[be, ef, cs1]), [0; 3]);
    }
}
