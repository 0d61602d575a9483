//! Fairness between customers, then between each one's flows, as in CAKE's dual-host mode. T. Hoeiland-Joergensen, D.
//! Taht and J. Morton, "Piece of CAKE: A Comprehensive Queue Management Solution for Home Gateways", IEEE LANMAN 2018;
//! rules as in Linux's `sch_cake.c` with `dual-srchost` (sending customers) or `dual-dsthost` (receiving ones).
//!
//! Each flow has a queue, and queues take turns as in FQ-CoDel (DRR++). The quantum is divided by the number of the
//! customer's flows that are *bulk*, so that all its flows together get the share of one:
//!
//! ```text
//! Q_f = ⌊Q / max(1, n_f) + u⌋     n_f bulk flows of f's customer;  u uniform in [0, 1), so that no rest is lost
//!
//! arrives   f at rest or decaying: sparse, to the end of new, D_f ← Q_f
//!           f waiting, see below: bulk
//! leaves    f = first of decaying (once a packet), else of new, else of old
//!           D_f ≤ 0: a sparse f becomes bulk, or if it is empty waiting; D_f ← D_f + Q_f;
//!                    to the end of old, look again
//!           packet of f by COBALT_f, the last of a queue whatever COBALT says;   D_f ← D_f − size
//!           none: to the end of decaying while COBALT_f remembers something, else at rest; look again
//! overflow  the head of the longest queue (in bytes) is lost, until there is room
//! ```
//!
//! COBALT combines CoDel, with a counter that decreases as it has increased, and BLUE, a drop probability for
//! unresponsive flows (`bottleneck/cobalt.rs`).
//!
//! COBALT uses the rate of the link, as with CAKE's shaper (`bandwidth`), so that a slow link is not left idle:
//!
//! ```text
//! target   ← max(target, 1.5 τ)                              τ time of a full packet, of the scenario's `packet_size`
//! interval ← max(interval + what target grew by, 2 target)
//! signal     only after a sojourn above target and above 4 τ
//! ```
//!
//! The rate is the configured one: like a shaper, it does not follow the link's `rate_changes`. With `knows_rate =
//! false` τ is zero, as in CAKE's unlimited mode.
//!
//! With `isolation = "triple"` n_f is the larger of the bulk flows at f's two hosts, as with CAKE's `triple-isolate`. At the
//! far end of a link is one host with all servers, so that n_f counts all bulk flows, and flows share equally.
//!
//! As in CAKE: the above. Not as in CAKE: the link itself is the shaper, Q does not shrink with the rate (CAKE has
//! rate/4096 s, between 300 B and 1514 B), no DiffServ tins (one for all), no ACK filter, no splitting of
//! large segments. Flows and customers are known by number, so that no set-associative hash is needed and nothing
//! collides. The buffer is the link's; CAKE takes its own from the rate.

use std::collections::VecDeque;

use super::fq_codel::turns_and_signals_go_on;
use super::{About, Capacity, Discipline, Place, Queue, Queued, TransmitterState};
use crate::bottleneck::{Cobalt, CobaltParams, DropReason, Verdict};
use crate::parameters;
use crate::parameters::ParameterError;
use crate::units::{Bytes, QueueLength, Rate, Span, Time};
use crate::words;

parameters! {
    /// CAKE's dual-host mode: fair between customers, then between each one's flows; a queue for each flow, with CoDel
    /// and BLUE.
    pub struct DualHostParams {
        /// Q: bytes that a customer's flows may send per round.
        pub quantum: Bytes = "1514 B",
        /// Target of the standing queue's delay.
        pub target: Span = "5 ms",
        /// Time for which it may be exceeded; about a worst-case round-trip time.
        pub interval: Span = "100 ms",
        /// COBALT uses the configured rate of the link, as with CAKE's shaper: the target is at least 1.5 packet times,
        /// the interval grows with it, and there are no signals below four packet times.
        pub knows_rate: bool = "true",
        /// Whose flows share a turn.
        pub isolation: HostIsolation = "customer",
    }
    check goes_on;
}

words! {
    /// Whose flows share a turn in CAKE's dual-host scheduler.
    pub enum HostIsolation {
        /// Those of a customer, as with `dual-srchost` or `dual-dsthost`.
        Customer = "customer",
        /// Those of the host, at either end, that has more, as with `triple-isolate`; all servers are one host.
        Triple = "triple",
    }
}

fn goes_on(params: &DualHostParams) -> Option<ParameterError> {
    turns_and_signals_go_on(params.quantum, params.interval)
}

/// All flows and customers.
#[derive(Clone, Debug)]
pub struct DualHost {
    quantum: Bytes,
    isolation: HostIsolation,
    cobalt: CobaltParams,
    capacity: Capacity,
    flows: Vec<Flow>,
    /// Number of bulk flows, by customer.
    bulk: Vec<u32>,
    all_bulk: u32,
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    /// Flows with the value of their `decays` when they were added; a different value means that they have left.
    decaying: VecDeque<(u32, u32)>,
    packets: u32,
    bytes: u64,
}

#[derive(Clone, Debug, Default)]
struct Flow {
    queue: Queue,
    cobalt: Cobalt,
    /// Deficit D, bytes; it may be negative by less than a packet.
    deficit: i64,
    user: u32,
    state: State,
    /// Number of times that the flow has left the list of decaying ones.
    decays: u32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
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

impl Discipline for DualHost {
    type Params = DualHostParams;

    const ABOUT: About = About {
        name: "dual-host",
        title: "Per-host fairness as in CAKE",
        source: "Hoeiland-Joergensen, Taht and Morton, LANMAN 2018; Linux sch_cake",
        usage: r#"bottleneck.scheduler = { kind = "dual-host" }"#,
        file: "bottleneck/scheduler/dual_host.rs",
        text: include_str!("dual_host.rs"),
    };

    /// As in `cake_reconfigure`; Linux counts the memory of packets, which is about half as much again.
    fn default_buffer(params: &DualHostParams, rate: Rate, packet: Bytes) -> QueueLength {
        let most = 10_240 * packet.get();
        if !params.knows_rate {
            return QueueLength::Bytes(Bytes::new(most));
        }
        let bits_ns = u128::from(rate.as_bps()) * u128::from(params.interval.as_nanos());
        let four_products = (bits_ns / 2_000_000_000).min(u128::from(u32::MAX)) as u64;
        QueueLength::Bytes(Bytes::new(four_products.max(4 << 20).min(most)))
    }

    fn new(params: DualHostParams, place: &Place) -> Self {
        assert!(goes_on(&params).is_none(), "the parameters were validated");
        let DualHostParams { quantum, target, interval, knows_rate, isolation } = params;
        let known = knows_rate && place.rate.as_bps() > 0;
        let packet_time =
            if known { place.rate.transmission_time(place.packet) } else { Span::ZERO };
        DualHost {
            quantum,
            isolation,
            cobalt: CobaltParams::at_rate(target, interval, packet_time),
            capacity: place.capacity,
            flows: Vec::new(),
            bulk: Vec::new(),
            all_bulk: 0,
            new: VecDeque::new(),
            old: VecDeque::new(),
            decaying: VecDeque::new(),
            packets: 0,
            bytes: 0,
        }
    }

    /// While there is no room, the first packet of the longest queue is dropped.
    #[inline]
    fn enqueue(
        &mut self,
        packet: Queued,
        line: &TransmitterState,
        draw: impl FnMut() -> f64,
        mut lose: impl FnMut(Queued, DropReason),
    ) {
        let index = packet.flow as usize;
        if index >= self.flows.len() {
            self.flows.resize(index + 1, Flow::default());
        }
        if packet.user as usize >= self.bulk.len() {
            self.bulk.resize(packet.user as usize + 1, 0);
        }
        self.flows[index].user = packet.user;
        self.flows[index].queue.push(packet);
        self.packets += 1;
        self.bytes += packet.bytes();
        match self.flows[index].state {
            state @ (State::AtRest | State::Decaying) => {
                let deficit = self.turn(packet.user, draw);
                let flow = &mut self.flows[index];
                if state == State::Decaying {
                    flow.decays += 1;
                }
                (flow.state, flow.deficit) = (State::Sparse, deficit);
                self.new.push_back(packet.flow);
            }
            State::Waiting => self.become_bulk(packet.flow),
            State::Sparse | State::Bulk => {}
        }
        while !self.capacity.fits((self.packets, self.bytes), line, 0, 0) && self.packets > 0 {
            lose(self.overflow(line.now), DropReason::Full);
        }
    }

    #[inline]
    fn dequeue(
        &mut self,
        now: Time,
        mut draw: impl FnMut() -> f64,
        mut lose: impl FnMut(Queued, DropReason),
    ) -> Option<Queued> {
        let mut looked = false;
        while self.packets > 0 {
            let (index, list) = self.first(!looked);
            looked = true;
            if self.flows[index as usize].deficit <= 0 {
                self.next_turn(index, list, &mut draw);
            } else if let Some(packet) = self.packet_of(index, now, &mut draw, &mut lose) {
                return Some(packet);
            } else {
                self.retire(index, list, now);
            }
        }
        None
    }

    #[inline]
    fn backlog(&self) -> (u32, u64) {
        (self.packets, self.bytes)
    }

    /// Size of the state of flows and customers seen so far.
    fn state_bytes(&self) -> usize {
        self.flows.len() * (size_of::<Flow>() + size_of::<u32>())
            + self.bulk.len() * size_of::<u32>()
    }
}

impl DualHost {
    /// Returns Q_f, for flows of a customer.
    #[inline]
    fn turn(&self, user: u32, mut draw: impl FnMut() -> f64) -> i64 {
        let quantum = self.quantum.get();
        let load = match self.isolation {
            HostIsolation::Customer => self.bulk[user as usize],
            HostIsolation::Triple => self.all_bulk,
        };
        match load {
            0 | 1 => quantum as i64,
            load => (quantum as f64 / f64::from(load) + draw()) as i64,
        }
    }

    fn become_bulk(&mut self, index: u32) {
        let flow = &mut self.flows[index as usize];
        flow.state = State::Bulk;
        self.bulk[flow.user as usize] += 1;
        self.all_bulk += 1;
    }

    /// Returns the flow to serve. A packet waits, hence not all lists are empty.
    #[inline]
    fn first(&mut self, decaying_first: bool) -> (u32, List) {
        let DualHost { flows, new, old, decaying, .. } = self;
        while let Some(&(index, decays)) = decaying.front()
            && flows[index as usize].decays != decays
        {
            decaying.pop_front();
        }
        let fading = decaying.front().map(|&(index, _)| (index, List::Decaying));
        let new = new.front().map(|&index| (index, List::New));
        let old = old.front().map(|&index| (index, List::Old));
        let found = if decaying_first { fading.or(new).or(old) } else { new.or(old).or(fading) };
        found.expect("what waits is on a list")
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
    fn next_turn(&mut self, index: u32, list: List, draw: impl FnMut() -> f64) {
        let flow = &mut self.flows[index as usize];
        let user = flow.user;
        if flow.state == State::Sparse {
            if flow.queue.is_empty() {
                flow.state = State::Waiting;
            } else {
                self.become_bulk(index);
            }
        }
        self.flows[index as usize].deficit += self.turn(user, draw);
        self.unlist(list);
        self.old.push_back(index);
    }

    /// Returns the flow's next packet that COBALT passes.
    #[inline]
    fn packet_of(
        &mut self,
        index: u32,
        now: Time,
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
            *deficit -= packet.bytes() as i64;
            return Some(packet);
        }
    }

    /// Removes the first flow of the list, which is empty.
    fn retire(&mut self, index: u32, list: List, now: Time) {
        let flow = &mut self.flows[index as usize];
        flow.cobalt.on_empty(&self.cobalt, now);
        if flow.state == State::Bulk {
            self.bulk[flow.user as usize] -= 1;
            self.all_bulk -= 1;
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

    /// Takes the first packet of the longest queue; of several, that of the lowest number.
    #[cold]
    fn overflow(&mut self, now: Time) -> Queued {
        let length = |&index: &u32| self.flows[index as usize].queue.bytes();
        let listed = self.new.iter().chain(&self.old).copied();
        let longest = listed.max_by_key(|index| (length(index), u32::MAX - index));
        let flow = &mut self.flows[longest.expect("something waits") as usize];
        let packet = flow.queue.pop().expect("the longest queue has packets");
        flow.cobalt.on_overflow(&self.cobalt, now);
        self.packets -= 1;
        self.bytes -= packet.bytes();
        packet
    }
}

#[cfg(test)]
#[path = "dual_host_tests.rs"]
mod tests;
